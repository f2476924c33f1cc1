"""Live cells: what they print is what CPython prints, and their falsifiers can fail.

The interpreter itself is driven in `tests/site/test_site_live.py`; all here runs in CPython.
"""

import ast
import json
import math
import re
from collections.abc import Iterator
from inspect import getsource, isfunction

import nbformat
import numpy as np
import pdp_live
import pytest
from right_answers import right_answers
from scipy import stats
from wrong_answers import wrong_answers

from pdpbook import sensitivity
from pdpbook.guarantees import BudgetAccount
from pdpbook.pages.exercises import assignment, check
from pdpbook.personalized import PDPRidge, threshold_budgets

LIVE = {live.name: live for page in pdp_live.PAGES for live in pdp_live.cells(page)}
POSED = {name: pdp_live.exercise(page) for page, name in pdp_live.EXERCISES.items()}
OPEN = [name for name in LIVE if name.endswith("open")]
SMALL: dict = {}
exec((pdp_live.HERE / "arrays.py").read_text("utf-8"), SMALL)
PACKAGE = (pdp_live.HERE / "package.py").read_text("utf-8")
Small, Generator = SMALL["np"], SMALL["Generator"]


class FromSmall:
    """A generator for NumPy that draws what the small one draws from the same uniforms."""

    def __init__(self, seed):
        self.small = SMALL["default_rng"](seed)

    def __getattr__(self, name):
        def draw(*given):
            drawn = getattr(self.small, name)(*given)
            return np.array(drawn.tolist()) if isinstance(drawn, SMALL["ndarray"]) else drawn

        return draw


def printed(live, capsys, with_numpy=False, change=("", "")) -> str:
    """What a cell and its trial print, with NumPy or with the small one."""
    assert change[0] in live.code, "nothing to change"
    names = {"np": np} if with_numpy else dict(SMALL)
    exec(PACKAGE, names)
    for code in (live.context, live.code.replace(*change), live.trial):
        exec(code, names)
    return capsys.readouterr().out


def committed(live) -> str:
    """What a cell prints in the book."""
    page = live.name.split()[0]
    notebook = nbformat.read(pdp_live.ROOT / "book" / f"{page}.ipynb", as_version=4)
    [cell] = [cell for cell in notebook.cells if cell.source == live.code]
    return "".join(output.text for output in cell.outputs)


