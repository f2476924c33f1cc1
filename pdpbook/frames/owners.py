"""What a mechanism may look at of users whose rows come in blocks: sums for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats, check
from pdpbook._domain import note_width, refuse_few
from pdpbook._names import as_labels, join_labels
from pdpbook._users import (
    Users,
    check_user_epsilon,
    check_users,
    one_each,
    places,
    row_keys,
)
from pdpbook.blocks import Rows

if TYPE_CHECKING:
    from pdpbook.frames.users import UserEstimator as Rules

MANY = 1 << 20  # labels that are kept before they are sorted
CHANGED = "blocks must hold the same rows of the same users at every pass"


class Records(NamedTuple):
    """Rows of users who take part, on the domain."""

    X: Floats
    y: Floats  #: measured from the origin of the mechanism
    codes: NDArray[np.intp]  #: the user of each row
    numbers: NDArray[np.intp]  #: of the rows, in the order of the blocks


class UsersInBlocks:
    """`PeopleWithRows` of blocks: no rows, and sums over the rows of each user.

    Rows of one user may be in many blocks. `rows` has columns users, y, and perhaps X and epsilon,
    and is read again for every sum; `budgets` were checked, unless they come in blocks, and `left`,
    shape (m,), has those of the users in order instead.
    """

    def __init__(self, rules: Rules, rows: Rows, budgets: Any, left: Any, *, fitting: bool):
        reads = [name for name in ("X", "y", "users") if name != "X" or rules._reads_rows]
        self.rules, self.rows = rules, rows.twice(f"{type(rules).__name__}.fit").select(*reads)
        owned = "epsilon" in rows.names
        self.users, column = users_of(rows.select(*["users", "epsilon"][: 1 + owned]))
        if left is None:
            left = check.some_epsilon(column) if owned else check_user_epsilon(budgets, self.users)
        refuse_few(int(self.users.sizes.sum()))
        self.origin = rules.origin() if fitting else 0.0
        width = rows.width("X") if rules._reads_rows else 1
        public = rules.public(width, np.asarray(left), self.users)._replace(even=rules.even(rows))
        self.promised, self.part = public.epsilon, public.part
        few = self.chosen = rules.chosen(self)
        if few is not None:  # planned as if there were no others
            self.X, codes = few.X, np.flatnonzero(self.part.who)[few.codes]
            public = public._replace(X=few.X, users=self.users._replace(codes=codes))
        self.plan = rules.planned(public)
        self.crowd = public._replace(plan=self.plan)
        if fitting and rules._reads_rows:
            note_width(rules, public.d)
        self.given = getattr(rules, "classes", None)  # which two must be known, in blocks

    @property
    def y(self) -> Floats:
        """Labels of the rows that were chosen, or sums of those of each user who takes part."""
        return self.sums(attrgetter("y")) if self.chosen is None else self.chosen.y

    def limited(self, seed: int, most: int) -> Records:
        """Return at most so many rows of each user, those that `Users.places` puts first."""
        sizes, before = self.part.users.sizes, {}
        if limited := most < sizes.max():
            first, counted = np.cumsum(sizes) - sizes, partial(_counted, self.part.users.labels)
            small = np.min_scalar_type(-2 * int(sizes.sum()))  # they travel, with Dask
            for start, who, counts in self.rows.select("users").each(counted, numbered=True):
                before[start] = [part.astype(small) for part in (who, counts, first[who])]
                first[who] += counts
            if not np.array_equal(first, np.cumsum(sizes)):
                raise ValueError(CHANGED)
        only = (before, kept_numbers(sizes, seed, most)) if limited else None
        some: Any = Records(*map(np.concatenate, zip(*self.each(tuple, True, only), strict=True)))
        order = np.argsort(some.numbers)
        return Records(*(column[order] for column in some))

    def each(self, function: Any, numbered: bool = False, only: Any = None) -> Iterator[Any]:
        """Yield a function of the `Records` of each block, perhaps of some `only`: by its start the
        users of a block, their rows, the number of the first of each; and the numbers kept."""
        read = partial(_read, (self.rules, self.origin, self.part.users.labels), only, function)
        return (one for one in self.rows.each(read, numbered=numbered) if one is not None)

    def sums(self, function: Callable[[Records], Floats]) -> Floats:
        """Sums over the rows of each user, shape (m, ...), of an array of one entry a row."""
        total, sizes = np.zeros(0), 0 * self.part.users.sizes
        for who, sums, counts in self.each(partial(_sums, function)):
            total = total if total.size else np.zeros((len(sizes), *sums.shape[1:]))
            total[who] += sums
            sizes[who] += counts
        if not np.array_equal(sizes, self.part.users.sizes):
            raise ValueError(CHANGED)
        return total


def kept_numbers(sizes: NDArray[np.intp], seed: int, most: int) -> NDArray[np.intp]:
    """Which rows `Users.places` puts first, numbered by user: all of the first one, and so on."""
    ends, kept = np.cumsum(sizes), []
    cuts = np.searchsorted(ends, np.arange(0, ends[-1], MANY), side="right")
    for low, up in pairwise(np.unique([*cuts, len(sizes)])):
        codes, start = np.repeat(np.arange(up - low), sizes[low:up]), int(ends[low] - sizes[low])
        kept.append(start + np.flatnonzero(places(codes, row_keys(seed, start, len(codes))) < most))
    return np.concatenate(kept)


def _sums(function: Callable[[Records], Floats], records: Records) -> tuple[Any, ...]:
    """Who is in a block, what a function sums to for each, and how many rows they have."""
    who, starts, counts = np.unique(records.codes, return_index=True, return_counts=True)
    return who, np.add.reduceat(function(records), starts), counts


def _counted(labels: Any, users: Any, start: int) -> tuple[Any, ...]:
    """First row of a block, who in it takes part, and how many rows they have."""
    codes, part = found(labels, as_labels(users))
    return start, *np.unique(codes[part], return_counts=True)


def found(have: NDArray[Any], wanted: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where among these, in sorted order, each one is, and whether it is there at all."""
    at = np.minimum(np.searchsorted(have, wanted), len(have) - 1)
    return at, have[at] == wanted


