"""The first run of the notebooks: what it keeps, and how it ends when one of them fails."""

import os

import execute
import nbformat
import notebooks
import pytest
from jupyter_cache import get_cache
from nbclient.exceptions import CellExecutionError
from nbformat import v4

WAITS = """
import time
from pathlib import Path
while not Path("started").exists():
    time.sleep(0.01)
"""
SLOW = """
import os, time
from pathlib import Path
Path("next").write_text(str(os.getpid()))
Path("next").rename("started")
time.sleep(60)
Path("ended").touch()
"""


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run notebooks, each a name and the source of its one cell, on two cores."""
    monkeypatch.setattr(execute, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(execute, "ROOT", tmp_path)
    monkeypatch.setattr(execute, "_timeout", lambda: 60)
    monkeypatch.setattr(execute, "EXECUTED", tmp_path / "executed")
    monkeypatch.setattr(notebooks.os, "cpu_count", lambda: 2)

    def main(**cells):
        paths = [tmp_path / f"{name}.ipynb" for name in cells]
        for path, source in zip(paths, cells.values(), strict=True):
            nbformat.write(v4.new_notebook(cells=[v4.new_code_cell(source)]), path)
        monkeypatch.setattr(execute, "pages", lambda: paths)
        execute.main()

    return main


def cached(path):
    try:
        return get_cache(execute.CACHE).match_cache_notebook(nbformat.read(path, as_version=4))
    except KeyError:
        return None


def test_what_ran_is_kept_and_not_run_again(run, tmp_path):
    cells = {name: f"open('{name}', 'a').write('once')" for name in ("one", "two", "three")}
    run(**cells)
    run(**cells)
    for name in cells:
        assert (tmp_path / name).read_text() == "once"
        assert cached(tmp_path / f"{name}.ipynb").data["execution_seconds"] > 0


def test_what_a_test_has_run_is_not_run_again_unless_it_changed(run, tmp_path):
    (tmp_path / "executed").mkdir()
    for name, source in (("same", "1 / 0"), ("changed", "2 / 0")):
        cell = v4.new_code_cell(source, outputs=[v4.new_output("stream", text="seen")])
        notebook = v4.new_notebook(cells=[cell], metadata={"execution_seconds": 7.0})
        nbformat.write(notebook, tmp_path / "executed" / f"{name}.ipynb")
    run(same="1 / 0", changed="print('anew')")
    for name, shown in (("same", "seen"), ("changed", "anew\n")):
        record = cached(tmp_path / f"{name}.ipynb")
        kept = get_cache(execute.CACHE).get_cache_bundle(record.pk).nb
        assert kept.cells[0].outputs[0].text == shown
        assert (record.data["execution_seconds"] == 7.0) is (name == "same")


def test_the_first_failure_ends_all_with_its_traceback(run, tmp_path):
    later = "open('later', 'w')"
    with pytest.raises(CellExecutionError, match="ZeroDivisionError") as failure:
        run(slow=SLOW, wrong=WAITS + "1 / 0", later=later)
    assert "1 / 0" in str(failure.value)
    wrong = tmp_path / "wrong.ipynb"
    assert failure.value.__notes__ == [f"{wrong} failed; the others were stopped."]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "started").read_text()), 0)
    assert not (tmp_path / "ended").exists()
    assert not (tmp_path / "later").exists()
    assert [cached(tmp_path / f"{name}.ipynb") for name in ("slow", "wrong", "later")] == [None] * 3
