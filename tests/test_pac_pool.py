"""Pools far from the origin and in odd units: differences, and what is certified and released."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pdpbook.pac import (
    PACRegression,
    Pool,
    calibrate_release,
    certify_noise,
    whitener,
)

EXACT = 60  # decimal digits of the refits
FEW = 1e-7  # of the largest; rounding of 1e-16 over what a mean of 1e8 leaves of a width of 1


def table(n=14, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, X @ [1.0, -0.5] + 0.3 * rng.standard_normal(n)


def weights(X, y, alpha, intercept=True):
    """Normal equations at 60 digits, of these very numbers; coefficients first, as mpf."""
    with mpmath.workdps(EXACT):
        Z = np.column_stack([X, np.ones((len(y), int(intercept)))])
        if len(y) == 0:
            return np.array([mpmath.mpf(0)] * Z.shape[1])
        rows = mpmath.matrix(Z.tolist())
        gram = rows.T * rows
        for k in range(X.shape[1]):
            gram[k, k] += mpmath.mpf(alpha)
        return np.array(list(mpmath.lu_solve(gram, rows.T * mpmath.matrix(y.tolist()))))


def differences(X, y, mask, alpha, intercept=True):
    """By two refits a person."""
    out = []
    for i in range(len(y)):
        with_i, without = mask.copy(), mask.copy()
        with_i[i], without[i] = True, False
        pair = [weights(X[half], y[half], alpha, intercept) for half in (with_i, without)]
        out.append([float(a - b) for a, b in zip(*pair, strict=True)])
    return np.array(out)


def assert_near(got, exact, tolerance=FEW):
    """Each weight in units of its largest difference."""
    assert np.all(np.abs(got - exact) <= tolerance * np.abs(exact).max(axis=0))


UNITS = {
    "as they are": ([0.0, 0.0], [1.0, 1.0], 0.0),
    "means of 1e6": ([1e6, -1e6], [1.0, 1.0], 1e6),
    "means of 1e8": ([1e8, 3e8], [1.0, 1.0], -1e8),
    "widths of 1e-8": ([0.0, 1.0], [1e-8, 1e-8], 0.0),
    "all of them": ([1e8, 0.0], [1.0, 1e-8], 1e8),
    "far apart": ([1e8, 0.0], [1e8, 1e-8], 0.0),
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("model", "alpha"), [("ridge", 1.0), ("ridge", 1e-6), ("ols", 0.0)])
def test_differences_are_those_of_refits_at_sixty_digits(unit, model, alpha):
    (X, y), (mean, width, level) = table(), UNITS[unit]
    X, y = np.array(mean) + width * X, level + y
    mask = np.random.default_rng(2).random(len(y)) < 0.6
    exact = differences(X, y, mask, alpha)
    pool, known = Pool(X, y, model, alpha), weights(X[mask], y[mask], alpha).astype(float)
    assert_near(pool.differences(mask[None])[1][0], exact)
    assert_allclose(pool.fits(mask[None])[0], known, rtol=FEW)
    assert_allclose(pool.differences(mask[None])[0][0], known, rtol=FEW)


def uncentered(X, y, mask, alpha):
    """Planted: an inverse of the normal equations of the columns as given."""
    Z = np.column_stack([X, np.ones(len(y))])
    inverse = np.linalg.inv(Z[mask].T @ Z[mask] + alpha * np.diag([1.0, 1.0, 0.0]))
    U = Z @ inverse
    h = (U * Z).sum(axis=1)
    r = y - Z @ inverse @ Z[mask].T @ y[mask]
    return (r / np.where(mask, 1 - h, 1 + h))[:, None] * U


def test_normal_equations_as_given_are_caught():
    X, y = table()
    mask = np.random.default_rng(2).random(len(y)) < 0.6
    assert_near(uncentered(X, y, mask, 1.0), differences(X, y, mask, 1.0))
    X = X + np.array([1e6, -1e6])
    with pytest.raises(AssertionError):
        assert_near(uncentered(X, y, mask, 1.0), differences(X, y, mask, 1.0))


def test_units_of_features_do_not_make_a_pool_singular():
    rng = np.random.default_rng(4)
    X, y = rng.random((1100, 4)), rng.random(1100)
    mask, units = np.arange(1100) % 2 == 0, np.geomspace(1e-7, 1e7, 4)
    given = {"model": "ols", "fit_intercept": False}
    got = Pool(X * units, y, **given).differences(mask[None])[1][0]
    one = Pool(X, y, **given).differences(mask[None])[1][0]
    assert_allclose(got * units, one, rtol=1e-9, atol=1e-9 * np.abs(one).max())  # condition: 100


def test_without_an_intercept_nothing_is_centered():
    X, y = table()
    X, mask = X + np.array([3.0, -2.0]), np.arange(len(y)) % 2 == 0
    got = Pool(X, y, alpha=0.5, fit_intercept=False).differences(mask[None])[1][0]
    assert_near(got, differences(X, y, mask, 0.5, intercept=False))


@pytest.mark.parametrize("alpha", [1e-300, 1e-30, 1e-16, 1e-12, 1e-7, 1e-4, 1.0])
@pytest.mark.parametrize("mean", [0.0, 1e8])
def test_a_repeated_column_has_a_right_answer_or_a_named_error(alpha, mean):
    X, y = table()
    X, mask = np.column_stack([mean + X, mean + X[:, 0]]), np.arange(len(y)) % 2 == 0
    pool = Pool(X, y, "ridge", alpha)
    if alpha < 1e-7:
        with pytest.raises(
            ValueError, match=r"^alpha must be larger for these columns of X.*; got"
        ):
            pool.differences(mask[None])
        with pytest.raises(ValueError, match=r"^alpha must be larger for these columns of X"):
            PACRegression(alpha=alpha, draws=50).fit(X, y)
    else:
        assert_near(pool.differences(mask[None])[1][0], differences(X, y, mask, alpha), 1e-4)
        model = PACRegression(alpha=alpha, draws=50, random_state=162)  # Clarabel warns at 162
        assert np.isfinite(model.fit(X, y).coef_).all()


def test_a_column_that_one_person_makes_is_seen_without_them():
    """With them the half is fine; without, the column is constant, and the penalty is too small."""
    X, y = table()
    X[:, 1] = np.arange(len(y)) == 0
    everybody = np.ones((1, len(y)), dtype=bool)
    assert np.isfinite(Pool(X, y, "ridge", 1e-3).differences(everybody)[1]).all()
    with pytest.raises(ValueError, match="alpha must be larger"):
        Pool(X, y, "ridge", 1e-14).differences(everybody)


def test_columns_collinear_all_together_are_seen():
    """Kahan's matrix: no column is near the span of those before it, and rank is nearly lost."""
    p, c = 24, 0.6
    kahan = np.diag(0.8 ** np.arange(p)) @ (np.eye(p) - c * np.triu(np.ones((p, p)), 1))
    rng = np.random.default_rng(6)
    X = np.linalg.qr(rng.standard_normal((60, p)))[0] @ kahan
    everybody = np.ones((1, 60), dtype=bool)
    for model, alpha, words in [("ols", 0.0, "full rank"), ("ridge", 1e-16, "alpha must be")]:
        with pytest.raises(ValueError, match=words):
            Pool(X, rng.random(60), model, alpha, fit_intercept=False).differences(everybody)


