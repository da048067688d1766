"""Words beside topics in NumPy: the twin of `bayespa.native.words`, with the same arguments and results."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespa.native.linear import Rows, Zones
from bayespa.native.medlda import Documents
from bayespa.native.words import WordsLearned, WordTables
from bayespa.reference import linear
from bayespa.reference.elementary import log64

Floats = NDArray[np.float64]


def features(
    documents: Documents,
    seen: Floats,
    runs: NDArray[np.bool_] | None,
    run_value: float,
    bias: float,
    n_threads: int = 1,
) -> Rows:
    """Return x of documents over the words of a mini-batch."""
    n, words = len(documents.indptr) - 1, documents.words
    rarity = 1.0 + log64(seen[-1] / seen[:-1])
    x = (1.0 + log64(documents.counts.astype(np.float64))) * rarity[words]
    run = np.zeros(len(words), np.bool_) if runs is None else runs[words]
    x[run] *= run_value
    rows = np.repeat(np.arange(n), np.diff(documents.indptr))
    own, of_runs = (np.bincount(rows, np.where(which, x * x, 0.0), n) for which in (~run, run))
    x /= np.maximum(np.sqrt(np.maximum(own, of_runs)), np.finfo(float).tiny)[rows]
    return Rows(documents.indptr, words, x, len(seen) - 1, bias)


def learn_words(
    rows: Rows,
    zones: Zones,
    tables: WordTables,
    taught: tuple[Floats, Floats] | None,
    cost: float,
    grid: float,
    n_threads: int = 1,
) -> WordsLearned:
    """Return what rows teach words."""
    known = [table[tables.places] for table in (tables.shift, tables.precision)]
    if taught is not None:
        known = [now - old for now, old in zip(known, taught, strict=True)]
    guess, loss = np.empty((rows.n, zones.n_tasks)), np.zeros(zones.n_tasks)
    mean, variance = known[0] / known[1], 1.0 / known[1]
    linear.decide(rows, mean, guess)
    linear.gibbs_diagonal(rows, zones, cost, "squared", mean, variance, loss)
    precision = 1.0 / variance
    shift = _rounded(mean * precision, grid) - known[0]
    return WordsLearned(guess, shift, _rounded(precision, grid) - known[1], loss)


def _rounded(values: Floats, grid: float) -> Floats:
    """Return the nearest multiples of `grid`, a power of two."""
    return np.asarray(np.rint(values / grid) * grid)


def decide_by_words(rows: Rows, tables: WordTables, n_threads: int = 1) -> Floats:
    """Return the mean of the margins of rows, (n, T)."""
    margin = np.empty((rows.n, tables.shift.shape[1]))
    linear.decide(rows, tables.shift[tables.places] / tables.precision[tables.places], margin)
    return margin
