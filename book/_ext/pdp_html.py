"""Last touches to the built pages: what the theme gets wrong, what nobody asks for, one banner.

Runs once a build, after every other extension. Each touch says which fault it mends; a page that
was mended before is left alone. What CSS can do is in `custom.css`; what remains is checked by
`tools/lint_site.py` and the browser tests.
"""

from __future__ import annotations

import re
from pathlib import Path

from bs4 import BeautifulSoup
from pdp_formulas import mend_formulas
from PIL import Image

STAND_IN = (
    "This page was computed from a generated stand-in, because the original data were not at hand. "
    "Its numbers are not results."
)
TEX = {"varepsilon": "ε", "epsilon": "ε", "delta": "δ", "lambda": "λ", "eta": "η", "theta": "θ"}
# On a page of exercises these buttons lead to the solved notebook.
SOLVED = {
    "launch-buttons",
    "download-notebook-button",
    "download-source-button",
    "source-edit-button",
}
LONG = 1500  # characters of a proof, TeX included: one in eight is longer
SCHEME = 'matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"'
# Of MathJax's 24 MB, what a page with TeX input can load: itself, its fonts, rare TeX commands,
# and the spoken formulas of its menu. The rest is for other inputs, outputs and languages.
MATHJAX = re.compile(
    r"tex-chtml\.js|input/tex/extensions/.*|output/chtml/fonts/woff-v2/.*|a11y/.*"
    r"|input/mml(\.js|/entities\.js)|sre/mathmaps/(base|en)\.json"
)


def plain(text: str) -> str:
    """TeX as words, for link previews."""
    text = re.sub(r"\\([a-zA-Z]+) ?", lambda m: TEX.get(m[1], m[1] + " "), text)
    return " ".join(re.sub(r"\\[()\[\]]|[{}$\\]", "", text).split())


def mend_head(soup: BeautifulSoup) -> None:
    """Start-up scripts, icons and link previews."""
    # Live code is off, yet its scripts are emitted twice, and the second throws on every page.
    for script in soup.find_all("script"):
        src, body = script.get("src") or "", script.string or ""
        if (
            "thebe" in src
            or "thebe" in (script.get("type") or "")
            or "THEBE_JS_URL" in body
            or body.startswith("kernelName")
        ):
            script.decompose()
        elif "fontawesome.js" in src:
            script.decompose()  # half a megabyte; the style sheet draws the same icons
        elif 'localStorage.getItem("theme")' in body:
            # The first visit has no stored theme: ask the system, so that nothing flashes.
            script.string = re.sub(r'(getItem\("theme"\)) \|\| "auto"', rf"\1 || ({SCHEME})", body)
    for link in soup.find_all("link", rel="stylesheet", href=re.compile("sphinx-thebe")):
        link.decompose()
    html = soup.html
    if html and html.get("data-theme") == "auto":
        html["data-theme"] = "light"  # "auto" has no colors when scripts are off
    icon = soup.find("link", rel="icon")
    if icon:
        ico = soup.new_tag("link", rel="icon", href=icon["href"].replace(".svg", ".ico"))
        ico["sizes"] = "48x48"
        icon.insert_before(ico)  # browsers that draw SVG prefer the last
        icon["type"] = "image/svg+xml"
    first = soup.select_one("article p")
    for meta in soup.select('meta[property="og:description"], meta[name="description"]'):
        text = plain(first.get_text()) if first else ""
        meta["content"] = text if len(text) <= 200 else text[:200].rsplit(" ", 1)[0] + " ..."


def mend_body(soup: BeautifulSoup) -> None:
    """Names, roles and ids that a screen reader or an anchor stumbles over."""
    for box in soup.find_all(id=["proof", "proof-content", "exercise-content", "solution-content"]):
        if box["id"] == "proof":  # styled by this id, which every proof on the page has
            box["class"] = [*box["class"], "proof-body"]
        del box["id"]
    for summary in soup.select("nav summary"):  # an arrow without a name
        link = summary.find_previous_sibling("a") or summary.parent.find_previous_sibling("a")
        summary["aria-label"] = "Pages below " + (link.get_text(" ", strip=True) if link else "")
    for entry in soup.select("[role=list] > [role=doc-biblioentry]"):
        entry["role"] = "listitem"
    for corner in soup.select("table thead th"):  # the empty corner of a DataFrame heads nothing
        if not corner.get_text(strip=True) and not corner.find("img"):
            corner.name = "td"
    for cell in soup.select("article td"):  # else names, which do not break, squeeze its column
        if len(cell.get_text()) > 40:
            cell["class"] = [*cell.get("class", []), "wordy"]
    logo = soup.select_one(".sidebar-primary-item > a.navbar-brand")
    if logo:  # outside of every landmark
        logo.wrap(soup.new_tag("nav", attrs={"aria-label": "Home"}))
    for button in soup.select("button.search-button-field, details.hide summary"):
        button.attrs.pop("aria-label", None)  # the name differs from the words one sees
    for title in soup.select("p.prev-next-title"):  # a module's name breaks after its dot
        if name := re.fullmatch(r"(pdpbook\.)(\w+)", title.get_text()):
            title.clear()
            title.extend([name[1], soup.new_tag("wbr"), name[2]])
    for rank, nav in enumerate(soup.select("nav[aria-label=Page]")):
        nav["aria-label"] = "On this page" + (f", {rank + 1}" if rank else "")


