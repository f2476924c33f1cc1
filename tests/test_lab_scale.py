"""Many rows: the same answers from memory, files and a cluster, and the committed file."""

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from lab import experiments
from lab.experiments import scale
from lab.experiments.scale import CASES, Case, sweep_scale
from pdpbook.noise import L2Laplace
from pdpbook.personalized import PDPRidge
from pdpbook.sensitivity import ridge_constant

FILE = Path(__file__).resolve().parent.parent / "book" / "synthesis" / "results" / "scale.csv"
N, D, SEED = 500, 3, 5
RNG = np.random.default_rng(1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "ROWS", 64)  # eight pieces, the last one smaller
    monkeypatch.setattr(scale, "PIECES", 3)  # in three files
    scale.write_people(tmp_path, N, D, SEED)
    return tmp_path


def loaded(folder):
    return [np.concatenate(column) for column in zip(*scale.pieces(folder), strict=True)]


def answer(folder, task, source):
    return scale.measure(folder, Case(task, source, N, D), SEED)[0]


# --- the people ----------------------------------------------------------------------------------


def test_people_are_on_the_domain_and_their_own(folder):
    X, y, epsilon = loaded(folder)
    assert X.shape == (N, D)
    assert (X >= 0).all()
    assert (X <= 1).all()
    assert (np.abs(y) <= 1).all()
    assert set(epsilon) == set(scale.LEVELS)
    assert len(np.unique(X)) == N * D  # no block repeats another
    assert np.corrcoef(X.sum(axis=1), y)[0, 1] > 0.5


def test_pieces_are_the_people_once_each_in_files_of_a_few(folder):
    assert len(list(folder.iterdir())) == 3
    sizes = [len(y) for _, y, _ in scale.pieces(folder)]
    assert sizes == [64] * 7 + [52]
    table = pd.read_parquet(folder)
    assert list(table) == ["x0", "x1", "x2", "y", "epsilon"]
    assert np.array_equal(table.to_numpy(), np.column_stack(loaded(folder)))


def test_people_take_the_place_of_those_who_were_there(folder):
    scale.write_people(folder, 10, 2, SEED)
    assert [X.shape for X, _, _ in scale.pieces(folder)] == [(10, 2)]


def test_wide_people_come_in_shorter_blocks():
    assert scale._cuts(10_000, 1000)[0] == (0, 4194)
    assert scale._cuts(10_000, 1000)[-1][1] == 10_000
    assert scale._cuts(3, 10**9) == [(0, 1), (1, 2), (2, 3)]


# --- the answers ---------------------------------------------------------------------------------


def test_a_release_is_that_of_the_definition(folder):
    X, y, epsilon = loaded(folder)
    gram = (X.T * epsilon) @ X / epsilon.sum() + scale.LAM * np.eye(D)
    center = np.linalg.solve(gram, X.T @ (epsilon * y) / epsilon.sum())
    law = L2Laplace(center, epsilon.sum() / ridge_constant(scale.LAM, D, scale.PROOF))
    expected = law.sample(rng=np.random.default_rng(SEED))
    for source in ("memory", "file"):
        assert_allclose(answer(folder, "release", source), expected, rtol=1e-10)


def test_losses_are_the_same_from_memory_and_files(folder):
    assert_allclose(answer(folder, "losses", "file"), answer(folder, "losses", "memory"), 1e-10)


@pytest.mark.parametrize("kept", [[0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 2, 3, 4, 5, 6, 7]])
def test_a_piece_forgotten_or_counted_twice_is_noticed(folder, monkeypatch, kept):
    whole = {task: answer(folder, task, "memory") for task in ("release", "losses")}
    people = list(scale.pieces(folder))
    monkeypatch.setattr(scale, "pieces", lambda _: (people[k] for k in kept))
    for task, expected in whole.items():
        assert np.abs(answer(folder, task, "file") / expected - 1).max() > 1e-4


