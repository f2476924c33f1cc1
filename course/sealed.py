"""Grading where a notebook reaches no network: in a space of its own, or in a container.

Both lines are for a shell. The first needs Linux and `unshare`, no rights and no image; in it every
process ends with the command, however that ends, but a notebook can still write what you can. The
second lets it write the course folder alone.
"""

import shlex
import sys
from pathlib import Path

from course.checkout import ROOT

SPACE = "unshare --map-root-user --net --pid --fork --kill-child --mount-proc"
CONTAINER = "docker run --rm --network none --read-only --tmpfs /tmp -e HOME=/tmp"
IMAGE = "course-book"
TEXT = """\
# without a network, on Linux:
{space}

# in a container; once before: docker build -t {image} -f course/Dockerfile .
{container}"""


def ways(folder: Path, name: str, submissions: Path, pattern: str) -> str:
    """The two commands that grade an assignment, as they can be pasted."""
    asked = ["-m", "course", "grade"]
    here = [*asked, str(folder), name, str(submissions), "--from", pattern]
    kind = "folder" if submissions.is_dir() else "zip"
    there = [*asked, "/course", name, f"/in.{kind}", "--from", pattern]
    mounts = [f"{ROOT}:/book:ro", f"{folder}:/course", f"{submissions}:/in.{kind}:ro"]
    flags = " ".join(f"-v {shlex.quote(one)}" for one in mounts)
    return TEXT.format(
        space=f"cd {shlex.quote(str(ROOT))} && {SPACE} {shlex.join([sys.executable, *here])}",
        container=f"{CONTAINER} {flags} -w /book {IMAGE} {shlex.join(['python', *there])}",
        image=IMAGE,
    )
