"""What every topic model that predicts numbers does with targets, with the ε-insensitive loss. [MED-8]."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from bayespa.checks import require_number
from bayespa.learning import HERE, Executor
from bayespa.topics.documents import Labels, label_array
from bayespa.topics.explain import Explanation, Subject
from bayespa.topics.knowledge import Knowledge
from bayespa.topics.part import Floats, Sources
from bayespa.topics.supervised import MergingTransformer

if TYPE_CHECKING:
    from typing_extensions import Self


LARGEST = float(np.finfo(np.float32).max)  # of numbers, in absolute value


@dataclass(frozen=True)
class Numbers:
    """The targets of a regressor: a task each. Without labels there is none."""

    n_tasks: int
    flat: bool = False  # whether there is one target, without an axis for it
    centre: tuple[float, ...] = ()  # of each target: the mean of the first ones known,
    unit: tuple[float, ...] = ()  # and their standard deviation; tasks have mean 0 and deviation 1

    kind = None  # they have no probabilities

    @property
    def task_names(self) -> list[str]:
        """What a positive margin of each task speaks for."""
        return ["a higher value"] if self.n_tasks == 1 else [f"target {i}" for i in range(self.n_tasks)]

    @classmethod
    def of(
        cls, y: NDArray[Any], known: NDArray[np.bool_], before: Numbers | None, *, fit: bool
    ) -> tuple[Numbers, Labels]:
        """Return what y means, and the targets (n, T), NaN where unknown."""
        if fit and not known.any():
            raise ValueError(
                "y has no known target at all; partial_fit can learn from words alone, fit cannot"
            )
        targets = real_targets(y, known)
        if before is not None and not known.any():
            return before, np.full((len(y), before.n_tasks), np.nan, np.float32)
        if before is not None and targets.shape[1] != before.n_tasks:
            raise ValueError(
                f"y has {targets.shape[1]} targets a document, but the model has learned {before.n_tasks}"
            )
        found = cls(targets.shape[1], y.ndim == 1)
        if not known.any():
            return found, targets.astype(np.float32)
        centre, unit = _units(targets) if before is None or not before.unit else (before.centre, before.unit)
        found = replace(found, centre=centre, unit=unit)
        return before if found == before else found, found.tasks(targets)

    def tasks(self, targets: NDArray[np.float64]) -> Labels:
        """Return targets (n, T) in units of their deviation from the centre."""
        tasks: Labels = ((targets - np.array(self.centre)) / np.array(self.unit)).astype(np.float32)
        return tasks

    def numbers(self, tasks: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what predictions (n, T) of tasks mean: the inverse of `tasks`."""
        found: NDArray[np.float64] = tasks * self.units + np.array(self.centre or [0.0] * self.n_tasks)
        return found

    @property
    def units(self) -> NDArray[np.float64]:
        """What a task's 1 is of its target, (T,)."""
        return np.array(self.unit or [1.0] * self.n_tasks)

    def joined(self, other: Numbers) -> Numbers:
        """Return the targets of two models, which must be as many."""
        if other.n_tasks != self.n_tasks:
            raise ValueError(f"this model has {self.n_tasks} targets and the other {other.n_tasks}")
        if self.unit and other.unit and (other.centre, other.unit) != (self.centre, self.unit):
            raise ValueError(
                "the models learned numbers in other units, those of their first documents; let both go on "
                "from one model that has learned some (`fork`)"
            )
        return self if self.unit else other

    def tasks_before(self, before: Numbers) -> tuple[Sources, Floats]:
        """Return that every task continues the same one."""
        return np.arange(self.n_tasks), np.ones(self.n_tasks)


