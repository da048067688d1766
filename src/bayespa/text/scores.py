"""Scores of predictions, counted as they are made, in constant memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from bayespa.checks import require_choice, require_number
from bayespa.corpus.documents import Label, Target
from bayespa.native.elementary import log

MAIN: dict[Target, str] = {"class": "accuracy", "classes": "micro F1", "number": "R2"}  # the main score


class Scores:
    """Counts of right and wrong predictions of classes, or sums of errors of numbers.

    Parameters
    ----------
    target : {"class", "classes", "number"}
        What labels are: one class, any number of classes, or a number.

    Examples
    --------
    >>> scores = Scores("class")
    >>> scores.add(["a", "b", "b", None], ["a", "b", "a", "a"])
    >>> scores.n, round(scores.summary()["accuracy"], 3)
    (3, 0.667)
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.n = 0
        self._exact = 0
        self._hits: Counter[str] = Counter()  # of each class: documents that have it and were predicted so,
        self._true: Counter[str] = Counter()  # documents that have it,
        self._given: Counter[str] = Counter()  # documents that were predicted so
        self._sums = np.zeros(4)  # of |error|, error², y, y²

    def add(self, labels: Sequence[Label], predicted: Sequence[Label]) -> None:
        """Count predictions; documents without a label do not count."""
        pairs = [pair for pair in zip(labels, predicted, strict=True) if pair[0] is not None]
        self.n += len(pairs)
        if self.target == "number":
            for label, guess in pairs:
                y, error = float(label), float(guess) - float(label)  # type: ignore[arg-type]
                self._sums += abs(error), error * error, y, y * y
            return
        if self.target == "class":
            true, given = ([str(pair[i]) for pair in pairs] for i in (0, 1))
            hits = [name for name, guess in zip(true, given, strict=True) if name == guess]
            self._exact += len(hits)
            for counts, names in zip(self._counts, (hits, true, given), strict=True):
                counts.update(names)
            return
        for (label, guess), n in Counter(pairs).items():
            self._count(set(_names(label)), set(_names(guess)), n)

    def _count(self, true: set[str], given: set[str], n: int) -> None:
        """Count n documents with the same classes and the same predictions."""
        self._exact += n if true == given else 0
        for counts, names in ((self._true, true), (self._given, given), (self._hits, true & given)):
            for name in sorted(names):  # so that the order does not depend on hashes
                counts[name] += n

    def __add__(self, other: Scores) -> Scores:
        """Return the scores of both sets of predictions."""
        both = Scores(self.target)
        both.n, both._exact, both._sums = (
            self.n + other.n,
            self._exact + other._exact,
            self._sums + other._sums,
        )
        for total, mine, others in zip(both._counts, self._counts, other._counts, strict=True):
            total.update(mine)
            total.update(others)
        return both

    @property
    def _counts(self) -> tuple[Counter[str], ...]:
        return self._hits, self._true, self._given

    def summary(self) -> dict[str, float]:
        """Return the scores for the target, by name; none if nothing was counted."""
        if not self.n:
            return {}
        if self.target == "number":
            absolute, square, total, total_square = (float(s) for s in self._sums)
            spread = total_square - total * total / self.n
            r2 = {"R2": 1.0 - square / spread} if spread > 0.0 else {}
            return {"MAE": absolute / self.n, "RMSE": math.sqrt(square / self.n), **r2}
        classes = self._true | self._given
        f1 = [_f1(self._hits[c], self._true[c], self._given[c]) for c in classes]
        macro = math.fsum(f1) / max(1, len(f1))
        if self.target == "class":
            return {"accuracy": self._exact / self.n, "macro F1": macro}
        micro = _f1(self._hits.total(), self._true.total(), self._given.total())
        return {"micro F1": micro, "macro F1": macro, "exact matches": self._exact / self.n}

    def by_class(self) -> dict[str, dict[str, float]]:
        """Return precision, recall and F1 of every class, and how many documents have it."""
        return {
            c: {
                "precision": self._hits[c] / max(1, self._given[c]),
                "recall": self._hits[c] / max(1, self._true[c]),
                "F1": _f1(self._hits[c], self._true[c], self._given[c]),
                "documents": self._true[c],
            }
            for c in sorted(self._true | self._given)
        }

    def to_state(self) -> dict[str, Any]:
        """Return plain data for `from_state`."""
        counts = {"hits": dict(self._hits), "true": dict(self._true), "given": dict(self._given)}
        return {
            "target": self.target,
            "n": self.n,
            "exact": self._exact,
            "sums": self._sums.tolist(),
            **counts,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Scores:
        """Restore the scores that `to_state` described."""
        require_choice("target", state["target"], get_args(Target))
        counts = [state[name] for name in ("hits", "true", "given")]
        if not all(isinstance(count, dict) for count in counts):
            raise ValueError("the state of Scores must have counts of classes")
        for n in (state["n"], state["exact"], *(n for count in counts for n in count.values())):
            require_number("a count of Scores", n, 0, 2**53, whole=True)
        if not isinstance(state["sums"], list) or len(state["sums"]) != 4:
            raise ValueError("the state of Scores must have four sums")
        for total in state["sums"]:
            require_number("a sum of Scores", total, -np.inf, infinite=True)
        scores = cls(state["target"])
        scores.n, scores._exact, scores._sums = state["n"], state["exact"], np.array(state["sums"])
        scores._hits, scores._true, scores._given = map(Counter, counts)
        return scores


class ProbabilityScores:
    """Scores of the probabilities of classes: log loss, calibration error and top-k accuracy.

    Log loss is the mean of -log p of the right class; with several classes per document, the mean over all
    classes' yes or no. The expected calibration error (ECE) compares probability and accuracy in ten bins: of
    the most probable class or, with several, of each class. A class that the model does not know counts as
    wrong, and has no log loss.

    Parameters
    ----------
    target : {"class", "classes"}
    names : sequence of n_classes str
        The classes of the columns of probabilities.

    Attributes
    ----------
    unknown : Counter
        Labels that are not among the classes.

    Examples
    --------
    >>> scores = ProbabilityScores("class", ["a", "b"])
    >>> scores.add(["a", "b", "c", None], np.array([[0.8, 0.2], [0.8, 0.2], [0.6, 0.4], [0.5, 0.5]]))
    >>> scores.summary()["ECE"], dict(scores.unknown)
    (0.4, {'c': 1})
    """

    TOP = (3, 5)
    BINS = 10

    def __init__(self, target: Target, names: Sequence[str]) -> None:
        self.target = target
        self.unknown: Counter[str] = Counter()
        self.n = 0  # documents with a label
        self.n_unknown = 0  # with an unknown label
        self._column = {name: column for column, name in enumerate(names)}
        self._losses = 0  # number of terms of the sum:
        self._loss = 0.0
        self._bins = np.zeros((3, self.BINS))  # predictions, sum of their probabilities, right ones
        self._top = dict.fromkeys((k for k in self.TOP if k < len(names)), 0)

    def add(self, labels: Sequence[Label], probabilities: NDArray[np.float64]) -> None:
        """Count documents and the probabilities of their classes, (n, n_classes)."""
        labelled = [row for row, label in enumerate(labels) if label is not None]
        probabilities = probabilities[labelled]
        self.n += len(labelled)
        true = np.zeros(probabilities.shape, np.bool_)
        for row, label in enumerate(labels[i] for i in labelled):
            new = [name for name in _names(label) if name not in self._column]
            self.unknown.update(new)
            self.n_unknown += bool(new)
            true[row, [self._column[name] for name in _names(label) if name in self._column]] = True
        if self.target == "classes":
            self._lose(np.where(true, probabilities, 1.0 - probabilities))
            self._bin(probabilities.ravel(), true.ravel())
            return
        known, rows = true.any(axis=1), np.arange(len(true))
        right = np.where(known, probabilities[rows, true.argmax(axis=1)], -np.inf)
        self._lose(right[known, None])
        best = probabilities.argmax(axis=1)
        self._bin(probabilities[rows, best], true[rows, best])
        rank = (probabilities > right[:, None]).sum(axis=1)
        for k in self._top:
            self._top[k] += int((rank < k).sum())

    def _lose(self, right: NDArray[np.float64]) -> None:
        """Count the probabilities of what is right, (n, terms of a document)."""
        self._losses += right.size
        for loss in log(np.maximum(right, 1e-15)).sum(axis=1).tolist():
            self._loss -= loss  # one by one, so that the sum does not depend on mini-batches

    def _bin(self, probability: NDArray[np.float64], right: NDArray[np.bool_]) -> None:
        place = np.minimum((probability * self.BINS).astype(np.int64), self.BINS - 1)
        for row, values in zip(self._bins, (np.ones(len(place)), probability, right), strict=True):
            np.add.at(row, place, values)

    def summary(self) -> dict[str, float]:
        """Return the scores by name; none if nothing was counted."""
        if not self.n:
            return {}
        n, sure, right = self._bins
        top = {f"top {k} accuracy": hits / self.n for k, hits in self._top.items()}
        loss = {"log loss": self._loss / self._losses} if self._losses else {}
        error = float(np.abs(sure - right).sum() / n.sum())
        return {**(top if self.target == "class" else {}), **loss, "ECE": round(error, 12)}


def _names(label: Label) -> tuple[str, ...]:
    return label if isinstance(label, tuple) else (str(label),)


def _f1(hits: int, true: int, given: int) -> float:
    return 2.0 * hits / (true + given) if true + given else 0.0
