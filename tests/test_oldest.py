"""The lowest versions of the libraries, what is tried with them, and what is tried on Windows."""

import sys
import tomllib
from pathlib import Path

import oldest
import pytest
import smoke
from packaging.requirements import Requirement

from pdpbook.guarantees import BudgetAccount

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_lowest_version_of_each_library_is_allowed_and_none_below_it():
    ranges = [*PROJECT["dependencies"]]
    for extra in oldest.EXTRAS:
        ranges += PROJECT["optional-dependencies"][extra]
    for one, pinned in zip(map(Requirement, ranges), oldest.versions(PROJECT), strict=True):
        name, low = pinned.split("==")
        assert name == one.name
        assert low in one.specifier
        major, _, minor = low.rpartition(".")
        assert f"{major}.{int(minor) - 1}" not in one.specifier


def test_everything_that_readers_install_is_tried():
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert Requirement(everything).extras == set(oldest.EXTRAS)


@pytest.mark.parametrize("one", ["numpy", "numpy<3", "numpy==2.0", "numpy>2.0", "numpy>=2,!=2.1"])
def test_a_range_without_a_lower_end_is_refused(one):
    with pytest.raises(ValueError, match="must read name>=lowest"):
        oldest.lower_end(one)


def test_package_tests_are_tried_and_those_of_tools_are_not():
    found = oldest.package_tests()
    assert len(found) > 60
    for name in ("personalized", "account_files", "record", "estimators", "names"):
        assert f"tests/test_{name}.py" in found
    for name in ("oldest", "orientation", "lab_tables", "course", "publication"):
        assert f"tests/test_{name}.py" not in found


def test_a_test_that_needs_the_book_by_a_helper_is_left_out(tmp_path):
    files = {
        "test_plain": "import numpy",
        "test_tool": "def test_one():\n    from release import notes",
        "test_helped": "import helper",
        "helper": "from course import kit",
        "test_lab_one": "import numpy",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    assert oldest.package_tests(tmp_path) == ["tests/test_plain.py"]


# --- what runs on Windows ------------------------------------------------------------------------


def test_the_package_is_imported_fitted_and_charged(capsys):
    assert smoke.main() == 0
    assert capsys.readouterr().out.endswith("which was kept in a file\n")


def test_where_the_system_has_no_locks_an_account_is_not_saved(monkeypatch):
    account = smoke.fitted_and_charged()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    assert smoke.kept_in_a_file(account).startswith("refused in a file")
    monkeypatch.setattr(BudgetAccount, "save", lambda self, path: None)
    with pytest.raises(smoke.Failed, match="saved on a system without locks"):
        smoke.kept_in_a_file(account)


def test_an_account_that_counts_nothing_is_noticed(monkeypatch):
    monkeypatch.setattr(BudgetAccount, "spend", lambda self, promise, **_: None)
    with pytest.raises(smoke.Failed, match="left 1"):
        smoke.fitted_and_charged()
