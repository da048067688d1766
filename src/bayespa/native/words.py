"""Words beside topics [MED-9]: features of documents, what these teach, and what words decide.

`bayespa.reference.words` is the readable twin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespa import _native
from bayespa.native.linear import Rows, Zones
from bayespa.native.medlda import Documents

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WordTables:
    """Natural parameters of the weights of all words, and the rows that a mini-batch needs."""

    places: NDArray[np.int64]  # (u + 1,): of the words of the mini-batch, and of the bias
    shift: Floats  # (W, T)
    precision: Floats  # (W, T)


class WordsLearned(NamedTuple):
    """What a mini-batch teaches words."""

    guess: Floats  # (n, T), margins before
    shift: Floats  # (u + 1, T), to be added to the rows of the tables
    precision: Floats  # (u + 1, T)
    loss: Floats  # (T,)


def features(
    documents: Documents,
    seen: Floats,
    runs: NDArray[np.bool_] | None,
    run_value: float,
    bias: float,
    n_threads: int = 1,
) -> Rows:
    """Return x of documents over the words of a mini-batch; without bias and runs it has length 1.

    Parameters
    ----------
    documents : Documents
    seen : (u + 1,)
        Documents with each word, and all of them; one more of each.
    runs : (u,), optional
        Words that are runs of several. If their vector is longer than that of the others, it has length 1.
    run_value : float
        The value of a run, where that of a word is 1.
    bias : float
        The value of the feature that every document has.
    n_threads : int
    """
    values = np.empty(len(documents.words))
    _native.features(
        documents.indptr, documents.words, documents.counts, seen, runs, run_value, values, n_threads
    )
    return Rows(documents.indptr, documents.words, values, len(seen) - 1, bias)


def learn_words(
    rows: Rows,
    zones: Zones,
    tables: WordTables,
    taught: tuple[Floats, Floats] | None,
    cost: float,
    grid: float,
    n_threads: int = 1,
) -> WordsLearned:
    """Return what rows teach words by the squared hinge [PA-5]; `taught` before is subtracted first."""
    shape = (len(tables.places), tables.shift.shape[1])
    learned = WordsLearned(np.empty((rows.n, shape[1])), np.empty(shape), np.empty(shape), np.zeros(shape[1]))
    _native.learn_words(
        rows,
        zones,
        tables.places,
        np.ascontiguousarray(tables.shift),
        np.ascontiguousarray(tables.precision),
        taught,
        cost,
        "squared",
        grid,
        *learned,
        n_threads,
    )
    return learned


def decide_by_words(rows: Rows, tables: WordTables, n_threads: int = 1) -> Floats:
    """Return the mean of the margins of rows, (n, T)."""
    margin = np.empty((rows.n, tables.shift.shape[1]))
    shift, precision = (np.ascontiguousarray(table) for table in (tables.shift, tables.precision))
    _native.decide_by_words(rows, tables.places, shift, precision, margin, n_threads)
    return margin
