"""Differential privacy for each person: the companion package of *Privacy, Personally*.

Mathematics is functions, a mechanism is a scikit-learn estimator, a promise is an object.
Import the module you need; nothing happens here but the version.
"""

__version__ = "0.1.0.dev0"
