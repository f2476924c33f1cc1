"""Repair a submitted notebook before nbgrader sees it, and say what was done.

nbgrader knows cells by their metadata. A copied cell stops its batch, a notebook that lost its
metadata gets no marks without a word, a deleted test costs its points. `mend` rebuilds a
submission around the cells of the released notebook: their metadata, tests, places and kernel are
put back, what students wrote is kept. It looks for an answer by its metadata, then by the id of its
cell, then by the function that it defines.
"""

import json
import re
from collections import defaultdict
from typing import Any

import nbformat
from nbformat import NotebookNode, v4

KINDS = {"code": v4.new_code_cell, "markdown": v4.new_markdown_cell, "raw": v4.new_raw_cell}
LARGE = 1_000_000  # characters of output that are worth a line


class Unusable(ValueError):
    """A submission in which there is nothing to grade."""


class Notes:
    """What was done, one line a kind."""

    def __init__(self) -> None:
        self._names: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, what: str, *names: str) -> None:
        self._names[what] += names

    def lines(self) -> list[str]:
        return [f"{what}: {', '.join(n)}" if n else what for what, n in self._names.items()]


def mend(text: str, released: NotebookNode, name: str) -> tuple[NotebookNode, list[str]]:
    """A submission as nbgrader can grade it, and what was changed, one line each.

    `text` is the file, `released` the student version of the assignment `name`. `Unusable` is
    raised when the file is no notebook, or one of something else.
    """
    submitted, metadata = _read(text)
    notes = Notes()
    wanted = [cell for cell in released.cells if "nbgrader" in cell.metadata]
    cells = [_rebuilt(cell) for cell in submitted]
    held = _holders(submitted, cells, released, notes)
    if not any(held.values()):
        raise Unusable(f"it holds no cell and no function of {name}; is it another assignment?")
    chosen = _choose(wanted, cells, held, notes)
    mended = _set_up(released, _assemble(wanted, cells, chosen, notes), notes)
    for at, cell in enumerate(mended):
        if "nbgrader" not in cell.metadata:
            cell.id = f"own-{at}"
    kernel, ours = (
        _part(metadata, "kernelspec").get("name"),
        released.metadata["kernelspec"]["name"],
    )
    if kernel != ours:
        notes.add(f"the kernel was {kernel or 'not named'}, now {ours}")
    if (size := len(json.dumps([cell["outputs"] for cell in submitted]))) > LARGE:
        notes.add(f"{size / 1e6:.0f} million characters of output were dropped")
    notebook = v4.new_notebook(cells=mended, metadata=released.metadata)
    nbformat.validate(notebook)
    return notebook, notes.lines()


