"""The queue of submissions: limits are final, nothing outlives the command, no name is lost."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from nbformat import v4
from reading import ROOT, Refused

from course import rosters
from course.__main__ import main
from course.grading import ENDED, REST, grade
from course.results import write_results
from course.sealed import IMAGE

linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process gets orphans")
ONE_SIDED = "def privacy_profile(p, q, epsilon):\n    return np.maximum(p - q, 0).sum()"
EVENT = (
    "def worst_event(p, q, epsilon):\n    return np.asarray(p) > np.exp(epsilon) * np.asarray(q)"
)
DEAF = """\
import os, signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
def deaf(*given):
    while True:
        try:
            while True: time.sleep(1)
        except BaseException: pass
"""


def notebook(path, *cells):
    cells = [v4.new_code_cell(cell) for cell in ("import numpy as np", *cells)]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(v4.new_notebook(cells=cells), path)
    return path


def answers(path, *cells, seconds=1):
    table = grade(notebook(path, *cells), "foundations", seconds=seconds)
    return table[table.part != "by hand"].groupby("exercise")


def said(group, name):
    return group.get_group(name).message.iloc[0]


# --- limits --------------------------------------------------------------------------------------


def test_a_limit_is_final_and_two_end_the_notebook(tmp_path):
    """Functions before the two keep their marks; those after them say why they have none."""
    hang = "truth_probability = sample_l2_laplace = deaf"
    start = time.monotonic()
    found = answers(tmp_path / "x.ipynb", DEAF, hang, EVENT)
    took = time.monotonic() - start
    assert said(found, "truth_probability").count("no answer within 1 seconds") == 1
    assert said(found, "truth_probability").endswith(REST)
    assert said(found, "worst_event") == ENDED
    assert took < 60  # two seconds of limits; the rest is starts on a busy machine


def test_one_function_without_an_answer_costs_itself(tmp_path):
    found = answers(tmp_path / "x.ipynb", DEAF, "truth_probability = deaf", EVENT)
    assert found.get_group("worst_event").points.sum() == 4


@linux
@pytest.mark.parametrize("cell", ["while True: pass", f"{DEAF}\ndeaf()"])
def test_two_cells_without_an_answer_end_the_notebook(tmp_path, cell):
    start = time.monotonic()
    found = answers(tmp_path / "x.ipynb", EVENT, *[cell] * 9)
    assert time.monotonic() - start < 60
    if "deaf" in cell:  # its process was ended, and nobody starts it a third time
        assert found.get_group("worst_event").points.sum() == 0
        assert "there is no function worst_event" in said(found, "worst_event")
    else:
        assert found.get_group("worst_event").points.sum() == 4


# --- nothing is left -----------------------------------------------------------------------------

STAYS = """\
import os, time
PLACE = {!r}
if not os.fork():
    os.setsid()
    for _ in range(3000):  # not for ever, should the grader miss it
        with open(PLACE, "a") as file:
            file.write("x")
        time.sleep(0.01)
    os._exit(0)
