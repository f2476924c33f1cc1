"""Covariances and rotations to try an answer on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator


def covariance(rng: Generator, d: int) -> Any:
    """Correlated, and with axes of different lengths."""
    root = rng.normal(size=(d, d)) * np.geomspace(0.3, 2, d)
    return root @ root.T + 0.05 * np.eye(d)


def rotation(rng: Generator, d: int) -> Any:
    return np.linalg.qr(rng.normal(size=(d, d)))[0]
