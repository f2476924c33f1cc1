"""What a planted bug is: a broken mechanism, its sound twin, and neighbors on which it shows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import check
from pdpbook.audit import MechanismAudit, audit_mechanism, audit_members


@dataclass(frozen=True, eq=False)
class Pair:
    """Neighboring data sets, and what else the mechanism is given."""

    data: tuple[ArrayLike, ArrayLike]  #: ``(X, y)``
    neighbor: tuple[ArrayLike, ArrayLike]  #: ``(X, y)`` with one person changed
    epsilon: Any = None  #: budgets; None for those of the constructor
    users: Any = None  #: owners of the rows, where users are protected


@dataclass(frozen=True, eq=False)
class Trial:
    """A mechanism, and neighbors on which to audit it; sound ones are in `mechanisms`."""

    mechanism: Any  #: the estimator
    pair: Pair  #: the neighbors; for a pool, data and neighbor are the same
    method: str = "density"  #: "density", "samples", "fits", or "attack" on a pool
    draws: int | None = None  #: draws or fits on each data set; None for the default
    target: int = 0  #: who is attacked in a pool
    tight: bool = False  #: whether it spends nearly all of its promise there

    @property
    def family(self) -> str:
        """Folder of the package where the mechanism lives."""
        package, home = type(self.mechanism).__module__.split(".")[:2]
        return home if package == "pdpbook" else "user_level"  # the median is a function there

    def audit(self, *, rng: np.random.Generator) -> MechanismAudit:
        """Audit the mechanism against its own promise.

        Parameters
        ----------
        rng : Generator
            Source of randomness.

        Returns
        -------
        MechanismAudit
            See `audit_mechanism` and `audit_members`.
        """
        check.rng(rng)
        size = {} if self.draws is None else {"draws": self.draws}
        if self.method == "attack":
            return audit_members(
                self.mechanism, *self.pair.data, target=self.target, rng=rng, **size
            )
        return audit_mechanism(
            self.mechanism,
            self.pair.data,
            self.pair.neighbor,
            epsilon=self.pair.epsilon,
            users=self.pair.users,
            method=self.method,
            rng=rng,
            **size,
        )


@dataclass(frozen=True, eq=False)
class Plant:
    """A bug with a name, planted in a real estimator; see `PLANTS`."""

    name: str  #: of the bug
    about: str  #: what is wrong, in one sentence
    planted: Any  #: the estimator with the bug
    sound: Any  #: the one without
    pair: Pair  #: where it shows
    method: str = "density"  #: as in `Trial`
    draws: int | None = None  #: as in `Trial`
    public: bool = False  #: whether it was found in public code

    @property
    def family(self) -> str:
        """Folder of the package where the sound twin lives."""
        return self.trial(sound=True).family

    def trial(self, *, sound: bool = False) -> Trial:
        """Return the audit that is expected to catch it.

        Parameters
        ----------
        sound : bool, default False
            Whether to audit the twin on the same pair.

        Returns
        -------
        Trial
            Its audit refutes a bug, and not a twin.
        """
        check.flag(sound, "sound")
        model = self.sound if sound else self.planted
        return Trial(model, self.pair, self.method, self.draws)


def about(kind: type) -> str:
    """The sentence under the name of a class."""
    return str(kind.__doc__).partition("\n")[0].rstrip(".")


def flipped(n: int, d: int, *, epsilon: Any = None, person: int = 0) -> Pair:
    """Everybody at the far corner with label 1; one person's label becomes -1."""
    X, y = np.ones((n, d)), np.ones(n)
    other = y.copy()
    other[person] = -1.0
    return Pair((X, y), (X, other), epsilon)


def joined(X: ArrayLike, y: ArrayLike, x: ArrayLike, label: float) -> Pair:
    """Data, and the same with one more person."""
    rows, labels = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    return Pair((rows, labels), (np.vstack([rows, np.atleast_2d(x)]), np.append(labels, label)))


def owned(sizes: ArrayLike, d: int, user: int, *, epsilon: Any = None) -> Pair:
    """Users of these sizes, all rows and labels 1; all labels of one user become -1."""
    counts = np.asarray(sizes, dtype=int)
    users = np.repeat(np.arange(len(counts)), counts)
    y = np.ones(len(users))
    X = np.ones((len(users), d)) / np.sqrt(d)
    return Pair((X, y), (X, np.where(users == user, -1.0, y)), epsilon, users)
