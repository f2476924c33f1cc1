"""Lint of what machines read: canonical addresses, the sitemap, redirects, previews, page 404.

Used by `lint_site`, which gives each row its page, rule and sentence.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urljoin

from bs4 import BeautifulSoup

LASTING = "s/"  # the pages of single statements, made by book/_ext/pdp_previews.py
NOT_FOUND = "404.html"  # served for any address that is not there, so it has none of its own
CARD = {"og:image", "og:image:alt", "og:title", "og:description", "og:url", "twitter:card"}
LONGEST = 300  # characters of a description
Row = tuple[str, str, str]


def canonical(soup: BeautifulSoup) -> list[str]:
    return [str(link.get("href")) for link in soup.select("link[rel=canonical]")]


def target(soup: BeautifulSoup) -> str | None:
    """Where a page that only sends one on leads to."""
    refresh = soup.select_one('meta[http-equiv="refresh" i]')
    match = refresh and re.search(r"url=(.+)$", str(refresh.get("content")))
    return match[1] if match else None


def hidden(soup: BeautifulSoup) -> bool:
    """Whether the page asks machines to leave it out."""
    return bool(soup.select_one('meta[name=robots][content*="noindex"]'))


def addresses(home: str, pages: Mapping[str, BeautifulSoup]) -> Iterator[Row]:
    """Every page names its own address, a page that moved the new one, a statement its place."""
    places = {
        name: {str(box["id"]) for box in soup.select("div.proof[id]")}
        for name, soup in pages.items()
        if not name.startswith(LASTING)
    }
    for label in {label for found in places.values() for label in found}:
        if f"{LASTING}{label}.html" not in pages:
            yield f"{LASTING}{label}.html", "canonical", "was not built: a statement has no address"
    for name, soup in pages.items():
        if name == NOT_FOUND:
            continue
        if name.startswith(LASTING):
            label = posixpath.basename(name).removesuffix(".html")
            stands = [f"{home}{where}#{label}" for where, found in places.items() if label in found]
            if len(stands) != 1 or canonical(soup) != stands:
                yield name, "canonical", f"says {canonical(soup)}, which is not its place"
            continue
        onward = target(soup)
        goal = posixpath.normpath(posixpath.join(posixpath.dirname(name), onward or name))
        own = goal if onward else name
        if canonical(soup) != [home + own]:
            yield name, "canonical", f"says {canonical(soup)} instead of {home + own}"
        if onward and (own not in pages or target(pages[own])):
            yield name, "redirect", f"leads to {onward}: no page, or one that leads elsewhere"


def sitemap(folder: Path, home: str, pages: Mapping[str, BeautifulSoup]) -> Iterator[Row]:
    """The sitemap lists every page that stands at its address, once, and nothing else."""
    file = folder / "sitemap.xml"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    listed = re.findall(r"<loc>\s*([^<\s]+)\s*</loc>", text)
    standing = {
        home + name for name, soup in pages.items() if not target(soup) and not hidden(soup)
    }
    standing.discard(home + NOT_FOUND)
    for address in sorted(standing ^ set(listed)):
        lost = "is not in" if address in standing else "has no page, but is in"
        yield "sitemap.xml", "sitemap", f"{address} {lost} the sitemap"
    if len(listed) > len(set(listed)):
        yield "sitemap.xml", "sitemap", "lists an address twice"


def moved(rows: Mapping[str, str], pages: Mapping[str, BeautifulSoup]) -> Iterator[Row]:
    """The pages that send one on are the rows of `book/redirects.yml`."""
    built = {name for name, soup in pages.items() if target(soup)}
    for name in sorted(built ^ set(rows)):
        lost = "was not built" if name in rows else "is not in redirects.yml"
        yield name, "redirect", lost
    for name in sorted(built & set(rows)):
        if canonical(pages[name]) and not canonical(pages[name])[0].endswith("/" + rows[name]):
            yield name, "redirect", f"does not lead to {rows[name]}"


def previews(folder: Path, home: str, pages: Mapping[str, BeautifulSoup]) -> Iterator[Row]:
    """Every page of the book has what a link to it shows elsewhere, in words of its own."""
    described: dict[str, str] = {}
    for name, soup in pages.items():
        if not name.startswith("book/") or target(soup):
            continue
        said = {
            str(meta.get("property") or meta.get("name")): str(meta.get("content") or "")
            for meta in soup.find_all("meta")
        }
        for missing in sorted(key for key in CARD if not said.get(key)):
            yield name, "preview", f"has no {missing}"
        words = said.get("description", "")
        if words != said.get("og:description") or len(words) > LONGEST:
            yield name, "preview", f"is described in two ways, or at length: {words}"
        if words in described:
            yield name, "preview", f"is described in the words of {described[words]}"
        described[words] = name
        image = said.get("og:image", home)
        if not (image.startswith(home) and (folder / image[len(home) :]).is_file()):
            yield name, "preview", f"its picture {image} is not on the site"
        if said.get("og:url", home + name) != home + name:
            yield name, "preview", f"gives its address as {said['og:url']}"


def not_found(home: str, pages: Mapping[str, BeautifulSoup]) -> Iterator[Row]:
    """Page 404 is shown at any depth, so that every address on it is absolute."""
    if NOT_FOUND not in pages:
        yield NOT_FOUND, "not-found", "was not built"
        return
    for tag in pages[NOT_FOUND].find_all(lambda tag: tag.has_attr("href") or tag.has_attr("src")):
        address = str(tag.get("href") or tag.get("src"))
        if urljoin("https://elsewhere.org/a/b/", address) != address:
            yield NOT_FOUND, "not-found", f"{address} depends on where the page is shown"


def rows(
    folder: Path, home: str, pages: Mapping[str, BeautifulSoup], redirects: Mapping[str, str]
) -> Iterator[Row]:
    """All rules."""
    yield from addresses(home, pages)
    yield from sitemap(folder, home, pages)
    yield from moved(redirects, pages)
    yield from previews(folder, home, pages)
    yield from not_found(home, pages)


RULES = ("canonical", "sitemap", "redirect", "preview", "not-found")
