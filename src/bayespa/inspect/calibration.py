"""Calibration: how far predicted probabilities match frequencies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Reliability:
    """Predictions grouped by confidence, the probability of the predicted class.

    Attributes
    ----------
    confidence : ndarray of shape (n_bins,)
        Mean confidence of the predictions in each bin; NaN if a bin is empty.
    accuracy : ndarray of shape (n_bins,)
        Share of right predictions in each bin; NaN if a bin is empty.
    count : ndarray of shape (n_bins,)
        Number of predictions in each bin.
    """

    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    count: NDArray[np.int64]

    @property
    def error(self) -> float:
        """Expected calibration error: mean gap between confidence and accuracy, weighted by count."""
        full = self.count > 0
        gap = np.abs(self.confidence[full] - self.accuracy[full])
        return float(np.average(gap, weights=self.count[full]))


def reliability(y: ArrayLike, probability: ArrayLike, classes: ArrayLike, n_bins: int = 10) -> Reliability:
    """Compare the confidence of predictions with their accuracy.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True classes; at least one.
    probability : array-like of shape (n_samples, n_classes)
        The result of ``predict_proba``.
    classes : array-like of shape (n_classes,)
        The class of each column of `probability`, as in ``classes_``.
    n_bins : int, default=10
        Number of bins of equal width, from 0 to 1.

    Returns
    -------
    Reliability
        Confidence, accuracy and count of each bin.

    Examples
    --------
    Two predictions at 0.75, one of them right: too sure by a quarter.

    >>> from bayespa.inspect.calibration import reliability
    >>> reliability(["cat", "dog"], [[0.75, 0.25], [0.75, 0.25]], ["cat", "dog"]).error
    0.25
    """
    true, probability, classes = np.asarray(y), np.asarray(probability, dtype=np.float64), np.asarray(classes)
    if true.shape != probability.shape[:1] or probability.shape[1:] != classes.shape or not true.size:
        raise ValueError(
            f"y {true.shape}, probability {probability.shape} and classes {classes.shape} do not fit; "
            "expected shapes (n_samples,), (n_samples, n_classes) and (n_classes,) with n_samples > 0"
        )
    confidence = probability.max(axis=1)
    right = classes[probability.argmax(axis=1)] == true
    bins = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)  # confidence 1 is in the last bin
    count = np.bincount(bins, minlength=n_bins)
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN, for an empty bin
        return Reliability(
            confidence=np.bincount(bins, weights=confidence, minlength=n_bins) / count,
            accuracy=np.bincount(bins, weights=right, minlength=n_bins) / count,
            count=count,
        )
