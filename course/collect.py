"""Who handed in what: a folder or a zip of submissions, sorted by student.

The student is read from each file's path by a regular expression with a group `student`; a group
`file` is the name that the student gave. The built-in ones follow the names that Canvas and Moodle
give to downloads, as their public sources make and read them.
"""

import csv
import re
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from course.checkout import Refused

PATTERNS = {
    # surname_given_LATE_user_submission_name.ipynb: the user's number
    "canvas": r"(?:^|/)[^/_]+_(?:LATE_)?(?P<student>\d+)_\d+_(?P<file>[^/]+)$",
    # Given Surname_participant_assignsubmission_file_/name.ipynb: the participant's number
    "moodle": r"(?:^|/)[^/]+_(?P<student>\d+)_assignsubmission_file_?/?(?P<file>[^/]+)$",
    # student/anything.ipynb, or student.ipynb
    "plain": r"^(?P<student>[^/]+?)(?:/(?:.*/)?(?P<file>[^/]+)|\.\w+)$",
}
LARGEST = 50_000_000  # bytes


@dataclass(frozen=True)
class File:
    """One file that was handed in."""

    path: str  # inside of the folder or zip
    when: float  # only compared
    size: int
    source: Path
    inside: zipfile.ZipInfo | None = None

    def read(self) -> bytes:
        if self.inside is None:
            return self.source.read_bytes()
        with zipfile.ZipFile(self.source) as archive:
            return archive.read(self.inside)


def files(source: Path) -> Iterator[File]:
    """The files of a folder or zip, without what operating systems and Jupyter add."""
    if source.is_dir():
        for path in sorted(p for p in source.rglob("*") if p.is_file()):
            stat, name = path.stat(), path.relative_to(source).as_posix()
            if not _added(name):
                yield File(name, stat.st_mtime, stat.st_size, path)
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            entries = sorted(archive.infolist(), key=lambda entry: entry.filename)
        for entry in entries:
            if not entry.is_dir() and not _added(entry.filename):
                when = float("".join(f"{part:02d}" for part in entry.date_time))
                yield File(entry.filename, when, entry.file_size, source, entry)
    else:
        raise Refused(f"{source} is neither a folder nor a zip")


def _added(path: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(path).parts)


def names_of(path: str, pattern: str) -> tuple[str, str]:
    """Student, in letters that nbgrader takes, and file of a path; empty if it does not fit."""
    match = re.search(PATTERNS.get(pattern, pattern), path)
    if match is None:
        return "", ""
    return plain_name(match["student"]), match.groupdict().get("file") or PurePosixPath(path).name


def plain_name(student: str) -> str:
    """A student in letters that nbgrader and file systems take."""
    return re.sub(r"[^\w.@-]+", "_", student).strip("._@-")


def collect(source: Path, target: Path, pattern: str) -> dict[str, list[str]]:
    """Put each student's notebook into ``target/student/``; returns remarks on each student.

    A student who handed in no notebook gets what they did hand in, so that it can be set aside by
    name. Of several notebooks the newest counts.
    """
    if pattern not in PATTERNS and "student" not in _compiled(pattern).groupindex:
        raise Refused(f"the pattern needs a group (?P<student>...); got {pattern!r}")
    handed_in: defaultdict[str, list[File]] = defaultdict(list)
    remarks: defaultdict[str, list[str]] = defaultdict(list)
    where = {student: (path, name) for student, path, name in paths(target)}
    for file in files(source):
        if student := names_of(file.path, pattern)[0]:
            handed_in[student].append(file)
        else:
            remarks[""].append(f"{file.path}: the pattern finds no student in this name")
    if not handed_in:
        raise Refused(f"no submissions in {source}: the pattern {pattern!r} fits no file there")
    for student, found in sorted(handed_in.items()):
        notebooks = [file for file in found if file.path.lower().endswith(".ipynb")]
        chosen = max(notebooks or found, key=lambda file: (file.when, file.path))
        remarks[student] = []
        if others := [PurePosixPath(file.path).name for file in found if file is not chosen]:
            remarks[student].append(f"other files were left out: {', '.join(others)}")
        folder = target / student
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        where[student] = chosen.path, names_of(chosen.path, pattern)[1]
        place = folder / where[student][1]
        if chosen.size > LARGEST:
            place.touch()
            remarks[student].append(f"{place.name} has {chosen.size / 1e6:.0f} MB: too large")
        else:
            place.write_bytes(chosen.read())
    with _list(target).open("w", encoding="utf-8", newline="") as list_:
        csv.writer(list_).writerows((student, *where[student]) for student in sorted(where))
    return remarks


def paths(target: Path) -> list[tuple[str, str, str]]:
    """Student, path in the download and name of every file that was collected."""
    if not _list(target).is_file():
        return []
    with _list(target).open(encoding="utf-8", newline="") as list_:
        return [(student, path, name) for student, path, name in csv.reader(list_)]


def _list(target: Path) -> Path:
    return target.with_name(f"{target.name}.csv")


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise Refused(f"{pattern!r} is no regular expression: {error}") from None
