"""The record of ratios: tidy, its claims judged by its medians, and on its page."""

import csv
import platform
from pathlib import Path

import pytest
import records

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "lab" / "benchmarks" / "ratios.csv").read_text(encoding="utf-8")
ROWS = list(csv.DictReader(TEXT.splitlines()))


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row['what']}, {row['against']}, {row['n']}"
)
def test_a_row_is_whole_and_judged_by_its_median(row):
    assert row["kind"] in records.KINDS
    low, ratio, high = (float(row[name]) for name in ("low", "ratio", "high"))
    assert 0 < low <= ratio <= high
    assert int(row["runs"]) >= 5 or row["kind"] in ("memory", "seconds")
    word, _, bound = row["claim"].rpartition(" ")
    assert word in ("", "at least", "at most")
    kept = {"at least": ratio >= float(bound or 0), "at most": ratio <= float(bound or 0)}
    assert row["holds"] == ({True: "yes", False: "no"}[kept[word]] if word else "")


def test_no_two_rows_say_the_same_and_no_machine_has_a_name():
    keys = [(row["kind"], row["what"], row["against"], row["n"], row["d"]) for row in ROWS]
    assert len(set(keys)) == len(keys)
    assert platform.node() not in TEXT


def test_the_page_marks_what_was_missed():
    page = records.ratios(ROWS, ROWS)
    assert page.count(": missed") == sum(row["holds"] == "no" for row in ROWS)
    assert page.count("\n| ") == len(ROWS) + 2 * len(records.KINDS)


def test_every_missed_claim_is_explained_and_no_other():
    kept = [{**row, "holds": row["holds"].replace("no", "yes")} for row in ROWS]
    assert "stands in the way" not in records.ratios(kept, kept)
    for what, against in records.WHY:
        claimed = [row for row in ROWS if (row["what"], row["against"]) == (what, against)]
        alone = [{**row, "holds": "no"} for row in claimed if row["claim"]]
        assert len(alone) == 1  # an explanation of a claim that is still made
        said = records.missed(kept + alone)
        assert said.count("\n- ") == 1
        assert records.WHY[what, against] in said
    unexplained = {**kept[0], "holds": "no"}
    with pytest.raises(records.Refused, match="misses its claim, and WHY does not say why"):
        records.missed([*kept, unexplained])


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ({10: 0.5, 100: 0.9, 1000: 1.5}, "slower at n = 10 and 100, faster from 1,000."),
        ({1000: 3, 10: 0.5, 100: 1.1}, "slower at n = 10, faster from 100."),
        ({10: 2, 100: 0.5, 1000: 3}, "slower at n = 100, faster from 1,000."),
        ({10: 0.9, 100: 0.5, 1000: 0.99}, "slower at n = 10, 100 and 1,000, the largest measured."),
        ({10: 1, 100: 2}, ""),
    ],
)
def test_the_sizes_at_which_the_loop_is_faster_are_named(ratios, said):
    rows = [{**ROWS[0], "n": str(n), "ratio": str(ratio)} for n, ratio in ratios.items()]
    assert rows[0]["kind"] == "naive"
    text = records.crossings(rows, "naive")
    assert text.endswith(f"{said}\n") if said else text == ""
    assert records.crossings(rows, "peer") == ""


def test_a_second_run_is_held_beside_the_first():
    many = [row for row in ROWS if int(row["runs"]) > 1]
    said = records.repeated(ROWS, ROWS)
    assert f"Of {len(many)}\nratios measured both times, {len(many)} have" in said
    assert said.endswith("within 10 percent.\n")
    changed = {name: str(2 * float(many[0][name])) for name in ("low", "ratio", "high")}
    later = {**many[0], **changed, "date": many[0]["date"][:11] + "23:59"}
    said = records.repeated(many[:1], [later])
    assert "Of 1\nratios measured both times, 0 have" in said
    medians = [records.shown(row["ratio"]) for row in (many[0], later)]
    assert said.endswith(f" | {' | '.join(medians)} |\n")
    assert records.repeated([later], many[:1]) == "There was no second run since."
