"""Boxes, formal statements and code stay together, without Coq; `make proofs` runs Coq."""

import re
import shutil

import numpy as np
import pytest
from coq_formulas import functions
from scipy import optimize, stats

import proofs
from pdpbook.gwa import certify
from pdpbook.minimal import best_level, personal_coin
from pdpbook.personalized import PDPRidge, pdp_weights, threshold_budgets
from pdpbook.ridge import weighted_ridge
from pdpbook.sensitivity import norm_bound, ridge_constant
from pdpbook.user_level import WeightedMean
from pdpbook.user_level.mean import tradeoff
from pdpbook.user_level.weights import tradeoff_value, tradeoff_weights

ROWS = {row["label"]: row for row in proofs.rows()}
GRID = [(lam, d) for lam in (0.001, 0.1, 1.0, 30.0) for d in (1, 2, 12, 100)]
ROUNDING = 1e-12  # a few dozen operations on numbers of one sign


def vector(values):
    """A function of an index."""
    return lambda j: float(values[j])


def counts(values):
    """A function of an index, to natural numbers."""
    return lambda j: int(values[j])


def table(values):
    """A function of two indices."""
    return lambda j: vector(values[j])


def array(function, n):
    return np.array([function(j) for j in range(n)])


def applied(function, *arguments):
    """A function that takes its arguments one after the other."""
    for argument in arguments:
        function = function(argument)
    return function


# --- box and formal statement ---------------------------------------------------------------------


def test_boxes_and_formal_statements_were_read_together():
    assert proofs.faults() == []


def test_the_thirteen_boxes_are_there_and_each_says_what_is_checked():
    assert len(ROWS) >= 13
    for label, row in ROWS.items():
        assert label in proofs.chapters()
        assert row["part"] in ("all", "part"), label
        assert row["differs"], label
        assert row["part"] == "all" or row["foot"], label


def test_every_file_begins_with_its_statement_in_words_and_the_map_of_the_box():
    for row in ROWS.values():
        head = (proofs.FOLDER / f"{row['file']}.v").read_text("utf-8").split("*)")[0]
        assert row["label"] in head, row["label"]
        assert "In words." in head, row["label"]
        assert "The box and this file:" in head, row["label"]


def test_what_is_assumed_of_the_noise_is_said():
    """The algorithm draws a radius and a direction; its density is a lemma that is not proven."""
    for row in ROWS.values():
        if "lem-gamma-radius" in row["rests_on"].split():
            assert "lem-gamma-radius" in row["foot"], row["label"]
            assert "lem-gamma-radius" in row["differs"], row["label"]
    assert "lem-gamma-radius" in ROWS["thm-pdp-op"]["rests_on"]


def planted(folder, file, old, new):
    """What is found after one change of a file in a copy."""
    copy = folder / "proofs"
    shutil.copytree(proofs.FOLDER, copy)
    path = copy / file
    text = path.read_text("utf-8")
    changed = re.sub(old, lambda _: new, text, count=1, flags=re.S)
    assert changed != text
    path.write_text(changed, "utf-8")
    return proofs.faults(copy)


