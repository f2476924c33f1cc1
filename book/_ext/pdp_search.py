"""The index of the search: questions, statements, words, chapters and sections; code last.

Each page is cut into records, one for each thing that somebody may look for, with its names, other
words for it, and its prose without code, outputs and displayed formulas. The records of a page are
kept beside its doctree, so that a build that makes one page anew still indexes all of them. Words
that readers use and the pages do not are in `pdp_search.yml`, whole questions in
`book/questions.yml`: each is a record of its own, with the sentence that answers it. What stands on
a page and in no record, such as in code, is listed apart: the search says of a word that it is not
in this book, and has to know all that are. `search.js` loads the index when
somebody searches. Sphinx's own search is off: it knows words and pages, not statements, and every
page would load its index.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml
from bs4 import BeautifulSoup, NavigableString, Tag
from pybtex.database import parse_file
from sphinx.errors import ExtensionError

NAMES = {
    "varepsilon": "ε", "epsilon": "ε", "delta": "δ", "Delta": "Δ", "lambda": "λ", "Lambda": "Λ",
    "eta": "η", "theta": "θ", "alpha": "α", "beta": "β", "gamma": "γ", "Gamma": "Γ", "mu": "μ",
    "nu": "ν", "rho": "ρ", "sigma": "σ", "Sigma": "Σ", "kappa": "κ", "tau": "τ", "phi": "φ",
    "Phi": "Φ", "pi": "π", "zeta": "ζ", "ell": "ℓ", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥",
    "ne": "≠", "approx": "≈", "sim": "∼", "in": "∈", "pm": "±", "times": "×", "cdot": "·",
    "dots": "...", "ldots": "...", "cdots": "...", "infty": "∞", "to": "→", "sum": "Σ", "sqrt": "√",
    "top": "ᵀ", "star": "*", "lVert": "‖", "rVert": "‖", "lvert": "|", "rvert": "|", "{": "\1",
    "}": "\2", "tfrac12": "½", "ln": "ln ", "log": "log ", "min": "min ", "max": "max ",
    "exp": "exp ", "tanh": "tanh ", "Pr": "Pr ", "operatorname": "", "mathrm": "", "text": "",
    "mathbf": "", "mathcal": "", "boldsymbol": "", "left": "", "right": "", "bigl": "", "bigr": "",
    "Bigl": "", "Bigr": "", "quad": " ", ",": " ", ";": " ", " ": " ", "!": "",
}  # fmt: skip
SMALL = {
    "_": dict(zip("0123456789ijklmnpstx+-", "₀₁₂₃₄₅₆₇₈₉ᵢⱼₖₗₘₙₚₛₜₓ₊₋", strict=True)),
    "^": dict(zip("0123456789Tnk+-*ᵀε", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵀⁿᵏ⁺⁻*ᵀᵋ", strict=True)),
}
BRACES = str.maketrans({"{": None, "}": None, "\1": "{", "\2": "}"})
LETTERS = {"ε": "epsilon", "δ": "delta", "λ": "lambda", "θ": "theta", "η": "eta", "μ": "mu",
           "ρ": "rho", "σ": "sigma"}  # fmt: skip
# What is not prose: code, what it printed, what stands in a record of its own.
SKIPPED_TAGS = set("h1 h2 h3 summary nav table style script pre svg button".split())
SKIPPED = {"cell", "proof", "exercise", "solution", "toctree-wrapper", "headerlink", "eqno"}
SKIPPED |= {"machine"}  # the foot of a box, alike in all
BLOCKS = {"p", "li", "dt", "dd", "div", "section", "h1", "h2", "h3", "h4"}
HOLE = "\ufffc"  # a formula that text cannot show
END = re.compile(r"\n|(?<=[.!?])(?<! al\.)(?<!Fig\.)[”)]?\s+(?=[^a-z])")  # of a sentence
WHY = "Why this is true: "
WORD = re.compile(r"[A-Za-z]{3,}")
HIDDEN = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.S)  # what a reader does not see
KINDS = {"book/exercises/": "exercise", "book/back/": "back"}  # of pages that are not chapters
# Pages of the back matter that say something themselves, and do not list what other pages say.
GUIDES = re.compile(
    r"book/back/(instructors|grading|method|proofs|runs|versions|licenses|house|errata|editions"
    r"|published|bank)\.html"
)
FIELDS = ("kind", "names", "address", "where", "keys", "text", "rest")
OTHER_WORDS = Path(__file__).with_suffix(".yml")
QUESTIONS = Path(__file__).parents[1] / "questions.yml"


def small(part: re.Match) -> str:
    return "".join(SMALL[part[1]].get(sign, HOLE) for sign in part[2] or part[3])


def signs(tex: str) -> str:
    """A formula in signs, or a hole if it needs more than a line of them."""
    tex = re.sub(r"^\\[(\[]|\\[)\]]$|\$", "", tex.strip())
    tex = re.sub(r"\\(tfrac12|[a-zA-Z]+|.) ?", lambda m: NAMES.get(m[1], HOLE), tex)
    tex = re.sub(r" ?([_^])(?:\{([^{}]*)\}|(.))", small, tex)
    plain = re.sub(r" ?([=<>≤≥≠≈∼∈±×→]) ?", r" \1 ", tex.translate(BRACES))
    return HOLE if HOLE in plain or len(plain) > 40 else plain


def pieces(part: Tag) -> Iterator[str]:
    for child in part.children:
        if isinstance(child, Tag):
            classes = child.get("class", [])
            if "math" in classes:
                text = child.get_text()
                ends = child.name == "div" and re.search(r"[.!?][\s\\\]]*$", text)
                yield signs(text) if child.name == "span" else HOLE + "." * bool(ends)
            elif child.name not in {*SKIPPED_TAGS, "section"} and SKIPPED.isdisjoint(classes):
                yield from pieces(child)
                if child.name in BLOCKS:
                    yield "\n"
        elif type(child) is NavigableString:
            yield re.sub(r"([_^])\{([^{}]*)\}", small, re.sub(r"\s+", " ", child))


def prose(part: Tag) -> tuple[str, str]:
    """What a part says itself, without the sections in it: whole sentences, and the words of those
    that a formula leaves with a hole."""
    text = re.sub(rf"\s*{HOLE}\s*", f" {HOLE} ", "".join(pieces(part)))
    whole, rest = [], []
    for sentence in END.split(text.replace(f"{HOLE} .", f"{HOLE}.")):
        if HOLE in sentence:
            rest.append(sentence.replace(HOLE, " "))
            whole += ["…"] if whole and whole[-1] != "…" else []
        elif sentence.strip():
            whole.append(" ".join(sentence.split()))
    return " ".join(whole).removesuffix(" …"), " ".join(" ".join(rest).split())


def title_of(heading: Tag) -> str:
    return " ".join("".join(pieces(heading)).replace(HOLE, "").split())


def initials(name: str) -> str:
    """The first letters of a name of a few words, by which it may be known: DP, GWA."""
    words = re.split("[ -]", name)
    return "".join(w[0] for w in words) if 1 < len(words) < 5 and "".join(words).isalpha() else ""


def keys(title: str, *others: str) -> str:
    """Other words for a thing: what is given, letters as words, the parts of a name as one."""
    text = " ".join([title, *others])
    named = [word for letter, word in LETTERS.items() if letter in text]
    joined = [word.replace("-", "") for word in re.findall(r"\w+(?:-\w+)+", title)]
    return " ".join([*filter(None, others), *named, *joined])


def record(kind: str, names: str | list[str], address: str, text: tuple[str, str] = ("", ""),
           words: str = "", where: str = "") -> dict:  # fmt: skip
    names = [names] if isinstance(names, str) else names
    return dict(zip(FIELDS, (kind, names, address, where, words, *text), strict=True))


def statements(soup: BeautifulSoup, page: str, chapter: str, rows: dict) -> Iterator[dict]:
    for box in soup.select("div.proof.admonition[id]"):
        head = box.select_one("p.admonition-title")
        number = head.select_one(".caption-number").get_text(strip=True)
        title = title_of(head).removeprefix(number).strip(" ()")
        plain, _, source = title.rpartition("; ")
        name, authors = rows.get(box["id"], ("", ""))
        title, label = plain or title, box["id"].replace("-", " ")
        words = keys(title, source, authors, name, initials(title), label)
        text, rest = prose(box.select_one("section"))
        text = text or name[:1].upper() + name[1:]
        names = [f"{number}: {title}", title, number]
        where = chapter if source in ("", "ours") else f"{chapter}; {source}"
        yield record("statement", names, f"{page}#{box['id']}", (text, rest), words, where)


def glossary(soup: BeautifulSoup, page: str) -> Iterator[dict]:
    for term in soup.select("dl.glossary dt[id]"):
        title, meaning = title_of(term), term.find_next_sibling("dd")
        formulas = {signs(math.get_text()) for math in meaning.select("span.math")}
        letters = [LETTERS[sign] for sign in sorted(formulas & set(LETTERS))]  # its symbol
        words = keys(title, initials(title), *letters)
        yield record("word", title, f"{page}#{term['id']}", prose(meaning), words, "Glossary")


def works(soup: BeautifulSoup, page: str) -> Iterator[dict]:
    """The references, each by its title, its authors and its year."""
    for entry in soup.select("div.citation[id]"):
        text = " ".join(entry.find("p").get_text().split())
        authors, title, *_ = re.split(r"(?<=[^\WA-Z])\. |(?<=\w\w)\. ", text, maxsplit=2)
        first = re.split(",| and ", authors)[0].split()[-1]
        years = re.findall(r"\b((?:1[89]|20)\d\d)\.(?: |$)", text)
        names = [title, first, *(f"{first} {year}" for year in years[:1])]
        yield record("work", names, f"{page}#{entry['id']}", (text, ""), authors)


def objects(soup: BeautifulSoup, page: str) -> Iterator[dict]:
    for sig in soup.select("dt.sig[id]"):
        meaning = sig.find_next_sibling("dd")
        first = meaning.find("p") if meaning else None
        name, text = sig["id"], prose(first) if first else ("", "")
        parts = " ".join(re.split(r"[._]", name))
        yield record("code", name, f"{page}#{name}", text, parts, "Package")


def sections(soup: BeautifulSoup, page: str, chapter: str, kind: str) -> Iterator[dict]:
    for section in soup.select("section[id]"):
        heading = section.find(re.compile("^h[23]$"), recursive=False)
        if heading:
            title = title_of(heading)
            address = f"{page}#{section['id']}"
            yield record(kind, title, address, prose(section), keys(title), chapter)


def records(soup: BeautifulSoup, page: str, rows: dict[str, tuple[str, str]]) -> list[dict]:
    """What can be found on a page."""
    soup = soup.select_one("article") or soup
    heading = soup.find("h1")
    if not heading:
        return []
    chapter = title_of(heading)
    first = heading.find_next_sibling("p")
    lead = prose(first) if first else ("", "")
    if page.startswith("book/back/api"):
        return [record("code", chapter, page, lead, "", "Package"), *objects(soup, page)]
    if page == "book/glossary.html":
        return [record("back", chapter, page, lead), *glossary(soup, page)]
    if page == "book/back/questions.html":  # each is a record of its own
        return [record("back", chapter, page, lead)]
    if page == "book/back/bibliography.html":
        return [record("back", chapter, page, lead), *works(soup, page)]
    headings = " ".join(title_of(h) for h in soup.find_all(["h2", "h3"]))
    kind = next((kind for start, kind in KINDS.items() if page.startswith(start)), "")
    names = [chapter, re.sub(r"^\d+\. ", "", chapter), Path(page).stem]
    return [
        *statements(soup, page, chapter, rows),
        record(kind or "chapter", names, page, lead, keys(chapter, headings)),
        *sections(soup, page, chapter, kind or "section"),
    ]


def note(soup: BeautifulSoup, page: str, folder: Path, rows: dict) -> None:
    """Keep the records of a page of the book."""
    if page.startswith("book/"):
        file = (folder / page).with_suffix(".json")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(records(soup, page, rows)), encoding="utf-8")


def statement_rows(root: Path) -> dict[str, tuple[str, str]]:
    """The name of each statement, and its authors with the year."""
    works = parse_file(str(root / "book" / "references.bib")).entries
    authors = {
        key: " ".join([*(" ".join(one.last_names) for one in work.persons["author"]),
                       work.fields["year"]])
        for key, work in works.items()
    }  # fmt: skip
    with (root / "book" / "statements.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["label"]: row for row in csv.DictReader(file)}
    return {
        label: (row["statement"], " ".join(authors.get(key, "") for key in row["source"].split()))
        for label, row in rows.items()
    }


def questions(found: list[dict], asked: dict[str, dict]) -> Iterator[dict]:
    """What people ask, each with the sentence that answers it in the record of its section."""
    places = {one["address"]: one for one in found}
    for page, rows in asked.items():
        chapter = places[f"book/{page}.html"]["names"][0]
        for question, place in rows.items():
            ((anchor, piece),) = place.items()
            address = f"book/{page}.html" + ("" if anchor == "top" else f"#{anchor}")
            said = END.split(places[address]["text"]) if address in places else []
            answer = next((sentence for sentence in said if piece in sentence), None)
            if answer is None:
                raise ExtensionError(f"{QUESTIONS.name}: {address} does not say {piece!r}")
            yield record("question", question, address, (answer.removeprefix(WHY), ""), "", chapter)


def elsewhere(folder: Path, found: list[dict]) -> list[str]:
    """The words that stand on a page of the book and in no record."""
    known = {word for one in found for word in WORD.findall(json.dumps(one, ensure_ascii=False))}
    on_pages: set[str] = set()
    for file in sorted(folder.glob("book/**/*.html")):
        article = (
            file.read_text(encoding="utf-8").partition("<article")[2].partition("</article")[0]
        )
        on_pages.update(WORD.findall(HIDDEN.sub(" ", article)))
    lower = {word.lower() for word in known}
    return sorted({word.lower() for word in on_pages} - lower)


def finish(app, exception) -> None:
    if exception or app.builder.format != "html":
        return
    folder, found = Path(app.doctreedir, "search"), []
    for name in sorted(app.env.found_docs):
        file = (folder / app.builder.get_target_uri(name)).with_suffix(".json")
        found += json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    words = yaml.safe_load(OTHER_WORDS.read_text(encoding="utf-8"))
    places = words.pop("places")
    for one in found:
        one["names"] += places.pop(one["address"], [])
        if one["kind"] == "back" and GUIDES.match(one["address"]):
            one["kind"] = "guide"
    if places:
        raise ExtensionError(f"{OTHER_WORDS.name} names places that are not: {sorted(places)}")
    found += list(questions(found, yaml.safe_load(QUESTIONS.read_text(encoding="utf-8"))))
    words["elsewhere"] = elsewhere(Path(app.outdir), found)
    index = {**words, "records": [[one[field] for field in FIELDS] for one in found]}
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    text = f"window.searchIndex = {text};"  # a script: a book opened as a file may not fetch
    Path(app.outdir, "search_index.js").write_text(text, encoding="utf-8")


def start(app) -> None:
    app.builder.search = False


def search_page(app):
    """The page that Sphinx makes only for its own search."""
    if app.builder.format == "html":
        yield "search", {}, "search.html"


def setup(app) -> dict[str, int]:
    app.connect("builder-inited", start)
    app.connect("html-collect-pages", search_page)
    app.connect("build-finished", finish, priority=940)  # after pdp_html has noted the records
    # The version counts the shapes of the records: a new one makes all pages anew.
    return {"env_version": 2, "parallel_read_safe": True, "parallel_write_safe": True}
