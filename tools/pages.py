"""Write the generated pages of the book, or hold them against their sources.

    python tools/pages.py [--check]

`back/ledger.md` is read off the printed lines of the committed notebooks, `back/statements.md` off
`statements.csv`, `back/api.md` and the pages in `back/api/` off the docstrings,
`back/functions.md` off docstrings and tests, `back/errata.md` and `back/published.md` off
`errata.yml` and `published.yml` and the evidence that they name, `back/house.md` and its picture
off the floors in `tools/house.py`, `back/method.md` off one theorem's cells and records (`method`),
`back/benchmarks.md` off the records in `lab/benchmarks/`,
`back/runs.md` off the lock, `back/instructors.md` and the last cell of every chapter off
`teaching.md`, `teaching.yml` and the exercises, the map of the chapters off `teaching.yml`.
With `--check` nothing is written: the exit code is 1 when a page or a cell is out of date. The
ledger refuses a check or falsifier cell that printed no line of its label; errata and published
refuse evidence that no chapter prints any more.
"""

import importlib
import inspect
import re
import sys
from functools import partial

from chapter_map import chapter_map
from evidence import errata, published_numbers
from functions import exported, functions, modules, named, runs
from house import house, picture
from method import method
from method import picture as steps
from reading import (
    CHECKED,
    DIRECTIVE,
    GENERATED,
    LINE,
    PAPERS,
    ROOT,
    Page,
    Refused,
    code,
    escaped,
    in_paper,
    link,
    load,
    markers,
    papers,
    printed,
    published,
    read,
    sources,
    spaced,
    statements,
    table,
    words,
)
from records import benchmarks

from course.guide import instructors, write_last_cells

__all__ = [
    "CHECKED",
    "DIRECTIVE",
    "LINE",
    "PAGES",
    "ROOT",
    "Refused",
    "api",
    "benchmarks",
    "index",
    "ledger",
    "load",
    "main",
    "markers",
    "modules",
    "place",
    "printed",
    "published",
    "read",
    "statements",
]

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
        if not mine:
            continue
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
        f"All {len(rows)} statements of the book, by chapter. Those with a link "
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
    parts.append(f"{papers()}. The ledger says of all others who had them first.\n")
    for key in PAPERS:
        mine = [row for row in rows if key in row["paper"]]
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


def _item(row: dict[str, str], here: set[str], said: bool) -> str:
    if row["label"] in here:
        return f"{link(row)}: {escaped(row['statement'])}"
    text = escaped(row["statement"])
    return f"{text} ({row['kind']})" if said else f"{text} ({row['kind']}, later)"


# --- the package ----------------------------------------------------------------------------------


#: what a reader has or wants -> what to take, and the chapter
CHOICE = {
    "few people, or no idea yet whether a slope is worth its noise": (
        "PersonalizedMean",
        "personalized/pdp_op",
    ),
    "people with one row and a budget each": ("ObjectivePerturbation", "personalized/objective"),
    "the same, with noise that is known exactly": ("PDPRidge", "personalized/pdp_op"),
    "the same, and a small chance of failure, or penalties to try afterwards": (
        "SufficientStatisticsRidge GradientDescentRidge",
        "personalized/sums",
    ),
    "one promise for all, and who takes part is secret, too": (
        "AdaSSP AdaOPS",
        "per_instance/adaops",
    ),
    "the same, by noisy steps on random batches": ("DPSGDRegression", "pac/dpsgd"),
    "the exact loss of each person, to see what a release told about them": (
        "OnePosteriorSample ops_epsilon",
        "per_instance/ops",
    ),
    "users with many rows, and a mean": ("WeightedMean", "user_level/mean"),
    "users with many rows, and a median": ("private_quantile", "user_level/quantiles"),
    "users with many rows, and a line or two classes": ("WeightedERM", "user_level/erm"),
    "labels that are private, rows that are not": (
        "GWARegression TwoStageGWARegression",
        "user_level/gwa",
    ),
    "a public pool, of which a secret half is used: PAC privacy": ("PACRegression", "pac/noise"),
    "a baseline to beat": (
        "SampledRidge SampleLimitedMean SampleLimitedRegression",
        "personalized/sampling",
    ),
}


