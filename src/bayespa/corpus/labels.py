"""Class names that appear in a stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.corpus.documents import Label


class ClassNames:
    """The classes so far, numbered in the order of their first appearance; numbers never change.

    Parameters
    ----------
    names : iterable of str, optional
        Class names that are known from the start.

    Examples
    --------
    >>> classes = ClassNames()
    >>> classes.learn(["sports", None, ("law", "sports")])
    >>> classes.names
    ['sports', 'law']
    >>> classes.codes(["law", "sports"])
    array([1, 0])
    >>> classes.indicator(["law", (), ("law", "sports")])
    array([[0, 1],
           [0, 0],
           [1, 1]])
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._codes: dict[str, int] = {}
        self.learn(list(names))

    @property
    def names(self) -> list[str]:
        """The classes, by number."""
        return list(self._codes)

    def __len__(self) -> int:
        return len(self._codes)

    def learn(self, labels: Sequence[Label]) -> None:
        """Add new classes; documents without a label are skipped."""
        for label in dict.fromkeys(labels):
            for name in () if label is None else _names(label, labels.index(label)):
                self._codes.setdefault(name, len(self._codes))

    def codes(self, labels: Sequence[Label]) -> NDArray[np.int64]:
        """Return the number of the class of each document, (n,)."""
        rows, columns = self._entries(labels)
        if len(rows) != len(labels) or (np.diff(rows) != 1).any():
            n_classes = np.bincount(rows, minlength=len(labels))
            row = int(np.argmax(n_classes != 1))
            raise ValueError(f"labels[{row}] is {labels[row]!r}, {n_classes[row]} classes; use indicator()")
        return columns

    def indicator(self, labels: Sequence[Label]) -> NDArray[np.int64]:
        """Return 1 or 0 for each document and class, (n, n_classes)."""
        matrix = np.zeros((len(labels), len(self)), np.int64)
        matrix[self._entries(labels)] = 1
        return matrix

    def to_state(self) -> dict[str, Any]:
        """Return plain data for `from_state`."""
        return {"names": self.names}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ClassNames:
        """Restore the classes that `to_state` described."""
        names = state["names"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("the state of ClassNames must have a list of texts, 'names'")
        classes = cls(names)
        if len(classes) != len(names):
            raise ValueError("the state of ClassNames has a name twice")
        return classes

    def _entries(self, labels: Sequence[Label]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows, columns = [], []
        for row, label in enumerate(labels):
            if label is None:
                raise ValueError(f"labels[{row}] is missing; take batch.labelled() first")
            for name in _names(label, row):
                if name not in self._codes:
                    raise ValueError(f"labels[{row}] is {name!r}, a class not learned; call learn() first")
                rows.append(row)
                columns.append(self._codes[name])
        return np.array(rows, np.int64), np.array(columns, np.int64)


def _names(label: str | float | tuple[str, ...], row: int) -> tuple[str, ...]:
    if isinstance(label, str):
        return (label,)
    if isinstance(label, tuple):
        return label
    raise ValueError(f"labels[{row}] is the number {label}, not a class; read with target='class'")
