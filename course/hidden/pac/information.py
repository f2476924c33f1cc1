"""Information, and the noise that buys it."""

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ROUNDING
from pdpbook.pages.exercises.pac import covariance, hidden, rotation
from pdpbook.pages.exercises.properties import Answer, Demands

# --- gaussian_information -------------------------------------------------------------------------

SOME = 1e-6  # nats; far below what any of these outputs tells, and above what rounds to 0


@hidden("gaussian_information", weight=3, promise=True)
def a_gaussian_output_tells_just_that(answer: Answer, rng: Generator) -> Demands:
    """For a Gaussian output it is the mutual information, neither more nor less."""
    for d in (1, 2, 5):
        S, B = covariance(rng, d), covariance(rng, d)
        released, noise = stats.multivariate_normal(cov=S + B), stats.multivariate_normal(cov=B)
        yield bool(np.isclose(answer(S, B), released.entropy() - noise.entropy()))


@hidden("gaussian_information")
def coordinates_do_not_matter(answer: Answer, rng: Generator) -> bool:
    """Other coordinates or other units, for output and noise alike, change nothing."""
    S, B, A = covariance(rng, 4), covariance(rng, 4), rng.normal(size=(4, 4)) + 3 * np.eye(4)
    found = answer(S, B)
    return bool(found > SOME and np.isclose(answer(A @ S @ A.T, A @ B @ A.T), found, rtol=ROUNDING))


@hidden("gaussian_information")
def an_output_may_vary_in_one_direction_only(answer: Answer, rng: Generator) -> bool:
    """An output that varies along one line tells what one number tells."""
    B, way = covariance(rng, 4), rng.normal(size=4)
    along = float(way @ np.linalg.solve(B, way))
    one = answer(np.array([[along]]), np.array([[1.0]]))
    return bool(one > SOME and np.isclose(answer(np.outer(way, way), B), one, rtol=ROUNDING))


@hidden("gaussian_information")
def many_coordinates_are_no_overflow(answer: Answer, rng: Generator) -> bool:
    """Three hundred independent coordinates tell three hundred times what one of them tells."""
    one = answer(np.array([[100.0]]), np.array([[1.0]]))
    return bool(one > SOME and np.isclose(answer(100 * np.eye(300), np.eye(300)), 300 * one))


@hidden("gaussian_information", promise=True)
def a_little_variance_tells_a_little(answer: Answer, rng: Generator) -> bool:
    """An output that hardly varies tells half of what its variances are beside those of noise."""
    S, B = covariance(rng, 4), covariance(rng, 4)
    share = 1e-3 / float(np.trace(np.linalg.solve(B, S)))
    found = [answer(k * share * S, B) for k in (1.0, 1e-3)]
    return bool(np.allclose(found, [5e-4, 5e-7], rtol=1e-3, atol=0))


# --- cheapest_noise -------------------------------------------------------------------------------


def _exposure(S: Any, B: Any) -> float:
    return float(np.trace(np.linalg.solve(B, S))) / 2


@hidden("cheapest_noise", promise=True)
def the_target_is_kept(answer: Answer, rng: Generator) -> Demands:
    """The bound on the information is at most v."""
    for v in (0.02, 0.4, 3.0):
        S = covariance(rng, 4)
        B = np.asarray(answer(S, v))
        yield bool(np.linalg.eigvalsh(B).min() > 0 and _exposure(S, B) <= v * (1 + 1e-5))


@hidden("cheapest_noise", weight=3)
def no_other_noise_is_cheaper(answer: Answer, rng: Generator) -> bool:
    """No other noise that keeps the target has a smaller trace."""
    S, v = covariance(rng, 4), float(rng.uniform(0.05, 1))
    B = np.asarray(answer(S, v))
    root, cost = np.linalg.cholesky(B), np.trace(B)
    for _ in range(20):  # the problem is convex: what is best nearby is best
        W = rng.normal(size=(4, 4))
        W = (W + W.T) / np.linalg.norm(W + W.T)
        for step in (0.3, -0.3, 0.03, -0.03):
            other = root @ (np.eye(4) + step * W) @ root.T
            other *= _exposure(S, other) / v
            if np.trace(other) < cost * (1 - 1e-5):
                return False
    return True


@hidden("cheapest_noise")
def noise_turns_with_the_output(answer: Answer, rng: Generator) -> bool:
    """An output that is rotated gets its noise rotated, and nothing else changes."""
    S, Q = covariance(rng, 4), rotation(rng, 4)
    straight, turned = np.asarray(answer(S, 0.3)), np.asarray(answer(Q @ S @ Q.T, 0.3))
    return bool(np.allclose(turned, Q @ straight @ Q.T, atol=1e-4 * np.trace(straight)))


@hidden("cheapest_noise", promise=True)
def noise_has_the_units_of_a_variance(answer: Answer, rng: Generator) -> bool:
    """An output in much smaller or larger units gets the same noise in those units."""
    S, fine = covariance(rng, 3), []
    one = np.asarray(answer(S, 0.2))
    for unit in (100.0, 1e-8):
        other = np.asarray(answer(unit * S, 0.2)) / unit
        fine.append(bool(np.allclose(other, one, atol=1e-3 * np.trace(one))))
    return all(fine)


@hidden("cheapest_noise")
def what_never_varies_needs_no_noise(answer: Answer, rng: Generator) -> Demands:
    """A direction in which the output never varies gets no noise, and the others what they need."""
    for d in (1, 1, 2, 2, 3, 3):
        S, v, Q = covariance(rng, d), 0.4, rotation(rng, 5)
        wide = Q[:, :d] @ S @ Q[:, :d].T  # the last columns of Q are never moved
        B = np.asarray(answer(wide, v))
        bare, kept = Q[:, d:].T @ B @ Q[:, d:], Q[:, :d].T @ B @ Q[:, :d]
        quiet = np.allclose(bare, 0, atol=1e-5 * np.trace(kept))
        yield bool(quiet and abs(_exposure(S, kept) - v) <= 1e-4 * v)