@pytest.mark.parametrize(
    ("file", "old", "new", "found"),
    [
        # definitions and statements
        ("Sensitivity.v", r"2 \* sqrt \(INR d\) / lambda", "sqrt (INR d) / lambda", "thm-sens"),
        ("Sensitivity.v", r"<= row D j k <= 1", "<= row D j k <= 2", "thm-pdp-op has changed"),
        ("PdpOp.v", r"sum n eps / C\.", "2 * sum n eps / C.", "thm-pdp-op has changed"),
        ("Coins.v", r"0 < eps i -> ", "", "thm-rr-privacy has changed"),
        ("Vectors.v", r"sum k f \+ f k", "sum k f + f n", "lem-wa-variance has changed"),
        # names
        ("Filter.v", "Theorem filter_pure ", "Theorem pure_filter ", "no theorem filter_pure"),
        ("Coins.v", "Theorem coins_total", "Lemma coins_total", "no theorem coins_total"),
        # what is not proven
        ("PdpOp.v", r"Proof\..*?Qed\.", "Proof. Admitted.", "says Admitted"),
        ("PdpOp.v", r"Proof\.", "Proof. admit.", "says admit"),
        ("Coins.v", r"Definition ", "Axiom easy : 0 = 1.\n\nDefinition ", "says Axiom"),
        ("Coins.v", r"Definition ", "Parameter n : nat.\n\nDefinition ", "says Parameter"),
        ("Coins.v", r"Definition ", "Hypothesis h : 0 = 1.\n\nDefinition ", "says Hypothesis"),
        ("Coins.v", "Require Import Bool", "Require Import Bool Classical_Pred_Type", "may not"),
        ("Coins.v", "Definition ", "Unset Guard Checking.\n\nDefinition ", "says Unset"),
        # meanings that change behind the back of the reader
        ("PdpOp.v", "(?=Definition weight)", "Lemma norm : R.\nProof. auto. Qed.\n\n", "norm ag"),
        ("PdpOp.v", "(?=Definition weight)", 'Notation "x <= y" := (x = x).\n\n', "says Notation"),
        ("PdpOp.v", "(?=Definition weight)", "Local Definition norm := 0.\n\n", "says Local"),
        ("Coins.v", "(?=Definition report)", "Open Scope nat_scope.\n\n", "says Open"),
        ("Coins.v", r"Qed\.", "Defined.", "says Defined"),
        ("boxes.csv", r"(?<=minimizer_norm_sqrt,)", "lem-stability ", "box of lem-norm-sqrt"),
    ],
)
def test_planted_changes_are_found(tmp_path, file, old, new, found):
    assert any(found in one for one in planted(tmp_path, file, old, new))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("Coins.v", r"\(\* thm-rr-privacy", "(* Again. thm-rr-privacy"),  # words
        ("Coins.v", r"Proof\. unfold report_chance\.", "Proof. unfold report_chance; idtac."),
        ("Coins.v", r"Lemma report_sum", "Lemma report_sum_again"),  # steps of a proof
        ("Coins.v", r"(?<=Pr n eps x S <=) ", "\n    "),  # line breaks
    ],
)
def test_other_proofs_of_the_same_statement_are_not(tmp_path, file, old, new):
    assert planted(tmp_path, file, old, new) == []


def test_a_changed_box_is_found(monkeypatch):
    box = proofs.box
    monkeypatch.setattr(proofs, "box", lambda label: box(label).replace(r"\sqrt d", r"2\sqrt d"))
    found = proofs.faults()
    assert (
        {label for label in ROWS for one in found if f"box of {label} " in one}
        == {label for label in ROWS if r"\sqrt d" in box(label)}
        != set()
    )
    assert all("read the box and its formal statement" in one for one in found)


def test_axioms_are_read_from_what_coq_prints():
    printed = (
        "Closed under the global context\nAxioms:\nClassicalDedekindReals.sig_not_dec : forall P\n"
        "ClassicalDedekindReals.sig_forall_dec\n  : forall P : nat -> Prop,\n    (forall n : nat)\n"
        "hole : 0 = 1\n"
    )
    assert proofs.axioms(printed) - proofs.AXIOMS == {"hole"}


# --- on the page ----------------------------------------------------------------------------------

PAGE = """# A page

:::{prf:lemma} Gamma radius
:label: lem-gamma-radius

It is drawn so.
:::

(proofs-thm-pdp-op)=
:::{prf:theorem} PDP-OP
:label: thm-pdp-op

It keeps every budget.
:::
"""


def test_the_foot_of_a_box_says_what_is_checked(tmp_path):
    pytest.importorskip("sphinx_proof", reason="needs the extra `book`")
    from bs4 import BeautifulSoup
    from sphinx.application import Sphinx

    (tmp_path / "proofs").mkdir()
    shutil.copy(proofs.BOXES, tmp_path / "proofs")
    (tmp_path / "index.md").write_text(PAGE, encoding="utf-8")
    settings = {
        "extensions": ["myst_parser", "sphinx_proof", "pdp_proofs"],
        "myst_enable_extensions": ["colon_fence", "dollarmath"],
    }
    out = tmp_path / "html"
    Sphinx(tmp_path, None, out, tmp_path / "trees", "html", settings, status=None).build()
    soup = BeautifulSoup((out / "index.html").read_text(encoding="utf-8"), "html.parser")
    (foot,) = soup.select("p.machine")  # none in a box that Coq has not read
    assert foot.find_parent(id="thm-pdp-op")
    assert foot.get_text().startswith("Checked by the Coq proof assistant: in part, from")
    assert "density (Lemma 1)" in foot.get_text()
    assert [a["href"] for a in foot.select("a")] == ["#lem-gamma-radius", "#proofs-thm-pdp-op"]


