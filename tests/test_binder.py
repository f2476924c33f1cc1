"""What a reader gets who runs the book elsewhere: pins, imports, settings, and the last record.

The environment itself is built, and every notebook run in it, by `make binder-check`.
"""

import ast
import asyncio
import csv
import importlib.metadata
import json
import os
import re
import sys
import tomllib
from pathlib import Path

import functions
import nbformat
import pytest
from tornado.websocket import WebSocketClosedError

import binder

ROOT = Path(__file__).resolve().parent.parent
LINES = (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
PIN = re.compile(r"([\w.-]+)==(\S+)")
UNLOCKED = {"jupyterlab-myst"}  # neither builds, tests nor grades: no other list has it


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lines):
    return {normal(m[1]): m[2] for line in lines if (m := PIN.fullmatch(line))}


BINDER = pins(LINES)


def locked():
    """The pins of the two locks of the root."""
    texts = [
        (ROOT / f).read_text(encoding="utf-8")
        for f in ("requirements-instructor.txt", "requirements.txt")
    ]
    return {name: pin for text in texts for name, pin in pins(text.splitlines()).items()}


# --- the list -------------------------------------------------------------------------------------


def test_every_line_is_a_pin_or_a_comment():
    """A local reference (-r, -c, -e) would make Binder install anew after every commit."""
    assert [line for line in LINES if not (PIN.fullmatch(line) or line.startswith("#"))] == []


def test_versions_are_those_of_the_locks():
    known = locked()
    assert {name: known.get(name) for name in BINDER if name not in UNLOCKED} == {
        name: pin for name, pin in BINDER.items() if name not in UNLOCKED
    }


def test_what_the_package_needs_is_in_the_list():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    names = ("tables", "gwa", "accounting", "plots")
    ranges = [*project["dependencies"], "tqdm", *(one for name in names for one in extras[name])]
    needed = {normal(re.match(r"[\w.-]+", one)[0]) for one in ranges} - {"matplotlib-inline"}
    assert "matplotlib" in needed  # ipykernel brings the other one
    assert needed - set(BINDER) == set()
    minimum = project["requires-python"].removeprefix(">=")
    assert (ROOT / "binder" / "runtime.txt").read_text(encoding="utf-8") == f"python-{minimum}\n"


# --- the imports ----------------------------------------------------------------------------------


OWNERS = importlib.metadata.packages_distributions()


def imported(notebook):
    """The top-level modules that the cells of a notebook import."""
    found = set()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        for node in ast.walk(ast.parse(re.sub(r"^[%!].*$", "", cell.source, flags=re.M))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module.partition(".")[0])
    return found


def missing(notebook):
    """Imports that neither Python, nor this repository, nor a line of Binder's list provides."""
    return {
        module
        for module in imported(notebook)
        - set(sys.stdlib_module_names)
        - {"pdpbook", "lab", "course"}
        if not {normal(owner) for owner in OWNERS.get(module, [])} & set(BINDER)
    }


@pytest.mark.parametrize("path", binder.everything())
def test_what_a_notebook_imports_is_in_the_list(path):
    assert missing(nbformat.read(ROOT / path, as_version=4)) == set()


def test_an_import_that_binder_lacks_is_noticed():
    source = "%time\nimport numpy.linalg, nbclient\nfrom bs4 import BeautifulSoup\nimport absent"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    assert missing(notebook) == {"nbclient", "bs4", "absent"}


# --- the settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_scripts_can_be_run(name):
    path = ROOT / "binder" / name
    assert path.read_text(encoding="utf-8").startswith("#!/bin/bash\n")
    assert os.access(path, os.X_OK)


# --- the client -----------------------------------------------------------------------------------


class Channel:
    """A kernel that answers every request with the given messages, and with those of another."""

    def __init__(self, *messages, closed=False):
        self.messages, self.closed, self.waiting = messages, closed, []

    async def write_message(self, text):
        mine = {"msg_id": json.loads(text)["header"]["msg_id"]}
        for kind, content in self.messages:
            for parent in ({"msg_id": "of somebody else"}, {}, mine):
                said = content if parent is mine else NOISE.get(kind, content)
                message = {"parent_header": parent, "msg_type": kind, "content": said}
                self.waiting.append(json.dumps(message))
        self.waiting += [None] * self.closed

    async def read_message(self):
        return self.waiting.pop(0)


