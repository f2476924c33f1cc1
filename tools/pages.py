"""Write the generated pages of the book, or hold them against their sources.

    python tools/pages.py [--check]

`back/ledger.md`, a page for each part and the log beside them are read off the printed lines of the
committed notebooks, `back/statements.md` off
`statements.csv`, `back/api.md` and the pages in `back/api/` off the docstrings,
`back/functions.md` off docstrings and tests, `back/errata.md` and `back/published.md` off
`errata.yml` and `published.yml` and the evidence that they name, `back/papers.md` off
`papers.csv`, `back/questions.md` off `questions.yml` and the pages that answer,
`back/proofs.md` off `proofs/`, `back/house.md` and its picture
off the floors in `tools/house.py`, `back/method.md` off one theorem's cells and records (`method`),
`back/benchmarks.md` off the records in `lab/benchmarks/`,
`back/runs.md` off the lock, `back/licenses.md` off the installed packages (`shipped`),
`back/editions.md` off the counts of two editions (`editions`), `back/instructors.md` and the last
cell of every chapter off `teaching.md`, `teaching.yml` and the exercises, the map of the chapters
off `teaching.yml`, the targets of links in README.md and two lines of CITATION.cff off where the
book lives (`addresses`).
With `--check` nothing is written: the exit code is 1 when a page or a cell is out of date. The
ledger refuses a check or falsifier cell that printed no line of its label; errata and published
refuse evidence that no chapter prints any more.
"""

import csv
import importlib
import inspect
import io
import re
import sys
from functools import partial

from addresses import write as write_addresses
from chapter_map import chapter_map
from editions import editions
from evidence import errata, published_numbers
from functions import exported, functions, modules, named, runs
from house import house, picture
from method import method
from method import picture as steps
from papers_index import papers_index
from pdp_sentences import fault
from proofs_page import checked_by_machine, proofs_page
from questions import questions
from reading import (
    CHECKED,
    DIRECTIVE,
    GENERATED,
    LINE,
    ROOT,
    Line,
    Page,
    Refused,
    called,
    code,
    entry,
    escaped,
    link,
    listed,
    load,
    markers,
    printed,
    published,
    read,
    sources,
    statements,
    table,
    told,
    words,
)
from records import benchmarks
from shipped import licenses

from course.guide import instructors, write_last_cells
from pdpbook.linear import MeanRegressor

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

LOG = "ledger/log.csv"
LEDGER = ["statement", "its entry", "who had it first", "by machine", "a fault that is noticed"]


def ledger(pages: dict[str, Page]) -> str:
    """What is tested and how to read it, a line for every part, a row for every statement."""
    stated = _stated(pages)
    proved = [(row, page) for row, page in stated if row["kind"] in CHECKED]
    faults = [f"book/{page.name}.ipynb: {f}" for page in pages.values() for f in page.faults] + [
        f"book/{page.name}.ipynb: {row['label']} is stated, and no cell checks it"
        for row, page in proved
        if row["label"] not in page.measured
    ]
    if faults:
        raise Refused("\n".join(faults))
    parts, rows = [], []
    for part in dict.fromkeys(row["part"] for row, _ in stated):
        mine = [row for row, _ in stated if row["part"] == part]
        many = (len(mine), sum(row["kind"] in CHECKED for row in mine), *_counts(mine, pages))
        parts.append([f"{{doc}}`{words(part)} <ledger/{part}>`", *map(str, many)])
    for row, page in stated:
        if found := _lines(row, pages):
            broken = [line for line in found if line.broken][:1]
            faults = [escaped(fault(line.said)) for line in broken] or ["no fault is planted"]
            title = f"[{_title(row, page)}](#ledger-{row['label']})"
            machine = checked_by_machine(row["label"])
            rows.append([link(row), title, sources(row), machine, *faults])
    held, fell = _counts([row for row, _ in stated], pages)
    return GENERATED + "\n".join(
        [
            "# Ledger\n",
            f"The book states {len(stated)} definitions, theorems and other results, and proves "
            f"{len(proved)} of them. Each of those is also tested on its page: {held} times a "
            "computed number was held against what is claimed, and agreed; "
            f"{fell} times an assumption was dropped or a bug planted, and the same test failed, "
            "as it should.\n",
            "An entry says both in words. *Tested* names what was computed, the number, and in "
            "brackets what is claimed of it. *With a deliberate mistake it fails:* names what was "
            "broken on purpose, "
            "with the number that gave it away.\n",
            f"Every line as the notebooks printed it: {{download}}`the full log <{LOG}>` "
            f"({held + fell} lines, CSV).\n",
            table(["part", "statements", "proved", "tests that held", "faults noticed"], parts),
            "## Every statement that is tested\n",
            "The number leads to the statement with its proof, the title to its entry. *By "
            "machine* says what of the proof Coq, a proof assistant, has checked: {doc}`proofs`.\n",
            "{.sift}",
            table(LEDGER, rows),
        ]
    )


