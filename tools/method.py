"""The page about the method: one theorem from its sentence to the tests of its tests.

`tools/pages.py` writes `back/method` from the notebook that states the theorem, `statements.csv`
and the records of audits and mutants. Every number on it is read from them; a planted bug that the
page does not describe, or that is gone, refuses it.
"""

import ast
import csv

import nbformat
from reading import (
    CHECKED,
    GENERATED,
    ROOT,
    Line,
    Page,
    Refused,
    attribution,
    code,
    escaped,
    load,
    published,
    statements,
    table,
    works,
)
from records import DRAWN

EXAMPLE = "thm-pdp-op"
HOME = "personalized/pdp_op"
RECORDS = ROOT / "lab" / "benchmarks"
PLANTED = ROOT / "book" / "foundations" / "results" / "planted.csv"

#: what a falsifier of the example is called when it prints -> what was broken, in words
BROKEN = {
    "HalfTheNoise": "The rate of the noise is doubled.",
    "LargestBudget": "Noise for the largest budget, for everybody.",
    "EqualWeights": "Noise for all budgets together, and equal weights.",
    "AddRemoveConstant": "The constant for leaving, not for replacing.",
    "ScaleForRate at a rate below 1": "A sampler that takes a scale is handed the rate.",
    "row_norm with clip, not enforced": "Rows that are too long are not shortened.",
    "the constant of another c": "The constant of another threshold.",
    "one seed for two releases": "One seed for two releases: the same noise.",
    "scaled by the extremes of the file": "Labels are scaled by the extremes of the data.",
    "bounds from the data, a villa moves in": "Bounds are read from the data.",
    "rows without a label dropped": "Rows without a label are dropped.",
    "penalty chosen by looking, 1 kWh more": "The penalty is chosen by looking at the data.",
    "a part: Twice": "A part of the people is counted twice.",
    "a part: Lost": "A part is lost, and the noise stays as announced.",
    "32 bits, shuffled by a digest": "Sums in 32 bits, in an order that the data set.",
}
SLANTED = ' font-style="italic"'
STYLE = """.mt-none{fill:none;stroke:currentColor}
.mt-blue{fill:var(--fig-blue,#0072b2);fill-opacity:.16;stroke:currentColor}
.mt-warm{fill:var(--fig-warm,#b84a00);fill-opacity:.16;stroke:currentColor}
.mt-way{fill:none;stroke:currentColor;stroke-width:1.5}"""
SHORT = {  # pages that break it, as the table names them
    HOME: "PDP-OP",
    f"{HOME}_data": "real tables",
    "synthesis/your_data": "your data",
    "synthesis/at_scale": "at scale",
}
TEXT = """\
# How a statement gets into this book

For people who want to build a book like this one. A theorem here is not only printed. It is
proved, measured by code that runs with the page, broken on purpose to see whether the measurement
notices, audited from outside, and its tests are tested. This page follows one theorem through all
of it: {title} ({prf}), which is {source}.

:::{{figure}} ../_static/diagrams/method.*
:name: fig-method
:alt: Six boxes, joined by arrows: state, prove, check, break, audit, mutate, each with a question.

Six steps, the question of each, and what came of it for this theorem.
:::

## State and prove

A statement is one box in the notebook of its chapter, with a label, and one row in the file
`statements.csv`. The row says who had it first and under which numbers, in the anonymous version
and as published; from it come the ledger, the index and the title of the box. Here:
{row}.

The box has every assumption in it, the proof stands under it, and between the two one plain
sentence says why it is true. Here: the rate of the noise is in proportion to the sum of all
budgets, your weight to your share of that sum; the product is your own budget. A test refuses a
statement of this kind without a check.

## Check

The cell under the proof begins with `# check:` and the label. It searches for the neighbors among
which the loss is largest, by exact densities, and `check` raises if a value is on the wrong side
of its bound:

```python
{check}
```

The loss is between {low} and {high} of the budget for all five constants: it comes close, and
never exceeds it. A check that only stayed below its bound could be idle; lines with *at least*
say that it is not. The notebook is run anew by the tests, and each printed line is compared with
the committed one.

:::{{dropdown}} The {ten} lines that this cell prints
{held}:::

## Break: what makes the check of Theorem 2.1 fail

The next cell begins with `# falsify:`. It plants bugs in the mechanism and calls *the same
check*, which must fail; if it passes, the page does not build. In all, {broken} bugs are planted
under checks of this theorem, on {pages} pages:

{bugs}

:::{{dropdown}} The cell of the first {first}
```python
{falsify}
```
:::

Some bugs are missed by some checks. The wrong sampler of the fifth row gives *more* noise where
the rate is above 1, so it is tried with budgets of 0.001 too. Whoever writes the falsifier finds
out where the check is blind.

## Audit

A check knows the theorem. An audit knows the promise of a fitted object only, and attacks it: by
exact densities where the mechanism has them, by counting releases otherwise
({{doc}}`../foundations/audits`). Two numbers matter, and one without the other says nothing:

- *bugs caught*: {plants} planted bugs in all, {family} of them in mechanisms with personal
  budgets; each is refuted, its sound twin is not. Half the noise is caught: a loss of {half} times
  the budget.
- *false alarms*: {alarms} in {audits} audits of PDP-OP with other seeds and other people.

## Mutate

Who tests the tests? A tool changes the package in one place, `<` to `<=`, `2` to `3`, and the
tests must fail. Of {mutants} such mutants of the module of this theorem {killed} are killed,
{first_killed} before we wrote new tests for the others. The {left} that live change nothing, for
instance:

{survivors}

Mutants by rule, in all modules where budgets are spent: {ruled} were drawn, and
{left_of_ruled} of them have a place in the code of today. {ruled_first} were killed by the tests
as they were and {ruled_later} by others, most written because of them; {equal} change
nothing. All of it is on {{doc}}`benchmarks`.

## What this does not show

- A check is not a proof. It sees the data that it tries: here eight people with four features.
  The proof is what holds for all.
- A proof is about real numbers. Computers round; {{doc}}`../synthesis/grid` and
  {{doc}}`../synthesis/at_scale` say what that costs.
- All of it is written by the same people. {{doc}}`errata` has what we found in four papers; this
  book will have errors, too.

## To build one

1. Two functions: `check` prints one line or raises, `falsify` wants it to raise. They are {size}
   lines, in `pdpbook/pages/statements.py`.
2. A table of statements with labels that never change, and a rule in the tests: no box without a
   row, no proved row without a check, no check without a falsifier (or a written reason).
3. Notebooks committed with their output and compared strictly. So print three digits at most, and
   nothing that differs between machines.
4. Pages made from what the notebooks print: the {{doc}}`ledger` here has {lines} lines that held
   and {failures} that broke, for {proved} proved statements. Nobody types a number twice.
5. Planted bugs as subclasses that change one public method, so that they live as long as the
   method does.
6. Mutants late, when the tests seem complete. `python -m lab mutants personalized` runs those of
   this theorem, as `lab/README.md` says.
"""


