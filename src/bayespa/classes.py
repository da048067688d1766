"""Classes and their tasks, for all classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def some(values: NDArray[Any], most: int = 6) -> str:
    """Return the first few values, for an error message."""
    shown = ", ".join(repr(v) for v in values[:most].tolist())
    return shown if len(values) <= most else f"{shown}, ..."


def require_classes(names: Any, *, ordered: bool = True) -> None:
    """Raise a ValueError unless `names`, read from a file, are two or more different classes."""
    if not isinstance(names, np.ndarray) or names.ndim != 1 or names.dtype.kind not in "biufUO":
        raise ValueError(f"classes_ is {type(names).__name__}, not an array of classes")
    if len(names) < 2:
        raise ValueError(f"there are {len(names)} classes; a classifier has two or more")
    if len(set(names.tolist())) != len(names) or (ordered and not (names[:-1] < names[1:]).all()):
        raise ValueError(f"classes_ is {some(names)}; classes must be different and sorted")


def tasks_of(classes: NDArray[Any], before: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return, for each task of `classes`, the task before that it continues (-1: new), and with which sign.

    Two classes share one task, whose positive side is the second. If a third class comes, the first continues
    that task with sign -1.

    >>> tasks_of(np.array(["a", "b", "c"]), before=np.array(["a", "c"]))
    (array([ 0, -1,  0]), array([-1.,  1.,  1.]))
    """
    if len(classes) == 2:
        return np.array([0 if len(before) == 2 else -1]), np.ones(1)
    sign = np.ones(len(classes))
    old = np.searchsorted(before, classes).clip(max=len(before) - 1)
    source = np.where(before[old] == classes, old, -1)
    if len(before) == 2:
        sign[source == 0] = -1.0
        source[source == 1] = 0
    return source, sign
