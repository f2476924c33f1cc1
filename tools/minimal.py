"""Tangle `pdpbook/minimal.py`: every mechanism of the book, from the cells that derive it.

    python tools/minimal.py

A cell with the tag `minimal` holds its functions; its metadata `minimal` names the statement of
each. Those named by `measures` in its place measure and release nothing: they are tested with the
others and stay on their page. So do calls and checks below them. `make notebooks` runs this.
"""

import ast
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import nbformat
from reading import ROOT, Refused, published

MODULE = ROOT / "pdpbook" / "minimal.py"
HEADER = '''\
"""Every mechanism of the book as its theorem reads: to read, not to use on people's data.

Written by tools/minimal.py from the cells tagged `minimal`; edit these. Nothing is checked here:
no bounds, no budgets, no rounding of floats, no account. The estimators check, and a test holds
the laws they draw from against these lines. Beside each name stands its statement, above the
functions of a chapter their chapter.
"""

# mypy: ignore-errors

import numpy as np
from scipy import integrate, optimize, special, stats

__all__: list[str] = []  # nothing to import: read it
'''


class Mechanism(NamedTuple):
    """A function of a chapter."""

    name: str
    label: str  #: of the statement it carries out
    chapter: str
    source: str
    releases: bool = True  #: or it only measures


def functions(source: str) -> Iterator[tuple[str, str]]:
    """Name and lines of each function of a cell, decorators included."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            yield node.name, "\n".join(lines[first - 1 : node.end_lineno])


def mechanisms() -> list[Mechanism]:
    """The functions of all cells tagged `minimal`, in the order of the book."""
    found: list[Mechanism] = []
    for chapter, path in published().items():
        for cell in nbformat.read(path, as_version=4).cells:
            if "minimal" in cell.metadata.get("tags", []):
                releases = dict(cell.metadata.get("minimal", {}))
                labels = releases | dict(cell.metadata.get("measures", {}))
                for name, source in functions(cell.source):
                    if name not in labels or name in {one.name for one in found}:
                        why = "names no statement" if name not in labels else "stands twice"
                        raise Refused(f"{chapter}, cell {cell.id}: {name} {why}")
                    kind = name in releases
                    found.append(Mechanism(name, labels.pop(name), chapter, source, kind))
                if labels:
                    raise Refused(f"{chapter}, cell {cell.id}: there is no {', '.join(labels)}")
    return found


def tangled(*, measures: bool = False) -> str:
    """What `pdpbook/minimal.py` has to be; for tests with the measures, too."""
    parts, shown_there = [HEADER], (one for one in mechanisms() if one.releases or measures)
    for chapter, group in groupby(shown_there, lambda one: one.chapter):
        parts += [f"# {chapter} {'-' * (76 - len(chapter))}\n", *map(shown, group)]
    return "\n".join(parts)


def shown(one: Mechanism) -> str:
    """A function with its statement beside its name."""
    before, rest = one.source.split(f"def {one.name}", 1)
    line, _, body = rest.partition("\n")
    line, _, remark = line.partition("  # ")
    label = f"{one.label}: {remark}" if remark else one.label
    return f"{before}def {one.name}{line}  # {label}\n{body}\n"


def write(path: Path = MODULE) -> None:
    """Write it where it stands."""
    path.write_text(tangled(), encoding="utf-8")


if __name__ == "__main__":
    write()
