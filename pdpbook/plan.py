"""Which mechanism with which penalty, or none: a decision from public numbers alone.

Nothing here reads a table: all candidates are rehearsed on the same invented people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from pdpbook import Floats, check
from pdpbook.guarantees import BudgetAccount
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PDPRidge, PersonalizedMean
from pdpbook.rehearsal import (
    MOST_ROWS,
    Estimate,
    Rehearsal,
    budgets_at_levels,
    budgets_of_people,
    rehearse,
)
from pdpbook.release import generator_from
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.sums import Sums
from pdpbook.tables import row_count
from pdpbook.user_level import WeightedGradientDescent
from pdpbook.user_records import note_drawn_rows
from pdpbook.users import Users, check_user_epsilon, check_users

if TYPE_CHECKING:
    from pdpbook.datasets import PublicSchema

__all__ = ["Candidate", "ReleasePlan", "plan"]

PENALTIES = (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0)
LABEL_MEAN_SHARES = (0.0, 0.1)  # of every budget, for a private mean of the labels
NEIGHBORS = ("replace-one", "add-remove")
LEAST_GAIN = 0.05  # of the square of a private constant's error: rehearsals see no smaller one
MOST_LOSS = 0.05  # of the variance of the label, where a guess is wrong
TRIAL_REPEATS = 2  # for all candidates, before the best ones are rehearsed for good
SHORTLIST = 8  # how many are
ROWS_OF_REPEATS = 20_000  # about as many are invented for one of them
FEWEST_REPEATS, MOST_REPEATS = 5, 12
DOUBT_REPEATS = 2  # for each wrong guess: all candidates are rehearsed on the same people
SHOWN = 6  # candidates in the words of a plan

RELEASED = "Whoever computes a guess from the secret table has released it."


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A mechanism with its penalty, and what rehearsals say of it.

    Attributes
    ----------
    estimator : estimator
        Not fitted, with the public bounds.
    rehearsal : Rehearsal
        If the guesses are right.
    losses : dict of str to float
        For each wrong guess by how much it is worse than a private constant, as a share of the
        variance of the label, below 0 where it is better; empty where it was not rehearsed for
        them.
    why_not : str
        Why it is not the one that is taken; "" if it is.
    all_rows : bool
        Whether it is fitted to all rows of every user, by ``fit(..., users=names)``. Else to one
        row of each.
    """

    estimator: Any
    rehearsal: Rehearsal
    losses: Mapping[str, float] = field(default_factory=dict)
    why_not: str = ""
    all_rows: bool = False


