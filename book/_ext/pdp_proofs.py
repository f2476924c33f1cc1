"""The foot of a box says what of it the proof assistant Coq has checked.

One line, from `proofs/boxes.csv`, with a link to what Coq read. There is none in boxes of which
nothing is checked.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

INLINE = re.compile(r"\{prf:ref\}`([\w-]+)`|\$([^$]+)\$")
CHECKED = "Checked by the Coq proof assistant: "


def feet(boxes: Path) -> dict[str, str]:
    """What is checked of each box, by label."""
    if not boxes.is_file():
        return {}
    with open(boxes, encoding="utf-8", newline="") as rows:
        return {row["label"]: row["foot"] for row in csv.DictReader(rows)}


def reference(domain: str, kind: str, target: str, words: str, page: str) -> addnodes.pending_xref:
    """A link that Sphinx resolves; without words it shows the number of a statement."""
    link = addnodes.pending_xref(
        "", refdomain=domain, reftype=kind, reftarget=target, refexplicit=bool(words),
        refwarn=True, refdoc=page,
    )  # fmt: skip
    link += nodes.inline("", words or target, classes=["xref", domain, f"{domain}-{kind}"])
    return link


def said(text: str, page: str) -> Iterator[nodes.Node]:
    """A sentence with links to statements and formulas."""
    at = 0
    for found in INLINE.finditer(text):
        yield nodes.Text(text[at : found.start()])
        label, tex = found.groups()
        yield reference("prf", "ref", label, "", page) if label else nodes.math(tex, tex)
        at = found.end()
    yield nodes.Text(text[at:])


class SayWhatIsChecked(SphinxTransform):
    """Add the line to every box that Coq has read."""

    default_priority = 660  # words of the glossary are linked before: none in this line

    def apply(self, **kwargs) -> None:
        boxes = Path(self.app.srcdir, "proofs", "boxes.csv")
        known, page = feet(boxes), self.env.docname
        for box in list(self.document.findall(nodes.Element)):
            if "realtype" in box and box.get("label") in known:
                self.env.note_dependency(str(boxes))
                label = box["label"]
                line = nodes.paragraph("", classes=["machine"])
                line += [*said(f"{CHECKED}{known[label]}. ", page)]
                line += reference("std", "ref", f"proofs-{label}", "What Coq read", page)
                line += nodes.Text(".")
                box.next_node(nodes.section).append(line)


def setup(app) -> dict[str, bool]:
    app.add_transform(SayWhatIsChecked)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
