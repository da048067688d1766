"""What progressive margins say about their meaning, in NumPy: the twin of `bayespa.native.evidence`.

Sums over documents are made in their order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespa.native.evidence import POWERS, TOGETHER
from bayespa.reference.elementary import exp64, log64

Floats = NDArray[np.float64]


def of_classes(margin: Floats, right: NDArray[np.int64], temperatures: Floats, noises: Floats) -> Floats:
    """Return the log likelihood of the right one of T classes."""
    n_classes, factor = margin.shape[1], 2.0 / temperatures
    said = []
    for margins, y in zip(margin, right, strict=True):
        top = margins.max() * factor
        lift = np.maximum(-30.0 - top, 0.0)  # far below 0 a sigmoid is exp: lifting all changes no share
        top = np.maximum(top, -30.0)
        own = log_sigmoid(margins[y] * factor + lift) - log_sigmoid(top)
        x = np.minimum(-margins * factor[:, None] - lift[:, None], 700.0)
        sigmoid = (1.0 + exp64(-top))[:, None] / (1.0 + exp64(x))
        found = []
        for power in POWERS:
            if power > 1:  # each is twice the one before
                sigmoid = sigmoid * sigmoid
            found.append(power * own - log64(np.cumsum(sigmoid, axis=1)[:, -1]))  # in order
        said.append(found)
    return _noisy(said, temperatures, noises, n_classes)


def of_answers(margin: Floats, sign: Floats, temperatures: Floats, noises: Floats) -> Floats:
    """Return the log likelihood of answers to a single question; powers are alike."""
    said = [[log_sigmoid(y * (m * (2.0 / temperatures)))] * 3 for m, y in zip(margin, sign, strict=True)]
    return _noisy(said, temperatures, noises, 2)


def of_labels(margin: Floats, sign: Floats, temperatures: Floats) -> Floats:
    """Return the log likelihood of labels, each a question of its own."""
    found = np.zeros((len(POWERS), len(temperatures)))
    for m, y in zip(margin, sign, strict=True):
        x = m * (2.0 / temperatures)
        less = exp64(-np.abs(x))
        yes = np.minimum(x, 0.0) - log64(1.0 + less)
        no, sigmoid = yes - x, np.where(x > 0.0, 1.0, less) / (1.0 + less)
        for total, power in zip(found, POWERS, strict=True):
            if power > 1:  # 1 - σ^2g = (1 - σ^g)(1 + σ^g)
                no = no + log64(1.0 + sigmoid)
                sigmoid = sigmoid * sigmoid
            total += power * yes if y > 0.0 else no
    return found


def _noisy(said: list[list[Floats]], temperatures: Floats, noises: Floats, n_classes: int) -> Floats:
    """Sum the log likelihoods of documents, each (powers, temperatures), with each noise."""
    found = np.zeros((len(POWERS), len(temperatures), len(noises)))
    kept, shared = (1.0 - noises[1:])[None, None], (noises[1:] / n_classes)[None, None]
    for begin in range(0, len(said), TOGETHER):
        product = np.ones_like(found[:, :, 1:])
        for one in said[begin : begin + TOGETHER]:
            found[:, :, 0] += one
            product = product * (kept * exp64(np.array(one))[:, :, None] + shared)
        found[:, :, 1:] += log64(product)
    return found


def log_sigmoid(x: Floats) -> Floats:
    """Return log σ(x)."""
    logarithm: Floats = np.minimum(x, 0.0) - log64(1.0 + exp64(-np.abs(x)))
    return logarithm
