"""Every file that the site has from others has a row on the page of licenses, and the reverse."""

from fnmatch import fnmatch
from pathlib import Path

import pytest
import shipped

ROOT = Path(__file__).resolve().parents[2]


def unnamed(files, parts=shipped.PARTS):
    """The files below `_static/` that nobody names: neither ours, nor a part's."""
    ours = {path.relative_to(ROOT / "book/_static") for path in (ROOT / "book/_static").rglob("*")}
    patterns = [pattern for part in parts for pattern in part.files]
    patterns += [*shipped.OURS, shipped.IN_LIVE]
    return [
        file
        for file in files
        if Path(file) not in ours and not any(fnmatch(file, pattern) for pattern in patterns)
    ]


def unused(files, parts=shipped.PARTS):
    """Parts that say they have files, and have none."""
    return [
        part.name
        for part in parts
        if part.files and not any(fnmatch(file, one) for file in files for one in part.files)
    ]


@pytest.fixture(scope="module")
def files(folder):
    static = folder / "_static"
    return [path.relative_to(static).as_posix() for path in static.rglob("*") if path.is_file()]


def test_every_file_of_others_is_named(files):
    assert len(files) > 50
    assert unnamed(files) == []


def test_every_row_has_its_file(files):
    assert unused(files) == []


@pytest.mark.parametrize("name", [part.name for part in shipped.PARTS if part.files])
def test_a_row_that_is_missing_is_noticed(files, name):
    rest = [part for part in shipped.PARTS if part.name != name]
    assert unnamed(files, rest)
