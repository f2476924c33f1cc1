"""Differential privacy for each person: the companion package of *Privacy, Personally*.

Mathematics is functions, a mechanism is a scikit-learn estimator, a promise is an object.
Import the module you need; nothing happens here but the version.

What holds everywhere, and is not said again: an argument of a wrong kind raises TypeError; one that
is NaN, infinite, out of range or of a wrong shape raises ValueError; both name the argument, the
rule, the value and its place. A docstring lists the errors that are left.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

__version__ = "1.0.0"