def choice() -> str:
    """Which estimator for whom, as a table; refuses names that are gone."""
    homes = {public: m for m in modules() for public in exported(importlib.import_module(m))}
    lines = []
    for wish, (names, chapter) in CHOICE.items():
        if gone := [name for name in names.split() if name not in homes]:
            raise Refused(f"which one: {', '.join(gone)} is in no module")
        found = [f"{{py:obj}}`{name} <{homes[name]}.{name}>`" for name in names.split()]
        lines.append([wish, ", ".join(found), f"{{doc}}`../{chapter}`"])
    return table(["you have, or want", "take", "read"], lines)


def api(pages: dict[str, Page]) -> str:
    """One section a module: what is in it, a line each, with links to statements."""
    rows = {row["label"]: row for row in statements()}
    here = _labels(pages)
    parts = [
        "# The package\n",
        "## Which one do I need?\n",
        "Every estimator has `report()`, which says before anybody's data are read what its noise "
        "would do. {doc}`../synthesis/your_data` goes the whole way.\n",
        choice(),
        "## How to read this page\n",
        "One section a module: what is in it, with the statements that it carries out. A name "
        "leads to the docstring. Arrays go in and come out; randomness is an argument.\n",
    ]
    for name in modules():
        module = importlib.import_module(name)
        short = name.removeprefix("pdpbook.")
        parts.append(f"## {short}\n")
        parts.append(
            f"{'To read' if name in TO_READ else 'All docstrings'}: {{doc}}`api/{short}`.\n"
        )
        lines = []
        for public in exported(module):
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
    return GENERATED + "\n".join(parts)


TO_READ = ("pdpbook.minimal",)  # the source is the page


def reference(name: str, _: dict[str, Page]) -> str:
    """The docstrings of a module, on a page of their own: all of them together are heavy."""
    members = ", ".join(exported(importlib.import_module(name)))
    parts = [
        f"# {name}\n",
        "What is in it, in a line each: {doc}`../api`.\n",
        "## In full\n",
        f"```{{eval-rst}}\n.. automodule:: {name}\n   :members: {members}\n"
        "   :member-order: bysource\n   :exclude-members: set_fit_request, "
        "set_partial_fit_request, set_predict_request, set_score_request\n```\n",
    ]
    if name in TO_READ:
        source = f"../../../{name.replace('.', '/')}.py"
        parts.append(f"```{{literalinclude}} {source}\n:language: python\n:start-at: import\n```\n")
    return GENERATED + "\n".join(parts)


def as_myst(text: str) -> str:
    """One line of a docstring: roles and double backticks in their MyST form."""
    text = re.sub(r":([\w:]+):(`[^`]+`)", r"{\1}\2", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text)


# --- the command ----------------------------------------------------------------------------------

PAGES = {
    "ledger": ledger,
    "statements": index,
    "api": api,
    "errata": errata,
    "published": published_numbers,
    "benchmarks": benchmarks,
    "functions": functions,
    "runs": runs,
    "instructors": instructors,
    "house": house,
    "method": method,
    "_static/diagrams/house.svg": picture,
    "_static/diagrams/method.svg": steps,
    "_static/diagrams/map.svg": chapter_map,
    **{f"api/{m.removeprefix('pdpbook.')}": partial(reference, m) for m in modules()},
}


def place(name: str) -> str:
    """Where a page stands in the book; the map of the chapters is a picture."""
    return name if "." in name else f"back/{name}.md"


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them; returns the exit code."""
    if set(arguments) - {"--check"}:
        print(__doc__)
        return 2
    pages, checking = load(), "--check" in arguments
    code = write_last_cells(pages, check=checking)
    for name, make in PAGES.items():
        path = ROOT / "book" / place(name)
        shown = path.relative_to(ROOT)
        try:
            text = make(pages)
        except Refused as refusal:
            print(f"{shown}: refused\n{refusal}")
            code = 1
            continue
        same = path.is_file() and path.read_text(encoding="utf-8") == text
        if checking:
            code = code if same else 1
            print(f"{shown}: {'up to date' if same else 'out of date; run tools/pages.py'}")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"{shown}: {'as it was' if same else 'written'}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
