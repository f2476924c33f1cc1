"""The page from statement to function to test: what it lists, and what it does not."""

import functions
import pytest
from reading import Box, Page

from pdpbook import noise
from pdpbook.personalized import PDPRidge


def page(**said):
    """A chapter that states one theorem, with a summary."""
    boxes = {"thm-x": Box("prf:theorem", "X", "thm-x", 0)}
    return {"p/c": Page("p/c", "Title", boxes=boxes, functions=said)}


def test_labels_are_read_off_docstrings():
    assert "thm-l2-laplace-profile" in functions.named(noise.l2_laplace_profile)
    assert "thm-pdp-op" in functions.named(PDPRidge)
    assert "l2_laplace_profile" in functions.doers({})["thm-l2-laplace-profile"]


def test_the_summary_of_a_chapter_names_functions_and_nothing_else():
    said = "`ridge.leave_one_out`, `row_norm=`, `a_scratch_function`; or PDPRidge in prose"
    assert functions.doers(page(**{"thm-x": said}))["thm-x"] == ["leave_one_out"]


def test_modules_about_labels_are_left_out():
    assert "check" not in functions.public()
    assert "check" not in functions.doers({})["thm-pdp-op"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "test_a.py").write_text("from p import f\nassert f(1) == m.f(2)\n")
    (tmp_path / "test_b.py").write_text("# f f f f\nassert f('f f f f') == g(1)\n")
    return tmp_path


@pytest.mark.parametrize(("name", "file"), [("f", "test_a.py"), ("g", "test_b.py"), ("h", "")])
def test_the_home_of_a_function_is_the_file_that_uses_it_most(folder, name, file):
    assert functions.home(name, folder) == file


def test_the_page_lists_statement_function_and_test(monkeypatch):
    row = {"label": "thm-x", "directive": "theorem", "statement": "a_b"}
    later = row | {"label": "thm-later"}
    monkeypatch.setattr(functions, "statements", lambda: [row, later])
    text = functions.functions(page(**{"thm-x": "`leave_one_out`"}))
    link = "{py:obj}`leave_one_out <pdpbook.ridge.leave_one_out>`"
    assert f"| {{prf:ref}}`thm-x`: a\\_b | {link} | `test_ridge.py` |" in text
    assert "1 of the 1 statements" in text
    assert "thm-later" not in text


def test_every_library_of_the_chapters_has_its_version():
    text = functions.runs({})
    assert "{nb-exec-table}" in text
    for library in ("numpy", "dp-accounting", "sphinx-design"):
        assert f"| `{library}` | " in text


def test_every_module_has_its_page_in_the_contents():
    toc = (functions.ROOT / "_toc.yml").read_text(encoding="utf-8")
    for name in functions.modules():
        assert f"- file: book/back/api/{name.removeprefix('pdpbook.')}\n" in toc
