"""What the topics of a hierarchical Dirichlet process have learned: sums by topic.

A posterior is a prior plus sums of statistics. If topics are born and die, only the sums are stored, under
the number that a topic gets at birth. Numbers are never used again, so what a mini-batch added can be found
and subtracted after topics were born, died or changed their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayespa.posteriors import Sticks
from bayespa.posteriors.posterior import finite
from bayespa.posteriors.table import Table

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
ROOM = 8  # initial capacity in topics
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class TopicStatistics:
    """Statistics of documents for their topics; in the weights' part the bias comes after the topics."""

    ids: Ids  # (K,)
    words: NDArray[np.int64]  # (n_words,), all different
    counts: Floats  # (n_words, K)
    tables: Floats  # (K,)
    shift: Floats  # (T, K + 1)
    precision: Floats  # (T, K + 1, K + 1)
    removed: Ids = field(default_factory=lambda: _NONE)  # topics to remove, with what they have
    provisional: int | None = None  # first of the provisional numbers of new topics, until they are added

    def near(self) -> TopicStatistics:
        """Return the same for sums restricted to these words: see `TopicSums.near`."""
        return replace(self, words=np.arange(len(self.words)))

    def numbered(self, next_id: int) -> TopicStatistics:
        """Return the same with final numbers, from `next_id` on, for new topics."""
        if self.provisional is None:
            return self
        first, shift = self.provisional, next_id - self.provisional
        ids, removed = (np.where(i >= first, i + shift, i) for i in (self.ids, self.removed))
        return replace(self, ids=ids, removed=removed, provisional=None)

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
    """Sums over documents, by topic: words, tables, and statistics of the weights of T tasks with a bias.

    Immutable. Arrays have capacity for more topics. A new topic takes a free slot, a removed one leaves its
    slot, and nothing else moves. If no slot is free, the arrays grow by half; if three quarters are free,
    they shrink to half. So the cost of copying is shared by many births or deaths.

    Topics are listed in the order of their sticks: most tables first, and the older first among equals.

    Parameters
    ----------
    n_words, n_tasks : int
        W and T.

    Examples
    --------
    >>> none = np.zeros((0, 3)), np.zeros((0, 3, 3))
    >>> counts, tables = np.array([[4.0, 5.0]]), np.array([1.0, 2.0])
    >>> two = TopicStatistics(np.array([0, 1]), np.array([2]), counts, tables, *none)
    >>> sums = TopicSums(n_words=3, n_tasks=0).changed(plus=[two])
    >>> sums.ids, sums.tokens, sums.next_id
    (array([1, 0]), array([5., 4.]), 2)
    >>> sums.changed(minus=[two]).ids
    array([], dtype=int64)
    """

    next_id = 0  # of the next new topic

    def __init__(self, n_words: int, n_tasks: int) -> None:
        self.n_words = n_words  # W
        self._ids = np.full(ROOM, -1, np.int64)  # -1: a free slot
        self._tokens, self._tables = np.zeros(ROOM), np.zeros(ROOM)
        self._counts = Table(np.broadcast_to(0.0, (n_words, ROOM)))
        self._shift = np.zeros((n_tasks, 1 + ROOM))  # the bias comes first, and never moves
        self._precision = np.zeros((n_tasks, 1 + ROOM, 1 + ROOM))

    def _with(self, **changes: Any) -> Self:
        """Return sums with other arrays."""
        other = self.__new__(type(self))
        other.__dict__.update({**vars(self), **changes})
        vars(other).pop("_places", None)
        return other

    @cached_property
    def _places(self) -> Ids:
        """Slots of the topics in the arrays, (K,)."""
        return _in_order(self._ids, self._tables)

    @property
    def ids(self) -> Ids:
        """Numbers of the topics, (K,)."""
        return self._ids[self._places]

    @property
    def tokens(self) -> Floats:
        """Tokens of each topic, (K,)."""
        return self._tokens[self._places]

    @property
    def tables(self) -> Floats:
        """Tables of each topic, (K,)."""
        return self._tables[self._places]

    def counts(self, words: NDArray[np.integer] | None = None) -> Floats:
        """Return how often each topic has every word, or some of them, (words, K)."""
        rows = self._counts.array if words is None else self._counts.array[words]
        return np.ascontiguousarray(rows[:, self._places])

    def weights(self) -> tuple[Floats, Floats]:
        """Return the weights' shift (T, K + 1) and precision (T, K + 1, K + 1), with the bias last."""
        both = np.append(self._places + 1, 0)
        return self._shift[:, both], self._precision[:, both[:, None], both]

    def sticks(self, gamma: float, weight: float = 1.0) -> Sticks:
        """Return the posterior of the sticks, whose prior is Beta(1, gamma) [HDP-4].

        For tokens that weigh less than one, tables count as many times more.
        """
        return Sticks.prior(len(self.ids), gamma) + Sticks.statistics(self.tables / weight)

    def near(self, words: NDArray[np.int64], n_words: int) -> Self:
        """Return the sums restricted to some of n_words words, with the tokens of all, for a local step."""
        counts = np.zeros((len(words), len(self._ids)))
        known = words < self.n_words
        counts[known] = self._counts.array[words[known]]
        return self._with(_counts=Table(counts, own=True), n_words=n_words)

    # Learning

    def changed(
        self, plus: Sequence[TopicStatistics] | None = None, minus: Sequence[TopicStatistics] | None = None
    ) -> Self:
        """Return self - minus + plus.

        New topics are added. What is subtracted from a topic that was removed is gone already.
        """
        pieces = [(-1.0, piece) for piece in minus or ()] + [(1.0, piece) for piece in plus or ()]
        if not pieces:
            return self
        change = _Change(self, np.unique(np.concatenate([piece.words for _, piece in pieces])))
        for sign, piece in pieces:
            if sign > 0.0:
                change.add(piece)
            else:
                change.subtract(piece)
        return self._with(**change.result())

    def discounted(self, rho: float, prior: Self) -> Self:
        """Forget: scale all sums by this factor; `prior` is empty."""
        names = ("_tokens", "_tables", "_shift", "_precision")
        faded = {name: getattr(self, name) * rho for name in names}
        return self._with(_counts=Table(self._counts.array * rho, own=True), **faded)

    # Merging

    def grown(self, n_words: int, source: Ids, sign: Floats) -> Self:
        """Extend by words and tasks; task t continues task source[t] (-1: new) with a sign."""
        if (
            n_words == self.n_words
            and np.array_equal(source, np.arange(len(self._shift)))
            and (sign > 0).all()
        ):
            return self
        table, old = self._counts, (source >= 0)[:, None]
        if n_words > self.n_words:
            counts = np.zeros((n_words, len(self._ids)))
            counts[: self.n_words] = table.array
            table = Table(counts, own=True)
        return self._with(
            n_words=n_words,
            _counts=table,
            _shift=np.where(old, sign[:, None] * self._shift[source], 0.0),
            _precision=np.where(old[:, None], self._precision[source], 0.0),
        )

    def renamed(self, ids: Ids) -> Self:
        """Give the topics new numbers, in the order of `ids`."""
        renamed = self._ids.copy()
        renamed[self._places] = ids
        return self._with(_ids=renamed, next_id=int(ids.max(initial=-1)) + 1)

    def merge(self, other: Self, prior: Self) -> Self:
        """Merge two learners: self + other - prior; topics with the same number are the same."""
        merged = self.changed(plus=[other._statistics()]).changed(minus=[prior._statistics()])
        return merged._with(next_id=max(self.next_id, other.next_id))

    def _statistics(self) -> TopicStatistics:
        """Return all sums as the statistics of one mini-batch."""
        return TopicStatistics(self.ids, np.arange(self.n_words), self.counts(), self.tables, *self.weights())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicSums):
            return NotImplemented
        mine, theirs = self.to_arrays(), other.to_arrays()
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]  # as every posterior

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that a file stores."""
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
        """Restore the sums that `to_arrays` returned, and check them."""
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
                f"tokens[{k}] is {tokens[k]}, but the column of that topic in counts sums to {held[k]}; "
                "both must be equal and positive"
            )
        for k in np.flatnonzero(arrays["tables"] < 0.0):
            raise ValueError(f"tables[{k}] is {arrays['tables'][k]}; it must not be negative")
        bias_first = np.roll(np.arange(n + 1), 1)
        return cls(0, 0)._with(
            n_words=n_words,
            next_id=next_id,
            _ids=ids,
            _tokens=tokens,
            _tables=arrays["tables"],
            _counts=Table(np.ascontiguousarray(counts)),
            _shift=shift[:, bias_first],
            _precision=arrays["precision"][:, bias_first[:, None], bias_first],
        )


class _Change:
    """The next sums while they are computed: of some words, and of everything else."""

    def __init__(self, sums: TopicSums, words: NDArray[np.int64]) -> None:
        self.next_id = sums.next_id
        self.ids, self.tokens, self.tables = sums._ids.copy(), sums._tokens.copy(), sums._tables.copy()
        self.shift, self.precision = sums._shift.copy(), sums._precision.copy()
        self.before, self.words, self.rows = sums._counts, words, sums._counts.array[words]
        self.cleared: list[Ids] = []  # columns that other words lose

    def result(self) -> dict[str, Any]:
        cleared = np.concatenate(self.cleared) if self.cleared else None
        return {
            "next_id": self.next_id,
            "_ids": self.ids,
            "_tokens": self.tokens,
            "_tables": self.tables,
            "_shift": self.shift,
            "_precision": self.precision,
            "_counts": self.before.with_rows(self.words, self.rows, cleared),
        }

    def add(self, piece: TopicStatistics) -> None:
        """Add what documents say: add new topics, and remove empty ones [HDP-5]."""
        self._make_room(piece.ids)
        self._update(piece, 1.0)
        self._remove(piece.removed)
        self.next_id = max(self.next_id, int(piece.ids.max(initial=-1)) + 1)

    def subtract(self, piece: TopicStatistics) -> None:
        """Subtract what was added; a removed topic has taken its part along."""
        self._update(piece.of(np.flatnonzero(np.isin(piece.ids, self.ids))), -1.0)
        self._remove()  # [HDP-5]

    def _remove(self, ids: Ids = _NONE) -> None:
        """Remove topics, and empty ones. Other weights and the bias stay."""
        places = np.flatnonzero(((self.tokens <= 0.0) | np.isin(self.ids, ids)) & (self.ids >= 0))
        self.ids[places] = -1
        self.tokens[places] = self.tables[places] = self.rows[:, places] = 0.0
        self.shift[:, places + 1] = self.precision[:, places + 1] = self.precision[:, :, places + 1] = 0.0
        if len(places):
            self.cleared.append(places)
        n_topics, room = int((self.ids >= 0).sum()), len(self.ids)
        if room > ROOM and 4 * n_topics < room:
            self._resize(max(ROOM, room // 2))

    def _update(self, piece: TopicStatistics, sign: float) -> None:
        places, words = _places_of(self.ids, piece.ids), np.searchsorted(self.words, piece.words)
        both = np.append(places + 1, 0)
        self.rows[words[:, None], places] += sign * piece.counts
        self.tokens[places] += sign * piece.counts.sum(axis=0)
        self.tables[places] += sign * piece.tables
        self.shift[:, both] += sign * piece.shift
        self.precision[:, both[:, None], both] += sign * piece.precision

    def _make_room(self, ids: Ids) -> None:
        """Give new topics a slot."""
        new, n_topics = ids[~np.isin(ids, self.ids)], int((self.ids >= 0).sum())
        if n_topics + len(new) > len(self.ids):
            self._resize(max(n_topics + len(new), n_topics + n_topics // 2))
        self.ids[np.flatnonzero(self.ids < 0)[: len(new)]] = new

    def _resize(self, room: int) -> None:
        """Move all topics to arrays of another size."""
        places = _in_order(self.ids, self.tables)
        both = np.append(0, places + 1)
        whole = self.result()["_counts"].array
        self.before, self.cleared = Table(_moved(whole, places, room), own=True), []
        self.rows = _moved(self.rows, places, room)
        self.ids = _moved(self.ids + 1, places, room) - 1
        self.tokens, self.tables = _moved(self.tokens, places, room), _moved(self.tables, places, room)
        self.shift = _moved(self.shift, both, 1 + room)
        self.precision = _moved(self.precision, both, 1 + room, axes=2)


def _in_order(ids: Ids, tables: Floats) -> Ids:
    """Return the slots of topics: most tables first, and the older first among equals."""
    used = np.flatnonzero(ids >= 0)
    order: Ids = used[np.lexsort((ids[used], -tables[used]))]
    return order


def _places_of(known: Ids, ids: Ids) -> Ids:
    """Return the slots of known topics."""
    order = np.argsort(known, kind="stable")
    return np.asarray(order[np.searchsorted(known, ids, sorter=order)], np.int64)


def _moved(array: NDArray[Any], places: Ids, room: int, axes: int = 1) -> NDArray[Any]:
    """Return some positions along the last axes, in an array with capacity `room`."""
    wide = np.zeros(array.shape[:-axes] + (room,) * axes, array.dtype)
    n = slice(len(places))
    if axes == 1:
        wide[..., n] = array[..., places]
    else:
        wide[..., n, n] = array[..., places[:, None], places]
    return wide
