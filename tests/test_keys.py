"""What the key of a notebook covers: on a small checkout, and on ours."""

import ast
import asyncio
import os
from pathlib import Path

import keys
import nbformat
import pytest
import trace_keys
from execute import pages
from nbformat import v4

ROOT = Path(__file__).resolve().parent.parent
FILES = {
    "requirements.txt": "numpy==2",
    "pdpbook/__init__.py": '"""The package."""\n__version__ = "1"',
    "pdpbook/_extras.py": "EXTRA = 1",
    "pdpbook/pages/figures.py": "from pdpbook import check\ndef use(): pass",
    "pdpbook/pages/layout.py": "def arrange(): pass",
    "pdpbook/pages/book.mplstyle": "figure.hooks: pdpbook.pages.layout:arrange",
    "pdpbook/check.py": "def count(x): return x",
    "pdpbook/gwa/__init__.py": "from pdpbook.gwa.dual import bound as bound\n"
    "from pdpbook.gwa.solver import weights",
    "pdpbook/gwa/dual.py": "from pdpbook import check\ndef bound(): return 1",
    "pdpbook/gwa/solver.py": "from typing import TYPE_CHECKING\n"
    "if TYPE_CHECKING:\n    from pdpbook.gwa.dual import bound\n"
    "def weights():\n    from pdpbook.gwa.late import helper\n    return helper()",
    "pdpbook/gwa/late.py": "def helper(): return 2",
    "pdpbook/pages/exercises/__init__.py": "from pdpbook.pages.exercises.properties import check",
    "pdpbook/pages/exercises/properties.py": "def check(): pass",
    "pdpbook/pages/exercises/pac.py": 'def law():\n    """It adds."""',
    "pdpbook/datasets/__init__.py": "from pdpbook.datasets.tables import load",
    "pdpbook/datasets/tables.py": "def load(): pass",
    "pdpbook/datasets/data/lenses.csv": "1",
    "lab/__init__.py": "",
    "lab/published.py": "def table(): pass",
    "lab/data/pac.csv": "1",
    "book/papers/results/sweep.csv": "1",
}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A small checkout, and a way to write one of its notebooks, by the lines of its cell."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.setattr(keys, "ROOT", tmp_path)

    def notebook(*lines, name="papers/page"):
        path = tmp_path / "book" / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(v4.new_notebook(cells=[v4.new_code_cell("\n".join(lines))]), path)
        return path

    forget()
    yield tmp_path, notebook
    forget()


def forget():
    for function in (
        keys.file_of,
        keys.tree_of,
        keys.passed_on,
        keys.imports_of,
        keys.content,
    ):
        function.cache_clear()


def modules(root, path):
    """The modules and tables behind a notebook, without the lock."""
    found = {os.path.relpath(file, root) for file in keys.behind(path)}
    return found - {"requirements.txt"}


CHECK, DUAL = "pdpbook/check.py", "pdpbook/gwa/dual.py"
SOLVER = {"pdpbook/gwa/solver.py", "pdpbook/gwa/late.py"}
GWA = {"pdpbook/gwa/__init__.py", DUAL, CHECK} | SOLVER
FIGURES = {
    "pdpbook/pages/figures.py",
    CHECK,
    "pdpbook/pages/book.mplstyle",
    "pdpbook/pages/layout.py",
}
DATA = {"pdpbook/datasets/tables.py", "pdpbook/datasets/data/lenses.csv"}


@pytest.mark.parametrize(
    ("lines", "behind"),
    [
        (["import numpy as np"], set()),
        (["from pdpbook.gwa import bound"], {DUAL, CHECK}),
        (["from pdpbook.gwa import (bound as it,", "  weights)"], {DUAL, CHECK} | SOLVER),
        (["from pdpbook.gwa.solver import weights"], SOLVER),
        (["from pdpbook import gwa", "gwa.bound()"], {DUAL, CHECK}),
        (["import pdpbook.gwa as g", "g.weights()"], SOLVER),
        (["from pdpbook import gwa", "print(gwa)"], GWA),
        (["import pdpbook.gwa", "pdpbook.gwa.bound()"], GWA),
        (["import pdpbook", "pdpbook.__version__"], {"pdpbook/__init__.py"}),
        (["def late():", "    from pdpbook.gwa import bound"], {DUAL, CHECK}),
        (["from pdpbook.pages import figures", "figures.use()"], FIGURES),
        (["from pdpbook import datasets", "datasets.load()"], DATA),
        (["%matplotlib inline", "from pdpbook.gwa import bound"], {DUAL, CHECK}),
        (
            ["from lab import published", "published.table()"],
            {"lab/published.py", "lab/data/pac.csv"},
        ),
        (['open("results/sweep.csv")'], {"book/papers/results/sweep.csv"}),
        (['name = "sweep"', 'open(f"results/{name}.csv")'], {"book/papers/results/sweep.csv"}),
    ],
)
def test_what_stands_behind_a_notebook(checkout, lines, behind):
    root, notebook = checkout
    assert modules(root, notebook(*lines)) == behind


def test_a_sheet_of_exercises_has_its_own_properties_behind_it(checkout):
    root, notebook = checkout
    line = "from pdpbook.pages.exercises import check"
    properties = {"pdpbook/pages/exercises/properties.py"}
    assert modules(root, notebook(line)) == properties
    sheet = notebook(line, name="exercises/pac")
    assert modules(root, sheet) == properties | {"pdpbook/pages/exercises/pac.py"}


