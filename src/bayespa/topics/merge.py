"""Merging two models that learned different documents."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Order = NDArray[np.int64]


def require_mergeable(mine: Any, theirs: Any) -> None:
    """Raise an error unless two estimators have the same parameters and words."""
    if type(mine) is not type(theirs):
        raise TypeError(f"cannot merge {type(mine).__name__} with {type(theirs).__name__}")
    theirs._require_fitted()
    here, there = mine._values(), theirs._values()
    for name in (n for kind in type(mine).__mro__ for n in vars(kind).get("_merged_alike", ())):
        a, b = here.get(name), there.get(name)
        if a != b:
            raise ValueError(f"{name} is {a!r} here and {b!r} there; only models with equal parameters merge")
    for a, b in zip(
        getattr(mine, "feature_names_in_", ()), getattr(theirs, "feature_names_in_", ()), strict=False
    ):
        if a != b:
            raise ValueError(f"a column is {a!r} here and {b!r} there; columns must be the same words")


def matching(mine: Floats, theirs: Floats, likely: float = 0.0) -> tuple[Order, Order]:
    """Pair the most similar topics, one to one: topics have no order.

    Similarity is Σ_w √(φ_w φ'_w), the Bhattacharyya coefficient.

    Parameters
    ----------
    mine, theirs : (K, W) and (K', W)
        Probabilities of words.
    likely : float
        Pairs with a lower similarity are left out.

    Returns
    -------
    Indices of mine, in ascending order, and of theirs: two arrays of equal length.

    Examples
    --------
    >>> matching(np.array([[0.8, 0.1, 0.1], [0, 0.5, 0.5]]), np.array([[0, 0.6, 0.4], [1, 0, 0]]))
    (array([0, 1]), array([1, 0]))
    """
    from scipy.optimize import linear_sum_assignment

    b = np.sqrt(theirs)
    likeness: Floats = np.array([(topic * b).sum(axis=1) for topic in np.sqrt(mine)]).reshape(len(mine), -1)
    rows, columns = linear_sum_assignment(-likeness)
    alike = likeness[rows, columns] >= likely
    return rows[alike].astype(np.int64), columns[alike].astype(np.int64)
