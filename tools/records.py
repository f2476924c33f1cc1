"""The page of benchmarks, from the records in `lab/benchmarks/`: speed, mutants, alarms."""

import csv
from collections import Counter
from datetime import datetime
from math import inf
from statistics import mode

from reading import GENERATED, ROOT, Page, Refused, code, escaped, table

Row = dict[str, str]
RECORDS = ROOT / "lab" / "benchmarks"
RECORDED = [
    f"{name}.csv" for name in ("ratios", "again", "mutants", "survivors", "by_rule", "alarms")
]
RACE = ("kind", "what", "against", "n", "d")
TITLE = "# Benchmarks\n"
MUTANTS = """\
## Do the tests notice?

A test suite that passes says little until somebody breaks the code and it fails. For eight modules
a tool changed the code in {each} places chosen at random, one at a time: a sign, a comparison, a
constant, an argument. A mutant that makes a test fail is *killed*. These are the rates, with the
tests that were added on the way.

{table}

Every survivor, and why it lives: *equivalent*, no input tells it apart; *numerics*, the same answer
to the stated accuracy, or slower; *wording*, texts alone. The tool was {tool}, on {date};
`lab/README.md` in the repository says how to run it again. Seconds are processor seconds of the
tests of a module.
"""
DRAWN = 200  # as `lab/benchmarks/by_rule.py` draws; its record has those of today's code alone
BY_RULE = """\
### Mutants by rule

Where budgets are spent, {drawn} more were drawn from all that five rules make: a constant, a
comparison, a min or max, a sum, a share. They were drawn before any test was written for them.
{left} of them have a place in the code of today, all others stood in code that is gone. {killed}
are killed, {at_first} of them by the tests as they were; {equivalent} are equivalent:

{items}
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

Each line is a ratio of two things that were run in turn, five to 25 times: the median and the
quartiles. Times are processor time. The machine: {machine}. The load was up to
{load:.0f}, which the quartiles show. Of {claims} claims that were made beforehand {held} hold;
the others are marked. Recorded on {date} with {versions}{other}. `python -m lab ratios` runs it
again; `lab/README.md` of the repository says how.

{repeated}

{tables}
{missed}"""
MISSED = """\
### What stands in the way of the others

{items}
"""
WHY = {  # what stands in the way of a claim, where it is missed
    ("per_instance_epsilon", "refits alone"): "refits give leverages and residuals, which "
    "`leave_one_out` finds faster by the factors above. An epsilon is a root search on top: "
    "three evaluations of the exact profile for each person, which alone take longer than the "
    "claim leaves.",
    ("PDPRidge.fit", "LinearRegression of diffprivlib, no intercept"): "it weighs everybody alike. "
    "Here each row is multiplied by a weight of its own on the way to the Gram matrix, which takes "
    "as long again, and budgets are checked; the claim leaves no more than these sums take.",
}
REPEATED = """\
A second run began {apart} minutes after the first, while the load was up to {load:.0f}. Of {rows}
ratios measured both times, {near} have quartiles that overlap or medians within 10 percent.
{far}"""
FAR = """\
The others are these; a shared machine may compute as before and wait longer for memory.

{table}"""
KINDS = {
    "naive": "### Times faster than what the definitions say\n\nLoops and refits, which "
    "`lab/benchmarks/naive.py` spells out. Below 1 the loop is faster.",
    "peer": "### Times faster than what one would take instead",
    "floor": "### Times as long as what nobody can avoid",
    "seconds": "### As a share of a time",
    "memory": "### Peak memory over that of the data, themselves counted",
}


def repeated(record: list[Row], again: list[Row]) -> str:
    """How far a second run agrees."""
    begun = [min(datetime.fromisoformat(row["date"]) for row in rows) for rows in (record, again)]
    if begun[1] < begun[0]:  # of an older version of the package
        return "There was no second run since."
    first = {tuple(row[name] for name in RACE): row for row in record}
    far: list[list[str]] = []
    both = 0
    for row in again:
        old = first.get(tuple(row[name] for name in RACE))
        if old is None or int(row["runs"]) == 1:
            continue
        both += 1
        change = float(row["ratio"]) / float(old["ratio"])
        overlap = float(row["low"]) <= float(old["high"]) and float(old["low"]) <= float(
            row["high"]
        )
        if not (overlap or abs(change - 1) <= 0.1):
            names = [escaped(row["what"]), escaped(row["against"]), f"{int(row['n']):,}"]
            far.append([*names, shown(old["ratio"]), shown(row["ratio"])])
    return REPEATED.format(
        apart=round((begun[1] - begun[0]).total_seconds() / 60),
        load=max(float(row["load"]) for row in again),
        rows=both,
        near=both - len(far),
        far=FAR.format(table=table(["what", "beside", "n", "first", "second"], far)) if far else "",
    )


