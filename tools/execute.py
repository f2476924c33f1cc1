"""Run the notebooks of the table of contents, one a core, into the cache that the build reads.

    python tools/execute.py

The build by itself runs one notebook after the other. What is in the cache is not run again. A
notebook that fails here is left to the build, which runs it once more and shows where it failed.
"""

from __future__ import annotations

import time
from pathlib import Path

import nbformat
import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from notebooks import ROOT, at_once, run

CACHE = ROOT / "_build" / ".jupyter_cache"


def pages() -> list[Path]:
    """The notebooks that the table of contents names."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names = [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]
    return [path for path in (ROOT / f"{name}.ipynb" for name in names) if path.is_file()]


def executed(path: Path) -> tuple[NotebookNode, float] | None:
    """A notebook with its outputs and the seconds that it took; nothing if it failed."""
    notebook, start = nbformat.read(path, as_version=4), time.perf_counter()
    try:
        return run(notebook, path.parent, _timeout()), time.perf_counter() - start
    except (CellExecutionError, CellTimeoutError, DeadKernelError):
        return None


def _timeout() -> int:
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return int(config["execute"]["timeout"])


def main() -> None:
    """Fill the cache."""
    cache = get_cache(CACHE)
    cache.change_cache_limit(1000)

    def missing(path: Path) -> bool:
        try:
            cache.match_cache_notebook(nbformat.read(path, as_version=4))
        except KeyError:
            return True
        return False

    todo = [path for path in pages() if missing(path)]
    for path, result in at_once(executed, todo):
        if result is None:
            print(f"{path.relative_to(ROOT)}: failed; the build will show where")
            continue
        notebook, seconds = result
        bundle = CacheBundleIn(notebook, str(path), data={"execution_seconds": seconds})
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


if __name__ == "__main__":
    main()
