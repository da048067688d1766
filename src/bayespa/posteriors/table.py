"""Arrays as values: changed rows make another table, in the memory of the first if nobody holds that."""

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
    """A change of an array that is made once: repeated with the same ledger and turn, it does nothing."""

    def __call__(self, *, a: Floats, ledger: Floats, turn: int) -> None:
        """Make the change of `a`, in one step that no exception can cut: see `reference.linalg.add_rows`."""


class Table:
    """An array that never changes; `changed` makes the next one.

    A mini-batch changes some thousand rows of a table that may have millions, so the next table takes over
    the memory of this one, unless somebody still holds this one or one of its arrays: then it is copied.
    Whoever holds a table therefore has a value, in any thread. Updates are made when the next table is first
    read. Each is made once, whatever exception cuts the reading short. A table that has `grown` has room for
    more rows, which nobody before it reads: it grows on without a copy.

    Parameters
    ----------
    array : C-contiguous array of at least one axis
    own : bool
        Whether the array is in no other hands, so that the next table may write into it.

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
        "_lock",
        "_right",
        "_room",
        "_sharing",
        "_updates",
        "ledger",
    )

    def __init__(self, array: Floats, *, own: bool = False) -> None:
        self._array = array
        self._right = [True] if own else []  # to hand the memory on: one next table may have it
        self._before: Callable[[], Table | None] = _nobody  # whose memory it is
        self._room = array  # the memory, of which the array is the first rows
        self._sharing: Callable[[], Table | None] = _nobody  # who else reads it: what it has grown from
        self._updates: Sequence[Update] = ()  # yet to be made
        self.ledger: Floats = _NO_LEDGER  # of the updates that made it, once it was read: see `new_ledger`
        self._lock = threading.Lock()

    def changed(self, updates: Sequence[Update]) -> Table:
        """Return the table after some updates."""
        after = Table(self.settle())
        if self._gives_memory():
            after._before, after._room = self._readers(), self._room
        else:
            after._before = lambda: self  # held until it is copied, so that nobody writes into it before
        after.ledger = new_ledger(self.shape[-1])
        after._updates = updates
        return after

    def grown(self, rows: Floats) -> Table:
        """Return the table with more rows (m, ...) behind its own.

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
        """Whether one who asks may have the memory: the first who does."""
        try:
            self._right.pop()  # in one step, if two threads try
        except IndexError:
            return False
        return True

    def _readers(self) -> Callable[[], Table | None]:
        """Return who tells whether somebody still reads the memory of this table."""
        own, others = weakref.ref(self), self._sharing
        return own if others is _nobody else lambda: own() or others()

    def with_rows(self, rows: Places, values: Floats, cleared: Places | None = None) -> Table:
        """Return the table with other values (u, ...) in different rows (u,); others lose some columns."""

        def write(*, a: Floats, ledger: Floats, turn: int) -> None:  # may be repeated: all values are new
            if cleared is not None:
                a[:, cleared] = 0.0
            a[rows] = values

        return self.changed([write])

    def settle(self) -> Floats:
        """Make the updates now; return the memory, which is to be neither changed nor kept."""
        if self._updates:
            with self._lock:
                if self._before() is not None:
                    self._array = self._room = np.array(self._array, order="C")
                    self._before = _nobody
                for turn, update in enumerate(self._updates):
                    update(a=self._array, ledger=self.ledger, turn=turn)
                self._right = [True]
                self._updates = ()
        return self._array

    @property
    def array(self) -> Floats:
        """The array, read-only. Whoever holds it, or a part of it, holds the table."""
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
    """Return nobody: that is who holds the table before, when its memory was copied."""


def _owned(array: Floats) -> Table:
    return Table(array, own=array.flags.writeable)  # what several processes share is not
