"""Measure the form of the pages: how much there is to read, and how soon there is a picture.

    python tools/form.py [SITE]

prints a line for every chapter: words as first shown, the longest run of them without a picture,
open code cells and the longest one, diagrams, figures to move, exercises; with the address of a
built site also its screens of 1440 x 900 and the share of code and logs. The limits hold for
chapters that say `"form": "core"` in the metadata of their notebook.
"""

import re
import sys
from dataclasses import dataclass
from typing import Any

import nbformat
from nbformat import NotebookNode
from reading import ROOT, published

sys.path.append(str(ROOT / "book" / "_ext"))  # what folds on the site
from pdp_sentences import Cell, kinds

FENCE = re.compile(r"\s*(:{3,}|`{3,})(.*)")
FOLDED = re.compile(r"\{(exercise|solution|dropdown|toggle)")
PICTURE = re.compile(r"\{(?:figure|image)\}")
STATEMENT = re.compile(r"\{prf:(?:theorem|lemma|proposition|corollary)\}")
FORMULA = re.compile(r"^\$\$|\{math\}", re.M)
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
LIMITS = {"words": 2500, "gap": 700, "open_cells": 8, "longest": 15}
ON_SCREEN = {"screens": 16.0, "code": 0.20}
LEAST = {"diagrams": 1, "moves": 1, "exercises": 4}


@dataclass(frozen=True)
class Form:
    """What one page shows before anything is opened."""

    words: int
    gap: int  #: words between two pictures
    open_cells: int
    longest: int  #: lines of the longest open cell
    diagrams: int
    moves: int  #: figures to move before the first theorem
    exercises: int
    picture_first: bool  #: before the first display formula and the first open code

    def faults(self) -> list[str]:
        """What a core chapter may not do."""
        found = [f"{k} {getattr(self, k)} > {v}" for k, v in LIMITS.items() if getattr(self, k) > v]
        found += [f"{k} {getattr(self, k)} < {v}" for k, v in LEAST.items() if getattr(self, k) < v]
        return found + ["a formula or code before the first picture"] * (not self.picture_first)


def shown(source: str) -> str:
    """A markdown cell without what is folded, without exercises and formulas."""
    lines, kept, stop = source.splitlines(), [], None
    for i, line in enumerate(lines):
        fence = FENCE.match(line)
        if stop:
            if fence and fence[1] == stop and not fence[2].strip():
                stop = None
            continue
        if fence and fence[2].strip():
            options = " ".join(lines[i + 1 : i + 5])
            if FOLDED.match(fence[2].strip()) or re.search(r":class:[^:]*dropdown", options):
                stop = fence[1]
                continue
        kept.append(line)
    return re.sub(r"\$\$.*?\$\$|\$[^$]*\$", " ", "\n".join(kept), flags=re.S)


def count(text: str) -> int:
    """Words of a text."""
    return len(re.findall(r"[A-Za-z][A-Za-z'-]+", text))


def form(notebook: NotebookNode) -> Form:
    """Measure a notebook."""
    gaps, lengths, order = [0], [], []
    text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    folds = iter(kinds([Cell(cell.source, bool(cell.outputs)) for cell in code]))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            tags = set(cell.metadata.get("tags", []))
            folds_by_rule = next(folds) and "minimal" not in tags
            folded = HIDDEN & tags or folds_by_rule
            lines = len(cell.source.splitlines())
            if not folded and lines:
                lengths.append(lines)
                order.append("code")
            moves = "Explorable(" in cell.source
            if moves or "figure" in cell.metadata.get("mystnb", {}):
                order += ["moves"] * moves + ["picture"]
                gaps.append(0)
            continue
        order += _order(cell.source)
        first, *rest = re.split(PICTURE, shown(cell.source))
        gaps[-1] += count(first)
        gaps += [count(part) for part in rest]
    picture = order.index("picture") if "picture" in order else len(order)
    theorem = order.index("statement") if "statement" in order else len(order)
    return Form(
        words=sum(count(shown(c.source)) for c in notebook.cells if c.cell_type == "markdown"),
        gap=max(gaps[1:-1], default=0),
        open_cells=len(lengths),
        longest=max(lengths, default=0),
        diagrams=len(re.findall(r"\{figure\}[^\n]*diagrams/", text)),
        moves=order[:theorem].count("moves"),
        exercises=len(re.findall(r"\{exercise\}", text)),
        picture_first=not {"code", "formula"} & set(order[:picture]),
    )


def _order(source: str) -> list[str]:
    kinds = {"picture": PICTURE, "statement": STATEMENT, "formula": FORMULA}
    found = [(m.start(), kind) for kind, rule in kinds.items() for m in rule.finditer(source)]
    return [kind for _, kind in sorted(found)]


def mark(notebook: NotebookNode) -> str:
    """What a page says it is: `core`, `depth`, or nothing if it was not converted."""
    return str(notebook.metadata.get("pdpbook", {}).get("form", ""))


def converted(notebook: NotebookNode) -> bool:
    """Whether the limits of a core chapter hold for this page."""
    return mark(notebook) == "core"


# --- in the browser -------------------------------------------------------------------------------

SHARES = """() => {
  const page = document.querySelector("article"), height = page.getBoundingClientRect().height;
  const logs = "div.cell_output .output:not(:has(figure))";
  const seen = [...page.querySelectorAll(`div.cell_input, ${logs}`)];
  const code = seen.filter((one) => one.checkVisibility({contentVisibilityAuto: true}))
    .reduce((sum, one) => sum + one.getBoundingClientRect().height, 0);
  return [height / 900, code / height];
}"""


def on_screen(tab: Any, address: str) -> tuple[float, float]:
    """Screens of 1440 x 900 of a built page, and the share of its height that is code or logs."""
    tab.set_viewport_size({"width": 1440, "height": 900})
    tab.goto(address)
    screens, code = tab.evaluate(SHARES)
    return screens, code


def main(site: str = "") -> None:
    """Print the table."""
    rows, seen = [], {}
    for name, path in published().items():
        rows.append((name, nbformat.read(path, as_version=4)))
    if site:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path="/usr/bin/chromium")
            tab = browser.new_page()
            seen = {name: on_screen(tab, f"{site}/book/{name}.html") for name, _ in rows}
            browser.close()
    print(f"{'chapter':28}words   gap open longest diagrams moves exercises screens  code")
    for name, notebook in rows:
        one = form(notebook)
        screens, code = seen.get(name, (float("nan"), float("nan")))
        print(
            f"{name:28}{one.words:5d} {one.gap:5d} {one.open_cells:4d} {one.longest:7d} "
            f"{one.diagrams:8d} {one.moves:5d} {one.exercises:9d} {screens:7.1f} {code:5.0%}"
            + ("  core" if converted(notebook) else "")
        )
    if seen:
        print(f"{'all':28}{sum(screens for screens, _ in seen.values()):54.0f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
