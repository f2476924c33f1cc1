"""Skewed labels: the moments of the invented tables, a row computed again, what the table shows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.comparison import skewed
from lab.tables import read_results

#: rows, columns, mean, standard deviation and share explained by least squares, of the review
WANTED = {
    "hospital days": (12_000, 12, 8.3, 7.64, 0.21),
    "survey income": (5549, 6, 2600.0, 1810.0, 0.30),
}


def table():
    return read_results(skewed.FOLDER / skewed.FILE)


@pytest.mark.parametrize("name", skewed.TABLES)
def test_the_invented_people_have_the_moments_of_the_review(name):
    n, d, mean, sd, explained = WANTED[name]
    X, y, (low, high) = skewed.TABLES[name](np.random.default_rng(1))
    assert X.shape == (n, d)
    assert X.min() >= 0
    assert X.max() <= 1
    assert low <= y.min()
    assert y.max() == high
    rows = np.column_stack([X, np.ones(n)])
    rest = y - rows @ np.linalg.lstsq(rows, y, rcond=None)[0]
    assert_allclose([y.mean(), y.std()], [mean, sd], rtol=0.05)
    assert_allclose(1 - rest.var() / y.var(), explained, atol=0.03)


def test_a_row_is_computed_again():
    (kept,) = (
        table()
        .query("table == 'hospital days' and epsilon == 1 and lam == 0.03")
        .to_dict("records")
    )
    again = skewed.row("hospital days", 1.0, 0.03)
    names = [name for name in again if name not in ("table", "epsilon", "lam")]
    assert {*names} == {"plain", "centered 0.05", "centered 0.1", "constant"}
    # four digits are kept; a split may follow the last digits of another processor
    assert_allclose([again[n] for n in names], [kept[n] for n in names], rtol=2e-3)


def test_a_fit_that_is_refused_leaves_its_row_empty():
    refused = skewed.row("survey income", 0.3, 0.003, splits=2)
    assert np.isnan(refused["plain"])
    assert np.isnan(refused["centered 0.05"])
    assert np.isfinite(refused["constant"])
    found = table()
    alone = found.query("table == 'survey income' and epsilon == 0.3 and lam == 0.003")
    assert alone["plain"].isna().all()


def test_the_table_has_every_row_and_no_centered_one_is_below_a_constant():
    found = table()
    rows = len(skewed.TABLES) * len(skewed.BUDGETS) * len(skewed.PENALTIES)
    assert len(found) == rows
    fitted = found.dropna()
    for share in skewed.SHARES:
        assert (fitted[f"centered {share:g}"] > fitted["constant"]).all()
    losses = fitted["plain"] - fitted["centered 0.05"]
    assert losses.max() < 0.02
    # where it loses, budgets are large and penalties small
    assert (fitted[losses > 0.001].epsilon == 3).all()
    assert (fitted[losses > 0.001].lam <= 0.01).all()