def method(pages: dict[str, Page]) -> str:
    """The page, from the committed notebook and records; refuses what they do not say."""
    [row] = [row for row in statements() if row["label"] == EXAMPLE]
    pages = pages if HOME in pages else load()
    broken = _lines(pages, "falsified")
    if odd := sorted({line.what for _, line in broken} ^ set(BROKEN)):
        raise Refused(f"method: bugs of {EXAMPLE} and their descriptions differ: {odd}")
    cells = {cell.id: cell for cell in nbformat.read(published()[HOME], as_version=4).cells}
    check, falsify = cells[f"check-{EXAMPLE}"], cells[f"falsify-{EXAMPLE}"]
    mutants, killed = _mutants()
    alive = [one for one in _record("survivors") if one["module"] == "personalized"]
    mine = pages[HOME].measured[EXAMPLE]
    values = [line.value for line in mine if line.what.startswith("loss / budget")]
    ruled = _record("by_rule")
    with PLANTED.open(encoding="utf-8", newline="") as file:
        plants = list(csv.DictReader(file))
    dead = [one for one in ruled if one["verdict"] == "killed"]
    at_first = sum(one["why"] == "own tests, as they were" for one in dead)
    known = works((ROOT / "book" / "references.bib").read_text(encoding="utf-8"))
    alarms, seeds = _audits()
    proved = [one for one in statements() if one["kind"] in CHECKED]
    shown = ["kind", "chapter", "source", "number", "number_published"]
    return GENERATED + TEXT.format(
        title=f"*{escaped(pages[HOME].boxes[EXAMPLE].title.partition(';')[0])}*",
        prf=f"{{prf:ref}}`{EXAMPLE}`",
        source=escaped(attribution(row, known)),
        row=", ".join(f"{name.replace('_', ' ')} {code(row[name])}" for name in shown),
        check=check.source,
        held=_shown(mine),
        ten=len(mine),
        low=min(values),
        high=max(values),
        broken=len(broken),
        pages=len({page for page, _ in broken}),
        bugs=table(
            ["what is broken", "page", "measured", "must be"],
            [
                [
                    BROKEN[line.what],
                    f"{{doc}}`{SHORT[page]} <../{page}>`",
                    escaped(line.value),
                    code(line.relation),
                ]
                for page, line in broken
            ],
        ).rstrip(),
        first=len(pages[HOME].falsified[EXAMPLE]),
        falsify=falsify.source,
        plants=len(plants),
        family=sum(one["family"] == "personalized" for one in plants),
        half=next(one["ratio"] for one in plants if one["bug"] == "half the noise"),
        alarms=alarms or "none",
        audits=seeds,
        mutants=mutants["mutants"],
        killed=killed,
        first_killed=mutants["killed_at_first"],
        left=len(alive),
        survivors="\n".join(
            f"- {code(one['mutation'])}: {escaped(one['why'])}." for one in alive[-1:]
        ),
        ruled=DRAWN,
        left_of_ruled=len(ruled),
        ruled_first=at_first,
        ruled_later=len(dead) - at_first,
        equal=sum(one["verdict"] == "equivalent" for one in ruled),
        size=_size(),
        lines=sum(len(v) for page in pages.values() for v in page.measured.values()),
        failures=sum(len(v) for page in pages.values() for v in page.falsified.values()),
        proved=len(proved),
    )