def _read(seen: Any, only: Any, function: Any, users: Any, start: int = 0, **block: Any) -> Any:
    """What a function returns for the rows of a block, all rows of a user together."""
    rules, origin, labels = seen
    codes, there = found(labels, as_labels(users))
    part = np.flatnonzero(there)
    order, codes = np.argsort(codes[part], kind="stable"), np.sort(codes[part])
    if only is not None:
        who, counts, first = only[0][start]
        if not np.array_equal(codes, np.repeat(who, counts)):
            raise ValueError(CHANGED)
        numbers = np.repeat(first + counts - np.cumsum(counts), counts) + np.arange(len(part))
        kept = found(only[1], numbers)[1]
        order, codes = order[kept], codes[kept]
    rows, y = rules.design(block.get("X", block["y"]), block["y"])
    if not len(part):
        return None
    X, y = rules.to_domain(rows[part], y[part])
    return function(Records(X[order], y[order] - origin, codes, start + part[order]))


def users_of(rows: Rows) -> tuple[Users, Floats]:
    """Users of all blocks from one pass, and their budgets if those are a column, else 0."""
    held: list[Any] = []
    for part in rows.each(_owners):  # joined so often that little more is held than what is left
        held.append(part)
        if sum(len(one[0]) for one in held) > MANY + 2 * len(held[0][0]):
            held = [_joined(held)]
    if not held:
        raise ValueError("blocks must hold at least one person; got none")
    labels, epsilon, sizes = _joined(held)
    return Users(np.zeros(0, dtype=np.intp), labels, sizes, True, {}), epsilon


def _joined(held: list[Any]) -> tuple[Any, ...]:
    """Users of several parts, their budgets, and how many rows each of them has."""
    labels, epsilon, sizes = zip(*held, strict=True)
    return _owners(join_labels(labels), np.concatenate(epsilon), np.concatenate(sizes))


def _owners(users: Any, epsilon: Any = 0.0, sizes: Any = 1) -> tuple[Any, ...]:
    """Users of a block, or of some, their budgets, and how many rows each of them has."""
    n = len(users)
    owned, given = check_users(users, n), check.nonnegative(epsilon, "epsilon")
    budgets = one_each(np.full(n, given) if np.ndim(given) == 0 else given, owned, "epsilon")
    counts = np.bincount(owned.codes, np.broadcast_to(sizes, n), len(owned.labels))
    return owned.labels, budgets, counts.astype(np.intp)
