"""Prepare the notebooks for JupyterLab: what only the site resolves becomes a link.

    python tools/links.py FOLDER

FOLDER/book is what JupyterLab opens: `.` in Binder, where the checkout is thrown away, and `_lab`,
a copy made here, for `make lab`. Within a page JupyterLab's MyST finds labels itself. It knows no
other notebook and no bibliography; so statements of other pages become links to their cells,
citations read as author and year and lead to the works cited at the end of the page, and links to
pages without a notebook lead to the site. Of a diagram it gets the file for screens. A cell that
folds on the site has its source collapsed; what it printed is shown. Exercises open the student's
version, as they do there. Every page gets a line that leads to `contents.ipynb`, made from
`_toc.yml`, and back to its page on the site. What was prepared before is left as it is.
"""

import posixpath
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import yaml
from nbformat import NotebookNode, v4
from reading import LINK, ROLE, ROOT, Page, Refused, read, works

sys.path.append(str(ROOT / "book" / "_ext"))  # what folds on the site
from pdp_home import place
from pdp_sentences import Cell, kinds

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CONTENTS = "contents"
WHERE = "where-you-are"  # id of the cell that leads to the contents and to the site
CITED = "works-cited"  # id of the cell that a citation leads to
STUDENT = "exercises/release/"
DRAWING = re.compile(r"(\{figure\} \S+)\.\*$", re.M)  # of which Sphinx takes svg or pdf
HERE = {"prf:ref", "numref", "eq"}  # roles that JupyterLab resolves within a notebook


@dataclass(frozen=True)
class Goal:
    """Where a label stands, and what a link to it says on another page."""

    page: str
    cell: str
    words: str


@dataclass
class Notebook:
    """A notebook of the book, by the name that `_toc.yml` has for it."""

    name: str
    path: Path
    content: NotebookNode
    page: Page = field(init=False)

    def __post_init__(self) -> None:
        self.page = read(self.name, self.content)

    def labels(self) -> Iterator[tuple[str, Goal]]:
        """Its boxes and figures."""
        for label, box in self.page.boxes.items():
            kind = box.directive.removeprefix("prf:").capitalize()
            title = box.title.partition(";")[0].strip()
            words = f"{kind} “{title}”" if title else kind
            yield label, Goal(self.name, self.content.cells[box.at].id, words)
        figures = [
            cell for cell in self.content.cells if "figure" in cell.metadata.get("mystnb", {})
        ]
        for k, cell in enumerate(figures, start=1):
            yield cell.metadata.mystnb.figure.name, Goal(self.name, cell.id, f"Figure {k}")

    def headings(self) -> Iterator[tuple[str, str]]:
        """The anchor of each heading on the site, and its cell."""
        for cell in self.content.cells:
            if cell.cell_type == "markdown":
                for heading in re.findall(r"^#+ +(.+)", cell.source, re.M):
                    slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
                    yield slug, cell.id

    def cell_of(self, anchor: str) -> str:
        """The cell of a heading or of a label, empty if there is none."""
        labels = {label: goal.cell for label, goal in self.labels()}
        return {**labels, **dict(self.headings())}.get(anchor, "")


