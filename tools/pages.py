"""Write the generated pages of the book: the ledger, the index of statements, the package.

    python tools/pages.py [--check]

`back/ledger.md` is read off the printed lines of the committed notebooks, `back/statements.md` off
`statements.csv`, `back/api.md` off the docstrings. With `--check` nothing is written: the exit code
is 1 when a page is out of date. The ledger refuses a notebook that ran on a stand-in for original
data, and a check or falsifier cell that printed no line of its label.
"""

from __future__ import annotations

import csv
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import yaml
from nbformat import NotebookNode

import pdpbook

ROOT = Path(__file__).resolve().parent.parent
CHECKED = ("theorem", "lemma", "proposition", "corollary", "claim", "fact")
PAPERS = {
    "A": "acharya2024personalized",
    "B": "yang2024private",
    "C": "wang2019perinstance",
    "D": "epasto2020smoothly",
}
SPELLED = {
    "adaops": "AdaOPS",
    "dpsgd": "DP-SGD",
    "erm": "Weighted ERM",
    "gwa": "GWA",
    "ops": "OPS",
    "pac": "PAC privacy",
    "pdp_op": "PDP-OP",
    "per_instance": "Per-instance",
    "user_level": "User-level",
}
STAND_IN = "STAND-IN DATA:"
GENERATED = "% Written by tools/pages.py; edit the notebooks, statements.csv or the docstrings.\n\n"

DIRECTIVE = re.compile(
    r"^(?::{3,}|`{3,})\{([a-z:-]+)\}[ \t]*(.*)\n((?:[ \t]*:[\w-]+:.*(?:\n|\Z))*)", re.M
)
MARKER = re.compile(r"# (check|falsify): *([\w-]+) *")
LINE = re.compile(r"([a-z][\w-]*)  (.*\S) +(\S+)  (not )?((?:<=|>=|=) \S.*)")
WAIVER = re.compile(r"^Waiver, `?([\w-]+?)`?: *((?:.|\n(?!\n))+)", re.M)
REFERENCE = re.compile(r"\{(?:prf:ref|numref)\}`(?:[^`<]*<)?([\w-]+)>?`")


class Refused(Exception):
    """A page cannot be made from what the notebooks hold."""


@dataclass(frozen=True)
class Box:
    """A directive on a page, its label empty if it has none: `at` counts cells."""

    directive: str
    title: str
    label: str
    at: int


@dataclass(frozen=True)
class Line:
    """A line that `check` or `falsify` printed, and the kind of cell it stands in."""

    label: str
    what: str
    value: str
    relation: str
    broken: bool
    at: int