def ledger_part(part: str, pages: dict[str, Page]) -> str:
    """The entries of one part, by chapter."""
    stated = [(row, page) for row, page in _stated(pages) if row["part"] == part]
    parts = [
        f"# Ledger: {words(part)}\n",
        f"What was tested of the statements on {words(part)}, and what the tests notice. How to "
        "read an entry: {doc}`../ledger`.\n",
    ]
    for name in dict.fromkeys(page.name for _, page in stated):
        mine = [row for row, page in stated if page.name == name]
        parts.append(f"## {pages[name].title}\n")
        parts.append(listed(_entry(row, pages[name], pages) for row in mine if _lines(row, pages)))
        if others := [link(row) for row in mine if not _lines(row, pages)]:
            parts.append(f"Stated without a test: {', '.join(others)}.\n")
    return GENERATED + "\n".join(parts)


def log(pages: dict[str, Page]) -> str:
    """Every line that a check or a falsifier printed."""
    lines = [("label", "chapter", "outcome", "measured", "value", "claimed")]
    for row, _ in _stated(pages):
        for page in pages.values():
            for line in _lines(row, {page.name: page}):
                outcome = "broken on purpose" if line.broken else "held"
                found = (row["label"], page.name, outcome, line.what, line.value, line.relation)
                lines.append(found)
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(lines)
    return file.getvalue()


def _stated(pages: dict[str, Page]) -> list[tuple[dict[str, str], Page]]:
    """The statements of this release, each with its page, in the order of the book."""
    rows = {row["label"]: row for row in statements()}
    return [(rows[label], p) for p in pages.values() for label in p.boxes if label in rows]


def _lines(row: dict[str, str], pages: dict[str, Page]) -> list[Line]:
    """What was printed about a statement, on whichever page."""
    found = [(p.measured, p.falsified) for p in pages.values()]
    return [line for kinds in found for lines in kinds for line in lines.get(row["label"], [])]


def _counts(rows: list[dict[str, str]], pages: dict[str, Page]) -> tuple[int, int]:
    broken = [line.broken for row in rows for line in _lines(row, pages)]
    return len(broken) - sum(broken), sum(broken)


def _title(row: dict[str, str], page: Page) -> str:
    title = page.boxes[row["label"]].title
    return title.rpartition(";")[0] or title or escaped(row["statement"])


def _entry(row: dict[str, str], page: Page, pages: dict[str, Page]) -> str:
    label = row["label"]
    said = [f"{link(row)}, **{_title(row, page)}**. {sources(row)}", *told(_lines(row, pages))]
    if label in page.waived:
        said.append(f"No fault is planted: {page.waived[label]}")
    function = page.functions.get(label, "")
    said.append(f"Label {code(label)}" + (f"; in code: {function}" if "`" in function else ""))
    return entry(f"ledger-{label}", *said)


# --- the index of statements ----------------------------------------------------------------------