class Book:
    """What the links of one folder can lead to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "book"
        self.site = place().page
        self.toc: dict[str, Any] = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
        found = sorted(self.folder.rglob("*.ipynb"))
        names = [p.relative_to(self.folder).with_suffix("").as_posix() for p in found]
        self.notebooks = {
            name: Notebook(name, path, nbformat.read(path, as_version=4))
            for name, path in zip(names, found, strict=True)
            if ".ipynb_checkpoints" not in name and name != CONTENTS
        }
        self.labels = {
            label: goal
            for one in self.notebooks.values()
            if not one.name.startswith(STUDENT)
            for label, goal in one.labels()
        }
        self.works = works((self.folder / "references.bib").read_text(encoding="utf-8"))

    # --- links ------------------------------------------------------------------------------------

    def to(self, page: str, name: str, cell: str = "") -> str:
        """The target of a link from one notebook to a cell of another."""
        target = "" if name == page else posixpath.relpath(f"{name}.ipynb", posixpath.dirname(page))
        return target + (f"#cell-id={cell}" if cell else "")

    def opened(self, name: str) -> str:
        """The notebook that opens for a page: of exercises, the one without solutions."""
        student = STUDENT + name.removeprefix("exercises/")
        return student if name.startswith("exercises/") and student in self.notebooks else name

    def prepared(self, one: Notebook, source: str) -> str:
        """Markdown of a notebook with links that JupyterLab can follow."""

        def role(match: re.Match[str]) -> str:
            kind, words, target = match[1], match[2] or "", (match[3] or match[4]).strip()
            goal = self.labels.get(target)
            if kind == "numref" and goal and goal.words.startswith("Figure"):
                return f"[{words or goal.words}]({self.to(one.name, goal.page, goal.cell)})"
            if kind in HERE and (goal.page == one.name if goal else kind == "eq"):
                return match[0]
            if kind == "prf:ref" and goal:
                return f"[{words or goal.words}]({self.to(one.name, goal.page, goal.cell)})"
            if kind in {"cite:t", "cite:p"}:
                return self._cited(one.name, kind, target)
            if kind == "term":
                slug = re.sub(r"[^a-z0-9]+", "-", target.lower()).strip("-")
                return f"[{words or target}]({self.site('glossary', f'#term-{slug}')})"
            if kind == "download":
                return f"[{words or target}]({target})"
            raise Refused(f"{one.name}: JupyterLab cannot show {match[0]}")

        def link(match: re.Match[str]) -> str:
            path, suffix, anchor = match[1] or "", match[2], match[3] or ""
            if anchor.startswith("#cell-id="):
                return match[0]
            if anchor.startswith("#ledger-") and not path:  # an entry, on the page of its part
                return f"]({self.site('back/ledger')})"
            here = posixpath.dirname(one.name)
            name = posixpath.normpath(posixpath.join(here, path)) if path else one.name
            if suffix == "md":
                return f"]({self.site(name, anchor)})"
            goal = self.notebooks.get(self.opened(name) if path else name)
            cell = goal.cell_of(anchor[1:]) if goal else ""
            if goal is None or (anchor and not cell):
                raise Refused(f"{one.name}: {match[0][1:]} leads nowhere")
            return f"]({self.to(one.name, goal.name, cell)})"

        source = DRAWING.sub(r"\1.svg", source)
        return LINK.sub(link, ROLE.sub(role, source))

    def _cited(self, page: str, kind: str, keys: str) -> str:
        links = []
        for key in keys.split(","):
            if key not in self.works:
                raise Refused(f"{page}: references.bib has no {key}")
            authors, year, _ = self.works[key]
            words = f"{authors}, {year}" if kind == "cite:p" else f"{authors} ({year})"
            links.append(f"[{words}](#cell-id={CITED})")
        return f"({'; '.join(links)})" if kind == "cite:p" else "; ".join(links)

    def cited(self, cells: list[NotebookNode]) -> list[str]:
        """The works that these cells cite, as entries of a bibliography."""
        roles = [m for c in cells if c.cell_type == "markdown" for m in ROLE.finditer(c.source)]
        keys = {key for m in roles if m[1].startswith("cite:") for key in m[4].split(",")}
        return sorted(self.works[key][2] for key in keys if key in self.works)

    # --- pages ------------------------------------------------------------------------------------

    def prepare(self, one: Notebook) -> None:
        """Links, what they cite at the end of the page, and on top of it where one is."""
        cells = [cell for cell in one.content.cells if cell.id != WHERE]
        works = self.cited(cells)
        for cell in cells:
            if cell.cell_type == "markdown":
                cell.source = self.prepared(one, cell.source)
                if not cell.metadata.get("nbgrader", {}).get("solution"):
                    cell.metadata.editable = False
        if not one.name.startswith("exercises/"):
            code = [cell for cell in cells if cell.cell_type == "code"]
            found = kinds([Cell(cell.source, bool(cell.outputs)) for cell in code])
            for cell, kind in zip(code, found, strict=True):
                if kind:
                    cell.metadata.setdefault("jupyter", {})["source_hidden"] = True
        where = (
            f"[Contents]({self.to(one.name, CONTENTS)}) · "
            f"[this page on the site]({self.site(one.name.replace(STUDENT, 'exercises/'))})"
        )
        one.content.cells = [text(where, WHERE), *cells]
        if works:
            entries = "\n".join(f"- {work}" for work in works)
            one.content.cells.append(text(f"## Works cited\n\n{entries}", CITED))
        nbformat.write(one.content, one.path)

    def _opens(self, file: str) -> bool:
        """Whether a page is a notebook, which those of the package are not."""
        return file.removeprefix("book/") in self.notebooks

    def contents(self) -> NotebookNode:
        """The table of contents, as links."""

        def entry(file: str) -> str:
            name = file.removeprefix("book/")
            if notebook := self.notebooks.get(self.opened(name)):
                return f"- [{self.notebooks[name].page.title}]({notebook.name}.ipynb)"
            text = (self.folder / f"{name}.md").read_text(encoding="utf-8")
            title = re.search(r"^# +(.+)", text, re.M)
            return f"- [{title[1] if title else name}]({self.site(name)})"

        lines = ["# Contents", "", entry(self.toc["root"])]
        for part in self.toc["parts"]:
            lines += ["", f"## {part['caption']}", ""]
            for chapter in part["chapters"]:
                lines.append(entry(chapter["file"]))
                below = [section["file"] for section in chapter.get("sections", [])]
                lines += [f"  {entry(file)}" for file in below if self._opens(file)]
        cells = [text("\n".join(lines), CONTENTS)]
        return v4.new_notebook(cells=cells, metadata=METADATA)


def text(source: str, name: str) -> NotebookNode:
    """A cell of text that is not edited.

    A link to a cell puts the cursor into it, and JupyterLab would show its source, or nothing.
    """
    return v4.new_markdown_cell(source, id=name, metadata={"editable": False})


# --- the bibliography -----------------------------------------------------------------------------


def main(folder: Path) -> None:
    """Prepare a folder, with a copy of the book if it has none."""
    if not (folder / "book").is_dir():
        shutil.copytree(ROOT / "book", folder / "book")
    book = Book(folder)
    for one in book.notebooks.values():
        book.prepare(one)
    nbformat.write(book.contents(), book.folder / f"{CONTENTS}.ipynb")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
