"""Write heavy_a.csv and heavy_b.csv: two invented tables with heavy-tailed labels.

Nobody in them is real; every value comes from the random generator below.
Run:  python make.py      (writes beside this file, then prints the facts
                           that README.md quotes)
Needs numpy and pandas only.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
SEED_A, SEED_B = 20240611, 20240612

# Public bounds: wide round numbers, stated without looking at the data.
# They hold by construction: make_a and make_b clip to them or to narrower limits.
BOUNDS_A = {
    "age": (0, 120),
    "earlier_stays": (0, 50),
    "crp": (0, 500),
    "creatinine": (0, 2000),
    "urea": (0, 100),
    "albumin": (0, 70),
    "haemoglobin": (0, 250),
    "emergency": (0, 1),
    "days": (0, 60),
}
BOUNDS_B = {
    "school_years": (0, 30),
    "hours_week": (0, 100),
    "age": (18, 100),
    "urban": (0, 1),
    "children": (0, 15),
    "income": (0, 250),
}


def make_a(n: int = 3000) -> pd.DataFrame:
    r = np.random.default_rng(SEED_A)
    age = np.clip(
        np.round(np.where(r.random(n) < 0.7, r.normal(68, 13, n), r.normal(42, 14, n))), 18, 103
    )
    za = (age - 60) / 18
    frail = 0.4 * za + r.normal(0, 1, n)  # hidden, not in the table
    inflam = 0.2 * frail + r.normal(0, 1, n)  # hidden, not in the table
    emergency = (r.random(n) < 1 / (1 + np.exp(-(0.2 + 0.6 * inflam)))).astype(int)
    earlier = np.minimum(r.negative_binomial(0.8, 0.8 / (0.8 + np.exp(0.3 + 0.45 * frail))), 40)
    crp = np.clip(np.exp(2.7 + 1.1 * inflam + 0.5 * r.normal(size=n)), 0.3, 480)
    lcr = 4.4 + 0.20 * frail + 0.12 * za + 0.30 * r.standard_t(5, n)
    creat = np.clip(np.exp(lcr), 25, 1500)
    urea = np.clip(np.exp(1.75 + 0.75 * (lcr - 4.4) + 0.25 * r.normal(size=n)), 1, 80)
    alb = np.clip(39 - 3.0 * inflam - 1.5 * frail + r.normal(0, 3, n), 12, 56)
    hb = np.clip(132 - 6 * frail - 3 * inflam + r.normal(0, 14, n), 45, 200)
    mu = 1.57 + 0.22 * frail + 0.25 * inflam + 0.25 * emergency + 0.12 * np.minimum(earlier, 8) / 2
    days = np.clip(np.floor(np.exp(mu + 0.72 * r.normal(size=n))), 0, 60).astype(int)
    return pd.DataFrame(
        {
            "age": age.astype(int),
            "earlier_stays": earlier,
            "crp": crp.round(1),
            "creatinine": creat.round(0).astype(int),
            "urea": urea.round(1),
            "albumin": alb.round(0).astype(int),
            "haemoglobin": hb.round(0).astype(int),
            "emergency": emergency,
            "days": days,
        }
    )


def make_b(n: int = 2500) -> pd.DataFrame:
    r = np.random.default_rng(SEED_B)
    age = np.clip(np.round(18 + 72 * r.beta(1.6, 2.3, n)), 18, 95)
    urban = (r.random(n) < 0.68).astype(int)
    school = np.clip(
        np.round(12.2 + 0.9 * urban - 0.02 * (age - 45) + 2.8 * r.normal(size=n)), 0, 24
    )
    works = r.random(n) < np.where(age < 66, 0.85, 0.15)
    full = r.random(n) < 0.75
    hours = np.where(works, np.where(full, r.normal(40, 6, n), r.normal(22, 7, n)), 0)
    usual = np.isin(np.round(hours), [38, 39, 41, 42])
    hours = np.where(usual & (r.random(n) < 0.7), 40, hours)  # people answer "40"
    hours = np.clip(np.round(hours), 0, 90)
    children = np.minimum(r.poisson(np.where(age < 26, 0.3, 1.7)), 12)
    # scale from the columns, times a Pareto factor (minimum 1, tail index alpha)
    scale = np.exp(
        2.35
        + 0.105 * (school - 12)
        + 0.021 * hours
        + 0.10 * urban
        + 0.012 * (np.minimum(age, 60) - 40)
        - 0.03 * children
    )
    alpha = 2.5
    pareto = (1 - r.random(n)) ** (-1 / alpha)
    income = scale * pareto * np.exp(0.15 * r.normal(size=n))
    income = np.where(r.random(n) < 0.02, 0, income)  # some state no income
    income = np.clip(income, 0, 250)  # cut at the bound
    return pd.DataFrame(
        {
            "school_years": school.astype(int),
            "hours_week": hours.astype(int),
            "age": age.astype(int),
            "urban": urban,
            "children": children,
            "income": income.round(1),
        }
    )


def r2(d: pd.DataFrame, label: str) -> float:
    """In-sample R2 of ordinary least squares with an intercept."""
    y = d[label].to_numpy(float)
    X = np.column_stack([np.ones(len(d)), d.drop(columns=label).to_numpy(float)])
    e = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    return float(1 - (e @ e) / ((y - y.mean()) ** 2).sum())


def facts(d: pd.DataFrame, label: str, bounds: Any, name: str) -> None:
    y = d[label]
    assert list(d.columns) == list(bounds)
    assert not d.isna().any().any()
    for c, (lo, hi) in bounds.items():
        assert d[c].between(lo, hi).all(), c
    q = y.quantile([0.5, 0.9, 0.99])
    print(f"\n{name}: {d.shape[0]} rows, {d.shape[1] - 1} columns + {label}")
    print(
        f"{label}: mean {y.mean():.2f} sd {y.std():.2f} median {q[0.5]:.1f} "
        f"p90 {q[0.9]:.1f} p99 {q[0.99]:.1f} max {y.max()} skew {y.skew():.2f} "
        f"at top bound {(y == bounds[label][1]).sum()} zeros {(y == 0).sum()} "
        f"| linear R2 {r2(d, label):.3f}"
    )
    print(d.describe().T[["min", "mean", "50%", "std", "max"]].round(2).to_string())
    print(d.corr().round(2).to_string())


if __name__ == "__main__":
    for make, label, bounds, name in (
        (make_a, "days", BOUNDS_A, "heavy_a.csv"),
        (make_b, "income", BOUNDS_B, "heavy_b.csv"),
    ):
        make().to_csv(HERE / name, index=False, lineterminator="\n")
        facts(pd.read_csv(HERE / name), label, bounds, name)
