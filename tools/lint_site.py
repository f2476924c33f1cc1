"""Lint of the built site: what a reader would stumble over, and no builder warns about.

    python tools/lint_site.py [_build/html]

Prints one line a fault (page, rule, what) and exits with 1 when there is any. It reads files and
runs no browser; `tests/site/test_browser.py` does. Allowed faults, each with its reason, are in
`tests/site_exceptions.toml`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import unquote, urlsplit

import publication
import yaml
from bs4 import BeautifulSoup, NavigableString, Tag

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "book" / "_ext"))
from pdp_home import Place, opened, place  # noqa: E402
from pdp_typeset import as_tex  # noqa: E402

EXCEPTIONS = ROOT / "tests" / "site_exceptions.toml"
CODE = {"pre", "code", "kbd", "script", "style", "noscript", "mjx-container"}
CODE_CLASSES = {"math", "highlight", "headerlink"}
STRAY = {
    "a dollar sign": r"\$",
    "an equation label": r"\(eq-",
    "a colon fence": r":::",
    "a role": r"\{[a-z][a-z:_-]*\}\s*`",
    "raw TeX": r"\\[a-zA-Z]{2,}|\\[()\[\]]",
    "raw Markdown": r"\]\(|```|(?:^|\s)\*\*\w|^#{1,6} ",
    "a missing citation or reference": r"\[\?\]|\?\?",
    "a figure that was not drawn": r"<Figure size",
    "a traceback": r"Traceback \(most recent call last\)",
}
EVERYWHERE = {"a figure that was not drawn", "a traceback"}  # in outputs, too
# A color that is not the second choice after a variable.
LEFT_ALONE = re.compile(r"(?<!, )(?<!,)#[0-9a-f]{3,8}\b(?=[;\"'} ])")
FETCHING = {"script", "img", "iframe", "source", "video", "audio", "embed", "object", "link"}
FETCHED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "manifest"}


@dataclass(frozen=True, order=True)
class Fault:
    """One thing that is wrong on one page."""

    page: str
    rule: str
    what: str

    def __str__(self) -> str:
        return f"{self.page}: {self.rule}: {self.what}"


@dataclass
class Exceptions:
    """Allowed faults; remembers which of them were needed."""

    rows: list[dict[str, str]] = field(default_factory=list)
    used: set[int] = field(default_factory=set)

    @classmethod
    def read(cls, path: Path = EXCEPTIONS) -> Exceptions:
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("exception", [])
        for row in rows:
            if set(row) != {"page", "rule", "match", "reason"} or len(row["reason"]) < 20:
                raise ValueError(
                    f"{path.name}: an exception needs page, rule, match, reason: {row}"
                )
        return cls(rows)

    def without(self, faults: list[Fault]) -> list[Fault]:
        """The faults that no exception covers."""
        return [fault for fault in faults if not self._covers(fault)]

    def _covers(self, fault: Fault) -> bool:
        for k, row in enumerate(self.rows):
            if (
                fnmatch(fault.page, row["page"])
                and row["rule"] == fault.rule
                and re.search(row["match"], fault.what)
            ):
                self.used.add(k)
                return True
        return False

    def unused(self, rules: str) -> list[str]:
        """Exceptions for rules that match the pattern and that nothing needed."""
        return [
            f"{row['page']}: {row['rule']}: {row['match']}"
            for k, row in enumerate(self.rows)
            if k not in self.used and re.fullmatch(rules, row["rule"])
        ]


@dataclass
class Site:
    """A folder of built pages, each parsed once, with formulas as TeX."""

    folder: Path
    baseurl: str = ""
    pages: dict[str, BeautifulSoup] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()
        for path in sorted(self.folder.rglob("*.html")):
            name = path.relative_to(self.folder).as_posix()
            if not name.startswith("_"):  # theme files, copies of sources
                text = as_tex(path.read_text(encoding="utf-8"))
                self.pages[name] = BeautifulSoup(text, "html.parser")
        self._ids = {n: [t["id"] for t in s.find_all(id=True)] for n, s in self.pages.items()}

    def ids(self, page: str) -> list[str]:
        return self._ids.get(page, [])


def content(soup: BeautifulSoup) -> Tag:
    """What the page says, without the frame of the theme."""
    return (
        soup.select_one("article.bd-article, .bd-search-container")
        or soup.select_one("main, body")
        or soup
    )


def words(tag: Tag) -> Iterator[str]:
    """Text outside code and formulas, a tag at a time; a backtick stands for code in it."""
    text = ""
    for child in tag.children:
        if not isinstance(child, Tag):
            text += child if type(child) is NavigableString else ""
        elif child.name in CODE or not CODE_CLASSES.isdisjoint(child.get("class", [])):
            text += " ` " if child.name == "code" else " "
        else:
            text += " "
            yield from words(child)
    if text.strip():
        yield text


def stray(site: Site, page: str) -> Iterator[str]:
    """Markup, error text and question marks that were meant for a machine."""
    body = content(site.pages[page])
    said, everything = list(words(body)), [body.get_text()]
    for what, pattern in STRAY.items():
        for text in everything if what in EVERYWHERE else said:
            if match := re.search(pattern, text, re.M):
                around = " ".join(text[max(0, match.start() - 30) : match.end() + 30].split())
                yield f"{what} in the text: {around}"
    for tag in body.find_all(class_=["problematic", "system-message", "xref", "traceback"]):
        reference = "xref" in tag["class"]
        if not reference or (tag.name == "span" and not tag.find_parent(["a", "pre"])):
            yield f"unresolved or failed: {tag.get_text(' ', strip=True)[:70]}"


def duplicate_ids(site: Site, page: str) -> Iterator[str]:
    for name, count in Counter(site.ids(page)).items():
        if count > 1:
            yield f"id={name} stands {count} times"


def images(site: Site, page: str) -> Iterator[str]:
    """Every image is described, and every figure has its image."""
    soup = site.pages[page]
    for image in soup.find_all("img"):
        alt = (image.get("alt") or "").strip()
        # An image of a page says what one sees; an icon of the theme has at least a name.
        least = 20 if image.find_parent("article") else 4
        if len(alt) < least or re.search(r"\.(png|svg|jpe?g)$|_images/", alt):
            yield f"alt={alt!r} of {Path(image.get('src', '')).name} says too little"
        if re.search(r"_images/.*\.svg", image.get("src", "")):
            yield f"{Path(image['src']).name} does not stand in the page, whose colors it needs"
    for picture in soup.select("svg.inline-figure"):
        names = [soup.find(id=name) for name in picture.get("aria-labelledby", "").split()]
        name = picture.get("aria-label") or " ".join(tag.get_text() for tag in names if tag)
        role = "group" if picture.find("a") else "img"
        if picture.get("role") != role or len(name.strip()) < 20:
            yield f"an inlined picture is called {name!r}, which says too little"
        for color in sorted(set(LEFT_ALONE.findall(picture.decode()))):
            yield f"{color} in {name[:40]!r} does not follow the theme"
    for figure in content(soup).find_all("figure"):
        if not figure.select_one("img, svg, video, object"):
            yield f"figure {figure.get('id', '')} has no image"


def headings(site: Site, page: str) -> Iterator[str]:
    """One h1, which comes first, and no level skipped on the way down."""
    found = content(site.pages[page]).find_all(re.compile("^h[1-6]$"))
    levels = [int(h.name[1]) for h in found]
    if levels.count(1) != 1 or levels[0] != 1:
        yield f"{levels.count(1)} h1 on the page, first heading {levels[:1]}"
    for before, heading, level in zip(levels, found[1:], levels[1:], strict=False):
        if level > before + 1:
            yield f"h{level} after h{before}: {heading.get_text(strip=True)[:50]}"


def frame(site: Site, page: str) -> Iterator[str]:
    """Language and title."""
    soup = site.pages[page]
    if not (soup.html and soup.html.get("lang")):
        yield "no language"
    if not (soup.title and soup.title.get_text(strip=True)):
        yield "no title"


def other_hosts(site: Site, page: str) -> Iterator[str]:
    """A page fetches nothing from elsewhere."""
    soup = site.pages[page]
    for tag in soup.find_all(FETCHING):
        if tag.name == "link" and FETCHED_LINKS.isdisjoint(tag.get("rel", [])):
            continue
        address = tag.get("src") or tag.get("href") or tag.get("data") or ""
        if re.match(r"(https?:)?//", address):
            yield f"<{tag.name}> fetches {address}"
    for style in soup.find_all("style"):
        for address in foreign_urls(style.get_text()):
            yield f"<style> fetches {address}"
    if any("THEBE_JS_URL" in (s.string or "") for s in soup.find_all("script")):
        yield "a script that fetches live code"


def foreign_urls(css: str) -> list[str]:
    return re.findall(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]+)", css)


def links(site: Site, page: str) -> Iterator[str]:
    """Every address inside of the site exists, with its anchor."""
    for tag in site.pages[page].find_all(lambda tag: tag.has_attr("href") or tag.has_attr("src")):
        address = tag.get("href", tag.get("src")) or ""
        if site.baseurl and address.startswith(site.baseurl):
            target, address = site.folder, address[len(site.baseurl) :] or "index.html"
        elif re.match(r"[a-z][a-z0-9+.-]*:|//", address):
            continue
        else:
            target = (site.folder / page).parent
        parts = urlsplit(address)
        path = (target / unquote(parts.path)).resolve() if parts.path else site.folder / page
        if path.is_dir():
            path = path / "index.html"
        if "undefined" in address or not path.is_file() or site.folder not in path.parents:
            yield f"<{tag.name}> leads nowhere: {address}"
            continue
        name, anchor = path.relative_to(site.folder).as_posix(), unquote(parts.fragment)
        if anchor and name in site.pages and anchor not in site.ids(name):
            yield f"no such place on {name}: #{anchor}"


def orphans(site: Site, page: str) -> Iterator[str]:
    """No line begins with the period of a formula: a line may break after a box."""
    for formula in content(site.pages[page]).select("span.math"):
        after = formula.next_sibling
        if type(after) is NavigableString and re.match(r"[^\s\w(\[“‘]", after):
            if "unbroken" not in formula.parent.get("class", []):
                yield f"may part from its formula: {formula.get_text()[-30:]}{after[:10]}"


RULES = {
    "stray": stray,
    "orphan": orphans,
    "duplicate-id": duplicate_ids,
    "image": images,
    "heading": headings,
    "frame": frame,
    "other-host": other_hosts,
    "link": links,
}


def buttons(site: Site, checkout: Path, home: Place, ref: str) -> Iterator[Fault]:
    """Edit, issue, Binder and download links point at files; exercises open the student's copy.

    Without a repository there is nothing to edit, and nothing that Binder could open.
    """
    repository, slug = home.repository, re.escape(urlsplit(home.repository).path.strip("/"))
    patterns = {
        "edit": rf"^{re.escape(repository)}/edit/{home.branch}/([^?#]+)",
        "binder": rf"/v2/gh/{slug}/{re.escape(ref)}\?urlpath=lab/tree/([^?#&]+)",
        "issue": rf"^{re.escape(repository)}/issues/new\?title=Issue%20on%20page%20%2F([^&]+)",
        "download": r"((?:_sources|_downloads)/.+)",
    }
    for page, soup in site.pages.items():
        found: dict[str, list[str]] = {name: [] for name in patterns}
        for link in soup.select("a[href]"):
            for name, pattern in patterns.items():
                if match := re.search(pattern, link["href"]):
                    found[name].append(unquote(match[1]))
                    base = checkout if name in {"edit", "binder"} else site.folder
                    if not (base / unquote(match[1])).is_file():
                        yield Fault(page, "button", f"{name} leads to {match[1]}: no such file")
            if other := re.search(rf"/v2/gh/{slug}/(?!{re.escape(ref)}\?)([^?]*)", link["href"]):
                yield Fault(page, "button", f"binder opens {other[1]} instead of {ref}")
        if not page.startswith("book/") or publication.target(soup):
            continue
        needed = ["issue", "edit"]
        if (checkout / page).with_suffix(".ipynb").is_file():
            needed.append("binder")
        if page.startswith("book/exercises/"):
            needed = ["issue", "binder", "download"]
            for name in ("edit", "binder", "download"):
                for target in found[name]:
                    if not re.search(r"/release/|^_downloads/", target):
                        yield Fault(page, "button", f"{name} gives the solutions away: {target}")
        for name in needed:
            if not found[name] and (repository or name == "download"):
                yield Fault(page, "button", f"no {name} button")


def contents(site: Site, toc: Path) -> Iterator[Fault]:
    """Every entry of the table of contents has a page; a page has an entry, or sends one on."""

    def files(node: object) -> Iterator[str]:
        if isinstance(node, dict):
            yield from (node[k] for k in ("root", "file") if k in node)
            node = list(node.values())
        if isinstance(node, list):
            for child in node:
                yield from files(child)

    listed = {
        re.sub(r"\.(md|ipynb)$", "", name) + ".html"
        for name in files(yaml.safe_load(toc.read_text(encoding="utf-8")))
    }
    for name in sorted(listed - set(site.pages)):
        yield Fault(name, "contents", f"is in {toc.name}, but was not built")
    built = {
        p
        for p, soup in site.pages.items()
        if p.startswith("book/") and not publication.target(soup)
    }
    for name in sorted(built - listed):
        yield Fault(name, "contents", f"was built, but is not in {toc.name}")


def lint_pages(site: Site) -> list[Fault]:
    """The rules that look at the built folder only."""
    faults = {
        Fault(page, name, what)
        for page in site.pages
        for name, rule in RULES.items()
        for what in rule(site, page)
    }
    for sheet in site.folder.rglob("*.css"):
        for address in foreign_urls(sheet.read_text(encoding="utf-8", errors="replace")):
            name = sheet.relative_to(site.folder).as_posix()
            faults.add(Fault(name, "other-host", f"fetches {address}"))
    if not site.pages:
        faults.add(Fault(".", "contents", "no page at all"))
    return sorted(faults)


def read(folder: Path, checkout: Path = ROOT) -> Site:
    """The built pages, with the address that they get."""
    return Site(folder, baseurl=place(checkout).home)


def lint(site: Site, checkout: Path = ROOT) -> list[Fault]:
    """All rules, with the configuration and the table of contents of the checkout."""
    faults = lint_pages(site)
    faults += contents(site, checkout / "_toc.yml")
    faults += buttons(site, checkout, place(checkout), opened(checkout))
    redirects = yaml.safe_load((checkout / "book" / "redirects.yml").read_text(encoding="utf-8"))
    rows = publication.rows(site.folder, site.baseurl, site.pages, redirects)
    faults += [Fault(*row) for row in rows]
    return faults


def main(folder: str = "_build/html", checkout: Path = ROOT) -> int:
    site, exceptions = read(Path(folder), checkout), Exceptions.read()
    left = exceptions.without(lint(site, checkout))
    lines = [str(fault) for fault in left]
    lines += [f"{EXCEPTIONS.name}: unused: {row}" for row in exceptions.unused(OWN_RULES)]
    print(*lines, f"{len(site.pages)} pages, {len(lines)} faults", sep="\n")
    return 1 if lines else 0


OWN_RULES = "|".join([*RULES, *publication.RULES, "contents", "button"])

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
