"""Linear regression by noisy gradients: what a person adds to one is bounded at every step."""

from pdpbook.gradient.descent import DescentLaw, GradientDescentRidge

__all__ = ["DescentLaw", "GradientDescentRidge"]
