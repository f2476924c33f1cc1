"""Write the generated pages of the book, or hold them against their sources.

    python tools/pages.py [--check]

`back/ledger.md` is read off the printed lines of the committed notebooks, `back/statements.md` off
`statements.csv`, `back/api.md` and the pages in `back/api/` off the docstrings, `back/functions.md`
off docstrings and tests, `back/errata.md` and `back/published.md` off `errata.yml` and
`published.yml` and the evidence that they name, `back/benchmarks.md` off the records in
`benchmarks/`, `back/runs.md` off the lock, `back/instructors.md` and the last cell of every chapter
off `teaching.md`, `teaching.yml` and the exercises. With `--check` nothing is written: the exit
code is 1 when a page or a cell is out of date. The ledger refuses a notebook that ran on a stand-in
for original data, and a check or falsifier cell that printed no line of its label; errata and
published refuse evidence that no chapter prints any more.
"""

from __future__ import annotations

import csv
import importlib
import inspect
import re
import sys
from functools import partial

from evidence import errata, published_numbers
from functions import functions, modules, named, runs
from guide import instructors, write_last_cells
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


def _item(row: dict[str, str], here: set[str], said: bool) -> str:
    if row["label"] in here:
        return f"{link(row)}: {escaped(row['statement'])}"
    text = escaped(row["statement"])
    return f"{text} ({row['kind']})" if said else f"{text} ({row['kind']}, later)"


# --- the package ----------------------------------------------------------------------------------


def api(pages: dict[str, Page]) -> str:
    """One section a module: what is in it, a line each, with links to statements."""
    rows = {row["label"]: row for row in statements()}
    here = _labels(pages)
    parts = [
        "# The package\n",
        "One section a module: what is in it, with the statements that it carries out. A name "
        "leads to the docstring. Arrays go in and come out; randomness is an argument.\n",
    ]
    for name in modules():
        module = importlib.import_module(name)
        short = name.removeprefix("pdpbook.")
        parts.append(f"## {short}\n")
        parts.append(f"All docstrings: {{doc}}`api/{short}`.\n")
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
    return GENERATED + "\n".join(parts)


def reference(name: str, pages: dict[str, Page]) -> str:
    """The docstrings of a module, on a page of their own: all of them together are heavy."""
    parts = [
        f"# {name}\n",
        "What is in it, in a line each: {doc}`../api`.\n",
        "## In full\n",
        f"```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n"
        "   :member-order: bysource\n   :exclude-members: set_fit_request, "
        "set_partial_fit_request, set_predict_request, set_score_request\n```\n",
    ]
    return GENERATED + "\n".join(parts)


def as_myst(text: str) -> str:
    """One line of a docstring: roles and double backticks in their MyST form."""
    text = re.sub(r":([\w:]+):(`[^`]+`)", r"{\1}\2", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text)


# --- benchmarks -----------------------------------------------------------------------------------

RECORDS = ROOT / "benchmarks"
MUTANTS = """\
# Benchmarks

## Do the tests notice?

A test suite that passes says little until somebody breaks the code and it fails. For six modules a
tool changed the code in {each} places chosen at random, one at a time: a sign, a comparison, a
constant, an argument. A mutant that makes a test fail is *killed*. These are the rates, with the
tests that were added on the way.

{table}

Every survivor, and why it lives: *equivalent*, no input tells it apart; *numerics*, the same answer
to the stated accuracy, or slower; *wording*, texts alone. The tool was {tool}, on {date};
`benchmarks/README.md` in the repository says how to run it again. Seconds are processor seconds of
the tests of a module.
"""
ALARMS = """\
## Do sound mechanisms raise alarms?

To catch planted bugs says little if sound mechanisms are accused as well. So each line of the
harness ({{doc}}`../foundations/audits`) was audited with every seed from 0 on: by its laws on
{density} random pairs of neighbors; {counts} times by counting releases on the pair of the harness,
where its promise is hard to keep; PAC privacy {attack} times by attack. There were {alarms} alarms
in {audits} audits. What draws, counts or attacks certify is wrong with a chance of at most
{false_alarm:.0e} each.

{table}

*Largest* is the largest share of its promise that an audit could show; above 1 is an alarm. Random
pairs are mild, so it may be small, and 0 stands where nothing was certified. *Draws* are taken from
either law, to count, or to find where the two differ most; 20,000 are enough to refute half the
noise by counting. {beyond} is not counted: no number of releases refutes 40 nats. Recorded on
{date}.
"""


