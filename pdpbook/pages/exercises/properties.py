"""Properties of an answer, the exercises they make up, and the check that students run."""

import importlib
import itertools
import os
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pdpbook.pages.exercises.notebook import Calls, account

Demands = Iterator[bool]
ROUNDING = 1e-6  #: relative: numbers may come in float32, which rounds each of them by 6e-8
LEAST, MOST = np.finfo(float).tiny, np.finfo(float).max  #: the least and the largest number above 0


class Unmet(AssertionError):
    """Demands are not met; in a notebook the message is all that is shown."""

    def _render_traceback_(self) -> list[str]:
        return str(self).split("\n")


class Changed(Unmet):
    """An answer has a property, and changed what it was given."""


class Draws(np.random.Generator):
    """A generator that can be made to draw little: at most `most` of a kind, and in tenths."""

    def __init__(self, seed: list[int], most: int = 0):
        super().__init__(np.random.PCG64(seed))
        self.most = most

    def size(self, n: int) -> int:
        """A number of people or dimensions: n, or `most` where less is wanted."""
        return min(n, self.most or n)

    def fresh(self) -> np.random.Generator:
        """A generator to hand on, of a seed that can be written down."""
        return np.random.default_rng(int(self.integers(1000)))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        return self._tenths(super().uniform(low, high, size))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._tenths(super().normal(loc, scale, size))

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        found = super().dirichlet(alpha, size)
        total = 10 if len(alpha) < 6 else max(100, 2 * len(alpha))
        return (1 + self.multinomial(total - len(alpha), found)) / total if self.most else found

    def _tenths(self, found: Any) -> Any:
        return np.ceil(10 * found) / 10 + 0.0 if self.most else found


def numbers_between(
    found: Any, shape: tuple[int, ...], low: float = -MOST, high: float = MOST
) -> bool:
    """Whether there are numbers of a shape, all of them from `low` to `high`."""
    found = shaped(found, shape).astype(float)
    return bool(np.all((low <= found) & (found <= high)))


def in_double(found: Any) -> Any:
    """What an answer gave, in double precision: a property that computes with it loses no digit."""
    if isinstance(found, tuple | list):
        if {type(entry) for entry in found} <= {float, np.float32}:  # long lists, at once
            return np.asarray(found, dtype=float).tolist()
        return [in_double(entry) for entry in found]
    narrow = hasattr(found, "astype") and np.asarray(found).dtype == np.float32
    return found.astype(float) if narrow else found


def copied(argument: Any) -> Any:
    """An argument of its own; what is no array, and no list or tuple, is handed on."""
    if isinstance(argument, np.ndarray):
        return argument.copy()
    return type(argument)(map(copied, argument)) if type(argument) in (list, tuple) else argument


