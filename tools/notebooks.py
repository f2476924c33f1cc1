"""Refresh the notebooks: run them, and write them in the one form that is committed.

    python tools/notebooks.py [book/foundations/coins.ipynb ...]

Committed form: executed from a fresh kernel, execution counts 1, 2, 3, ..., text outputs kept,
images stripped, no run times, cell ids that are words. With no argument, every notebook.
A notebook that needs original data is never refreshed from a stand-in.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", PDPBOOK_STAND_IN="")
os.environ.setdefault("PYTHONHASHSEED", "0")

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
DATA = ROOT.parent / "shared" / "data"


def sources() -> list[Path]:
    """Every notebook of the book that is written by hand."""
    found = sorted((ROOT / "book").rglob("*.ipynb"))
    return [p for p in found if not {".ipynb_checkpoints", "release"} & set(p.parts)]


def word(cell: NotebookNode) -> str:
    """A readable name for a cell: its check, its statement, its heading, or how it begins."""
    for pattern in (
        r"^# (check: *[\w-]+|falsify: *[\w-]+)",
        r"^:label: *([\w-]+)",
        r"^#+ +(.+)",
        r"(\S.*)",
    ):
        if match := re.search(pattern, cell.source, re.M):
            slug = re.sub(r"[^a-z0-9]+", "-", match[1].lower()).strip("-")
            return "-".join(slug.split("-")[:6])[:48].strip("-") or "cell"
    return "cell"


def canonical(notebook: NotebookNode) -> NotebookNode:
    """The committed form of an executed notebook; applying it twice changes nothing."""
    extra = {k: v for k, v in notebook.metadata.items() if k == "pdpbook"}
    notebook.metadata = NotebookNode({**METADATA, **extra})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen: set[str] = set()
    for cell in notebook.cells:
        if re.fullmatch(r"[0-9a-f]{8}|[0-9a-f-]{36}", cell.get("id", "00000000")):
            cell.id = word(cell)
        name, k = cell.id, 2
        while cell.id in seen:
            cell.id, k = f"{name}-{k}", k + 1
        seen.add(cell.id)
        cell.metadata.pop("execution", None)
        cell.source = cell.source.strip("\n")
        for output in cell.get("outputs", []):
            for kind in [k for k in output.get("data", {}) if k.startswith("image/")]:
                del output.data[kind]
    return notebook


def text(notebook: NotebookNode) -> str:
    """The bytes that are committed."""
    return nbformat.writes(notebook, indent=1, ensure_ascii=False) + "\n"


def refresh(path: Path) -> bool:
    """Run one notebook from a fresh kernel and rewrite it; returns whether it changed."""
    before = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(before, as_version=4)
    NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        coalesce_streams=True,
        resources={"metadata": {"path": path.parent}},
    ).execute()
    after = text(canonical(notebook))
    path.write_text(after, encoding="utf-8")
    return after != before


if __name__ == "__main__":
    if DATA.is_dir():
        os.environ.setdefault("PDPBOOK_DATA", str(DATA))
    for notebook_path in [Path(p).resolve() for p in sys.argv[1:]] or sources():
        changed = refresh(notebook_path)
        print(f"{notebook_path.relative_to(ROOT)}: {'changed' if changed else 'as committed'}")
