"""The kinds of promise, their hub `profile`, and the conversions that a theorem allows."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import ROUND_CEILING, Decimal
from functools import partial
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfinv, ndtri_exp

from pdpbook import Floats, check
from pdpbook.noise import gaussian_profile
from pdpbook.noise.laws import keep
from pdpbook.noise.profiles import NEARLY_ZERO, bisect, uncertainty

NEIGHBORS = {
    "replace-one": "replacing their record",
    "add-remove": "adding or removing their record, as long as fit accepts the number of rows "
    "both ways: a refusal is not covered",
    "zero-out": "removing what their record adds to every step, with the number of people public",
    "labels": "replacing their label",
    "user": "replacing all of their records",
    "user-labels": "replacing all of their labels",
}

#: public orders at which Renyi curves are given where nothing else is said
RENYI_ORDERS = (1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 128, 256)

FOUR_SMALLEST_STEPS = 2e-323  # of floats: so near 0, products lose their digits
LOG_LARGEST_FLOAT = 700.0  # about: exp of more overflows
HALVINGS = 32  # of the interval that has the best order; the minimum is flat, so these are enough


class Promise:
    """Base of all promises: parameters for all or for each person, a relation, and a profile."""

    neighbors: str
    _sentence: ClassVar[str]

    def __post_init__(self) -> None:
        checked = {}
        for name, value in self._parameters().items():
            checked[name] = check.privacy_parameters(value, None, name)
        self._store(**checked)

    @property
    def n(self) -> int | None:
        """Number of people who have one parameter each; None if one number is for all."""
        for value in self._parameters().values():
            if np.ndim(value):
                return len(value)
        return None

    def profile(self, epsilon: ArrayLike) -> Any:
        """Return the smallest delta that this promise alone implies at `epsilon`.

        Epsilon, at least 0, is broadcast against the parameters, with people on the last axis: a
        number gives one delta a person, shape (n,) is one epsilon for each person, and shape (k, 1)
        gives one curve for each person. A promise with one number for all takes any shape.
        """
        epsilon = np.asarray(check.nonnegative(epsilon, "epsilon"))
        n = self.n
        if n is not None and epsilon.ndim and epsilon.shape[-1] not in (1, n):
            ends = f"end in an axis of 1 or {n}, the number of people"
            raise ValueError(f"epsilon must be a number or {ends}; got shape {epsilon.shape}")
        delta = np.clip(self._profile(epsilon), 0.0, 1.0)
        return _plain(delta + 0.0)  # turns -0.0 into 0.0

    def to_approximate(self, delta: ArrayLike) -> ApproximateDP:
        """Return the smallest epsilon at which the profile is at most `delta`, for each person.

        `delta` is a number or one for each person. The result is rounded up: the profile computed
        there is at most `delta`. Whoever takes no part is promised (0, 0).
        """
        delta = check.probability(delta, "delta")
        if np.ndim(delta) and np.shape(delta) != (self.n,):
            got = f"got shape {np.shape(delta)} for n = {self.n}"
            raise ValueError(f"delta must be a number or have one entry for each person; {got}")
        at_zero = np.asarray(self.profile(0.0))
        low = np.zeros(np.shape(at_zero))
        high = low + 1.0
        is_too_small = self.profile(high) > delta
        while np.any(is_too_small):
            if 2 * float(high.max()) == np.inf:
                always = f"what {type(self).__name__} allows at every epsilon"
                raise ValueError(f"delta must be at least {always}; got {np.min(delta):g}")
            high = np.where(is_too_small, 2 * high, high)
            is_too_small = self.profile(high) > delta
        high = np.where(at_zero <= delta, 0.0, high)
        smallest = bisect(lambda at: self.profile(at) <= delta, true_at=high, false_at=low)
        is_absent = at_zero == 0  # takes no part
        if np.any(is_absent):
            delta = np.where(is_absent, 0.0, delta)
        return ApproximateDP(_plain(smallest), delta, neighbors=self.neighbors)

    def to_zcdp(self) -> ZeroConcentratedDP:
        """Return the zero-concentrated promise that a theorem derives from this one."""
        return self._refuse(ZeroConcentratedDP)

    def to_gaussian(self) -> GaussianDP:
        """Return the Gaussian promise that a theorem derives from this one."""
        return self._refuse(GaussianDP)

    def to_renyi(self, orders: ArrayLike = RENYI_ORDERS) -> RenyiDP:
        """Return the Renyi curve at these orders that a theorem derives from this promise."""
        return self._refuse(RenyiDP)

    def weakest(self) -> Self:
        """Return the promise to all alike that holds for each person: the largest parameters."""
        largest = {name: np.max(value) for name, value in self._parameters().items()}
        return type(self)(**vars(self) | largest)

    def __str__(self) -> str:
        shown = {}
        ranges = ""
        for name, value in self._parameters().items():
            if not np.ndim(value):
                shown[name] = self._text(value)
                continue
            shown[name] = f"{name}_i"
            low, high = np.min(value), np.max(value)
            if low == high:
                ranges += f", {name}_i = {self._text(low)}"
            else:
                ranges += f", {name}_i from {self._text(low)} to {self._text(high)}"
        who = "Each person" if self.n is None else "Each person i"
        what = self._sentence.format(**shown)
        if ranges:
            what += f"{ranges},"
        return f"{who} is promised {what} {self._against()}."

    def _text(self, value: float) -> str:
        """Return a parameter as the sentence shows it."""
        return f"{value:g}"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def __hash__(self) -> int:
        values = [v.tobytes() if isinstance(v, np.ndarray) else v for v in vars(self).values()]
        return hash((type(self), *values))

    def __reduce__(self) -> tuple[Any, ...]:  # a copy is validated, and read-only, again
        return partial(type(self), **vars(self)), ()

    def _parameters(self) -> dict[str, Any]:
        """Return the privacy parameters by name: the fields that are not keywords only."""
        names = [f.name for f in fields(self) if not f.kw_only]  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names}

    def _store(self, **checked: Any) -> None:
        """Keep checked parameters, read-only; refuse those with names or of two lengths."""
        for name in checked:
            check.refuse_index(getattr(self, name), name, "a promise keeps no names")
        shapes = {name: np.shape(v) for name, v in checked.items() if np.ndim(v)}
        if len(set(shapes.values())) > 1:
            raise ValueError(f"{' and '.join(shapes)} must have one length; got shapes {shapes}")
        keep(self, **checked)
        if "neighbors" in vars(self):
            check.choice(self.neighbors, "neighbors", list(NEIGHBORS))

    def _against(self) -> str:
        """Return the end of the sentence, about neighbors."""
        return f"against {NEIGHBORS[self.neighbors]}"

    def _profile(self, epsilon: Floats) -> Any:
        """Return what `profile` does, for a checked epsilon."""
        raise NotImplementedError

    def _refuse(self, target: type[Promise], way_out: str = "") -> NoReturn:
        """Raise: no theorem turns this promise into one of the target's kind."""
        kinds = f"{type(self).__name__} into {target.__name__}"
        raise TypeError(f"cannot turn {kinds}: no theorem does{way_out}")