def shown(ratio: str) -> str:
    """Three digits, without an exponent."""
    return f"{float(ratio):,.0f}" if 1000 <= float(ratio) < inf else ratio


def ratios(record: list[Row], again: list[Row]) -> str:
    """What was raced against what, a table a kind."""
    parts = []
    for kind, title in KINDS.items():
        lines = [
            [
                escaped(row["what"]),
                escaped(row["against"]),
                f"{int(row['n']):,}",
                row["d"],
                shown(row["ratio"]),
                f"{shown(row['low'])} to {shown(row['high'])}"
                if int(row["runs"]) > 1
                else "one run",
                (row["claim"] or "none") + (": missed" if row["holds"] == "no" else ""),
            ]
            for row in record
            if row["kind"] == kind
        ]
        head = ["what", "beside", "n", "d", "ratio", "quartiles", "claim"]
        parts.append(f"{title}\n\n{table(head, lines)}\n{crossings(record, kind)}")
    claims = [row["holds"] for row in record if row["claim"]]
    usual = mode(row["date"][:10] for row in record)
    other = {escaped(row["against"]) for row in record if row["date"][:10] != usual}
    return RATIOS.format(
        machine=record[0]["machine"],
        load=max(float(row["load"]) for row in record),
        held=claims.count("yes"),
        claims=len(claims),
        date=usual,
        other=f"; what stands beside {listed(sorted(other))} is of another day" if other else "",
        versions=max((row["versions"] for row in record if row["kind"] == "naive"), key=len),
        repeated=repeated(record, again),
        tables="\n".join(parts),
        missed=missed(record),
    )


def crossings(record: list[Row], kind: str) -> str:
    """Where the slow side of a table is the faster one, and from which size on it no longer is."""
    sizes: dict[tuple[str, str], dict[int, float]] = {}
    for row in record:
        if row["kind"] == kind and kind in ("naive", "peer"):
            sizes.setdefault((row["what"], row["against"]), {})[int(row["n"])] = float(row["ratio"])
    items = []
    for (what, against), found in sizes.items():
        slower = [n for n, ratio in sorted(found.items()) if ratio < 1]
        if slower:
            faster = min((n for n in found if n > slower[-1]), default=None)
            items.append(
                f"- {escaped(what)} beside {escaped(against)}: slower at n = "
                f"{listed([f'{n:,}' for n in slower])}"
                + (f", faster from {faster:,}." if faster else ", the largest measured.")
            )
    return "\nWhere ours is the slower one:\n\n" + "\n".join(items) + "\n" if items else ""


def listed(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def missed(record: list[Row]) -> str:
    """Why a claim does not hold, for each that does not."""
    races = dict.fromkeys((row["what"], row["against"]) for row in record if row["holds"] == "no")
    for race in races:
        if race not in WHY:
            raise Refused(f"{race[0]} beside {race[1]} misses its claim, and WHY does not say why")
    items = [f"- {' beside '.join(map(escaped, race))}: {WHY[race]}" for race in races]
    return MISSED.format(items="\n".join(items)) if items else ""


def benchmarks(_: dict[str, Page]) -> str:
    """Ratios, mutants killed, survivors, alarms of sound mechanisms, from the committed records."""
    raced, again, rates, alive, ruled, audits = (
        list(csv.DictReader((RECORDS / name).read_text(encoding="utf-8").splitlines()))
        for name in RECORDED
    )
    parts = [ratios(raced, again), mutants(rates, alive), by_rule(ruled), alarms(audits)]
    return "\n".join([GENERATED + TITLE, *parts])


def mutants(rates: list[Row], alive: list[Row]) -> str:
    """How many broken versions the tests notice, and which ones they let live."""
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
        date=listed(sorted({row["date"] for row in rates})),
    )
    parts = [text]
    for module in dict.fromkeys(row["module"] for row in alive):
        items = [
            f"- {code(row['place'])}, {row['verdict']}: {code(row['mutation'])}; "
            f"{escaped(row['why'])}."
            for row in alive
            if row["module"] == module
        ]
        parts.append(f"### Survivors in {module}\n\n" + "\n".join(items) + "\n")
    return "\n".join(parts)


def by_rule(ruled: list[Row]) -> str:
    """What became of the mutants that rules made."""
    ended = Counter(row["verdict"] for row in ruled)
    items = [
        f"- {code(row['file'] + ':' + row['line'])}, {code(row['old'])} to {code(row['new'])}: "
        f"{escaped(row['why'])}."
        for row in ruled
        if row["verdict"] == "equivalent"
    ]
    return BY_RULE.format(
        **ended,
        drawn=DRAWN,
        left=len(ruled),
        at_first=sum(row["why"] == "own tests, as they were" for row in ruled),
        items="\n".join(items),
    )


def alarms(audits: list[Row]) -> str:
    """How often an audit accused a sound mechanism."""
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
