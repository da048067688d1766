"""What progressive margins say about their meaning: log likelihoods for many meanings at once.

`bayespa.reference.evidence` is the readable twin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespa import _native

Floats = NDArray[np.float64]
POWERS = (1, 2, 4)
TOGETHER = 32  # likelihoods whose product a single logarithm takes: noise keeps it above 0


def of_classes(margin: Floats, right: NDArray[np.int64], temperatures: Floats, noises: Floats) -> Floats:
    """Return the log likelihood of the right one of T classes.

    Parameters
    ----------
    margin : (n, T)
        Margins in units of ε.
    right : (n,)
        The right classes.
    temperatures : (t,)
        At most 40.
    noises : (e,)
        At most 16. The first is 0, and the others are so large that their product over `TOGETHER` documents,
        divided by T, is above 0.

    Returns
    -------
    (3, t, e)
        For each of `POWERS`, each temperature and each noise.

    Examples
    --------
    Two equal margins say nothing:

    >>> of_classes(np.zeros((1, 2)), np.array([0]), np.ones(1), np.array([0.0, 0.5]))[0].round(3)
    array([[-0.693, -0.693]])
    """
    found = np.zeros((len(POWERS), len(temperatures), len(noises)))
    _native.evidence_of_classes(margin, right, temperatures, noises, found)
    return found


def of_answers(margin: Floats, sign: Floats, temperatures: Floats, noises: Floats) -> Floats:
    """Return the log likelihood of answers ±1 (n,) to a single question; all powers have the same.

    Here a power is only another temperature. Parameters and result are those of `of_classes`.
    """
    found = np.zeros((len(POWERS), len(temperatures), len(noises)))
    _native.evidence_of_answers(margin, sign, temperatures, noises, found)
    return found


def of_labels(margin: Floats, sign: Floats, temperatures: Floats) -> Floats:
    """Return the log likelihood (3, t) of labels ±1 (n,), each of them a question of its own.

    >>> of_labels(np.zeros(1), np.ones(1), np.ones(1)).round(3).ravel()
    array([-0.693, -1.386, -2.773])
    """
    found = np.zeros((len(POWERS), len(temperatures)))
    _native.evidence_of_labels(margin, sign, temperatures, found)
    return found
