"""Settings of every test run: one thread, druglib where it is at hand, steady hypothesis.

With PDPBOOK_SKIPS_ALLOWED set, a run with more skipped tests than that fails.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import hypothesis
import nbformat
import nbval.kernel
import nbval.plugin
import pytest
from checkout import ROOT, SOURCE, come_first, refuse_other_in_kernel
from jupyter_client.manager import KernelManager
from kept import keep, kept
from keys import key

from pdpbook.advice import SAID

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
come_first()  # kernels and processes that tests start find `lab`, too, which is not installed
SHARED = ROOT.parent / "shared"
if (SHARED / "data").is_dir():
    os.environ.setdefault("PDPBOOK_DATA", str(SHARED / "data"))

hypothesis.settings.register_profile("book", derandomize=True, deadline=None, max_examples=60)
hypothesis.settings.load_profile("book")


def kernel_without_ports(**settings) -> KernelManager:
    """A kernel that talks through files: two that start at once cannot pick the same TCP port."""
    folder = tempfile.mkdtemp(prefix="kernel-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return KernelManager(transport="ipc", connection_file=f"{folder}/kernel.json", **settings)


nbval.kernel.KernelManager = kernel_without_ports


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kept",
        action="store_true",
        help="compare notebooks that ran under their present key as they ran, without running them",
    )


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Pictures are not committed, so none are compared; nbval knows of PNG and JPEG."""
    if isinstance(collector, nbval.plugin.IPyNbFile):
        collector.skip_compare += ("image/svg+xml", "application/pdf")
        collector.setup = partial(set_up, collector, collector.setup)


class KeptKernel:
    """Plays back what a notebook printed when it ran, as messages of a kernel to nbval."""

    def __init__(self, notebook: nbformat.NotebookNode) -> None:
        self._cells = (cell for cell in notebook.cells if cell.cell_type == "code")
        self._messages: Iterator[tuple[str, dict]] = iter(())

    def is_alive(self) -> bool:
        return True

    def stop(self) -> None:
        """There is no process to end."""

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> str:
        cell = next(cell for cell in self._cells if cell.source == source)
        printed = [(output.output_type, output) for output in cell.outputs]
        self._messages = iter([*printed, ("status", {"execution_state": "idle"})])
        return "kept"

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        """The reply is there."""

    def get_message(self, stream: str, timeout: float | None = None) -> dict:
        kind, content = next(self._messages)
        return {"msg_type": kind, "content": content, "parent_header": {"msg_id": "kept"}}


def set_up(collector: nbval.plugin.IPyNbFile, start_kernel: Callable[[], None]) -> None:
    """Start a kernel, or play back a notebook that ran under its present key."""
    collector.key = key(collector.path)
    notebook = kept(collector.path) if collector.config.option.kept else None
    if notebook is None:
        start_kernel()
        asked = {"silent": True, "user_expressions": SOURCE, "reply": True, "timeout": 60}
        refuse_other_in_kernel(collector.kernel.kc.execute("", **asked))
    else:
        collector.kernel = KeptKernel(notebook)
        collector.setup_sanitize_files()


@pytest.fixture(autouse=True)
def advice_anew() -> None:
    """Advice comes once a line of the caller; every test hears it as if for the first time."""
    SAID.clear()


SECONDS: dict[Path, list[float]] = {}  # what the cells of a notebook took that held


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """Keep a notebook of which every cell held: `make book` need not run it again."""
    report = yield
    if isinstance(item, nbval.plugin.IPyNbCell) and call.when == "call":
        ran = not isinstance(item.parent.kernel, KeptKernel)
        taken = SECONDS.setdefault(item.path, [])
        if report.passed and ran:
            taken.append(report.duration)
            item.cell.outputs = item.test_outputs
        notebook = item.parent.nb
        if len(taken) == sum(cell.cell_type == "code" for cell in notebook.cells):
            keep(item.path, notebook, item.parent.key, sum(taken))
    return report


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Student notebooks are made from the solved ones and do not run as they are."""
    return True if "release" in collection_path.parts else None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    allowed = os.environ.get("PDPBOOK_SKIPS_ALLOWED")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if allowed is None or reporter is None or os.environ.get("PYTEST_XDIST_WORKER"):
        return
    skipped = len(reporter.stats.get("skipped", []))
    if skipped > int(allowed):
        reporter.write_line(f"{skipped} tests skipped, {allowed} allowed", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