def picture(pages: dict[str, Page]) -> str:
    """The six steps as SVG, with what came of each."""
    (alarms, seeds), (mutants, killed) = _audits(), _mutants()
    pages = pages if HOME in pages else load()
    held, broken = _lines(pages, "measured"), _lines(pages, "falsified")
    steps = [
        ("state", "what exactly?", "one box, one row", "none"),
        ("prove", "why?", "a short proof", "none"),
        ("check", "does the code do it?", f"{len(held)} lines hold", "blue"),
        ("break", "would we notice?", f"{len(broken)} bugs noticed", "warm"),
        ("audit", "from outside, too?", f"{alarms} alarms in {seeds}", "blue"),
        ("mutate", "do the tests test?", f"{killed} of {mutants['mutants']} killed", "warm"),
    ]
    parts = []
    for k, (name, question, answer, kind) in enumerate(steps):
        x, y = 1 + 188 * (k % 2), 1 + 106 * (k // 2)
        parts.append(f'<rect class="mt-{kind}" x="{x}" y="{y}" width="150" height="76" rx="4"/>')
        lines = [(name, 16, 23, "bold"), (question, 14, 44, "normal"), (answer, 14, 65, "normal")]
        parts += [
            f'<text x="{x + 75}" y="{y + down}" font-size="{size}" font-weight="{weight}" '
            f'text-anchor="middle"{SLANTED if words == answer else ""}>{words}</text>'
            for words, size, down, weight in lines
        ]
        if k % 2 == 0:
            parts.append(f'<path class="mt-way" d="M{x + 152},{y + 38}h33m-6,-5l6,5l-6,5"/>')
        elif k < 5:
            parts.append(f'<path class="mt-way" d="M264,{y + 77}v14h-188v13m-5,-6l5,6l5,-6"/>')
    told = "; ".join(f"{name}, {question} {answer}" for name, question, answer, _ in steps)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 340 290" role="img" '
        'aria-labelledby="mt-t mt-d" fill="currentColor">\n'
        '<title id="mt-t">Six steps of a statement</title>\n'
        f'<desc id="mt-d">Six boxes in three rows of two, joined by arrows: {told}.</desc>\n'
        f"<style>\n{STYLE}\n</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _mutants() -> tuple[dict[str, str], int]:
    """What is recorded of the mutants of the module, and how many of them are killed."""
    [found] = [one for one in _record("mutants") if one["module"] == "personalized"]
    return found, int(found["killed"]) + int(found["timeout"])


def _audits() -> tuple[int, int]:
    """False alarms of the mechanism, and how often it was audited."""
    mine = [one for one in _record("alarms") if one["mechanism"].partition(",")[0] == "PDPRidge"]
    return sum(int(one["alarms"]) for one in mine), sum(int(one["seeds"]) for one in mine)


def _lines(pages: dict[str, Page], kind: str) -> list[tuple[str, Line]]:
    """The lines of the example, with the page that printed each."""
    return [
        (page.name, line)
        for page in pages.values()
        for line in getattr(page, kind).get(EXAMPLE, [])
    ]


def _record(name: str) -> list[dict[str, str]]:
    with (RECORDS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _said(line: Line) -> str:
    """A relation in words."""
    sign, bound = line.relation.split()[:2]
    return {"<=": "at most", ">=": "at least", "=": "exactly"}[sign] + f" {bound}"


def _shown(lines: list[Line]) -> str:
    rows = [[escaped(line.what), line.value, _said(line)] for line in lines]
    return table(["measured", "value", "must be"], rows)


def _size() -> int:
    """Lines of code of `check` and `falsify`, as the page counts them: no docstrings, no blanks."""
    source = (ROOT / "pdpbook" / "pages" / "statements.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return len(ast.unparse(tree).replace("\n\n", "\n").splitlines())
