"""Build Binder's environment from nothing and run every notebook through a server in it.

    python tools/binder.py [FOLDER]

As Binder does: the Python of `binder/runtime.txt`, `binder/requirements.txt`, then
`binder/postBuild` in a clone of the last commit, and `jupyter lab` behind `binder/start`. Then as a
browser does: each notebook is read from the server, gets a session, and its cells are sent over a
WebSocket until one raises. Chapters and solved exercises must run to their end; the student's
notebooks must stop at their first stub. What was measured goes into `lab/benchmarks/binder.csv`:
seconds of a notebook are processor seconds of its kernel, its start included. An environment that
FOLDER holds already is used again, and nothing is recorded.
"""

import asyncio
import csv
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from execute import pages
from jupyter_client.jsonutil import json_default
from jupyter_client.session import Session
from notebooks import ROOT
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import (
    WebSocketClientConnection,
    WebSocketClosedError,
    websocket_connect,
)

RECORD = ROOT / "lab" / "benchmarks" / "binder.csv"
COLUMNS = ["kind", "name", "value", "cells", "note"]
STUDENT = "book/exercises/release"
LIMIT = 800  # MB of installed files; 170 of them read Parquet
PATIENCE = 300  # seconds for the server to start, and for a cell
TOKEN = "read-eval-privacy"
CLOCK = "import time; print(time.process_time())"
UNWRITTEN = "not written yet"  # what a check says of a stub
OURS = ("PDPBOOK_", "PYTHON", "JUPYTER", "IPYTHON", "MPL", "OPENBLAS_", "OMP_", "VIRTUAL_ENV")


@dataclass(frozen=True)
class Run:
    """What a reader sees who opens a notebook and runs all of its cells."""

    name: str
    cells: int
    seconds: float
    raised: str  # the exception at which it stopped and what it said, or nothing

    @property
    def kind(self) -> str:
        """Student, exercise or chapter."""
        if self.name.startswith("exercises/release/"):
            return "student"
        return "exercise" if self.name.startswith("exercises/") else "chapter"

    @property
    def expected(self) -> bool:
        """Whether it stopped where it should: at its end, or at the stub that a student fills."""
        return UNWRITTEN in self.raised if self.kind == "student" else not self.raised


# --- the environment ------------------------------------------------------------------------------


def surroundings(folder: Path) -> dict[str, str]:
    """Environment variables of a machine that knows nothing of this book."""
    outside = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    home = folder / "home"
    home.mkdir(exist_ok=True)
    path = f"{folder / 'environment' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return outside | {"HOME": str(home), "PATH": path, "JUPYTER_RUNTIME_DIR": str(folder / "run")}


