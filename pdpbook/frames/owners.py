"""What a mechanism may look at of users whose rows come in blocks: sums for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats, check
from pdpbook._domain import note_width, refuse_few
from pdpbook._users import Users, check_user_epsilon, check_users, one_each, places, row_keys
from pdpbook.blocks import Rows

if TYPE_CHECKING:
    from pdpbook.frames.users import UserEstimator as Rules

MANY = 1 << 20  # labels that are kept before they are sorted


class Records(NamedTuple):
    """Rows of users who take part, on the domain."""

    X: Floats
    y: Floats  #: measured from the origin of the mechanism
    codes: NDArray[np.intp]  #: the user of each row
    numbers: NDArray[np.intp]  #: of the rows, among all of those who take part


class UsersInBlocks:
    """The same as `PeopleWithRows` of blocks: no rows, and sums over the rows of each user.

    Rows of one user may be in many blocks; what is said of a user is said of all of them.

    Parameters
    ----------
    rules : UserEstimator
        The mechanism.
    rows : Rows
        Columns users, y, and perhaps X and epsilon; read again for every sum.
    budgets : float or mapping
        Checked already, unless they come in blocks.
    left : ndarray, shape (m,), or None
        Instead of these, budgets of the users in order.
    """

    before: dict[int, int] | None = None  # of those who take part, the first row of each block

    def __init__(self, rules: Rules, rows: Rows, budgets: Any, left: Any, *, fitting: bool):
        reads = [name for name in ("X", "y", "users") if name != "X" or rules._reads_rows]
        self.rules, self.rows = rules, rows.twice(f"{type(rules).__name__}.fit").select(*reads)
        owned = "epsilon" in rows.names
        self.users, column = users_of(rows.select(*["users", "epsilon"][: 1 + owned]))
        if left is None:
            given = check.some_epsilon(column) if owned else check_user_epsilon(budgets, self.users)
        epsilon = np.asarray(given if left is None else left)
        refuse_few(int(self.users.sizes.sum()))
        self.origin = rules.origin() if fitting else 0.0
        public = rules.public(rows.width("X") if rules._reads_rows else 1, epsilon, self.users)
        self.promised, self.part = public.epsilon, public.part
        self.even = rules.even(rows)
        public = public._replace(even=self.even)
        self.chosen = rules.chosen(self)
        if (few := self.chosen) is None:
            self.plan = rules.planned(public)
        else:  # planned as if there were no others
            codes = np.flatnonzero(self.promised > 0)[few.codes]
            sizes = np.bincount(codes, minlength=len(self.promised))
            owners = Users(codes, self.users.labels, sizes, True, {})
            public, self.X = public._replace(X=few.X), few.X
            self.plan = rules.planned(public._replace(users=owners))
        self.crowd = public._replace(plan=self.plan)
        if fitting and rules._reads_rows:
            note_width(rules, public.d)
        self.given = getattr(rules, "classes", None)  # which two must be known, in blocks

    @property
    def y(self) -> Floats:
        """Labels of the rows that were chosen, or sums of those of each user who takes part."""
        return self.sums(_labels) if self.chosen is None else self.chosen.y

    def limited(self, seed: int, most: int) -> Records:
        """Return at most so many rows of each user, those that `Users.places` puts first."""
        keep = partial(_first, seed, most)
        return Records(*gathered(self.each(partial(_unpacked, keep), numbered=True), keep))

    def each(self, function: Callable[[Records], Any], *, numbered: bool = False) -> Iterator[Any]:
        """Yield what a function of `Records` returns for the blocks in which some take part.

        Numbers of rows are among those who take part: where some do not, a pass counts the others.
        """
        labels = self.part.users.labels
        rows = self.rows.numbered() if numbered else self.rows
        if numbered and self.before is None and not self.part.who.all():
            starts, counts = zip(*rows.each(partial(_counted, labels)), strict=True)
            self.before = dict(zip(starts, np.cumsum([0, *counts[:-1]]).tolist(), strict=True))
        before = self.before if numbered else None
        read = partial(_read, self.rules, self.origin, labels, function, before)
        return (found for found in rows.each(read) if found is not None)

    def sums(self, function: Callable[[Records], Floats]) -> Floats:
        """Sums over the rows of each user, shape (m, ...), of an array of one entry a row."""
        total, sizes = np.zeros(0), 0 * self.part.users.sizes
        for who, sums, counts in self.each(partial(_sums, function)):
            if not total.size:
                total = np.zeros((len(sizes), *sums.shape[1:]))
            total[who] += sums
            sizes[who] += counts
        if not np.array_equal(sizes, self.part.users.sizes):
            raise ValueError("blocks must hold the same rows of the same users at every pass")
        return total


def _unpacked(function: Callable[..., Any], records: Records) -> Any:
    return function(*records)


def _first(seed: int, most: int, X: Floats, y: Floats, codes: Any, numbers: Any) -> Records:
    low = int(numbers.min())
    keys = row_keys(seed, low, int(numbers.max()) - low + 1)[numbers - low]
    at = places(codes, keys) < most
    return Records(X[at], y[at], codes[at], numbers[at])


def gathered(parts: Iterable[Any], join: Callable[..., Any]) -> Any:
    """Join columns of blocks, so often that little more is held than what is left of them."""
    held: list[Any] = []
    for part in parts:
        held.append(part)
        if sum(len(one[0]) for one in held) > MANY + 2 * len(held[0][0]):
            held = [join(*map(np.concatenate, zip(*held, strict=True)))]
    if not held:
        raise ValueError("blocks must hold at least one person; got none")
    return join(*map(np.concatenate, zip(*held, strict=True)))


def _labels(records: Records) -> Floats:
    return records.y


def _sums(function: Callable[[Records], Floats], records: Records) -> tuple[Any, ...]:
    """Who is in a block, what a function sums to for each, and how many rows they have."""
    who, starts, counts = np.unique(records.codes, return_index=True, return_counts=True)
    return who, np.add.reduceat(function(records), starts), counts


def _counted(labels: Any, users: Any, start: int, **block: Any) -> tuple[int, int]:
    """First row of a block, and how many of its rows take part."""
    return start, len(_part(labels, users)[0])


def _part(labels: Any, users: Any) -> tuple[Any, Any]:
    """Rows of the users with these labels, and whose they are."""
    codes = np.minimum(np.searchsorted(labels, users), len(labels) - 1)
    part = np.flatnonzero(labels[codes] == users)
    return part, codes[part]


def _read(
    rules: Rules,
    origin: float,
    labels: Any,
    function: Callable[[Records], Any],
    before: dict[int, int] | None,
    users: Any,
    start: int = 0,
    **block: Any,
) -> Any:
    """What a function returns for the rows of a block, all rows of a user together."""
    part, codes = _part(labels, users)
    rows, y = rules.design(block.get("X", block["y"]), block["y"])
    if not len(part):
        return None
    X, y = rules.to_domain(rows[part], y[part])
    order = np.argsort(codes, kind="stable")
    numbers = (start if before is None else before[start]) + order
    return function(Records(X[order], y[order] - origin, codes[order], numbers))


def users_of(rows: Rows) -> tuple[Users, Floats]:
    """Users of all blocks from one pass, and their budgets if those are a column, else 0."""
    labels, epsilon, sizes = gathered(rows.each(_owners), _owners)
    return Users(np.zeros(0, dtype=np.intp), labels, sizes, True, {}), epsilon


def _owners(users: Any, epsilon: Any = 0.0, sizes: Any = 1) -> tuple[Any, ...]:
    """Users of a block, or of some, their budgets, and how many rows each of them has."""
    n = len(users)
    owned, given = check_users(users, n), check.nonnegative(epsilon, "epsilon")
    budgets = one_each(np.full(n, given) if np.ndim(given) == 0 else given, owned, "epsilon")
    counts = np.bincount(owned.codes, np.broadcast_to(sizes, n), len(owned.labels))
    return owned.labels, budgets, counts.astype(np.intp)
