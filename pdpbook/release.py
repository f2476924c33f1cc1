"""The one place where noise is drawn: leave out who cannot pay, charge the account, draw once."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from pdpbook import Floats, check
from pdpbook.advice import PublicNumbersWarning, advise
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.guarantees.promises import Promise, RenyiDP

__all__: list[str] = []  # for the estimators of the package

#: of scikit-learn: they fit again and again, to the same people
SEARCHES = tuple(
    f"sklearn.{name}"
    for name in ("model_selection", "feature_selection", "ensemble", "multioutput", "calibration")
)


def release(
    law: Any,
    guarantee: Promise,
    account: BudgetAccount | None,
    rng: np.random.Generator,
    *,
    people: Any,
    pure: PureDP | None = None,
    renyi: Callable[[Floats], RenyiDP] | None = None,
) -> Any:
    """Return one draw from `law`, after `account` has been charged with `guarantee`.

    The account raises, and nothing is drawn, if anybody would overspend. `people` are records or
    users, who say their names where the account goes by name. `pure` is promised, too, and so is
    the Renyi curve `renyi(orders)`, which an account of such curves is charged with instead.
    """
    if account is not None:
        charge(account, guarantee, people, pure, renyi)
    return law.sample(rng=rng)


def charge(
    account: BudgetAccount,
    guarantee: Promise,
    people: Any,
    pure: PureDP | None = None,
    renyi: Callable[[Floats], RenyiDP] | None = None,
) -> None:
    """Spend what is guaranteed to these people, or raise."""
    if isinstance(account.budget, RenyiDP) and renyi is not None:
        guarantee = renyi(account.budget.orders)
    if account.kind is PureDP and pure is not None and not isinstance(guarantee, PureDP):
        guarantee._refuse(
            PureDP,
            "; an account adds up pure promises alone. A larger one holds as well: fit without "
            "account, and before you publish spend model.pure_guarantee_ on it",
        )
    guarantee, names = account.convert(guarantee), names_in(account, people)
    if names is None:
        budgets, count = account.budget.n, guarantee.n
        if count is None:  # one number for all of them
            count = people.n
        if budgets not in (None, count):
            raise ValueError(
                f"account must be of the people in the data; got {budgets} for {count} people"
            )
        if budgets is None:  # one budget for all stands for whoever loses most
            guarantee = guarantee.weakest()
    account.spend(guarantee, people=names)


def affordable_budgets(
    account: BudgetAccount | None,
    budgets: Floats,
    guarantee: Callable[[Floats], Promise],
    people: Any,
) -> Floats:
    """Return the budgets with 0 for whoever has too little left in an account that leaves out.

    `guarantee(budgets)` is what everybody is promised for these budgets: who leaves follows from
    public numbers alone. `charge` is to refuse a promise of one number to all, where nobody can
    leave alone, what nobody could pay, and an account of another number of people.
    """
    if account is None or not account.leave_out:
        return budgets
    while True:  # a promise may grow when others have left
        promise, names = guarantee(budgets), names_in(account, people)
        if promise.n is None or (names is None and promise.n != account.budget.n):
            return budgets
        can_pay = account.affords(promise, people=names)
        leaves = (budgets > 0) & ~can_pay
        if not leaves.any() or not budgets[can_pay].any():
            return budgets
        budgets = check.epsilon(people.leave_out(budgets, can_pay))


def names_in(account: BudgetAccount, people: Any) -> Any:
    """Return the names of these people, where the account goes by name, or None."""
    if account.people is not None:
        if people.names is None:
            raise ValueError(f"account says who its people are, and {people.unnamed}")
        return people.names
    if (n := account.budget.n) is not None and people.named:
        raise ValueError(
            "account must name its users where the data do: BudgetAccount({user: budget, ...}); "
            f"got budgets of {n} people in some order"
        )
    return None


def check_account(account: Any) -> None:
    """Refuse what is no account; without one, warn where scikit-learn fits again and again."""
    if account is not None:
        if not isinstance(account, BudgetAccount):
            raise TypeError(f"account must be a BudgetAccount or None; got {account!r}")
    elif _within(SEARCHES):
        advise(
            "a search or cross-validation fits many times on the same people, and each fit spends "
            "its budget anew: guarantee_ speaks of one. Choose settings on invented people, "
            "see rehearse(), or pass account=BudgetAccount(...) to every fit",
            PublicNumbersWarning,
        )


@contextmanager
def all_or_nothing(model: Any) -> Iterator[None]:
    """Leave an estimator as it was when its fit is refused, or fails."""
    with ExitStack() as undo:
        undo.callback(setattr, model, "__dict__", vars(model).copy())
        yield
        undo.pop_all()


def _within(packages: tuple[str, ...]) -> bool:
    """Return whether a function of one of these packages is calling, however far up."""
    callers = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_stack(None))
    return any(name.startswith(packages) for name in callers)


def generator_from(random_state: Any) -> np.random.Generator:
    """A generator from None (fresh entropy), a whole number, or a Generator."""
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    drawn = random_state is None or isinstance(random_state, np.random.Generator)
    if not (drawn or (whole and random_state >= 0)):
        raise ValueError(
            "random_state must be None, a whole number of at least 0 or a numpy Generator; "
            f"got {random_state!r}"
        )
    return np.random.default_rng(random_state)
