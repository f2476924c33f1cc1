"""Mutants by rule: every constant, comparison, min or max, sum and share of the modules that spend.

`python -m lab by_rule` draws a sample, tries each mutant in a copy of this tree against
the tests that `TESTS` names, and prints a table; `--recorded` tries those of `by_rule.csv` again.
See README.md of `lab`.
"""

import argparse
import ast
import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).with_name("by_rule.csv")
SEED, COUNT, SECONDS = 18, 200, 600
TESTS = {  # the module's own tests, the fastest first
    "posterior": ["posterior", "posterior_matrix"],
    "gradient": ["gradient", "dpsgd", "gradient_accounting", "gradient_individual"],
    "sufficient_statistics": ["adassp", "sufficient_statistics"],
    "guarantees": ["guarantees"],
    "user_level": [f"user_level_{name}" for name in ("mean", "weights", "quantiles", "erm")],
    "pac": ["pac_noise", "pac_rates", "pac_pool", "pac_certificate"],
}
THEN = ["style", "defaults", "user_level_budgets", "users", "front_door", "estimators", "harness"]
COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip
SWAPPED = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "argmin": "argmax",
    "argmax": "argmin", "sum": "max", "cumsum": "maximum.accumulate",
}  # fmt: skip


class Mutant(NamedTuple):
    module: str
    file: str
    line: int
    rule: str
    start: int
    end: int
    old: str
    new: str


def mutants(module: str, path: Path) -> list[Mutant]:
    """Every mutant of one file."""
    text = path.read_text(encoding="utf-8")
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line.encode()))
    source, found = text.encode(), []

    def add(node: ast.AST, rule: str, start: int, end: int, new: str) -> None:
        old = source[start:end].decode()
        name = str(path.relative_to(ROOT))
        found.append(Mutant(module, name, node.lineno, rule, start, end, old, new))

    def place(node: ast.AST) -> tuple[int, int]:
        first, last = lines[node.lineno - 1], lines[node.end_lineno - 1]
        return first + node.col_offset, last + node.end_col_offset

    for node in _code(ast.parse(text)):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            value = node.value + 1 if isinstance(node.value, int) else 1.1 * node.value or 1.0
            add(node, "constant", *place(node), repr(value))
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, sign, right in zip(sides, node.ops, sides[1:], strict=False):
                if new := COMPARED.get(type(sign)):
                    start, end = place(left)[1], place(right)[0]
                    old = source[start:end].decode()
                    stripped = old.strip(" ()\n")
                    add(node, "comparison", start, end, old.replace(stripped, new))
        elif isinstance(node, ast.Call):
            called = node.func
            name = getattr(called, "attr", getattr(called, "id", ""))
            if name in SWAPPED:
                end = place(called)[1]
                rule = "sum" if "sum" in name else "min or max"
                add(node, rule, end - len(name), end, SWAPPED[name])
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
            start, end = place(node.left)[1], place(node.right)[0]
            old = source[start:end].decode()
            sign = "/" if isinstance(node.op, ast.Div) else "*"
            add(node, "share", start, end, old.replace(sign, "*" if sign == "/" else "/"))
    return found


def _code(node: ast.AST):
    """Nodes that compute: no annotations, decorators, messages of errors or f-strings."""
    yield node
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST) and not isinstance(child, (ast.Raise, ast.JoinedStr)):
                yield from _code(child)


def sample() -> list[Mutant]:
    """The drawn mutants, in order of place."""
    found = []
    for module in TESTS:
        files = [ROOT / f"pdpbook/{module}.py", *(ROOT / f"pdpbook/{module}").rglob("*.py")]
        for path in sorted(file for file in files if file.exists()):
            found += mutants(module, path)
    return sorted(random.Random(SEED).sample(found, COUNT))


def recorded() -> list[Mutant]:
    """The mutants of the record; where a row fits several places of its line, all of them."""
    with RECORD.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = set()
    for row in rows:
        wanted = [row[name] for name in ("line", "rule", "old", "new")]
        made = mutants(row["module"], ROOT / row["file"])
        here = [m for m in made if [str(m.line), m.rule, m.old.strip(), m.new.strip()] == wanted]
        if not here:
            raise ValueError(f"{RECORD.name} must be of this tree; {row['file']} has no {wanted}")
        found |= set(here)
    return sorted(found)


def tried(mutant: Mutant, tree: Path) -> str:
    """Which tests kill a mutant: own, others, or none."""
    path = tree / mutant.file
    before = path.read_bytes()
    path.write_bytes(before[: mutant.start] + mutant.new.encode() + before[mutant.end :])
    try:
        for verdict, names in (("own", TESTS[mutant.module]), ("others", THEN)):
            files = [f"tests/test_{name}.py" for name in names]
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", *files]
            command += ["-p", "no:cacheprovider"]
            variables = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
            try:
                ended = subprocess.run(
                    command, cwd=tree, env=variables, capture_output=True, timeout=SECONDS
                )
            except subprocess.TimeoutExpired:
                return "timeout"
            if ended.returncode == 1:
                return verdict
            if ended.returncode != 0:  # no test ran: the package cannot be imported
                return "import"
        return "none"
    finally:
        path.write_bytes(before)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab by_rule", description=__doc__)
    parser.add_argument("--draw", action="store_true", help="print the mutants, run nothing")
    parser.add_argument("--recorded", action="store_true", help="those of by_rule.csv, no sample")
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args(arguments)
    drawn = recorded() if chosen.recorded else sample()
    if chosen.draw:
        for one in drawn:
            print(f"{one.file}:{one.line}", one.rule, repr(one.old), "->", repr(one.new))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        trees: Queue[Path] = Queue()
        for k in range(chosen.processes):
            tree = Path(folder, str(k), ROOT.name)
            shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "_build", "_lab"))
            trees.put(tree)

        def one(mutant: Mutant) -> str:
            tree = trees.get()
            try:
                return tried(mutant, tree)
            finally:
                trees.put(tree)

        rows = csv.writer(sys.stdout, lineterminator="\n")
        rows.writerow(["module", "file", "line", "rule", "old", "new", "killed_by"])
        with ThreadPoolExecutor(chosen.processes) as pool:
            for mutant, verdict in zip(drawn, pool.map(one, drawn), strict=True):
                old, new = mutant.old.strip(), mutant.new.strip()
                rows.writerow([*mutant[:4], old, new, verdict])
                sys.stdout.flush()
    return 0
