"""Refresh the notebooks: run them, and write them in the one form that is committed.

    python tools/notebooks.py [book/foundations/coins.ipynb ...]

Then `pdpbook/minimal.py` is written anew from their cells.

Committed form: executed from a fresh kernel, execution counts 1, 2, 3, ..., text outputs kept,
images stripped, no run times, cell ids that are words. With no argument, every notebook. The first
that fails stops all others.
"""

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
os.environ.setdefault("PYTHONHASHSEED", "0")

import minimal
import nbformat
from checkout import ROOT, SOURCE, come_first, refuse_other_in_kernel
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
KEPT = ("pdpbook",)  # what `tools/form.py` reads
PICTURE = re.compile("image/|application/pdf")
DATA = ROOT.parent / "shared" / "data"

come_first()  # kernels find `lab`, too, which is not installed


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
    kept = {k: notebook.metadata[k] for k in KEPT if k in notebook.metadata}
    notebook.metadata = NotebookNode(METADATA | kept)
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
            for kind in [k for k in output.get("data", {}) if PICTURE.match(k)]:
                del output.data[kind]
    return notebook


def text(notebook: NotebookNode) -> str:
    """The bytes that are committed."""
    return nbformat.writes(notebook, indent=1, ensure_ascii=False) + "\n"


class Client(NotebookClient):
    """Leaves Ctrl-C to `at_once`, and the end of the kernel to `run`."""

    @asynccontextmanager
    async def async_setup_kernel(self, **settings: Any) -> AsyncIterator[None]:
        await self.async_start_new_kernel(**settings)
        await self.async_start_new_kernel_client()
        asked = {"silent": True, "user_expressions": SOURCE, "reply": True, "timeout": 60}
        refuse_other_in_kernel(await self.kc.execute("", **asked))
        yield


async def run(
    notebook: NotebookNode, folder: Path, timeout: int, env: Mapping[str, str] | None = None
) -> NotebookNode:
    """Run a notebook in place in a fresh kernel, whose working directory is `folder`."""
    with tempfile.TemporaryDirectory(prefix="kernel-") as there:
        # through files: two kernels that start at once cannot pick the same port
        manager = AsyncKernelManager(
            kernel_name="python3", transport="ipc", connection_file=f"{there}/kernel.json"
        )
        client = Client(
            notebook,
            km=manager,
            timeout=timeout,
            coalesce_streams=True,
            record_timing=False,  # would be metadata, which the cache compares
            resources={"metadata": {"path": folder}},
        )
        finished = False
        try:
            await client.async_execute(env=env or os.environ)
            finished = True
        finally:
            if manager.has_kernel:  # only what ran to its end is asked, and may tidy up
                await manager.shutdown_kernel(now=not finished)
            if client.kc is not None:
                client.kc.stop_channels()
    return notebook


def at_once(job: Callable[[Path], Awaitable[None]], paths: list[Path]) -> None:
    """Do a job on each notebook, one kernel a core, large notebooks first; one failure ends all."""
    waiting = iter(sorted(paths, key=lambda path: -path.stat().st_size))
    done = 0

    async def core() -> None:
        nonlocal done
        for path in waiting:
            start = time.perf_counter()
            try:
                await job(path)
            except Exception as error:
                task = asyncio.current_task()
                if task and task.cancelling():  # its kernel was ended, it did not fail
                    raise asyncio.CancelledError from None
                error.add_note(f"{name_of(path)} failed; the others were stopped.")
                raise
            done += 1
            seconds = time.perf_counter() - start
            print(f"[{done}/{len(paths)}] {name_of(path)}, {seconds:.0f} s", flush=True)

    async def together() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(os.cpu_count() or 1):
                group.create_task(core())

    try:
        asyncio.run(together())
    except KeyboardInterrupt:
        sys.exit(f"Stopped. {done} of {len(paths)} notebooks are done and kept.")
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


def name_of(path: Path) -> str:
    """Return the name of a notebook as the table of contents has it: foundations/coins."""
    return os.path.relpath(path, ROOT / "book").removesuffix(".ipynb")


async def refresh(path: Path) -> None:
    """Run one notebook from a fresh kernel, rewrite it, and say whether it changed."""
    before = path.read_text(encoding="utf-8")
    notebook = await run(nbformat.reads(before, as_version=4), path.parent, timeout=300)
    after = text(canonical(notebook))
    path.write_text(after, encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: {'as committed' if after == before else 'changed'}")


if __name__ == "__main__":
    if DATA.is_dir():
        os.environ.setdefault("PDPBOOK_DATA", str(DATA))
    at_once(refresh, [Path(p).resolve() for p in sys.argv[1:]] or sources())
    minimal.write()