NOISE = {
    "stream": {"text": "noise"},
    "execute_reply": {"status": "error", "ename": "Noise", "evalue": "noise"},
    "status": {"execution_state": "idle"},
}
BUSY, IDLE = ("status", {"execution_state": "busy"}), ("status", {"execution_state": "idle"})
SAID = ("stream", {"name": "stdout", "text": "0.5"})
GOOD = ("execute_reply", {"status": "ok"})
BAD = ("execute_reply", {"status": "error", "ename": "ValueError", "evalue": "no"})


@pytest.mark.parametrize(
    ("messages", "answer"),
    [
        ([BUSY, SAID, GOOD, IDLE], ("0.5", "")),
        ([BUSY, GOOD, SAID, IDLE], ("0.5", "")),
        ([BUSY, IDLE, BAD], ("", "ValueError: no")),
    ],
)
def test_a_cell_ends_with_its_reply_and_an_idle_kernel(messages, answer):
    assert asyncio.run(binder.cell_run(Channel(*messages), "x")) == answer


def test_a_channel_that_closes_is_no_success():
    with pytest.raises(WebSocketClosedError):
        asyncio.run(binder.cell_run(Channel(BUSY, SAID, closed=True), "x"))


@pytest.mark.parametrize(
    ("name", "raised", "expected"),
    [
        ("foundations/coins", "", True),
        ("foundations/coins", "AssertionError: thm-x: 2 is not <= 1", False),
        ("exercises/pac", "", True),
        ("exercises/pac", "AssertionError: pac/f fails: - not written yet", False),
        ("exercises/release/pac", "AssertionError: pac/f fails: - not written yet", True),
        ("exercises/release/pac", "", False),
        ("exercises/release/pac", "ModuleNotFoundError: No module named 'pdpbook'", False),
    ],
)
def test_where_a_notebook_should_stop(name, raised, expected):
    assert binder.Run(name, 1, 1.0, raised).expected is expected


def test_byte_code_is_told_from_what_is_installed(tmp_path):
    (tmp_path / "a.py").write_bytes(b"x" * 3000)
    (tmp_path / "a.pyc").write_bytes(b"x" * 2000)
    (tmp_path / "link.py").symlink_to(tmp_path / "a.py")
    assert binder.megabytes(tmp_path, byte_code=False) == 0.003
    assert binder.megabytes(tmp_path, byte_code=True) == 0.005


# --- the record -----------------------------------------------------------------------------------


def record():
    return list(csv.DictReader(binder.RECORD.read_text(encoding="utf-8").splitlines()))


def test_the_record_is_of_these_versions():
    facts = {row["name"]: row["value"] for row in record() if row["kind"] == "environment"}
    assert pins(f"{name}=={value}" for name, value in facts.items() if normal(name) in BINDER) == (
        BINDER
    ), "run make binder-check"
    assert int(facts["megabytes installed"]) < binder.LIMIT


def test_the_record_has_every_notebook():
    found = {f"book/{row['name']}.ipynb" for row in record() if row["kind"] != "environment"}
    assert found == set(binder.everything()), "run make binder-check"


def test_the_record_becomes_a_section_of_the_page():
    runs = [
        binder.Run("foundations/coins", 20, 4.71, ""),
        binder.Run("exercises/release/pac", 3, 2.5, "AssertionError: not written yet"),
    ]
    facts = {row["name"]: row["value"] for row in record() if row["kind"] == "environment"}
    rows = [{"cells": "", "note": "", **row} for row in binder.rows(facts, runs)]
    lines = [",".join(str(row[c]) for c in binder.COLUMNS) for row in rows]
    text = functions.in_binder("\n".join([",".join(binder.COLUMNS), *lines]))
    assert "1 chapters and\nsolved exercises ran to their end, and 1 student's" in text
    assert "| `foundations/coins` | 20 | 4.7 |  |" in text
    assert "| `exercises/release/pac` | 3 | 2.5 | stops at its first stub |" in text
