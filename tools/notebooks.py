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
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TypeVar

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", PDPBOOK_STAND_IN="")
os.environ.setdefault("PYTHONHASHSEED", "0")

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from tqdm import tqdm

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


def run(notebook: NotebookNode, folder: Path, timeout: int) -> NotebookNode:
    """Run a notebook in place in a fresh kernel, whose working directory is `folder`."""
    with tempfile.TemporaryDirectory(prefix="kernel-") as there:
        # through files: two kernels that start at once cannot pick the same port
        manager = AsyncKernelManager(
            kernel_name="python3", transport="ipc", connection_file=f"{there}/kernel.json"
        )
        client = NotebookClient(
            notebook,
            km=manager,
            timeout=timeout,
            coalesce_streams=True,
            record_timing=False,  # would be metadata, which the cache compares
            resources={"metadata": {"path": folder}},
        )
        client.execute(cleanup_kc=True)
    return notebook


Result = TypeVar("Result")


def at_once(job: Callable[[Path], Result], paths: list[Path]) -> Iterator[tuple[Path, Result]]:
    """Results of a job on each notebook as they come, one kernel a core, large notebooks first."""
    order = sorted(paths, key=lambda path: -path.stat().st_size)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(job, path): path for path in order}
        try:
            for done in tqdm(
                as_completed(running), total=len(running), disable=not sys.stderr.isatty()
            ):
                yield running[done], done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def refresh(path: Path) -> bool:
    """Run one notebook from a fresh kernel and rewrite it; returns whether it changed."""
    before = path.read_text(encoding="utf-8")
    after = text(canonical(run(nbformat.reads(before, as_version=4), path.parent, timeout=300)))
    path.write_text(after, encoding="utf-8")
    return after != before


if __name__ == "__main__":
    if DATA.is_dir():
        os.environ.setdefault("PDPBOOK_DATA", str(DATA))
    chosen = [Path(p).resolve() for p in sys.argv[1:]] or sources()
    for notebook_path, changed in at_once(refresh, chosen):
        print(f"{notebook_path.relative_to(ROOT)}: {'changed' if changed else 'as committed'}")