def attributes(code: str) -> Iterator[str]:
    """What stands behind a dot, with the names before it: `np.linalg.norm`, `.T`."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute):
            whole = ast.unparse(node)
            yield whole if re.fullmatch(r"np[.\w]+", whole) else f".{node.attr}"


def answers(name: str) -> dict[str, str]:
    """The committed answers to an exercise, right and wrong, and the solution: source by name."""
    page = next(page for page, exercise in pdp_live.EXERCISES.items() if exercise == name)
    sheet = page.split("/")[1]
    committed = [*right_answers[sheet], *wrong_answers(sheet)]
    found = [a.answer for a in committed if a.exercise == name and isfunction(a.answer)]
    [solution] = [code for code, _ in pdp_live.sources(page) if f"def {name}(" in code]
    sources = {one.__name__: re.sub(r"^@.*\n", "", getsource(one)) for one in found}
    sources = {key: code for key, code in sources.items() if "special." not in code}  # of scipy
    return {**sources, name: solution, **MORE[name], "stub": POSED[name].stub}


MORE = {  # for the properties that one sees, which the others have
    "truth_probability": {
        "always": "def always(epsilon):\n    return 1.0",
        "falls": "def falls(epsilon):\n    return 1 / (1 + np.exp(epsilon))",
        "odds": "def odds(epsilon):\n    return np.exp(epsilon)",
        "typo": "def typo(epsilon):\n    return 1 / (1 + np.exp(-epsilom))",
    },
    "budget_shares": {
        "budgets": "def budgets(epsilon):\n    return epsilon * 1.0",
        "one": "def one(epsilon):\n    return 1.0",
        "negative": "def negative(epsilon):\n    return 2 * epsilon - np.mean(epsilon)",
    },
}
ELSEWHERE = {  # what the small NumPy has not: the page says so, and judges nothing
    "a_row_of_chances",
    "a_list_even_of_one",
    "all_certain_if_one_budget_is_huge",
    "in_order_of_budgets",
    "divided_in_place",
    "shares_of_the_type_of_budgets",
}


def all_code() -> Iterator[str]:
    for live in (*LIVE.values(), *POSED.values()):
        yield from (live.context, live.code, live.trial)
    yield PACKAGE
    for name in POSED:
        yield from (code for key, code in answers(name).items() if key not in ELSEWHERE)


USED = {name for code in all_code() for name in attributes(code)}
OFFERED = {f"np.{name}" for name in vars(Small) if name not in {"what", "linalg", "random"}} | {
    f"np.{part}.{name}"
    for part in ("linalg", "random")
    for name in vars(getattr(Small, part))
    if name != "what"
}


def test_the_small_numpy_has_what_the_cells_use_and_no_more():
    assert OFFERED == {name for name in USED if name.startswith("np.")} - {"np.linalg", "np.random"}
    methods = {name for name in vars(SMALL["ndarray"]) if not name.startswith("_")} - {"rows"}
    drawing = {name for name in vars(Generator) if not name.startswith("_")} - {"draws"}
    assert {f".{name}" for name in methods | drawing} <= USED


A, B, M = [0.5, 0.2, 0.1, 0.2, 1], [3, -1, 0, 7, 2], [[1.5, 2, 0], [0.5, -1, 4], [0, 1, 1]]
GRID = """
np.arange(5)
np.arange(2, 9, 3)
np.argsort(-b / 2)
np.array([1, 2.5, 3])
np.bincount([0, 2, 2, 5])
np.cumsum(a)
np.cumsum(b)
np.delete(b, 1)
np.delete([3, 1, 4], -1)
np.dot(b, a)
np.dot([1, 2], [3, 4])
np.exp(a)
np.exp(-0.3)
np.eye(3)
np.linalg.norm(a)
np.linalg.solve(m, [1, 2, 3])
np.log(a)
np.log([1.0, 2.0])
np.minimum(a, 0.3)
np.minimum(b, 2 * b)
np.minimum(0.5, a)
np.maximum(a, 0.3)
np.maximum(1, 2)
np.full(3, 0.5)
np.asarray(b, dtype=float)
np.asarray(2)
np.asarray([1, 2])
np.sum(b)
np.sum([1, 2.5])
np.mean(a)
np.repeat([1, 2, 3], [2, 0, 1])
np.repeat([0.5, 2], 3)
np.repeat(2, 3)
np.round(a / 3, 2)
np.sqrt(a)
np.tanh(a / 2)
np.tanh(0.25)
np.where(a < 0.3, a, 0)
np.where(a < 0.3, b, 0)
np.where([True, False], 1, [5, 6])
a + b
a - b[0]
2 - a
b * [1, 2, 3, 4, 5]
a / 3
1 / a
b % 2
a**2
2**b[:1]
-b
abs(b)
a >= 0.2
a == b
a != 0.5
a > 0.2
a <= 0.2
~(a < 0.3)
(a < 0.3) & (b > 0)
(a < 0.3) | (b > 0)
a @ b
m @ m
m @ [1, 2, 3]
b[:3] @ m
m.T
(m.T * [1, 2, 3]) @ m + 0.5 * np.eye(3)
a[:, None] * b
a[:, None].shape
m[1]
m[:, 1]
m[1:, :2]
m[2, 1]
m[:, None].shape
b[::2]
b[::-1]
b[[0, 3, 3]]
b[b > 1]
m[[2, 0]]
a.sum()
a.mean()
np.exp(1 / np.arange(1, 1001)).sum()
m.sum()
b.max()
np.exp(a).round(2)
b.tolist()
m.tolist()
len(m)
sum(a > 0.2)
[x for x in m[0]]
3 - b
[0] + b
""".strip().splitlines()


@pytest.mark.parametrize("expression", GRID)
def test_it_computes_what_numpy_computes(expression):
    def value(module):
        names = {"np": module, "a": module.array(A), "b": module.array(B), "m": module.array(M)}
        return eval(expression, names)

    ours, theirs = value(Small), np.asarray(value(np))
    ours = np.array(
        ours.tolist() if hasattr(ours, "tolist") else list(ours) if isinstance(ours, list) else ours
    )
    assert ours.shape == theirs.shape
    assert ours.dtype.kind == theirs.dtype.kind
    np.testing.assert_allclose(ours, theirs, rtol=4e-15)  # a few roundings


def test_every_function_that_the_cells_use_is_on_that_grid():
    tried = {name for expression in GRID for name in attributes(expression)}
    drawing = {f".{name}" for name in vars(Generator)}
    own = {f".{name}" for name in vars(SMALL["ndarray"])}
    needed = {name for name in USED if name.startswith("np.") or name in own - drawing}
    assert needed - {"np.linalg", "np.random", "np.random.default_rng"} <= tried


@pytest.mark.parametrize(
    "numbers",
    [
        A,
        B,
        M,
        [1e-9, 1],
        [123456.789, 0.5],
        [True, False],
        [1 / 3, 2 / 3],
        [1e9, 1],
        [0.25],
        [-0.5, 10],
        list(range(60)),
        [k / 7 for k in range(30)],
        [float("inf"), 1.0],
    ],
)
def test_it_prints_as_numpy_prints(numbers):
    assert str(Small.array(numbers)) == str(np.array(numbers))


@pytest.mark.parametrize("name", [name for name in LIVE if name.endswith("change")])
def test_a_cell_without_chance_prints_what_the_book_prints(name, capsys):
    assert printed(LIVE[name], capsys) == committed(LIVE[name]) != ""


@pytest.mark.parametrize("name", OPEN)
def test_with_the_same_uniforms_a_cell_prints_what_numpy_prints(name, capsys, monkeypatch):
    ours = printed(LIVE[name], capsys)
    monkeypatch.setattr(np.random, "default_rng", FromSmall)
    assert ours == printed(LIVE[name], capsys, with_numpy=True)
    assert "\nnot refuted: chance alone can add four standard errors, 0." in ours


DRAWS = [  # name, arguments, distribution
    ("random", (), stats.uniform()),
    ("integers", (2, 6), stats.randint(2, 6)),
    ("binomial", (1, 0.3), stats.binom(1, 0.3)),
    ("geometric", (0.2,), stats.geom(0.2)),
    ("laplace", (1.0, 2.0), stats.laplace(1, 2)),
    ("standard_normal", (), stats.norm()),
    ("gamma", (3, 0.5), stats.gamma(3, scale=0.5)),
]


def gap(name, given, law) -> float:
    """How far the mean of 4,000 draws is off, in standard errors."""
    draws = getattr(SMALL["default_rng"](1), name)(*given, 4000)
    return abs(np.mean(draws.tolist()) - law.mean()) / (law.std() / 4000**0.5)


@pytest.mark.parametrize(("name", "given", "law"), DRAWS, ids=[draw[0] for draw in DRAWS])
def test_draws_have_the_mean_of_their_distribution(name, given, law):
    assert gap(name, given, law) < 5  # by chance once in a million
    if law.dist.name not in {"randint", "binom", "geom"}:
        draws = getattr(SMALL["default_rng"](2), name)(*given, 4000).tolist()
        assert stats.kstest(draws, law.cdf).pvalue > 1e-6


def test_every_kind_of_draw_is_tried_and_a_wrong_one_is_found():
    assert {draw[0] for draw in DRAWS} == {
        name for name in vars(Generator) if not name.startswith("_")
    } - {"draws"}
    assert gap("gamma", (3, 2.0), stats.gamma(3, scale=0.5)) > 5


@pytest.mark.parametrize("lam", [0.01, 1 / 9, 1, 7, 240])
@pytest.mark.parametrize("d", [1, 3, 12])
def test_constants_are_those_of_the_package(lam, d):
    names = {"np": np}
    exec(PACKAGE, names)
    assert names["PROOFS"] == sensitivity.PROOFS
    for proof in sensitivity.PROOFS:
        ours, theirs = (
            names["ridge_constant"](lam, d, proof),
            sensitivity.ridge_constant(lam, d, proof),
        )
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)  # the peak is flat: roundings only
    for w in (1e-3, 0.1, 1.0):
        ours = names["label_sensitivity"](w, lam, d)
        np.testing.assert_allclose(ours, sensitivity.label_sensitivity(w, lam, d), rtol=1e-14)


def test_thresholds_and_accounts_are_those_of_the_package():
    names, rng = {"np": np}, np.random.default_rng(1)
    exec(PACKAGE, names)
    for n in (1, 5, 40):
        budgets = rng.integers(1, 12, n) / 10
        assert (names["threshold_budgets"](budgets) == threshold_budgets(budgets)).all()
    total, costs = rng.integers(1, 12, 30) / 10, rng.integers(1, 5, (4, 30)) / 10
    X, y = rng.random((30, 2)), rng.random(30)
    accounts = [
        names["BudgetAccount"](total, leave_out=True, neighbors="replace-one"),
        BudgetAccount(total, leave_out=True, neighbors="replace-one"),
    ]
    for cost in costs:
        ours, theirs = (
            model(random_state=1).fit(X, y, epsilon=cost, account=account).guarantee_.epsilon
            for model, account in zip((names["PDPRidge"], PDPRidge), accounts, strict=True)
        )
        assert (ours == theirs).all()
        assert (accounts[0].remaining == accounts[1].remaining).all()
    with pytest.raises(ValueError, match="not enough left for 0"):
        names["BudgetAccount"]([0.1]).charge([0.2])


def judged(name: str, source: str, capsys) -> str:
    """What the page prints about an answer."""
    names = dict(SMALL)
    exec(source, names)
    [given] = re.findall(r"^def (\w+)", source, re.M)[:1]
    names[name] = names[given]
    exec(POSED[name].trial, names)
    return capsys.readouterr().out


CASES = [(name, key) for name in POSED for key in answers(name)]


@pytest.mark.parametrize(("name", "key"), CASES)
def test_an_answer_is_judged_in_the_page_as_check_judges_it(name, key, capsys):
    source = answers(name)[key]
    if key in ELSEWHERE:
        with pytest.raises(AttributeError, match="does not run in the page"):
            judged(name, source, capsys)
        return
    names = {"np": np, "math": math}
    exec(source, names)
    [given] = re.findall(r"^def (\w+)", source, re.M)[:1]
    [live] = [live for live in POSED.values() if live.name.endswith(name)]
    sheet = live.name.split()[0].split("/")[1]
    with np.errstate(all="ignore"):
        faults = assignment(sheet).exercises[name].faults(names[given], "visible", 0)
    wanted = [fault.split("; it raised")[0] for fault in faults]
    told = judged(name, source, capsys)
    assert re.findall(r"^- (.*)$", told, re.M) == wanted
    if not wanted:
        check(f"{sheet}/{name}", names[given])
        assert told == capsys.readouterr().out


def test_answers_of_both_kinds_were_judged():
    assert len(CASES) > 20
    assert ELSEWHERE < {key for _, key in CASES}


BROKEN = {  # noise, or what decides who counts, as a reader may break it
    "foundations/coins open": ("np.tanh(epsilon / 2)\n    fair", "np.tanh(epsilon)\n    fair"),
    "foundations/promises open": ("np.exp(-rate)", "np.exp(-2 * rate)"),
    "personalized/pdp_op open": ("rng.gamma(d, 1 / eta)", "rng.gamma(d, 1 / (2 * eta))"),
    "user_level/mean open": ("B * max(w / eps)", "B * max(w / eps) / 2"),
    "per_instance/filters open": ("cost <= left ", "cost <= 99 + left "),
    "personalized/sensitivity open": ("2 * d**0.5", "1 * d**0.5"),
}


@pytest.mark.parametrize("name", OPEN)
def test_a_broken_cell_breaks_the_promise(name, capsys):
    whole = printed(LIVE[name], capsys)
    broken = printed(LIVE[name], capsys, change=BROKEN[name])
    assert broken.endswith("REFUTED\n")

    def number(text):
        return float(re.search(r": ([\d.]+|inf) \(standard error", text)[1])

    assert number(broken) > 1.2 * number(whole)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("np.sort([2, 1])", "np.sort does not run in the page: use sorted(x)."),
        ("np.array([1]).std()", "array.std does not run in the page: use np.sqrt("),
        ("np.linalg.inv(0)", "np.linalg.inv does not run in the page: use np.linalg.solve(A, b)."),
        ("np.random.default_rng(1).normal()", "rng.normal does not run in the page: use a + b *"),
        ("np.fft", "np.fft does not run in the page: NumPy itself runs in JupyterLab"),
    ],
)
def test_a_name_that_is_not_there_is_named_with_what_to_use(code, words):
    with pytest.raises(AttributeError, match=re.escape(words)):
        eval(code, {"np": Small})


def test_the_interpreter_is_locked_by_its_hash_and_names_no_host():
    lock = json.loads((pdp_live.HERE / "package-lock.json").read_text("utf-8"))
    asked = json.loads((pdp_live.HERE / "package.json").read_text("utf-8"))["dependencies"]
    [(name, version)] = asked.items()
    package = lock["packages"][f"node_modules/{name}"]
    assert package["version"] == version
    assert package["license"] == "MIT"
    assert package["integrity"].startswith("sha512-")
    assert "resolved" not in package
    assert pdp_live.PACKAGE.as_posix().endswith(f"node_modules/{name}")


def test_without_the_interpreter_a_page_stays_as_it_is(monkeypatch, tmp_path):
    monkeypatch.setattr(pdp_live, "PACKAGE", tmp_path / "missing")
    assert pdp_live.mark(None, "book/foundations/coins.html") is None
