"""What commands of the Makefile do and say, in a folder with a space; programs are stand-ins."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# A stand-in writes down how it was called; a build makes the first page.
PROGRAM = """#!/bin/sh
echo "$(basename "$0") $*" >> calls
case "$*" in *{fails}*) exit 1;; esac
case "$*" in
  "-m venv"*) for last; do true; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python";;
  *tools/build.py*) mkdir -p _build/html; echo page >> _build/html/index.html;;
esac
"""


@pytest.fixture
def checkout(tmp_path):
    """A checkout, and a way to call make in it; `fails` is in the call of a program that fails."""
    folder = tmp_path / "my book"
    folder.mkdir()
    for name in ("Makefile", "requirements.txt", "pyproject.toml", "requirements-instructor.txt"):
        shutil.copy(ROOT / name, folder)
    (folder / "binder").mkdir()
    shutil.copy(ROOT / "binder" / "requirements.txt", folder / "binder")

    def program(path, fails):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PROGRAM.format(fails=fails or "nothing-at-all"), "utf-8")
        path.chmod(0o755)

    def make(*arguments, fails=None):
        program(tmp_path / "python", fails)
        for name in ("python", "ruff", "pip"):
            if (folder / ".venv" / "bin").is_dir():
                program(folder / ".venv" / "bin" / name, fails)
        (folder / "calls").write_text("", "utf-8")
        done = subprocess.run(
            ["make", f"PYTHON={tmp_path}/python", *arguments],
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        )
        calls = (folder / "calls").read_text("utf-8")
        return done.returncode, done.stdout, calls

    program(tmp_path / "python", None)
    return folder, make


@pytest.fixture
def installed(checkout):
    folder, make = checkout
    code, _, _ = make(".venv/.ready")
    assert code == 0
    return folder, make


def test_a_first_build_installs_runs_builds_and_says_what_to_open(checkout):
    _, make = checkout
    code, said, calls = make("book")
    assert code == 0
    assert "Installing the packages of requirements.txt into .venv" in said
    assert said.splitlines()[-1] == "Open _build/html/index.html, or run: make serve"
    steps = ("-m venv --clear .venv", "-r requirements.txt", "--editable .")
    steps += ("tools/execute.py", "tools/build.py", "tools/slides.py")
    places = [calls.index(step) for step in steps]
    assert places == sorted(places)


def test_build_test_build_leaves_the_first_page_where_it_was(installed):
    folder, make = installed
    page = folder / "_build" / "html" / "index.html"
    for command, pages in (("book", 1), ("test", 1), ("book", 2)):
        code, said, _ = make(command)
        assert code == 0, said
        assert len(page.read_text().splitlines()) == pages


def test_make_test_compares_what_ran_and_test_all_runs_everything(installed):
    _, make = installed
    for command, kept in (("test", True), ("test-all", False)):
        code, said, calls = make(command)
        assert code == 0, said
        [line] = [line for line in calls.splitlines() if "--nbval " in line]
        assert ("--kept" in line) is kept


@pytest.mark.parametrize("step", ["tools/execute.py", "tools/build.py", "tools/slides.py"])
def test_a_step_that_fails_ends_the_build(installed, step):
    _, make = installed
    code, said, calls = make("book", fails=step)
    assert code != 0
    assert "Open" not in said
    assert calls.splitlines()[-1].endswith(step)
    code, said, _ = make("book")
    assert code == 0


@pytest.mark.parametrize(
    ("environment", "lock"),
    [
        (".venv", "requirements.txt"),
        (".venv-instructor", "requirements-instructor.txt"),
        (".venv-binder", "binder/requirements.txt"),
    ],
)
def test_an_installation_that_fails_says_so_and_is_made_anew(checkout, environment, lock):
    folder, make = checkout
    code, said, _ = make(f"{environment}/.ready", fails="pip")
    assert code != 0
    assert f"pip could not get all packages of {lock}. Is there a network?" in said
    assert not (folder / environment / ".ready").exists()
    (folder / environment / "bin" / "left-over").touch()
    code, _, calls = make(f"{environment}/.ready")
    assert code == 0
    assert f"-m venv --clear {environment}" in calls
    code, _, calls = make(f"{environment}/.ready")
    assert (code, calls) == (0, "")


@pytest.mark.parametrize("environment", [".venv", ".venv-instructor", ".venv-binder"])
def test_an_old_python_is_refused_before_anything_is_made(checkout, environment):
    folder, make = checkout
    code, _, calls = make(f"{environment}/.ready", fails="sys.version_info")
    assert code != 0
    assert len(calls.splitlines()) == 1  # the question
    assert not (folder / environment).exists()


# --- the real programs ----------------------------------------------------------------------------


def test_the_question_about_python_is_one_that_python_answers():
    text = (ROOT / "Makefile").read_text("utf-8")
    question = text[text.index("'import sys; sys.exit(") + 1 :]
    question = question[: question.index("'\n")].replace("\\\n", "")
    assert subprocess.run([sys.executable, "-c", question]).returncode == 0
    later = question.replace("(3, 11)", "(33, 11)")
    done = subprocess.run([sys.executable, "-c", later], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "Python 3.11 or later is needed; try make PYTHON=python3.11\n"


def serve(folder, port):
    shutil.copy(ROOT / "tools" / "serve.py", folder / "serve.py")
    (folder / "tools").mkdir(exist_ok=True)
    shutil.move(folder / "serve.py", folder / "tools" / "serve.py")
    command = [sys.executable, folder / "tools" / "serve.py", str(port)]
    return subprocess.run(command, capture_output=True, text=True)


def test_serving_before_a_build_and_on_a_taken_port_is_one_sentence(tmp_path):
    assert serve(tmp_path, 8000).stderr == "There is no book yet: run make book first.\n"
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = serve(tmp_path, port).stderr
    assert said == f"Port {port}: Address already in use. Try another: make serve PORT={port + 1}\n"


def test_a_course_may_be_made_in_a_folder_with_a_space(installed):
    _, make = installed
    _, said, _ = make("--dry-run", "course", "FOLDER=../my course")
    assert '-m course create "../my course" --nbgrader' in said