@dataclass(frozen=True, eq=False)
class PureDP(Promise):
    r"""Pure differential privacy: no probability grows by more than a factor of e to the epsilon.

    The profile is that of randomized response, the worst mechanism that keeps the promise. With
    :math:`a = P(S)`, :math:`b = Q(S)` it makes :math:`a \le e^\varepsilon b` and :math:`1 - b \le
    e^\varepsilon (1 - a)` equalities.

    .. math:: \delta(e) = \frac{(e^{\varepsilon} - e^{e})_+}{1 + e^{\varepsilon}} .

    Parameters
    ----------
    epsilon : array_like
        In nats: a number above 0, or shape (n,), one for each person, 0 for whoever takes no part.
    neighbors : {"replace-one", "add-remove", "zero-out", "labels", "user", "user-labels"}
        The relation under which the promise holds.

    Examples
    --------
    >>> print(PureDP(1.0, neighbors="replace-one"))
    Each person is promised 1-differential privacy against replacing their record.
    """

    epsilon: Any
    neighbors: str = field(kw_only=True)
    _sentence: ClassVar[str] = "{epsilon}-differential privacy"

    def _profile(self, epsilon: Floats) -> Any:
        return _randomized_response_profile(epsilon, self.epsilon)

    def to_zcdp(self) -> ZeroConcentratedDP:
        r"""Return rho = epsilon tanh(epsilon / 2): the smallest that pure privacy implies.

        A Renyi moment is convex in the likelihood ratio, so it is largest for randomized response.
        There :math:`D_\alpha/\alpha = (g(u) - g(1/4))/(u - 1/4)` with :math:`u = (\alpha - 1/2)^2`
        and :math:`g(u) = \log\cosh(\varepsilon\sqrt u)` concave: the slope is largest at
        :math:`\alpha \to 1`. Bun and Steinke (2016) have :math:`\varepsilon^2/2`, which is larger.
        """
        epsilon = np.asarray(self.epsilon)
        rho = rounded_up(epsilon * np.tanh(epsilon / 2), epsilon > 0)
        return ZeroConcentratedDP(rho, neighbors=self.neighbors)

    def to_gaussian(self) -> GaussianDP:
        r"""Return mu = 2 * quantile(e^epsilon / (1 + e^epsilon)): the smallest that is implied.

        The trade-off curve of randomized response is two chords that meet at error rates
        :math:`1/(1 + e^\varepsilon)` each. The convex Gaussian curve through that corner has the
        same ends, so it lies below both chords. Nothing cancels in :math:`\mu = 2\sqrt2\,
        \mathrm{erf}^{-1}(\tanh(\varepsilon/2))`, which is at most :math:`\varepsilon\sqrt{\pi/2}`,
        and about that for a tiny epsilon.
        """
        epsilon = np.asarray(self.epsilon)
        tiny = np.sqrt(np.pi / 2) * epsilon
        small = np.sqrt(8) * erfinv(np.tanh(np.minimum(epsilon, 1.0) / 2))
        large = -2 * ndtri_exp(-np.logaddexp(0.0, epsilon))
        mu = np.select([epsilon < 1e-8, epsilon < 1], [tiny, small], large)
        return GaussianDP(rounded_up(mu, epsilon > 0), neighbors=self.neighbors)

    def to_renyi(self, orders: ArrayLike = RENYI_ORDERS) -> RenyiDP:
        r"""Return the curve of randomized response, the largest that pure privacy allows.

        .. math:: D_\alpha = \frac{1}{\alpha - 1}
                  \log\frac{\cosh((\alpha - 1/2)\varepsilon)}{\cosh(\varepsilon/2)}

        A Renyi moment is convex in the likelihood ratio, so it is largest at its two ends. With
        :math:`t = (\alpha - 1)\varepsilon` the logarithm is
        :math:`\log(1 + 2\sinh^2(t/2) + \tanh(\varepsilon/2)\sinh t)`, where nothing cancels, and
        :math:`t + \log(1 + e^{-t-\alpha\varepsilon}) - \log(1 + e^{-\varepsilon})`, where nothing
        overflows.
        """
        orders = check_orders(orders)
        epsilon = np.asarray(self.epsilon)[..., np.newaxis]
        t = (orders - 1) * epsilon
        t_small = np.minimum(t, 1.0)
        growth = 2 * np.sinh(t_small / 2) ** 2 + np.tanh(epsilon / 2) * np.sinh(t_small)
        small = np.log1p(growth)
        large = t + np.log1p(np.exp(-t - orders * epsilon)) - np.log1p(np.exp(-epsilon))
        moment = rounded_up(np.where(t < 1, small, large), epsilon > 0)
        curve = rounded_up(moment / (orders - 1), epsilon > 0)
        return RenyiDP(orders, curve, neighbors=self.neighbors)


