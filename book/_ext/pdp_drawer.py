"""One drawer at the end of a page: the code that nobody needs in order to follow it.

Set-up, helpers and the code of figures and numbers leave their places in HTML. The caption of a
figure, and the paragraph beside what a cell prints, end with a link to the code, which has a link
back. Checks stay below their statements (`pdp_folds`), and so do numbers and tables that a reader
opens where they belong. No notebook is changed; the PDF has code in place.
"""

from __future__ import annotations

import re

from docutils import nodes
from myst_nb.sphinx_ import HideInputCells
from pdp_folds import DATA, EXERCISES, is_cell, printed
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_design.shared import create_component

TITLE = "Code of figures and numbers, and set-up"
LINK = "Code"
CODE = re.compile(r"Code\b|Set-up\b|Show the code|.* of (the|both) figures?$")


class Drawer(SphinxPostTransform):
    """Moves the code into the drawer; `Fold` has said before what it is."""

    default_priority = HideInputCells.default_priority - 1  # which folds what stays
    formats = ("html",)

    def run(self, **kwargs) -> None:
        if self.env.docname.startswith(EXERCISES):
            return
        drawer = create_component(
            "dropdown", type="dropdown", opened=False, has_title=True, icon=None, chevron=None,
            container_classes=["sd-mb-3", "code-drawer"], title_classes=[], body_classes=[],
            children=[nodes.rubric(TITLE, TITLE)],
        )  # fmt: skip
        above = None
        cells = [cell for cell in self.document.findall(is_cell) if put_away(cell)]
        for k, cell in enumerate(cells, 1):
            section = section_of(cell)
            if section is not above:
                title = section[0].deepcopy().children
                drawer += nodes.paragraph("", "", *title, classes=["code-section"])
                above = section
            drawer += self.piece(cell, f"code-{k}")
        if cells:
            self.document[0] += drawer

    def piece(self, cell: nodes.container, name: str) -> list[nodes.Node]:
        """The title of a cell, with a link back to its place, and what leaves the place."""
        figures = list(cell.findall(nodes.figure))
        if figures:
            beside = [figure.next_node(nodes.caption) for figure in figures]
            place = figures[0]["ids"][0]
            what = "Code and numbers" if cell["prompt_show"] == DATA else "Code"
            title, back = f"{what} of {self.number(place)}", "Back to the figure"
        else:
            beside = [paragraph_beside(cell)] if printed(cell) else []
            place = f"{name}-place"
            cell["ids"].append(place)
            title, back = cell["prompt_show"], "Back to its place"
        for words in filter(None, beside):
            words += [nodes.Text(" "), link(LINK, name, "code-link")]
        if cell.attributes.pop("hide_mode") == "all":
            moved, cell.children, cell["classes"] = cell.children, [], ["code-place"]
        else:
            moved = [cell.pop(0)]
        return [
            nodes.paragraph("", f"{title}. ", link(back, place), ids=[name]),
            nodes.container("", *moved, classes=["cell"]),
        ]

    def number(self, figure: str) -> str:
        """The figure as the page counts it: Fig. 3.1."""
        numbers = self.env.toc_fignumbers[self.env.docname]["figure"][figure]
        return self.config.numfig_format["figure"] % ".".join(map(str, numbers))


def put_away(cell: nodes.container) -> bool:
    """Whether code goes to the drawer: not a check, and not numbers with a title of their own."""
    folded = "tag_aside" in cell["classes"] and "tag_breaks" not in cell["classes"]
    if not folded or not cell.get("hide_mode"):
        return False
    return bool(CODE.match(cell["prompt_show"])) or not printed(cell)


def paragraph_beside(cell: nodes.container) -> nodes.paragraph | None:
    """The paragraph before a cell, else the one after it; other such cells may be between."""
    at, around = cell.parent.index(cell), cell.parent.children
    for side in (reversed(around[:at]), around[at + 1 :]):
        first = next((one for one in side if not (is_cell(one) and is_away(one))), None)
        if isinstance(first, nodes.paragraph):
            return first
    return None


def is_away(cell: nodes.container) -> bool:
    return "code-place" in cell["classes"] or put_away(cell)


def section_of(node: nodes.Node) -> nodes.section:
    while not isinstance(node, nodes.section):
        node = node.parent
    return node


def link(words: str, target: str, look: str = "") -> nodes.reference:
    classes = [look] if look else []
    return nodes.reference("", words, internal=True, refid=target, classes=classes)


def setup(app) -> dict[str, bool]:
    app.add_post_transform(Drawer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
