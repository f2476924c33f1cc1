"""One drawer at the end of a page: the code that nobody needs in order to follow it.

Set-up, helpers and the code of figures, with what was printed beside a figure, leave their places
in HTML. The caption of a figure ends with a link to its code, and each piece in the drawer has a
link back to its place. Checks stay below their statements (`pdp_folds`), and so do numbers and
tables that a reader opens where they belong. No notebook is changed; the PDF has code in place.
"""

from __future__ import annotations

import re

from docutils import nodes
from myst_nb.sphinx_ import HideInputCells
from pdp_folds import DATA, EXERCISES, is_cell, printed
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_design.shared import create_component

TITLE = "Code of this page"
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
        for k, cell in enumerate(filter(put_away, list(self.document.findall(is_cell))), 1):
            section = section_of(cell)
            if section is not above:
                title = section[0].deepcopy().children
                drawer += nodes.paragraph("", "", *title, classes=["code-section"])
                above = section
            drawer += self.piece(cell, f"code-{k}")
        if len(drawer) > 1:
            self.document[0] += drawer

    def piece(self, cell: nodes.container, name: str) -> list[nodes.Node]:
        """The title of a cell, which links to its place, and what leaves the place."""
        figures = list(cell.findall(nodes.figure))
        for figure in figures:
            for caption in figure.findall(nodes.caption):
                caption += [nodes.Text(" "), link(LINK, name, "code-link")]
        if figures:
            place = figures[0]["ids"][0]
            what = "Code and numbers" if cell["prompt_show"] == DATA else "Code"
            title = f"{what} of {self.number(place)}"
        else:
            place, title = f"{name}-place", cell["prompt_show"]
            cell["ids"].append(place)
        if cell.attributes.pop("hide_mode") == "all":
            moved, cell.children, cell["classes"] = cell.children, [], ["code-place"]
        else:
            moved = [cell.pop(0)]
        return [
            nodes.paragraph("", "", link(title, place), ids=[name]),
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
