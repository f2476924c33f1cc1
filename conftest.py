"""Settings of every test run: one thread, original data where they are at hand, steady hypothesis.

A notebook that needs original data which cannot be loaded is skipped by name. With
PDPBOOK_SKIPS_ALLOWED set, a run with more skipped tests than that fails.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import tempfile
from pathlib import Path

import hypothesis
import nbval.kernel
import pytest
from jupyter_client.manager import KernelManager

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
os.environ.pop("PDPBOOK_STAND_IN", None)
SHARED = Path(__file__).resolve().parent.parent / "shared"
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


@functools.cache
def missing_data(notebook: Path) -> tuple[str, ...]:
    """Original data sets that a notebook names in its metadata and that cannot be loaded."""
    from pdpbook import datasets

    def at_hand(name: str) -> bool:
        try:
            datasets.load(name)
        except FileNotFoundError:
            return False
        return True

    metadata = json.loads(notebook.read_text(encoding="utf-8"))["metadata"]
    names = metadata.get("pdpbook", {}).get("data", [])
    return tuple(name for name in names if not at_hand(name))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.suffix == ".ipynb" and (missing := missing_data(item.path)):
            reason = f"{item.path.name} needs original data not at hand: {', '.join(missing)}"
            item.add_marker(pytest.mark.skip(reason=reason))


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
