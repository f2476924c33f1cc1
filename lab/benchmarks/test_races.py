"""The races of `races.py` under pytest-benchmark: `make bench` prints the two sides of each.

Compare the two lines of a group, never a line with a number. Where the slow side does a part of
the work, its group says which; `record.py` takes the ratios.
"""

import pytest

from lab.benchmarks import races
from lab.benchmarks.record import RUNS, calls_for


def sides():
    for race in races.everything(peer=None):
        part = "" if race.part == 1 else f", {race.part:.3g} of the work"
        group = f"{race.what} beside {race.against}{part}, n = {race.n:,}, d = {race.d}"
        for side, function in (("ours", race.ours), ("theirs", race.theirs)):
            if function is not None:
                yield pytest.param(function, group, id=f"{group}: {side}")


@pytest.mark.parametrize(("function", "group"), list(sides()))
def test_side(benchmark, function, group):
    benchmark.group = group
    benchmark.pedantic(function, rounds=RUNS, iterations=calls_for(function))
