"""Words of the glossary link to it, at their first use on a page.

Nobody types these links: a page says "a shadow attacker", and its first such word leads to the
glossary. Left alone are titles, links, code, formulas and captions. Words that prose also uses in
another sense are in `PLAIN`; a page that means them types `{term}`.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

PLAIN = {"block", "bounds", "certificate", "check", "contribution", "promise"}
SKIPPED = (nodes.Titular, nodes.caption, nodes.table, nodes.reference, addnodes.pending_xref)
SKIPPED += (nodes.literal, nodes.math, nodes.raw, nodes.FixedTextElement, nodes.Invisible)
SKIPPED += (addnodes.desc_signature, nodes.term)


def terms(glossary: str) -> list[str]:
    """The words that a page of MyST defines."""
    inside = re.search(r"^:::\{glossary\}\n(.*?)^:::", glossary, re.M | re.S)
    lines = inside[1].splitlines() if inside else []
    return [line.strip() for line in lines if re.match(r"[^\W\d_]", line)]


def pattern(words: list[str]) -> re.Pattern[str]:
    """Finds these words, or their plurals, the longest first; a line may break inside of one."""
    longest = sorted(words, key=len, reverse=True)
    forms = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in longest)
    return re.compile(rf"(?<![\w-])({forms})(?:s(?=\W))?(?![\w-])", re.I)


class LinkTerms(SphinxTransform):
    """Mark the first use of every word of the glossary as a reference to it."""

    default_priority = 650  # the text is read, references are not resolved

    def apply(self, **kwargs) -> None:
        glossary = Path(self.app.srcdir, "book", "glossary.md")
        if self.env.docname.startswith(("book/back/", "book/glossary")):
            return  # pages to look things up in
        self.env.note_dependency(str(glossary))
        words = [w for w in terms(glossary.read_text(encoding="utf-8")) if w not in PLAIN]
        known = {word.lower(): word for word in words}
        for node in self.document.findall(addnodes.pending_xref):
            if node.get("reftype") == "term":
                known.pop(node["reftarget"].lower(), None)  # typed on the page
        for text in list(self.document.findall(nodes.Text)):
            if known and not self.skipped(text):
                text.parent.replace(text, list(linked(text, known, self.env.docname)))

    @staticmethod
    def skipped(text: nodes.Text) -> bool:
        node = text.parent
        while node is not None:
            if isinstance(node, SKIPPED) or "cell" in node.get("classes", []):
                return True
            node = node.parent
        return False


def linked(text: str, known: dict[str, str], page: str):
    """The text in pieces, with a reference for each word that is used up from `known`."""
    at = 0
    while known and (found := pattern([*known]).search(text, at)):
        word = known.pop(re.sub(r"\s+", " ", found[1].lower()))
        if found.start() > at:
            yield nodes.Text(text[at : found.start()])
        reference = addnodes.pending_xref(
            "", refdomain="std", reftype="term", reftarget=word, refexplicit=True, refwarn=True,
            refdoc=page,
        )  # fmt: skip
        reference += nodes.inline("", found[0], classes=["std", "std-term"])
        yield reference
        at = found.end()
    if at < len(text):
        yield nodes.Text(text[at:])


def setup(app) -> dict[str, bool]:
    app.add_transform(LinkTerms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
