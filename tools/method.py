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
    published,
    statements,
    table,
    works,
)

EXAMPLE = "thm-pdp-op"
HOME = "personalized/pdp_op"
RECORDS = ROOT / "lab" / "benchmarks"
PLANTED = ROOT / "book" / "foundations" / "results" / "planted.csv"

#: what a falsifier of the example is called when it prints -> what was broken, in words
BROKEN = {
    "HalfTheNoise": "The rate of the noise is doubled: half of the noise.",
    "LargestBudget": "The noise is for the largest budget, whatever the others asked for.",
    "EqualWeights": "The noise is for the sum of the budgets, and yet everybody weighs the same.",
    "AddRemoveConstant": "The constant of somebody who leaves; but people are replaced.",
    "ScaleForRate at a rate below 1": "A sampler that takes a scale is handed the rate.",
    "row_norm with clip, not enforced": "The noise is for short rows, and nobody shortens them.",
    "the constant of another c": "The constant of another threshold of the Huber loss.",
    "one seed for two releases": "Both releases have the same noise, so their difference has none.",
    "scaled by the extremes of the file": "Labels are scaled by the extremes of the data.",
    "bounds from the data, a villa moves in": "Bounds are read from the data, and a villa moves in.",
    "rows without a label dropped": "Rows without a label are dropped: the number of people tells.",
    "penalty chosen by looking, 1 kWh more": "The penalty is chosen by looking at the data.",
    "a block: Twice": "A block of people is counted twice.",
    "a block: Lost": "A block is lost after the width of the noise was announced.",
    "32 bits, shuffled by a digest": "Sums in 32 bits, in an order that depends on the data.",
}
TEXT = """\
# How a statement gets into this book

For people who want to build a book like this one. A theorem here is not only printed. It is proved, measured by
code that runs with the page, broken on purpose to see whether the measurement notices, audited from outside,
and its tests are tested. This page follows one theorem through all of it: {title}
({prf}), which is {source}.

:::{{figure}} ../_static/diagrams/method.*
:name: fig-method
:alt: Six boxes in a row that bends: state, prove, check, break, audit, mutate, each with the question it answers.

Six steps. Each answers a question that the step before leaves open.
:::

{steps}

## State and prove

A statement is one box in the notebook of its chapter, with a label, and one row in the file `statements.csv`. The row says
who had it first and under which numbers, in the anonymous version and as published; from it come the ledger, the index and the title of the box:

{row}

The box has every assumption in it, the proof stands under it, and between the two one plain sentence says why it is
true. Here: the rate of the noise is in proportion to the sum of all budgets, your weight to your share of that sum; the product is your own
budget. A test refuses a statement of this kind without a check.

## Check

The cell under the proof begins with `# check:` and the label. It searches for the neighbors among which the loss is largest, by exact
densities, and `check` raises if a value is on the wrong side of its bound:

```python
{check}
```

The loss is between {low} and {high} of the budget for all five constants: it comes close, and never exceeds it. A check that only stayed below its bound could be
idle; lines with *at least* say that it is not. The notebook is run anew by the tests, and each printed line is compared with the committed one.

:::{{dropdown}} The {ten} lines that this cell prints
{held}:::

## Break: what makes this check fail

The next cell begins with `# falsify:`. It plants bugs in the mechanism and calls *the same check*, which must fail; if it passes, the page does
not build. In all, {broken} bugs are planted under checks of this theorem, on {pages} pages:

{bugs}

:::{{dropdown}} The cell of the first {first}
```python
{falsify}
```
:::

Some bugs are missed by some checks. The wrong sampler of the fifth row gives *more* noise where the rate is above 1, so it is
tried with budgets of 0.001 too. Whoever writes the falsifier finds out where the check is blind.

## Audit

A check knows the theorem. An audit knows the promise of a fitted object only, and attacks it: by exact densities where the
mechanism has them, by counting releases otherwise ({{doc}}`../foundations/audits`). Two numbers matter, and one without the other says nothing:

- *bugs caught*: {plants} planted bugs in all, {family} of them in mechanisms with personal budgets; each is refuted, its sound twin is not. Half the
  noise is caught with {half} times the budget.
- *false alarms*: {alarms} in {audits} audits of PDP-OP with other seeds and other people.

## Mutate

Who tests the tests? A tool changes the package in one place, `<` to `<=`, `2` to `3`, and the tests must fail. Of {mutants} such
mutants of the module of this theorem {killed} are killed, {first_killed} before we wrote new tests for the others. The {left} that live change nothing, for instance:

{survivors}

Mutants by rule, in all modules where budgets are spent: of {ruled}, {ruled_first} were killed by the tests as they were and {ruled_later} by tests that
were written because of them; {gone} stood in code that nothing needed, which is gone; {equal} change nothing. All of it is on
{{doc}}`benchmarks`.

## What this does not show

- A check is not a proof. It sees the data that it tries: here eight people with four features. The proof is what holds for all.
- A proof is about real numbers. Computers round; {{doc}}`../synthesis/grid` and {{doc}}`../synthesis/at_scale` say what that costs.
- All of it is written by the same people. {{doc}}`errata` shows how often four papers were read otherwise than they print; ours will have errors,
  too.

## To build one

1. Two functions: `check` prints one line or raises, `falsify` wants it to raise. They are {size} lines, in `pdpbook/statements.py`.
2. A table of statements with labels that never change, and a rule in the tests: no box without a row, no proved row without a check, no
   check without a falsifier (or a written reason).
3. Notebooks committed with their output and compared strictly. So print three digits at most, and nothing that differs between machines.
4. Pages made from what the notebooks print: the {{doc}}`ledger` here has {lines} lines that held and {failures} that broke, for {proved} proved statements.
   Nobody types a number twice.
5. Planted bugs as subclasses that change one public method, so that they live as long as the method does.
6. Mutants late, when the tests seem complete. `python -m lab mutants personalized` runs those of this theorem, as `lab/README.md` says.
"""


