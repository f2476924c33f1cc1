"""The long runs: their one command, who may import them, and that no wheel has them."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

import nbformat
import pytest

from lab import __main__ as command
from lab.experiments import FOLDERS

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {
    "per_instance/smooth",
    "per_instance/accounts",
    "per_instance/ops_curve",
    "per_instance/guarantees",
    "personalized/accuracy_bounds",
    "personalized/centered_labels",
    "personalized/pdp_op_data",
    "personalized/sampling",
    "personalized/two_classes",
    "pac/membership_rates",
    "user_level/erm_bounds",
    "user_level/means_of_rows",
    "user_level/quantiles",
    "pac/printed",
    "papers/personalized",
    "papers/users",
    "papers/pac",
    "synthesis/at_scale",
    "synthesis/one_dataset",
    "synthesis/one_dataset_people",
    "synthesis/your_data_steps",
}


def imports_lab(source):
    """Whether a source imports `lab`, in whichever way."""
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.partition(".")[0] == "lab" for name in names):
            return True
    return False


def cells(path):
    """The code of a notebook."""
    found = [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    return re.sub(r"^[%!].*$", "", "\n".join(found), flags=re.M)


def test_only_the_appendix_and_pages_that_say_so_import_it():
    found = {
        path.relative_to(ROOT / "book").with_suffix("").as_posix()
        for path in sorted((ROOT / "book").rglob("*.ipynb"))
        if imports_lab(cells(path))
    }
    assert found == ALLOWED


@pytest.mark.parametrize("folder", ["pdpbook", "book/_ext"])
def test_neither_the_package_nor_the_site_imports_it(folder):
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob("*.py"))
    assert not any(map(imports_lab, sources))


@pytest.mark.parametrize(
    "source", ["import lab", "import numpy, lab.tables", "def f():\n    from lab import tables"]
)
def test_planted_imports_are_noticed(source):
    assert imports_lab(source)
    assert not imports_lab("import labels\nfrom pdpbook import labs\nlab = 1")


def test_no_wheel_has_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["packages"]["find"]["include"]
    assert any(fnmatch("pdpbook", pattern) for pattern in patterns)
    assert not any(fnmatch(name, pattern) for pattern in patterns for name in ("lab", "lab.tables"))


def test_every_table_has_its_name():
    assert set(command.RESULTS) == set(FOLDERS)
    assert not set(command.RESULTS) & set(command.OTHERS)
    for module, _ in command.OTHERS.values():
        assert callable(import_module(f"lab.{module}").main)


@pytest.mark.parametrize(("given", "code"), [([], 0), (["--help"], 0), (["gamma"], 2)])
def test_without_a_name_the_command_lists_them(given, code, capsys):
    assert command.main(given) == code
    said = capsys.readouterr().out
    for name in (*command.RESULTS, *command.OTHERS):
        assert f"\n  {name} " in said


@pytest.mark.parametrize("name", command.OTHERS)
def test_every_name_says_what_options_it_has(name, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: python -m lab {name}" in capsys.readouterr().out


def test_the_list_needs_nothing_but_python():
    """In a process of its own: one thread must be asked for before numpy is imported."""
    script = (
        "import sys; from lab.__main__ import main; main([]); print('numpy' in sys.modules)\n"
        "import os; print(os.environ['OPENBLAS_NUM_THREADS'], os.environ['OMP_NUM_THREADS'])"
    )
    outside = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    words = [sys.executable, "-c", script]
    run = subprocess.run(words, capture_output=True, text=True, check=True, env=outside, cwd=ROOT)
    assert run.stdout.splitlines()[-2:] == ["False", "1 1"]
