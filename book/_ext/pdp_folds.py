"""What folds on a page: checks to one sentence; set-up, code that draws and helpers under a title.

`pdp_sentences` says which cells and which words; a cell that says itself how it folds keeps its own
(`mystnb.code_prompt_show`, or one of the tags below). A check folds together with the helpers right
before it and the falsifiers right after it, so that code and log are one click away. The rest goes
into the drawer at the end of the page (`pdp_drawer`), or stays as a link. In HTML the folding is
myst-nb's, which runs after both; the PDF prints the sentence (`pdp_latex`) above the code, which
stays. No notebook is changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from docutils import nodes
from myst_nb.sphinx_ import HideInputCells
from pdp_sentences import CHECKS, Cell, kinds, label, measured, sentence
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

OWN = {"aside", "breaks", "check", "minimal", "remove-input", "remove-output"}
EXERCISES = "book/exercises/"  # there the code is what one reads
LINKS = {"setup": "Set-up code", "helper": "Helper code"}
FIGURE, DATA = "Code of the figure", "Code and numbers of the figure"
HIDE = "Hide the code"


def is_cell(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def part(cell: nodes.container, name: str) -> nodes.container | None:
    """The source or the output of a cell."""
    found = (child for child in cell.children if child.get("nb_element") == f"cell_code_{name}")
    return next(found, None)


def source(cell: nodes.container) -> str:
    code = part(cell, "source")
    return code.astext() if code else ""


def printed(cell: nodes.container) -> str:
    output = part(cell, "output")
    return "\n".join(stream.astext() for stream in streams(output)) if output else ""


def streams(output: nodes.container) -> list[nodes.literal_block]:
    return [child for child in output.children if isinstance(child, nodes.literal_block)]


def says_itself(cell: nodes.container) -> bool:
    meta = cell["cell_metadata"]
    return bool(OWN & {*meta.get("tags", [])}) or "code_prompt_show" in meta.get("mystnb", {})


class Mark(SphinxTransform):
    """Notes at each cell of a page what it folds to; nothing moves yet."""

    default_priority = 900

    def apply(self, **kwargs) -> None:
        if self.env.docname.startswith(EXERCISES):
            return
        cells = list(self.document.findall(is_cell))
        found = kinds([Cell(source(cell), part(cell, "output") is not None) for cell in cells])
        for cell, kind in zip(cells, found, strict=True):
            if not says_itself(cell):
                cell["fold"] = kind
            elif "tag_check" in cell["classes"]:
                cell["sentence"] = cell["prompt_show"]
        for run in runs(cells):
            if said := sentence(measured("\n".join(map(printed, run)))):
                run[0]["sentence"] = said
            elif any(cell["fold"] in CHECKS for cell in run):
                where = f"{self.env.docname}: {label(source(run[-1]))}"
                logging.getLogger(__name__).warning(f"a check printed no line: {where}")
            for cell in run[1:]:
                cell["fold"] = "follows"


def runs(cells: list[nodes.container]) -> Iterator[list[nodes.container]]:
    """Cells that fold as one: helpers, checks of one statement, its falsifiers, side by side."""
    run: list[nodes.container] = []
    for cell in cells:
        if run and not (beside(run[-1], cell) and goes_on(run[-1], cell)):
            yield run
            run = []
        if cell.get("fold") in {"helper", *CHECKS}:
            run.append(cell)
    if run:
        yield run


def beside(one: nodes.container, other: nodes.container) -> bool:
    return one.parent is other.parent and one.parent.index(one) + 1 == one.parent.index(other)


def goes_on(one: nodes.container, other: nodes.container) -> bool:
    before, after = one["fold"], other.get("fold")
    if before == "helper":
        return after in {"helper", *CHECKS}
    same = label(source(one)) == label(source(other))
    return same and (after == "falsify" or before == after == "check")


class Fold(SphinxPostTransform):
    """Folds the marked cells of a web page."""

    default_priority = HideInputCells.default_priority - 2  # then the drawer is filled
    formats = ("html",)

    def run(self, **kwargs) -> None:
        head = None
        for cell in list(self.document.findall(is_cell)):
            kind = cell.get("fold")
            if kind == "follows":
                head.extend(cell.children)
                cell.parent.remove(cell)
                continue
            head = cell
            if kind in {*CHECKS, "helper"} and "sentence" in cell:
                fold(cell, "check", "all", cell["sentence"], cell["sentence"])
            elif kind in LINKS:
                fold(cell, "aside", "all", LINKS[kind])
            elif kind == "figure":
                self.figure(cell)
            elif kind == "" and cell.get("hide_mode"):
                cell["classes"].append("tag_aside")

    def figure(self, cell: nodes.container) -> None:
        """The figure stays; what was printed with it folds with the code."""
        output = part(cell, "output")
        if output is None or output.next_node(nodes.image) is None:
            return
        prints = streams(output)
        fold(cell, "aside", "input", DATA if prints else FIGURE)
        if prints:
            data = nodes.container("", *prints, nb_element="cell_code_output")
            data["classes"] = list(output["classes"])
            output.children = [child for child in output.children if child not in prints]
            both = nodes.container("", cell[0], data, nb_element="cell_code_source")
            cell.children = [both, *cell.children[1:]]
            both.parent = cell


def fold(cell: nodes.container, look: str, mode: str, show: str, hide: str = HIDE) -> None:
    cell["classes"].append(f"tag_{look}")
    cell["hide_mode"], cell["prompt_show"], cell["prompt_hide"] = mode, show, hide


def setup(app) -> dict[str, bool]:
    app.add_transform(Mark)
    app.add_post_transform(Fold)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