def same(one: Any, other: Any) -> bool:
    """Whether an argument is what its copy is."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):  # by bytes, as NaN is no number that equals itself
        alike = one.shape == other.shape and one.dtype == other.dtype
        return bool(alike and one.tobytes() == other.tobytes())
    if type(one) in (list, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one is other or one == other)


class Watched:
    """An answer that gets copies of what it is given, so that a change costs no other property."""

    def __init__(self, answer: "Answer"):
        self._answer, self._notes = answer, getattr(answer, "notes", [""])
        self.call: list[str] = []  #: the first call that changed something, as it was noted

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        copies = copied(arguments)
        try:
            return in_double(self._answer(*copies, **named))
        finally:
            pairs = zip(arguments, copies, strict=True)
            which = [f"argument {k}" for k, pair in enumerate(pairs, start=1) if not same(*pair)]
            if which and not self.call:
                self.call = [f"{self._notes[-1]}\n# it changed {' and '.join(which)}"]


def shaped(found: Any, shape: tuple[int, ...]) -> Any:
    """An array, of this shape."""
    if np.shape(found) != shape:
        got, wanted = (f"shape {one}" * bool(one) for one in (np.shape(found), shape))
        raise Unmet(f"it gave {got or 'no array'}, not {wanted or 'one number'}")
    return np.asarray(found)


def truths(found: Any, n: int) -> bool:
    """Whether there are so many truth values."""
    return bool(shaped(found, (n,)).dtype == bool)


def repeats(draw: Callable[[np.random.Generator], Any], rng: np.random.Generator) -> Demands:
    """Whether the same state of a generator gives the same, and the next call gives another."""
    state = int(rng.integers(1000))
    first, again, both, untouched = (np.random.default_rng(state) for _ in range(4))
    yield np.array_equal(draw(first), draw(again))
    alike = np.allclose(draw(both), draw(both))
    if alike and both.bit_generator.state == untouched.bit_generator.state:
        raise Unmet("nothing was drawn from rng")
    yield not alike


def rises(numbers: Callable[[Any], Any], places: Iterable[Any]) -> Demands:
    """Whether there is a number above 0 at each place, and a larger one at the next."""
    for pair in itertools.pairwise(places):
        low, high = (numbers(place) for place in pair)
        yield bool(0 < shaped(low, ()) < shaped(high, ()))


#: the assignments of the book, in its order
ASSIGNMENTS = (
    "foundations",
    "personalized",
    "per_instance",
    "accounting",
    "user_level",
    "pac",
    "dpsgd",
    "capstone",
)
NOT_WRITTEN = "not written yet"  #: what is wrong with an answer that is a stub
#: what is wrong with an answer that changes an argument, though the property itself holds
ARGUMENT_CHANGED = "what it is given is left as it was: work on a copy"
SEED = "PDPBOOK_EXERCISE_SEED"  #: environment variable that changes what they draw
#: what a failure is tried on again: what the seed gets in addition, and the largest size
SMALLER = (*(([k], most) for k, most in enumerate((1, 1, 2, 2, 2, 3, 3, 3, 5, 5, 99))), ([], 0))

Answer = Callable[..., Any]
Test = Callable[[Answer, Draws], bool | Demands]
Mark = Callable[[Test], Test]


@dataclass(frozen=True)
class Property:
    """One demand on an answer.

    A test of several may yield them one by one: students see the calls since the last that was met.
    """

    name: str  #: what tests and wrong answers call it
    sentence: str  #: what it demands, for students
    test: Test  #: takes the answer and a generator, returns whether the demand is met
    draws: bool = False  #: whether a right answer may fail by chance, at most once in a million
    weight: int = 1  #: how many times the points of another property it has
    promise: bool = False  #: whether an answer that fails it breaks what the function promises

    def fault(self, answer: Answer, seed: int, name: str = "", last: int | None = None) -> str:
        """What is wrong with an answer, a function of a student; empty if nothing is.

        The sentence of the property. With a `name` for the answer, below it the smallest calls
        found that fail it in the same way, and what came back, or the `last` few of them; without,
        in the same line the error that the answer raised, if it did. `ARGUMENT_CHANGED`, if the
        property holds and the answer changed what it was given. The seed changes what the property
        draws.
        """
        seeds = [seed, zlib.crc32(self.name.encode())]
        failure = self._failure(answer, Draws(seeds))
        if failure is None or isinstance(failure, NotImplementedError):
            return NOT_WRITTEN if failure else ""
        sentence = ARGUMENT_CHANGED if isinstance(failure, Changed) else self.sentence
        if not name:
            error = "" if isinstance(failure, Unmet) else f"; it raised {account(failure)}"
            return sentence + error
        for again, most in SMALLER:
            calls = Calls(name, answer, last)
            small = self._failure(calls, Draws(seeds + again, most))
            if type(small) is type(failure):
                break
        why = f"; {small}" * (isinstance(small, Unmet) and bool(str(small)))
        return "\n".join([sentence + why, *calls.notes])

    def _failure(self, answer: Answer, draws: Draws) -> Exception | None:
        """An error that an answer raised, `Unmet`, `Changed`, or nothing."""
        watched, notes = Watched(answer), getattr(answer, "notes", [])
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found = self.test(watched, draws)
                for met in found if isinstance(found, Iterator) else [found]:
                    if not met:
                        return Unmet()
                    notes.clear()
            except KeyboardInterrupt:  # anew, without the frames that show how it is tested
                raise KeyboardInterrupt(f"{self.sentence}; it was interrupted") from None
            except Exception as error:  # whatever a student's code raises is an answer, too
                return error
        notes.extend(watched.call)
        return Changed() if watched.call else None


@dataclass(frozen=True)
class Exercise:
    """A function to write, with its properties, which share the points of their part."""

    name: str  #: name of the function
    visible: list[Property] = field(default_factory=list)  #: what students can run
    hidden: list[Property] = field(default_factory=list)  #: what `course.hidden` grades it by
    unseen: int = 0  #: how many hidden ones there are, whether or not they are loaded

    def faults(self, answer: Answer, kind: str, seed: int) -> list[str]:
        """The "visible" or "hidden" demands that are not met: a line each, none twice."""
        found = [one.fault(answer, seed) for one in getattr(self, kind)]
        return list(dict.fromkeys(line for line in found if line))


class Assignment:
    """Exercises of a notebook; a decorated property's docstring begins with what students read.

    Parameters
    ----------
    name : str
        Name of the assignment and of its notebook.
    by_hand : dict, optional
        Points of the questions that are graded by hand.
    """

    def __init__(self, name: str, by_hand: dict[str, int] | None = None):
        self.name, self.by_hand = name, by_hand or {}
        self.exercises = dict[str, Exercise]()

    def visible(self, exercise: str, unseen: int = 0, draws: bool = False) -> Mark:
        """Make a function a visible property of an exercise, which `unseen` hidden ones follow."""
        self.exercises.setdefault(exercise, Exercise(exercise, unseen=unseen))
        return partial(self._add, exercise, "visible", draws, 1)

    def hidden(
        self, exercise: str, draws: bool = False, weight: int = 1, promise: bool = False
    ) -> Mark:
        """Make a function a hidden property of an exercise; the rest is as in `Property`."""
        return partial(self._add, exercise, "hidden", draws, weight, promise=promise)

    def _add(
        self, exercise: str, kind: str, draws: bool, weight: int, test: Test, promise: bool = False
    ) -> Test:
        line = (test.__doc__ or "").strip().partition("\n")[0]
        sentence = line[:1].lower() + line[1:].rstrip(".")
        one = Property(test.__name__, sentence, test, draws, weight, promise)
        getattr(self.exercises[exercise], kind).append(one)
        return test


def assignment(name: str) -> Assignment:
    """An assignment of the book by name: its exercises, with their visible properties.

    Parameters
    ----------
    name : str
        One of `ASSIGNMENTS`.
    """
    if name not in ASSIGNMENTS:
        raise ValueError(f"assignment must be one of {', '.join(ASSIGNMENTS)}; got {name!r}")
    found: Assignment = importlib.import_module(f"pdpbook.pages.exercises.{name}").PROPERTIES
    return found


def seed_of(seed: int | None) -> int:
    """The seed given, else the environment's, else 0."""
    text = os.environ.get(SEED, "0") if seed is None else str(seed)
    if not text.isdecimal():
        where = SEED if seed is None else "seed"
        raise ValueError(f"{where} must be a whole number, at least 0; got {text!r}")
    return int(text)