@dataclass(frozen=True, eq=False)
class ApproximateDP(Promise):
    r"""Approximate differential privacy, the promise at one point of the profile.

    What that point implies elsewhere is the curve of the mechanism that shows everything with
    probability delta and answers by randomized response otherwise:

    .. math:: \delta(e) = \delta + (1 - \delta)\frac{(e^\varepsilon - e^e)_+}{1 + e^\varepsilon} .

    Epsilon, at least 0, and delta, in (0, 1), are numbers or of shape (n,), `neighbors` as in
    `PureDP`. At epsilon 0, delta bounds the total variation. Whoever takes no part has 0 as both.
    """

    epsilon: Any  #: in nats, at least 0; a number or shape (n,)
    delta: Any  #: in (0, 1); a number or shape (n,), with 0 for whoever has epsilon 0, too
    neighbors: str = field(kw_only=True)  #: the relation, as in `PureDP`
    _sentence: ClassVar[str] = "({epsilon}, {delta})-differential privacy"

    def __post_init__(self) -> None:
        epsilon = check.budgets(check.nonnegative(self.epsilon, "epsilon"), None, "epsilon")
        delta = check.budgets(self._check_delta(epsilon), None, "delta")
        self._store(epsilon=epsilon, delta=delta)

    @classmethod
    def to_participants(cls, epsilon: Floats, delta: float, *, neighbors: str) -> ApproximateDP:
        """Return the promise with one delta to all participants, and (0, 0) to all others.

        `epsilon` has shape (n,), and is 0 for whoever takes no part.
        """
        is_participant = epsilon > 0
        if is_participant.all():
            return cls(epsilon, delta, neighbors=neighbors)
        return cls(epsilon, np.where(is_participant, delta, 0.0), neighbors=neighbors)

    def _check_delta(self, epsilon: Any) -> Any:
        """Return delta, in (0, 1), or 0 for whoever has epsilon 0 in two lists of one length."""
        if np.ndim(self.delta) == 1 and np.shape(self.delta) == np.shape(epsilon):
            delta = check.nonnegative(self.delta, "delta")
            absent = (epsilon == 0) & (delta == 0)
            if not absent.all():
                check.probability(np.where(absent, 0.5, delta), "delta")
                return delta
        return check.probability(self.delta, "delta")

    def _profile(self, epsilon: Floats) -> Any:
        delta = np.asarray(self.delta)
        response = _randomized_response_profile(epsilon, self.epsilon)
        larger = rounded_up(delta + (1 - delta) * response, response > 0)
        return np.where(response > 0, larger, delta)


