"""Notebooks as they ran, kept in `_build/executed` under their keys.

What `make book` has run `make test` compares, and what `make test` has run `make book` shows.
"""

import os
from pathlib import Path

import nbformat
from keys import ROOT, key
from nbformat import NotebookNode

FOLDER = ROOT / "_build" / "executed"


def place(path: Path) -> Path:
    """Return where a notebook is kept."""
    return FOLDER / path.relative_to(ROOT)


def kept(path: Path) -> NotebookNode | None:
    """Return a notebook as it ran under its present key, None if it has not."""
    try:
        notebook = nbformat.read(place(path), as_version=4)
    except (OSError, ValueError, nbformat.ValidationError):  # not there, or cut off
        return None
    return notebook if notebook.metadata.get("key") == key(path) else None


def keep(path: Path, notebook: NotebookNode, ran_under: str, seconds: float) -> None:
    """Keep a notebook that ran, whole or not at all, under the key that it had before."""
    notebook.metadata |= {"key": ran_under, "execution_seconds": seconds}
    there = place(path)
    there.parent.mkdir(parents=True, exist_ok=True)
    unfinished = there.with_suffix(".unfinished")
    nbformat.write(notebook, unfinished)
    os.replace(unfinished, there)
