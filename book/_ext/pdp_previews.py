"""Every statement has a lasting address, and links say where `preview.js` finds what they lead to.

`s/<label>.html` shows the box of a statement and leads to its place, on whichever page that is by
now. A link to a statement, to a word of the glossary or to a reference carries in `data-preview`
the address of its text. The page of statements links to the lasting addresses, and so does every
label in the back matter, in the ledger for instance.
"""

from __future__ import annotations

import copy
import posixpath
from html import escape
from pathlib import Path
from urllib.parse import urldefrag

from bs4 import BeautifulSoup, Tag
from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

PAGE = Path(__file__).with_name("statement.html").read_text(encoding="utf-8")
GLOSSARY, REFERENCES = "book/glossary.html", "book/back/bibliography.html"
STATEMENTS = "book/back/statements.html"
PROVED = {"theorem", "lemma", "proposition", "corollary"}
HEAD = "link[rel=stylesheet], script[src*=mathjax], script[src*=preview]"


def lasting(label: str) -> str:
    """The address of a statement, below the first page of the site."""
    return f"s/{label}.html"


def target(page: str, href: str) -> tuple[str, str]:
    """The page of the site, and the place on it, to which a link on a page leads."""
    path, place = urldefrag(href)
    where = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    return where, place


def relative(page: str, address: str) -> str:
    return posixpath.relpath(address, posixpath.dirname(page) or ".")


def mark_links(soup: BeautifulSoup, page: str, labels: dict[str, str]) -> None:
    """Say where the text is that a link leads to."""
    for link in soup.select("article a.reference.internal[href*='#']"):
        where, place = target(page, link["href"])
        if labels.get(place) == where:
            link["data-preview"] = relative(page, lasting(place))
            if page == STATEMENTS:
                link["href"] = link["data-preview"]
        elif (where == GLOSSARY and place.startswith("term-")) or where == REFERENCES:
            link["data-preview"] = relative(page, where) + f"#{place}"


def rebase(part: Tag, page: str, to: str) -> None:
    """Links and pictures of one page keep leading there from another."""
    for tag in part.find_all(lambda tag: tag.has_attr("href") or tag.has_attr("src")):
        name = "href" if tag.has_attr("href") else "src"
        if ":" not in tag[name] and not tag[name].startswith("//"):
            where, place = target(page, tag[name])  # what follows a question mark stays there
            tag[name] = relative(to, where) + (f"#{place}" if place else "")
        if tag.has_attr("data-preview"):
            where, place = target(page, tag["data-preview"])
            tag["data-preview"] = relative(to, where) + (f"#{place}" if place else "")


def statement_page(box: Tag, soup: BeautifulSoup, page: str, home: str) -> str:
    """The page that shows one statement."""
    label = box["id"]
    number = box.select_one(".caption-number").get_text(strip=True)
    box, head = copy.copy(box), BeautifulSoup("", "html.parser")
    for tag in soup.head.find_all("script", string=True):
        if "dataset.theme" in tag.string or "window.MathJax" in tag.string:
            head.append(copy.copy(tag))
    head.extend(copy.copy(tag) for tag in soup.select(HEAD))
    for part in (box, head):
        rebase(part, page, lasting(label))
    chapter = soup.select_one("article h1").get_text(" ", strip=True).rstrip("# ")
    proof = ", with its proof and its tests" if PROVED & set(box["class"]) else ""
    link = f'<a href="{relative(lasting(label), page)}#{label}">{escape(chapter)}</a>'
    values = {
        "canonical": escape(f"{home}{page}#{label}"),
        "title": escape(number),
        "head": str(head),
        "box": str(box),
        "place": f"It stands in {link}{proof}.",
    }
    text = PAGE
    for name, value in values.items():
        text = text.replace(f"{{{{ {name} }}}}", value)
    return text


def write_statements(soup: BeautifulSoup, page: str, out: Path, labels: dict, home: str) -> None:
    """The pages of all statements that stand on this one."""
    for box in soup.select("div.proof.admonition[id]"):
        if labels.get(box["id"]) == page:
            file = out / lasting(box["id"])
            file.parent.mkdir(exist_ok=True)
            file.write_text(statement_page(box, soup, page, home), encoding="utf-8")


def prune(out: Path, labels: dict[str, str]) -> None:
    """No address for a label that is gone."""
    for file in (out / "s").glob("*.html"):
        if file.stem not in labels:
            file.unlink()


class LinkLabels(SphinxPostTransform):
    """A label in the back matter leads to the lasting address of its statement."""

    default_priority = 700
    formats = ("html",)

    def run(self, **kwargs) -> None:
        if not self.env.docname.startswith("book/back/"):
            return
        page = self.app.builder.get_target_uri(self.env.docname)
        for code in list(self.document.findall(nodes.literal)):
            label = code.astext()
            if label in getattr(self.env, "proof_list", {}) and not in_link(code):
                address = relative(page, lasting(label))
                link = nodes.reference("", "", refuri=address, internal=True, classes=["lasting"])
                code.replace_self(link)
                link += code


def in_link(node: nodes.Node) -> bool:
    while node is not None and not isinstance(node, nodes.reference):
        node = node.parent
    return node is not None


def setup(app) -> dict[str, bool]:
    app.add_post_transform(LinkLabels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