def real_targets(y: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return targets (n, T), NaN where unknown.

    >>> real_targets(np.array([1.5, np.nan]), np.array([True, False]))
    array([[1.5],
           [nan]])
    """
    if y.dtype.kind not in "biufO":
        raise ValueError(f"y holds {y.dtype}; a regressor needs numbers")
    targets = np.full(y.shape, np.nan)
    targets[known] = y[known].astype(np.float64)
    if not (np.abs(targets[known]) < LARGEST).all():
        where = np.argwhere(known & ~(np.abs(targets) < LARGEST))[0].tolist()
        raise ValueError(
            f"Input y contains infinity or a value too large for float32: y{where} is {y[tuple(where)]!r}"
        )
    return targets.reshape(len(y), -1)


def _units(targets: NDArray[np.float64]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the mean and the standard deviation of each target, where known.

    Where all are alike, the deviation is their size, or 1.

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
class TopicRegressor(RegressorMixin, MergingTransformer):  # type: ignore[misc]
    """Targets are tasks; subclasses say what the topics are.

    Parameters
    ----------
    cost : float
        c, the weight of the loss. What counts is `cost` times `margin`, about how many words' worth of
        evidence the labels of a document are.
    margin : float
        ε, how far a prediction may be off at no loss, in standard deviations of the first y.
    weight_scale : float
        v, prior standard deviation of a weight, in the same unit.
    """

    cost: float = 16.0
    margin: float = 0.1
    weight_scale: float = 2.0

    _regression = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.regressor_tags.poor_score = True  # on data that are no counts, like every model of word counts
        return tags

    def _read(
        self, n: int, y: Any, classes: Any, before: Numbers | None, *, fit: bool
    ) -> tuple[Numbers, Labels]:
        return Numbers.of(*label_array(n, y), before, fit=fit)

    def partial_fit(
        self, X: Any, y: Any = None, topic_words: ArrayLike | None = None, workers: Executor = HERE
    ) -> Self:
        """Learn more documents, in their order, in mini-batches of `batch_size`; nothing is replaced.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
            Counts. More columns than before are new words.
        y : array of shape (n,) or (n, T), optional
            Targets; None or NaN where unknown. None: no target is known.
        topic_words : array of bool of shape (n_words,), optional
            Which columns topics are made of; by default all. Of columns known before it stays as it was.
        workers : Executor, optional
            As for `fit`; all is added when this returns.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, None, topic_words, workers)

    @property
    def units_(self) -> NDArray[np.float64]:
        """Of each target, (T,), what a weight of 1 is: the standard deviation of the first y."""
        units: NDArray[np.float64] = self._known().meaning.units
        return units

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
            Return their standard deviations too.
        prediction : {"mean", "gibbs"}
            Predict with the posterior mean of the weights, or with one draw from their posterior for the
            whole call.
        random_state : int, RandomState or Generator, optional
            Seed of that draw; by default the model's, and every call draws the same.

        Returns
        -------
        array of the shape of y, or two of them
        """
        learned, corpus = self._corpus(X)
        mean, variance = learned.knowledge.margins(corpus, prediction, random_state)
        meaning: Numbers = learned.meaning
        mean, std = meaning.numbers(mean), np.sqrt(variance) * meaning.units
        if meaning.flat:
            mean, std = mean[:, 0], std[:, 0]
        return (mean, std) if return_std else mean

    def explain(self, X: Any, target: int = 0, feature_names: ArrayLike | None = None) -> Explanation:
        """Say which topics and which words of a document carried a prediction.

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
            What the average document starts from, what topics of this one contribute above that, and what
            words add beside them sum to the prediction; so do base and words. All in the unit of y.
        """
        check_is_fitted(self)
        n_tasks = self._learned.meaning.n_tasks
        if not 0 <= target < n_tasks:
            raise ValueError(f"target is {target!r}; the model has {n_tasks} targets, from 0")

        def about(knows: Knowledge, margin: Floats) -> Subject:
            meaning: Numbers = knows.meaning
            name = "prediction" if meaning.flat else f"target {target}"
            centre = meaning.centre[target] if meaning.centre else 0.0
            return Subject(target, name, float(meaning.units[target]), centre)

        return self._explain(X, about, feature_names)

    # Files

    def _meaning_to_file(self, meaning: Numbers) -> dict[str, Any]:
        units = {"_centre": list(meaning.centre), "_unit": list(meaning.unit)}
        return {"_n_tasks": meaning.n_tasks, "_flat": meaning.flat, **units}

    def _meaning_from_file(self, learned: dict[str, Any]) -> Numbers:
        n_tasks, flat = learned.pop("_n_tasks"), learned.pop("_flat")
        if type(n_tasks) is not int or n_tasks < 1 or type(flat) is not bool:
            raise ValueError(f"there are {n_tasks!r} targets, flat is {flat!r}")
        centre, unit = learned.pop("_centre", []), learned.pop("_unit", [])  # up to version 2 there are none
        for name, values, low in (("_centre", centre, -LARGEST), ("_unit", unit, 0.0)):
            if not isinstance(values, list) or len(values) not in (0, n_tasks):
                raise ValueError(f"{name} must be {n_tasks} numbers")
            for value in values:
                require_number(name, value, low, LARGEST, open_=low == 0.0)
        if len(centre) != len(unit):
            raise ValueError("_centre and _unit must be as many")
        return Numbers(n_tasks, flat, tuple(centre), tuple(unit))