def test_shortest_solutions_are_those_of_scikit_learn():
    from sklearn.linear_model import LinearRegression

    X, y = table()
    X = np.column_stack([X, X[:, 0] - X[:, 1]]) + 5.0
    for size in (1, 2, 14):
        mask = np.arange(len(y)) < size
        fit = LinearRegression().fit(X[mask], y[mask])
        got = Pool(X, y, "ols", 0.0).fits(mask[None])[0]
        assert_allclose(got, [*fit.coef_, fit.intercept_], atol=1e-9)


# ------------------------------------------------------------------ what is certified is released

FAR = {"X": 2.0**27 * np.array([1.0, -2.0]), "y": 2.0**27}  # 134,217,728: sums with it are exact


def far(n=20):
    """A table on a grid of 2^-20, so that moving it changes no difference of two of its numbers."""
    X, y = (np.round(part * 2**20) / 2**20 for part in table(n))
    return X, y


@pytest.mark.parametrize("setting", [{}, {"model": "ols", "task": "loss", "calibration": "tv"}])
def test_where_the_origin_is_changes_nothing(setting):
    X, y = far(60)
    one, two = (PACRegression(draws=300, random_state=3, **setting) for _ in range(2))
    one.fit(X, y)
    two.fit(X + FAR["X"], y + FAR["y"])
    assert_allclose(two.coef_, one.coef_, rtol=1e-6)
    assert_allclose(two.covariance_[:-1, :-1], one.covariance_[:-1, :-1], rtol=1e-6)
    assert_allclose(two.certificate_.mean, one.certificate_.mean, rtol=1e-6)
    assert_allclose(two.predict(X + FAR["X"]) - FAR["y"], one.predict(X), atol=1e-6)