RATIOS = """\
## How fast is it?

Each line is a ratio of two things that were run in turn, five times: the median and the quartiles.
Times are processor time. The machine: {machine}. Up to {load:.0f} processes wanted to run
meanwhile, which the quartiles show. Of {claims} claims that were made beforehand {held} hold; the
others are marked. Recorded on {date} with {versions}. How to run it again is in
`benchmarks/README.md` of the repository.

{tables}
"""
KINDS = {
    "naive": "### Times faster than what the definitions say\n\nLoops and refits, which "
    "`benchmarks/naive.py` spells out. Below 1 the loop is faster: it validates nothing.",
    "peer": "### Times faster than what one would take instead",
    "floor": "### Times as long as what nobody can avoid",
    "seconds": "### As a share of a time\n\n`inf` was stopped before it ended.",
    "memory": "### Peak memory over that of the data, themselves counted",
}


def ratios(record: list[dict[str, str]]) -> str:
    """What was raced against what, a table a kind."""
    parts = []
    for kind, title in KINDS.items():
        lines = [
            [
                escaped(row["what"]),
                escaped(row["against"]),
                f"{int(row['n']):,}",
                row["d"],
                row["ratio"],
                f"{row['low']} to {row['high']}" if int(row["runs"]) > 1 else "one run",
                (row["claim"] or "none") + (": missed" if row["holds"] == "no" else ""),
            ]
            for row in record
            if row["kind"] == kind
        ]
        head = ["what", "beside", "n", "d", "ratio", "quartiles", "claim"]
        parts.append(f"{title}\n\n{table(head, lines)}\n")
    claims = [row["holds"] for row in record if row["claim"]]
    return RATIOS.format(
        machine=record[0]["machine"],
        load=max(float(row["load"]) for row in record),
        held=claims.count("yes"),
        claims=len(claims),
        date=max(row["date"] for row in record),
        versions=max((row["versions"] for row in record if row["kind"] == "naive"), key=len),
        tables="\n".join(parts),
    )


def benchmarks(pages: dict[str, Page]) -> str:
    """Mutants killed, survivors, alarms of sound mechanisms, ratios, from the committed records."""
    rates, alive, audits, raced = (
        list(csv.DictReader((RECORDS / name).read_text(encoding="utf-8").splitlines()))
        for name in ("mutants.csv", "survivors.csv", "alarms.csv", "ratios.csv")
    )
    rows = [
        [
            f"`{row['module']}`",
            f"{(int(row['killed']) + int(row['timeout'])) / int(row['mutants']):.1%}",
            f"{int(row['killed_at_first']) / int(row['mutants']):.1%}",
            f"{row['survived']}, {row['equivalent']} equivalent",
            row["seconds_of_tests"],
        ]
        for row in rates
    ]
    head = ["module", "killed", "before new tests", "survivors", "seconds"]
    text = MUTANTS.format(
        each=rates[0]["mutants"],
        table=table(head, rows),
        tool=rates[0]["tool"],
        date=rates[0]["date"],
    )
    parts = [GENERATED + text]
    for module in dict.fromkeys(row["module"] for row in alive):
        items = [
            f"- {code(row['place'])}, {row['verdict']}: {code(row['mutation'])}; "
            f"{escaped(row['why'])}."
            for row in alive
            if row["module"] == module
        ]
        parts.append(f"### Survivors in {module}\n\n" + "\n".join(items) + "\n")
    return "\n".join([*parts, _alarms(audits), ratios(raced)])


def _alarms(audits: list[dict[str, str]]) -> str:
    kinds = list(dict.fromkeys(row["audit"] for row in audits))
    lines = [
        [
            escaped(row["mechanism"]),
            escaped(row["how"]),
            f"{int(row['draws']):,}" if int(row["draws"]) else "none",
            f"{row['alarms']} of {row['seeds']}",
            f"{float(row['largest_ratio']):.3g}",
        ]
        for row in audits
    ]
    counted = {row["mechanism"] for row in audits if row["audit"] != "density"}
    return ALARMS.format(
        **{kind: max(row["seeds"] for row in audits if row["audit"] == kind) for kind in kinds},
        alarms=sum(int(row["alarms"]) for row in audits),
        audits=sum(int(row["seeds"]) for row in audits),
        false_alarm=max(float(row["false_alarm"]) for row in audits),
        table=table(["mechanism", "audit", "draws", "alarms", "largest"], lines),
        beyond=", ".join(
            code(name)
            for name in dict.fromkeys(row["mechanism"] for row in audits)
            if name not in counted
        ),
        date=max(row["date"] for row in audits),
    )


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
    **{f"api/{m.removeprefix('pdpbook.')}": partial(reference, m) for m in modules()},
}


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them; returns the exit code."""
    if set(arguments) - {"--check"}:
        print(__doc__)
        return 2
    pages, checking = load(), "--check" in arguments
    code = write_last_cells(pages, check=checking)
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
        if checking:
            code = code if same else 1
            print(f"{shown}: {'up to date' if same else 'out of date; run tools/pages.py'}")
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"{shown}: {'as it was' if same else 'written'}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
