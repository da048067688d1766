"""Sums by topic: births, deaths and replays against a dictionary that does the same."""

from copy import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayespa.topics.topic_sums import ROOM, TopicStatistics, TopicSums

W, T = 7, 2


def statistics(rng, ids, removed=()):
    """Draw whole numbers, so that sums are exact in any order."""
    ids = np.array(ids, np.int64)
    n = len(ids) + 1
    words = rng.permutation(W)[:4]
    root = rng.integers(0, 5, (T, n, n)).astype(float)
    return TopicStatistics(
        ids,
        words,
        rng.integers(1, 9, (4, len(ids))).astype(float),
        rng.integers(1, 4, len(ids)).astype(float),
        rng.integers(-5, 5, (T, n)).astype(float),
        root + root.swapaxes(1, 2),
        np.array(removed, np.int64),
    )


class Slow:
    """The same sums in dictionaries, the bias being topic -1."""

    def __init__(self):
        self.alive, self.counts, self.weights = set(), {}, {}

    def learn(self, piece, sign=1):
        if sign > 0:
            self.alive |= set(piece.ids.tolist())
        ids = [*piece.ids.tolist(), -1]
        for i, a in enumerate(ids):
            for j, b in enumerate(ids):
                if {a, b} <= self.alive | {-1}:
                    part = sign * piece.precision[:, i, j]
                    self.weights[a, b] = self.weights.get((a, b), 0.0) + part
        for k, a in enumerate(piece.ids.tolist()):
            if a in self.alive:
                row = self.counts.setdefault(a, np.zeros(W))
                row[piece.words] += sign * piece.counts[:, k]
        dead = set(piece.removed.tolist()) if sign > 0 else set()
        dead |= {a for a in self.alive if not self.counts[a].sum()}
        self.alive -= dead
        self.counts = {a: row for a, row in self.counts.items() if a not in dead}
        self.weights = {pair: w for pair, w in self.weights.items() if not dead & set(pair)}


def assert_agree(sums, slow):
    assert set(sums.ids.tolist()) == slow.alive
    _, precision = sums.weights()
    everyone = [*sums.ids.tolist(), -1]
    for i, a in enumerate(everyone):
        for j, b in enumerate(everyone):
            assert_array_equal(precision[:, i, j], slow.weights.get((a, b), 0.0))
    for k, a in enumerate(sums.ids.tolist()):
        assert_array_equal(sums.counts()[:, k], slow.counts[a])
    assert_array_equal(sums.tokens, sums.counts().sum(axis=0))
    assert (np.diff(sums.tables) <= 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_births_deaths_and_replays(seed):
    rng = np.random.default_rng(seed)
    sums, slow, learned = TopicSums(W, T), Slow(), []
    for _ in range(60):
        if learned and rng.random() < 0.4:
            piece = learned.pop(rng.integers(len(learned)))
            sums = sums.changed(minus=[piece])
            slow.learn(piece, -1)
        else:
            old = rng.permutation(sums.ids)[: rng.integers(0, 1 + len(sums.ids))]
            new = sums.next_id + np.arange(rng.integers(0, 4))
            rest = np.setdiff1d(sums.ids, old)
            piece = statistics(rng, [*old, *new], rest[: int(rng.random() < 0.3)])
            sums = sums.changed(plus=[piece])
            slow.learn(piece)
            learned.append(piece)
        assert_agree(sums, slow)
    again = TopicSums.from_arrays(sums.to_arrays())
    assert again == sums == copy(sums)
    for piece in learned:
        sums = sums.changed(minus=[piece])
    assert not len(sums.ids)
    assert sums.next_id == again.next_id


def memory(sums):
    """Return where the largest of the arrays is."""
    return sums._counts.__array_interface__["data"][0]


def test_room_grows_and_shrinks_rarely():
    """A thousand births one by one, then as many deaths: the arrays are copied a few times only."""
    rng, sums = np.random.default_rng(0), TopicSums(W, T)
    copies, address = 0, memory(sums)
    for k in range(400):
        sums = sums.changed(plus=[statistics(rng, [k])])
        copies, address = copies + (memory(sums) != address), memory(sums)
    assert copies < 20
    assert len(sums._ids) < 2 * 400
    for k in range(399):
        sums = sums.changed(plus=[statistics(rng, [399], removed=[k])])
        copies, address = copies + (memory(sums) != address), memory(sums)
    assert copies < 30
    assert len(sums._ids) == ROOM
    assert sums.ids.tolist() == [399]


def test_what_holds_nothing_is_not_born():
    sums = TopicSums(W, T)
    born = statistics(np.random.default_rng(0), [0, 1])
    born.counts[:, 1] = 0.0
    sums = sums.changed(plus=[born])
    assert sums.ids.tolist() == [0]
    assert sums.next_id == 2


def test_discount_and_merge():
    rng = np.random.default_rng(0)
    base = TopicSums(W, T).changed(plus=[statistics(rng, [0, 1])])
    left = base.changed(plus=[statistics(rng, [1, 2])])
    right = base.changed(plus=[statistics(rng, [0, 1, 3])])
    merged = left.merge(right, base)
    assert sorted(merged.ids) == [0, 1, 2, 3]
    assert merged.tokens.sum() == left.tokens.sum() + right.tokens.sum() - base.tokens.sum()
    assert merged == right.merge(left, base)
    assert left.merge(base, base) == left
    half = left.discounted(0.5, TopicSums(W, T))
    assert_array_equal(half.counts(), 0.5 * left.counts())
    assert left.discounted(1.0, base) == left


def test_words_tasks_and_names():
    rng = np.random.default_rng(0)
    sums = TopicSums(W, T).changed(plus=[statistics(rng, [0, 1, 2])])
    grown = sums.grown(W + 2, np.array([1, -1, 1]), np.array([1.0, 1.0, -1.0]))
    shift, precision = sums.weights()
    assert grown.counts().shape == (W + 2, 3)
    assert_array_equal(grown.weights()[0], [shift[1], 0 * shift[0], -shift[1]])
    assert_array_equal(grown.weights()[1], [precision[1], 0 * precision[0], precision[1]])
    assert sums.grown(W, np.arange(T), np.ones(T)) is sums
    renamed = sums.renamed(np.array([7, 5, 9]))
    assert sorted(renamed.ids) == [5, 7, 9]
    assert renamed.next_id == 10
    assert_allclose(renamed.tables, sums.tables)
