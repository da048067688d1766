"""Words beside topics: what a word says of a label on its own, where the topics fall short. [MED-9].

A document's features x are √count · log((n + 1)/(n_w + ½)) of its words, scaled to length 1, where n_w of the
n documents seen so far have word w. Their weights u are learned after the topics, given the margin that the
topics alone have shown before they saw the label: words are passive where the topics are right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa import _native
from bayespa.learning import Before
from bayespa.native.elementary import log
from bayespa.native.linear import Rows, Zones
from bayespa.native.random import grid, normal
from bayespa.posteriors import Columns, Gaussian, Joint, Tally
from bayespa.topics.documents import Batch

Floats = NDArray[np.float64]
HALF = 0.5  # a document that every word counts as seen in, and all documents too


@dataclass(frozen=True)
class Words:
    """Words of T tasks: u ~ N(0, scale² I), with independent posteriors."""

    scale: float
    margin: float  # ε
    n_threads: int = 1

    def prior(self, n_tasks: int, n_words: int) -> dict[str, Any]:
        """Return the weights (T, W), and counts (1, 1 + W) of documents: of all, of those with each word."""
        return {
            "words": Gaussian.prior(n_tasks, n_words, self.scale, structure="diagonal"),
            "documents": Tally.unchecked(np.broadcast_to(HALF, (1, n_words + 1))),
        }

    def grown(
        self, posterior: Joint, n_words: int, source: NDArray[np.int64], sign: Floats
    ) -> dict[str, Any]:
        """Make room for new words and tasks: task t continues task source[t] (-1: none), with its sign."""
        prior, before = self.prior(len(source), n_words), posterior["words"]
        n_tasks, known = before.shift.shape
        if known == n_words and np.array_equal(source, np.arange(n_tasks)) and (sign > 0.0).all():
            return {}
        return {
            "words": before.continued(prior["words"], source, sign),
            "documents": posterior["documents"].extended(prior["documents"]),
        }

    def view(self, posterior: Joint) -> WordView:
        """Return what margins need of a posterior."""
        words = posterior["words"]
        return WordView(posterior["documents"].counts[0], words.shift.T, words.precision.T)

    def margins(self, view: WordView, batch: Batch, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Return mean and variance of uᵀx, (n, T); of given weights (T, W) the variance is 0."""
        vocabulary = batch.documents.vocabulary
        rows = features(batch, view.seen[0], view.seen[1 + vocabulary])
        if weights is not None:
            mean = rows.decide(_with_bias(weights.T[vocabulary]), self.n_threads)
            return mean, np.zeros_like(mean)
        shift, precision = view.shift[vocabulary], view.precision[vocabulary]
        mean = rows.decide(_with_bias(shift / precision), self.n_threads)
        return mean, rows.squared().decide(_with_bias(1.0 / precision), self.n_threads)

    def contributions(self, view: WordView, batch: Batch, task: int) -> Floats:
        """Return what each word of a document, in the order of the batch's vocabulary, adds to its margin."""
        vocabulary = batch.documents.vocabulary
        rows = features(batch, view.seen[0], view.seen[1 + vocabulary])
        added = np.zeros(len(vocabulary))
        added[rows.indices] = rows.values
        added *= view.shift[vocabulary, task] / view.precision[vocabulary, task]
        return added

    def propose(
        self, posterior: Joint, batch: Batch, margin: Floats, before: Before[Joint] | None = None
    ) -> tuple[dict[str, Any], Floats]:
        """Return what a batch adds, and uᵀx (n, T) before, given the topics' margins (n, T). [MED-9].

        Words have no latent variables: what the batch taught them before is always taken out.
        """
        view, vocabulary = self.view(posterior), batch.documents.vocabulary
        places = np.concatenate([[0], vocabulary + 1])
        seen, known = view.seen[places], [view.shift[vocabulary], view.precision[vocabulary]]
        if before is not None and "words" in before.statistics.parts:
            taught, counted = (before.statistics[name].part for name in ("words", "documents"))
            seen = seen - counted.counts[0]
            known = [now - old.T for now, old in zip(known, taught.to_arrays().values(), strict=True)]
        with_word = np.bincount(batch.documents.words, minlength=len(vocabulary))
        some = np.count_nonzero(np.diff(batch.documents.indptr))  # documents that have a word at all
        own = np.concatenate([[some], with_word]).astype(np.float64)
        rows = features(batch, *np.split(seen + own, [1]))
        guess = rows.decide(_with_bias(known[0] / known[1]), self.n_threads)
        shift, precision = _with_bias(known[0]), _with_bias(known[1], 1.0)
        _native.gibbs_diagonal(
            rows,
            self._wanted(batch.labels, margin),
            1.0 / self.margin,  # c ε = 1
            "moments",
            shift,
            precision,
            np.zeros(margin.shape[1]),
            self.n_threads,
        )
        learned = Gaussian.unchecked((shift[:-1] - known[0]).T, (precision[:-1] - known[1]).T)
        statistics = {"words": Columns(vocabulary, learned), "documents": Columns(places, Tally(own[None]))}
        return statistics, guess

    def _wanted(self, labels: NDArray[np.float32], margin: Floats) -> Zones:
        """Return where uᵀx has to lie for the sum of both margins to be right: anywhere without a label."""
        lower = np.where(labels > 0.0, self.margin - margin, -np.inf)
        return Zones(lower, np.where(labels < 0.0, -self.margin - margin, np.inf))


@dataclass(frozen=True)
class WordView:
    """What the margins of words need of a posterior."""

    seen: Floats  # (1 + W,), documents: all, and those with each word
    shift: Floats  # (W, T)
    precision: Floats  # (W, T)


def features(batch: Batch, n: Any, n_with: Floats) -> Rows:
    """Return x of the documents over the batch's vocabulary, each of length 1.

    Parameters
    ----------
    batch : Batch
    n : float
        Documents seen.
    n_with : (vocabulary,)
        Those with each word.
    """
    documents = batch.documents
    rarity = log((n + HALF) / n_with)
    x = np.sqrt(documents.counts) * rarity[documents.words]
    n_entries = np.diff(documents.indptr)
    length = np.sqrt(np.bincount(np.repeat(np.arange(len(batch)), n_entries), x * x, len(batch)))
    x /= np.repeat(np.maximum(length, np.finfo(float).tiny), n_entries)
    return Rows(documents.indptr, documents.words, x, len(documents.vocabulary))


def draw_words(key: int, words: Gaussian) -> Floats:
    """Draw u (T, W) from its posterior."""
    mean, variance = words.moments()
    drawn: Floats = mean + np.sqrt(variance) * normal(key, grid(*mean.shape))
    return drawn


def _with_bias(weights: Floats, value: float = 0.0) -> Floats:
    """Return weights (words + 1, T): the linear steps have a bias behind the words, which is not in use."""
    return np.concatenate([weights, np.full_like(weights, value, shape=(1, weights.shape[1]))])
