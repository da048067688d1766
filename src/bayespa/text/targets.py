"""What labels of texts are (a class, several classes or a number), for users and for estimators."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.corpus import ClassNames, Label, Target
from bayespa.corpus.documents import Fields

_FIELDS = Fields()
_AS_READ = {"class": str, "classes": tuple, "number": float}
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?", re.ASCII)
MEANING = {
    "class": "the name of one class",
    "classes": "lists of classes",
    "number": "numbers",
    None: "of another kind",
}


def names_of(label: Any) -> tuple[str, ...]:
    """Return the classes of a label."""
    return tuple(label) if isinstance(label, tuple | list | set | frozenset) else (str(label),)


def several(decision: NDArray[np.float64], names: list[str], none_allowed: bool) -> list[Label]:
    """Return the classes with a positive margin (n, T), or the best one if there must be one."""
    chosen = decision > 0.0
    if not none_allowed:
        chosen[np.arange(len(chosen)), decision.argmax(axis=1)] = True
    found = [names[column] for column in np.nonzero(chosen)[1].tolist()]
    edges = [0, *np.cumsum(chosen.sum(axis=1)).tolist()]
    return [tuple(found[begin:end]) for begin, end in pairwise(edges)]


def plain_label(value: Any) -> Label | int:
    """Return a label in the form that it would have in a file; integers stay as they are.

    >>> [plain_label(value) for value in (["a", "b"], {"b", "a"}, np.int64(3), 0.5, float("nan"), "")]
    [('a', 'b'), ('a', 'b'), 3, 0.5, None, None]
    """
    if type(value) is str:  # as most are,
        return value or None
    if type(value) is tuple and all(type(one) is str and one for one in value):  # or so, from a file
        return value if len(set(value)) == len(value) else tuple(dict.fromkeys(value))
    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    if type(value) is int:  # a class, or a number if other labels are fractions
        return value
    if isinstance(value, set | frozenset):
        value = sorted(value)
    return _FIELDS.make_label(list(value) if isinstance(value, tuple) else value)


def target_of(labels: Sequence[Label | int]) -> Target:
    """Return the kind of the first label."""
    for label in labels:
        if label is not None:
            return (
                "number" if isinstance(label, float) else "classes" if isinstance(label, tuple) else "class"
            )
    raise ValueError(
        f"none of the first {len(labels)} documents has a label; give target= and, for classes, classes="
    )


def as_target(label: Label | int, target: Target, row: int) -> Label:
    """Return a label in the form of the target."""
    if label is None or type(label) is _AS_READ[target]:
        return label
    if isinstance(label, int):
        label = float(label) if target == "number" else str(label)
    if target == "classes" and isinstance(label, str):
        return (label,)
    if target == "number" and isinstance(label, str) and _NUMBER.fullmatch(label.strip()):
        return float(label)  # in a table of texts only fractions are recognised as numbers
    if (target == "class") != isinstance(label, str) or (target == "classes") != isinstance(label, tuple):
        raise ValueError(
            f"labels[{row}] is {label!r}, which does not fit target={target!r}; give all labels the same "
            "form, or set target="
        )
    return label


def encoded(labels: Sequence[Label], target: Target, classes: ClassNames) -> Any:
    """Return labels as the estimators read them; unknown ones are None or NaN."""
    if target == "class":
        return list(labels)
    if target == "number":
        return np.array([np.nan if label is None else label for label in labels], np.float64)
    y = np.full((len(labels), len(classes)), np.nan)
    known = [row for row, label in enumerate(labels) if label is not None]
    y[known] = classes.indicator([labels[row] for row in known])
    return y