@dataclass(frozen=True, eq=False)
class ZeroConcentratedDP(Promise):
    r"""Zero-concentrated differential privacy: every Renyi divergence is at most rho * alpha.

    The profile is the best conversion from one order (Canonne, Kamath and Steinke, 2020),

    .. math:: \delta(e) = \min_{\alpha > 1} \frac{e^{(\alpha - 1)(\alpha\rho - e)}}{\alpha - 1}
              \Bigl(1 - \frac1\alpha\Bigr)^\alpha ,

    an upper bound: all orders together imply a little less. Its logarithm is strictly convex in
    alpha. Every alpha gives a valid delta, so an inexact minimum is only too large. `rho` is a
    number above 0, or has shape (n,), 0 for whoever takes no part; `neighbors` is as in `PureDP`.
    """

    rho: Any  #: above 0, or shape (n,)
    neighbors: str = field(kw_only=True)  #: the relation, as in `PureDP`
    _sentence: ClassVar[str] = "{rho}-zero-concentrated differential privacy"

    def _profile(self, epsilon: Floats) -> Any:
        is_participant = np.asarray(self.rho) > 0
        rho = np.where(is_participant, self.rho, 1.0)
        # With a = alpha - 1, log delta = a ((a + 1) rho - epsilon) - log(a) - (a + 1) log(1 + 1/a).
        # Its slope rho (2 a + 1) - log(1 + 1/a) - epsilon grows in a. We look for its root in
        # log(a): at `low` the slope is at most 0, at `high` above 0.
        low = np.minimum(0.0, epsilon - 3 * rho)
        with np.errstate(over="ignore"):
            high = np.log(epsilon / (2 * rho) + 1 / np.sqrt(2 * rho))
        high = np.clip(high, 0.0, LOG_LARGEST_FLOAT)  # beyond, delta is below all floats
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            slope = rho * (2 * np.exp(middle) + 1) - np.logaddexp(0.0, -middle) - epsilon
            low = np.where(slope < 0, middle, low)
            high = np.where(slope < 0, high, middle)
        a = np.exp(high)
        log_delta = a * ((a + 1) * rho - epsilon) - high - (a + 1) * np.logaddexp(0.0, -high)
        delta = np.exp(np.minimum(0.0, log_delta))
        return rounded_up(delta, is_participant, 2e-12)

    def to_zcdp(self) -> ZeroConcentratedDP:
        return self

    def to_renyi(self, orders: ArrayLike = RENYI_ORDERS) -> RenyiDP:
        """Return the curve rho * alpha, which is the definition."""
        orders = check_orders(orders)
        rho = np.asarray(self.rho)[..., np.newaxis]
        return RenyiDP(orders, rounded_up(orders * rho, rho > 0), neighbors=self.neighbors)


