"""Joining two models that learned different documents."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.utils.validation import check_is_fitted

from bayespa.posteriors import Dirichlet, Gaussian, Joint
from bayespa.topics.model import Floats, MedLDA, OneVsRest

Order = NDArray[np.int64]


def require_mergeable(mine: Any, theirs: Any) -> None:
    """Raise an error unless two estimators describe the same model of the same words."""
    if type(mine) is not type(theirs):
        raise TypeError(f"cannot merge {type(mine).__name__} with {type(theirs).__name__}")
    check_is_fitted(theirs)
    for name in ("n_topics", "eta", "weight_scale", "bias_scale", "margin", "multi_class"):
        a, b = getattr(mine, name), getattr(theirs, name)
        if a != b:
            raise ValueError(f"{name} is {a!r} here and {b!r} there; only models with equal parameters merge")
    for a, b in zip(
        getattr(mine, "feature_names_in_", ()), getattr(theirs, "feature_names_in_", ()), strict=False
    ):
        if a != b:
            raise ValueError(
                f"a column is {a!r} here and {b!r} there; the columns must stand for the same words"
            )


def merged(model: MedLDA | OneVsRest, mine: Joint, theirs: Joint, ancestor: Joint | None = None) -> Joint:
    """Return mine + theirs - ancestor; if none is given, it is the prior, and topics are matched first."""
    if ancestor is not None:
        return mine.merge(theirs, ancestor)
    theirs = theirs.copy()
    for (_, a), (_, b) in zip(model.parts(mine), model.parts(theirs), strict=True):
        order = matching(a["topics"], b["topics"])
        b.parts["topics"] = Dirichlet(b["topics"].concentration[order])
        h, p = b["weights"].shift[:, order], b["weights"].precision[:, order][:, :, order]
        b.parts["weights"] = Gaussian(h, p)
    n_words = model.parts(mine)[0][1]["topics"].concentration.shape[1]
    return mine.merge(theirs, model.prior(n_words))


def matching(mine: Dirichlet, theirs: Dirichlet) -> Order:
    """Return which of their topics is most like each of mine, one to one: topics have no order of their own.

    Likeness is Σ_w √(φ_w φ'_w), the Bhattacharyya coefficient.

    Examples
    --------
    >>> matching(Dirichlet([[9, 1, 1], [1, 9, 9]]), Dirichlet([[1, 8, 7], [5, 1, 1]]))
    array([1, 0])
    """
    a, b = np.sqrt(mine.mean()), np.sqrt(theirs.mean())
    likeness: Floats = np.array([(topic * b).sum(axis=1) for topic in a])
    return np.asarray(linear_sum_assignment(-likeness)[1], np.int64)
