"""What 1.0 promises to those who come back with a later version, held by files that 1.0 wrote.

`tests/kept/` has accounts, exports and the list of public names, as version 1.0.0 wrote them. A
later version reads these files, so they are never written anew: a new form gets files of its own
beside them. `python tests/test_versions.py` writes what is missing, and adds new names.
"""

import importlib
import inspect
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "kept"
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(ROOT / "book" / "_ext")]

from functions import modules  # noqa: E402
from pdp_docstrings import exported  # noqa: E402

from pdpbook.guarantees import (  # noqa: E402
    ApproximateDP,
    BudgetAccount,
    GaussianDP,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from pdpbook.gwa import GWARegression  # noqa: E402
from pdpbook.personalized import PDPRidge, PersonalizedMean  # noqa: E402
from pdpbook.publish import export, load  # noqa: E402
from pdpbook.user_level import WeightedOutputPerturbation  # noqa: E402

# --- accounts ------------------------------------------------------------------------------------

#: a name of each kind that a file can hold
NAMES = [
    "Ana",
    7,
    2.5,
    True,
    ("Ben", 3),
    pd.Timestamp("2024-02-29").date(),
    pd.Timestamp("2024-02-29 12:30", tz="UTC"),
    pd.Timedelta(days=2),
    pd.Period("2024Q1", freq="Q-DEC"),
    pd.Interval(0, 10),
]
ORDERS = [2.0, 4.0, 8.0]


def pure(share):
    return PureDP(np.arange(1, len(NAMES) + 1) / 4 * share, neighbors="user")


def approximate(share):
    return ApproximateDP([share, 2 * share], 1e-5 * share, neighbors="user")


def gaussian(share):
    return GaussianDP(np.array([1.0, 2.0]) * share, neighbors="zero-out")


def concentrated(share):
    return ZeroConcentratedDP(np.array([0.25, 1.0]) * share, neighbors="replace-one")


def renyi(share):
    return RenyiDP(ORDERS, np.array([[0.1, 0.2, 0.4]] * 2) * share, neighbors="user")


#: name of the file, without its ending -> the promise of a share of the budget, and settings
ACCOUNTS = {
    "pure": (pure, {"people": NAMES, "leave_out": True}),
    "approximate": (approximate, {}),
    "gaussian": (gaussian, {}),
    "concentrated": (concentrated, {"people": ["Ana", "Ben"]}),
    "renyi": (renyi, {}),
}


def shares(name):
    """What was spent of each budget before the account was saved, and what is left."""
    return (0.6, 0.8) if name == "gaussian" else (0.5, 0.5)  # squares of mu add up


def part_spent(name):
    """An account from which a part of each budget was spent."""
    promise, settings = ACCOUNTS[name]
    account = BudgetAccount(promise(1.0), **settings)
    account.spend(promise(shares(name)[0]))
    return account


def opened(name, path):
    budget = ACCOUNTS[name][0](1.0)
    return BudgetAccount.open(path, neighbors=budget.neighbors, kind=type(budget))


def kept_account(name, folder):
    """The account in a copy of a kept file, which stays as it is."""
    path = Path(shutil.copy(KEPT / f"account-{name}.json", folder))
    return path, opened(name, path)


@pytest.mark.parametrize("name", ACCOUNTS)
def test_an_account_of_1_0_is_read_and_goes_on(name, tmp_path):
    promise, settings = ACCOUNTS[name]
    path, account = kept_account(name, tmp_path)
    assert account.budget == promise(1.0)
    assert account.leave_out is settings.get("leave_out", False)
    if "people" in settings:
        assert list(account.people) == settings["people"]
    assert_array_equal(account.remaining, part_spent(name).remaining)
    account.spend(promise(shares(name)[1]))
    again = opened(name, path)
    assert_array_equal(again.remaining, np.zeros_like(again.remaining))
    with pytest.raises(ValueError, match="release refused"):
        again.spend(promise(1e-6))


def test_what_a_kept_account_has_spent_by_hand(tmp_path):
    _, account = kept_account("pure", tmp_path)
    assert_array_equal(account.spent, np.arange(1, 11) / 8)
    _, account = kept_account("gaussian", tmp_path)
    assert_array_equal(account.remaining, [0.8, 1.6])


# What differs between two accounts of the same people, and between two versions.
OF_ONE_FILE = {"id", "version", "sha256"}


@pytest.mark.parametrize("name", ACCOUNTS)
def test_an_account_is_written_as_1_0_wrote_it(name, tmp_path):
    """So that 1.0 reads it, too: another content needs another form."""
    part_spent(name).save(tmp_path / "new.json")
    new, old = (
        json.loads(path.read_text("utf-8"))
        for path in (tmp_path / "new.json", KEPT / f"account-{name}.json")
    )
    assert list(new) == list(old)
    assert {k: v for k, v in new.items() if k not in OF_ONE_FILE} == {
        k: v for k, v in old.items() if k not in OF_ONE_FILE
    }


@pytest.mark.parametrize("cut", [1, 100])
def test_a_kept_account_that_is_cut_is_refused(cut, tmp_path):
    path, _ = kept_account("pure", tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(ValueError, match="cut or changed"):
        BudgetAccount.open(path, neighbors="user")


# --- exports -------------------------------------------------------------------------------------


def table():
    """Forty people with two columns; their labels follow the first one."""
    rng = np.random.default_rng(20)
    X = pd.DataFrame(rng.random((40, 2)), columns=["age", "rooms"])
    return X, pd.Series(X["age"] - 0.5)


def a_line():
    return PDPRidge(0.5, bounds=[(0, 1), (0, 1)], delta=1e-6).fit(*table(), epsilon=2.0)


def a_mean():
    return PersonalizedMean().fit(*table(), epsilon=2.0)


def two_classes():
    X, y = table()
    return WeightedOutputPerturbation("logistic").fit(X, np.where(y > 0, "long", "short"))


def private_labels():
    X, y = table()
    return GWARegression().fit(X, y, users=np.arange(40) // 4, epsilon=2.0)


EXPORTS = {
    "line": a_line,
    "mean": a_mean,
    "classes": two_classes,
    "labels": private_labels,
}


def kept_export(name):
    return json.loads((KEPT / f"export-{name}.json").read_text("utf-8"))


def predicted(content, X):
    """What an export predicts, by its numbers alone."""
    if content["mean"] is not None:
        return np.full(len(X), content["mean"])
    scores = X.to_numpy() @ content["coef"] + content["intercept"]
    if content["classes"] is None:
        return scores
    return np.array(content["classes"])[(scores > 0).astype(int)]


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_of_1_0_is_read_and_predicts_the_same(name):
    content, (X, _) = kept_export(name), table()
    found, expected = load(content).predict(X), predicted(content, X)
    if content["classes"] is None:
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    else:
        assert_array_equal(found, expected)
    assert content["versions"]["pdpbook"] == "1.0.0"


def form(value):
    """What kind of thing an export holds at each place, without its numbers."""
    if isinstance(value, dict):
        return {name: form(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [form(inner) for inner in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "a number"
    return type(value).__name__


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_written_in_the_form_of_1_0(name):
    """So that 1.0 reads it, too: other fields need another form."""
    assert form(json.loads(json.dumps(export(EXPORTS[name]())))) == form(kept_export(name))


# --- public names --------------------------------------------------------------------------------

NO_DEFAULT = "(no default)"
#: what scikit-learn makes for metadata routing, and what only pages need
NOT_OURS = re.compile(r"set_\w+_request|get_metadata_routing")
FOR_PAGES = ("pdpbook.pages.", "pdpbook.minimal")


def arguments(thing):
    """Name and default of each argument, `*` before those that go by name alone."""
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return None  # whose arguments are Python's
    parameters = inspect.signature(thing).parameters.values()
    found = {}
    for one in parameters:
        if one.name != "self":
            by_name = one.kind is inspect.Parameter.KEYWORD_ONLY
            default = NO_DEFAULT if one.default is inspect.Parameter.empty else repr(one.default)
            found[("*" if by_name else "") + one.name] = re.sub(" at 0x[0-9a-f]+", "", default)
    return found


def attributes(thing):
    """What an estimator's docstring says that a fit leaves."""
    section = re.search(r"Attributes\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", inspect.getdoc(thing), re.S)
    lines = re.findall(r"^(\w+(?:, \w+)*)(?: :.*)?$", section[1], re.M) if section else []
    return sorted(name for line in lines for name in line.split(", "))


def members(kind):
    """Public methods and properties of a class, and of what it inherits from in the package."""
    ours = [one for one in kind.__mro__ if one.__module__.startswith("pdpbook.")]
    found = {name for one in ours for name in vars(one)}
    return sorted(name for name in found if name[0] != "_" and not NOT_OURS.fullmatch(name))


def public_names():
    """Every public name with its arguments; of a class also public methods and what a fit leaves.

    A name is public if its module has a page and offers it.
    """
    found = {}
    for module_name in modules():
        if module_name.startswith(FOR_PAGES):
            continue
        module = importlib.import_module(module_name)
        for name in exported(module):
            thing, where = getattr(module, name), f"{module_name}.{name}"
            found[where] = arguments(thing) if callable(thing) else None
            if not inspect.isclass(thing):
                continue
            for member in members(thing):
                inner = getattr(thing, member)
                found[f"{where}.{member}"] = arguments(inner) if callable(inner) else None
            if issubclass(thing, BaseEstimator):
                found |= {f"{where}.{left}": None for left in attributes(thing)}
    return found


def kept_names():
    return json.loads((KEPT / "names.json").read_text("utf-8"))


def broken(old, new):
    """What somebody who calls the old names by their arguments would notice."""
    for name, taken in old.items():
        if name not in new:
            yield f"{name} is gone"
            continue
        now = new[name]
        if taken is None or now is None:
            if taken is not now:
                yield f"{name} was {taken} and is {now}"
            continue
        for argument, default in taken.items():
            if now.get(argument, now.get(argument.lstrip("*"))) != default:
                yield f"{name}: argument {argument}={default} is gone or has another default"
        by_place = [argument for argument in taken if argument[0] != "*"]
        if [argument for argument in now if argument[0] != "*"][: len(by_place)] != by_place:
            yield f"{name}: arguments by place were {by_place}"
        needed = [one for one, default in now.items() if default == NO_DEFAULT and one not in taken]
        if needed:
            yield f"{name}: {needed} must be given now"


def test_every_public_name_of_1_0_is_there_with_its_arguments():
    """A name that goes, or a default that changes, is a version 2: see *What 1.0 promises*."""
    assert list(broken(kept_names(), public_names())) == []


def test_the_list_of_public_names_is_complete():
    new = sorted(set(public_names()) - set(kept_names()))
    assert new == [], "new names are promised, too: run python tests/test_versions.py"


OLD = {"m.f": {"x": NO_DEFAULT, "y": "1", "*z": "2"}, "m.C.a_": None}


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ({"m.C.a_": None}, "m.f is gone"),
        ({"m.f": OLD["m.f"]}, "m.C.a_ is gone"),
        (OLD | {"m.f": {"x": NO_DEFAULT, "y": "1"}}, r"\*z=2 is gone"),
        (OLD | {"m.f": {"x": NO_DEFAULT, "y": "7", "*z": "2"}}, "another default"),
        (OLD | {"m.f": {"y": "1", "x": NO_DEFAULT, "*z": "2"}}, "by place"),
        (OLD | {"m.f": OLD["m.f"] | {"*w": NO_DEFAULT}}, "must be given"),
        (OLD | {"m.f": None}, "and is None"),
    ],
)
def test_a_name_that_is_broken_is_noticed(new, said):
    assert re.search(said, "; ".join(broken(OLD, new)))


def test_what_a_minor_version_may_add_breaks_nothing():
    more = {"x": NO_DEFAULT, "y": "1", "z": "2", "*w": "3"}  # z may go by place now, w is new
    assert list(broken(OLD, OLD | {"m.f": more, "m.g": {}})) == []


# --- the files -----------------------------------------------------------------------------------


def write_missing():
    """Write the files that are not there yet, and the names."""
    KEPT.mkdir(exist_ok=True)
    for name in ACCOUNTS:
        path = KEPT / f"account-{name}.json"
        if not path.exists():
            part_spent(name).save(path)
            path.chmod(0o644)
    for name, make in EXPORTS.items():
        path = KEPT / f"export-{name}.json"
        if not path.exists():
            path.write_text(json.dumps(export(make()), indent=1) + "\n", encoding="utf-8")
    path = KEPT / "names.json"
    names = public_names() | (kept_names() if path.exists() else {})
    lines = [f"{json.dumps(name)}: {json.dumps(names[name])}" for name in sorted(names)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    write_missing()