@dataclass(frozen=True, eq=False)
class GaussianDP(Promise):
    """Gaussian differential privacy: no easier to tell apart than N(0, 1) from N(mu, 1).

    The profile is exact, `noise.gaussian_profile`. `mu` is a number above 0, or has shape (n,), 0
    for whoever takes no part; `neighbors` is as in `PureDP`.
    """

    mu: Any  #: above 0, or shape (n,)
    neighbors: str = field(kw_only=True)  #: the relation, as in `PureDP`
    _sentence: ClassVar[str] = "{mu}-Gaussian differential privacy"

    def _profile(self, epsilon: Floats) -> Any:
        mu = np.asarray(self.mu)
        is_participant = mu > 0
        delta = gaussian_profile(epsilon, np.where(is_participant, mu, 1.0))
        error = uncertainty(np.maximum(delta, NEARLY_ZERO))
        return rounded_up(delta, is_participant, error)

    def to_zcdp(self) -> ZeroConcentratedDP:
        """Return rho = mu**2 / 2: the Renyi divergences of two normals, and post-processing."""
        mu = np.asarray(self.mu)
        with np.errstate(over="ignore"):
            rho = rounded_up(mu**2 / 2, mu > 0)
        return ZeroConcentratedDP(rho, neighbors=self.neighbors)

    def to_gaussian(self) -> GaussianDP:
        return self

    def to_renyi(self, orders: ArrayLike = RENYI_ORDERS) -> RenyiDP:
        """Return the curve mu**2 * alpha / 2, that of two normals."""
        return self.to_zcdp().to_renyi(orders)