def build(folder: Path) -> float:
    """Clone and install as Binder does; returns the seconds of the installation."""
    wanted = (ROOT / "binder" / "runtime.txt").read_text(encoding="utf-8").strip()
    python = shutil.which(wanted.replace("-", ""))
    if python is None:
        raise SystemExit(f"{wanted}, which Binder uses, is not on this machine")
    clone, variables = folder / "clone", surroundings(folder)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    subprocess.run([python, "-m", "venv", str(folder / "environment")], env=variables, check=True)
    start = time.perf_counter()
    for command in (
        ["pip", "install", "--quiet", "-r", "binder/requirements.txt"],
        ["binder/postBuild"],
    ):
        subprocess.run(command, cwd=clone, env=variables, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def megabytes(folder: Path, *, byte_code: bool) -> float:
    """Size of the files of an environment, with or without what Python compiled from them."""
    files = (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    return sum(p.stat().st_size for p in files if byte_code or p.suffix != ".pyc") / 1e6


@contextmanager
def server(folder: Path, *options: str) -> Iterator[str]:
    """JupyterLab behind `binder/start`, on a port of its own choice; yields its address."""
    runtime = folder / "run"
    shutil.rmtree(runtime, ignore_errors=True)
    command = [str(folder / "clone" / "binder" / "start"), "jupyter", "lab", "--no-browser"]
    command += ["--ip=127.0.0.1", "--port=0", "--allow-root", *options]
    variables = surroundings(folder) | {"JUPYTER_TOKEN": TOKEN}
    with (folder / "server.log").open("w", encoding="utf-8") as log:
        running = subprocess.Popen(
            command, cwd=folder / "clone", env=variables, stdout=log, stderr=log
        )
        try:
            yield _address(runtime, running)
        finally:
            running.terminate()
            running.wait(timeout=60)


def _address(runtime: Path, running: subprocess.Popen[bytes]) -> str:
    """Wait until the server answers."""
    late = time.monotonic() + PATIENCE
    while time.monotonic() < late and running.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            url = json.loads(file.read_text(encoding="utf-8"))["url"]
            status = Request(f"{url}api/status", headers={"Authorization": f"token {TOKEN}"})
            with suppress(URLError), urlopen(status, timeout=PATIENCE):
                return url
        time.sleep(0.1)
    raise SystemExit("the server did not start; server.log says why")


# --- what a browser does --------------------------------------------------------------------------


async def ask(url: str, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """One request of the server's REST interface."""
    answer = await AsyncHTTPClient().fetch(
        HTTPRequest(
            url + path,
            method=method,
            headers={"Authorization": f"token {TOKEN}"},
            body=None if body is None else json.dumps(body),
            request_timeout=PATIENCE,
        )
    )
    return json.loads(answer.body) if answer.body else None


async def notebook(url: str, path: str) -> Run:
    """Open a notebook, start its kernel, and run its cells until one raises."""
    file = await ask(url, "GET", f"api/contents/{path}?content=1")
    cells = [cell for cell in file["content"]["cells"] if cell["cell_type"] == "code"]
    done, raised, seconds = 0, "", ""
    kernel = {"path": path, "name": "", "type": "notebook", "kernel": {"name": "python3"}}
    session = await ask(url, "POST", "api/sessions", kernel)
    try:
        address = f"{url.replace('http', 'ws', 1)}api/kernels/{session['kernel']['id']}/channels"
        channel = await websocket_connect(f"{address}?token={TOKEN}")
        while not raised and done < len(cells):
            cell = cell_run(channel, cells[done]["source"])
            _, raised = await asyncio.wait_for(cell, PATIENCE)
            done += 1
        seconds, _ = await asyncio.wait_for(cell_run(channel, CLOCK), PATIENCE)
        channel.close()
    except (TimeoutError, WebSocketClosedError) as silence:  # a kernel that died, or never ends
        raised = repr(silence)
    finally:
        await ask(url, "DELETE", f"api/sessions/{session['id']}")
    name = path.removeprefix("book/").removesuffix(".ipynb")
    return Run(name, done, float(seconds or "nan"), raised)


async def cell_run(channel: WebSocketClientConnection, source: str) -> tuple[str, str]:
    """Run one cell; returns what it printed, and the exception that it raised."""
    content = {"code": source, "silent": False, "store_history": True, "allow_stdin": False}
    request = Session(key=b"").msg("execute_request", content)
    request |= {"channel": "shell", "buffers": []}
    await channel.write_message(json.dumps(request, default=json_default))
    printed, raised, open_ends = "", "", {"reply", "idle"}
    while open_ends:
        text = await channel.read_message()
        if text is None:
            raise WebSocketClosedError
        message = json.loads(text)
        if message["parent_header"].get("msg_id") != request["header"]["msg_id"]:
            continue
        said = message["content"]
        match message["msg_type"]:
            case "stream":
                printed += said["text"]
            case "execute_reply":
                failed = said["status"] != "ok"
                raised = f"{said.get('ename')}: {said.get('evalue')}" if failed else ""
                open_ends.discard("reply")
            case "status" if said["execution_state"] == "idle":
                open_ends.discard("idle")
    return printed, raised


# --- the command ----------------------------------------------------------------------------------


def everything() -> list[str]:
    """The notebooks that a reader can open in Binder."""
    students = sorted((ROOT / STUDENT).glob("*.ipynb"))
    return [path.relative_to(ROOT).as_posix() for path in [*pages(), *students]]


def rows(facts: dict[str, Any], runs: list[Run]) -> list[dict[str, Any]]:
    """The record: facts about the environment, then one line a notebook."""
    found = [{"kind": "environment", "name": name, "value": v} for name, v in facts.items()]
    for run in runs:
        row = {"kind": run.kind, "name": run.name, "value": f"{run.seconds:.1f}"}
        found.append(
            row | {"cells": run.cells, "note": "stops at its first stub" if run.raised else ""}
        )
    return found


def check(folder: Path) -> int:
    """Build if need be, run everything, record; returns the exit code."""
    environment, seconds = folder / "environment", None
    if not environment.is_dir():
        seconds = build(folder)
    installed = megabytes(environment, byte_code=False)
    on_disk = megabytes(environment, byte_code=True)
    print(f"{installed:.0f} MB installed, {on_disk:.0f} MB with byte code", flush=True)
    start, runs = time.perf_counter(), []
    with server(folder) as url:
        until_ready = time.perf_counter() - start
        for path in everything():
            run = asyncio.run(notebook(url, path))
            runs.append(run)
            verdict = "as it should" if run.expected else "NOT as it should"
            what = f"stopped at {run.raised}" if run.raised else "ran to its end"
            print(f"{run.name}: {what}, {verdict}, {run.seconds:.1f} s", flush=True)
    wrong = [run.name for run in runs if not run.expected]
    if installed >= LIMIT:
        wrong.append(f"{installed:.0f} MB, not under {LIMIT}")
    if wrong:
        print("Not recorded, because of: " + ", ".join(wrong))
        return 1
    if seconds is not None:
        facts = {
            "date": datetime.date.today().isoformat(),
            "python": (ROOT / "binder" / "runtime.txt").read_text(encoding="utf-8").strip(),
            "megabytes installed": f"{installed:.0f}",
            "megabytes with byte code": f"{on_disk:.0f}",
            "seconds to install": f"{seconds:.0f}",
            "seconds until the server answers": f"{until_ready:.0f}",
        }
        pins = (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8")
        facts |= dict(line.split("==") for line in pins.splitlines() if "==" in line)
        with RECORD.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows(facts, runs))
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(check(Path(sys.argv[1]).resolve()))
    with tempfile.TemporaryDirectory(prefix="binder-") as throw_away:
        sys.exit(check(Path(throw_away)))
