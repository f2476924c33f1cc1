r"""One draw from a posterior as a private release: OPS for every data set, and AdaOPS.

On the domain :math:`\|x\|\le1`, :math:`|y|\le1` the release is one draw from
:math:`\mathcal N(\hat\theta, (\gamma H)^{-1})`, :math:`H=X^\top X+\lambda I`, with parameters that
keep a promise on every data set; what a draw costs one person is in `per_instance`. Epsilon is in
nats, delta in (0, 1), `lam` against the *sum* of squares, and `n_max` a public bound on the rows.
"""

from pdpbook.posterior.adaptive import AdaOPS
from pdpbook.posterior.calibration import (
    AdaptivePlan,
    largest_scaled_residual,
    residual_bound,
    worst_case_gamma,
    worst_case_renyi,
)
from pdpbook.posterior.certificates import (
    Certificate,
    largest_eigenvalue_bound,
    posterior_certificate,
    release_gram_bound,
)
from pdpbook.posterior.laws import AdaptiveLaw, PosteriorLaw, adaptive_profile
from pdpbook.posterior.single import OnePosteriorSample
