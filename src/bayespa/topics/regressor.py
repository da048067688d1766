"""Targets of a topic model that predicts numbers, with the ε-insensitive loss [MED-8]."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa.checks import require_number
from bayespa.estimators import Roles
from bayespa.learning import HERE, Executor
from bayespa.topics.documents import Labels, label_array
from bayespa.topics.explain import Explanation, Subject
from bayespa.topics.knowledge import Knowledge
from bayespa.topics.part import Floats, Sources
from bayespa.topics.supervised import MergingTransformer
from bayespa.topics.waiting import Targets

if TYPE_CHECKING:
    from typing_extensions import Self


LARGEST = float(np.finfo(np.float32).max)  # absolute value of numbers
UNITS = 256  # documents whose mean and standard deviation are the units


@dataclass(frozen=True)
class Numbers:
    """The targets of a regressor, one task each; none without labels."""

    n_tasks: int
    flat: bool = False  # whether y has one dimension
    centre: tuple[float, ...] = ()  # mean of the first known values of each target,
    unit: tuple[float, ...] = ()  # and their standard deviation; tasks are standardised by both

    kind = None  # they have no probabilities

    @property
    def task_names(self) -> list[str]:
        """The target that a positive margin of each task speaks for."""
        return ["a higher value"] if self.n_tasks == 1 else [f"target {i}" for i in range(self.n_tasks)]

    @property
    def first(self) -> int:
        """How many documents, at least, fix the units."""
        return UNITS if self.n_tasks else 0

    @classmethod
    def of(
        cls, y: NDArray[Any], known: NDArray[np.bool_], before: Numbers | None, *, fit: bool
    ) -> tuple[Numbers, Targets]:
        """Return what y means, and the targets (n, T) in the units of y, NaN if unknown."""
        if fit and not known.any():
            raise ValueError("y has no known target; partial_fit can learn from words alone, fit cannot")
        targets = real_targets(y, known)
        if before is not None and not known.any():
            return before, np.full((len(y), before.n_tasks), np.nan)
        if before is not None and targets.shape[1] != before.n_tasks:
            raise ValueError(
                f"y has {targets.shape[1]} targets per document, but the model has learned {before.n_tasks}"
            )
        found = cls(targets.shape[1]) if before is None else before
        flat = y.ndim == 1
        return found if found.flat == flat else replace(found, flat=flat), targets

    def begun(self, targets: Targets) -> Numbers:
        """Return the numbers with units, those of the first known targets (n, T)."""
        if self.unit or np.isnan(targets).all():
            return self
        centre, unit = _units(targets)
        return replace(self, centre=centre, unit=unit)

    def tasks(self, targets: Targets) -> Labels:
        """Return standardised targets (n, T)."""
        centre = np.array(self.centre or [0.0] * self.n_tasks)
        tasks: Labels = ((targets - centre) / self.units).astype(np.float32)
        return tasks

    def require_targets(self, targets: Targets) -> None:
        """Raise a ValueError unless targets (n, T) of a file are numbers, or NaN."""
        if targets.dtype != np.float64 or (np.abs(targets) >= LARGEST).any():
            raise ValueError("the targets of documents that wait are no numbers, or too large")

    def numbers(self, tasks: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return targets (n, T) from standardised predictions: the inverse of `tasks`."""
        found: NDArray[np.float64] = tasks * self.units + np.array(self.centre or [0.0] * self.n_tasks)
        return found

    @property
    def units(self) -> NDArray[np.float64]:
        """The value of a task's 1 in units of its target, (T,)."""
        return np.array(self.unit or [1.0] * self.n_tasks)

    def joined(self, other: Numbers) -> Numbers:
        """Return the targets of two models, which must have the same number."""
        if other.n_tasks != self.n_tasks:
            raise ValueError(f"this model has {self.n_tasks} targets and the other {other.n_tasks}")
        if self.unit and other.unit and (other.centre, other.unit) != (self.centre, self.unit):
            raise ValueError(
                "the models learned numbers in different units, those of their first documents; start both "
                "from one model that has learned some documents (`fork`)"
            )
        return self if self.unit else other

    def tasks_before(self, before: Numbers) -> tuple[Sources, Floats]:
        """Return that every task continues itself."""
        return np.arange(self.n_tasks), np.ones(self.n_tasks)


