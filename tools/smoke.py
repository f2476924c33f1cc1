"""Import every module, fit one model and charge one account, on a system that has no make.

    python tools/smoke.py

The tests need Linux or macOS; this needs the package with its extras, so it is what runs on Windows
once a week. There an account lives in one process: without locks on files `save` refuses.
"""

import importlib
import importlib.util
import json
import pkgutil
import sys
import tempfile
from pathlib import Path

import numpy as np

import pdpbook
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.personalized import PDPRidge
from pdpbook.publish import export, load

PEOPLE = 200
NEIGHBORS = "replace-one"


class Failed(Exception):
    """What this system does is not what the package says."""


def imported() -> int:
    """Import every module of the package, and return how many there are."""
    found = pkgutil.walk_packages(pdpbook.__path__, "pdpbook.")
    return len([importlib.import_module(module.name) for module in found])


def fitted_and_charged() -> BudgetAccount:
    """Fit twice from one account: the second fit uses it up. A third one is refused."""
    rng = np.random.default_rng(1)
    X = rng.random((PEOPLE, 2))
    y = np.clip(X @ [0.5, -0.3], -1, 1)
    account = BudgetAccount(np.full(PEOPLE, 1.0), neighbors=NEIGHBORS)
    for _ in range(2):
        model = PDPRidge(0.1).fit(X, y, epsilon=0.5, account=account)
    if np.any(account.remaining != 0):
        raise Failed(f"two fits of 0.5 left {account.remaining.max()} of a budget of 1")
    handed_on = load(json.loads(json.dumps(export(model))))
    if np.any(handed_on.predict(X) != model.predict(X)):
        raise Failed("an export predicts something else than its model")
    try:
        PDPRidge(0.1).fit(X, y, epsilon=0.5, account=account)
    except ValueError:
        return account
    raise Failed("an account that was used up let a third fit through")


def kept_in_a_file(account: BudgetAccount) -> str:
    """Save and open the account; where the system has no locks, `save` must refuse."""
    has_locks = importlib.util.find_spec("fcntl") is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "account.json")
        try:
            account.save(path)
        except OSError:
            if has_locks or path.exists():
                raise
            return "refused in a file, as this system has no locks"
        if not has_locks:
            raise Failed("an account was saved on a system without locks")
        again = BudgetAccount.open(path, neighbors=NEIGHBORS, kind=PureDP)
        if np.any(again.spent != 1):
            raise Failed(f"a file says that {again.spent.max()} of 1 is spent")
    return "kept in a file"


def main() -> int:
    modules = imported()
    account = fitted_and_charged()
    where = kept_in_a_file(account)
    print(f"{sys.platform}: {modules} modules, two fits from one account, which was {where}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
