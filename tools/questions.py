"""The page `back/questions`: what people ask, with the sentence of the page that answers it.

`book/questions.yml` lists the questions by page, and for each the section and a few words of one
sentence there. The sentence is taken from the page, so that the two never differ; a section or a
sentence that is gone is refused. `pdp_search.py` puts the same questions into the search.
"""

import re
from pathlib import Path

import nbformat
import yaml
from docutils.nodes import make_id
from pdp_search import HOLE, signs
from reading import ROOT, Page, Refused, listed

FILE = ROOT / "book" / "questions.yml"
HEAD = "% Written by tools/pages.py; edit questions.yml, or the page that answers.\n\n"
HEADING = re.compile(r"^#{1,3} (.+)$", re.M)
BOX = re.compile(r"^(:{3,})\{prf:[\w-]+\}.*\n:label: ([\w-]+)\n((?:.*\n)*?)\1$", re.M)
END = re.compile(r"((?<! al)(?<!Fig)[.!?][*_)”]*) (?=[^a-z])")  # of a sentence
WHY = "Why this is true: "
LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")
FORMULA = re.compile(r"(\$[^$]+\$)")


def questions(_: dict[str, Page]) -> str:
    """The page: a heading for each page of the book that answers something."""
    parts = [
        "# Questions that people ask\n",
        "In the words of those who ask. Each leads to the section that answers it, and the "
        "sentence below it stands there. The search finds these questions, too.\n",
    ]
    for name, rows in asked().items():
        text = source(name)
        title = HEADING.search(text)
        if not title:
            raise Refused(f"{name} has no title")
        entries = []
        for question, place in rows.items():
            ((anchor, piece),) = place.items()
            said = sentence(text, anchor, piece, f"{name}, {question!r}")
            goal = f"../{file(name).relative_to(ROOT / 'book')}"
            goal += "" if anchor == "top" else f"#{anchor}"
            box = any(label == anchor for _, label, _ in BOX.findall(text))
            lead = f"{{prf:ref}}`{question} <{anchor}>`" if box else f"[{question}]({goal})"
            entries.append(f"- **{lead}** {said}\n")
        parts += [f"## {title[1]}\n", listed(entries)]
    return HEAD + "\n".join(parts)


def asked(file: Path = FILE) -> dict[str, dict[str, dict[str, str]]]:
    """The questions of each page, each with its section and a few words of the sentence there."""
    found: dict[str, dict[str, dict[str, str]]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def source(name: str) -> str:
    """The text of a page, with the apostrophes that the site shows."""
    path = file(name)
    if path.suffix == ".md":
        text = path.read_text(encoding="utf-8")
    else:
        cells = nbformat.read(path, as_version=4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return re.sub(r"(?<=\w)'(?=\w|\s)", "’", text) + "\n"


def file(name: str) -> Path:
    """The file of a page: a notebook, or a text."""
    notebook = ROOT / "book" / f"{name}.ipynb"
    return notebook if notebook.exists() else notebook.with_suffix(".md")


def sections(text: str) -> dict[str, str]:
    """The text under each heading and in each box, by its place in the address.

    Of the top of a page it is the first paragraph, as the search has no more of it.
    """
    _, *parts = HEADING.split(text)
    found = {make_id(title): said for title, said in zip(parts[::2], parts[1::2], strict=True)}
    boxes = {label: said for _, label, said in BOX.findall(text)}
    first, *_ = re.split(r"\n\s*\n", parts[1].strip())
    return {**found, **boxes, "top": first}


def sentence(text: str, anchor: str, piece: str, where: str) -> str:
    """The one sentence of a section that holds some words."""
    found = sections(text)
    if anchor not in found:
        raise Refused(f"{where}: there is no section {anchor}")
    paragraphs = re.split(r"\n\s*\n|\n(?=[-*] )", LINK.sub(r"\1", found[anchor]))
    shown = {
        one: FORMULA.sub(lambda formula: signs(formula[1]), one)
        for paragraph in paragraphs
        for one in END.sub(r"\1\n", bare(" ".join(paragraph.split()))).split("\n")
    }
    said = [one for one, text in shown.items() if piece in text]
    if len(said) != 1:
        raise Refused(f"{where}: {len(said)} sentences of {anchor} say {piece!r}")
    if HOLE in shown[said[0]]:
        raise Refused(f"{where}: the search cannot show a formula of: {said[0]}")
    whole = said[0].removeprefix("- ").partition(WHY)
    told = whole[2] or whole[0]
    if not told.endswith((".", "!", "?")):
        raise Refused(f"{where}: not a whole sentence: {told}")
    return told[0].upper() + told[1:]


def bare(text: str) -> str:
    """A text without emphasis, which may begin in another sentence."""
    parts = FORMULA.split(text)
    return "".join(p if p.startswith("$") else re.sub(r"\*|(?<!\w)_|_(?!\w)", "", p) for p in parts)
