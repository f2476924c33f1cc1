"""Diagrams of the book: check `book/_static/diagrams/*.svg` and make the PDF beside each.

    python tools/diagrams.py

A diagram is SVG by hand or by script, which the build puts into the page (`book/_ext/pdp_svg.py`):
there `currentColor` and the colors of figures follow the theme. The PDF is for LaTeX and is
committed, so that only who draws needs Chromium; its title is the checksum of its SVG. A page shows

    :::{figure} ../_static/diagrams/NAME.*
    :name: fig-NAME
    :alt: What one sees, in a sentence.

    The caption.
    :::

Rules: a title and a description; a viewBox from 0 0, no size; letters that are 11.5 px high on a
phone; colors of `figures` only, each as var(--fig-..., #...); classes of a prefix of its own,
since the style holds in all of the page; classes that end in -with, -without and -published in the
colors of these roles, what is without dashed, and such words in no other color; nothing from
elsewhere; no words outside of the picture or on each other. One with links to pages
(`tools/chapter_map.py`) is a group, not an image.
"""

import hashlib
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from checkout import ROOT, come_first
from playwright.sync_api import sync_playwright

come_first()
from pdpbook.pages.figures import INK, PAPER, PUBLISHED, THEME, WITH, WITHOUT  # noqa: E402

FOLDER = ROOT / "book" / "_static" / "diagrams"
PHONE, LEAST = 334, 11.5  # pixels: a figure on a screen of 390, and its letters
NAMESPACE = "{http://www.w3.org/2000/svg}"
ELEMENTS = set(
    "svg title desc style g path rect circle ellipse line polyline polygon text tspan a".split()
)
ON_COLOR = "var(--fig-on, #fff)"  # words on a filled shape
COLORS = {"none", "currentColor", ON_COLOR} | {
    f"{name[:-1]}, {'#fff' if color == PAPER else color})"
    for color, name in THEME.items()
    if color != INK
}
ROLES = {"with": WITH, "without": WITHOUT, "published": PUBLISHED}  # last part of a class
NAMED = re.compile(r"(?:\w+ )?(with|without) (?:you|Ana|Ben|Chi|Dora|Zoe)\b|(?:the )?(published)\b")
PAINT = {"fill", "stroke", "color", "stop-color"}
OWN = re.compile(r"\.[\w-]+(:hover|:focus)?([ ~>]+(\.[\w-]+|text))?")  # selectors
FOREIGN = re.compile(r"https?:|@import|url\((?!#)|data:")
# Words that leave the picture, or lie on others.
PLACED = """picture => {
  const box = picture.getBoundingClientRect(), found = [];
  const words = [...picture.querySelectorAll("text")].map(text =>
    [text.textContent.trim(), text.getBoundingClientRect()]);
  words.forEach(([name, one], k) => {
    if (one.left < box.left - 1 || one.right > box.right + 1
        || one.top < box.top - 1 || one.bottom > box.bottom + 1)
      found.push(`"${name}" leaves the picture`);
    for (const [other, two] of words.slice(0, k))
      if (Math.min(one.right, two.right) - Math.max(one.left, two.left) > 1
          && Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top) > 4)
        found.push(`"${name}" lies on "${other}"`);
  });
  return found;
}"""
PAGE = """<!DOCTYPE html><html><head><title>%s</title><style>@page { size: %spx %spx; margin: 0 }
body { margin: 0; color: %s; font-family: "Liberation Sans", Arial, sans-serif }
svg { display: block; width: %spx }</style></head><body>%s</body></html>"""


def rules_of(style: str) -> Iterator[tuple[str, str]]:
    """Selectors and declarations of a style sheet without nesting."""
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", style):
        yield selectors.strip(), body.strip()


def size(root: ElementTree.Element) -> tuple[float, float]:
    """Width and height of the viewBox; zeros where there is none from 0 0."""
    match = re.fullmatch(r"0 0 ([\d.]+) ([\d.]+)", root.get("viewBox", ""))
    return (float(match[1]), float(match[2])) if match else (0.0, 0.0)


