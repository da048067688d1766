"""Probabilities of labels: a softmax of margins whose temperature is learned from progressive predictions.

A max-margin loss says nothing about probabilities. But an online learner meets every document before its
label, and how the margins it would have predicted compare with the labels it then sees is honest evidence, of
which a temperature needs little. Its posterior over a few values is another sum of statistics: replayed,
forgotten and merged like the rest.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bayespa.elementary import exp, log
from bayespa.posteriors import Categorical

Floats = NDArray[np.float64]
Calibration = (
    Literal["exclusive", "independent"] | None
)  # one label of many, each a question of its own, or neither

TEMPERATURES: Floats = 2.0 ** np.arange(-6.0, 2.25, 0.25)  # in units of the margin ε


def evidence(margin: Floats, labels: NDArray[np.float32], *, exclusive: bool) -> Floats:
    """Return the log likelihood of labels at each temperature.

    Parameters
    ----------
    margin : (n, T)
        Predictions in units of ε, made before the labels were learned.
    labels : (n, T)
        ±1, NaN where missing; if some of a document's exclusive labels are missing, none counts.
    exclusive : bool
        Whether a document has one of the T labels, or each label is a question of its own.

    Examples
    --------
    A sure and wrong prediction speaks for high temperatures:

    >>> found = evidence(np.array([[1.0]]), np.array([[-1]], np.float32), exclusive=False)
    >>> int(found.argmax()) == len(TEMPERATURES) - 1
    True
    """
    if exclusive:
        known = ~np.isnan(labels).any(axis=1)
        margin, winner = margin[known], labels[known].argmax(axis=1)
        rest = margin - margin[np.arange(len(winner)), winner, None]
    else:
        known = ~np.isnan(labels)
        loser = -2.0 * labels[known].astype(np.float64) * margin[known]
        rest = np.stack([np.zeros_like(loser), loser], axis=1)
    top = rest.max(axis=1, keepdims=True, initial=0.0)
    t = TEMPERATURES[:, None]
    found: Floats = -(top[:, 0] / t + log(exp((rest - top) / t[:, :, None]).sum(axis=2))).sum(axis=1)
    return found


# As if one document had been wrong by a whole margin: few documents without a mistake prove little.
ONE_MISTAKE = evidence(np.ones((1, 1)), np.full((1, 1), -1, np.float32), exclusive=False)
ONE_MISTAKE.flags.writeable = False  # every prior has this array


def uncalibrated(calibration: Calibration) -> dict[str, Categorical]:
    """Return the prior of the temperature, as a part of a joint posterior: nothing if there is none."""
    return {} if calibration is None else {"temperature": Categorical(ONE_MISTAKE)}


def calibrated(
    calibration: Calibration, margin: Floats, labels: NDArray[np.float32], enough: int = 32
) -> dict[str, Categorical]:
    """Return what progressive predictions say of the temperature, likewise.

    `enough` documents of a mini-batch are evidence, or an eighth of them if that is more: they cost time.
    """
    if calibration is None:
        return {}
    n = min(len(margin), max(enough, len(margin) // 8))
    found = evidence(margin[:n], labels[:n], exclusive=calibration == "exclusive")
    return {"temperature": Categorical(found)}


def temperature(posterior: Categorical) -> float:
    """Return the temperature, in units of ε: the mean of its logarithm, brought back."""
    return float(exp(posterior.mean(log(TEMPERATURES)))[0])


def probabilities(margin: Floats, temperature: float, *, exclusive: bool) -> Floats:
    """Return the probability of each label (n, T) given margins in units of ε.

    >>> probabilities(np.array([[0.0, 0.0]]), 1.0, exclusive=True)
    array([[0.5, 0.5]])
    """
    if exclusive:
        weights = exp((margin - margin.max(axis=1, keepdims=True)) / temperature)
        shares: Floats = weights / weights.sum(axis=1, keepdims=True)
        return shares
    small = exp(-2.0 * np.abs(margin) / temperature)
    return np.where(margin > 0.0, 1.0, small) / (1.0 + small)
