"""Lassos of many subsets at once, and of all their neighbors by updates of the active set.

When a person joins or leaves, most coefficients keep their signs. With the signs of the subset a
neighbor is one small linear solve, which the conditions of an optimum confirm or refuse; what is
refused is descended again. Not private: pools are known.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats
from pdpbook.pac import Pool

SWEEPS, ROUNDS = 5, 2000  # coordinate descents between two guesses of the signs, guesses at most
TINY, EXACT = 1e-12, 1e-9  # a column that does not vary; slack of an optimum


@dataclass(frozen=True, eq=False)
class LassoPool(Pool):
    """`pdpbook.pac.Pool` of a lasso with an intercept, whose subsets are fitted side by side."""

    model: str = "lasso"

    def fits(self, members: ArrayLike) -> Floats:
        """Weights of subsets, shape (T, n) to (T, p)."""
        Z = self._rows()
        masks = np.asarray(members, dtype=float)
        sums = (masks @ (Z[:, :, None] * Z[:, None, :]).reshape(len(Z), -1)).reshape(
            -1, Z.shape[1], Z.shape[1]
        )
        return self._solved(sums, None)

    def differences(self, members: ArrayLike) -> tuple[Floats, Floats]:
        """Weights of subsets, and with minus without each person, (T, n, p), as in `Pool`."""
        Z, masks = self._rows(), np.asarray(members)
        squares = Z[:, :, None] * Z[:, None, :]
        fits = self.fits(masks)
        moved = np.empty((len(masks), len(Z), self.p))
        for k, mask in enumerate(masks):
            sign = np.where(mask, 1.0, -1.0)
            neighbors = squares[mask].sum(axis=0) - sign[:, None, None] * squares
            others = self._solved(neighbors, np.broadcast_to(fits[k, :-1], (len(Z), self.p - 1)))
            moved[k] = sign[:, None] * (fits[k] - others)
        return fits, moved

    def _rows(self) -> Floats:
        return np.column_stack([self.X, self.y, np.ones(len(self.y))])

    def _solved(self, sums: Floats, near: Floats | None) -> Floats:
        """Weights from sums of products of (x, y, 1), starting `near` those of a neighbor."""
        d = self.X.shape[1]
        size = np.maximum(sums[:, -1, -1], 1)[:, None]  # the model of nobody is zero
        middle = sums[:, :-1, -1] / size
        both = sums[:, :-1, :-1] / size[:, :, None] - middle[:, :, None] * middle[:, None, :]
        coef = lassos(both[:, :d, :d], both[:, :d, d], self.alpha, near)
        return np.column_stack([coef, middle[:, d] - np.einsum("td,td->t", middle[:, :d], coef)])


def pool_with(X: Floats, y: Floats, model: str, alpha: float) -> Pool:
    """A pool of a model, where lassos are fitted side by side."""
    return LassoPool(X, y, alpha=alpha) if model == "lasso" else Pool(X, y, model, alpha)


def lassos(G: Floats, c: Floats, alpha: float, near: Floats | None = None) -> Floats:
    """Minimizers of b'Gb/2 - c'b + alpha |b|_1: signs are guessed, then one solve for each.

    The first guess is that of `near`, if given; later ones come from a few coordinate descents.
    """
    beta = np.zeros_like(c) if near is None else np.array(near)
    left = np.arange(len(c))
    if near is not None:
        left = _settled(beta, left, G, c, alpha)
    for _ in range(ROUNDS):
        if not len(left):
            break
        now, g, b = beta[left], G[left], c[left]
        for j in [*range(c.shape[1])] * SWEEPS:
            own = g[:, j, j]
            rest = b[:, j] - np.einsum("tk,tk->t", g[:, j], now) + own * now[:, j]
            pull = np.sign(rest) * np.maximum(np.abs(rest) - alpha, 0)
            now[:, j] = np.divide(pull, own, out=np.zeros_like(own), where=own > TINY)
        beta[left] = now
        left = _settled(beta, left, g, b, alpha)
    return beta


def _settled(
    beta: Floats, left: NDArray[np.int64], g: Floats, b: Floats, alpha: float
) -> NDArray[np.int64]:
    """Solve with the signs of `beta`, keep what is optimal, and return which are not."""
    now = beta[left]
    sign = np.sign(now)
    used = sign != 0
    eye = np.eye(now.shape[1])
    system = np.where(used[:, :, None] & used[:, None, :], g + TINY * eye, eye)
    solved = np.linalg.solve(system, (used * (b - alpha * sign))[:, :, None])[:, :, 0]
    slope = np.abs(b - np.einsum("tjk,tk->tj", g, solved))
    optimal = np.all((np.sign(solved) == sign) & (slope <= alpha + EXACT), axis=1)
    beta[left[optimal]] = solved[optimal]
    return np.asarray(left[~optimal])