def faults(svg: str) -> Iterator[str]:
    """What is wrong with a diagram, as far as its text tells."""
    root = ElementTree.fromstring(svg)
    yield from _frame(root)
    if match := FOREIGN.search(svg.replace("http://www.w3.org/2000/svg", "")):
        yield f"asks for something from elsewhere: {match[0]}"
    style = "".join(node.text or "" for node in root.iter(f"{NAMESPACE}style"))
    rules = list(rules_of(style))
    known = {name for selectors, _ in rules for name in re.findall(r"\.([\w-]+)", selectors)}
    prefixes = {name.split("-")[0] for name in known}
    if len(prefixes) > 1:
        yield f"more than one prefix of classes: {', '.join(sorted(prefixes))}"
    for selectors, body in rules:
        if not all(OWN.fullmatch(one.strip()) for one in selectors.split(",")):
            yield f"styles more than classes of its own: {selectors}"
        for name, value in re.findall(r"([\w-]+)\s*:\s*([^;]+)", body):
            yield from _paint(name, value)
            if name.startswith("font"):
                yield f"{name} belongs to the element, not to the style"
    yield from _roles(root, rules)
    parents = {child: parent for parent in root.iter() for child in parent}
    for node in root.iter():
        tag = node.tag.removeprefix(NAMESPACE)
        if tag not in ELEMENTS:
            yield f"<{tag}> is not for diagrams"
        for name, value in node.attrib.items():
            yield from _paint(name, value)
            if name == "style" or name.startswith("on") or ("href" in name and not leads(value)):
                yield f"attribute {name} is not for diagrams"
        for name in node.get("class", "").split():
            if name not in known:
                yield f"class {name} is not in the style"
        if tag in {"text", "tspan"} and (node.text or "").strip():
            yield from _letters(node, parents, size(root)[0])


def leads(address: str) -> bool:
    """Whether this is a page of the book."""
    return bool(re.fullmatch(r"[\w/]+\.html", address))


def _frame(root: ElementTree.Element) -> Iterator[str]:
    if not all(size(root)):
        yield "no viewBox from 0 0"
    for name in ("width", "height"):
        if name in root.attrib:
            yield f"{name} on the root: the page decides"
    role = "img" if root.find(f".//{NAMESPACE}a") is None else "group"
    if root.get("role") != role:
        yield f'no role="{role}"'
    for name, least in (("title", 10), ("desc", 60)):
        node = root.find(NAMESPACE + name)
        if node is None or len(" ".join((node.text or "").split())) < least:
            yield f"no <{name}> of {least} letters"
        elif node.get("id", "-") not in root.get("aria-labelledby", "").split():
            yield f"aria-labelledby does not name the <{name}>"


def _roles(root: ElementTree.Element, rules: list[tuple[str, str]]) -> Iterator[str]:
    """With somebody, without, published: each in its color, and the one without is dashed."""
    painted = {}
    for selectors, body in rules:
        paint = dict(re.findall(r"([\w-]+)\s*:\s*([^;]+)", body))
        colors = {name for color, name in THEME.items() if color in body}
        for name in re.findall(r"\.([\w-]+)", selectors):
            painted[name] = colors
            role = name.split("-")[-1]
            if role not in ROLES:
                continue
            if colors != {THEME[ROLES[role]]}:
                yield f"class {name} is not in the color of {role}"
            if role == "without" and "stroke" in paint and "stroke-dasharray" not in paint:
                yield f"class {name} is not dashed"
    for node in root.iter(f"{NAMESPACE}text"):
        match = NAMED.match(node.text or "")
        if not match:
            continue
        role = match[1] or match[2]
        colors = set().union(*(painted.get(name, ()) for name in node.get("class", "").split()))
        if colors - {THEME[ROLES[role]]}:
            yield f'"{node.text}" is not in the color of {role}'


def _paint(name: str, value: str) -> Iterator[str]:
    if name in PAINT and re.sub(r",\s*", ", ", value.strip()) not in COLORS:
        yield f"{name}: {value.strip()} is not a color of figures"


def _letters(node, parents, wide: float) -> Iterator[str]:
    own = node
    while own is not None and "font-size" not in own.attrib:
        own = parents.get(own)
    units = own.get("font-size", "") if own is not None else ""
    if not re.fullmatch(r"[\d.]+", units):
        yield f'"{node.text}" has no font-size in units'
    elif wide and (pixels := float(units) * PHONE / wide) < LEAST:
        yield f'"{node.text}" is {pixels:.1f} px high on a phone, less than {LEAST}'


def checksum(svg: str) -> str:
    return hashlib.sha256(svg.encode()).hexdigest()


def is_of(pdf: Path, svg: str) -> bool:
    """Whether the PDF was made from this SVG."""
    return pdf.is_file() and checksum(svg).encode() in pdf.read_bytes()


def draw(tab, svg: str) -> list[str]:
    """Show a diagram as it is on a phone; the words that have no room."""
    wide, high = size(ElementTree.fromstring(svg))
    tab.set_content(PAGE % (checksum(svg), wide, high, INK, wide, svg))
    return tab.locator("svg").evaluate(PLACED)


def main() -> int:
    count = 0
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        tab = chromium.new_page()
        for file in sorted(FOLDER.glob("*.svg")):
            svg, pdf = file.read_text(encoding="utf-8"), file.with_suffix(".pdf")
            for fault in [*faults(svg), *draw(tab, svg)]:
                count += 1
                print(f"{file.name}: {fault}")
            if not is_of(pdf, svg):
                wide, high = size(ElementTree.fromstring(svg))
                tab.pdf(path=pdf, width=f"{wide}px", height=f"{high}px", print_background=True)
                print(f"{pdf.name}: made")
        chromium.close()
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