@dataclass(frozen=True, kw_only=True)
class ReleasePlan:
    """What to publish, from public numbers alone; see `plan`.

    Attributes
    ----------
    estimator : estimator
        What to fit, not fitted yet: a regression, or the private mean. Where nothing can be
        published it is the mean, too, whose `fit` with these budgets says why not.
    rehearsal : Rehearsal or None
        The expected error of `estimator`, with its components.
    constant : Estimate
        Error of a private mean with the same budgets.
    candidates : tuple of Candidate
        All of them: the eight of the shortlist, the smallest error first, of which one may be
        taken that is not the first; then the others, the refused ones last.
    verdict : str
        Yes or no, and why.
    guesses : dict of str to float
        Public inputs: guesses and margins. They belong to whatever is said of the release.
    people : int
        Number of people; of users, where users have several rows.
    excluded : int
        People who have no budget, or one so small that it would cost all others.
    notes : tuple of str
        What else to know, if the penalty is the last of the grid, if users have several rows, or
        if the schema fills gaps in the label with a number far from `y_mean`.
    all_rows : bool
        Whether `estimator` is fitted to all rows of every user, by ``fit(..., users=names)``. Else
        to one row of each, which `fit` draws at random.
    of_users : bool
        Whether people are users, who may have several rows: `rows_per_user` was passed. Then `fit`
        needs to know who owns the rows. Else each row is taken to be another person.
    """

    estimator: Any
    rehearsal: Rehearsal | None
    constant: Estimate
    candidates: tuple[Candidate, ...]
    verdict: str
    guesses: Mapping[str, float]
    people: int
    excluded: int
    notes: tuple[str, ...] = ()
    all_rows: bool = False
    of_users: bool = False

    @property
    def is_yes(self) -> bool:
        """Whether a regression is recommended, and not the private mean."""
        return self.verdict.startswith("Yes")

    def fit(
        self, X: Any, y: Any, *, users: Any = None, epsilon: Any = None, account: Any = None
    ) -> Any:
        """Return `estimator`, fitted to the people that the plan is for; the plan stays as it is.

        Nothing in a table says who owns its rows. The plan knows how many people there are, and
        whether they have several rows, so it refuses what does not agree with that.

        Where the plan is `of_users` and not for `all_rows`, one row of each user is drawn at
        random, and the estimator is fitted to these rows alone, in the order of the sorted names,
        which are their index if `X` is a data frame. Whoever replaces all rows of one user replaces
        one row of these at most, whatever was drawn for the others. So what `guarantee_` promises
        for a record holds for all rows of a user together.

        Parameters
        ----------
        X, y : array_like, shapes (n, d) and (n,)
            Rows and labels. `Sums` do not say who owns the rows: fit the estimator itself to them.
        users : array_like, shape (n,), optional
            Who owns each row: needed where the plan is `of_users`.
        epsilon, account : optional
            As in the `fit` of the estimator. Where one row of each user is drawn, budgets are those
            of users: a number, a mapping or a Series by name, or one value a row, the same on all
            rows of a user; and an account has one budget for all, or names the users.

        Raises
        ------
        ValueError
            If users are missing, or own several rows where the plan is for people with one each, or
            if they are not as many as planned. Where their number is protected, as with `AdaSSP`,
            it may differ.
        """
        if isinstance(X, Sums):
            raise TypeError(
                "X must be rows: Sums do not say who owns them; fit `estimator` to Sums"
            )
        owners = self._owners(X, y, users)
        number = len(owners.labels)
        is_protected = isinstance(self.estimator, AdaSSP) and not self.all_rows
        if number != self.people and not is_protected:
            raise ValueError(
                f"X must have rows of the {self.people:,} people of the plan; got {number:,}. If "
                "people have several rows, plan with rows_per_user and pass users; if their public "
                "number is another, plan with that one"
            )
        model = clone(self.estimator)
        if self.all_rows:
            return model.fit(X, y, users=users, epsilon=epsilon, account=account)
        if not self.of_users:
            return model.fit(X, y, epsilon=epsilon, account=account)
        budgets = check_user_epsilon(model.epsilon if epsilon is None else epsilon, owners)
        _refuse_account_by_position(account, X)
        # a stream apart from the noise: of one seed the noise would tell which rows were drawn
        rng = generator_from(model.random_state).spawn(1)[0]
        X, y = _drawn_rows(X, y, owners, rng)
        model.fit(X, y, epsilon=budgets, account=account)
        note_drawn_rows(model)
        return model

    def _owners(self, X: Any, y: Any, users: Any) -> Users:
        """Return who owns the rows, or raise if they may not own so many."""
        rows = row_count(X)
        if users is None:
            if self.of_users:
                raise ValueError(
                    "users must be passed, one name a row: the plan was made with rows_per_user, "
                    "and without names each row would be taken to be another person"
                )
        owners = check_users(users, rows, X=X, y=y)
        number = len(owners.labels)
        if number < rows and not self.of_users:
            raise ValueError(
                f"users must name each user once, as the plan is for one row of each; got {rows:,} "
                f"rows of {number:,} users: plan with rows_per_user"
            )
        return owners

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each candidate, in order: ``pandas.DataFrame(plan.table())``."""
        return [
            {
                "model": one.rehearsal.model,
                "error": one.rehearsal.error.value,
                "se": one.rehearsal.error.se,
                "gap": one.rehearsal.gap.value,
                "gap_se": one.rehearsal.gap.se,
                "losses": dict(one.losses),
                "why_not": one.why_not,
                "all_rows": one.all_rows,
            }
            for one in self.candidates
        ]

    def __str__(self) -> str:
        lines = [self.verdict, *self.notes]
        whom = "users." if self.of_users else "people, one row each."
        lines.append(f"Left out: {self.excluded:,} of {self.people:,} {whom}")
        guesses = ", ".join(f"{name} = {value:.10g}" for name, value in self.guesses.items())
        lines.append(f"Public guesses: {guesses}. {RELEASED}")
        if self.rehearsal is not None:
            lines += ["", str(self.rehearsal), "", "candidates, root mean square error"]
        for one in self.candidates[:SHOWN]:
            name = one.rehearsal.model + (", all rows" if one.all_rows else "")
            error = one.rehearsal.error.value
            lines.append(f"  {name:52}{error:>10.3g}  {one.why_not}".rstrip())
        return "\n".join(lines)


def plan(
    people: int,
    columns: int | PublicSchema,
    *,
    epsilon: Any,
    y_mean: float,
    y_sd: float,
    r2: float,
    bounds: Any = None,
    y_bounds: Any = None,
    rows_per_user: Any = None,
    delta: float = 0.0,
    neighbors: str | Sequence[str] = "replace-one",
    sd_factor: float = 2.0,
    r2_margin: float = 0.2,
    mean_margin: float = 0.5,
) -> ReleasePlan:
    """Return which mechanism to fit with which penalty, or to publish the private mean instead.

    Everything is decided from public numbers. Each candidate, a mechanism with a penalty from 1e-4
    to 1, is rehearsed on the same people, invented from the guesses (`rehearse`): all of them
    twice, the eight with the smallest errors 5 to 12 times. Those that can are also tried with a
    `label_mean_share` of 0.1, so that the penalty pulls to a private mean of the labels.

    A candidate counts only if its error is below that of a private constant by more than two
    standard errors, and its square by more than 0.05 of it: invented people are not yours, and a
    rehearsal cannot promise less.

    Guesses are wrong. So it is rehearsed again where labels spread less by `sd_factor`, where
    columns explain `r2_margin` less, and where the mean of the labels is farther from the middle of
    `y_bounds`, to which penalties pull, by `mean_margin` times the spread: one at a time. If it
    would then be worse than a private constant by more than 0.05 of the variance of the label, it
    does not count. (Errors the other way make a plan too careful.)

    Of those that count it takes the one whose gain, in shares of the variance of the label, is
    largest in the mean of the guesses and of the wrong ones: the smallest error under the guesses
    alone would be a bet on them. If none counts, the verdict is no: publish the private mean, or
    nothing, if the noise of that mean is larger than the spread of labels that you guess.
    These rules were chosen on tables drawn at random (`lab/data/planned/rules.csv`) and are judged
    on others (`lab/data/planned/tables.csv`), where they do not always hold.

    So a plan gives gains away that hang on the guesses. Whoever knows them well, from the same
    survey of last year, passes smaller margins, down to 1, 0 and 0.

    The candidates keep pure promises against replacing a record: `ObjectivePerturbation`,
    `PDPRidge` with the Huber loss, and `SufficientStatisticsRidge` with centered sums. With a
    `delta` they are those with a failure probability, and `AdaSSP` joins if "add-remove" is among
    the `neighbors`: its promise is against adding or removing a person, the weaker one.

    With `rows_per_user` people are users, and all rows of a user are replaced at once. The
    candidates are then fitted to one row of each user, drawn at random before anybody looks, so
    that their promise is to users; or to all rows, as ``fit(..., users=names)`` does, if they are
    at most 200,000: `ObjectivePerturbation` and `SufficientStatisticsRidge`, and with a `delta`
    `AdaSSP` and `WeightedGradientDescent`. The attribute `all_rows` says which it is, and
    `ReleasePlan.fit` refuses rows without users. Without `rows_per_user` each row is a person.

    Parameters
    ----------
    people : int
        Number of people, or of users, at least 2.
    columns : int or PublicSchema
        Number of columns; or the schema, with bounds and lists of words.
    epsilon : float, array_like of shape (people,), or mapping
        Budgets, or the share of the people at each level: ``{0.1: 0.5, 1.0: 0.5}``. The estimator
        has them as its setting; of a mapping, since it does not say whose is which, the smallest
        one, so that who forgets to pass budgets to `fit` overspends nobody's. So it is with all
        rows of users, whose budgets `fit` takes by name.
    y_mean, y_sd, r2 : float
        Guesses of mean and standard deviation of the label, and of the share of its variance that
        least squares would explain. They are public inputs: whoever computes them from the secret
        table has released them.
    bounds, y_bounds : array_like, optional
        Public bounds, by default those of the schema; needed without one. Records are clipped to
        them.
    rows_per_user : int or array_like of shape (people,), optional
        Number of rows of each user.
    delta : float, in [0, 1), default 0.0
    neighbors : str or sequence of str, default "replace-one"
        Which neighbors are accepted: "replace-one", and "add-remove" if it is named, too.
    sd_factor : float, at least 1, default 2.0
        By what factor the spread of the labels may be smaller than guessed.
    r2_margin : float, in [0, 1], default 0.2
        By how much `r2` may be too large.
    mean_margin : float, at least 0, default 0.5
        By how many guessed spreads `y_mean` may be too near to the middle of `y_bounds`.

    Returns
    -------
    ReleasePlan
        A penalty that cannot be fitted is a row of its candidates which says why.

    Raises
    ------
    TypeError
        For a table: a plan takes none.
    ValueError
        For guesses that no data have, or budgets below 0.

    Notes
    -----
    Deterministic: seeds are fixed. With 12 columns and 10,000 people 10 seconds of one core.
    Chapter *synthesis/your_data*.

    Examples
    --------
    >>> days = dict(columns=3, bounds=(0, 100), y_bounds=(0, 60), y_mean=8, y_sd=8, r2=0.4)
    >>> no = plan(100, epsilon=0.1, **days)
    >>> no.is_yes, no.estimator
    (False, PersonalizedMean(clip=True, epsilon=0.1, y_bounds=(0.0, 60.0)))
    """
    _refuse_tables(0, people=people, columns=columns, y_mean=y_mean, y_sd=y_sd, r2=r2)
    _refuse_tables(1, epsilon=epsilon, y_bounds=y_bounds, rows_per_user=rows_per_user)
    _refuse_tables(2, bounds=bounds)
    columns_bounds, label_bounds = _public_bounds(columns, bounds, y_bounds)
    delta = check.delta(delta, zero=True)
    accepted = _accepted(neighbors, delta)
    guesses = {"y_mean": y_mean, "y_sd": y_sd, "r2": r2}
    margins = {"sd_factor": sd_factor, "r2_margin": r2_margin, "mean_margin": mean_margin}
    _check_margins(**margins)
    rows = _rows_of_users(rows_per_user, people)
    stage = _Stage(people, columns, columns_bounds, label_bounds, rows)

    nobody = _nobody(epsilon, people)
    settings: dict[str, Any] = {"y_bounds": label_bounds, "clip": True}
    settings["epsilon"] = _setting(epsilon)
    mean = PersonalizedMean(**settings)
    # guesses are refused in any case, so the mean is rehearsed even if nobody takes part
    of_mean = stage.rehearse(mean, 1.0 if nobody else epsilon, guesses)
    facts: dict[str, Any] = {
        "people": people,
        "guesses": guesses | margins,
        "of_users": rows is not None,
    }
    if nobody or of_mean.refused:
        return ReleasePlan(
            **facts,
            estimator=mean,
            rehearsal=None,
            constant=Estimate(np.nan, np.nan),
            candidates=(),
            verdict=f"No: nothing can be published. {nobody or of_mean.refused}",
            excluded=people,
        )

    wrong = _wrong_guesses(guesses, label_bounds, **margins)
    settings |= {"bounds": columns_bounds, "fit_intercept": True}
    trials = []
    models = [(model, False) for model in _models(settings, delta, accepted)]
    if rows is not None and rows.sum() <= MOST_ROWS:
        of_users = settings | {"epsilon": _setting_of_users(epsilon)}
        models += [(model, True) for model in _models_of_all_rows(of_users, delta)]
    for model, all_rows in models:
        rehearsal = stage.rehearse(model, epsilon, guesses, TRIAL_REPEATS, all_rows=all_rows)
        trials.append(Candidate(estimator=model, rehearsal=rehearsal, all_rows=all_rows))
    trials.sort(key=_error)
    shortlist = []
    for one in trials[:SHORTLIST]:
        rehearsal = stage.rehearse(one.estimator, epsilon, guesses, all_rows=one.all_rows)
        shortlist.append(replace(one, rehearsal=rehearsal))
    shortlist.sort(key=_error)
    others = [replace(one, why_not=_why_no_more(one)) for one in trials[SHORTLIST:]]
    candidates = (*_with_reasons(shortlist, stage, epsilon, wrong), *others)

    chosen = next((one for one in candidates if not one.why_not), None)
    if chosen is None:
        estimator, rehearsal, all_rows = mean, of_mean, False
        best = candidates[0]
        verdict = "No: publish the private mean."
        if of_mean.constant.value > np.sqrt(2) * y_sd:
            verdict = "No: publish nothing. A private mean has more noise than labels spread."
        verdict += f" The smallest error, {best.rehearsal.model}: {best.why_not}."
    else:
        estimator, rehearsal, all_rows = chosen.estimator, chosen.rehearsal, chosen.all_rows
        verdict = f"Yes: publish {rehearsal.model}. {rehearsal.verdict}"
    return ReleasePlan(
        **facts,
        estimator=estimator,
        rehearsal=rehearsal,
        constant=of_mean.constant,
        candidates=candidates,
        verdict=verdict,
        excluded=_excluded(estimator, epsilon, people, len(columns_bounds)),
        notes=(*_notes(estimator, rows, all_rows), *_gaps_of_label(columns, y_mean, y_sd)),
        all_rows=all_rows,
    )


@dataclass(frozen=True)
class _Stage:
    """Where all candidates are rehearsed: the public facts, with the same invented people."""

    people: int
    columns: Any
    bounds: Floats
    y_bounds: tuple[float, float]
    rows: Any  #: number of rows of each user, or None

    def rehearse(
        self,
        model: Any,
        epsilon: Any,
        guesses: Mapping[str, Any],
        repeats: int | None = None,
        *,
        all_rows: bool = False,
    ) -> Rehearsal:
        """Return the rehearsal of a model; the seed is fixed."""
        if repeats is None:
            wanted = ROWS_OF_REPEATS // self.people
            repeats = max(FEWEST_REPEATS, min(wanted, MOST_REPEATS))
        return rehearse(
            model,
            self.people,
            self.columns,
            epsilon=_levels_in_order(epsilon),
            bounds=self.bounds,
            y_bounds=self.y_bounds,
            rows_per_user=self.rows if all_rows else None,
            repeats=repeats,
            **guesses,
        )


def _models(settings: dict[str, Any], delta: float, accepted: set[str]) -> Iterator[Any]:
    """Yield the estimators that are fitted to one row of each person, unfitted."""
    for lam in PENALTIES:
        for share in LABEL_MEAN_SHARES:
            around: dict[str, Any] = {"label_mean_share": share, "delta": delta}
            yield ObjectivePerturbation(lam, **around, **settings)
            yield PDPRidge(lam, loss="huber", **around, **settings)
        yield SufficientStatisticsRidge(lam, centered=True, **_noise(delta), **settings)
    if "add-remove" in accepted:
        yield AdaSSP(delta=delta, **settings)


def _models_of_all_rows(settings: dict[str, Any], delta: float) -> Iterator[Any]:
    """Yield the estimators that are fitted to all rows of every user, unfitted.

    Without a `label_mean_share`, which takes one label a person, and of objective perturbation the
    pure promise, which implies any with a delta: with users it has no other.
    """
    for lam in PENALTIES:
        yield ObjectivePerturbation(lam, **settings)
        yield SufficientStatisticsRidge(lam, centered=True, **_noise(delta), **settings)
    if delta:
        yield AdaSSP(delta=delta, **settings)  # with users it promises against replacing one
        yield WeightedGradientDescent(delta=delta, **settings)


def _noise(delta: float) -> dict[str, Any]:
    """Return the noise of sums."""
    return {"noise": "gaussian", "delta": delta} if delta else {"noise": "laplace"}


def _error(one: Candidate) -> float:
    return one.rehearsal.error.value


def _gain(rehearsal: Rehearsal) -> float:
    """Return by how much the square of the error is smaller, as a share of a constant's."""
    return 1 - (rehearsal.error.value / rehearsal.constant.value) ** 2


