"""The index of the search: statements, words of the glossary, chapters and sections; code last.

Each page is cut into records, one for each thing that somebody may look for, with its title, other
names, and its prose without code, outputs and displayed formulas. The records of a page are kept
beside its doctree, so that a build that makes one page anew still indexes all of them. `search.js`
loads the index when somebody searches. Sphinx's own search is off: it knows words and pages, not
statements, and every page would load its index.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString, Tag

NAMES = {
    "varepsilon": "ε", "epsilon": "ε", "delta": "δ", "Delta": "Δ", "lambda": "λ", "eta": "η",
    "theta": "θ", "alpha": "α", "beta": "β", "gamma": "γ", "Gamma": "Γ", "mu": "μ", "rho": "ρ",
    "sigma": "σ", "Sigma": "Σ", "kappa": "κ", "tau": "τ", "phi": "φ", "pi": "π", "le": "≤",
    "ge": "≥", "sum": "Σ", "infty": "∞", "times": "×", "cdot": "·", "dots": "...", "ldots": "...",
    "sqrt": "√", "in": "∈", "pm": "±", "approx": "≈", "ne": "≠", "to": "→", "ell": "ℓ", "top": "T",
}  # fmt: skip
LETTERS = {"ε": "epsilon", "δ": "delta", "λ": "lambda", "θ": "theta", "η": "eta", "μ": "mu",
           "ρ": "rho", "σ": "sigma"}  # fmt: skip
# What is not prose: code, what it printed, what stands in a record of its own.
# What is not prose: code, what it printed, what stands in a record of its own.
SKIPPED_TAGS = {"nav", "table", "style", "script", "pre", "svg", "button"}
SKIPPED = {"cell", "proof", "exercise", "solution", "toctree-wrapper", "headerlink", "eqno"}
FIELDS = ("kind", "title", "address", "where", "keys", "text")


def words(text: str) -> str:
    """Text in which formulas are signs instead of TeX."""
    text = re.sub(r"\\(?:text|mathrm|mathbf|mathcal|operatorname|boldsymbol)\s*", "", text)
    text = re.sub(r"\\(?:left|right|bigl?|bigr?|Bigl?|Bigr?|quad|qquad|displaystyle)\b", "", text)
    text = re.sub(r"\\([a-zA-Z]+) ?", lambda m: NAMES.get(m[1], m[1] + " "), text)
    return " ".join(re.sub(r"\\[()\[\],;!|]|[{}$\\]", "", text).split())


def pieces(part: Tag) -> Iterator[str]:
    for child in part.children:
        if isinstance(child, Tag):
            classes = child.get("class", [])
            display = child.name == "div" and "math" in classes
            skipped = child.name in SKIPPED_TAGS or not SKIPPED.isdisjoint(classes) or display
            if not skipped and child.name != "section":
                yield from pieces(child)
        elif type(child) is NavigableString:
            yield child


def prose(part: Tag) -> str:
    """What a part says itself, without the sections in it."""
    return words("".join(pieces(part)))


def title_of(heading: Tag) -> str:
    return words(heading.get_text(" ")).rstrip("# ")


def initials(title: str) -> str:
    """The first letters of a name of several words, by which it may be known: DP, GWA."""
    found = re.findall(r"(?:[A-Za-z][a-z]*[ -]){1,4}[A-Za-z][a-z]*", title)
    return " ".join("".join(w[0] for w in re.split(r"[ -]", name)) for name in found)


def keys(title: str, *others: str) -> str:
    """Other names of a thing: what is given, initials, letters as words."""
    text = " ".join([title, *others])
    named = [word for letter, word in LETTERS.items() if letter in text]
    joined = [word.replace("-", "") for word in re.findall(r"\w+(?:-\w+)+", title)]
    return " ".join([*others, initials(title), *named, *joined])


def record(kind: str, title: str, address: str, text: str, names: str = "", where: str = ""):
    return dict(zip(FIELDS, (kind, title, address, where, names, text), strict=True))


def statements(soup: BeautifulSoup, page: str, chapter: str, named: dict) -> Iterator[dict]:
    for box in soup.select("div.proof.admonition[id]"):
        head = box.select_one("p.admonition-title")
        number = head.select_one(".caption-number").get_text(strip=True)
        title = words(head.get_text()).removeprefix(number).strip(" ()")
        plain, _, source = title.rpartition("; ")
        label = box["id"].replace("-", " ")
        body = prose(box.select_one("section"))
        names = keys(plain or title, number, source, named.get(box["id"], ""), label)
        full = f"{number}: {plain or title}"
        yield record("statement", full, f"{page}#{box['id']}", body, names, chapter)


def glossary(soup: BeautifulSoup, page: str) -> Iterator[dict]:
    for term in soup.select("dl.glossary dt[id]"):
        title, meaning = title_of(term), term.find_next_sibling("dd")
        formulas = {words(math.get_text()) for math in meaning.select("span.math")}
        letters = [LETTERS[sign] for sign in sorted(formulas & set(LETTERS))]  # its symbol
        names = keys(title, *letters)
        yield record("word", title, f"{page}#{term['id']}", prose(meaning), names, "Glossary")


def objects(soup: BeautifulSoup, page: str) -> Iterator[dict]:
    for sig in soup.select("dt.sig[id]"):
        meaning = sig.find_next_sibling("dd")
        first = meaning.find("p") if meaning else None
        name, text = sig["id"], prose(first) if first else ""
        parts = " ".join(re.split(r"[._]", name))
        yield record("code", name, f"{page}#{name}", text, parts, "Package")


def sections(soup: BeautifulSoup, page: str, chapter: str, kind: str) -> Iterator[dict]:
    for section in soup.select("section[id]"):
        heading = section.find(re.compile("^h[23]$"), recursive=False)
        if heading:
            title = title_of(heading)
            text = prose(section).removeprefix(title).lstrip("# ")
            yield record(kind, title, f"{page}#{section['id']}", text, keys(title), chapter)


def records(soup: BeautifulSoup, page: str, named: dict[str, str]) -> list[dict]:
    """What can be found on a page."""
    soup = soup.select_one("article") or soup
    heading = soup.find("h1")
    if not heading:
        return []
    chapter = title_of(heading)
    first = heading.find_next_sibling("p")
    lead = prose(first) if first else ""
    if page.startswith("book/back/api"):
        return [record("code", chapter, page, lead, "", "Package"), *objects(soup, page)]
    if page == "book/glossary.html":
        return [record("back", chapter, page, lead), *glossary(soup, page)]
    found = [*statements(soup, page, chapter, named)]
    headings = " ".join(title_of(h) for h in soup.find_all(["h2", "h3"]))
    back = page.startswith(("book/back/", "book/exercises/"))
    kind = "back" if back else "chapter"
    found.append(record(kind, chapter, page, lead, keys(chapter, headings)))
    found += sections(soup, page, chapter, "back" if back else "section")
    return found


def note(soup: BeautifulSoup, page: str, folder: Path, named: dict[str, str]) -> None:
    """Keep the records of a page of the book."""
    if page.startswith("book/"):
        file = (folder / page).with_suffix(".json")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(records(soup, page, named)), encoding="utf-8")


def statement_names(root: Path) -> dict[str, str]:
    with (root / "book" / "statements.csv").open(encoding="utf-8", newline="") as file:
        return {row["label"]: row["statement"] for row in csv.DictReader(file)}


def finish(app, exception) -> None:
    if exception or app.builder.format != "html":
        return
    folder, found = Path(app.doctreedir, "search"), []
    for name in sorted(app.env.found_docs):
        file = (folder / app.builder.get_target_uri(name)).with_suffix(".json")
        found += json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    rows = [[one[field] for field in FIELDS] for one in found]
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    Path(app.outdir, "search.json").write_text(text, encoding="utf-8")


def start(app) -> None:
    app.builder.search = False


def search_page(app):
    """The page that Sphinx makes only for its own search."""
    if app.builder.format == "html":
        yield "search", {}, "search.html"


def setup(app) -> dict[str, bool]:
    app.connect("builder-inited", start)
    app.connect("html-collect-pages", search_page)
    app.connect("build-finished", finish, priority=940)  # after pdp_html has noted the records
    return {"parallel_read_safe": True, "parallel_write_safe": True}