def check(exercise: str, answer: Answer, *, seed: int | None = None) -> None:
    """Hold your answer against the properties of an exercise, and say which it lacks.

    The AssertionError names each property that fails and, of a visible one, shows a small call with
    what came back, or the error and the line of yours that raised it.

    Parameters
    ----------
    exercise : str
        Assignment and function, such as ``"foundations/laplace_error"``.
    answer : callable
    seed : int, optional
        Changes what the properties draw; by default the environment variable
        ``PDPBOOK_EXERCISE_SEED``, else 0.
    """
    name, _, function = exercise.partition("/")
    exercises = assignment(name).exercises
    if function not in exercises:
        raise ValueError(f"{name} has no exercise {function!r}; it has {', '.join(exercises)}")
    if not callable(answer):
        raise TypeError(f"answer must be a function; got {type(answer).__name__}")
    one, told = exercises[function], dict[str, str]()
    faults = [demand.fault(answer, seed_of(seed), function) for demand in one.visible]
    for fault in filter(None, faults):
        once = fault.rpartition("\n# it raised")[2]
        if fault.startswith(ARGUMENT_CHANGED):
            once = ARGUMENT_CHANGED
        told.setdefault(once, fault)  # the same error once
    if told:
        lines = "".join("\n- " + fault.replace("\n", "\n    ") for fault in told.values())
        raise Unmet(f"{exercise} fails its visible properties:{lines}")
    print(f"{exercise}: {len(one.visible)} visible properties hold.")
    print(f"This does not mean that it is right: {one.unseen} more grade it.")
