"""What is timed against what: each race is two functions that give the same answer.

The slow sides are in `naive.py` and `peers.py`; `record.py` runs the races and writes the record.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from lab import chapters, experiments
from lab.benchmarks import naive, programs
from lab.experiments.splits import Split, split_of
from pdpbook import datasets, pac
from pdpbook.gradient import DPSGDLaw
from pdpbook.gwa import exact_sensitivity, gwa_weights
from pdpbook.noise import sample_l2_laplace
from pdpbook.per_instance import ops_epsilon, per_instance_epsilon, stream_per_instance
from pdpbook.personalized import PDPRidge
from pdpbook.ridge import leave_one_out, loss_moments
from pdpbook.sensitivity import ridge_constant
from pdpbook.user_level import tradeoff_weights

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SIZES = (10, 100, 1000, 10_000)
DELTA = 1e-6
GAP = 1e-8  # relative and certified, of weights


@dataclass(frozen=True)
class Race:
    """Two functions to time in turn, and what is claimed of the ratio of their times."""

    kind: str  #: naive, peer: times faster than; floor: times as long as
    what: str
    against: str
    n: int
    d: int
    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    claim: str = ""  #: "at least 3", of the median
    part: float = 1.0  #: share of the work that `theirs` does; its time is divided by this
    versions: str = ""  #: of the peer; one in a process of its own says it itself


class Peer:
    """A peer in a process of its own, which runs once for every line it gets.

    It starts when it is asked for the first time, so that one that is not raced may be missing.
    """

    def __init__(self, python: str, name: str) -> None:
        self.command = [python, "-W", "ignore", str(HERE / "peers.py"), name]
        self.package = name.partition("-")[0]

    @cached_property
    def process(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(self.command, stdin=pipe, stdout=pipe, text=True)

    @cached_property
    def versions(self) -> str:
        """The package and its version, the first line that the process prints."""
        return f"{self.package} {self._answer()}"

    def _answer(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"peers.py ended early with status {self.process.wait()}")
        return line.strip()

    def seconds(self) -> float:
        """Run once; the seconds are the peer's own, without the pipe."""
        _ = self.versions  # which the process says first
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self._answer())

    def close(self) -> None:
        if "process" in vars(self):
            self.process.stdin.close()
            self.process.wait()


def people(n, d=10):
    """Rows in the unit cube, labels in [-1, 1], budgets: what every fit here takes."""
    rng = np.random.default_rng(0)
    return rng.random((n, d)), rng.uniform(-1, 1, n), rng.uniform(0.1, 1, n)


