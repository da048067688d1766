"""The native step over a mini-batch whose documents may have tokens of different weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.native.medlda import Documents, Schedule, Statistics, Tasks, Topics, step
from bayespa.posteriors import Counts
from bayespa.topics.documents import UNIT, Batch

MOST = 2**31 - 1  # tokens in all kept sweeps: the native step counts with 32 bits
_PER_DOCUMENT = {"topic_share", "margin", "margin_var"}


@dataclass(frozen=True)
class Sampled:
    """What the kept sweeps say: without labels, then with them."""

    counts: list[Counts]  # of the last phase, one or more for each token weight
    free: Statistics
    labelled: Statistics


def sample(batch: Batch, topics: Topics, tasks: Tasks, schedule: Schedule, n_threads: int = 1) -> Sampled:
    """Run the step once for each token weight u, with α/u: for whole counts, that is once.

    More tokens than the kept sweeps can count at once are sampled piece by piece: documents know nothing of
    each other here.
    """
    places, free, labelled, counts = [], [], [], []
    kept = schedule.sweeps - schedule.burn_in or schedule.free_sweeps - schedule.free_burn_in
    for weight, rows, together in batch.by_weight():
        own = replace(topics, alpha=(topics.alpha / weight).astype(np.float32))
        for piece, documents in _pieces(together, MOST // kept):
            own_rows = np.arange(len(batch))[rows][piece]
            labels = replace(tasks, labels=tasks.labels[own_rows])
            result = step(documents, own, labels, schedule, n_threads=n_threads)
            counts.append(Counts(documents.vocabulary, result.topic_word, weight / kept))
            places.append(own_rows)
            free.append(result.free)
            labelled.append(result.labelled)
    return Sampled(counts, _joined(places, free), _joined(places, labelled))


def _pieces(documents: Documents, n_tokens: int) -> Iterator[tuple[slice, Documents]]:
    """Yield documents of up to `n_tokens` together, or one that is longer, and which they are."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(documents.counts, dtype=np.int64)])
    ends = ends[documents.indptr]
    if ends[-1] <= n_tokens:
        yield slice(None), documents
        return
    begin, n = 0, len(documents.ids)
    while begin < n:
        end = max(begin + 1, int(np.searchsorted(ends, ends[begin] + n_tokens, side="right")) - 1)
        yield slice(begin, end), documents.slice(begin, end)
        begin = end


def on_grid(
    total: NDArray[np.integer] | NDArray[np.float64], weight: float, kept: int
) -> NDArray[np.float64]:
    """Return the mean of counts over kept sweeps, rounded to multiples of UNIT here and nowhere else.

    What is added is then exactly what is subtracted when the batch is replayed, in whatever order.
    """
    if kept & (kept - 1) == 0:  # dividing by a power of two is exact
        return np.asarray(total * np.float64(weight / kept), np.float64)
    return rounded(total * (weight / kept))


def rounded(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the nearest multiples of UNIT, whose sums and differences are exact."""
    return np.asarray(np.rint(values / UNIT) * UNIT)


def _joined(places: list[Any], pieces: list[Statistics]) -> Statistics:
    """Return the statistics of all documents in their order; `Sampled.counts` has the topics of words."""
    if len(pieces) == 1:
        return pieces[0]
    order = np.argsort(np.concatenate(places))
    joined: dict[str, Any] = {"n_kept": pieces[0].n_kept, "topic_word": pieces[0].topic_word[:0]}
    for field in fields(Statistics):
        parts = [getattr(piece, field.name) for piece in pieces]
        if field.name in _PER_DOCUMENT:
            joined[field.name] = np.concatenate(parts)[order]
        elif field.name not in joined:
            joined[field.name] = sum(parts[1:], start=parts[0])
    return Statistics(**joined)
