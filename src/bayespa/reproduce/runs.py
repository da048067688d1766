"""Finished runs, selected by method and settings, and their spread over seeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa.reproduce.cells import Point, Run


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over seeds.

    >>> print(Spread.of([0.80, 0.82]), Spread.of([0.8]), Spread.of([0.8, float("inf")]))
    0.810 ± 0.014 0.800 never
    """

    mean: float
    sd: float  # NaN: not known, of one value

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Return mean and standard deviation; if one of the values is infinite, the mean is."""
        found = list(values)
        known = len(found) > 1 and bool(np.isfinite(found).all())
        return cls(float(np.mean(found)), float(np.std(found, ddof=1)) if known else float("nan"))

    def __str__(self) -> str:
        return self.text(3)

    def text(self, digits: int) -> str:
        """Return the spread as text with some decimals; "never" if the mean is infinite."""
        if np.isinf(self.mean):
            return "never"
        return f"{self.mean:.{digits}f}" + ("" if np.isnan(self.sd) else f" ± {self.sd:.{digits}f}")


def standardized(values: ArrayLike) -> NDArray[np.float64]:
    """Return numbers with mean 0 and sd 1; the mean product of two such rows is their correlation.

    >>> standardized([1, 3])
    array([-1.,  1.])
    """
    x = np.asarray(values, np.float64)
    return np.asarray((x - x.mean()) / x.std())


class Runs(tuple[Run, ...]):
    """Finished runs. `of` chooses some; what the others return is a spread over them."""

    def of(self, method: str | None = None, data: str | None = None, **settings: Any) -> Runs:
        """Return the runs of a method, on some data, with some settings."""
        return Runs(
            run
            for run in self
            if method in (None, run.cell.method)
            and data in (None, run.cell.data)
            and all(run.cell.settings.get(name) == value for name, value in settings.items())
        )

    @property
    def methods(self) -> list[str]:
        """The methods, in their order."""
        return list(dict.fromkeys(run.cell.method for run in self))

    @property
    def data(self) -> list[str]:
        """The data sets, in their order."""
        return list(dict.fromkeys(run.cell.data for run in self))

    def settings(self, name: str) -> list[Any]:
        """Return the values that a setting has, in their order."""
        return list(dict.fromkeys(run.cell.settings.get(name) for run in self))

    def pairs(self, other: Runs) -> list[tuple[Run, Run]]:
        """Return runs of two methods that have seed, data and number of topics in common."""
        others = {_alike(run): run for run in other}
        return [(run, others[_alike(run)]) for run in self if _alike(run) in others]

    def score(self, passes: float = np.inf) -> Spread:
        """Return the scores after so many passes, or at the end."""
        return Spread.of(run.at(passes).score for run in self)

    def error(self, passes: float = np.inf) -> Spread:
        """Return one minus the scores."""
        return Spread.of(1.0 - run.at(passes).score for run in self)

    def least_error(self) -> Spread:
        """Return one minus the best score of each run."""
        return Spread.of(1.0 - run.best for run in self)

    def seconds(self) -> Spread:
        """Return the time of learning."""
        return Spread.of(run.last.seconds for run in self)

    def passes(self) -> Spread:
        """Return the number of passes."""
        return Spread.of(run.last.passes for run in self)

    def n_topics(self) -> Spread:
        """Return the number of topics at the end."""
        return Spread.of(run.last.n_topics for run in self)

    def seconds_to(self, score: float) -> Spread:
        """Return the time until a score was reached."""
        return Spread.of(run.first(score).seconds for run in self)

    def steps(self) -> list[list[Point]]:
        """Return the first points of all runs, the second ones, and so on; ended runs repeat their last."""
        longest = max(len(run.points) for run in self)
        return [[run.points[min(i, len(run.points) - 1)] for run in self] for i in range(longest)]

    def times_of(self, other: Runs, within: float = 0.0) -> Spread:
        """Return the time of these runs to be as good as one pass of others, as a multiple of its time.

        They are as good if their mean score is at most `within` lower. Means over seeds are compared, because
        whether a single run reaches another is chance.
        """
        target = other.score(1).mean - within
        one_pass = Spread.of(run.at(1).seconds for run in other).mean
        for points in self.steps():
            if Spread.of(point.score for point in points).mean >= target:
                return Spread.of([Spread.of(point.seconds for point in points).mean / one_pass])
        return Spread.of([np.inf])

    def passes_to_best(self, within: float) -> Spread:
        """Return the passes until the score of each run was `within` its best."""
        return Spread.of(run.first(run.best - within).passes for run in self)


def _alike(run: Run) -> tuple[Any, ...]:
    return run.cell.seed, run.cell.data, run.cell.settings.get("n_topics")