@dataclass(frozen=True, eq=False)
class RenyiDP(Promise):
    r"""Renyi differential privacy: divergences, both ways, of at most a curve at public orders.

    The profile is the best conversion from one of the orders (Canonne, Kamath and Steinke, 2020),

    .. math:: \delta(e) = \min_{\alpha} \frac{e^{(\alpha - 1)(\varepsilon_\alpha - e)}}{\alpha - 1}
              \Bigl(1 - \frac1\alpha\Bigr)^\alpha ,

    an upper bound: all orders together imply a little less.

    Parameters
    ----------
    orders : array_like, shape (k,)
        Increasing numbers above 1, chosen in public. Curves add up on one grid only.
    epsilon : array_like, shape (k,) or (n, k)
        Divergences in nats: one curve for all, above 0, or one for each person, at least 0, with 0
        for whoever takes no part. Infinity says nothing about an order.
    neighbors : str
        The relation, as in `PureDP`.

    Examples
    --------
    >>> GaussianDP(1.0, neighbors="user").to_renyi([2, 4, 8]).epsilon
    array([1., 2., 4.])
    """

    orders: Any
    epsilon: Any
    neighbors: str = field(kw_only=True)

    def __post_init__(self) -> None:
        orders = check_orders(self.orders)
        epsilon = np.asarray(check.extended(self.epsilon, "epsilon"))
        if epsilon.ndim not in (1, 2) or epsilon.shape[-1] != len(orders) or not epsilon.size:
            wanted = f"({len(orders)},) or (n, {len(orders)}), a number for each order"
            raise ValueError(f"epsilon must have shape {wanted}; got shape {epsilon.shape}")
        if not (epsilon > 0).any() or (epsilon.ndim == 1 and not (epsilon > 0).all()):
            raise ValueError("epsilon must be above 0 at every order, for somebody; got 0")
        check.choice(self.neighbors, "neighbors", list(NEIGHBORS))
        keep(self, orders=orders, epsilon=epsilon)

    @property
    def n(self) -> int | None:
        """Number of people who have one curve each; None if one curve is for all."""
        return len(self.epsilon) if self.epsilon.ndim == 2 else None

    def best_order(self, delta: float) -> float:
        """Return the order with the smallest epsilon at `delta`, for whoever is promised least."""
        log_delta = np.log(check.delta(delta))
        epsilon = self._largest_curve() + (log_factor(self.orders) - log_delta) / (self.orders - 1)
        return float(self.orders[np.argmin(epsilon)])

    def _largest_curve(self) -> Floats:
        """Return the curve for all, or the largest divergence of anybody at each order."""
        curve: Floats = self.epsilon if self.epsilon.ndim == 1 else self.epsilon.max(axis=0)
        return curve

    def to_renyi(self, orders: ArrayLike | None = None) -> RenyiDP:
        """Return this promise, or raise if the orders are not its grid."""
        if orders is not None and not np.array_equal(check_orders(orders), self.orders):
            raise ValueError(
                f"orders must agree: the curve has {_listed(self.orders)}, and "
                f"{_listed(check_orders(orders))} are asked for"
            )
        return self

    def weakest(self) -> RenyiDP:
        return RenyiDP(self.orders, self._largest_curve(), neighbors=self.neighbors)

    def _parameters(self) -> dict[str, Any]:
        return {"orders": self.orders, "epsilon": self.epsilon}

    def _profile(self, epsilon: Floats) -> Any:
        order = self.orders
        epsilon = epsilon[..., np.newaxis]
        log_delta = (order - 1) * (self.epsilon - epsilon) + log_factor(order)
        # The terms may nearly cancel: then it counts how they were rounded.
        size_of_terms = (order - 1) * (self.epsilon + epsilon) + np.abs(log_factor(order))
        smallest = np.min(log_delta + 1e-15 * size_of_terms, axis=-1)
        is_participant = (self.epsilon > 0).all(axis=-1)
        return rounded_up(np.exp(np.minimum(0.0, smallest)), is_participant, 1e-14)

    def __str__(self) -> str:
        who = "Each person" if self.n is None else "Each person i"
        name = "epsilon" if self.n is None else "epsilon_i"
        orders = f"{len(self.orders)} orders from {self.orders[0]:g} to {self.orders[-1]:g}"
        if len(self.orders) == 1:
            orders = f"order {self.orders[0]:g}"
        low, high = np.min(self.epsilon), np.max(self.epsilon)
        size = f"{name} = {low:g}" if low == high else f"{name} from {low:g} to {high:g}"
        what = f"Renyi differential privacy at {orders}, {size},"
        return f"{who} is promised {what} {self._against()}."


