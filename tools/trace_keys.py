"""Hold what notebooks open and call against what their keys cover.

    python tools/trace_keys.py [book/foundations/coins.ipynb ...]

Every notebook runs with `tools/traced` on its path, which writes down the files that it and the
processes that it starts open and call. Each must be among those that `tools/keys.py` names.
"""

import os
import sys
import tempfile
from pathlib import Path

import keys
import nbformat
from execute import pages
from notebooks import ROOT, at_once, name_of, run

TIMEOUT = 1200  # seconds a cell: every call of Python takes longer here
BUILT = {"_build", "_lab", ".git", ".venv", ".venv-binder", ".venv-instructor", "__pycache__"}


def used(log: Path) -> set[Path]:
    """Return the files of ours that a log names."""
    found = {Path(line.partition(" ")[2]) for line in log.read_text("utf-8").splitlines()}
    data = os.environ.get("PDPBOOK_DATA")
    tables = {path for path in found if data and path.parent == Path(data).resolve()}
    inside = {path for path in found if path.is_relative_to(ROOT) and path.is_file()}
    return tables | {p for p in inside if not BUILT & set(p.relative_to(ROOT).parts)}


async def uncovered(path: Path, folder: Path) -> set[Path]:
    """Run a notebook and return what it used that its key does not cover."""
    log = folder / f"{name_of(path).replace('/', '-')}.log"
    added = {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tools" / "traced"), os.environ["PYTHONPATH"]]),
        "PDPBOOK_TRACED": str(ROOT),
        "PDPBOOK_TRACE": str(log),
    }
    notebook = nbformat.read(path, as_version=4)
    await run(notebook, path.parent, TIMEOUT, env=os.environ | added)
    return used(log) - keys.behind(path)


def main(names: list[str]) -> int:
    """Run, print what is not covered, and return how many notebooks that concerns."""
    wrong = []

    async def trace(path: Path) -> None:
        for file in sorted(await uncovered(path, Path(folder))):
            wrong.append(path)
            print(f"{name_of(path)} uses {os.path.relpath(file, ROOT)}, which its key leaves out")

    with tempfile.TemporaryDirectory() as folder:
        at_once(trace, [Path(name).resolve() for name in names] or pages())
    print(f"{len({*wrong})} notebooks use what their keys leave out")
    return len({*wrong})


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
