"""Predictions for documents, with their true labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support, r2_score

from bayespa.inspect.calibration import Reliability, reliability
from bayespa.topics.documents import label_array

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """Predictions and true labels of n documents.

    Classes are numbers, the indices of `names`: first the model's classes, then those that only the data
    have.
    """

    kind: Literal["classes", "labels", "numbers"]
    names: tuple[str, ...]
    predicted: NDArray[Any]  # (n,) indices of names, (n, T) of 0 and 1, or (n, targets)
    probability: Floats | None  # (n, n_classes) or (n, T)
    confidence: Floats  # (n,), or -|error| of numbers; documents are ranked by it
    true: NDArray[Any]  # like `predicted`, if known
    known: NDArray[np.bool_]  # like `true`

    @classmethod
    def of(cls, model: Any, X: Any, y: Any = None, predicted: Any = None) -> Outcome:
        """Predict X, unless predictions are given; y may be None, or have None or NaN if unknown."""
        n = X.shape[0]
        y, known = label_array(n, y)
        if not is_classifier(model):
            return cls._of_numbers(model.predict(X) if predicted is None else predicted, y, known)
        said, probability, decision = _answers(model, X)
        predicted = said if predicted is None else np.asarray(predicted)
        if predicted.ndim == 2:
            return cls._of_labels(model, predicted, probability, y, known)
        place = {name: i for i, name in enumerate(model.classes_.tolist())}
        predicted = np.array([place[name] for name in predicted.tolist()])
        true = np.array(
            [
                place.setdefault(name, len(place)) if is_known else -1
                for name, is_known in zip(y.ravel().tolist(), known.ravel(), strict=True)
            ]
        )
        confidence = _margin(decision) if probability is None else probability.max(axis=1)
        names = tuple(str(name) for name in place)
        return cls("classes", names, predicted, probability, confidence, true, known.ravel())

    @classmethod
    def _of_labels(cls, model: Any, predicted: Any, probability: Any, y: Any, known: Any) -> Outcome:
        names = tuple(str(name) for name in model.classes_)
        if not known.any():
            y, known = np.zeros(predicted.shape), np.zeros(predicted.shape, bool)
        if y.shape != predicted.shape:
            raise ValueError(
                f"y has shape {y.shape}; the model has {len(names)} labels, so it must be {predicted.shape}"
            )
        confidence = np.where(predicted == 1, probability, 1.0 - probability).min(axis=1)
        true = np.where(known, y, 0).astype(np.int64)
        return cls("labels", names, predicted, probability, confidence, true, known)

    @classmethod
    def _of_numbers(cls, predicted: Any, y: Any, known: Any) -> Outcome:
        predicted = np.asarray(predicted, np.float64).reshape(len(y), -1)
        if not known.any():
            y, known = np.zeros(predicted.shape), np.zeros(predicted.shape, bool)
        true = np.where(known, y, 0.0).astype(np.float64).reshape(predicted.shape)
        known = known.reshape(predicted.shape)
        error = np.where(known, np.abs(true - predicted), 0.0).max(axis=1)
        names = tuple(f"target {i}" for i in range(predicted.shape[1]))
        return cls("numbers", names, predicted, None, -error, true, known)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which documents have fully known labels, (n,)."""
        whole: NDArray[np.bool_] = np.all(self.known.reshape(len(self.known), -1), axis=1)
        return whole

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which of the `labelled` documents are predicted right, (n,)."""
        same = self.predicted == self.true
        exact: NDArray[np.bool_] = same.reshape(len(same), -1).all(axis=1)
        return exact & self.labelled

    def scores(self) -> dict[str, float]:
        """Return the usual scores, the main one first; empty if nothing is labelled."""
        rows = self.labelled
        if not rows.any():
            return {}
        true, predicted = self.true[rows], self.predicted[rows]
        if self.kind == "numbers":
            error = float(np.abs(true - predicted).mean())
            r2 = {"R²": float(r2_score(true, predicted))} if len(true) > 1 else {}
            return {**r2, "mean absolute error": error}
        if self.kind == "labels":
            return {
                "micro F1": float(f1_score(true, predicted, average="micro", zero_division=0.0)),
                "macro F1": float(f1_score(true, predicted, average="macro", zero_division=0.0)),
                "exact matches": float(np.mean(self.right[rows])),
            }
        return {"accuracy": float(np.mean(self.right[rows]))}

    def calibration(self) -> Reliability | None:
        """Return the reliability of the probabilities; with several labels, of each label."""
        if self.probability is None or not self.known.any():
            return None
        if self.kind == "labels":
            p = self.probability[self.known]
            return reliability(self.true[self.known], np.column_stack([1.0 - p, p]), [0, 1])
        classes = np.arange(self.probability.shape[1])
        return reliability(self.true[self.known], self.probability[self.known], classes)

    def confusion(self) -> NDArray[np.int64]:
        """Return how many documents of each class (rows) were predicted as which, of `names`."""
        matrix: NDArray[np.int64] = confusion_matrix(
            self.true[self.known], self.predicted[self.known], labels=np.arange(len(self.names))
        )
        return matrix

    def by_label(self) -> list[tuple[str, float, float, float, int]]:
        """Return name, precision, recall, F1 and number of documents of each label."""
        rows = self.labelled
        columns = precision_recall_fscore_support(self.true[rows], self.predicted[rows], zero_division=0.0)
        return [
            (name, float(p), float(r), float(f), int(n))
            for name, p, r, f, n in zip(self.names, *columns, strict=True)
        ]

    def examples(self, n: int) -> dict[str, list[int]]:
        """Return up to n informative documents, each once, the most informative first, under headings."""
        order = np.argsort(-self.confidence, kind="stable")
        labelled, right = self.labelled[order], self.right[order]
        if self.kind == "numbers":
            groups = {"Nearest to the truth": order[labelled], "Farthest from it": order[labelled][::-1]}
            if not labelled.any():
                groups = {"The first": order}
        elif not labelled.any():
            groups = {"Surest": order, "Least sure": order[::-1]}
        else:
            groups = {
                "Surest, and right": order[right],
                "Surest, and wrong": order[labelled & ~right],
                "Least sure": order[::-1],
            }
        found: dict[str, list[int]] = {}
        shown: set[int] = set()
        for heading, rows in groups.items():
            left = -(-(n - len(shown)) // (len(groups) - len(found)))
            found[heading] = [i for i in rows.tolist() if i not in shown][:left]
            shown.update(found[heading])
        return {heading: rows for heading, rows in found.items() if rows}

    def named(self, value: Any) -> str:
        """Return one row of `predicted` or `true` as text."""
        if self.kind == "numbers":
            return ", ".join(f"{v:.3g}" for v in value)
        if self.kind == "labels":
            return ", ".join(self.names[j] for j in np.flatnonzero(value)) or "no label"
        return self.names[int(value)]


def _answers(model: Any, X: Any) -> tuple[Any, Floats | None, Floats]:
    """Return predictions, probabilities if any, and margins, from one inference if possible."""
    if hasattr(model, "_answers"):
        found: tuple[Any, Floats | None, Floats] = model._answers(X)
        return found
    if hasattr(model, "predict_proba"):
        return model.predict(X), model.predict_proba(X), np.empty((X.shape[0], 0))
    return model.predict(X), None, model.decision_function(X)


def _margin(decision: Floats) -> Floats:
    """Return the lead of the first class over the second."""
    if decision.ndim == 1 or decision.shape[1] == 1:
        return np.abs(decision).ravel()
    best = np.sort(decision, axis=1)
    lead: Floats = best[:, -1] - best[:, -2]
    return lead