@pytest.mark.parametrize("moved", [False, True])
def test_the_certificate_is_about_what_fit_releases(moved, monkeypatch):
    """Refits at 60 digits, clipped by hand: the mean of three halves, and what noise is added to.

    The seed is spawned as `fit` does; three halves keep the refits few, and the noise is drawn by
    the generator that drew the half.
    """
    X, y = far()
    if moved:
        X, y = X + FAR["X"], y + FAR["y"]
    model = PACRegression(draws=200, random_state=5)
    release = model.calibrate(Pool(X, y).centered(), np.random.default_rng(5).spawn(2)[0])
    region = release.region
    W = whitener(release.covariance)[0]
    x, level = X.mean(axis=0), y.mean()

    def clipped(mask):
        fit = weights(X[mask], y[mask], 1.0)
        with mpmath.workdps(EXACT):  # the value at the pool's mean, less the mean label
            fit[-1] = fit[-1] + sum(c * v for c, v in zip(x, fit, strict=False)) - level
        off = fit.astype(float) - region.center
        length = np.sqrt(off @ np.linalg.pinv(region.covariance) @ off)
        return region.center + off * min(1.0, region.radius / length)

    known = certify_noise(
        Pool(X - x, y - level), release.covariance, 0.75, region=region, draws=3, rng=rng_of(8)
    )
    lengths = np.zeros(len(y))
    for mask in rng_of(8).random((3, len(y))) < 0.5:
        for i in range(len(y)):
            with_i, without = mask.copy(), mask.copy()
            with_i[i], without[i] = True, False
            lengths[i] += np.sum((W @ (clipped(with_i) - clipped(without))) ** 2) / 3
    assert_allclose(known.mean, lengths, rtol=1e-6)

    fitted = model.fit(X, y)
    secret = np.random.default_rng(5).spawn(2)[1]
    half = secret.random((1, len(y)))[0] < 0.5
    noise = whitener(release.covariance)[1] @ secret.standard_normal(3)
    want = clipped(half) + noise
    value = fitted.intercept_ + x @ fitted.coef_ - level
    # an intercept of 1e8 is a float with eight decimals
    assert_allclose([*fitted.coef_, value], want, atol=1e-6 * np.abs(want).max())


def rng_of(seed):
    return np.random.default_rng(seed)


def test_narrow_columns_are_ordinary():
    """In units of 2^-27 the coefficients are 2^27 as large, and so is their noise."""
    X, y = far(60)
    setting = {"model": "ols", "task": "loss", "basis": "unit", "draws": 300, "random_state": 3}
    one = PACRegression(**setting).fit(X, y)
    two = PACRegression(**setting).fit(X / 2.0**27, y)
    assert_allclose(two.coef_ / 2.0**27, one.coef_, rtol=1e-4)
    assert two.certificate_.holds
    assert PACRegression(draws=300, random_state=3).fit(X * [1e8, 1e-8], y).certificate_.holds


# ------------------------------------------------------------------ nothing to hide


@pytest.mark.parametrize("value", [0.0, 0.1, 7.0, 1e8])
def test_one_label_for_everybody_is_refused_by_name(value):
    X, _ = table()
    for basis in ("difference", "svd", "unit"):
        with pytest.raises(ValueError, match=r"^y must differ between people.* nothing for noise"):
            PACRegression(basis=basis, draws=100, random_state=0).fit(X, np.full(len(X), value))


def test_a_label_that_columns_explain_is_refused_by_name():
    X, _ = table(60)
    with pytest.raises(ValueError, match=r"^y must differ .* more than a linear function of X"):
        PACRegression("ols", draws=100, random_state=0).fit(X, X @ [1.0, 2.0] + 3)
    assert PACRegression(draws=100, random_state=0).fit(X, X @ [1.0, 2.0] + 3).certificate_.holds
    release = calibrate_release(
        Pool(X, np.ones(60), fit_intercept=False), draws=100, rng=np.random.default_rng(0)
    )  # without an intercept one label is a label like others
    assert release.certificate.holds


def test_a_pool_and_its_centered_twin_have_one_model():
    X, y = table()
    pool, masks = Pool(X + 3, y - 2), np.random.default_rng(4).random((5, 14)) < 0.5
    turn, shift = pool.origin
    assert_allclose(pool.centered().fits(masks) @ turn.T + shift, pool.fits(masks), atol=1e-12)
    plain = Pool(X, y, fit_intercept=False)
    assert_array_equal(plain.centered().X, X)
    assert_array_equal(plain.origin[0], np.eye(2))
