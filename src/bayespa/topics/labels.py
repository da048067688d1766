"""What y means: classes or numbers become tasks, a matrix of ±1 or targets, NaN where unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from bayespa.checks import require_sound
from bayespa.classes import some, tasks_of
from bayespa.topics.calibration import Kind

Labels = NDArray[np.float32]
Continued = tuple[NDArray[np.int64], NDArray[np.float64]]  # task that each continues (-1: none), and its sign


def label_array(n: int, y: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the labels of n documents, 1-D or 2-D, and where they are known: neither None nor NaN.

    >>> y, known = label_array(3, ["a", None, "b"])
    >>> known.tolist()
    [True, False, True]
    """
    if y is None:
        y = np.full(n, np.nan)
    if sparse.issparse(y):
        require_sound("y", y)
        dense: Any = y
        y = dense.toarray()
    array = np.asarray(y) if hasattr(y, "dtype") or hasattr(y, "iloc") else np.array(y, dtype=object)
    if array.ndim not in (1, 2) or len(array) != n:
        raise ValueError(f"y has shape {array.shape}; {n} documents need ({n},) or ({n}, labels)")
    if array.dtype.kind == "O":
        # NaN, and pandas' NA, are the values that do not equal themselves.
        known = np.array(
            [v is not None and (v == v) is True for v in map(_scalar, array.ravel())], dtype=bool
        )
        return array, known.reshape(array.shape)
    return array, ~np.isnan(array) if array.dtype.kind == "f" else np.ones(array.shape, bool)


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Classes:
    """The classes of a classifier: a document has one of them or, if `indicator`, any number."""

    names: NDArray[Any]
    indicator: bool

    @classmethod
    def of(
        cls,
        y: NDArray[Any],
        known: NDArray[np.bool_],
        named: ArrayLike | None,
        before: Classes | None,
        *,
        fit: bool,
    ) -> Classes:
        """Return the classes after y: those named, else those before, else (in `fit`) those in y."""
        indicator = y.ndim == 2 and y.shape[1] > 1
        if before is not None and not known.any():
            indicator = before.indicator
        if before is not None and indicator != before.indicator:
            meaning = {True: "an indicator matrix of several labels", False: "one class a document"}
            raise ValueError(
                f"y is {meaning[indicator]}, but the model has learned {meaning[before.indicator]}"
            )
        if named is None and before is not None:
            return before
        if named is not None:
            names = np.asarray(named) if indicator else np.unique(np.asarray(named))
        elif indicator:
            names = np.arange(y.shape[1])
        elif fit:
            names = np.unique(_values(y, known))
        else:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if len(names) < 2:
            given = f"only one class, {names[0]!r}" if len(names) else "no class at all"
            raise ValueError(
                f"y has {given}; a classifier needs two: pass more data, or classes= to partial_fit"
            )
        if before is not None and np.array_equal(names, before.names):
            return before
        classes = cls(names, indicator)
        if before is not None:
            classes.require_continues(before)
        return classes

    def joined(self, other: Classes) -> Classes:
        """Return the classes of two models together; labels must have the same columns."""
        if self.indicator != other.indicator:
            raise ValueError(
                "one model has learned an indicator matrix of several labels, the other one class a document"
            )
        if not self.indicator:
            return Classes(np.union1d(self.names, other.names), indicator=False)
        longer, shorter = (self, other) if len(self.names) >= len(other.names) else (other, self)
        longer.require_continues(shorter)
        return longer

    @property
    def n_tasks(self) -> int:
        """One task for two classes, which stands for the second; else one for each."""
        return 1 if len(self.names) == 2 and not self.indicator else len(self.names)

    @property
    def task_names(self) -> list[str]:
        """What a positive margin of each task speaks for."""
        return [str(name) for name in (self.names[1:] if self.n_tasks == 1 else self.names)]

    @property
    def kind(self) -> Kind:
        """What their probabilities are."""
        return "labels" if self.indicator else "exclusive" if self.n_tasks > 1 else "binary"

    def require_continues(self, before: Classes) -> None:
        """Raise a ValueError unless all classes of `before` are here, labels in the same columns."""
        kept = self.names[: len(before.names)] if self.indicator else self.names
        lost = np.setdiff1d(before.names, kept)
        if len(lost) or (self.indicator and np.any(kept != before.names)):
            raise ValueError(
                f"classes is {some(self.names)}, but the model knows {some(before.names)}; name all "
                f"classes, old and new{', the new ones behind' if self.indicator else ''}"
            )

    def tasks_before(self, before: Classes) -> Continued:
        """Return, for each task, the task of `before` that it continues (-1: none) and with which sign."""
        if not self.indicator:
            return tasks_of(self.names, before.names)
        place = np.arange(self.n_tasks)
        return np.where(place < before.n_tasks, place, -1), np.ones(self.n_tasks)

    def encode(self, y: NDArray[Any], known: NDArray[np.bool_]) -> Labels:
        """Return ±1 for each document and task, NaN where y is unknown.

        >>> y, known = label_array(3, ["a", None, "c"])
        >>> Classes(np.array(["a", "b", "c"]), indicator=False).encode(y, known)
        array([[ 1., -1., -1.],
               [nan, nan, nan],
               [-1., -1.,  1.]], dtype=float32)
        """
        return self._encode_indicator(y, known) if self.indicator else self._encode_classes(y, known)

    def _encode_classes(self, y: NDArray[Any], known: NDArray[np.bool_]) -> Labels:
        labels = np.full((len(y), self.n_tasks), np.nan, np.float32)
        if not known.any():
            return labels
        values, known = _values(y, known), known.ravel()
        place = np.minimum(np.searchsorted(self.names, values), len(self.names) - 1)
        unknown = self.names[place] != values
        if np.any(unknown):
            i = int(np.argmax(unknown))
            raise ValueError(
                f"y[{np.flatnonzero(known)[i]}] is {values[i]!r}, a class the model does not know (it knows "
                f"{some(self.names)}); name all classes, this one too, in partial_fit(..., classes=...)"
            )
        tasks = np.arange(self.n_tasks) if self.n_tasks > 1 else np.ones(1, np.int64)
        labels[known] = np.where(place[:, None] == tasks, 1.0, -1.0)
        return labels

    def _encode_indicator(self, y: NDArray[Any], known: NDArray[np.bool_]) -> Labels:
        if not known.any():
            return np.full((len(y), self.n_tasks), np.nan, np.float32)
        if y.shape[1] != self.n_tasks:
            raise ValueError(
                f"y has {y.shape[1]} columns, but the model has {self.n_tasks} labels; name them all in "
                "partial_fit(..., classes=...), the new ones behind"
            )
        numbers = np.where(known, y, 0)
        strange = known & (numbers != 0) & (numbers != 1)
        if strange.any():
            i, j = np.argwhere(strange)[0]
            raise ValueError(
                f"y[{i}, {j}] is {y[i, j]!r}; a y of two dimensions says which labels a document has: 0 "
                "or 1, NaN if unknown"
            )
        return np.where(known, 2.0 * numbers.astype(np.float32) - 1.0, np.nan).astype(np.float32)