def test_a_page_that_quotes_another_has_what_that_printed_behind_it(checkout):
    root, notebook = checkout
    other = notebook("print(1)", name="pac/noise")
    page = notebook('quoted("pac/noise")')
    assert modules(root, page) == {"book/pac/noise.ipynb"}
    before = keys.key(page)
    content = nbformat.read(other, as_version=4)
    content.cells.append(v4.new_markdown_cell("Prose."))
    nbformat.write(content, other)
    forget()
    assert keys.key(page) == before
    content.cells[0].outputs = [v4.new_output("stream", text="1")]
    nbformat.write(content, other)
    forget()
    assert keys.key(page) != before


@pytest.mark.parametrize(
    ("file", "text", "same"),
    [
        ("pdpbook/gwa/dual.py", "def bound(): return 2", False),
        (
            "pdpbook/gwa/dual.py",
            "# why\nfrom pdpbook import check\ndef bound():\n  return 1 # 1",
            True,
        ),
        (
            "pdpbook/gwa/dual.py",
            '"""It."""\nfrom pdpbook import check\ndef bound(): return 1',
            True,
        ),
        ("pdpbook/check.py", "def count(x):\n    '''Said.'''\n    return x", True),
        ("pdpbook/check.py", "def count(x): return -x", False),
        ("pdpbook/gwa/late.py", "def helper(): return 3", True),
        ("pdpbook/gwa/__init__.py", "from pdpbook.gwa.dual import bound", True),
        ("pdpbook/gwa/__init__.py", "from pdpbook.gwa.solver import weights as bound", False),
        ("pdpbook/gwa/__init__.py", "from pdpbook.gwa.dual import other as bound", False),
        ("requirements.txt", "numpy==3", False),
        ("pdpbook/pages/exercises/pac.py", "def law(): pass", True),
    ],
)
def test_the_key_changes_with_what_is_behind_and_with_nothing_else(checkout, file, text, same):
    root, notebook = checkout
    page = notebook("from pdpbook.gwa import bound")
    before = keys.key(page)
    (root / file).write_text(text, "utf-8")
    forget()
    assert (keys.key(page) == before) is same


def test_docstrings_that_a_sheet_prints_count(checkout):
    root, notebook = checkout
    sheet = notebook("from pdpbook.pages.exercises import check", name="exercises/pac")
    before = keys.key(sheet)
    (root / "pdpbook/pages/exercises/pac.py").write_text(
        'def law():\n    """It doubles."""', "utf-8"
    )
    forget()
    assert keys.key(sheet) != before


def test_cells_and_the_version_of_python_count(checkout, monkeypatch):
    _, notebook = checkout
    before = keys.key(notebook("x = 1"))
    assert keys.key(notebook("x = 1  # one")) != before
    assert keys.key(notebook("x = 1")) == before
    assert keys.key(notebook("x = = 1")) != before  # it will fail when it runs
    monkeypatch.setattr(keys.platform, "python_version", lambda: "4.0.0")
    assert keys.key(notebook("x = 1")) != before


def test_the_one_table_that_is_elsewhere_counts(checkout, monkeypatch):
    root, notebook = checkout
    (root / "lab/experiments").mkdir()
    (root / "lab/experiments/reviews.py").write_text("def load(): pass", "utf-8")
    page = notebook("from lab.experiments.reviews import load")
    monkeypatch.delenv("PDPBOOK_DATA", raising=False)
    without = keys.key(page)
    (root / "data").mkdir()
    (root / "data" / "druglib_train_numeric.csv").write_text("1")
    monkeypatch.setenv("PDPBOOK_DATA", str(root / "data"))
    assert keys.key(page) != without


# --- the book -----------------------------------------------------------------------------------


def test_a_constant_of_gwa_concerns_at_most_twelve_notebooks():
    file = ROOT / "pdpbook" / "gwa" / "interior.py"
    assert 1 <= sum(file in keys.behind(path) for path in pages()) <= 12


def test_every_file_that_keys_name_is_there():
    for name, patterns in keys.READS.items():
        assert (ROOT / name).is_file()
        assert all([*ROOT.glob(pattern)] for pattern in patterns)
    assert (ROOT / keys.DRUGLIB).is_file()
    assert all((ROOT / folder).is_dir() for folder in keys.PRINTED_DOCSTRINGS)


def test_stripped_docstrings_leave_the_rest():
    source = 'def f():\n    """Said."""\n    return "kept"'
    assert ast.unparse(keys.without_docstrings(ast.parse(source))) == "def f():\n    return 'kept'"


def test_a_trace_notices_what_a_key_leaves_out(tmp_path, monkeypatch):
    page = ROOT / "book" / "intro.ipynb"
    monkeypatch.setattr(
        trace_keys.nbformat,
        "read",
        lambda path, as_version: v4.new_notebook(
            cells=[v4.new_code_cell("from lab import published\npublished.table('pac')")]
        ),
    )
    monkeypatch.setattr(keys, "behind", lambda path: {ROOT / "lab" / "published.py"})
    found = asyncio.run(trace_keys.uncovered(page, tmp_path))
    assert {str(path.relative_to(ROOT)) for path in found} >= {
        "lab/data/pac.csv",
        "pdpbook/check.py",
    }
    assert ROOT / "lab" / "published.py" not in found
    assert not any("gwa" in path.parts for path in found)