@dataclass(frozen=True, eq=False)
class PACPrivacy(Promise):
    """PAC privacy of membership: a ceiling on how often any adversary guesses right.

    The ceiling is on an average over the random half of a public pool, not on every data set, so no
    theorem converts it into another promise or composes it with one: see ``def-pac-privacy``,
    *pac/membership*. The posterior `success_rate`, a number or of shape (n,), is below 1 and at
    least the success of a blind guess; `sample_rate` is the probability that a person is in the
    data.
    """

    success_rate: Any  #: ceiling, a number or shape (n,)
    sample_rate: float = field(default=0.5, kw_only=True)  #: probability to be in the data
    _sentence: ClassVar[str] = (
        "PAC privacy: whoever knows the pool guesses right whether they are in the data with "
        "probability at most {success_rate}"
    )

    def __post_init__(self) -> None:
        rate = check.probability(self.success_rate, "success_rate")
        rate = check.budgets(rate, None, "success_rate")
        self._store(success_rate=rate, sample_rate=check.delta(self.sample_rate, "sample_rate"))
        if not np.all(rate >= self.prior):
            blind = f"{check.shown(self.prior)}, that of a blind guess"
            raise ValueError(
                f"success_rate must be at least {blind}; got {check.shown(np.min(rate))}"
            )

    @property
    def prior(self) -> float:
        """Success rate of a blind guess."""
        return max(self.sample_rate, 1 - self.sample_rate)

    def _against(self) -> str:
        return f"compared with {self.prior:.12g} for a blind guess"

    def _text(self, value: float) -> str:
        """Return a rate, rounded up to six digits of its distance to the blind guess or to 1."""
        ceiling = Decimal(repr(float(value)))
        distance = min(ceiling - Decimal(repr(self.prior)), 1 - ceiling)
        first_digit = min(distance.adjusted(), -1) if distance > 0 else -1
        last_digit = Decimal((0, (1,), first_digit - 5))
        shown = ceiling.quantize(last_digit, ROUND_CEILING)
        return f"{shown.normalize():f}"

    def _refuse(self, target: type[Promise], way_out: str = "") -> NoReturn:
        super()._refuse(target, "; see definition def-pac-privacy")

    def profile(self, epsilon: ArrayLike) -> NoReturn:
        """Raise TypeError: a success rate on average implies no delta."""
        self._refuse(ApproximateDP)


def check_orders(orders: ArrayLike) -> Floats:
    """Return orders of Renyi divergences, shape (k,): increasing numbers above 1."""
    checked = check.vector(check.finite(orders, "orders"), "orders", "k")
    if not (checked > 1).all() or not (np.diff(checked) > 0).all():
        raise ValueError(f"orders must be increasing numbers above 1; got {_listed(checked)}")
    return np.asarray(checked, dtype=float)


def _listed(orders: Floats) -> str:
    """Return the first four orders as text, and how many there are."""
    listed = ", ".join(f"{order:.12g}" for order in orders[:4])
    if len(orders) > 4:
        listed += f", ... ({len(orders)} orders)"
    return listed


def log_factor(orders: ArrayLike) -> Floats:
    """Return the logarithm of (1 - 1 / alpha)**alpha / (alpha - 1), of the conversion to delta."""
    orders = np.asarray(orders)
    return np.asarray(orders * np.log1p(-1 / orders) - np.log(orders - 1))


def _randomized_response_profile(epsilon: Floats, eps0: Any) -> Any:
    """Return (e^eps0 - e^epsilon)_+ / (1 + e^eps0), rounded up: the profile of `PureDP`."""
    difference = np.minimum(epsilon - eps0, 0.0)
    delta = -np.expm1(difference) / (1 + np.exp(-np.asarray(eps0)))
    return rounded_up(delta, difference < 0)


def rounded_up(value: Any, above_zero: Any, error: Any = 2e-15) -> Any:
    """Return a float that is not below a number, known as `value` up to this relative error.

    It is 0 where the number is not above 0. Elsewhere it is above 0, too, by a few of the smallest
    steps of floats: a number smaller than all floats does not become a promise of 0.
    """
    return np.where(above_zero, np.asarray(value) * (1 + error) + FOUR_SMALLEST_STEPS, 0.0)[()]


def _plain(value: Any) -> Any:
    """Return an array of no axis as a float, and any other array as it is."""
    return float(value) if np.ndim(value) == 0 else value
