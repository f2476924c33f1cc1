"""Which code cells fold, and the sentence that stands for a folded check.

A cell `# check: label` or `# falsify: label` prints one line for each thing that it measured; a
reader wants to know what was tested, how close it was, and what the test would notice. That is one
sentence, made of the printed lines alone, without the label. What else folds is told by rules:
set-up, code that draws, and definitions that only folded cells use.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

CHECKS = {"check", "falsify"}
MARKER = re.compile(r"# (check|falsify): *([\w-]+)")
LINE = re.compile(
    r"^[a-z][\w-]*  (.*\S) +(\S+)  (not )?(<=|>=|=) (\S+)(?: \(rtol (\S+)\))?$", re.M
)  # as `pdpbook.pages.statements` prints
DRAWS = re.compile(r"\bplt\.\w+\(")
TESTS = re.compile(r"^ +(?:check|falsify)\(", re.M)  # inside of a definition
PLAIN = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr)
DEFINITIONS = (ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef, ast.ClassDef)
CLASS = re.compile(r"\b[A-Z]?(?:[A-Z][a-z]+){2,}\b")
NAMES = {"Gaussian", "Huber", "Laplace"}
MANNER = {"most", "least", "largest", "smallest", "worst", "the same", "as listed"}
WRONG = {"<=": "above", ">=": "below", "=": "not"}
SHOWN = 4  # more items than this, and the sentence gives one less


class Cell(NamedTuple):
    source: str
    prints: bool  # has any output


class Measured(NamedTuple):
    """A printed line: what was measured, its value, and the bound that held or broke."""

    what: str
    value: str
    broken: bool
    sign: str
    bound: str
    rtol: str

    @property
    def size(self) -> float:
        return float(self.value.removeprefix("<"))

    @property
    def parts(self) -> list[str]:
        return self.what.split(", ")


# --- which cells fold -----------------------------------------------------------------------------


def label(source: str) -> str:
    """The label of a check or falsifier cell, else nothing."""
    marker = MARKER.match(source)
    return marker[2] if marker else ""


def kinds(cells: Sequence[Cell]) -> list[str]:
    """For each cell of a page: check, falsify, figure, setup, helper, or nothing, which is open."""
    trees = [_tree(cell.source) for cell in cells]
    found = [_kind(cell, tree.body) for cell, tree in zip(cells, trees, strict=True)]
    made = [_made(tree) for tree in trees]
    used = [{node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} for tree in trees]
    for k in reversed(range(len(cells))):  # a helper may serve a later helper
        if found[k] or cells[k].prints:
            continue
        if all(isinstance(statement, DEFINITIONS) for statement in trees[k].body):
            users = {found[j] for j in range(k + 1, len(cells)) if made[k] & used[j]}
            if users and users <= {*CHECKS, "figure", "helper"}:
                found[k] = "helper"
    return found


def _tree(source: str) -> ast.Module:
    try:
        return ast.parse(re.sub(r"^[%!].*$", "", source, flags=re.M))
    except SyntaxError:  # a reader's own, in JupyterLab
        return ast.parse("pass")


def _kind(cell: Cell, body: list[ast.stmt]) -> str:
    if marker := MARKER.match(cell.source):
        return marker[1]
    if DRAWS.search(cell.source):
        return "figure"
    imports = [statement for statement in body if isinstance(statement, PLAIN[:2])]
    bare = not cell.prints and all(isinstance(statement, PLAIN) for statement in body)
    if imports and (bare or "figures.use()" in cell.source):
        return "setup"
    return "helper" if TESTS.search(cell.source) and not cell.prints else ""


def _made(tree: ast.Module) -> set[str]:
    """The names that a cell gives a meaning to, outside of its functions."""
    names = set()
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            nodes = [node for target in statement.targets for node in ast.walk(target)]
            names |= {node.id for node in nodes if isinstance(node, ast.Name)}
    return names


# --- the sentence ---------------------------------------------------------------------------------


def measured(printed: str) -> list[Measured]:
    """The lines of `check` and `falsify` in what a cell printed."""
    return [
        Measured(_words(what), value, bool(broken), sign, bound, rtol)
        for what, value, broken, sign, bound, rtol in LINE.findall(printed)
    ]


def sentence(lines: Iterable[Measured], shown: int = SHOWN) -> str:
    """What was tested, with numbers, and which faults the test notices; no label, no markup."""
    lines, few = list(lines), shown - 1
    held = [item(group) for group in _groups([one for one in lines if not one.broken])]
    faults = [fault(one) for one in lines if one.broken]
    said = []
    if len(held) > shown:
        said.append(f"Tested: {len(held)} properties hold, among them " + "; ".join(held[:few]))
    elif held:
        said.append("Tested: " + "; ".join(held))
    if len(faults) > shown:
        among = f"{len(faults)} mistakes, among them "
        said.append("With a deliberate mistake it fails: " + among + "; ".join(faults[:few]))
    elif faults:
        said.append("With a deliberate mistake it fails: " + "; ".join(faults))
    return " ".join(f"{one}." for one in said)


def fault(one: Measured) -> str:
    """What was broken on purpose, with the number that gave it away."""
    return f"{one.what} ({_number(one.value)})"


def _words(what: str) -> str:
    """A printed description as a reader would say it."""

    def name(match: re.Match[str]) -> str:
        words = re.findall(r"[A-Z](?![a-z])|[A-Z][a-z]+", match[0])
        return " ".join(one if one in NAMES or len(one) == 1 else one.lower() for one in words)

    what = re.sub(r"^(\d): ", r"(\1) ", what.removeprefix("planted: "))
    what = re.sub(r"(?<=[a-z]{2})_(?=[a-z])", " ", what).replace(": ", ", ")
    return CLASS.sub(name, re.sub(r"(?<=[a-z])_(?!\w)", "", what))


def _number(value: str) -> str:
    return "no limit" if value == "inf" else value.replace("<", "below ")


def _groups(lines: list[Measured]) -> Iterable[list[Measured]]:
    """Lines with the same bound that measure the same thing in several cases stand together."""
    bounds = {(one.sign, one.bound, one.rtol): None for one in lines}
    for bound in bounds:
        left = [one for one in lines if (one.sign, one.bound, one.rtol) == bound]
        while left:
            count = Counter(part for one in left for part in set(one.parts))
            shared = max(left[0].parts, key=lambda part: _rank(part, count[part]))
            group = [one for one in left if shared in one.parts]
            yield group
            left = [one for one in left if one not in group]


def _rank(part: str, count: int) -> tuple[bool, bool, bool, bool, int]:
    """What was measured, rather than in which case."""
    ratio = " / " in part or " - " in part
    return part not in MANNER, ratio, count > 1, not re.search(r"\d", part), count


def item(group: list[Measured]) -> str:
    """What was measured and its bound, of lines that `_groups` puts together or of one line."""
    first = group[0]
    exact = {"<=": f"at most {first.bound}", ">=": f"at least {first.bound}"}.get(first.sign)
    if first.broken:
        exact = f"{WRONG[first.sign]} {first.bound}"
    tolerance = f"tolerance {first.rtol}" if first.rtol else ""
    if len(group) == 1:
        found = f"{first.what}: {_number(first.value)}"
    else:
        key = ", ".join(part for part in first.parts if all(part in one.parts for one in group))
        low, high = (pick(group, key=lambda one: one.size) for pick in (min, max))
        if low.value == high.value or high.value[0] == "<":
            span = _number(high.value)
        elif first.sign == "=":
            span = f"{low.value} to {high.value}"
        elif first.sign == "<=":
            span = f"up to {high.value}"
        else:
            span = f"{low.value} or more"
        found = f"{key}: in {len(group)} cases {span}"
    if exact:
        return f"{found} ({', '.join(filter(None, [exact, tolerance]))})"
    if tolerance and any(one.value != one.bound for one in group):
        return f"{found} (claimed {first.bound}, {tolerance})"
    return f"{found}, as claimed"