def regression(n, d=10):
    """Rows that predict their labels, for losses person by person."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    return X, X.sum(axis=1) + rng.normal(size=n) / np.sqrt(d)


def fits() -> Iterator[Race]:
    """A private fit: validation, weights, solve, noise."""
    for n in (*SIZES, 100_000):
        X, y, epsilon = people(n)
        rng = np.random.default_rng(1)
        what, data = "PDPRidge.fit", (X, y, epsilon, 1.0, rng)

        def ours(X=X, y=y, epsilon=epsilon, rng=rng):
            return PDPRidge(proof="published", random_state=rng).fit(X, y, epsilon=epsilon)

        for slow, how in ((naive.private_fit, "nothing"), (naive.checked_fit, "the same")):
            if n <= SIZES[-1]:
                against = f"the sums over people, one by one, {how} validated"
                yield Race("naive", what, against, n, 10, ours, partial(slow, *data))
        against = "Ridge of scikit-learn with weights, and one draw"
        by_scikit_learn = partial(naive.fit_by_scikit_learn, *data)
        yield Race("peer", what, against, n, 10, ours, by_scikit_learn)

    def gram():
        return np.linalg.solve(X.T @ X + np.eye(10), X.T @ y)

    yield Race(
        "floor", "PDPRidge.fit", "one Gram matrix and a solve", n, 10, ours, gram, "at most 3"
    )


def noise() -> Iterator[Race]:
    for size in SIZES:
        rng = np.random.default_rng(0)
        yield Race(
            "naive",
            "sample_l2_laplace",
            "draws one by one",
            size,
            10,
            lambda size=size, rng=rng: sample_l2_laplace(10, 1.0, size, rng=rng),
            lambda size=size, rng=rng: naive.draws(size, 10, 1.0, rng),
        )
    yield Race(
        "floor",
        "sample_l2_laplace",
        "normal draws",
        100_000,
        10,
        lambda: sample_l2_laplace(10, 1.0, 100_000, rng=rng),
        lambda: rng.normal(size=(100_000, 10)),
    )


def _at_hand(name: str) -> Split | None:
    """One draw of the data; None where the original file is not there."""
    try:
        return split_of(name, np.random.default_rng(0))
    except FileNotFoundError:
        return None


def scores() -> Iterator[Race]:
    """10,000 released models on the test set of each of the two data sets of the tables."""
    for name, lam in (("synthetic", 100.0), ("medical-cost", 1.0)):
        split = _at_hand(name)
        if split is None:
            continue
        n, d = split.X.shape
        eta = n * 0.5 / ridge_constant(lam, d, "published")
        theta = Ridge(alpha=lam * n, fit_intercept=False).fit(split.X, split.y).coef_
        test = split.X_test, split.y_test, theta, eta
        rng = np.random.default_rng(1)
        yield Race(
            "naive",
            "loss_moments, exact",
            "10,000 models drawn and scored one by one",
            len(split.y_test),
            d,
            lambda test=test: loss_moments(*test),
            lambda test=test, rng=rng: naive.score_releases(*test, 10_000, rng),
            "at least 100",
        )


def tables() -> Iterator[Race]:
    """Every table of the paper in closed form, one draw of data and budgets."""
    split = _at_hand("medical-cost")
    if split is None:
        return

    def sweeps(rng):
        for name in ("synthetic", "medical-cost"):
            for sweep in ("lambda", "eps_c", "eps_m", "f_c", "n"):
                getattr(experiments, f"sweep_{sweep}")(name, draws=1, rng=rng)

    yield Race(
        "seconds",
        "all tables of PDP-OP in closed form",
        "one second",
        1070,
        12,
        lambda: sweeps(np.random.default_rng(0)),
        None,
        "at most 1",
    )
    lams, epsilon = experiments.GRIDS["lambda"]["medical-cost"], people(len(split.y))[2]
    rng = np.random.default_rng(1)
    yield Race(
        "naive",
        "sweep_lambda, exact",
        "10,000 repeats, as printed",
        len(split.y),
        split.X.shape[1],
        lambda: experiments.sweep_lambda("medical-cost", draws=1, rng=np.random.default_rng(0)),
        lambda: naive.repeat(split, lams, epsilon, rng),
        part=1e-4,
    )


def losses() -> Iterator[Race]:
    """Everybody's exact loss under one posterior sample."""
    for n in (*SIZES[:3], 2000, SIZES[3]):
        X, y = regression(n)
        some = range(0, n, max(1, n // 500))

        def ours(X=X, y=y):
            return per_instance_epsilon(X, y, 1.0, 1.0, DELTA)

        part, refits = len(some) / n, partial(naive.refits, X, y, 1.0, some)
        searched = partial(naive.losses_by_refits, X, y, 1.0, 1.0, DELTA, some)
        claim = "at least 200" if n == 2000 else ""
        for slow, against in (
            (searched, "refits without each person, and a search for each epsilon"),
            (refits, "refits alone"),
        ):
            yield Race("naive", "per_instance_epsilon", against, n, 10, ours, slow, claim, part)
        everybody = partial(leave_one_out, X, y, 1.0, np.ones(n))
        against = "refits without each person"
        yield Race("naive", "leave_one_out", against, n, 10, everybody, refits, part=part)
        leverage = np.einsum("ij,ij->i", X, X) / n
        residual = np.abs(y)
        yield Race(
            "naive",
            "ops_epsilon",
            "a search for each epsilon",
            n,
            1,
            lambda a=leverage, b=residual: ops_epsilon(DELTA, a, b),
            lambda a=leverage, b=residual, some=some: [
                naive.person_epsilon(a[i], b[i], DELTA) for i in some
            ],
            part=part,
        )
    X, y = regression(1_000_000)
    blocks = [(X[k : k + 100_000], y[k : k + 100_000]) for k in range(0, len(y), 100_000)]
    for gamma in (1.0, 100.0):
        yield Race(
            "floor",
            f"per_instance_epsilon, gamma = {gamma:g}",
            "one QR factorization, R alone",
            len(y),
            10,
            lambda gamma=gamma: per_instance_epsilon(X, y, 1.0, gamma, DELTA),
            lambda: np.linalg.qr(X, mode="r"),
            "at most 10",
        )
    yield Race(
        "floor",
        "stream_per_instance, gamma = 1",
        "one QR factorization, R alone",
        len(y),
        10,
        lambda: stream_per_instance(blocks, 1.0, 1.0, DELTA),
        lambda: np.linalg.qr(X, mode="r"),
        "at most 10",
    )


def halves() -> Iterator[Race]:
    """PAC noise for all people of Concrete."""
    try:
        X, y = (part.to_numpy() for part in chapters.pac_design("concrete-slump"))
    except FileNotFoundError:
        return

    def ours():
        moments = pac.difference_moments(pac.Pool(X, y), basis="svd", rng=np.random.default_rng(1))
        return moments, pac.allocate_noise(moments, 0.75)

    draws = ours()[0].draws
    masks = pac.Pool(X, y).sample(3, 0.5, np.random.default_rng(0))
    yield Race(
        "naive",
        "difference_moments and allocate_noise",
        "refits of as many halves by scikit-learn",
        len(y),
        X.shape[1],
        ours,
        lambda: naive.pac_refits(X, y, masks),
        "at least 50",
        len(masks) / draws,
    )


def descent(peer: Callable[[str], Peer] | None) -> Iterator[Race]:
    """One epoch of DP-SGD with 100 batches of 1,000 people on average."""
    n, d, batch = 100_000, 10, 1000
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, n)
    law = DPSGDLaw(X, y, batch / n, batch, 1.0, 0.1, n // batch, 1.0)
    members = [rng.random(n) < batch / n for _ in range(law.steps)]
    batches = [(X[member], y[member]) for member in members]

    def ours():
        return law.sample(rng=rng)

    def on_batches():
        theta = np.zeros(d)
        for rows, labels in batches:
            theta = law.step(theta, rows, labels, rng=rng)

    what = "one epoch of DP-SGD"
    yield Race(
        "naive",
        what,
        "gradients one by one",
        n,
        d,
        ours,
        lambda: naive.sgd_epoch(X, y, batch / n, batch, 1.0, 0.1, 1.0, rng),
    )
    if peer is None:
        return
    given = f"{what}, batches given"
    for name, who, run, how, claim in (
        ("opacus", what, ours, "Opacus with its loader, the same sampling rate", "at least 10"),
        ("opacus-batches", given, on_batches, "Opacus on the same batches", "at least 10"),
        ("opacus-batches", what, ours, "Opacus where batches are given", ""),
    ):
        rival = peer(name)
        yield Race("peer", who, how, n, d, run, rival, claim)
        rival.close()


def diffprivlib(peer: Callable[[str], Peer] | None) -> Iterator[Race]:
    """The private fit with a budget for everybody alike, the most that this peer offers."""
    if peer is None:
        return
    X, y, epsilon = people(100_000)
    rival = peer("diffprivlib")
    yield Race(
        "peer",
        "PDPRidge.fit",
        "LinearRegression of diffprivlib, no intercept",
        len(y),
        10,
        lambda: PDPRidge(random_state=0).fit(X, y, epsilon=epsilon),
        rival,
        "at least 5",
    )
    rival.close()


def users() -> Iterator[Race]:
    """Weights of users and of their rows."""
    rng = np.random.default_rng(0)
    for n in SIZES:
        sizes = rng.zipf(1.5, n).clip(max=1000)
        ours = partial(tradeoff_weights, sizes, 1.0)
        for slow, against in (
            (naive.tradeoff, "a root search, nothing validated"),
            (naive.checked_tradeoff, "a root search, the same validated and returned"),
        ):
            yield Race("naive", "tradeoff_weights", against, n, 1, ours, partial(slow, sizes, 1.0))
        C = rng.normal(size=(8, n))
        owner = datasets.sample_zipf_users(n, 1.5, rng=rng)
        yield Race(
            "naive",
            "exact_sensitivity",
            "sign vectors and users one by one",
            n,
            8,
            lambda C=C, owner=owner: exact_sensitivity(C, owner),
            lambda C=C, owner=owner: naive.exact_sensitivity(C, owner),
        )
    for n in (20, 100, 600, 3000, 10_000):
        X, owner, setting = programs.instance(n)
        ours = partial(gwa_weights, X, owner, **setting)
        solvers = ("PIQP", {}), ("CLARABEL", programs.TIGHT)
        for solver, options in solvers[: 1 if n > 3000 else 2]:
            theirs = partial(programs.solve, X, owner, setting, solver, **options)
            gaps = ours().gap, programs.gap(*theirs(), X, owner, setting)
            if not np.max(np.abs(gaps)) <= GAP:
                raise RuntimeError(f"{solver} and we must end within {GAP:g}; got {gaps}")
            against, goal = f"{solver} through cvxpy, both within {GAP:g}", ""
            if solver == "PIQP":
                goal = {3000: "at least 3", 10_000: "at least 10"}.get(n, "")
            version = _solver_version(solver)
            yield Race("peer", "gwa_weights", against, n, 10, ours, theirs, goal, versions=version)
    for n, what, options in (
        (1_000_000, "gwa_weights", {}),
        (
            600,
            "gwa_weights with the exact sensitivity, to 1e-6",
            {"sensitivity": "exact", "tol": 1e-6},
        ),
    ):
        X, owner, setting = programs.instance(n)
        ours = partial(gwa_weights, X, owner, **options, **setting)
        yield Race("seconds", what, "ten seconds", n, 10, ours, None, "at most 1", part=0.1)


def _solver_version(solver: str) -> str:
    from importlib.metadata import version

    return f"cvxpy-base {version('cvxpy-base')}, {solver.lower()} {version(solver.lower())}"


def everything(peer: Callable[[str], Peer] | None) -> Iterator[Race]:
    """All races; those with peers only where there is one."""
    yield from fits()
    yield from diffprivlib(peer)
    yield from noise()
    yield from scores()
    yield from tables()
    yield from losses()
    yield from halves()
    yield from descent(peer)
    yield from users()


# --- memory ---------------------------------------------------------------------------------------

MEMORY = """
import tracemalloc
from lab.benchmarks import races
X, y, epsilon = races.people(1000)
run = races.SINGLE_PASS[{name!r}]
run(X, y, epsilon)  # imports
del X, y, epsilon
tracemalloc.start()
X, y, epsilon = races.people({n})
held = X.nbytes + y.nbytes + epsilon.nbytes
tracemalloc.reset_peak()
run(X, y, epsilon)
print(tracemalloc.get_traced_memory()[1] / held)
"""


def _single_pass() -> dict[str, Callable[..., Any]]:
    from pdpbook.objective_perturbation import ObjectivePerturbation
    from pdpbook.posterior import AdaOPS, OnePosteriorSample
    from pdpbook.ridge import weighted_ridge
    from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge

    plain = {
        "ObjectivePerturbation.fit": ObjectivePerturbation,
        "AdaSSP.fit": AdaSSP,
        "OnePosteriorSample.fit": partial(OnePosteriorSample, n_max=1_000_000),
        "AdaOPS.fit": partial(AdaOPS, n_max=1_000_000),
    }
    personal = {
        "PDPRidge.fit": PDPRidge,
        "SufficientStatisticsRidge.fit": SufficientStatisticsRidge,
    }
    runs = {
        name: lambda X, y, epsilon, model=model: model(random_state=0).fit(X, y)
        for name, model in plain.items()
    }
    runs |= {
        name: lambda X, y, epsilon, model=model: model(random_state=0).fit(X, y, epsilon=epsilon)
        for name, model in personal.items()
    }
    return runs | {
        "weighted_ridge": lambda X, y, epsilon: weighted_ridge(X, y, 1.0, epsilon),
        "per_instance_epsilon": lambda X, y, epsilon: per_instance_epsilon(X, y, 1.0, 1.0, DELTA),
    }


SINGLE_PASS = _single_pass()


def peak(name: str, n: int) -> float:
    """Peak memory of one run over that of its input, which it includes; a process of its own."""
    code = MEMORY.format(name=name, n=n)
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(run.stdout)
