"""Run the notebooks of the table of contents, one a core, for the build that follows.

    python tools/execute.py

A notebook that ran under its present key is not run again; `tools/keys.py` says what that is. The
first notebook that fails ends the run, with its traceback, and with it `make book`.
"""

import shutil
import sys
import time
from pathlib import Path

import nbformat
import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.cache.main import JupyterCacheBase
from kept import keep, kept
from keys import key
from nbclient.exceptions import CellExecutionError
from notebooks import ROOT, at_once, run
from reading import files

CACHE = ROOT / "_build" / ".jupyter_cache"  # what Jupyter Book reads
SHOWN = "shown"  # in the record of a notebook: the key under which it ran


def pages() -> list[Path]:
    """The notebooks that the table of contents names."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names = [toc["root"], *files(toc)]
    return [path for path in (ROOT / f"{name}.ipynb" for name in names) if path.is_file()]


def _timeout() -> int:
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return int(config["execute"]["timeout"])


async def execute(path: Path) -> None:
    """Run a notebook and keep it."""
    start, present = time.perf_counter(), key(path)
    notebook = await run(nbformat.read(path, as_version=4), path.parent, _timeout())
    keep(path, notebook, present, time.perf_counter() - start)


def _opened() -> JupyterCacheBase:
    """Return the cache that Jupyter Book reads; a damaged one is made anew."""
    try:
        cache = get_cache(CACHE)
        cache.list_cache_records()
    except Exception:
        shutil.rmtree(CACHE)
        cache = get_cache(CACHE)
    cache.change_cache_limit(1000)
    return cache


def show(paths: list[Path]) -> None:
    """Hand the notebooks, as they ran, to Jupyter Book."""
    cache = _opened()
    for path in paths:
        notebook = kept(path)
        assert notebook is not None
        ran = notebook.metadata.pop("key")
        seconds = notebook.metadata.pop("execution_seconds")  # the cache compares what is left
        try:
            if cache.match_cache_notebook(notebook).data[SHOWN] == ran:
                continue
        except KeyError:
            pass
        bundle = CacheBundleIn(notebook, str(path), data={"execution_seconds": seconds, SHOWN: ran})
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def main() -> None:
    """Run what has not run, and hand all to the build."""
    everything = pages()
    missing = [path for path in everything if kept(path) is None]
    print(f"{len(missing)} of {len(everything)} notebooks have to run", flush=True)
    while missing:
        at_once(execute, missing)
        missing = [path for path in missing if kept(path) is None]  # somebody changed it meanwhile
    show(everything)


if __name__ == "__main__":
    try:
        main()
    except CellExecutionError as error:
        sys.exit(
            "\n".join([str(error), *error.__notes__, "Mend it, and run the same command again."])
        )