def _why_no_more(one: Candidate) -> str:
    """Return why a candidate is not on the shortlist."""
    return one.rehearsal.refused or "a larger error in a short rehearsal"


def _with_reasons(
    shortlist: Sequence[Candidate],
    stage: _Stage,
    epsilon: Any,
    wrong: Mapping[str, Mapping[str, Any]],
) -> list[Candidate]:
    """Return the shortlist, with the reason why a candidate is not taken, and none for one."""
    judged = []
    for one in shortlist:
        reason, losses = "", {}
        if one.rehearsal.refused:
            reason = one.rehearsal.refused
        elif not one.rehearsal.better:
            reason = "not clearly better than a private constant"
        elif _gain(one.rehearsal) < LEAST_GAIN:
            reason = "hardly better than a private constant"
        else:
            losses = _losses(one, stage, epsilon, wrong)
            words, most = max(losses.items(), key=lambda item: item[1], default=("", 0.0))
            if most > MOST_LOSS:
                reason = f"{words} it is worse than a constant, by {most:.2g} of the variance"
        judged.append(replace(one, losses=losses, why_not=reason))
    best = max((one for one in judged if not one.why_not), key=_mean_gain, default=None)
    smaller = "a smaller gain in the mean of the guesses and the wrong ones"
    return [
        replace(one, why_not=smaller) if one is not best and not one.why_not else one
        for one in judged
    ]


