"""The front page: its penalties are the best of a grid, as the comment of its cell says."""

import itertools
import json
import re

import nbformat
import numpy as np
import pytest
from reading import ROOT

from pdpbook import datasets
from pdpbook.objective_perturbation import ObjectivePerturbation

GRID = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 3]


def rules():
    notebook = nbformat.read(ROOT / "book/intro.ipynb", as_version=4)
    [cell] = [cell for cell in notebook.cells if cell.id == "explore"]
    html = cell.outputs[0].data["text/html"]
    return json.loads(re.search(r'json">(.*?)</script>', html, re.S)[1])["rules"]


@pytest.fixture(scope="module")
def bills():
    table = datasets.load("medical-cost")
    age, smokes = (table.age - 18) / 47, table.smoker == "yes"
    X = np.column_stack([np.ones(len(table)), age, smokes]).astype(float)
    return X, 2 * table.charges.to_numpy() / 70_000 - 1


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule["budget"]))
def test_no_penalty_beside_that_of_the_page_misses_less(bills, rule):
    X, y = bills
    budgets = datasets.sample_budgets(len(y), rng=np.random.default_rng(0))
    least = max(rule["budget"], budgets.min())
    used = np.where(budgets >= least, least, 0) if rule["budget"] else budgets

    def miss(penalty):
        law = ObjectivePerturbation(penalty).output_law(X, y, epsilon=used)
        theta = law.sample(1000, rng=np.random.default_rng(1))
        return 35_000 * np.sqrt(np.mean((y - theta @ X.T) ** 2))

    place = GRID.index(rule["penalty"])
    assert miss(GRID[place]) == pytest.approx(rule["miss"], rel=1e-6)
    assert miss(GRID[place + 1]) > rule["miss"]
    # a penalty is refused to budgets whose sum is too small for it
    if place and used.sum() > X.shape[1] / GRID[place - 1]:
        assert miss(GRID[place - 1]) > rule["miss"]


def test_a_larger_common_budget_leaves_out_more_people():
    common = rules()[:-1]
    assert all(a["out"] < b["out"] for a, b in itertools.pairwise(common))