def _values(y: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the known classes of a 1-D y, in their natural type."""
    values: NDArray[Any] = column_or_1d(y, warn=True)[known.ravel()]
    if values.dtype.kind == "O" and len(values):
        values = np.array(values.tolist())
    if len(values):
        check_classification_targets(values)
    return values


@dataclass(frozen=True)
class Numbers:
    """The targets of a regressor: a task each. Without labels there is none."""

    n_tasks: int
    flat: bool = False  # whether there is one target, without an axis for it

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
        targets = real_tasks(y, known)
        if before is not None and not known.any():
            return before, np.full((len(y), before.n_tasks), np.nan, np.float32)
        if before is not None and targets.shape[1] != before.n_tasks:
            raise ValueError(
                f"y has {targets.shape[1]} targets a document, but the model has learned {before.n_tasks}"
            )
        found = cls(targets.shape[1], y.ndim == 1)
        return before if found == before else found, targets

    def joined(self, other: Numbers) -> Numbers:
        """Return the targets of two models, which must be as many."""
        if other.n_tasks != self.n_tasks:
            raise ValueError(f"this model has {self.n_tasks} targets and the other {other.n_tasks}")
        return self

    def tasks_before(self, before: Numbers) -> Continued:
        """Return that every task continues the same one."""
        return np.arange(self.n_tasks), np.ones(self.n_tasks)


def real_tasks(y: NDArray[Any], known: NDArray[np.bool_]) -> Labels:
    """Return targets (n, T), NaN where unknown.

    >>> real_tasks(np.array([1.5, np.nan]), np.array([True, False]))
    array([[1.5],
           [nan]], dtype=float32)
    """
    if y.dtype.kind not in "biufO":
        raise ValueError(f"y holds {y.dtype}; a regressor needs numbers")
    targets = np.full(y.shape, np.nan, np.float32)
    with np.errstate(over="ignore"):  # what is too large is infinite, and named
        targets[known] = y[known].astype(np.float32)
    if not np.isfinite(targets[known]).all():
        where = np.argwhere(known & ~np.isfinite(targets))[0].tolist()
        raise ValueError(
            f"Input y contains infinity or a value too large for float32: y{where} is {y[tuple(where)]!r}"
        )
    return targets.reshape(len(y), -1)