def test_the_ledger_and_the_page_name_all_boxes():
    back = proofs.ROOT / "book/back"
    ledger, page = ((back / f"{name}.md").read_text("utf-8") for name in ("ledger", "proofs"))
    for label, row in ROWS.items():
        words = "all of it" if row["part"] == "all" else "in part"
        assert f"[{words}](#proofs-{label})" in ledger
        for name in row["theorems"].split():
            assert proofs.theorem(row["file"], name) + ".\n" in page
    assert not re.search(r"\b(lra|nra|apply|rewrite|Qed)\b", page)


# --- formal statement and code --------------------------------------------------------------------


@pytest.mark.parametrize(("lam", "d"), GRID)
def test_constants_of_ridge(lam, d):
    formal = functions("Sensitivity")
    bound = formal["norm_bound"](d)(lam)
    assert bound == pytest.approx(norm_bound(lam, d, "published"), rel=ROUNDING)
    constant = formal["constant"](d)(lam)(bound)
    assert constant == pytest.approx(ridge_constant(lam, d, "published"), rel=ROUNDING)


def records(X, y):
    """What `row` and `label` of a data set are."""
    return {"row": lambda D: lambda j: vector(X[j]), "label": lambda D: vector(y)}


def test_the_loss_of_ridge_is_least_where_the_package_says():
    rng = np.random.default_rng(1)
    X, y, w = rng.random((7, 2)), rng.uniform(-1, 1, 7), rng.dirichlet(np.ones(7))
    loss = functions("Sensitivity", **records(X, y))["loss"](7)(2)(vector(w))(0.3)(None)
    theta = weighted_ridge(X, y, 0.3, w)
    least = loss(vector(theta))
    assert least == pytest.approx(np.sum(w * (y - X @ theta) ** 2) + 0.3 * theta @ theta)
    moves = rng.normal(size=(20, 2))
    # the loss is a parabola along a line: at least lam times the squared move above its minimum
    assert all(loss(vector(theta + move)) >= least + 0.3 * move @ move for move in moves)


def test_the_law_of_pdp_op():
    rng = np.random.default_rng(2)
    X, y, eps = rng.random((6, 3)), rng.uniform(-1, 1, 6), np.array([1, 0.5, 0.2, 0.2, 2, 0.1])
    law = PDPRidge(0.1, proof="published").output_law(X, y, epsilon=eps)
    formal = functions("PdpOp", **records(X, y))
    constant = formal["constant"](3)(0.1)(formal["norm_bound"](3)(0.1))
    rate = formal["rate"](6)(vector(eps))(constant)
    assert law.eta == pytest.approx(rate, rel=ROUNDING)
    weights = array(formal["weight"](6)(vector(eps)), 6)
    np.testing.assert_allclose(weights, pdp_weights(eps), rtol=ROUNDING)
    np.testing.assert_allclose(law.center, weighted_ridge(X, y, 0.1, weights), atol=ROUNDING)
    density = formal["density"](3)(rate)(1)(vector(law.center))
    points = law.center + rng.normal(size=(5, 3)) / rate
    logs = np.log([density(vector(point)) for point in points])
    np.testing.assert_allclose(np.diff(logs), np.diff(law.logpdf(points)), atol=ROUNDING)


def test_the_best_threshold():
    eps = np.array([1.0, 0.5, 0.2, 0.2, 0.1])  # the five budgets of the club
    formal, C = functions("BestThreshold"), 3.0
    best = formal["best"](5)(vector(eps))
    assert best == pytest.approx(threshold_budgets(eps).sum(), rel=ROUNDING)
    rate = formal["threshold_rate"](5)(vector(eps))(threshold_budgets(eps).max())(C)
    assert rate == pytest.approx(best / C, rel=ROUNDING)


