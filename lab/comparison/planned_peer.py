"""Linear regression of diffprivlib on one table: ``python planned_peer.py FILE``.

Runs in an environment of its own, `lab/benchmarks/requirements-peers.txt`, and imports nothing of
ours. FILE is of `planned.py`: rows and labels mapped to [-1, 1] by public bounds, and the order of
the people in each split. It prints the version, and the test R2 of each split as JSON.
"""

import json
import sys
import warnings

import diffprivlib
import numpy as np
from diffprivlib.models import LinearRegression
from sklearn.metrics import r2_score


def scores(X, y, fitted, new, epsilon):
    """Return the test R2 of each split; predictions are cut at the bounds, which helps it."""
    found = []
    for seed, (old, tested) in enumerate(zip(fitted, new, strict=True)):
        model = LinearRegression(
            epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=seed
        )
        model.fit(X[old], y[old])
        found.append(float(r2_score(y[tested], np.clip(model.predict(X[tested]), -1, 1))))
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with np.load(sys.argv[1]) as file:
        arrays = dict(file)
    epsilon = float(arrays.pop("epsilon"))
    answer = {"version": diffprivlib.__version__, "scores": scores(**arrays, epsilon=epsilon)}
    print(json.dumps(answer))
