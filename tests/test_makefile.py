"""What `make book` keeps of the last build, and what it makes anew. The programs are stand-ins."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = (
    "pdpbook/noise.py",
    "lab/experiments/long.py",
    "lab/benchmarks/races.py",
    "book/_ext/look.py",
    "book/_static/custom.css",
    "book/_extra/robots.txt",
    "book/page.md",
    "requirements.txt",
    "pyproject.toml",
    "_config.yml",
    ".venv/.ready",  # the youngest: nothing is installed
)


@pytest.fixture
def book(tmp_path):
    """A checkout of which every program of the environment does nothing."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("first", "utf-8")
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / ".venv/bin").mkdir()
    for program in ("python", "jupyter-book", "pip"):
        (tmp_path / ".venv/bin" / program).symlink_to("/bin/true")

    def build(data=tmp_path / "no-data"):
        settings = {**os.environ, "PDPBOOK_DATA": str(data)}
        subprocess.run(["make", "-s", "book"], cwd=tmp_path, env=settings, check=True)

    def kept():
        """Which of the executed notebooks and the pages outlived a build, of those made by hand."""
        marks = {part: tmp_path / "_build" / part / "mark" for part in (".jupyter_cache", "html")}
        left = {part for part, mark in marks.items() if mark.exists()}
        for mark in marks.values():
            mark.parent.mkdir(exist_ok=True)
            mark.touch()
        return left

    (tmp_path / "no-data").mkdir()
    build()
    kept()
    return tmp_path, build, kept


@pytest.mark.parametrize(
    ("changed", "left"),
    [
        (None, {".jupyter_cache", "html"}),
        ("book/page.md", {".jupyter_cache", "html"}),  # sphinx and the cache see to pages
        ("book/_static/custom.css", {".jupyter_cache"}),
        ("book/_ext/look.py", {".jupyter_cache"}),
        ("book/_extra/robots.txt", {".jupyter_cache"}),
        ("_config.yml", {".jupyter_cache"}),
        ("pdpbook/noise.py", set()),
        ("lab/experiments/long.py", set()),
        ("lab/benchmarks/races.py", {".jupyter_cache", "html"}),  # no page reads them
    ],
)
def test_a_build_keeps_what_a_change_leaves_true(book, changed, left):
    folder, build, kept = book
    if changed:
        (folder / changed).write_text("second", "utf-8")
    build()
    assert kept() == left
    build()
    assert kept() == {".jupyter_cache", "html"}


def test_other_data_and_other_versions_run_everything_anew(book):
    folder, build, kept = book
    (folder / "data").mkdir()
    (folder / "data" / "medical_cost.csv").touch()
    build(folder / "data")
    assert kept() == set()
    (folder / "requirements.txt").write_text("second", "utf-8")
    (folder / ".venv/.ready").touch()
    build(folder / "data")
    assert kept() == set()


def test_a_notebook_that_fails_ends_make_book_before_the_build(book):
    folder, build, _ = book
    execute, sphinx = folder / ".venv/bin/python", folder / ".venv/bin/jupyter-book"
    for program in (execute, sphinx):
        program.unlink()
    sphinx.write_text("#!/bin/sh\ntouch built\n", "utf-8")
    sphinx.chmod(0o755)
    execute.symlink_to("/bin/false")
    with pytest.raises(subprocess.CalledProcessError):
        build()
    assert not (folder / "built").exists()
    execute.unlink()
    execute.symlink_to("/bin/true")
    build()
    assert (folder / "built").exists()
