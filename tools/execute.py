"""Run the notebooks of the table of contents, one a core, into the cache that the build reads.

    python tools/execute.py

The build by itself runs one notebook after the other. What is in the cache is not run again, nor
what `make test` has run already, in `_build/executed`. The first notebook that fails ends the run,
with its traceback, and with it `make book`.
"""

import os
import time
from pathlib import Path

import nbformat
import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbformat import NotebookNode
from notebooks import ROOT, at_once, run
from reading import files

CACHE = ROOT / "_build" / ".jupyter_cache"
EXECUTED = ROOT / "_build" / "executed"  # by nbval; see conftest.py


def pages() -> list[Path]:
    """The notebooks that the table of contents names."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names = [toc["root"], *files(toc)]
    return [path for path in (ROOT / f"{name}.ipynb" for name in names) if path.is_file()]


def _timeout() -> int:
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return int(config["execute"]["timeout"])


def _by_test(path: Path) -> NotebookNode | None:
    """The notebook as a test has run it, if its cells are still the same."""
    there = EXECUTED / os.path.relpath(path, ROOT)
    if not there.is_file():
        return None
    done, now = (nbformat.read(each, as_version=4) for each in (there, path))
    same = [c.source for c in done.cells] == [c.source for c in now.cells]
    return done if same else None


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

    async def execute(path: Path) -> None:
        start, notebook = time.perf_counter(), _by_test(path)
        if notebook is None:
            notebook = await run(nbformat.read(path, as_version=4), path.parent, _timeout())
            notebook.metadata["execution_seconds"] = time.perf_counter() - start
        seconds = notebook.metadata.pop("execution_seconds")  # the cache compares the others
        bundle = CacheBundleIn(notebook, str(path), data={"execution_seconds": seconds})
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)

    at_once(execute, [path for path in pages() if missing(path)])


if __name__ == "__main__":
    main()
