"""Settings of every test run: one thread, druglib where it is at hand, steady hypothesis.

With PDPBOOK_SKIPS_ALLOWED set, a run with more skipped tests than that fails.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import hypothesis
import nbformat
import nbval.kernel
import nbval.plugin
import pytest
from jupyter_client.manager import KernelManager

from pdpbook.advice import SAID

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
ROOT = Path(__file__).resolve().parent
# kernels and processes that tests start find `lab`, too, which is not installed
PATHS = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
os.environ["PYTHONPATH"] = os.pathsep.join(PATHS)
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


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Pictures are not committed, so none are compared; nbval knows of PNG and JPEG."""
    if isinstance(collector, nbval.plugin.IPyNbFile):
        collector.skip_compare += ("image/svg+xml", "application/pdf")


@pytest.fixture(autouse=True)
def advice_anew() -> None:
    """Advice comes once a line of the caller; every test hears it as if for the first time."""
    SAID.clear()


SECONDS: dict[Path, list[float]] = {}  # what the cells of a notebook took that held


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """Keep what nbval ran where PDPBOOK_EXECUTED says: the build need not run it again."""
    report = yield
    folder = os.environ.get("PDPBOOK_EXECUTED")
    if folder and isinstance(item, nbval.plugin.IPyNbCell) and call.when == "call":
        taken = SECONDS.setdefault(item.path, [])
        if report.passed:
            taken.append(report.duration)
            item.cell.outputs = item.test_outputs
        notebook = item.parent.nb
        if len(taken) == sum(cell.cell_type == "code" for cell in notebook.cells):
            notebook.metadata["execution_seconds"] = sum(taken)
            there = Path(folder) / item.path.relative_to(ROOT)
            there.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(notebook, there)
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
