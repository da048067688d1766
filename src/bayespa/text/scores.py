"""How good predictions are, counted as they are made: memory does not grow with their number."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from bayespa.checks import require_choice, require_number
from bayespa.corpus.documents import Label, Target

MAIN: dict[Target, str] = {"class": "accuracy", "classes": "micro F1", "number": "R2"}  # of the measures


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
        self._hits: Counter[str] = Counter()  # of each class: documents that have it and were given it,
        self._true: Counter[str] = Counter()  # that have it,
        self._given: Counter[str] = Counter()  # that were given it
        self._sums = np.zeros(4)  # of |error|, error², y, y²

    def copy(self) -> Scores:
        """Return scores of their own."""
        return Scores.from_state(self.to_state())

    def add(self, labels: Sequence[Label], predicted: Sequence[Label]) -> None:
        """Count predictions of documents; those without a label do not count."""
        for label, guess in zip(labels, predicted, strict=True):
            if label is None:
                continue
            self.n += 1
            if self.target == "number":
                y, error = float(label), float(guess) - float(label)  # type: ignore[arg-type]
                self._sums += abs(error), error * error, y, y * y
            else:
                true, given = set(_names(label)), set(_names(guess))
                self._exact += true == given
                self._true.update(sorted(true))
                self._given.update(sorted(given))
                self._hits.update(sorted(true & given))  # in an order that does not hang on hashes

    def summary(self) -> dict[str, float]:
        """Return the measures that fit the target, by name; none if nothing was counted."""
        if not self.n:
            return {}
        if self.target == "number":
            absolute, square, total, total_square = (float(s) for s in self._sums)
            spread = total_square - total * total / self.n
            r2 = {"R2": 1.0 - square / spread} if spread > 0.0 else {}
            return {"MAE": absolute / self.n, "RMSE": math.sqrt(square / self.n), **r2}
        classes = self._true | self._given
        f1 = [_f1(self._hits[c], self._true[c], self._given[c]) for c in classes]
        macro = sum(f1) / max(1, len(f1))
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
        """Make the scores that `to_state` described."""
        require_choice("target", state["target"], get_args(Target))
        counts = [state[name] for name in ("hits", "true", "given")]
        if not all(isinstance(count, dict) for count in counts):
            raise ValueError("the state of Scores must hold counts of classes")
        for n in (state["n"], state["exact"], *(n for count in counts for n in count.values())):
            require_number("a count of Scores", n, 0, 2**53, whole=True)
        if not isinstance(state["sums"], list) or len(state["sums"]) != 4:
            raise ValueError("the state of Scores must hold four sums")
        for total in state["sums"]:
            require_number("a sum of Scores", total, -np.inf, infinite=True)
        scores = cls(state["target"])
        scores.n, scores._exact, scores._sums = state["n"], state["exact"], np.array(state["sums"])
        scores._hits, scores._true, scores._given = map(Counter, counts)
        return scores


def _names(label: Label) -> tuple[str, ...]:
    return label if isinstance(label, tuple) else (str(label),)


def _f1(hits: int, true: int, given: int) -> float:
    return 2.0 * hits / (true + given) if true + given else 0.0
