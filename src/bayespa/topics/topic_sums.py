"""What the topics of a hierarchical Dirichlet process have learned: sums by topic, as many as there are.

A posterior is a prior plus sums of statistics. Where topics are born and die only the sums are kept, each
under the number that its topic got at birth. Numbers are never used again, so that what a mini-batch added
can be found and taken back after topics were born, have died or have changed their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayespa.posteriors import Sticks
from bayespa.posteriors.posterior import finite

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
ROOM = 8  # topics that there is room for at first


@dataclass(frozen=True)
class TopicStatistics:
    """What documents say of their topics; in the weights' part the bias stands behind the topics."""

    ids: Ids  # (K,)
    words: NDArray[np.int64]  # (n_words,), different ones
    counts: Floats  # (n_words, K)
    tables: Floats  # (K,)
    shift: Floats  # (T, K + 1)
    precision: Floats  # (T, K + 1, K + 1)
    removed: Ids = field(default_factory=lambda: np.empty(0, np.int64))  # are to go, with what they hold

    def of(self, places: NDArray[np.int64]) -> TopicStatistics:
        """Return the statistics of some topics, and of the bias."""
        both = np.append(places, len(self.ids))
        return replace(
            self,
            ids=self.ids[places],
            counts=self.counts[:, places],
            tables=self.tables[places],
            shift=self.shift[:, both],
            precision=self.precision[:, both[:, None], both],
        )


