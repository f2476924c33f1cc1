"""The first run of the notebooks: what it keeps, and how it ends when one of them fails."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import execute
import kept
import nbformat
import notebooks
import pytest
from jupyter_cache import get_cache
from nbclient.exceptions import CellExecutionError
from nbformat import v4

ROOT = Path(__file__).resolve().parent.parent
STOPPED = """
import sys
sys.path.insert(0, {tools!r})
from pathlib import Path
import nbformat
import notebooks
notebooks.os.cpu_count = lambda: 1
async def job(path):
    await notebooks.run(nbformat.read(path, as_version=4), path.parent, 60)
book = Path({book!r})
paths = sorted(book.glob("*.ipynb"), key=lambda path: path.stem)
(book / "one.ipynb").write_text((book / "one.ipynb").read_text() + " " * 10_000)
notebooks.at_once(job, paths)
"""
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
    monkeypatch.setattr(execute, "_timeout", lambda: 60)
    monkeypatch.setattr(kept, "ROOT", tmp_path)
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "executed")
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    monkeypatch.setattr(notebooks.os, "cpu_count", lambda: 2)
    (tmp_path / "book").mkdir()

    def main(**cells):
        paths = [tmp_path / "book" / f"{name}.ipynb" for name in cells]
        for path, source in zip(paths, cells.values(), strict=True):
            nbformat.write(v4.new_notebook(cells=[v4.new_code_cell(source)]), path)
        monkeypatch.setattr(execute, "pages", lambda: paths)
        execute.main()

    return main


def shown(path):
    """What Jupyter Book will show of the one cell of a notebook, None if it would run it."""
    cache = get_cache(execute.CACHE)
    try:
        record = cache.match_cache_notebook(nbformat.read(path, as_version=4))
    except KeyError:
        return None
    [output] = cache.get_cache_bundle(record.pk).nb.cells[0].outputs or [v4.new_output("stream")]
    return output.text


def test_what_ran_is_kept_and_not_run_again(run, tmp_path, capsys):
    book = tmp_path / "book"
    cells = {name: f"open('{name}', 'a').write('once')\nprint(2)" for name in ("a", "b", "c")}
    run(**cells)
    said = capsys.readouterr().out
    assert "3 of 3 notebooks have to run" in said
    assert re.findall(r"^\[(\d)/3\] ([abc]), \d+ s$", said, re.M)[-1][0] == "3"
    run(**cells)
    assert "0 of 3 notebooks have to run" in capsys.readouterr().out
    for name in cells:
        assert (book / name).read_text() == "once"
        assert shown(book / f"{name}.ipynb") == "2\n"


def test_what_ran_under_a_new_key_is_shown_though_its_cells_are_the_same(
    run, monkeypatch, tmp_path
):
    number = tmp_path / "book" / "number"
    for module in (execute, kept):
        monkeypatch.setattr(module, "key", lambda path: number.read_text())
    cells = {"page": "print(open('number').read())"}
    for text in ("1", "1", "2", "1"):
        number.write_text(text)
        run(**cells)
        assert shown(tmp_path / "book" / "page.ipynb") == f"{text}\n"


def test_a_notebook_that_changes_while_it_runs_is_run_again(run, tmp_path):
    page = tmp_path / "book" / "page.ipynb"
    changes = "from pathlib import Path\npage = Path('page.ipynb')\ntext = page.read_text()\n"
    changes += "page.write_text(text.replace('print(1)', 'print(2)'))\nprint(1)"
    run(page=changes)
    assert shown(page) == "2\n"


@pytest.mark.parametrize("damage", ["", "{", '{"cells": []}', "\x00"])
def test_what_is_damaged_is_run_again(run, tmp_path, damage):
    run(page="print(1)")
    kept.place(tmp_path / "book" / "page.ipynb").write_text(damage)
    for file in execute.CACHE.rglob("global.db"):
        file.write_bytes(b"no data base")
    run(page="print(1)")
    assert shown(tmp_path / "book" / "page.ipynb") == "1\n"


def test_the_first_failure_ends_all_with_its_traceback(run, tmp_path):
    later = "open('later', 'w')"
    with pytest.raises(CellExecutionError, match="ZeroDivisionError") as failure:
        run(slow=SLOW, wrong=WAITS + "1 / 0", later=later)
    assert "1 / 0" in str(failure.value)
    assert failure.value.__notes__ == ["wrong failed; the others were stopped."]
    book = tmp_path / "book"
    with pytest.raises(ProcessLookupError):
        os.kill(int((book / "started").read_text()), 0)
    assert not (book / "ended").exists()
    assert not (book / "later").exists()
    assert not any(kept.kept(book / f"{name}.ipynb") for name in ("slow", "wrong", "later"))


def test_whoever_stops_it_hears_what_is_kept_and_that_nothing_failed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(STOPPED.format(tools=str(ROOT / "tools"), book=str(tmp_path)), "utf-8")
    for name, source in (("one", "1"), ("slow", SLOW)):
        cells = [v4.new_code_cell(source)]
        nbformat.write(v4.new_notebook(cells=cells), tmp_path / f"{name}.ipynb")
    running = subprocess.Popen(
        [sys.executable, program], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not (tmp_path / "started").exists():
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert re.fullmatch(r"\[1/2\] \S*one, \d+ s\n", out)
    assert err == "Stopped. 1 of 2 notebooks are done and kept.\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "started").read_text()), 0)


def test_make_test_compares_what_ran_already_and_runs_the_rest(tmp_path):
    """A small checkout, its book of two notebooks, and pytest as `make test` starts it."""
    files = ("conftest.py", "pyproject.toml", "requirements.txt", "tests/nbval.cfg")
    shutil.copytree(ROOT / "pdpbook", tmp_path / "pdpbook")
    for name in (*files, "tools/checkout.py", "tools/keys.py", "tools/kept.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "book").mkdir()
    source = "open('runs', 'a').write('x')\nprint(1)"
    cell = v4.new_code_cell(source, execution_count=1)
    cell.outputs = [v4.new_output("stream", text="1\n")]
    page = tmp_path / "book" / "page.ipynb"

    def test(*options):
        nbformat.write(v4.new_notebook(cells=[cell]), page)
        command = [sys.executable, "-m", "pytest", "-q", "--nbval", "--nbval-current-env", "book"]
        return subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True)

    def runs():
        return len((tmp_path / "book" / "runs").read_text())

    first = test("--kept")
    assert first.returncode == 0, first.stdout
    assert runs() == 1
    assert test("--kept").returncode == 0
    assert runs() == 1  # it ran under this key
    assert test().returncode == 0
    assert runs() == 2  # without the option it always runs
    cell.outputs = [v4.new_output("stream", text="2\n")]
    other = test("--kept")
    assert other.returncode == 1
    assert "assert reference_output == test_output failed" in other.stdout
    assert runs() == 2  # another committed output needs no run to be found wrong
    cell.source += "\n# another cell"
    assert test("--kept").returncode == 1
    assert runs() == 3
