"""A cluster whose scheduler is a process of its own, and dies."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose

from pdpbook.blocks import Rows, sources
from pdpbook.per_instance import stream_per_instance
from pdpbook.personalized import PDPRidge

pytestmark = pytest.mark.slow

CUT = 100
RNG = np.random.default_rng(6)
X, Y = RNG.random((1000, 3)), RNG.uniform(-1, 1, 1000)
FIT = PDPRidge(random_state=7)
CLUSTER = """
import sys
from distributed import LocalCluster

with LocalCluster(1, processes=False, protocol="tcp", dashboard_address=":0") as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def cluster():
    """A process with a scheduler and a worker, and a client that would wait for a minute."""
    from distributed import Client

    command, pipe = [sys.executable, "-c", CLUSTER], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            with Client(process.stdout.readline().strip(), timeout=60) as client:
                yield process, client
        finally:
            process.kill()


def lazy(array, slow=0.0):
    def late(block):
        time.sleep(slow)
        return block

    cut = da.from_array(array, chunks=(CUT, *array.shape[1:]))
    return cut.map_blocks(late, dtype=float, meta=array[:0])


@pytest.mark.parametrize("kept", [False, True])
def test_a_call_after_the_scheduler_has_died_does_not_wait_for_it(cluster, monkeypatch, kept):
    process, client = cluster
    columns = lazy(X), lazy(Y)
    assert_allclose(FIT.fit(*columns).coef_, FIT.fit(X, Y).coef_, rtol=1e-10)
    if kept:
        columns = client.persist(columns)
        client.gather(client.compute(columns))
    process.kill()
    process.wait()
    monkeypatch.setattr(sources, "PATIENCE", 0.2)
    with pytest.raises(ConnectionError, match="the cluster that held the blocks is gone"):
        FIT.fit(*columns)  # whether the client knows by now or not
    while client.status == "running":
        time.sleep(0.01)
    for read in (
        lambda: FIT.fit(*columns),
        lambda: stream_per_instance(Rows(*columns), 1.0, 1.0, 0.1),
    ):
        with pytest.raises(ConnectionError, match=r"is gone, .* the client is connecting\)$"):
            read()


def test_a_scheduler_that_dies_midway_is_said(cluster):
    here = os.getpid()

    def ends_it_all(X):
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return (len(X),)

    with pytest.raises(ConnectionError, match=r"is gone, .* nothing was released \(Fut.*lost"):
        Rows(lazy(X)).sum(ends_it_all)


def test_work_that_takes_longer_than_a_look_is_awaited(cluster, monkeypatch):
    monkeypatch.setattr(sources, "PATIENCE", 0.01)
    slow = FIT.fit(lazy(X, slow=0.05), lazy(Y))
    assert_allclose(slow.coef_, FIT.fit(X, Y).coef_, rtol=1e-10)


def test_a_scheduler_that_says_nothing_for_a_while_is_awaited(cluster, monkeypatch):
    """What it does not say is not taken for a cluster without workers."""
    process, _ = cluster
    monkeypatch.setattr(sources, "PATIENCE", 0.05)
    columns = lazy(X), lazy(Y)
    process.send_signal(signal.SIGSTOP)
    later = threading.Timer(1.0, process.send_signal, [signal.SIGCONT])
    later.start()
    for _ in range(2):
        assert_allclose(FIT.fit(*columns).coef_, FIT.fit(X, Y).coef_, rtol=1e-10)
        later.join()


def test_a_task_may_sum_blocks_of_its_own():
    """The only thread of the only worker has to make room for them as it waits."""
    from distributed import Client, LocalCluster

    def total(k):
        return Rows(lazy(X)).sum(lambda X: (len(X),))

    alone = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with LocalCluster(**alone, dashboard_address=":0") as cluster, Client(cluster) as client:
        assert client.submit(total, 0).result(timeout=60) == (len(X),)


def test_a_cluster_without_workers_is_waited_for_and_said(monkeypatch, recwarn):
    from distributed import Client, LocalCluster

    def said():
        return [str(w.message) for w in recwarn if w.category is UserWarning]

    def start_one():
        deadline = time.monotonic() + 60
        while not said() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(5 * sources.PATIENCE)  # it is said once
        cluster.scale(1)

    warnings.simplefilter("always")
    monkeypatch.setattr(sources, "PATIENCE", 0.2)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        late = threading.Thread(target=start_one)
        late.start()
        assert Rows(lazy(X)).sum(lambda X: (len(X),)) == (len(X),)
        late.join()
    assert said() == ["the cluster has no workers: waiting for one"]