def _mean_gain(one: Candidate) -> float:
    """Return the mean of the gains if the guesses are right, and under each wrong guess."""
    return float(np.mean([_gain(one.rehearsal), *(-loss for loss in one.losses.values())]))


def _losses(
    one: Candidate, stage: _Stage, epsilon: Any, wrong: Mapping[str, Mapping[str, Any]]
) -> dict[str, float]:
    """Return by how much a candidate is worse than a constant under each wrong guess."""
    losses = {}
    for words, guesses in wrong.items():
        try:
            found = stage.rehearse(
                one.estimator, epsilon, guesses, DOUBT_REPEATS, all_rows=one.all_rows
            )
        except ValueError:  # no labels are like that, so the guess cannot be wrong in this way
            continue
        excess = found.error.value**2 - found.constant.value**2
        losses[words] = float(excess / guesses["y_sd"] ** 2)
    return losses


def _check_margins(sd_factor: Any, r2_margin: Any, mean_margin: Any) -> None:
    """Raise if a margin says nothing."""
    if check.number(sd_factor, "sd_factor") < 1:
        raise ValueError(f"sd_factor must be at least 1; got {sd_factor:g}")
    if check.single(check.nonnegative(r2_margin, "r2_margin"), "r2_margin") > 1:
        raise ValueError(f"r2_margin must be at most 1; got {r2_margin:g}")
    check.single(check.nonnegative(mean_margin, "mean_margin"), "mean_margin")


