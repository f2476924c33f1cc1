"""Every recorded table has its command, its time and its last run in `lab/recorded.csv`."""

import csv
import datetime
import re
from pathlib import Path

import pytest

from lab.__main__ import OTHERS, RESULTS

ROOT = Path(__file__).resolve().parent.parent
ROWS = list(csv.DictReader((ROOT / "lab/recorded.csv").read_text("utf-8").splitlines()))

#: no run wrote these, and why they are there
TYPED = {
    "lab/data/pac.csv": "what a paper prints",
    "lab/data/pdpop.csv": "what a paper prints",
    "lab/data/user_level.csv": "what a paper prints",
    "lab/data/reading/steps.csv": "the steps of proofs, by hand",
    "lab/data/rehearsed/heavy_a.csv": "made-up patients that a reader brought",
    "lab/data/rehearsed/heavy_b.csv": "made-up patients that a reader brought",
}


def tables(root=ROOT):
    """All tables that the book or its pages of records read."""
    found = [*root.glob("book/*/results/*.csv"), *root.glob("lab/data/**/*.csv")]
    found += root.glob("lab/benchmarks/*.csv")
    return {path.relative_to(root).as_posix() for path in found}


def seconds_in(text):
    """The seconds that a table says of itself, or nothing."""
    found = re.search(r"^# (?:run time: (\d+) s|(\d+) processor seconds)", text, re.M)
    return (found[1] or found[2]) if found else None


def test_every_table_has_its_row_or_was_typed():
    recorded = {row["table"] for row in ROWS}
    assert len(recorded) == len(ROWS) >= 37
    assert recorded | TYPED.keys() == tables()
    assert not recorded & TYPED.keys()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["table"])
def test_a_row_agrees_with_its_table(row):
    text = (ROOT / row["table"]).read_text("utf-8")
    assert datetime.date.fromisoformat(row["last_run"]) >= datetime.date(2026, 11, 21)
    if said := seconds_in(text):
        assert row["seconds"] == said
    command = row["command"].split()
    if command[:3] == ["python", "-m", "lab"]:
        assert command[3] in RESULTS | OTHERS
        in_table = re.search(r"python -m lab \S+?(?=[)\s]|$)", text)
        assert in_table is None or row["command"].startswith(in_table[0])
    elif command[0] == "python":
        assert (ROOT / command[1]).is_file()
    else:
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
        assert command[0] == "make"
        assert command[1] in targets


def test_seconds_by_hand():
    assert seconds_in("# run time: 622 s, 2 settings at a time\n") == "622"
    assert seconds_in("# a title\n# 39 processor seconds\n") == "39"
    assert seconds_in("a,b\n1,2\n") is None
