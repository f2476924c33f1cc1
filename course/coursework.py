"""A course folder: where things lie in it, what was done, and nbgrader at work in it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, cast

import pandas as pd
from tqdm import tqdm

from course.checkout import ROOT, Refused

INSTRUCTOR = ROOT / ".venv-instructor" / "bin"


class NbGrader:
    """nbgrader in a process of its own, which is started anew after it hung or died."""

    def __init__(self, folder: Path, minutes: float = 10.0):
        if not 0 < minutes < math.inf:
            raise Refused(f"minutes must be finite and above 0; got {minutes}")
        self._folder, self._minutes = folder, minutes
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()

    def __enter__(self) -> NbGrader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def ask(self, command: str, assignment: str, student: str = "") -> dict[str, Any]:
        """What nbgrader answers; `problem` is why it failed in one line, empty if it did not."""
        process = self._process or self._start()
        task = {"command": command, "assignment": assignment, "student": student}
        with contextlib.suppress(OSError):  # of a process that died the answer is the end
            print(json.dumps(task), file=process.stdin, flush=True)
        try:
            line = self._answers.get(timeout=60 * self._minutes)
        except queue.Empty:
            self._stop()
            return {"problem": f"nbgrader had not finished after {self._minutes:g} minutes"}
        if not line:
            self._stop()
            return {"problem": f"nbgrader ended without an answer, exit code {process.returncode}"}
        answer: dict[str, Any] = json.loads(line)
        return {**answer, "problem": _reason(answer["problem"])}

    def _start(self) -> subprocess.Popen[str]:
        if not (INSTRUCTOR / "nbgrader").is_file():
            raise Refused("nbgrader is not here; run `make instructor` first")
        path = f"{INSTRUCTOR}{os.pathsep}{os.environ['PATH']}"  # it calls its neighbors by name
        reports = self._folder / "reports"
        reports.mkdir(exist_ok=True)
        with (reports / "nbgrader.log").open("a") as log:
            self._process = subprocess.Popen(
                [INSTRUCTOR / "python", "-m", "course.nbgrading"],
                cwd=self._folder,
                env={**os.environ, "PATH": path},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
            )
        self._answers = queue.Queue()
        lines = self._process.stdout
        threading.Thread(target=_listen, args=(lines, self._answers), daemon=True).start()
        return self._process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            cast(IO[str], process.stdin).close()
        for request in (None, signal.SIGINT, signal.SIGKILL):  # the second ends its kernel, too
            if request:
                process.send_signal(request)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
                return


def _listen(output: IO[str], answers: queue.Queue[str]) -> None:
    """Pass on each line, and an empty one at the end."""
    with output as lines:
        for line in lines:
            answers.put(line)
    answers.put("")


def _reason(output: str) -> str:
    """The line of nbgrader's log that says most."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|MissingEntry): ", line)]
    return (errors or lines or [""])[-1][:300]


def progress(students: Iterable[str], step: str) -> tqdm[str]:
    return tqdm(students, desc=step, disable=not sys.stderr.isatty())


def path_of(folder: Path, step: str, student: str, name: str, kind: str = "ipynb") -> Path:
    """Where nbgrader keeps a notebook at a step of its work."""
    return folder / step / student / name / f"{name}.{kind}"


def handed_in(folder: Path, name: str) -> list[str]:
    """Students of an assignment."""
    return sorted(path.name for path in (folder / "collected" / name).glob("*"))


def is_graded(folder: Path, student: str, name: str) -> bool:
    """Whether what nbgrader graded is what was handed in last."""
    before = path_of(folder, "submitted", student, name)
    after = path_of(folder, "autograded", student, name)
    return before.is_file() and after.is_file() and after.stat().st_mtime >= before.stat().st_mtime


def report(folder: Path, name: str, step: str, remarks: dict[str, list[str]]) -> None:
    """Print the remarks of a step; keep them for the table of marks instead of earlier ones."""
    path = folder / "reports" / f"{name}.csv"
    path.parent.mkdir(exist_ok=True)
    rows = [(student, step, line) for student, lines in remarks.items() for line in lines]
    table = pd.DataFrame(rows, columns=["student", "step", "remark"])
    if path.is_file():
        earlier = pd.read_csv(path, dtype=str, keep_default_na=False)
        table = pd.concat([earlier[(earlier.step != step) | ~earlier.student.isin(remarks)], table])
    table.to_csv(path, index=False)
    for student, _, line in rows:
        print(f"  {student or '-'}: {line}")
