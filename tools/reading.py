"""Read the committed notebooks: boxes, printed lines, waivers; and write MyST about them.

What `tools/pages.py` and `tools/evidence.py` have in common.
"""

import csv
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import nbformat
import yaml
from checkout import ROOT, come_first
from nbformat import NotebookNode

sys.path.append(str(ROOT / "book" / "_ext"))
from pdp_sentences import Measured, measured, sentence

come_first()
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
GENERATED = "% Written by tools/pages.py; edit the notebooks, statements.csv or the docstrings.\n\n"

DIRECTIVE = re.compile(
    r"^(?::{3,}|`{3,})\{([a-z:-]+)\}[ \t]*(.*)\n((?:[ \t]*:[\w-]+:.*(?:\n|\Z))*)", re.M
)
MARKER = re.compile(r"# (check|falsify): *([\w-]+) *")
LINE = re.compile(r"([a-z][\w-]*)  (.*\S) +(\S+)  (not )?((?:<=|>=|=) \S.*)")
WAIVER = re.compile(r"^Waiver, `?([\w-]+?)`?: *((?:.|\n(?!\n))+)", re.M)
ROLE = re.compile(r"\{([a-z:]+)\}`(?:([^`<]*?)\s*<([^`>]+)>|([^`]+))`")
LINK = re.compile(r"\]\((?=[^()])(?:(?!\w+:)([^()#\s]*)\.(ipynb|md))?(#[^()\s]*)?\)")  # to pages
ENTRY = re.compile(r"^@(\w+)\{([\w-]+),\n(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"^ *(\w+) *= *\{(.*)\},?$", re.M)
NUMBERED = {  # as statements.csv abbreviates, and as pages say it
    "Thm": "Theorem",
    "Def": "Definition",
    "Alg": "Algorithm",
    "Algs": "Algorithms",
    "Prop": "Proposition",
    "Cor": "Corollary",
    "Asm": "Assumption",
    "Rem": "Remark",
    "App": "Appendix",
    "Ex": "Example",
    "sec": "section",
    "secs": "sections",
    "eq": "equations",
}
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

    @property
    def said(self) -> Measured:
        """In the words that a page has for it."""
        relation = f"{'not ' if self.broken else ''}{self.relation}"
        return measured(f"{self.label}  {self.what}  {self.value}  {relation}")[0]


@dataclass
class Page:
    """What a notebook states and measured: `boxes` by label, `outputs` by cell, as lines."""

    name: str
    title: str = ""
    boxes: dict[str, Box] = field(default_factory=dict)
    directives: list[Box] = field(default_factory=list)
    measured: dict[str, list[Line]] = field(default_factory=dict)
    falsified: dict[str, list[Line]] = field(default_factory=dict)
    waived: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    outputs: list[list[str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def statements() -> list[dict[str, str]]:
    """The rows of statements.csv."""
    with (ROOT / "book" / "statements.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def published() -> dict[str, Path]:
    """The notebooks of this release by name, such as foundations/coins.

    They are those on the table of contents, in its order, and without one all that are there: the
    chapters of `statements.csv`, and others in its folders.
    """
    toc, names = ROOT / "_toc.yml", [row["chapter"] for row in statements()]
    folders = {name.partition("/")[0] for name in names}
    if toc.is_file():
        listed = [n[5:] for n in files(yaml.safe_load(toc.read_text(encoding="utf-8")))]
        names = [n for n in listed if n.count("/") == 1 and n.partition("/")[0] in folders]
    found = {n: ROOT / "book" / f"{n}.ipynb" for n in dict.fromkeys(names)}
    return {n: path for n, path in found.items() if path.is_file()}


def files(node: object) -> Iterator[str]:
    """The pages that a table of contents names, in its order, sections after their chapter."""
    if isinstance(node, dict):
        if isinstance(node.get("file"), str):
            yield node["file"].removesuffix(".ipynb")
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from files(part)


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
    page.outputs.append(text.splitlines())
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
    if len(row["paper"]) == 1:
        return spaced(row["number"])
    own = [part[2:] for part in row["number"].split(", ") if part.startswith(f"{key} ")]
    return spaced(", ".join(own))


def sources(row: dict[str, str]) -> str:
    """Who had a statement first, papers of the book after others; these and ours are facets."""
    if row["source"] == "ours":
        return "[ours]{.facet}"
    first = [key for key in row["source"].split() if key not in PAPERS.values()]
    found = [f"{{cite:t}}`{key}`" for key in first]
    for key in row["paper"]:
        number = escaped(in_paper(row, key))
        if key == "A" and row["number_published"]:
            number += f", published as {escaped(spaced(row['number_published']))}"
        found.append(f"[{{cite:t}}`{PAPERS[key]}`]{{.facet}} {number}".strip())
    return "; ".join(found)


def attribution(row: dict[str, str], known: dict[str, tuple[str, str, str]]) -> str:
    """What the title of a box says: who had the statement first, with its number; or ours."""
    if row["source"] == "ours":
        return "ours"
    own = {cited: key for key, cited in PAPERS.items()}
    words = []
    for cited in row["source"].split():
        authors, year, _ = known[cited]
        if cited not in own:
            words.append(f"after {authors} {year}")
            continue
        number = in_paper(row, own[cited])
        for short, long in NUMBERED.items():
            number = re.sub(rf"\b{short}\. ?", f"{long} ", number)
        words.append(f"{authors} {year}, {number}")
    return " and ".join(words).replace("and after", "and")


def works(bibliography: str) -> dict[str, tuple[str, str, str]]:
    """For each key the authors as a citation names them, the year, and the whole entry."""
    found = {}
    for _, key, body in ENTRY.findall(bibliography):
        fields = {name: plain(value) for name, value in FIELD.findall(body)}
        people = fields["author"].split(" and ")
        last = [one.partition(",")[0] for one in people]
        short = f"{last[0]} et al." if len(last) > 2 else " and ".join(last)
        names = [" ".join(reversed(one.split(", ", 1))) for one in people]
        where = [
            fields[kind]
            for kind in ("journal", "booktitle", "publisher", "howpublished")
            if kind in fields
        ]
        if "eprint" in fields:
            number = fields["eprint"]
            where.append(f"[arXiv:{number}](https://arxiv.org/abs/{number})")
        entry = f"{', '.join(names)} ({fields['year']}). *{fields['title']}*. {', '.join(where)}."
        if "url" in fields or "doi" in fields:
            entry += f" <{fields.get('url') or 'https://doi.org/' + fields['doi']}>"
        found[key] = (short, fields["year"], entry)
    return found


def plain(text: str) -> str:
    """A field of a bibliography without its braces."""
    return re.sub(r"\\(.)", r"\1", re.sub(r"[{}]", "", text)).replace("--", "–")


def told(lines: Iterable[Line], shown: int = 8) -> list[str]:
    """What was tested and what the test notices, a sentence each."""
    said = escaped(sentence([line.said for line in lines], shown))
    return re.split(
        r" (?=\*With a deliberate)",
        re.sub(r"(^Tested|With a deliberate mistake it fails:)", r"*\1*", said),
    )


def entry(anchor: str, *parts: str) -> str:
    """An item of a list that `sift.js` can filter, with a place that links lead to."""
    text = "\n\n".join([f"({anchor})=\n{parts[0]}", *(part.strip("\n") for part in parts[1:])])
    return f"- {textwrap.indent(text, '  ').lstrip()}\n"


def listed(entries: Iterable[str]) -> str:
    """Such a list; its `[...]{.facet}` words become buttons."""
    return "{.sift}\n" + "".join(entries)


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def words(name: str) -> str:
    """A title from a file name."""
    return SPELLED.get(name, name.replace("_", " ").capitalize())


@cache
def called(key: str) -> str:
    """A paper as a heading names it, such as Acharya et al. (2024)."""
    authors, year, _ = works((ROOT / "book" / "references.bib").read_text("utf-8"))[PAPERS[key]]
    return f"{authors} ({year})"