def _wrong_guesses(
    guesses: dict[str, Any],
    y_bounds: tuple[float, float],
    sd_factor: float,
    r2_margin: float,
    mean_margin: float,
) -> dict[str, dict[str, Any]]:
    """Return the guesses that are feared, by the words for them."""
    wrong = {}
    if sd_factor > 1:
        smaller = {"y_sd": guesses["y_sd"] / sd_factor}
        wrong[f"if labels spread {sd_factor:g} times less,"] = guesses | smaller
    if r2_margin > 0:
        smaller = {"r2": max(guesses["r2"] - r2_margin, 0.0)}
        wrong[f"if r2 is {smaller['r2']:g},"] = guesses | smaller
    if mean_margin > 0:
        away = 1 if guesses["y_mean"] >= np.mean(y_bounds) else -1
        mean = guesses["y_mean"] + away * mean_margin * guesses["y_sd"]
        wrong[f"if the mean is {mean:g},"] = guesses | {"y_mean": mean}
    return wrong


def _notes(estimator: Any, rows: Any, all_rows: bool) -> Iterator[str]:
    """Yield what else to know of a plan."""
    if all_rows:
        yield "Fit to all rows, with users=names, one name a row."
    elif rows is not None:
        yield "Of each user one row takes part, drawn at random by fit(..., users=names)."
    lam = getattr(estimator, "lam", None)
    if lam == PENALTIES[0]:
        yield "The penalty is the smallest that was tried: a smaller one may be better."
    if lam == PENALTIES[-1]:
        yield "The penalty is the largest that was tried: a larger one may be better."


