"""Immutable arrays: changing rows makes another table, in the same memory if nobody holds the first."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayespa.native.linalg import new_ledger

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class Update(Protocol):
    """A change that takes effect once: repeated with the same ledger and turn, it does nothing."""

    def __call__(self, *, a: Floats, ledger: Floats, turn: int) -> None:
        """Change `a`, in one step that no exception can interrupt: see `reference.linalg.add_rows`."""


class Table:
    """An array that never changes; `changed` makes the next one.

    A mini-batch changes some thousand rows of a table that may have millions. So the next table takes over
    the memory of this one; if somebody still holds this one or one of its arrays, it is copied. Hence a table
    that you hold never changes, in any thread. Updates are applied when the next table is first read. Each is
    applied once, even if an exception interrupts the reading. A `grown` table has room for more rows, which
    older tables do not read, so it can grow again without a copy.

    Parameters
    ----------
    array : C-contiguous array of at least one axis
    own : bool
        Whether nothing else refers to the array, so that the next table may write into it.

    Examples
    --------
    >>> first = Table(np.zeros((3, 2)))
    >>> second = first.with_rows(np.array([1]), np.array([[5.0, 6.0]]))
    >>> second.array[1], first.array[1]
    (array([5., 6.]), array([0., 0.]))
    """

    __slots__ = (
        "__weakref__",
        "_array",
        "_before",
        "_lender",
        "_lock",
        "_right",
        "_room",
        "_sharing",
        "_updates",
        "ledger",
    )

    def __init__(self, array: Floats, *, own: bool = False) -> None:
        self._array = array
        self._right = [True] if own else []  # to hand the memory on: only one next table may have it
        self._before: Callable[[], Table | None] = _nobody  # the table that had the memory
        self._lender: list[bool] = []  # its right, to be given back if the memory is copied
        self._room = array  # the memory; the array is its first rows
        self._sharing: Callable[[], Table | None] = _nobody  # the table it has grown from
        self._updates: Sequence[Update] = ()  # not yet applied
        self.ledger: Floats = _NO_LEDGER  # of the updates that made it, once it was read: see `new_ledger`
        self._lock = threading.Lock()

    def changed(self, updates: Sequence[Update]) -> Table:
        """Return the table after some updates."""
        after = Table(self.settle())
        if self._gives_memory():
            after._before, after._room, after._lender = self._readers(), self._room, self._right
        else:
            after._before = lambda: self  # held until it is copied, so that nobody writes into it before
        after.ledger = new_ledger(self.shape[-1])
        after._updates = updates
        return after

    def grown(self, rows: Floats) -> Table:
        """Return the table with more rows (m, ...) at the end.

        >>> Table(np.ones((1, 2))).grown(np.zeros((1, 2))).array
        array([[1., 1.],
               [0., 0.]])
        """
        array, n = self.settle(), len(self._array) + len(rows)
        if n <= len(self._room) and self._gives_memory():
            room, sharing = self._room, self._readers()
        else:
            room, sharing = np.empty((n + n // 2, *array.shape[1:])), _nobody
            room[: len(array)] = array
        room[len(array) : n] = rows
        after = Table(room[:n], own=True)
        after._room, after._sharing = room, sharing
        return after

    def _gives_memory(self) -> bool:
        """Return whether the caller may have the memory: only the first one."""
        try:
            self._right.pop()  # atomic, if two threads try
        except IndexError:
            return False
        return True

    def _readers(self) -> Callable[[], Table | None]:
        """Return a function that tells whether somebody still reads the memory of this table."""
        own, others = weakref.ref(self), self._sharing
        return own if others is _nobody else lambda: own() or others()

    def with_rows(self, rows: Places, values: Floats, cleared: Places | None = None) -> Table:
        """Return the table with new values (u, ...) in some rows (u,); pieces of it lose some columns."""

        def write(*, a: Floats, ledger: Floats, turn: int) -> None:  # may be repeated: it overwrites
            if cleared is not None:
                a[:, cleared] = 0.0
            a[rows] = values

        return self.changed([write])

    def settle(self) -> Floats:
        """Apply the updates now; return the memory, which the caller must neither change nor keep.

        If it is copied, the table before gets the right back to hand on its own.
        """
        if self._updates:
            with self._lock:
                if not self._updates:  # another thread was faster, and the memory may have gone on
                    return self._array
                if self._before() is not None:
                    self._array = self._room = np.array(self._array, order="C")
                    self._before = _nobody
                    self._lender.append(True)
                for turn, update in enumerate(self._updates):
                    update(a=self._array, ledger=self.ledger, turn=turn)
                self._right = [True]
                self._updates = ()
        return self._array

    @property
    def array(self) -> Floats:
        """The array, read-only. Holding it, or a part of it, holds the table."""
        return np.asarray(self)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        interface = self.settle().__array_interface__  # a new dictionary
        interface["data"] = (interface["data"][0], True)
        return interface

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._array.shape

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _owned, (self.array,)


_NO_LEDGER = new_ledger(0)


def _nobody() -> None:
    """Return None: nobody holds the table before, because its memory was copied."""


def _owned(array: Floats) -> Table:
    return Table(array, own=array.flags.writeable)  # memory that several processes share is not writeable
