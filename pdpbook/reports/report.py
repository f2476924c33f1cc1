"""What the noise of one release does, as a table for a person with data."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pdpbook import check
from pdpbook.reports.frames import Sizes
from pdpbook.reports.noise import Known, Noise

Ways = tuple[str, ...]  # what would do better where the noise is large
LARGER: Ways = ("a larger lam, chosen by public numbers (`public_penalty`)",)
INSIDE: Ways = ("noise in the objective (`ObjectivePerturbation`)",)
FEWER: Ways = ("fewer columns, narrower public bounds, or a private mean",)
CLEAR = 1 / 3  # noise below this share of a constant's error is no reason to worry


@dataclass(frozen=True, eq=False, kw_only=True)
class Report(Known):
    """What the noise of one release does, from public numbers alone.

    A regression errs by the noise *and* by what columns cannot explain: small noise is not enough.

    Attributes
    ----------
    people, users, columns : int or None
        How many; None where that is not public, or there are no users.
    budget, note : str
        Smallest and largest; and what else there is to say, about `at_most`.
    noise, at_most : Sizes
        Root mean squares: of each coefficient, of the intercept, and of predictions at `rows`,
        exact where `exact`, the same for all data, else an estimate, for data whose rows are spread
        evenly; and at most, whatever the data are, None where that is not known.
    exact : bool
    width, label_sd, constant : float or None
        Range of the labels; a guess at their standard deviation; and, for that, the root mean
        squared error of a private constant with the same budgets. In the user's units.
    """

    mechanism: str  #: name of the estimator
    noise: Sizes
    at_most: Sizes | None
    rows: str  #: where predictions are made
    label_sd: float | None
    constant: float | None
    names: tuple[str, ...]  #: of the columns, where they are known
    ways: tuple[str, ...]  #: what would do better where the noise is large, beside more people

    @property
    def warns(self) -> bool:
        """Whether the noise is more than a third of a private constant's error."""
        return self.constant is not None and not self._share() <= CLEAR

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.constant is None:
            return "There is no private constant to compare with: these are log-odds."
        if self._share() > 1:
            return "The noise alone is worse than a private constant."
        if self._share() > CLEAR:
            return "The noise leaves little: compare with a private constant before you release."
        return "The noise is small beside the error of a private constant." + self._unless()

    @property
    def better(self) -> str:
        """What would do better, or nothing where the noise is small."""
        if not self.warns:
            return ""
        times = self._share() / CLEAR
        more = f"about {times:.2g} times the people or the budgets"
        return "Better: " + "; ".join([more, *self.ways]) + "."

    def _unless(self) -> str:
        """What an estimate does not rule out."""
        if self.exact or (self.at_most and self.at_most.prediction <= (self.constant or 0)):
            return ""
        most = "" if self.at_most is None else f", up to {_digits(self.at_most.prediction)}"
        return f" Where the rows of the data crowd together it may be larger{most}."

    def _share(self) -> float:
        return self.noise.prediction / self.constant if self.constant else np.inf

    def row(self) -> dict[str, Any]:
        """The report in a line: ``pd.DataFrame([r.row() for r in reports])`` compares several."""
        return {
            "people": self.people if self.users is None else self.users,
            "columns": self.columns,
            "budget": self.budget,
            "mechanism": self.mechanism,
            "noise of a prediction": self.noise.prediction,
            "at most": None if self.at_most is None else self.at_most.prediction,
            "error of a private constant": self.constant,
        }

    def __str__(self) -> str:
        crowd = "a number that is not public" if self.people is None else f"{self.people:,} rows"
        if self.users is not None:
            crowd += f" of {self.users:,} users"
        names = [*self.names, "intercept", "prediction"]
        values, most = np.hstack(self.noise), self.at_most
        ends: Any = [None] * len(names) if most is None else np.hstack(most)
        head = f"{'exact':>12}" if self.exact else f"{'estimate':>12}{'at most':>12}"
        lines = [
            f"{self.mechanism}: {crowd}, {self.columns} columns, budget {self.budget}",
            f"{'noise, root mean square':26}{head}",
        ]
        for name, value, end in zip(names, values, ends, strict=True):
            line = f"{name:26}{_digits(value):>12}"
            lines.append(line if self.exact else f"{line}{_digits(end):>12}")
        if self.constant is not None:
            lines.append(f"{'private constant, error':26}{_digits(self.constant):>12}")
        lines.append(f"Predictions{'' if self.exact else ' and estimate'}: {self.rows}.")
        return "\n".join([*lines, *filter(None, [self.note, self.verdict, self.better])])


def _digits(value: float | None) -> str:
    """Three digits, without a power of ten where a person would not write one."""
    return "not known" if value is None else f"{float(f'{value:.3g}'):,.10g}"


def report_of(model: Any, known: Noise, names: Any, label_sd: Any) -> Report:
    frame = known.frame
    if label_sd is not None:
        label_sd = check.single(check.nonnegative(label_sd, "label_sd"), "label_sd")
    elif known.width is not None:
        label_sd = known.width / np.sqrt(12)
    said = {f.name: getattr(known, f.name) for f in fields(Known)}
    return Report(
        **said,
        mechanism=type(model).__name__,
        ways=model._ways + (FEWER if model._reads_rows else ()),
        noise=frame.sizes(known.covariance),
        at_most=None if known.most is None else frame.sizes(known.most),
        rows=frame.rows,
        label_sd=label_sd,
        constant=None if known.constant is None else known.constant.error(float(label_sd)),
        names=tuple(map(str, names)) or tuple(f"coefficient {j}" for j in range(known.columns)),
    )