def _gaps_of_label(columns: Any, y_mean: float, y_sd: float) -> Iterator[str]:
    """Yield what a gap in the label counts as, where a schema fills it far from the mean."""
    if not getattr(columns, "clip", False) or columns.label is None:
        return
    rule = columns.all_columns[columns.label]
    middle = (rule.low + rule.high) / 2
    if rule.fill is None and abs(middle - y_mean) > y_sd:
        yield (
            f"A gap in {columns.label!r} counts as {middle:g}, the middle of its bounds, far from "
            f"y_mean. Numbers({rule.low:g}, {rule.high:g}, fill=...) names a better public number."
        )


def _refuse_account_by_position(account: Any, X: Any) -> None:
    """Raise if an account could not find the users of rows that are drawn."""
    if not isinstance(account, BudgetAccount):  # None, or what the fit of the estimator refuses
        return
    if account.people is None and account.budget.n is not None:
        raise ValueError(
            "account must name its users where the data do: BudgetAccount({user: budget, ...}); "
            f"got budgets of {account.budget.n} people in some order"
        )
    if account.people is not None and not hasattr(X, "iloc"):
        raise ValueError(
            "X must be a DataFrame where an account names its users and one row of each is drawn, "
            "as their names are its index then"
        )


def _drawn_rows(X: Any, y: Any, owners: Users, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return one random row and label of each user, in the order of their names."""
    drawn = np.flatnonzero(owners.places(int(rng.integers(2**63))) == 0)
    drawn = drawn[np.argsort(owners.codes[drawn])]
    rows, labels = (_safe_indexing(values, drawn) for values in (X, y))
    if hasattr(rows, "set_axis"):
        rows = rows.set_axis(owners.labels)
    if hasattr(labels, "set_axis"):
        labels = labels.set_axis(owners.labels)
    return rows, labels


def _nobody(epsilon: Any, people: Any) -> str:
    """Return why nobody takes part, or ""."""
    people = check.count(people, "people", minimum=2)
    if isinstance(epsilon, Mapping):
        budgets = budgets_at_levels(epsilon, people)
    else:
        budgets = check.nonnegative(epsilon, "epsilon")
        check.budgets(budgets, people, "epsilon", unit=f"of {people:,} people")
    return "" if np.any(budgets > 0) else "No budget is above 0, so nobody takes part."


def _levels_in_order(epsilon: Any) -> Any:
    """Return levels smallest first, so that a plan does not hang on how they were written down.

    Budgets one a person stay as they are: where users have several rows they belong together.
    """
    return dict(sorted(epsilon.items())) if isinstance(epsilon, Mapping) else epsilon


def _setting(epsilon: Any) -> Any:
    """Return the budgets that an estimator has as its setting."""
    return min(epsilon) if isinstance(epsilon, Mapping) else epsilon


def _setting_of_users(epsilon: Any) -> Any:
    """Return the budget that an estimator of all rows has as its setting.

    Rows of users are many, so that budgets by user have to be passed to `fit` with their names: as
    for a mapping, the smallest one stands in their place.
    """
    return float(np.min(epsilon)) if np.ndim(epsilon) else _setting(epsilon)


def _excluded(estimator: Any, epsilon: Any, people: int, columns: int) -> int:
    """Return how many people take no part: without a budget, or with one that costs all others."""
    budgets = np.broadcast_to(budgets_of_people(epsilon, people), people)
    if hasattr(estimator, "budgets_of_fit"):
        budgets = estimator.budgets_of_fit(budgets)
    if hasattr(estimator, "drop_costly_budgets"):
        budgets = estimator.drop_costly_budgets(budgets, columns + 1)  # the constant counts
    return int(np.sum(budgets == 0))


# --- reading the public numbers ------------------------------------------------------------------


def _refuse_tables(dimensions: int, **values: Any) -> None:
    """Raise if an argument is a data frame, or an array of more dimensions than this."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            for entry in value.values():
                _refuse_tables(0, **{name: entry})
        if _dimensions(value) > dimensions or (hasattr(value, "iloc") and value.ndim == 2):
            raise TypeError(
                f"{name} must be public, never a table: a plan on private records would be a "
                f"release without noise; got {type(value).__name__}"
            )


def _dimensions(value: Any) -> float:
    """Return the number of axes of a value; of parts with different shapes, infinity."""
    try:
        return np.ndim(value)
    except ValueError:  # such as an encoded table
        return np.inf


def _public_bounds(columns: Any, bounds: Any, y_bounds: Any) -> tuple[Floats, tuple[float, float]]:
    """Return the bounds of the columns, shape (d, 2), and of the label."""
    is_schema = hasattr(columns, "label")
    d = len(columns.names) if is_schema else check.count(columns, "columns")
    if bounds is None and is_schema:
        bounds = columns.bounds
    if y_bounds is None and is_schema:
        y_bounds = columns.y_bounds
    if bounds is None:
        raise ValueError(
            "bounds must be given with a number of columns: pass bounds=(low, high), or a pair for "
            "each column, public and in your units; a PublicSchema in place of the number has them"
        )
    if y_bounds is None:
        raise ValueError(
            "y_bounds must be given; only a schema with a label has them. Pass y_bounds=(low, "
            "high), public and in the units of the label"
        )
    low_high = np.column_stack(check.bounds(bounds, "bounds", d))
    return low_high, check.bounds(y_bounds, "y_bounds")


def _accepted(neighbors: Any, delta: float) -> set[str]:
    """Return the neighbors that the caller accepts."""
    accepted = {neighbors} if np.ndim(neighbors) == 0 else set(neighbors)
    for name in accepted:
        check.choice(name, "neighbors", NEIGHBORS)
    if "replace-one" not in accepted:
        raise ValueError("neighbors must hold 'replace-one': a private constant needs them")
    if "add-remove" in accepted and delta == 0:
        raise ValueError("delta must be above 0 with neighbors 'add-remove': AdaSSP needs it")
    return accepted


def _rows_of_users(rows_per_user: Any, people: Any) -> Any:
    """Return the number of rows of each user, shape (people,), or None."""
    if rows_per_user is None:
        return None
    if np.shape(rows_per_user) not in ((), (people,)):
        raise ValueError(
            f"rows_per_user must be one number, or one for each of {people} users; got shape "
            f"{np.shape(rows_per_user)}"
        )
    numbers = np.broadcast_to(rows_per_user, people)
    return np.array([check.count(number, "rows_per_user") for number in numbers])
