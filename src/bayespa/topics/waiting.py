"""Documents that wait for their mini-batch: how a stream is cut into calls does not change a model.

After n documents, what is known is a function of these documents. A mini-batch is learned when it is whole.
Until then its documents wait, and predictions count them: what they would teach as a mini-batch is computed
when somebody asks, and never kept.

In the beginning all documents wait. The first ones initialise topics, fix the units of numbers and, if they
are few, are learned in several passes. All of that would take too long after each document, so it is done
again at some sizes (`looked_at`). For predictions, the documents after such a size, up to one in 17, are
learned in one more pass. When there are enough documents (`beginning`), all of them are learned a last time,
and are forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.native.medlda import CountMatrix
from bayespa.topics.documents import LONGEST, UNIT, Corpus

Targets = NDArray[Any]  # (n, T): ±1 as float32, or numbers in the units of y as float64; NaN if unknown

IN_ALL, PER_TASK, MOST_PASSES = 4096, 256, 32  # limits of passes over a small corpus
NUMBERS = 768  # so many documents, or more, teach numbers better in one pass


def few(n: int, n_tasks: int, batch_size: int | None, *, regression: bool = False) -> tuple[int, int | None]:
    """Return the number of passes over a corpus of n documents, and the size of mini-batches.

    Words forget what a mini-batch taught them before they learn it again. So there must be several
    mini-batches.

    >>> few(100_000, 20, 256), few(8_000, 77, 256), few(400, 2, 256)
    ((1, 256), (2, 256), (10, 25))
    >>> few(400, 1, 64, regression=True), few(2000, 1, 64, regression=True)
    ((10, 25), (1, 64))
    """
    n_passes = min(MOST_PASSES, max(1, _wanted(n_tasks) // max(1, n)))
    if regression and n >= NUMBERS:
        n_passes = 1
    if n_passes == 1 or batch_size is None:
        return 1, batch_size
    return n_passes, min(batch_size, max(1, n // 16))


def beginning(n_tasks: int, *, regression: bool = False) -> int:
    """Return the smallest number of documents that are learned in one pass.

    >>> beginning(20), few(beginning(20) - 1, 20, 256), few(beginning(20), 20, 256)
    (2561, (2, 160), (1, 256))
    """
    return NUMBERS if regression else _wanted(n_tasks) // 2 + 1


def _wanted(n_tasks: int) -> int:
    return max(IN_ALL, PER_TASK * n_tasks)


def looked_at(n: int) -> int:
    """Return the largest number up to n that has only zeros after its first five binary digits.

    >>> [looked_at(n) for n in (0, 31, 32, 33, 34, 255, 256, 271, 272, 4095)]
    [0, 31, 32, 32, 34, 248, 256, 256, 272, 3968]
    """
    zeros = max(0, n.bit_length() - 5)
    return n >> zeros << zeros


@dataclass(frozen=True, eq=False)
class Call:
    """The documents of one call, their targets, and what these mean."""

    corpus: Corpus
    targets: Targets
    meaning: Any  # `Classes` or `Numbers`

    def under(self, meaning: Any) -> Targets:
        """Return the targets under a meaning that may have more tasks: no document had a new class."""
        if meaning is self.meaning:
            return self.targets
        source, sign = meaning.tasks_before(self.meaning)
        known = ~np.isnan(self.targets).all(axis=1, keepdims=True)
        new = np.where(known, -1.0, np.nan)
        found: Targets = np.where(source >= 0, sign * self.targets[:, source], new)
        return found.astype(self.targets.dtype)


@dataclass(frozen=True, eq=False)
class Backlog:
    """Documents that are not learned yet, in their order; an immutable value."""

    n_passes: int | None  # over the first documents of all; None: as many as `few` says
    pieces: tuple[Call, ...] = ()
    n: int = 0

    def __len__(self) -> int:
        return self.n

    def and_then(self, corpus: Corpus, targets: Targets, meaning: Any) -> Backlog:
        """Return these documents and more."""
        kept = Corpus(corpus.counts.copy(), corpus.weights)  # the caller may change its matrix
        return replace(self, pieces=(*self.pieces, Call(kept, targets, meaning)), n=self.n + len(corpus))

    def n_words(self, n: int) -> int:
        """Return the number of the last column that the first n documents use, from 1."""
        missing, last = n, 0
        for piece in self.pieces:
            counts = piece.corpus.counts
            used = counts.indices[: counts.indptr[min(missing, len(piece.corpus))]]
            missing, last = max(0, missing - len(piece.corpus)), max(last, int(used.max(initial=0)))
        return last + 1

    def cut(
        self, meaning: Any, n_words: int, begin: int = 0, end: int | None = None
    ) -> tuple[Corpus, Targets]:
        """Return the documents from `begin` to before `end`."""
        counts = [piece.corpus.counts for piece in self.pieces]
        ends = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(each.indptr) for each in counts]))])
        rows, entries = slice(begin, end), slice(ends[begin], ends[self.n if end is None else end])
        columns = np.concatenate([each.indices for each in counts])[entries]
        data = np.concatenate([each.data for each in counts])[entries]
        indptr = ends[begin : None if end is None else end + 1] - ends[begin]
        matrix = CountMatrix(data, columns, indptr, (len(indptr) - 1, n_words))
        weights = np.concatenate([piece.corpus.weights for piece in self.pieces])[rows]
        targets = np.concatenate([piece.under(meaning) for piece in self.pieces])[rows]
        return Corpus(matrix, weights), targets

    # Files

    def to_file(self, meaning: Any, n_words: int) -> dict[str, Any]:
        """Return plain values and arrays."""
        corpus, targets = self.cut(meaning, n_words)
        return {
            "n_passes": self.n_passes,
            "ends": corpus.counts.indptr[1:].astype(np.int64),
            "words": corpus.counts.indices.astype(np.int32),
            "counts": corpus.counts.data,
            "weights": corpus.weights,
            "targets": targets,
        }

    @classmethod
    def from_file(cls, values: Any, n_words: int, meaning: Any) -> Backlog:
        """Restore what `to_file` returned; raise a ValueError if it cannot be."""
        if not isinstance(values, Mapping):
            raise ValueError(f"_waiting is a {type(values).__name__}, not documents")
        kinds = {"ends": "<i8", "words": "<i4", "counts": "<i4", "weights": "<f8", "targets": ("<f4", "<f8")}
        arrays = {name: values[name] for name in kinds}
        for name, array in arrays.items():
            if not isinstance(array, np.ndarray) or array.dtype.str not in kinds[name]:
                raise ValueError(f"{name} of documents that wait are no array of {kinds[name]}")
        ends, words, counts, weights, targets = arrays.values()
        n, n_passes = len(ends), values["n_passes"]
        if n_passes not in (None, 1) or type(n_passes) is bool:
            raise ValueError(f"n_passes of documents that wait is {n_passes!r}, neither 1 nor None")
        indptr = np.concatenate([[0], ends.ravel()])
        fits = (
            n > 0
            and ends.shape == weights.shape == (n,)
            and words.shape == counts.shape == (int(ends[-1]),)
            and (np.diff(indptr) >= 0).all()
            and targets.shape == (n, meaning.n_tasks)
        )
        if not fits:
            raise ValueError("the arrays of documents that wait have shapes that do not fit")
        rows = np.repeat(np.arange(n), np.diff(indptr))
        follows = (np.diff(words) > 0) | (np.diff(rows) > 0)
        if not (((words >= 0) & (words < n_words)).all() and follows.all() and (counts > 0).all()):
            raise ValueError("documents that wait have words out of order, or unknown ones, or no counts")
        if (np.bincount(rows, counts, n) > LONGEST).any():
            raise ValueError(f"a document that waits has more than {LONGEST} tokens")
        if not ((weights >= UNIT) & (weights <= 1.0) & (np.frexp(weights)[0] == 0.5)).all():
            raise ValueError("the weights of documents that wait are not powers of two")
        meaning.require_targets(targets)
        matrix = CountMatrix(counts, words, indptr, (n, n_words))
        return cls(n_passes, (Call(Corpus(matrix, weights), targets, meaning),), n)