def test_a_pass_that_does_nothing_counts_the_people(folder):
    values, row = scale.measure(folder, Case("read", "file", N, D), SEED)
    assert values == [N]
    assert row["answer"] == N
    assert row["megabytes"] == sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    assert row["megabytes"] > N * (D + 2) * 8 / 1e6
    assert 0 < row["start"] <= row["peak"]


# --- the sweep -----------------------------------------------------------------------------------


def test_cases_of_the_sweep_agree_in_processes_of_their_own():
    cases = [Case("release", source, N, D) for source in ("file", "memory")]
    frame = sweep_scale(cases=cases, rng=np.random.default_rng(1))
    assert list(frame.source) == ["file", "memory"]
    assert frame.difference[0] == 0
    assert frame.difference[1] < 1e-10
    assert frame.answer[1] == pytest.approx(frame.answer[0], rel=1e-10)


@pytest.mark.slow
def test_two_workers_give_the_same():
    pytest.importorskip("distributed")
    cases = [Case("release", source, 10**5, D) for source in ("file", "cluster")]
    frame = sweep_scale(cases=cases, rng=np.random.default_rng(1))
    assert frame.difference.max() < 1e-10


@pytest.mark.slow
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(folder, tmp_path_factory):
    """Its part is made again by another worker, and is in the sums once."""
    distributed, dd = pytest.importorskip("distributed"), pytest.importorskip("dask.dataframe")
    mark = tmp_path_factory.mktemp("once") / "killed"
    model = PDPRidge(scale.LAM, random_state=SEED)

    def added(part):
        *X, y, epsilon = (part[name].to_numpy() for name in part.columns)
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return pd.Series([model.sums(np.column_stack(X), y, epsilon=epsilon)])

    people = dd.read_parquet(folder, split_row_groups=True)
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster):
        sums = sum(people.map_partitions(added, meta=(None, object)).compute())
    assert mark.exists()
    X, y, epsilon = loaded(folder)
    assert sums.n == N
    coef = model.fit(sums, epsilon=epsilon).coef_
    assert_allclose(coef, model.fit(X, y, epsilon=epsilon).coef_, rtol=1e-10)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("fit", "file", N, D), "task must be one of"),
        (Case("losses", "cluster", N, D), "source must be one of"),
        (Case("read", "memory", N, D), "source must be one of"),
    ],
)
def test_unknown_cases_are_refused_before_anything_runs(case, message):
    with pytest.raises(ValueError, match=message):
        sweep_scale(cases=[CASES[0], case], rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="data must be one of"):
        sweep_scale("medical-cost", rng=np.random.default_rng(1))


# --- the committed file --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def committed():
    return experiments.read_results(FILE)


def test_the_committed_file_has_every_case_and_one_answer_each(committed):
    assert committed.attrs["header"][0] == "python -m lab scale"
    found = [Case(*row) for row in committed[list(Case._fields)].itertuples(index=False)]
    assert sorted(found) == sorted(CASES)
    assert committed.difference.max() < 1e-10
    for _, rows in committed.groupby(["task", "n", "d"]):
        assert_allclose(rows.answer, rows.answer.iloc[0], rtol=1e-3)


def test_sums_of_ten_million_people_took_little_memory(committed):
    rows = committed[(committed.source == "file") & (committed.n == 10**7)]
    assert set(rows.task) == {"release", "losses", "read"}
    memory = committed[(committed.source == "memory") & (committed.n == 10**7)]
    assert (rows.peak < memory.peak.item() / 3).all()


def test_a_committed_row_is_what_a_run_gives(committed, tmp_path):
    case = Case("release", "file", 10**5, 10)
    seed = int(np.random.default_rng(experiments.SEED).integers(2**32))
    scale.write_people(tmp_path, case.n, case.d, seed)
    _, row = scale.measure(tmp_path, case, seed)
    match = committed[(committed[list(case._fields)] == list(case)).all(axis=1)]
    assert row["answer"] == pytest.approx(match["answer"].item(), rel=1e-3)
