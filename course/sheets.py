"""Make the student versions of the exercises from the solved notebooks.

    python -m course sheets [--check]

The solved notebook of `book/exercises/` is the only source. Its student version, in `release/`,
is what nbgrader's own release makes of it: solutions become stubs, hidden tests go, cells are
locked. Before that, `plain` takes out what only the book can show: tags, links within the book,
cells tagged `page-only`. Hints say that they open, and a last cell shows what will be graded. Links
lead to the notebooks beside it, in `release/`; in what is handed out, to the site. With `--check`
nothing is written: the exit code is 1 when a student version is out of date. `cuts` has the shorter
sheets of a course.
"""

import functools
import posixpath
import re
from collections.abc import Callable

import nbformat
from nbformat import NotebookNode, v4

from course.checkout import (
    LINK,
    METADATA,
    ROLE,
    ROOT,
    Page,
    Refused,
    place,
    read,
    statements,
    text,
)
from pdpbook.pages.exercises import ASSIGNMENTS, assignment

PAGES = ROOT / "book" / "exercises"
STUB = ["# YOUR CODE HERE", "raise NotImplementedError()"]  # as nbgrader writes it
ANSWER = "YOUR ANSWER HERE"
SAID = {"eq": "the equation", "cite:p": "see the page", "cite:t": "a paper named on the page"}
LAST = """\
## What will be graded

Save this notebook, then run the next cell. It runs the saved file from its top in
a process of its own, as the grader does, and shows the line with which each
function begins. Nothing else is graded by the machine."""
HINT = "▸ Hint (click to open)"  # JupyterLab gives a closed hint no triangle
LED = re.compile(r"\[([^][]*)\]\(book:([\w/]+)\.(ipynb|md)(#[\w-]+)?\)")  # a link to a page


def handed_out(source: str) -> str:
    """Text whose links lead to the site, or are words alone, titles in italics, without one."""
    site = place()
    if not site.published:
        return LED.sub(lambda link: f"*{link[1]}*" if link[1][:1].isupper() else link[1], source)
    return LED.sub(lambda link: f"[{link[1]}]({site.page(link[2], link[4] or '')})", source)


def beside(source: str) -> str:
    """Text whose links lead from `release/` to the notebooks of the book."""
    return LED.sub(lambda link: f"[{link[1]}](../../{link[2]}.{link[3]}{link[4] or ''})", source)


def plain(name: str, lead: Callable[[str], str] = handed_out) -> NotebookNode:
    """The solved notebook without what only the book can show: a source for nbgrader."""
    notebook = nbformat.read(PAGES / f"{name}.ipynb", as_version=4)
    notebook.metadata = NotebookNode(METADATA)
    notebook.cells = [c for c in notebook.cells if "page-only" not in c.metadata.get("tags", [])]
    for cell in notebook.cells:
        cell.metadata = NotebookNode(
            {k: v for k, v in cell.metadata.items() if k in {"nbgrader", "deletable", "editable"}}
        )
        if cell.cell_type == "markdown":
            source = lead(LINK.sub(to_page, ROLE.sub(linked, cell.source)))
            cell.source = source.replace("<summary>Hint</summary>", f"<summary>{HINT}</summary>")
        else:
            cell.outputs, cell.execution_count = [], None
    notebook.cells.append(v4.new_markdown_cell(LAST, id="what-will-be-graded"))
    notebook.cells.append(v4.new_code_cell(id="graded"))
    return finds(notebook, name, list(assignment(name).exercises))


def finds(notebook: NotebookNode, name: str, functions: list[str]) -> NotebookNode:
    """Let the last cell ask for these functions, in a file of this name."""
    lines = "".join(f'    "{one}",\n' for one in (f"{name}.ipynb", *functions))
    source = f"from pdpbook.pages.exercises import graded\n\ngraded(\n{lines})"
    next(cell for cell in notebook.cells if cell.id == "graded").source = source
    return notebook


def linked(match: re.Match[str], page: str = "") -> str:
    """A role of MyST as a link of the form `LED`, for what stands on `page` of the book."""
    role, words, target = match[1], match[2] or "", match[3] or match[4]
    if role == "numref":
        return words or "the next figure"
    if role == "term":
        return words or target
    if role == "prf:ref":
        chapter = next((r["chapter"] for r in statements() if r["label"] == target), "")
        if chapter:
            title = _page(f"book/{chapter}").boxes[target].title.partition(";")[0].strip()
            return f"[{words or title}](book:{chapter}.ipynb#{target})"
    if page and role in SAID:
        anchor = f"#{target}" if role == "eq" else ""
        return f"[{SAID[role]}](book:{page}.ipynb{anchor})"
    raise Refused(f"an exercise cannot show the role {match[0]} outside of the book")


def to_page(match: re.Match[str], here: str = "exercises/name") -> str:
    """The target of a link to another page, in the form `LED`."""
    page, suffix, anchor = match.groups("")
    if not page:
        return match[0]
    path = posixpath.normpath(f"{posixpath.dirname(here)}/{page}")
    return f"](book:{path}.{suffix}{anchor})"


@functools.cache
def _page(path: str) -> Page:
    return read(path, nbformat.read(ROOT / f"{path}.ipynb", as_version=4))


def released(notebook: NotebookNode) -> NotebookNode:
    """What nbgrader's release makes of a source: stubs, no hidden tests, locked cells."""
    for cell in notebook.cells:
        role = cell.metadata.get("nbgrader", {})
        cell.source = _without(cell.source, "HIDDEN TESTS", [])
        if role.get("solution"):
            stubbed = _without(cell.source, "SOLUTION", STUB)
            whole = "\n".join(STUB) if cell.cell_type == "code" else ANSWER
            cell.source = stubbed if stubbed != cell.source else whole
            cell.metadata["deletable"] = False
        elif role.get("grade") or role.get("locked"):
            cell.metadata["deletable"] = False
            cell.metadata["editable"] = False
    return notebook


def _without(source: str, mark: str, stub: list[str]) -> str:
    lines: list[str] = []
    inside = False
    for line in source.split("\n"):
        if f"### BEGIN {mark}" in line:
            inside = True
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + part for part in stub]
        elif f"### END {mark}" in line:
            inside = False
        elif not inside:
            lines.append(line)
    return "\n".join(lines)


def release(name: str) -> str:
    """The student version of an assignment, as it is committed."""
    return str(text(released(plain(name, beside))))


def write(*, check: bool) -> int:
    """Write the student versions, or compare them; returns the exit code."""
    code, folder = 0, PAGES / "release"
    folder.mkdir(exist_ok=True)
    for name in ASSIGNMENTS:
        path = folder / f"{name}.ipynb"
        wanted = release(name)
        same = path.is_file() and path.read_text(encoding="utf-8") == wanted
        if check:
            code = code if same else 1
        else:
            path.write_text(wanted, encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {'as it was' if same else 'out of date'}")
    for path in {*folder.glob("*.ipynb")} - {folder / f"{name}.ipynb" for name in ASSIGNMENTS}:
        print(f"{path.relative_to(ROOT)}: belongs to no assignment")
        code = 1
    return code
