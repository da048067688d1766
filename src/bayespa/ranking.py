"""The largest of many values, with ties broken by index, so that the result is the same on every machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def largest(values: NDArray[np.floating], n: int) -> NDArray[np.int64]:
    """Return the indices of the n largest values, the largest first; of equal values the first one first.

    `np.argpartition` breaks ties differently on different processors. The value of the n-th largest is the
    same everywhere.

    >>> largest(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    n = min(n, len(values))
    if not n:
        return np.empty(0, np.int64)
    least = np.partition(values, len(values) - n)[-n]
    near = np.flatnonzero(values >= least)
    order: NDArray[np.int64] = near[np.lexsort((near, -values[near]))][:n]
    return order