def real_targets(y: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return targets (n, T), NaN if unknown.

    >>> real_targets(np.array([1.5, np.nan]), np.array([True, False]))
    array([[1.5],
           [nan]])
    """
    if y.dtype.kind not in "biufO":
        raise ValueError(f"y holds {y.dtype}; a regressor needs numbers, a classifier learns classes")
    targets = np.full(y.shape, np.nan)
    try:
        targets[known] = y[known].astype(np.float64)
    except (TypeError, ValueError) as error:
        wrong = next((value for value in y[known] if isinstance(value, str)), y.dtype)
        raise ValueError(
            f"y holds {wrong!r}; a regressor needs numbers, a classifier learns classes"
        ) from error
    if not (np.abs(targets[known]) < LARGEST).all():
        where = np.argwhere(known & ~(np.abs(targets) < LARGEST))[0].tolist()
        raise ValueError(
            f"Input y contains infinity or a value too large for float32: y{where} is {y[tuple(where)]!r}"
        )
    return targets.reshape(len(y), -1)


def _units(targets: NDArray[np.float64]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the mean and the standard deviation of the known values of each target.

    If all values are equal, the deviation is their size, or 1.

    >>> _units(np.array([[1.0, 7.0], [3.0, np.nan]]))
    ((2.0, 7.0), (1.0, 7.0))
    """
    centre, unit = [], []
    for column in targets.T:
        values = column[~np.isnan(column)]
        mean = float(values.sum()) / max(len(values), 1)
        away = values - mean
        deviation = math.sqrt(float((away * away).sum()) / max(len(values), 1))
        centre.append(mean)
        unit.append(deviation or abs(mean) or 1.0)
    return tuple(centre), tuple(unit)


@dataclass(eq=False, repr=False, kw_only=True)
class TopicRegressor(MergingTransformer):
    """Targets are tasks; subclasses define the topics.

    Parameters
    ----------
    cost : float
        c, the weight of the loss. The product of `cost` and `margin` matters: it is about how many words of
        evidence the labels of a document are worth.
    margin : float
        ε, the error that costs nothing, in standard deviations of the first y.
    weight_scale : float
        v, prior standard deviation of a weight, in the same unit.
    """

    cost: float = 16.0
    margin: float = 0.1
    weight_scale: float = 2.0

    _regression = True

    def _read(
        self, n: int, y: Any, classes: Any, before: Numbers | None, *, fit: bool
    ) -> tuple[Numbers, Targets]:
        return Numbers.of(*label_array(n, y), before, fit=fit)

    def partial_fit(
        self, X: Any, y: Any = None, topic_words: ArrayLike | None = None, workers: Executor = HERE
    ) -> Self:
        """Learn more documents, in their order, in mini-batches of `batch_size`.

        How documents are cut into calls does not change the model. A mini-batch is learned when it is whole.
        The documents after it wait, and count for predictions at once. In the beginning all documents wait:
        the first ones are learned together. See `settle`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
            Counts. More columns than before are new words.
        y : array of shape (n,) or (n, T), optional
            Targets; None or NaN if unknown. None: no target is known.
        topic_words : array of bool of shape (n_words,), optional
            Columns that topics use; by default all. Columns that are known already keep their setting.
        workers : Executor, optional
            As in `fit`. All steps are complete when this method returns.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, None, Roles(topic_words), workers)._ready()

    @property
    def units_(self) -> NDArray[np.float64]:
        """The value of a weight of 1 in units of each target, (T,): the standard deviation of the first y."""
        units: NDArray[np.float64] = self._known().now.meaning.units
        return units

    @property
    def slope_(self) -> NDArray[np.float64]:
        """What predictions are multiplied by, (T,): below 1 where they would vary too much."""
        slope: NDArray[np.float64] = self._known().now.knowledge.slope
        return slope

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        *,
        prediction: Literal["mean", "gibbs"] = "mean",
        random_state: Any = None,
    ) -> Any:
        """Return the expected targets of documents.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
        return_std : bool
            Return the standard deviations, too.
        prediction : {"mean", "gibbs"}
            Predict with the posterior mean of the weights, or with one draw from their posterior for the
            whole call.
        random_state : int, RandomState or Generator, optional
            Seed of that draw; by default the model's, so that every call draws the same.

        Returns
        -------
        array of the shape of y, or two of them
        """
        learned, corpus = self._corpus(X)
        knows, meaning = learned.knowledge, learned.meaning
        if not return_std:
            mean = meaning.numbers(knows.slope * knows.margins(corpus, prediction, random_state))
            return mean[:, 0] if meaning.flat else mean
        mean, variance = knows.moments(corpus, prediction, random_state)
        mean, std = meaning.numbers(knows.slope * mean), np.sqrt(variance) * knows.slope * meaning.units
        return (mean[:, 0], std[:, 0]) if meaning.flat else (mean, std)

    def explain(self, X: Any, target: int = 0, feature_names: ArrayLike | None = None) -> Explanation:
        """Show which topics and words of a document led to a prediction.

        Parameters
        ----------
        X : array of shape (n_words,), or array or sparse matrix of shape (1, n_words)
            One document.
        target : int
            Column of y whose prediction to explain.
        feature_names : sequence of n_words, optional
            The words.

        Returns
        -------
        Explanation
            The prediction is the sum of `base` (the average document), the topics' contributions, and
            `beside` (the words). It is also the sum of `base` and the words' contributions. All are in the
            unit of y.
        """
        self._require_fitted()
        n_tasks = self._learned.meaning.n_tasks
        if not 0 <= target < n_tasks:
            raise ValueError(f"target is {target!r}; the model has the targets 0 to {n_tasks - 1}")

        def about(knows: Knowledge, margin: Floats) -> Subject:
            meaning: Numbers = knows.meaning
            name = "prediction" if meaning.flat else f"target {target}"
            centre = meaning.centre[target] if meaning.centre else 0.0
            return Subject(target, name, float(knows.slope[target] * meaning.units[target]), centre)

        return self._explain(X, about, feature_names)

    # Files

    def _meaning_to_file(self, meaning: Numbers) -> dict[str, Any]:
        units = {"_centre": list(meaning.centre), "_unit": list(meaning.unit)}
        return {"_n_tasks": meaning.n_tasks, "_flat": meaning.flat, **units}

    def _meaning_from_file(self, learned: dict[str, Any]) -> Numbers:
        n_tasks, flat = learned.pop("_n_tasks"), learned.pop("_flat")
        if type(n_tasks) is not int or n_tasks < 1 or type(flat) is not bool:
            raise ValueError(f"there are {n_tasks!r} targets, flat is {flat!r}")
        centre, unit = learned.pop("_centre", []), learned.pop("_unit", [])  # not in files up to version 2
        for name, values, low in (("_centre", centre, -LARGEST), ("_unit", unit, 0.0)):
            if not isinstance(values, list) or len(values) not in (0, n_tasks):
                raise ValueError(f"{name} must be {n_tasks} numbers")
            for value in values:
                require_number(name, value, low, LARGEST, open_=low == 0.0)
        if len(centre) != len(unit):
            raise ValueError("_centre and _unit must have the same length")
        return Numbers(n_tasks, flat, tuple(centre), tuple(unit))