@pytest.mark.parametrize("A", [0.01, 0.3, 5.0])
def test_the_best_weights_of_people(A):
    formal, sizes = functions("WeightedAverage"), np.array([40, 6, 3, 2, 1])
    m, best = len(sizes), tradeoff_weights(sizes, A)
    size = counts(sizes)
    level = max(formal["level_of_first"](size)(A)(k) for k in range(1, m + 1))
    assert level == pytest.approx(best.h, rel=ROUNDING)
    assert level == pytest.approx(best_level(sizes, A), rel=ROUNDING)
    weights = array(formal["best_person_weight"](m)(size)(level), m)
    np.testing.assert_allclose(weights, best.weights, rtol=ROUNDING)
    # the variance in units of the noise, at any weights of records
    c = np.random.default_rng(3).dirichlet(np.ones(m))

    def weight(person):
        return lambda record: c[person] / sizes[person]

    sigma, kappa = 2.0, 4.0 / A
    assert formal["ratio"](sigma)(kappa) == pytest.approx(A, rel=ROUNDING)
    variance = formal["variance"](m)(size)(sigma)(kappa)(weight)
    assert variance == pytest.approx(kappa * tradeoff_value(c, sizes, A), rel=ROUNDING)


def test_the_noise_of_a_mean():
    formal, sizes = functions("MeanNoise"), np.array([3, 2, 1])
    users, y = np.repeat([0, 1, 2], sizes), np.linspace(-1, 1, 6)
    law = WeightedMean(epsilon=0.7, sigma2=0.3).output_law(y[:, None], y, users=users)
    plan = tradeoff_weights(sizes, tradeoff(0.3, 2.0, 0.7))
    scale = formal["noise_scale"](3)(counts(sizes))(2.0)(0.7)(
        lambda person: lambda record: plan.row_weights[person]
    )
    assert law.scale == pytest.approx(scale, rel=ROUNDING)
    A = formal["ratio"](np.sqrt(0.3))(formal["kappa"](2.0)(0.7))
    assert pytest.approx(tradeoff(0.3, 2.0, 0.7), rel=ROUNDING) == A
    outputs = np.array([-1.0, 0.1, 0.5])
    logs = [np.log(formal["laplace"](scale)(o)) for o in outputs]
    np.testing.assert_allclose(logs, stats.laplace(scale=scale).logpdf(outputs), atol=ROUNDING)


def test_the_dual_of_the_best_weights():
    rng = np.random.default_rng(4)
    sizes, d, sigma2, width = np.array([4, 3, 2]), 2, 0.5, 2.0
    X, users, eps = rng.normal(size=(9, d)), np.repeat([0, 1, 2], sizes), np.array([1, 0.5, 2])
    C, Lambda = np.linalg.pinv(X), np.linalg.inv(X.T @ X)  # least squares
    objective, bound, _ = certify(
        C, X, users, multipliers=Lambda, sigma2=sigma2, epsilon=eps[users], width=width
    )
    formal, first = functions("GwaDual"), np.cumsum([0, *sizes])

    def of_rows(values):
        return lambda person: lambda row: vector(values[first[person] + row])

    setting = (3, counts(sizes), d, vector(eps / width), np.sqrt(sigma2))
    stated = applied(formal["objective"], *setting, of_rows(C.T))
    assert stated == pytest.approx(objective, rel=ROUNDING)

    def G(nu):
        return applied(formal["G"], *setting, of_rows(X), table(Lambda), vector(nu))

    # the package finds the best levels nu of its multipliers; no others give a smaller G
    smallest = optimize.minimize(G, np.full(3, 0.01), bounds=[(0, None)] * 3, tol=1e-14).fun
    trace = formal["trace"](d)(table(Lambda))
    assert sigma2 * trace**2 / (2 * smallest) == pytest.approx(bound, rel=1e-6)  # of the search
    assert sigma2 * trace**2 / (2 * smallest) <= bound * (1 + ROUNDING)


def test_a_personal_coin():
    """The reports of the package are true as often as the formal coin says."""
    chance = functions("Coins")["report_chance"](0.8)
    reports = personal_coin(np.ones(100_000), np.full(100_000, 0.8), np.random.default_rng(5))
    error = np.sqrt(chance(True)(True) * chance(True)(False) / 100_000)
    assert abs(np.mean(reports == 1) - chance(True)(True)) < 5 * error
