"""The form of a page: what its notebook says it is, and how much of it a reader first sees.

A page in the form of this edition carries ``"pdpbook": {"form": "core"}`` (a chapter, read from top
to bottom) or ``{"form": "depth"}`` (a page under a chapter) in the metadata of its notebook. All
rules that depend on the form ask `form`, so converting a page begins with setting the mark.
"""

from __future__ import annotations

import re

from nbformat import NotebookNode

FORMS = ("core", "depth")
FOLDED = re.compile(r"\{(exercise|solution|dropdown|toggle)")
HIDDEN = {"hide-cell", "hide-input", "remove-cell", "remove-input"}


def form(notebook: NotebookNode) -> str:
    """`core` or `depth`; empty for a page that was not converted."""
    return str(notebook.metadata.get("pdpbook", {}).get("form", ""))


def shown(source: str) -> str:
    """A markdown cell without what is folded, exercises and formulas."""
    lines, out, stop = source.splitlines(), [], ""
    for i, line in enumerate(lines):
        fence = re.match(r"\s*(:{3,}|`{3,})(.*)", line)
        if stop:
            if fence and fence[1] == stop and not fence[2].strip():
                stop = ""
            continue
        if fence and fence[2].strip():
            options = " ".join(lines[i + 1 : i + 5])
            if FOLDED.match(fence[2].strip()) or re.search(r":class:[^:]*dropdown", options):
                stop = fence[1]
                continue
        out.append(line)
    return re.sub(r"\$\$.*?\$\$|\$[^$]*\$", " ", "\n".join(out), flags=re.S)


def words(source: str) -> int:
    """Words of a markdown cell as first shown: boxes and open proofs in, formulas out."""
    return len(re.findall(r"[A-Za-z][A-Za-z'-]+", shown(source)))


def pictures(cell: NotebookNode) -> bool:
    """Whether a cell shows a figure or a diagram."""
    if cell.cell_type == "markdown":
        return ":::{figure}" in cell.source
    return "figure" in cell.metadata.get("mystnb", {})


def moves(cell: NotebookNode) -> bool:
    """Whether a cell shows a figure that reacts."""
    return cell.cell_type == "code" and "figures.Explorable(" in cell.source


def opened(notebook: NotebookNode) -> list[NotebookNode]:
    """The code cells that are not folded."""
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and not HIDDEN & set(cell.metadata.get("tags", []))
    ]


def between_pictures(notebook: NotebookNode) -> int:
    """Most words as first shown from one picture to the next; the ends of the page count as one."""
    most = count = 0
    for cell in notebook.cells:
        if pictures(cell):
            count = 0
        elif cell.cell_type == "markdown":
            count += words(cell.source)
            most = max(most, count)
    return most
