"""Data with people of all kinds, and the laws of a release with and without one of them."""

from typing import Any

import numpy as np

from pdpbook.pages.exercises.per_instance import hessian


def outsider(X: Any, y: Any, x: Any, label: float, lam: float, gamma: float) -> tuple[Any, Any]:
    """Leverage and scaled residual of somebody who is not in the data, by a fit to the data."""
    H = hessian(X, lam)
    residual = label - x @ np.linalg.solve(H, X.T @ y)
    return x @ np.linalg.inv(H) @ x, np.sqrt(gamma) * abs(residual)


def densities(leverage: Any, residual: Any, points: int = 20001, reach: float = 9) -> Any:
    """Scaled residual at the release on a grid: its densities without and with, times the step."""
    leverage, residual = np.asarray(leverage)[..., None], np.asarray(residual)[..., None]
    center, spread = residual / (1 + leverage), np.sqrt(leverage)
    low, high = center - reach * spread, residual + reach * spread
    v = low + (high - low) * np.linspace(0, 1, points)
    without = np.exp(-(((v - residual) / spread) ** 2) / 2) / spread
    joined = np.exp(-(((v - center) / spread) ** 2) * (1 + leverage) / 2) / spread
    step = (v[..., 1:2] - v[..., :1]) / np.sqrt(2 * np.pi)
    return v, without * step, joined * np.sqrt(1 + leverage) * step


def excess(p: Any, q: Any, epsilon: Any) -> Any:
    return np.maximum(p - np.exp(epsilon) * q, 0).sum(axis=-1)
