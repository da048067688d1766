"""Words that distinguish a topic: the relevance of C. Sievert and K. Shirley, LDAvis, 2014."""

from __future__ import annotations

import numpy as np

from bayespa.native.elementary import log
from bayespa.topics.part import Floats

CONTRAST = 0.6  # λ with which readers named topics best, in their study


def relevance(probability: Floats, size: Floats, weight: float) -> Floats:
    """Return λ log p(w|k) + (1 - λ) log p(w|k) / p(w), (K, W).

    Parameters
    ----------
    probability : (K, W)
        p(w|k).
    size : (K,)
        Sizes of the topics in words; p(w) is the mean of p(w|k) weighted by it.
    weight : float
        λ, from 1 (probable words) to 0 (words that no other topic has).

    Examples
    --------
    The first word is everywhere:

    >>> probability = np.array([[0.6, 0.4, 0.0625], [0.6, 0.0625, 0.4]])
    >>> relevance(probability, np.ones(2), 0.6).argmax(axis=1)
    array([0, 0])
    >>> relevance(probability, np.ones(2), 0.4).argmax(axis=1)
    array([1, 2])
    """
    share = size / max(float(size.sum()), np.finfo(float).tiny)
    overall = (share[:, None] * probability).sum(axis=0)
    found: Floats = log(probability) - (1.0 - weight) * log(np.maximum(overall, np.finfo(float).tiny))
    return found