class TopicSums:
    """Sums over documents, by topic: words, tables, and statistics of the weights of T tasks beside a bias.

    Arrays have room for more topics than there are. A birth takes a free place, a death leaves one, and
    nothing else moves. When no place is left the arrays grow by half; when three quarters are free they
    shrink to half: the cost of copying is shared by many births or deaths.

    Topics are shown in the order of their sticks: those with most tables first, the older first among equals.

    Parameters
    ----------
    n_words, n_tasks : int
        W and T.

    Examples
    --------
    >>> sums = TopicSums(n_words=3, n_tasks=0)
    >>> none = np.zeros((0, 3)), np.zeros((0, 3, 3))
    >>> counts, tables = np.array([[4.0, 5.0]]), np.array([1.0, 2.0])
    >>> two = TopicStatistics(np.array([0, 1]), np.array([2]), counts, tables, *none)
    >>> sums += [two]
    >>> sums.ids, sums.tokens, sums.next_id
    (array([1, 0]), array([5., 4.]), 2)
    >>> sums -= [two]
    >>> sums.ids
    array([], dtype=int64)
    """

    def __init__(self, n_words: int, n_tasks: int) -> None:
        self.next_id = 0  # of the next topic to be born
        self._ids = np.full(ROOM, -1, np.int64)  # -1: no topic
        self._tokens, self._tables = np.zeros(ROOM), np.zeros(ROOM)
        self._counts = np.zeros((n_words, ROOM))
        self._shift = np.zeros((n_tasks, 1 + ROOM))  # the bias comes first, where it never moves
        self._precision = np.zeros((n_tasks, 1 + ROOM, 1 + ROOM))
        self._order: Ids | None = None  # of the topics, as long as nothing is learned

    @property
    def _places(self) -> Ids:
        """Where the topics stand in the arrays, (K,)."""
        if self._order is None:
            used = np.flatnonzero(self._ids >= 0)
            self._order = used[np.lexsort((self._ids[used], -self._tables[used]))]
        return self._order

    @property
    def ids(self) -> Ids:
        """Numbers of the topics, (K,)."""
        return self._ids[self._places]

    @property
    def tokens(self) -> Floats:
        """Tokens that each topic holds, (K,)."""
        return self._tokens[self._places]

    @property
    def tables(self) -> Floats:
        """Tables that serve each topic, (K,)."""
        return self._tables[self._places]

    @property
    def n_words(self) -> int:
        """W."""
        return len(self._counts)

    def counts(self, words: NDArray[np.integer] | None = None) -> Floats:
        """Return how often each topic holds every word or some of them, (words, K)."""
        rows = self._counts if words is None else self._counts[words]
        return np.ascontiguousarray(rows[:, self._places])

    def weights(self) -> tuple[Floats, Floats]:
        """Return the weights' shift (T, K + 1) and precision (T, K + 1, K + 1), the bias last."""
        both = np.append(self._places + 1, 0)
        return self._shift[:, both], self._precision[:, both[:, None], both]

    def sticks(self, gamma: float, weight: float = 1.0) -> Sticks:
        """Return the posterior of the sticks, whose prior is Beta(1, gamma). [HDP-4].

        To tokens that weigh less than one, tables look as many times larger as they are lighter.
        """
        return Sticks.prior(len(self.ids), gamma) + Sticks.statistics(self.tables / weight)

    # Learning

    def __iadd__(self, pieces: Iterable[TopicStatistics]) -> Self:
        for piece in pieces:
            self.add(piece)
        return self

    def __isub__(self, pieces: Iterable[TopicStatistics]) -> Self:
        for piece in pieces:
            self.subtract(piece)
        return self

    def add(self, piece: TopicStatistics) -> None:
        """Learn what documents say: topics that are not here are born, those that hold nothing go [HDP-5]."""
        self._make_room(piece.ids)
        self._update(piece, 1.0)
        self.remove(np.append(piece.removed, self.ids[self.tokens <= 0.0]))
        self.next_id = max(self.next_id, int(piece.ids.max(initial=-1)) + 1)

    def subtract(self, piece: TopicStatistics) -> None:
        """Take back what was added; a topic that has died since then has taken its part along."""
        self._update(piece.of(np.flatnonzero(np.isin(piece.ids, self._ids))), -1.0)
        self.remove(self.ids[self.tokens <= 0.0])  # [HDP-5]

    def remove(self, ids: Ids) -> None:
        """Forget topics and what they hold. What is known of the other weights, and of the bias, stays."""
        places = np.flatnonzero(np.isin(self._ids, ids))
        self._ids[places] = -1
        self._tokens[places] = self._tables[places] = self._counts[:, places] = 0.0
        self._shift[:, places + 1] = self._precision[:, places + 1] = self._precision[:, :, places + 1] = 0.0
        self._order = None
        n_topics, room = len(self._places), len(self._ids)
        if room > ROOM and 4 * n_topics < room:
            self._resize(max(ROOM, room // 2))

    def _update(self, piece: TopicStatistics, sign: float) -> None:
        places = self._places_of(piece.ids)
        both = np.append(places + 1, 0)
        self._counts[piece.words[:, None], places] += sign * piece.counts
        self._tokens[places] += sign * piece.counts.sum(axis=0)
        self._tables[places] += sign * piece.tables
        self._shift[:, both] += sign * piece.shift
        self._precision[:, both[:, None], both] += sign * piece.precision
        self._order = None

    def _places_of(self, ids: Ids) -> Ids:
        """Return where topics that are here stand."""
        order = np.argsort(self._ids)
        return np.asarray(order[np.searchsorted(self._ids, ids, sorter=order)], np.int64)

    def _make_room(self, ids: Ids) -> None:
        """Give topics that are not here yet a place."""
        new, n_topics = ids[~np.isin(ids, self._ids)], len(self._places)
        if n_topics + len(new) > len(self._ids):
            self._resize(max(n_topics + len(new), n_topics + n_topics // 2))
        self._ids[np.flatnonzero(self._ids < 0)[: len(new)]] = new
        self._order = None

    def _resize(self, room: int) -> None:
        places, both = self._places, np.append(0, self._places + 1)
        self._ids = _moved(self._ids + 1, places, room) - 1
        self._tokens = _moved(self._tokens, places, room)
        self._tables = _moved(self._tables, places, room)
        self._counts = _moved(self._counts, places, room)
        self._shift = _moved(self._shift, both, 1 + room)
        self._precision = _moved(self._precision, both, 1 + room, axes=2)
        self._order = None

    def discounted(self, rho: float, prior: Self) -> Self:
        """Forget: all sums go back to nothing, which is what `prior` holds, by this factor."""
        faded = self.copy()
        for array in (faded._tokens, faded._tables, faded._counts, faded._shift, faded._precision):
            array *= rho
        return faded

    # Joining

    def copy(self) -> Self:
        """Return sums with arrays of their own."""
        copy = type(self)(0, 0)
        for name, value in vars(self).items():
            setattr(copy, name, value.copy() if isinstance(value, np.ndarray) else value)
        return copy

    def grown(self, n_words: int, source: Ids, sign: Floats) -> Self:
        """Make room for words and tasks: task t continues task source[t] (-1: none), with its sign."""
        if (
            n_words == self.n_words
            and np.array_equal(source, np.arange(len(self._shift)))
            and (sign > 0).all()
        ):
            return self
        grown = self.copy()
        grown._counts = np.pad(self._counts, [(0, n_words - self.n_words), (0, 0)])
        old = (source >= 0)[:, None]
        grown._shift = np.where(old, sign[:, None] * self._shift[source], 0.0)
        grown._precision = np.where(old[:, None], self._precision[source], 0.0)
        return grown

    def renamed(self, ids: Ids) -> Self:
        """Give the topics other numbers, in the order of `ids`."""
        renamed = self.copy()
        renamed._ids[self._places] = ids
        renamed.next_id, renamed._order = int(ids.max(initial=-1)) + 1, None
        return renamed

    def merge(self, other: Self, prior: Self) -> Self:
        """Join two learners: self + other - prior, topics of one number being the same."""
        merged = self.copy()
        merged.add(other._statistics())
        merged.subtract(prior._statistics())
        merged.next_id = max(self.next_id, other.next_id)
        return merged

    def _statistics(self) -> TopicStatistics:
        """Return all sums as the statistics of one mini-batch."""
        return TopicStatistics(self.ids, np.arange(self.n_words), self.counts(), self.tables, *self.weights())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicSums):
            return NotImplemented
        mine, theirs = self.to_arrays(), other.to_arrays()
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]  # mutable, as every posterior

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that a file has to keep."""
        shift, precision = self.weights()
        return {
            "ids": self.ids,
            "next_id": np.array([self.next_id]),
            "tokens": self.tokens,
            "tables": self.tables,
            "counts": self.counts(),
            "shift": shift,
            "precision": precision,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make the sums that `to_arrays` returned, checking them like any input."""
        empty = cls(0, 0).to_arrays()
        if set(arrays) != set(empty):
            raise ValueError(f"{cls.__name__} needs the arrays {list(empty)}, not {list(arrays)}")
        ids, tokens, counts, shift = (arrays[name] for name in ("ids", "tokens", "counts", "shift"))
        n, n_words, n_tasks = len(ids), len(counts), len(shift)
        shapes = [(n,), (1,), (n,), (n,), (n_words, n), (n_tasks, n + 1), (n_tasks, n + 1, n + 1)]
        for (name, like), shape in zip(empty.items(), shapes, strict=True):
            if arrays[name].shape != shape or arrays[name].dtype != like.dtype:
                raise ValueError(
                    f"{name} has shape {arrays[name].shape} and type {arrays[name].dtype}; "
                    f"{n} topics of {n_words} words in {n_tasks} tasks need {shape} and {like.dtype}"
                )
            finite(name, arrays[name])
        next_id = int(arrays["next_id"][0])
        if len(np.unique(ids)) != n or not ((ids >= 0) & (ids < next_id)).all():
            raise ValueError(
                f"ids are {ids.tolist()}; they must be different numbers from 0 to {next_id - 1}"
            )
        held = counts.sum(axis=0)
        for k in np.flatnonzero((tokens <= 0.0) | ~np.isclose(tokens, held)):  # forgetting rounds both
            raise ValueError(
                f"tokens[{k}] is {tokens[k]}, and the column of that topic in counts sums to {held[k]}; both "
                "must be the same and positive"
            )
        for k in np.flatnonzero(arrays["tables"] < 0.0):
            raise ValueError(f"tables[{k}] is {arrays['tables'][k]}; it must not be negative")
        sums = cls(n_words, n_tasks)
        words = np.arange(n_words)
        sums.add(TopicStatistics(ids, words, counts, arrays["tables"], shift, arrays["precision"]))
        sums._tokens[sums._places_of(ids)] = tokens
        sums.next_id = next_id
        return sums


def _moved(array: NDArray[Any], places: Ids, room: int, axes: int = 1) -> NDArray[Any]:
    """Return some places along the last axes, in an array with `room` for more."""
    wide = np.zeros(array.shape[:-axes] + (room,) * axes, array.dtype)
    n = slice(len(places))
    if axes == 1:
        wide[..., n] = array[..., places]
    else:
        wide[..., n, n] = array[..., places[:, None], places]
    return wide