def index(pages: dict[str, Page]) -> str:
    """Every statement of the book, as one table."""
    stated, rows = _stated(pages), statements()
    lines = [
        [link(row), escaped(row["statement"]), sources(row), f"{{doc}}`../{page.name}`"]
        for row, page in stated
    ]
    here = {row["label"] for row, _ in stated}
    lines += [
        ["later", escaped(row["statement"]), sources(row), words(row["chapter"].split("/")[1])]
        for row in rows
        if row["label"] not in here
    ]
    return GENERATED + "\n".join(
        [
            "# Statements\n",
            f"All {len(rows)} definitions, theorems and other results of the book, in its order. "
            f"The number leads to the lasting address of a statement. Numbers of {called('A')} are "
            "those of the anonymous version, then of the published one. What was tested of each, "
            "and what breaks it, is in the {doc}`ledger`.\n",
            "{.sift}",
            table(["statement", "what it says", "who had it first", "chapter"], lines),
        ]
    )


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
    "one row each, and labels far off the middle of their bounds, such as days or incomes": (
        "ObjectivePerturbation PDPRidge",
        "personalized/centered_labels",
    ),
    "one row each, and noise without floats": (
        "PersonalizedMean SufficientStatisticsRidge",
        "synthesis/whole_numbers",
    ),
    "one row each, and a label of two classes": (
        "LogisticObjectivePerturbation",
        "personalized/two_classes",
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
    "users with many rows, and a line": (
        "ObjectivePerturbation SufficientStatisticsRidge AdaSSP",
        "user_level/means_of_rows",
    ),
    "users with many rows, and two classes": (
        "WeightedGradientDescent WeightedOutputPerturbation",
        "user_level/erm",
    ),
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


#: an estimator without a penalty -> what keeps its coefficients in check, or takes the place;
#: means that are not here have nothing
WITHOUT_PENALTY = {
    "AdaSSP": "the release itself: a share of the noise budget pays for the smallest eigenvalue, "
    "and the penalty is what it lacks against the noise; `failure` says how often that may be "
    "too little",
    "AdaOPS": "the release itself, in the same way; on benign data it is 0. `norm_guess` steers it",
    "DPSGDRegression": "steps: `learning_rate` and `epochs`, public and chosen beforehand",
    "WeightedGradientDescent": "steps in a ball: `radius`, `steps` and `step_size`, public",
    "GWARegression": "nothing: rows are public. `sigma2`, a guess of the variance of the labels, "
    "steers the weights",
    "TwoStageGWARegression": "the same; a `share` of the budget pays for a first, rough line",
    "SampleLimitedRegression": "nothing: least squares on public rows",
    "PACRegression": "`alpha`, a penalty that may be chosen by looking, since the pool is public",
    "WeightedMean": "`sigma2`, a public guess of the variance of the labels",
    "SampleLimitedMean": "`max_rows`, or `sigma2` for the best one",
}


def penalties() -> str:
    """Which estimators need no penalty, and what is there instead; refuses a list that is old."""
    homes, have, lack = {}, [], []
    instead_of_penalty = dict(WITHOUT_PENALTY)
    for name in modules():
        module = importlib.import_module(name)
        for public in exported(module):
            thing = getattr(module, public)
            if not (inspect.isclass(thing) and hasattr(thing, "predict")):
                continue
            homes[public] = name
            settings = inspect.signature(thing).parameters
            if "epsilon" not in settings and "success_rate" not in settings:
                continue  # what `load` reads, which is fitted already
            (have if "lam" in settings else lack).append(public)
            if "lam" not in settings and issubclass(thing, MeanRegressor):
                instead_of_penalty.setdefault(public, "nothing: a mean has none")
    if set(lack) != set(instead_of_penalty):
        wrong = sorted(set(lack) ^ set(instead_of_penalty))
        raise Refused(f"which one needs a penalty: {', '.join(wrong)}")

    def linked(public: str) -> str:
        return f"{{py:obj}}`{public} <{homes[public]}.{public}>`"

    rows = [[linked(public), instead] for public, instead in instead_of_penalty.items()]
    return (
        f"{', '.join(map(linked, sorted(have)))} have a penalty, `lam`. It is part of the promise: "
        "take it from {py:obj}`plan <pdpbook.plan.plan>`, never from the private table. With "
        "{py:obj}`~pdpbook.sufficient_statistics.SufficientStatisticsRidge` it may be chosen "
        "after the release, at no cost (`coef_path`). The others have no `lam`:\n\n"
        + table(["takes no `lam`", "what is there instead"], rows)
    )


def api(pages: dict[str, Page]) -> str:
    """One section a module: what is in it, a line each, with links to statements."""
    rows = {row["label"]: row for row in statements()}
    here = {label for page in pages.values() for label in page.boxes}
    parts = [
        "# The package\n",
        "## Which one do I need?\n",
        "{py:obj}`plan <pdpbook.plan.plan>` says from public numbers alone which of them to "
        "publish, or that a private mean is better. "
        "{py:obj}`rehearse <pdpbook.rehearsal.rehearse>` says before anybody's data are read what "
        "error to expect. {doc}`../synthesis/your_data` goes the whole way.\n",
        choice(),
        "Rows that memory does not hold are added up part by part, where sums are enough: "
        "{py:obj}`~pdpbook.sums.Sums`, {doc}`../synthesis/at_scale`.\n",
        "## Which one needs a penalty?\n",
        penalties(),
        "## How to read this page\n",
        "One section a module: what is in it, with the statements that it carries out. A name "
        "leads to the docstring. Arrays go in and come out; randomness is an argument. Names and "
        "defaults that estimators share are on {doc}`a page of their own <settings>`.\n",
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

PARTS = dict.fromkeys(row["part"] for row in statements())
PAGES = {
    "ledger": ledger,
    **{f"ledger/{part}": partial(ledger_part, part) for part in PARTS},
    f"back/{LOG}": log,
    "statements": index,
    "api": api,
    "errata": errata,
    "published": published_numbers,
    "papers": papers_index,
    "questions": questions,
    "benchmarks": benchmarks,
    "functions": functions,
    "runs": runs,
    **{
        name: partial(instructors, name=name)
        for name in ("instructors", "grading", "bank", "cards")
    },
    "editions": editions,
    "house": house,
    "licenses": licenses,
    "method": method,
    "proofs": proofs_page,
    "_static/diagrams/house.svg": picture,
    "_static/diagrams/method.svg": steps,
    "_static/diagrams/map.svg": chapter_map,
    **{f"api/{m.removeprefix('pdpbook.')}": partial(reference, m) for m in modules()},
}


def place(name: str) -> str:
    """Where a page stands in the book; the map of the chapters is a picture."""
    return f"back/{name}.md" if "." not in name or name.startswith("api/") else name


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them; returns the exit code."""
    if set(arguments) - {"--check"}:
        print(__doc__)
        return 2
    pages, checking = load(), "--check" in arguments
    code = write_last_cells(pages, check=checking) | write_addresses(check=checking)
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
