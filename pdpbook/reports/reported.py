"""The method `report` of every estimator, and the warning at the end of a fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pdpbook import check
from pdpbook.advice import PublicNumbersWarning, advise
from pdpbook.reports.noise import Crowd, Noise
from pdpbook.reports.report import Report, Ways, report_of


class Reported:
    """`report` for an estimator that says in `_noise` what its noise is."""

    noise_: Noise
    _reads_rows = True  # a mean does not: it needs no number of columns
    _ways = Ways()  # of this mechanism; more people, or fewer columns, serve all

    def report(
        self,
        n: int | None = None,
        d: int | None = None,
        *,
        epsilon: Any = None,
        users: Any = None,
        X: Any = None,
        y: Any = None,
        label_sd: float | None = None,
    ) -> Report:
        """What the noise does to coefficients and predictions, from public numbers alone.

        Before `fit` say who is to come; after it leave all that out. Print it, or take its fields.

        Parameters
        ----------
        n, d : int, optional
            Rows and columns to come; for means `d` is not needed.
        epsilon : float or array_like, optional
            Budgets in nats, as in `fit`; where `users` are sizes, a number or one each.
        users : array_like, optional
            Sizes: how many rows each user has, in place of `n`. With public X as in `fit`.
        X, y : array_like, shapes (n, d) and (n,), optional
            The table, where it is public: label-private regressions and PAC, in place of n and d;
            and the labels of a public pool: PAC alone.
        label_sd : float, optional
            Standard deviation of the labels, a public guess in your units, for the error of a
            private constant. None is labels spread evenly over their range.
        """
        if all(value is None for value in (n, d, epsilon, users, X, y)):
            check_is_fitted(self, "noise_")
            known, names = self.noise_, getattr(self, "feature_names_in_", ())
        else:
            known, names = self._noise(self._crowd(n, d, epsilon, users, X, y)), ()
        return report_of(self, known, names, label_sd)

    def _noise(self, crowd: Crowd) -> Noise:
        """The noise of this mechanism for a crowd: a function of public things alone."""
        raise NotImplementedError

    def _keep_noise(self, crowd: Crowd, loudness: Any = None) -> None:
        """At the end of a fit: keep what is public, and warn where the noise drowns the labels."""
        self.noise_ = self._noise(crowd._replace(fitted=True, loudness=loudness))
        relation = getattr(self.guarantee_, "neighbors", "")  # type: ignore[attr-defined]
        one = relation in ("add-remove", "zero-out")  # PAC privacy has no neighbors
        if one and not isinstance(crowd.epsilon, str):  # whether anybody is left out is not said
            level = f"{np.max(crowd.epsilon):g} nats, 0 for whoever takes no part"
            self.noise_ = replace(self.noise_, budget=level)
        moved = self.noise_.frame.prediction(self.noise_.covariance)
        width = self.noise_.width
        if width is not None and not moved <= width:
            advise(
                f"the noise alone moves a prediction by {moved:.3g} (root mean square), more than "
                f"the whole range of the labels, {width:.3g}: print(model.report()) says what "
                "would do better",
                PublicNumbersWarning,
            )

    def _crowd(self, n: Any, d: Any, epsilon: Any, users: Any, X: Any, y: Any) -> Crowd:
        refuse_others(self, "n and d", users=users, X=X, y=y)
        n, d = check.count(n, "n"), check.count(d, "d") if self._reads_rows else 0
        budgets = self._check_settings(epsilon)  # type: ignore[attr-defined]
        return Crowd(d, check.epsilon(budgets, n), n)


def refuse_others(model: Any, wanted: str, **given: Any) -> None:
    """Refuse what `report` of this estimator does not read."""
    name = type(model).__name__
    for argument, value in given.items():
        if value is not None:
            raise ValueError(f"{argument} must be None in {name}.report, which reads {wanted}")