def method(pages: dict[str, Page]) -> str:
    """The page, from the committed notebook and records; refuses what they do not say."""
    [row] = [row for row in statements() if row["label"] == EXAMPLE]
    held, broken = _lines(pages, "measured"), _lines(pages, "falsified")
    if odd := sorted({line.what for _, line in broken} ^ set(BROKEN)):
        raise Refused(f"method: bugs of {EXAMPLE} and their descriptions differ: {odd}")
    cells = {cell.id: cell for cell in nbformat.read(published()[HOME], as_version=4).cells}
    check, falsify = cells[f"check-{EXAMPLE}"], cells[f"falsify-{EXAMPLE}"]
    mutants = next(one for one in _record("mutants") if one["module"] == "personalized")
    alive = [one for one in _record("survivors") if one["module"] == "personalized"]
    mine = pages[HOME].measured[EXAMPLE]
    values = [line.value for line in mine if line.what.startswith("loss / budget")]
    audits = [one for one in _record("alarms") if one["mechanism"].partition(",")[0] == "PDPRidge"]
    ruled = _record("by_rule")
    with PLANTED.open(encoding="utf-8", newline="") as file:
        plants = list(csv.DictReader(file))
    killed = int(mutants["killed"]) + int(mutants["timeout"])
    dead = [one for one in ruled if one["verdict"] == "killed"]
    at_first = sum(one["why"] == "own tests, as they were" for one in dead)
    known = works((ROOT / "book" / "references.bib").read_text(encoding="utf-8"))
    alarms, seeds = (sum(int(one[name]) for one in audits) for name in ("alarms", "seeds"))
    proved = [one for one in statements() if one["kind"] in CHECKED]
    steps = [
        ["1. state", "What exactly is claimed, and who had it first?", "one box, one row"],
        ["2. prove", "Why is it true?", "a short proof, and a plain sentence"],
        ["3. check", "Does the code do it?", f"{len(held)} lines that hold"],
        ["4. break", "Would the check notice if not?", f"{len(broken)} bugs, each noticed"],
        ["5. audit", "Does the promise hold from outside?", f"{alarms} alarms in {seeds} audits"],
        ["6. mutate", "Do the tests test?", f"{killed} of {mutants['mutants']} mutants killed"],
    ]
    shown = ["label", "kind", "chapter", "source", "number", "number_published"]
    return GENERATED + TEXT.format(
        title=f"*{escaped(pages[HOME].boxes[EXAMPLE].title.partition(';')[0])}*",
        prf=f"{{prf:ref}}`{EXAMPLE}`",
        source=escaped(attribution(row, known)),
        steps=table(["step", "question", "for this theorem"], steps),
        row=table(["column", "value"], [[code(name), code(row[name])] for name in shown]),
        check=check.source,
        held=_shown(mine),
        ten=len(mine),
        low=min(values),
        high=max(values),
        broken=len(broken),
        pages=len({page for page, _ in broken}),
        bugs=table(
            ["what is broken", "on the page", "measured", "should be"],
            [
                [BROKEN[line.what], f"{{doc}}`../{page}`", escaped(line.value), _said(line)]
                for page, line in broken
            ],
        ),
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
        ruled=len(ruled),
        ruled_first=at_first,
        ruled_later=len(dead) - at_first,
        gone=sum(one["verdict"] == "gone" for one in ruled),
        equal=sum(one["verdict"] == "equivalent" for one in ruled),
        size=_size(),
        lines=sum(len(v) for page in pages.values() for v in page.measured.values()),
        failures=sum(len(v) for page in pages.values() for v in page.falsified.values()),
        proved=len(proved),
    )


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
    source = (ROOT / "pdpbook" / "statements.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return len(ast.unparse(tree).replace("\n\n", "\n").splitlines())
