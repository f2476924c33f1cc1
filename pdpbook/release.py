"""The release: leave out whoever cannot pay, charge the account, and draw, here alone, once."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from pdpbook import Floats, check
from pdpbook.advice import PublicNumbersWarning, advise
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.guarantees.promises import Promise, RenyiDP
from pdpbook.noise.whole_numbers import Randomness

__all__: list[str] = []  # for the estimators of the package

#: packages of scikit-learn that fit many times to the same people
SEARCHES = tuple(
    f"sklearn.{name}"
    for name in ("model_selection", "feature_selection", "ensemble", "multioutput", "calibration")
)


def release(
    law: Any,
    guarantee: Promise,
    account: BudgetAccount | None,
    rng: Randomness,
    *,
    people: Any,
    pure: PureDP | None = None,
    renyi: Callable[[Floats], RenyiDP] | None = None,
) -> Any:
    """Return one draw from `law`, after `account` has been charged with `guarantee`.

    The account raises, and nothing is drawn, if anybody would overspend. `people` are the records
    of people or users, with their names, if the account has names. The mechanism also keeps the
    promises `pure` and, at any orders, ``renyi(orders)``; an account of Renyi curves is charged
    with the latter.
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
    """Spend the guarantee to these people on the account, or raise; see `release`."""
    if isinstance(account.budget, RenyiDP) and renyi is not None:
        guarantee = renyi(account.budget.orders)
    if account.kind is PureDP and pure is not None and not isinstance(guarantee, PureDP):
        guarantee._refuse(
            PureDP,
            "; an account adds up pure promises alone. A larger one holds as well: fit without "
            "account, and before you publish spend model.pure_guarantee_ on it",
        )
    guarantee = account.convert(guarantee)
    names = names_in(account, people)
    if names is None:
        n_budgets = account.budget.n
        n_people = people.n if guarantee.n is None else guarantee.n
        if n_budgets not in (None, n_people):
            raise ValueError(
                f"account must be of the people in the data; got {n_budgets} for {n_people} people"
            )
        if n_budgets is None:  # one budget for all pays for the person who loses most
            guarantee = guarantee.weakest()
    account.spend(guarantee, people=names)


def affordable_budgets(
    account: BudgetAccount | None,
    budgets: Floats,
    guarantee: Callable[[Floats], Promise],
    people: Any,
) -> Floats:
    """Return the budgets, 0 for whoever cannot pay, if the account leaves such people out.

    ``guarantee(budgets)`` is the promise to all people for these budgets, so it follows from public
    numbers alone who is left out. In three cases the budgets are returned unchanged, for `charge`
    to refuse: the promise is one number to all, so that nobody can be left out alone; nobody can
    pay; or the account has another number of people.
    """
    if account is None or not account.leave_out:
        return budgets
    while True:  # the promise to the others may change when somebody is left out
        promise = guarantee(budgets)
        names = names_in(account, people)
        if promise.n is None or (names is None and promise.n != account.budget.n):
            return budgets
        can_pay = account.affords(promise, people=names)
        cannot_pay = (budgets > 0) & ~can_pay
        if not cannot_pay.any() or not budgets[can_pay].any():
            return budgets
        budgets = check.epsilon(people.leave_out(budgets, can_pay))


def names_in(account: BudgetAccount, people: Any) -> Any:
    """Return the names of these people, or None if the account has no names."""
    if account.people is not None:
        if people.names is None:
            raise ValueError(f"account says who its people are, and {people.unnamed}")
        return people.names
    n = account.budget.n
    if n is not None and people.named:
        raise ValueError(
            "account must name its users where the data do: BudgetAccount({user: budget, ...}); "
            f"got budgets of {n} people in some order"
        )
    return None


def check_account(account: Any) -> None:
    """Raise if this is no account; without one, warn where scikit-learn fits many times."""
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
    """Restore the attributes of an estimator if its fit raises, else keep its settings with it."""
    with ExitStack() as undo:
        undo.callback(setattr, model, "__dict__", vars(model).copy())
        settings = comparable_settings(model)
        yield
        model._settings_of_fit = settings  # what is published speaks of these
        undo.pop_all()


def comparable_settings(model: Any) -> dict[str, Any]:
    """Return the settings of an estimator, but for budgets, so that two times can be compared."""
    settings = model.get_params(deep=False)
    settings.pop("epsilon", None)  # the promise has them
    if isinstance(settings.get("random_state"), np.random.Generator):  # changes as it is used
        settings["random_state"] = "a generator"
    # text of all entries, as what a caller goes on to change inside a setting must not change this
    entries = {name: np.asarray(value, dtype=object) for name, value in settings.items()}
    return {name: repr(values.tolist()) for name, values in entries.items()}


def _within(packages: tuple[str, ...]) -> bool:
    """Return whether a function of one of these packages is on the call stack."""
    for frame, _ in traceback.walk_stack(None):
        if frame.f_globals.get("__name__", "").startswith(packages):
            return True
    return False


def generator_from(random_state: Any) -> np.random.Generator:
    """Return a generator from None (fresh entropy), a whole number, or a Generator."""
    is_whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    is_seed = is_whole and random_state >= 0
    is_generator = isinstance(random_state, np.random.Generator)
    if not (random_state is None or is_generator or is_seed):
        raise ValueError(
            "random_state must be None, a whole number of at least 0 or a numpy Generator; "
            f"got {random_state!r}"
        )
    return np.random.default_rng(random_state)


def whole_number_source(random_state: Any) -> Randomness:
    """Return the source of draws in whole numbers: of None, every bit of the operating system."""
    rng = generator_from(random_state)
    return random.SystemRandom() if random_state is None else rng