@dataclass
class Page:
    """What a notebook states and what it measured: `directives` in order, `boxes` by label."""

    name: str
    title: str = ""
    boxes: dict[str, Box] = field(default_factory=dict)
    directives: list[Box] = field(default_factory=list)
    measured: dict[str, list[Line]] = field(default_factory=dict)
    falsified: dict[str, list[Line]] = field(default_factory=dict)
    waived: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def statements() -> list[dict[str, str]]:
    """The rows of statements.csv."""
    with (ROOT / "book" / "statements.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def published() -> dict[str, Path]:
    """The notebooks of this release by name, such as foundations/coins.

    They are those on the table of contents, and without one all that are there.
    """
    names = [row["chapter"] for row in statements()]
    found = {n: ROOT / "book" / f"{n}.ipynb" for n in dict.fromkeys(names)}
    found = {n: path for n, path in found.items() if path.is_file()}
    toc = ROOT / "_toc.yml"
    if toc.is_file():
        listed = set(_files(yaml.safe_load(toc.read_text(encoding="utf-8"))))
        found = {n: path for n, path in found.items() if f"book/{n}" in listed}
    return found


def _files(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("file"), str):
            yield node["file"].removesuffix(".ipynb")
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from _files(part)


def load() -> dict[str, Page]:
    """Every chapter of this release, read."""
    return {name: read(name, nbformat.read(p, as_version=4)) for name, p in published().items()}


def read(name: str, notebook: NotebookNode) -> Page:
    """Read a notebook: boxes, printed lines, waivers, the functions of its summary."""
    page = Page(name)
    for at, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            _read_markdown(page, at, cell.source)
        elif cell.cell_type == "code":
            _read_code(page, at, cell)
    return page


def _read_markdown(page: Page, at: int, source: str) -> None:
    if not page.title and (heading := re.match(r"# +(.+)", source)):
        page.title = heading[1].strip()
    for directive, title, options in DIRECTIVE.findall(source):
        label = re.search(r":(?:label|name): *([\w-]+)", options)
        box = Box(directive, title.strip(), label[1] if label else "", at)
        page.directives.append(box)
        if box.label in page.boxes:
            page.faults.append(f"the label {box.label} stands on the page twice")
        if box.label:
            page.boxes[box.label] = box
    for label, reason in WAIVER.findall(source):
        page.waived[label] = " ".join(reason.split())
    if summary := re.search(r"^## Summary\b(.*?)(?=^## |\Z)", source, re.M | re.S):
        for row in re.findall(r"^\|(.+)\|[ \t]*$", summary[1], re.M):
            cells = [part.strip() for part in re.split(r"(?<!\\)\|", row)]
            for label in REFERENCE.findall(cells[0]):
                page.functions[label] = cells[1] if len(cells) > 1 else ""


def markers(source: str) -> list[tuple[str, str]]:
    """What a code cell says it checks and falsifies, in the comments it begins with."""
    found = []
    for line in source.splitlines():
        if not (match := MARKER.fullmatch(line)):
            break
        found.append((match[1], match[2]))
    return found


def printed(cell: NotebookNode) -> str:
    """All text a cell put out."""
    texts = []
    for output in cell.get("outputs", []):
        texts.append(output.get("text", ""))
        texts += [v for k, v in output.get("data", {}).items() if k.startswith("text/")]
    return "\n".join("".join(t) for t in texts)


def _read_code(page: Page, at: int, cell: NotebookNode) -> None:
    text, name = printed(cell), cell.get("id", at)
    if STAND_IN in text:
        page.faults.append(f"cell {name} ran on a stand-in for original data")
    lines = []
    for line in text.splitlines():
        if match := LINE.fullmatch(line):
            label, what, value, negated, relation = match.groups()
            lines.append(Line(label, what, value, relation, bool(negated), at))
    for kind, label in markers(cell.source):
        broken = kind == "falsify"
        found = [line for line in lines if line.label == label and line.broken is broken]
        if not found:
            page.faults.append(f"the {kind} cell {name} printed no line of {label}")
        (page.falsified if broken else page.measured).setdefault(label, []).extend(found)


# --- what the pages have in common ----------------------------------------------------------------


def escaped(text: str) -> str:
    """Plain text as MyST."""
    return re.sub(r"([\\`*_{}\[\]<>$|~^#])", r"\\\1", text)


def code(text: str) -> str:
    """A code span that may stand in a table."""
    return "`" + text.replace("|", r"\|") + "`"


def link(row: dict[str, str]) -> str:
    """A numbered link to a statement."""
    role = "numref" if row["directive"] == "table" else "prf:ref"
    return f"{{{role}}}`{row['label']}`"


def spaced(number: str) -> str:
    """Thm.2.1 as Thm. 2.1."""
    return re.sub(r"(?<=[a-z])\.(?=[\dA-Z(])", ". ", number)


def in_paper(row: dict[str, str], key: str) -> str:
    """The number of a statement in one of its papers; empty where it has none there."""
    if len(row["source"]) == 1:
        return spaced(row["number"])
    own = [part[2:] for part in row["number"].split(", ") if part.startswith(f"{key} ")]
    return spaced(", ".join(own))


def sources(row: dict[str, str]) -> str:
    """Where a statement comes from, under both numbers."""
    if row["source"] == "ours":
        return "ours"
    found = [f"{key} {in_paper(row, key)}".strip() for key in row["source"]]
    if row["number_published"]:
        k = row["source"].find("A")
        found[k] += f", published as {spaced(row['number_published'])}"
    return escaped("; ".join(found))


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def papers() -> str:
    """Which paper is A, which B."""
    return "; ".join(f"{key} is {{cite:t}}`{cited}`" for key, cited in PAPERS.items())


# --- the ledger -----------------------------------------------------------------------------------


def ledger(pages: dict[str, Page]) -> str:
    """The page that shows, for every statement, what was measured and what broke it."""
    rows = statements()
    here = [row for row in rows if row["label"] in _labels(pages)]
    proved = [row for row in here if row["kind"] in CHECKED]
    faults = [f"book/{page.name}.ipynb: {f}" for page in pages.values() for f in page.faults] + [
        f"book/{page.name}.ipynb: {row['label']} is stated, and no cell checks it"
        for page in pages.values()
        for row in proved
        if row["label"] in page.boxes and row["label"] not in page.measured
    ]
    if faults:
        raise Refused("\n".join(faults))
    lines = sum(len(v) for page in pages.values() for v in page.measured.values())
    broken = sum(len(v) for page in pages.values() for v in page.falsified.values())
    parts = [
        "# Ledger\n",
        f"This release states {len(here)} of the {len(rows)} definitions, theorems and other boxes "
        f"of the book. It proves {len(proved)}, and each of those is measured on its page: {lines} "
        f"lines in which a check held, and {broken} lines, marked *broken*, in which an assumption "
        "was dropped or a bug planted and the same check failed. Every line below was printed by "
        "the notebook of its chapter.\n",
        f"{papers()}. Numbers of A are those of its anonymous version.\n",
    ]
    for page in pages.values():
        mine = [row for row in here if row["label"] in page.boxes]
        parts.append(f"## {page.title}\n")
        parts.append(f"Chapter {{doc}}`../{page.name}`.\n")
        parts += [_entry(row, page) for row in mine if row["label"] in page.measured]
        unchecked = [row for row in mine if row["label"] not in page.measured]
        if unchecked:
            parts.append("Without a check:\n")
            parts.append("".join(f"- {_headline(row, page)}\n" for row in unchecked))
    return GENERATED + "\n".join(parts)


def _labels(pages: dict[str, Page]) -> set[str]:
    return {label for page in pages.values() for label in page.boxes}


def _headline(row: dict[str, str], page: Page) -> str:
    title = page.boxes[row["label"]].title.rpartition(";")[0] or page.boxes[row["label"]].title
    return f"**{link(row)}: {title or escaped(row['statement'])}** ({row['kind']}; {sources(row)})"


def _entry(row: dict[str, str], page: Page) -> str:
    label = row["label"]
    head = f"{_headline(row, page)}. Label {code(label)}"
    if function := page.functions.get(label):
        head += f"; in code {function}"
    lines = [
        [escaped(line.what), escaped(line.value), code(line.relation)]
        for line in page.measured[label]
    ] + [
        [f"*broken:* {escaped(line.what)}", escaped(line.value), f"not {code(line.relation)}"]
        for line in page.falsified.get(label, [])
    ]
    entry = f"{head}.\n\n{table(['measured', 'value', 'relation'], lines)}"
    if label in page.waived:
        entry += f"\nNo falsifier: {page.waived[label]}\n"
    return entry


# --- the index of statements ----------------------------------------------------------------------


def index(pages: dict[str, Page]) -> str:
    """Every statement of the book by part and chapter, and by paper."""
    rows, here = statements(), _labels(pages)
    parts = [
        "# Statements\n",
        f"All {len(rows)} statements of the book, in its order. Those with a link "
        f"({sum(row['label'] in here for row in rows)}) stand in this release; *later* is a later "
        "one.\n",
    ]
    for part in dict.fromkeys(row["part"] for row in rows):
        parts.append(f"## {words(part)}\n")
        for chapter in dict.fromkeys(row["chapter"] for row in rows if row["part"] == part):
            mine = [row for row in rows if row["chapter"] == chapter]
            name = f"{{doc}}`../{chapter}`" if chapter in pages else words(chapter.split("/")[1])
            later = "" if chapter in pages else ", in a later release"
            parts.append(f"**{name}**{later}\n")
            parts.append("".join(f"- {_item(row, here, bool(later))}\n" for row in mine))
    parts.append("## By paper\n")
    parts.append(f"{papers()}. What is in none of these tables is ours.\n")
    for key in PAPERS:
        mine = [row for row in rows if key in row["source"] and row["source"] != "ours"]
        parts.append(f"### Paper {key}\n")
        if key == "A":
            parts.append("Numbers of the anonymous version first; the named version differs.\n")
        both = key == "A"
        head = ["in the paper", *(["published as"] if both else []), "here"]
        lines = []
        for row in mine:
            numbers = [in_paper(row, key), *([spaced(row["number_published"])] if both else [])]
            lines.append([*(escaped(n) or "-" for n in numbers), _item(row, here, False)])
        parts.append(table(head, lines))
    return GENERATED + "\n".join(parts)


def words(name: str) -> str:
    """A title from a file name."""
    return SPELLED.get(name, name.replace("_", " ").capitalize())


def _item(row: dict[str, str], here: set[str], said: bool) -> str:
    if row["label"] in here:
        return f"{link(row)}: {escaped(row['statement'])}"
    text = escaped(row["statement"])
    return f"{text} ({row['kind']})" if said else f"{text} ({row['kind']}, later)"


# --- the package ----------------------------------------------------------------------------------


def modules() -> list[str]:
    """Every public module of the package by name; a folder counts as the module of its name."""
    found = pkgutil.iter_modules(pdpbook.__path__)
    return sorted(f"pdpbook.{module.name}" for module in found if module.name[0] != "_")


def api(pages: dict[str, Page]) -> str:
    """One section a module: what is in it, with links to statements, and its docstrings."""
    rows = {row["label"]: row for row in statements()}
    here = _labels(pages)
    parts = [
        "# The package\n",
        "One section a module: first what is in it, with the statements that it carries out, then "
        "the docstrings. Arrays go in and come out; randomness is an argument.\n",
    ]
    for name in modules():
        module = importlib.import_module(name)
        parts.append(f"## {name.removeprefix('pdpbook.')}\n")
        lines = []
        for public in module.__all__:
            thing = getattr(module, public)
            if not (inspect.isclass(thing) or inspect.isroutine(thing)):
                continue
            found = [rows[label] for label in named(thing) if label in rows]
            links = [link(row) if row["label"] in here else code(row["label"]) for row in found]
            first = as_myst(" ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split()))
            lines.append(
                f"- {{py:obj}}`{public} <{name}.{public}>`: {first}"
                + (f" See {', '.join(links)}." if links else "")
                + "\n"
            )
        if lines:
            parts.append("".join(lines))
        parts.append(
            f"```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n"
            "   :member-order: bysource\n   :exclude-members: set_fit_request, "
            "set_partial_fit_request, set_predict_request, set_score_request\n```\n"
        )
    return GENERATED + "\n".join(parts)


def named(thing: object) -> list[str]:
    """The words of a docstring, of a class with those of its methods, that may be labels."""
    things = [thing]
    if inspect.isclass(thing):
        things += [v for k, v in vars(thing).items() if inspect.isroutine(v) and k[0] != "_"]
    docs = "\n".join(inspect.getdoc(one) or "" for one in things)
    return list(dict.fromkeys(re.findall(r"\b[a-z]+(?:-[a-z0-9]+)+\b", docs)))


def as_myst(text: str) -> str:
    """One line of a docstring: roles and double backticks in their MyST form."""
    text = re.sub(r":([\w:]+):(`[^`]+`)", r"{\1}\2", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text)


# --- the command ----------------------------------------------------------------------------------

PAGES = {"ledger": ledger, "statements": index, "api": api}


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them; returns the exit code."""
    if set(arguments) - {"--check"}:
        print(__doc__)
        return 2
    pages, code = load(), 0
    for name, make in PAGES.items():
        path = ROOT / "book" / "back" / f"{name}.md"
        shown = path.relative_to(ROOT)
        try:
            text = make(pages)
        except Refused as refusal:
            print(f"{shown}: refused\n{refusal}")
            code = 1
            continue
        same = path.is_file() and path.read_text(encoding="utf-8") == text
        if "--check" in arguments:
            code = code if same else 1
            print(f"{shown}: {'up to date' if same else 'out of date; run tools/pages.py'}")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"{shown}: {'as it was' if same else 'written'}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
