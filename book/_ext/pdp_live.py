"""Live cells: on some pages a reader changes the code and runs it, without leaving the page.

The interpreter is MicroPython, which `make live` fetches into `_build/live`; where it is missing,
nothing here changes a page. A page gets a button at each live cell and a line of script; all else
comes with the first click, as two scripts, so that it comes from an unpacked archive, too: the
programs in `live/`, and the interpreter, packed. Earlier functions of the page that a cell calls
run before it, and after an open cell runs its trial, `live/trials/NAME.py`, which measures it.
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


def cells(page: str) -> Iterator[Live]:
    """The live cells of a page."""
    earlier: dict[str, str] = {}
    for code, is_open in sources(page):
        if is_open:
            trial = (HERE / "trials" / f"{PAGES[page]}.py").read_text(encoding="utf-8")
            yield Live(f"{page} open", code, "", trial)
        elif code.startswith(CHANGE):
            yield Live(f"{page} change", code, context(code, earlier), "")
        earlier |= functions(code)


def script() -> str:
    """What the first click loads: the programs, the cells and the code around them."""
    known = {live.name: live for page in PAGES for live in cells(page)}
    parts = {
        "programs": {name: (HERE / name).read_text(encoding="utf-8") for name in PROGRAMS},
        "worker": (HERE / "worker.js").read_text(encoding="utf-8"),
        "style": (HERE / "live.css").read_text(encoding="utf-8"),
        "note": NOTE,
        "cells": {
            name: {"context": live.context, "trial": live.trial} for name, live in known.items()
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


def mark(soup, name: str) -> None:
    """Put the buttons on a page, below the code of its live cells."""
    page = name.removeprefix("book/").removesuffix(".html")
    if page not in PAGES or not PACKAGE.is_dir():
        return
    known = {live.code.strip(): live for live in cells(page)}
    up = "../" * name.count("/")
    for cell in soup.select("div.cell"):
        code = cell.select_one("div.cell_input pre")
        live = code and known.get(code.get_text().strip())
        if not live:
            continue
        attributes = {
            "type": "button",
            "class": "live-start",
            "data-live": live.name,
            "data-script": f"{up}_static/live.js",
        }
        button = soup.new_tag("button", attrs=attributes)
        button.string = "Change and run"
        bar = soup.new_tag("div", attrs={"class": "live-bar"})
        bar.append(button)
        cell.select_one("div.cell_input").insert_after(bar)
    soup.body.append(BeautifulSoup(START, "html.parser"))


def finish(app, exception) -> None:
    """Write the two scripts."""
    if exception or app.builder.format != "html" or not PACKAGE.is_dir():
        return
    static = Path(app.outdir, "_static")
    (static / "live.js").write_text(script(), encoding="utf-8")
    (static / "micropython.js").write_text(interpreter(), encoding="utf-8")


def setup(app) -> dict[str, bool]:
    app.connect("build-finished", finish, priority=800)  # before pdp_html cuts the fonts
    return {"parallel_read_safe": True, "parallel_write_safe": True}