def _read(text: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Cells and metadata; faults that can be mended are no reason to refuse the file."""
    try:
        notebook = json.loads(text.removeprefix("\ufeff"))
        cells = [
            {
                "kind": KINDS[cell["cell_type"]],
                "source": "".join(cell["source"]),
                "id": cell.get("id"),
                "role": _part(_part(cell, "metadata"), "nbgrader").get("grade_id"),
                "pictures": _part(cell, "attachments"),
                "outputs": cell.get("outputs"),
            }
            for cell in notebook["cells"]
        ]
        return cells, _part(notebook, "metadata")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise Unusable("it is not a Jupyter notebook") from None


def _part(whole: dict[str, Any], name: str) -> dict[str, Any]:
    found = whole.get(name)
    return found if isinstance(found, dict) else {}


def _rebuilt(cell: dict[str, Any]) -> NotebookNode:
    """What a student wrote, without anything that a program wrote: it is run again."""
    pictures = {"attachments": cell["pictures"]} if cell["pictures"] else {}
    return cell["kind"](cell["source"], **pictures)


# --- who is who ----------------------------------------------------------------------------------


def role(cell: NotebookNode) -> NotebookNode:
    """The metadata of nbgrader, with which a released cell is told from another."""
    return cell.metadata.nbgrader


def defined(source: str) -> set[str]:
    """Functions of a cell, also of one that Python cannot read."""
    return set(re.findall(r"^(?:async +)?def +(\w+)", source, re.M))


def _holders(
    submitted: list[dict[str, Any]],
    cells: list[NotebookNode],
    released: NotebookNode,
    notes: Notes,
) -> dict[str, list[int]]:
    """Which submitted cells claim each role."""
    wanted = [cell for cell in released.cells if "nbgrader" in cell.metadata]
    by_role = {role(cell).grade_id: cell for cell in wanted}
    by_id = {cell.id: role(cell).grade_id for cell in wanted}
    held: dict[str, list[int]] = {name: [] for name in by_role}
    restored = []
    for at, cell in enumerate(submitted):
        name = cell["role"]
        if name is not None and name not in by_role:
            notes.add("cells that are not of this assignment lost their role", str(name))
        if name not in by_role and cell["id"] in by_id:
            name = by_id[cell["id"]]
            restored.append(name)
        if name in by_role:
            held[name].append(at)
    for name, cell in by_role.items():
        taken = {at for places in held.values() for at in places}
        if not held[name] and (found := _look(cell, cells, released, taken)):
            held[name] = found
            restored.append(name)
    if restored:
        notes.add("metadata were put back", *dict.fromkeys(restored))
    return held


def _look(
    wanted: NotebookNode, cells: list[NotebookNode], released: NotebookNode, taken: set[int]
) -> list[int]:
    """Free cells that fit a role: by a function, the text of a test, or the question before."""
    free = [at for at in range(len(cells)) if at not in taken]
    text = [cell.source.strip() for cell in cells]
    given = [cell.source.strip() for cell in released.cells]
    if functions := defined(wanted.source):
        return [at for at in free if functions & defined(text[at])]
    if role(wanted).solution:
        question = given[released.cells.index(wanted) - 1]
        others = {*given} - {wanted.source.strip()}
        return [at for at in free if at and text[at - 1] == question and text[at] not in others]
    if given.count(wanted.source.strip()) > 1:  # hidden tests look alike without their body
        return []
    return [at for at in free if text[at] == wanted.source.strip()]


def _choose(
    wanted: list[NotebookNode], cells: list[NotebookNode], held: dict[str, list[int]], notes: Notes
) -> dict[int, NotebookNode]:
    """The one cell for each role: the last that is not as released, for tests the last that is."""
    chosen: dict[int, NotebookNode] = {}
    for released in wanted:
        name = role(released).grade_id
        places = [at for at in held[name] if at not in chosen]
        if not places:
            continue
        as_released = [at for at in places if cells[at].source.strip() == released.source.strip()]
        others = [at for at in places if at not in as_released]
        answer = role(released).solution
        best = (others or as_released)[-1] if answer else (as_released or others)[-1]
        chosen[best] = released
        if len(places) > 1:
            notes.add("of copied cells the last one counts", name)
        for at in as_released:  # an empty copy would overwrite the answer
            if at != best:
                cells[at].source = ""
        if cells[best].cell_type != released.cell_type:
            notes.add("cells got their kind back", name)
        if not answer and best in others:
            notes.add("edited tests were put back", name)
    return chosen


def _assemble(
    wanted: list[NotebookNode],
    cells: list[NotebookNode],
    chosen: dict[int, NotebookNode],
    notes: Notes,
) -> list[NotebookNode]:
    """The cells of the submission in its order, and what is missing where it belongs."""
    order: list[NotebookNode] = []
    for at, cell in enumerate(cells):
        if at in chosen:
            order.append(_as(chosen[at], cell.source if role(chosen[at]).solution else None))
            order[-1].update({k: v for k, v in cell.items() if k == "attachments"})
        elif cell.source:
            order.append(cell)
    place = 0  # after the cell that comes before in the released notebook
    for released in wanted:
        present = [k for k, cell in enumerate(order) if cell.id == released.id]
        functions = defined(released.source)
        elsewhere = [k for k, cell in enumerate(order) if functions & defined(cell.source)]
        if not present and not elsewhere:
            order.insert(place, _as(released))
            notes.add("deleted cells were put back", role(released).grade_id)
        place = max([*present, *elsewhere, place if not present and not elsewhere else 0]) + 1
    return order


def _set_up(released: NotebookNode, cells: list[NotebookNode], notes: Notes) -> list[NotebookNode]:
    """The cells, after the released imports where a submission lacks one: tests need them."""
    given = next(cell for cell in released.cells if cell.cell_type == "code")
    lines = {line for cell in cells if cell.cell_type == "code" for line in cell.source.split("\n")}
    if "nbgrader" in given.metadata or {*given.source.split("\n")} - lines <= {""}:
        return cells
    notes.add("the cell of imports was put back")
    return [_as(given), *cells]


def _as(released: NotebookNode, source: str | None = None) -> NotebookNode:
    """A copy of a released cell, with an answer in it."""
    cell = KINDS[released.cell_type](released.source if source is None else source)
    cell.id, cell.metadata = released.id, NotebookNode(released.metadata)
    return cell
