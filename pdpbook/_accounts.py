"""A fit that is charged to an account, before anything is drawn."""

import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from pdpbook._extras import of_pandas
from pdpbook._users import Users
from pdpbook.advice import PublicNumbersWarning, advise
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.guarantees.promises import Promise

__all__: list[str] = []  # for the estimators of the package

SEARCHES = tuple(
    f"sklearn.{name}"
    for name in ("model_selection", "feature_selection", "ensemble", "multioutput", "calibration")
)


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
    """A fit that is refused, or fails, leaves its estimator as it was."""
    with ExitStack() as undo:
        undo.callback(setattr, model, "__dict__", vars(model).copy())
        yield
        undo.pop_all()


def charge(
    account: BudgetAccount | None,
    promise: Promise,
    X: Any,
    users: Users | None = None,
    *,
    pure: PureDP | None = None,
) -> None:
    """Spend what is promised to the people of X or to users, or raise; `pure` is promised, too."""
    if account is None:
        return
    if account.kind is PureDP and pure is not None and promise is not pure:
        promise._refuse(
            PureDP,
            "; an account adds up pure promises alone. A larger one holds as well: fit without "
            "account, and before you publish spend model.pure_guarantee_ on it",
        )
    promise, people = account.convert(promise), _people(account, X, users)
    if people is None:
        n, count = account.budget.n, promise.n
        if count is None:  # one number for all of them
            count = np.shape(X)[0]
        if n not in (None, count):
            raise ValueError(
                f"account must be of the people in the data; got {n} for {count} people"
            )
        if n is None:  # one number stands for whoever loses most
            (each,) = promise._parameters().values()
            promise = account.kind(float(np.max(each)), neighbors=promise.neighbors)
    account.spend(promise, people=people)


def left_out(account: BudgetAccount | None, promise: Promise, X: Any, read: Any) -> Any:
    """Return the budgets with 0 for whoever has too little left, or None where the fit goes on with
    the budgets as they are: everybody can pay, or `charge` is to refuse.

    Who leaves follows from public numbers alone. Where one number is promised to all, nobody can
    leave alone. `charge` then refuses what is too much, what nobody could pay, and an account of
    another number of people.
    """
    if account is None or not account.leave_out or promise.n is None:
        return None
    people = _people(account, X, read.users)
    if people is None and promise.n != account.budget.n:
        return None
    can_pay = account.affords(promise, people=people)
    budgets = np.where(can_pay, read.promised, 0.0)
    everybody_can, nobody_can = can_pay.all(), not budgets.any()
    if everybody_can or nobody_can:
        return None
    return budgets if read.users is None else read.users.spread(budgets)


def _people(account: BudgetAccount, X: Any, users: Users | None) -> Any:
    """Return the names of those in the data, where the account goes by name."""
    labels = users.labels if users is not None and users.named else None
    if account.people is not None:
        if labels is not None or of_pandas(X, "DataFrame", "Series"):
            return X.index if labels is None else labels
        raise ValueError(
            "account says who its people are, and X does not: pass X as a DataFrame with that "
            "index, or open the account with an array, to go by position"
        )
    if (n := account.budget.n) is not None and labels is not None:
        raise ValueError(
            "account must name its users where the data do: BudgetAccount({user: budget, ...}); "
            f"got budgets of {n} people in some order"
        )
    return None


def _within(packages: tuple[str, ...]) -> bool:
    """Whether a function of one of these packages is calling, however far up."""
    callers = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_stack(None))
    return any(name.startswith(packages) for name in callers)