"""


def still_written(place):
    before = place.stat().st_size
    time.sleep(0.5)
    return place.stat().st_size > before


@linux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("when", ["cell", "call"])
def test_no_process_survives_a_command_that_is_stopped(tmp_path, number, when):
    """A child of a session of its own that outlives even SIGKILL needs the space of `sealed`."""
    place, there = tmp_path / "written", tmp_path / "there"
    stays = STAYS.format(str(place)) if number != signal.SIGKILL else ""
    busy = f"while True:\n    open({str(place)!r}, 'a').write('x')\n    time.sleep(0.01)\n"
    mark = f"open({str(there)!r}, 'a').close()\n"  # from here on the command waits for this code
    inside = "".join(f"    {line}\n" for line in (mark + busy).splitlines())
    last = mark + busy if when == "cell" else f"def truth_probability(epsilon):\n{inside}"
    notebook(tmp_path / "in" / "ann.ipynb", stays, f"{DEAF}\n{last}", ONE_SIDED)
    assert main(["create", str(tmp_path / "c")]) == 0
    words = [sys.executable, "-m", "course", "grade", tmp_path / "c", "foundations-1"]
    process = subprocess.Popen(
        [*words, tmp_path / "in"],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
        # whoever starts the tests in the background hands on that SIGINT is ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    limit = time.monotonic() + 120
    while not (there.exists() and place.exists() and place.stat().st_size):
        assert time.monotonic() < limit
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(60)  # it was stopped, and did not come to its end
    limit = time.monotonic() + 30 * (number == signal.SIGKILL)  # the kernel ends one after another
    while (left := still_written(place)) and time.monotonic() < limit:
        pass
    assert not left


# --- no score, with a reason ---------------------------------------------------------------------


def half(path):
    """An upload that broke off."""
    whole = notebook(path, EVENT).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return path


def test_half_a_notebook_has_no_score_and_a_reason(tmp_path, capsys):
    half(tmp_path / "in" / "ann.ipynb")
    notebook(tmp_path / "in" / "bob.ipynb", "x = 1")  # another assignment
    notebook(tmp_path / "in" / "cem.ipynb", EVENT, ONE_SIDED)
    folder = tmp_path / "c"
    assert main(["create", str(folder)]) == 0
    capsys.readouterr()
    assert main(["grade", str(folder), "foundations-2", str(tmp_path / "in")]) == 0
    assert "ann: not graded: the file is not a Jupyter notebook" in capsys.readouterr().out
    marks = pd.read_csv(folder / "marks" / "foundations-2.csv", dtype=str, keep_default_na=False)
    marks = marks.set_index("student")
    assert marks.score[["ann", "bob"]].tolist() == ["", ""]
    assert marks.remarks["ann"] == "not graded: the file is not a Jupyter notebook"
    assert marks.remarks["bob"].startswith("not graded: it holds none of the functions")
    assert marks.score["cem"] != ""
    assert [path.name for path in sorted((folder / "feedback").iterdir())] == ["cem"]


def test_half_a_notebook_has_no_score_on_gradescope(tmp_path):
    half(tmp_path / "submission" / "x.ipynb")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "points.json").write_text("{}")
    write_results(tmp_path, "foundations")
    results = json.loads((tmp_path / "results" / "results.json").read_text())
    reason = "the file is not a Jupyter notebook"
    assert results == {"tests": [{"name": "not graded", "status": "failed", "output": reason}]}


# --- names ---------------------------------------------------------------------------------------

GRADEBOOK = "Student,ID,SIS Login ID,Section\n"


def feedback_names(tmp_path, *options):
    folder = tmp_path / "c"
    assert main(["create", str(folder)]) == 0
    words = ["grade", str(folder), "foundations-2", str(tmp_path / "in"), *options]
    assert main(words) == 0
    (tmp_path / "list.csv").write_text(GRADEBOOK + "Ann,1,ann,S\nBob,2,bob,S\n")
    roster = ["--roster", str(tmp_path / "list.csv")]
    assert main(["export", str(folder), "foundations-2", "--for", "canvas", *roster]) == 0
    with zipfile.ZipFile(folder / "marks" / "foundations-2-canvas-feedback.zip") as archive:
        return archive.namelist()


@pytest.mark.parametrize(
    ("files", "options", "names"),
    [
        (("ann.ipynb", "bob.ipynb"), (), ["ann_feedback.html", "bob_feedback.html"]),
        (("ann/x.ipynb", "bob/x.ipynb"), (), ["ann/feedback.html", "bob/feedback.html"]),
        (("w1/ann.ipynb", "w1/bob.ipynb"), ("--from", r"(?P<student>\w+)\.ipynb"),
         ["w1/ann_feedback.html", "w1/bob_feedback.html"]),
        (("ann.ipynb",), (), ["ann_feedback.html"]),
    ],
)  # fmt: skip
def test_each_page_of_feedback_has_a_name_of_its_own(tmp_path, files, options, names):
    """Fourteen pages were once called feedback.html, and thirteen of them lost."""
    for file in files:
        notebook(tmp_path / "in" / file, EVENT)
    assert feedback_names(tmp_path, *options) == names


def test_two_equal_names_on_a_roster_are_refused_by_name(tmp_path):
    place = tmp_path / "list.csv"
    place.write_text(GRADEBOOK + "Kim Lee,1,a,S\nKim Lee,2,b,S\nAnn,3,c,S\n")
    marks = pd.DataFrame({"student": ["Kim_Lee", "Ann"], "score": ["1", "2"], "max_score": "4"})
    with pytest.raises(Refused, match=r"^Kim_Lee stands twice in the list .*--by$"):
        rosters.filled(rosters.read(place), marks, "canvas", "x", "")
    known = marks.assign(student=["2", "3"])  # their numbers tell them apart
    table = rosters.filled(rosters.read(place), known, "canvas", "x", "")
    assert table.set_index("ID").x[["1", "2", "3"]].tolist() == ["", "1", "2"]


# --- without a network ---------------------------------------------------------------------------


def sealed(capsys, folder, submissions):
    assert main(["sealed", str(folder), "foundations-2", str(submissions)]) == 0
    lines = capsys.readouterr().out.splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def may_unshare():
    words = "unshare --map-root-user --net --pid --fork --kill-child --mount-proc true"
    return bool(shutil.which("unshare")) and not subprocess.run(words.split()).returncode


@pytest.mark.skipif(not may_unshare(), reason="no spaces without a network here")
def test_the_printed_command_grades_without_a_network(tmp_path, capsys):
    """A notebook that could reach a server of this machine cannot from there; marks are equal."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1).close()"
        notebook(tmp_path / "in here" / "ann.ipynb", f"{reach}\n{EVENT}")
        for name in ("open", "sealed"):
            assert main(["create", str(tmp_path / name), "--seed", "3"]) == 0
        assert (
            main(["grade", str(tmp_path / "open"), "foundations-2", str(tmp_path / "in here")]) == 0
        )
        capsys.readouterr()
        line, container = sealed(capsys, tmp_path / "sealed", tmp_path / "in here")
        done = subprocess.run(line, shell=True, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    tables = [
        pd.read_csv(tmp_path / name / "marks" / "foundations-2-details.csv").groupby("exercise")
        for name in ("open", "sealed")
    ]
    scores = [one.get_group("worst_event").points.sum() for one in tables]
    assert scores == [4, 0]  # the cell raised where there is no network
    assert "ConnectionRefusedError" in said(tables[1], "worst_event") or "unreachable" in said(
        tables[1], "worst_event"
    )
    assert ":/in.folder:ro" in container
    assert "--network none --read-only" in container


def test_what_the_container_runs_grades_in_a_plain_process(tmp_path, capsys):
    """The words after the image, with each mount read as the folder behind it, and no proxy."""
    notebook(tmp_path / "in here" / "ann.ipynb", EVENT)
    assert main(["create", str(tmp_path / "a course"), "--seed", "3"]) == 0
    capsys.readouterr()
    container = sealed(capsys, tmp_path / "a course", tmp_path / "in here")[-1]
    words = shlex.split(container)
    image = words.index(IMAGE)
    mounts = [words[k + 1].split(":") for k in range(image) if words[k] == "-v"]
    places = {inside: Path(outside) for outside, inside, *_ in mounts}
    assert all(place.exists() for place in places.values())
    writable = {inside for _, inside, *how in mounts if how != ["ro"]}
    assert writable == {"/course"}
    python, *asked = [str(places.get(word, word)) for word in words[image + 1 :]]
    assert python == "python"
    here = places[words[words.index("-w") + 1]]
    nowhere = {f"{kind}_proxy": "http://127.0.0.1:9" for kind in ("http", "https")}
    done = subprocess.run(
        [sys.executable, *asked], cwd=here, env=os.environ | nowhere, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    marks = pd.read_csv(places["/course"] / "marks" / "foundations-2-details.csv")
    assert marks[marks.exercise == "worst_event"].points.sum() == 4


def test_the_image_is_made_of_files_that_are_there():
    lines = (ROOT / "course" / "Dockerfile").read_text().splitlines()
    named = [word for line in lines for word in line.split() if word.startswith("/book/")]
    assert named
    assert all(Path(ROOT, word.removeprefix("/book/")).exists() for word in named)
