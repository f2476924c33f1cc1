"""Cells "Change me" that a reader changes without leaving the page: live ones, and grids.

A live cell is edited and runs in the page, in MicroPython, which `make live` fetches into
`_build/live`; where it is missing, the cell is as it is. A page gets a button and a line of script;
all else comes with the first click, as two scripts, so that it comes from an unpacked archive, too:
the programs in `live/`, and the interpreter, packed. Earlier functions of the page that a cell
calls run before it, and after an open cell its trial, `live/trials/NAME.py`, which measures it.

A grid is a cell that needs more than a browser has. `tools/grids.py` has run it over many settings,
which are committed; the page has lists to choose one, and they come with the first click, too.
"""

from __future__ import annotations

import ast
import gzip
import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat
from bs4 import BeautifulSoup

from pdpbook.pages.exercises import assignment

HERE = Path(__file__).resolve().parent / "live"
ROOT = HERE.parents[2]
PACKAGE = ROOT / "_build/live/node_modules/@micropython/micropython-webassembly-pyscript"
PROGRAMS = ("arrays.py", "package.py", "harness.py")
PAGES = {
    "foundations/coins": "coins",
    "foundations/promises": "promises",
    "personalized/pdp_op": "pdp_op",
    "user_level/mean": "mean",
    "per_instance/filters": "filters",
    "personalized/sensitivity": "sensitivity",
}
EXERCISES = {
    "exercises/foundations": "truth_probability",
    "exercises/personalized": "budget_shares",
}
GRIDS = HERE.parent / "grids"  # one file a page
CHANGE = "# Change me"
NOTE = (
    "Runs on this machine, in MicroPython, with the part of NumPy that this page needs. Its random "
    "numbers are others than those printed in the book. Ctrl+Enter runs the cell."
)
START = """<script>
for (const button of document.querySelectorAll(".live-start"))
  button.onclick = () => {
    if (self.pdpLive) return pdpLive.open(button);
    const script = document.createElement("script");
    script.src = button.dataset.script;
    script.onload = () => pdpLive.open(button);
    document.head.append(script);
  };
</script>"""


class Live(NamedTuple):
    """A cell that can be changed, with what runs before and after it."""

    name: str
    code: str
    context: str
    trial: str
    stub: str = ""  # where a reader begins, if not with the code


