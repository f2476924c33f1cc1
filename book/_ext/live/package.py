"""What live cells call besides their own page: stand-ins for a few names of `pdpbook`.

`tests/test_live.py` holds each against the package. Above the line is what a *Change me* cell
calls; below it what the trials of the open cells measure with.
"""

PROOFS = ("published", "exact-norm", "tight", "joint")
HALVINGS = 60


def threshold_budgets(epsilon):
    budgets = list(epsilon)
    worth = {t: t * sum(b >= t for b in budgets) for t in budgets}
    most = max(worth.values())
    threshold = min(t for t in budgets if worth[t] >= most * (1 - 1e-12))
    return np.array([threshold if b >= threshold else 0.0 for b in budgets])


def label_sensitivity(w, lam, d):
    if w * d <= lam:
        return 2 * w * d**0.5 / (lam + w * d)
    return (w / lam) ** 0.5


def peak(height, low, high):
    """The largest value of a function that rises, then falls."""
    for _ in range(HALVINGS):
        third = (high - low) / 3
        if height(low + third) < height(high - third):
            low += third
        else:
            high -= third
    return height((low + high) / 2)


def ridge_constant(lam, d, proof="joint"):
    if not lam > 0:
        raise ValueError("lam must be finite and above 0; got {}".format(lam))
    if proof not in PROOFS:
        raise ValueError("proof must be one of {}; got {}".format(", ".join(PROOFS), proof))
    kappa = d / lam
    root = kappa**0.5
    if proof == "published":
        factor = 1 + min(kappa, root)
    elif proof == "exact-norm":
        factor = 1 + (root / 2 if lam <= d else kappa / (1 + kappa))
    elif proof == "tight":
        factor = peak(lambda tau: tau * (1 + (kappa * tau * (1 - tau)) ** 0.5), 0, 1)
    else:
        share = 3 * 3**0.5 / 4 - 1

        def both(q):
            p = min(1 - q * q, 1 - 3 * q * q) ** 0.5
            return p + root / 2 * (p * q + share * (1 - p * p - q * q) / 2)

        factor = peak(both, 0, 0.5)
    return 2 * d**0.5 / lam * factor


def product(values, repeat):
    """All tuples of so many values."""
    if repeat == 0:
        return [()]
    return [most + (one,) for most in product(values, repeat - 1) for one in values]


WHOLE = 10**12  # budgets are counted in such parts, so that decimals add up exactly


class BudgetAccount:
    def __init__(self, total, leave_out=False, neighbors="replace-one"):
        self.parts = [round(b * WHOLE) for b in total]
        self.leave_out = leave_out

    @property
    def remaining(self):
        return np.array([part / WHOLE for part in self.parts])

    def charge(self, costs):
        asked = [round(cost * WHOLE) for cost in costs]
        afforded = [cost <= part for cost, part in zip(asked, self.parts)]
        if not (self.leave_out or all(afforded)):
            raise ValueError("the account has not enough left for {}".format(afforded.index(False)))
        paid = [cost if can else 0 for cost, can in zip(asked, afforded)]
        self.parts = [part - cost for part, cost in zip(self.parts, paid)]
        return [cost / WHOLE for cost in paid]


class Guarantee:
    def __init__(self, epsilon):
        self.epsilon = epsilon


class PDPRidge:
    """What a fit promises and costs, which follows from the budgets; it fits nothing here."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, epsilon, account):
        self.guarantee_ = Guarantee(np.array(account.charge(epsilon)))
        return self

    def __getattr__(self, name):
        raise AttributeError(
            "PDPRidge fits nothing in the page, so it has no {}: make lab".format(name)
        )


# ---------------------------------------------------------------------------------------------


def measured(one, other):
    """The largest log-ratio of the probabilities of four events, with its standard error.

    The events are: above, or below, the median of the outputs on either data set.
    """
    one, other = sorted(one), sorted(other)
    n, worst = len(one), (0.0, 0.0)
    for cut in (one[n // 2], other[n // 2]):
        for sign in (1, -1):
            a = sum(sign * out > sign * cut for out in one)
            b = sum(sign * out > sign * cut for out in other)
            if a == 0 and b == 0:
                continue
            if a == 0 or b == 0:
                found = (float("inf"), 0.0)
            else:
                found = (abs(float(np.log(a / b))), (1 / a + 1 / b - 2 / n) ** 0.5)
            worst = max(worst, found)
    return worst


def verdict(what, number, error, most):
    """One line: what was measured, and whether it refutes the promise."""
    beyond = number - 4 * error > most
    print(
        "{}: {:.2f} (standard error {:.2f}), promised at most {:g}".format(
            what, number, error, most
        )
    )
    if beyond:
        print("REFUTED")
    else:
        by_chance = "not refuted: chance alone can add four standard errors, {:.2f}"
        print(by_chance.format(4 * error))
