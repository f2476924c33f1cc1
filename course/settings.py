"""What is an instructor's own in a course: a folder that no update of the book touches.

`create` makes it. In a private fork it stands in the checkout as `mine`, a name that the public
repository never uses, so that a merge cannot meet it: `course.toml` and `prompts/NAME.md` are
committed there, and what students hand in is not.
"""

import math
import re
import secrets
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course.arguments import argued
from course.checkout import Refused
from course.sheets import plain
from course.teaching import exercises_of
from pdpbook.pages.exercises import ASSIGNMENTS

FILE = "course.toml"
PLAIN = """\
# Yours: `python -m course` reads this file, and no update of the book touches it.
seed = {seed}  # what the hidden properties draw; keep it from students
minutes = 60  # a sheet is a part of an assignment with about so many stated minutes
# arguments = true  # after each core function two sentences by hand: why does it cost that?

[points]  # what an exercise counts, where it is not what its page says
# truth_probability = 2

[due]  # a line on top of what you hand out
# foundations = "Monday, 3 May, at noon"
"""
PRIVATE = """\
# What students hand in stays out of the repository.
*
!/.gitignore
!/course.toml
!/prompts/
!/prompts/*
"""
PROMPTS = """\
A file NAME.md here takes the place of the prompt of the exercise NAME, from below its line in bold
to above its hint, in all that you hand out.
"""
KINDS = {"seed": int, "minutes": int, "arguments": bool, "points": dict, "due": dict}


@dataclass(frozen=True)
class Course:
    """The settings of a course folder."""

    folder: Path = Path()
    seed: int = 0
    minutes: int = 60
    arguments: bool = False
    points: dict[str, Any] = field(default_factory=dict)
    due: dict[str, Any] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)


def create(folder: Path, seed: int | None) -> Course:
    """Make the folder with settings to fill in and a seed of its own; keep one that is there."""
    if seed is not None and seed < 0:
        raise Refused(f"seed must be at least 0; got {seed}")
    (folder / "prompts").mkdir(parents=True, exist_ok=True)
    drawn = secrets.randbelow(2**31) if seed is None else seed
    for name, content in (
        (FILE, PLAIN.format(seed=drawn)),
        (".gitignore", PRIVATE),
        ("prompts/README.txt", PROMPTS),
    ):
        if not (folder / name).exists():
            (folder / name).write_text(content, encoding="utf-8")
    course = load(folder)
    if seed not in (None, course.seed):
        raise Refused(f"{folder / FILE} has the seed {course.seed} already; change it there")
    return course


def load(folder: Path) -> Course:
    """The settings of a course; a word that means nothing is refused."""
    if not (folder / FILE).is_file():
        raise Refused(f"{folder} is no course; make it with: create {folder}")
    try:
        given = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{folder / FILE}: {error}") from None
    for key, value in given.items():
        if key not in KINDS or type(value) is not KINDS[key]:
            raise Refused(f"{folder / FILE} takes {', '.join(KINDS)}; got {key} = {value!r}")
    if given.get("seed", 0) < 0 or given.get("minutes", 60) <= 0:
        raise Refused(f"{folder / FILE}: seed must be at least 0, minutes above 0")
    prompts = {p.stem: p.read_text(encoding="utf-8") for p in (folder / "prompts").glob("*.md")}
    course = Course(folder, prompts=prompts, **given)
    if wrong := _unknown(course):
        raise Refused(f"{folder}: {wrong}")
    return course


def _unknown(course: Course) -> str:
    """The first setting that means nothing."""
    for name, points in course.points.items():
        number = isinstance(points, int | float) and not isinstance(points, bool)
        if not number or not 0 <= points < math.inf:
            return f"points of {name} must be at least 0; got {points!r}"
    for name, due in course.due.items():
        if re.sub(r"-\d+$", "", name) not in ASSIGNMENTS:
            return f"due: there is no assignment {name}"
        if not isinstance(due, str):
            return f"due of {name} must be text; got {due!r}"
    if used := {*course.points, *course.prompts}:
        asked = [one for name in ASSIGNMENTS for one in exercises_of(name, plain(name))]
        used -= {one.name for one in (argued(asked) if course.arguments else asked)}
    return f"there is no exercise {min(used)}" if used else ""