def sources(page: str) -> list[tuple[str, bool]]:
    """The code cells of a page, and whether each is the open cell."""
    notebook = nbformat.read(ROOT / "book" / f"{page}.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [(cell.source, "minimal" in cell.metadata.get("tags", [])) for cell in cells]


def functions(code: str) -> dict[str, str]:
    """The functions of a cell, by name."""
    return {
        node.name: ast.get_source_segment(code, node) or ""
        for node in ast.parse(code).body
        if isinstance(node, ast.FunctionDef)
    }


def names(code: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


def context(code: str, earlier: dict[str, str]) -> str:
    """The earlier functions that code calls, and those that they call, in the order of the page."""
    needed, asked = set(), names(code)
    while new := (asked & earlier.keys()) - needed:
        needed |= new
        asked = set().union(*(names(earlier[name]) for name in new))
    return "\n\n".join(earlier[name] for name in earlier if name in needed)


def trial(name: str) -> str:
    return (HERE / "trials" / f"{name}.py").read_text(encoding="utf-8")


def exercise(page: str) -> Live:
    """The exercise of a page that is answered in the page, below the cell that checks it."""
    name, sheet = EXERCISES[page], page.split("/")[1]
    asked = f"{sheet}/{name}"
    found = assignment(sheet).exercises[name]
    told = (
        f'EXERCISE = "{asked}"\nUNSEEN = {found.unseen}\n'
        f"SENTENCES = {json.dumps([one.sentence for one in found.visible], indent=4)}\n"
    )
    stubs = [code for code, _ in sources(f"exercises/release/{sheet}") if f"def {name}(" in code]
    code = f'check("{asked}", {name})'
    return Live(f"{page} {name}", code, "", trial("judge") + told + trial(name), stubs[0])


def cells(page: str) -> Iterator[Live]:
    """The live cells of a page."""
    if page in EXERCISES:
        yield exercise(page)
        return
    earlier: dict[str, str] = {}
    for code, is_open in sources(page):
        if is_open:
            yield Live(f"{page} open", code, "", trial(PAGES[page]))
        elif code.startswith(CHANGE):
            yield Live(f"{page} change", code, context(code, earlier), "")
        earlier |= functions(code)


def script() -> str:
    """What the first click loads: the programs, the cells and the code around them."""
    known = {live.name: live for page in (*PAGES, *EXERCISES) for live in cells(page)}
    parts = {
        "programs": {name: (HERE / name).read_text(encoding="utf-8") for name in PROGRAMS},
        "worker": (HERE / "worker.js").read_text(encoding="utf-8"),
        "style": (HERE / "live.css").read_text(encoding="utf-8"),
        "note": NOTE,
        "cells": {
            name: {"context": live.context, "trial": live.trial, "stub": live.stub}
            for name, live in known.items()
        },
    }
    code = (HERE / "live.js").read_text(encoding="utf-8")
    return f"self.liveSources = {json.dumps(parts)};\n{code}"


def packed(name: str) -> str:
    data = (PACKAGE / name).read_bytes()
    return b64encode(gzip.compress(data, 9, mtime=0)).decode()


def interpreter() -> str:
    """MicroPython as a script, with its license."""
    words = (HERE / "LICENSE-micropython").read_text(encoding="utf-8")
    parts = {"script": packed("micropython.mjs"), "wasm": packed("micropython.wasm")}
    return f"/*\n{words}*/\nself.microPython = {json.dumps(parts)};\n"


def same(one: str, other: str) -> bool:
    """Whether two texts are the same expression: 1.0 and 1.00 are."""
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def grid(file: Path) -> dict:
    """What the page of a grid shows, and with which values it starts: those of the book."""
    kept = json.loads(file.read_text(encoding="utf-8"))
    del kept["key"]
    pairs = zip(kept["names"].values(), kept["parts"][1::2], strict=True)
    start = [next(k for k, v in enumerate(values) if same(v, own)) for values, own in pairs]
    return {**kept, "start": start}


def grid_script(file: Path) -> str:
    """What the first click on the page of a grid loads."""
    code = (HERE / "grid.js").read_text(encoding="utf-8")
    return f"self.gridData = {json.dumps(grid(file))};\n{code}"


def offered(page: str) -> Iterator[tuple[str, str, str, str]]:
    """The cells of a page that can be changed: code, name, words of the button, script."""
    if page in {*PAGES, *EXERCISES} and PACKAGE.is_dir():
        for live in cells(page):
            words = "Answer in the page" if live.stub else "Change and run"
            yield live.code, live.name, words, "live.js"
    file = GRIDS / f"{page.replace('/', '-')}.json"
    if file.is_file():
        code = "".join(grid(file)["parts"])
        yield code, f"{page} grid", "Choose other values", f"grids/{file.stem}.js"


def mark(soup, name: str) -> None:
    """Put the buttons on a page, below the code of cells that can be changed."""
    page = name.removeprefix("book/").removesuffix(".html")
    known = {code.strip(): rest for code, *rest in offered(page)}
    if not known:
        return
    up = "../" * name.count("/")
    for cell in soup.select("div.cell"):
        code = cell.select_one("div.cell_input pre")
        found = code and known.get(code.get_text().strip())
        if not found:
            continue
        live, words, loaded = found
        attributes = {
            "type": "button",
            "class": "live-start",
            "data-live": live,
            "data-script": f"{up}_static/{loaded}",
        }
        button = soup.new_tag("button", attrs=attributes)
        button.string = words
        bar = soup.new_tag("div", attrs={"class": "live-bar"})
        bar.append(button)
        cell.select_one("div.cell_input").insert_after(bar)
    soup.body.append(BeautifulSoup(START, "html.parser"))


def finish(app, exception) -> None:
    """Write the scripts."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    (static / "grids").mkdir(exist_ok=True)
    for file in GRIDS.glob("*.json"):
        script_file = static / "grids" / f"{file.stem}.js"
        script_file.write_text(grid_script(file), encoding="utf-8")
    if not PACKAGE.is_dir():
        return
    (static / "live.js").write_text(script(), encoding="utf-8")
    (static / "micropython.js").write_text(interpreter(), encoding="utf-8")


def setup(app) -> dict[str, bool]:
    app.connect("build-finished", finish, priority=800)  # before pdp_html cuts the fonts
    return {"parallel_read_safe": True, "parallel_write_safe": True}
