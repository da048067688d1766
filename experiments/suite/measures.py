"""How good predictions are, and whether they know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score, r2_score, roc_auc_score

from bayespa.inspect.calibration import reliability

Floats = NDArray[np.float64]
LEAST = 1e-6  # the least probability that counts: else one class that was never seen decides a log loss


@dataclass(frozen=True)
class Said:
    """What a learner says of n documents."""

    y: NDArray[Any]  # (n,) classes or numbers, or (n, T) 0/1
    probability: Floats | None = None  # (n, T)
    confidence: Floats | None = None  # (n,), of any unit: where it has no probabilities


def calibration_error(y: Any, probability: Any, n_bins: int = 15) -> float:
    """Return the expected calibration error: of the most probable class, or of every label of a document."""
    if y.ndim == 1:
        return reliability(y, probability, np.arange(probability.shape[1]), n_bins).error
    return reliability(y.ravel(), probability.reshape(-1, 1), [1], n_bins).error


def log_loss(y: NDArray[Any], probability: Floats) -> float:
    """Return the mean of -log p of the class, or of each yes or no of a label."""
    p = probability[np.arange(len(y)), y] if y.ndim == 1 else np.where(y == 1, probability, 1.0 - probability)
    return float(-np.log(np.clip(p, LEAST, 1.0)).mean())


def knows(right: NDArray[np.bool_], confidence: Floats) -> float | None:
    """Return the AUROC of telling right from wrong by confidence; None where all is right, or wrong."""
    return float(roc_auc_score(right, confidence)) if 0 < right.sum() < len(right) else None


def measured(y: NDArray[Any], said: Said) -> dict[str, float | None]:
    """Return all measures that fit what labels are and what the learner says.

    `accuracy` is micro-averaged F1 where a document has several labels, and R² of numbers. A document of
    several labels is right if all are, and as sure as all that is said of them together.
    """
    if y.dtype.kind == "f":
        return {"accuracy": float(r2_score(y, said.y))}
    several = y.ndim == 2
    right = (y == said.y).all(axis=1) if several else y == said.y
    confidence = said.confidence
    score = f1_score(y, said.y, average="micro", zero_division=0) if several else accuracy_score(y, said.y)
    found: dict[str, float | None] = {
        "accuracy": float(score),
        "macro": float(f1_score(y, said.y, average="macro", zero_division=0)),
    }
    if said.probability is not None:
        p = said.probability
        found |= {"log loss": log_loss(y, p), "ece": calibration_error(y, p)}
        confidence = p.max(axis=1)
        if several:
            confidence = np.log(np.where(said.y == 1, p, 1.0 - p).clip(LEAST)).sum(axis=1)
    if confidence is not None:
        found["auroc"] = knows(right, confidence)
    return found