def fold_proofs(soup: BeautifulSoup) -> None:
    """A long proof shows its idea, which is its first paragraph, and folds its algebra."""
    for proof in soup.select("div.proof-body"):
        first = proof.find("p")
        start = first.find(string=re.compile(r"^Proof\."))
        if start:
            word = soup.new_tag("strong")
            word.string = "Proof."
            start.replace_with(word, start.removeprefix("Proof."))
        if len(proof.get_text()) <= LONG:
            continue
        rest = soup.new_tag("details", attrs={"class": "rest-of-proof"})
        summary = soup.new_tag("summary")
        summary.string = "The rest of the proof"
        rest.append(summary)
        for part in list(first.next_siblings):
            rest.append(part)
        first.insert_after(rest)


def mark_stand_in(soup: BeautifulSoup) -> None:
    """A page that says it used generated data says so at its top, too."""
    outputs = soup.select(".cell_output")
    if not any(re.search(r"^STAND-IN DATA:", o.get_text(), re.M) for o in outputs):
        return
    note = soup.new_tag("div", attrs={"class": "stand-in", "role": "note"})
    strong = soup.new_tag("strong")
    strong.string = "Stand-in data. "
    note.append(strong)
    note.append(STAND_IN)
    soup.select_one("article h1").insert_after(note)


def mend(page: Path) -> None:
    """Mend one page in place."""
    text = page.read_text(encoding="utf-8")
    if "<!-- mended -->" in text or "</html>" not in text:
        return
    soup = BeautifulSoup(text, "html.parser")
    mend_head(soup)
    mend_body(soup)
    mend_formulas(soup)
    fold_proofs(soup)
    mark_stand_in(soup)
    page.write_text(f"{soup}\n<!-- mended -->\n", encoding="utf-8")


def slim(picture: Path) -> None:
    """A plot has few colors: with a palette it is a quarter of the size and looks the same."""
    with Image.open(picture) as image:
        if image.mode == "P":
            return
        flat = image.convert("RGB")
    few = flat.quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(picture, optimize=True)


def finish(app, exception) -> None:
    """Mend the pages, fill in the address of the book, prune what no page can ask for."""
    if exception or app.builder.format != "html":
        return
    out, static = Path(app.outdir), Path(app.outdir, "_static")
    own = [Path(app.confdir, folder) for folder in app.config.html_extra_path]
    extra = {p.relative_to(d) for d in own for p in d.rglob("*") if p.is_file()}
    for name in extra:
        if (out / name).suffix == ".txt":
            text = (out / name).read_text(encoding="utf-8")
            text = text.replace("{{ baseurl }}", app.config.html_baseurl)
            (out / name).write_text(text, encoding="utf-8")
    for page in out.rglob("*.html"):
        if static not in page.parents:
            mend(page)
    for picture in (out / "_images").glob("*.png"):
        slim(picture)
    for file in {  # a set: the map of a script is found twice
        *static.rglob("*.map"),
        *static.glob("sphinx-thebe.*"),
        *static.rglob("fontawesome.js*"),
    }:
        file.unlink()
    for file in (static / "mathjax").rglob("*"):
        if file.is_file() and not MATHJAX.fullmatch(
            file.relative_to(static / "mathjax").as_posix()
        ):
            file.unlink()


def hide_solved(app, pagename, templatename, context, doctree) -> None:
    """Pages of exercises open the student's notebook, by links of their own."""

    def kept(buttons: list[dict]) -> list[dict]:
        return [
            {**one, "buttons": kept(one["buttons"])} if "buttons" in one else one
            for one in buttons
            if one["label"] not in SOLVED
        ]

    if pagename.startswith("book/exercises/"):
        context["header_buttons"] = kept(context["header_buttons"])


def setup(app) -> dict[str, bool]:
    app.connect("html-page-context", hide_solved, priority=600)  # the theme adds them at 501
    app.connect("build-finished", finish, priority=900)  # after those that copy their files
    return {"parallel_read_safe": True, "parallel_write_safe": True}
