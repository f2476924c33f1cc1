"""Noise: the l2-Laplace law and product laws, and exact privacy profiles of it and of the Gaussian.

Nothing here knows a data set: a profile takes the ratio of sensitivity to noise and returns the
smallest delta at every epsilon, in nats. Sensitivities live in `sensitivity`, promises in
`guarantees`. A law is not private, for it holds the center: what is released is one draw from it.
An `rng` is the only source of randomness, `size` the number of draws: None is one, with no axis.
"""

from pdpbook.noise.grid import (
    GridLaplace,
    grid_laplace,
    grid_rate,
    grid_steps,
    sample_discrete_laplace,
)
from pdpbook.noise.laws import (
    L2Laplace,
    ProductLaw,
    PublicNoise,
    l2_laplace_radius,
    round_to_grid,
    sample_l2_laplace,
)
from pdpbook.noise.profiles import (
    gaussian_epsilon,
    gaussian_mu,
    gaussian_profile,
    l2_laplace_eps0,
    l2_laplace_profile,
)
from pdpbook.noise.whole_numbers import WholeNumbers, discrete_variance, whole_weights
