"""Printed numbers of the papers."""

import csv

import pytest

from lab import published


def rows(paper):
    text = (published.FOLDER / f"{paper}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@pytest.mark.parametrize(
    ("arguments", "options", "printed"),
    [
        (("pdpop", 1, 1, "PDP-OP", "unregularized_test_loss"), {}, 854),
        (("pdpop", "1", "1.00", "PDP-OP", "unregularized_test_loss"), {}, 854),
        (("pdpop", 3, 0.3, "non-personalized", "regularized_test_loss"), {}, 1.20),
        (("pac", "I", 0.52, "DP", "epsilon"), {}, 0.080023),
        (("pac", "IV", "Tuned", "PAC-LR", "RMSE"), {"data": "Lenses"}, 0.642),
        (("user_level", 1, 3, "Our method", "average_squared_error"), {"data": "news"}, 166.2),
    ],
)
def test_values_by_hand(arguments, options, printed):
    assert published.value(*arguments, **options) == printed


@pytest.mark.parametrize("paper", published.PAPERS)
def test_table_is_the_file(paper):
    frame, raw = published.table(paper), rows(paper)
    assert len(frame) == len(raw) > 0
    assert list(frame["printed"]) == [row["value"] for row in raw]
    assert tuple(frame) == published.COLUMNS
    numeric = frame[frame["value"].notna()]
    assert all(float(p) == v for p, v in zip(numeric["printed"], numeric["value"], strict=True))


@pytest.mark.parametrize("paper", published.PAPERS)
def test_every_number_can_be_asked_for(paper):
    frame = published.table(paper)
    frame = frame[frame["value"].notna()].groupby("table").head(8)
    for row in frame.itertuples():
        found = published.value(
            paper, row.table, row.row_value, row.method, row.metric, data=row.data
        )
        assert found == row.value


def test_misprints_stay_and_are_flagged():
    frame = published.table("pdpop")
    wrong = frame[frame["flag"]]
    assert len(wrong) == sum(row["flag"] == "1" for row in rows("pdpop")) > 0
    assert (wrong["note"] != "").all()


def test_text_is_not_a_number():
    frame = published.table("pac")
    assert set(frame.loc[frame["value"].isna(), "metric"]) == {"task", "search_space", "RMSE"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("pdpop", 1, 2, "PDP-OP", "unregularized_test_loss"), "no row_value 2.*'1.00', '3.00'"),
        (("pdpop", 1, 1, "PDPOP", "unregularized_test_loss"), "no method 'PDPOP'.*'PDP-OP'"),
        (("pdpop", 1, 1, "PDP-OP", "test_loss"), "no metric 'test_loss'.*'regularized_test_loss'"),
        (("pdpop", 99, 1, "PDP-OP", "unregularized_test_loss"), "no table '99'"),
        (("pac", "IV", "Tuned", "PAC-LR", "RMSE"), "3 numbers; say data, of 'Lenses'"),
    ],
)
def test_missing_numbers_name_the_nearest(arguments, says):
    with pytest.raises(KeyError, match=says):
        published.value(*arguments)


def test_unknown_paper():
    with pytest.raises(ValueError, match="paper must be one of 'pdpop', 'pac', 'user_level'"):
        published.table("wang")
    with pytest.raises(ValueError, match="paper must be one of"):
        published.value("wang", 1, 1, "a", "b")
