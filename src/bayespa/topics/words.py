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
from bayespa.native.elementary import log
from bayespa.native.linear import Rows, Zones
from bayespa.native.random import grid, normal
from bayespa.posteriors import Columns, Dirichlet, Gaussian, Joint
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
            "documents": Dirichlet.prior(1, n_words + 1, HALF),
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

    def features(self, posterior: Joint, batch: Batch, own: Floats | None = None) -> Rows:
        """Return x of the documents over the batch's vocabulary, each of length 1.

        Parameters
        ----------
        posterior : Joint
        batch : Batch
        own : (vocabulary + 1,), optional
            Documents to count in addition: all of the batch, and those with each word.
        """
        documents = batch.documents
        seen = posterior["documents"].concentration[0]
        n, n_with = seen[0], seen[1 + documents.vocabulary]
        if own is not None:
            n, n_with = n + own[0], n_with + own[1:]
        rarity = log((n + HALF) / n_with)
        x = np.sqrt(documents.counts) * rarity[documents.words]
        n_entries = np.diff(documents.indptr)
        length = np.sqrt(np.bincount(np.repeat(np.arange(len(batch)), n_entries), x * x, len(batch)))
        x /= np.repeat(np.maximum(length, np.finfo(float).tiny), n_entries)
        return Rows(documents.indptr, documents.words, x, len(documents.vocabulary))

    def margins(self, posterior: Joint, batch: Batch, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Return mean and variance of uᵀx, (n, T); of given weights (T, W) the variance is 0."""
        rows, vocabulary = self.features(posterior, batch), batch.documents.vocabulary
        if weights is not None:
            mean = rows.decide(_with_bias(weights.T[vocabulary]), self.n_threads)
            return mean, np.zeros_like(mean)
        shift, precision = (array.T[vocabulary] for array in posterior["words"].to_arrays().values())
        mean = rows.decide(_with_bias(shift / precision), self.n_threads)
        return mean, rows.squared().decide(_with_bias(1.0 / precision), self.n_threads)

    def contributions(self, posterior: Joint, batch: Batch, task: int) -> Floats:
        """Return what each word of a document, in the order of the batch's vocabulary, adds to its margin."""
        rows, vocabulary, words = (
            self.features(posterior, batch),
            batch.documents.vocabulary,
            posterior["words"],
        )
        added = np.zeros(len(vocabulary))
        added[rows.indices] = rows.values
        added *= words.shift[task, vocabulary] / words.precision[task, vocabulary]
        return added

    def learn(self, posterior: Joint, batch: Batch, margin: Floats) -> tuple[dict[str, Any], Floats]:
        """Return what a batch adds, and uᵀx (n, T) before, given the topics' margins (n, T). [MED-9]."""
        vocabulary = batch.documents.vocabulary
        with_word = np.bincount(batch.documents.words, minlength=len(vocabulary))
        some = np.count_nonzero(np.diff(batch.documents.indptr))  # documents that have a word at all
        own = np.concatenate([[some], with_word]).astype(np.float64)
        rows = self.features(posterior, batch, own)
        before = [array.T[vocabulary] for array in posterior["words"].to_arrays().values()]
        guess = rows.decide(_with_bias(before[0] / before[1]), self.n_threads)
        shift, precision = _with_bias(before[0]), _with_bias(before[1], 1.0)
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
        learned = Gaussian.unchecked((shift[:-1] - before[0]).T, (precision[:-1] - before[1]).T)
        statistics = {
            "words": Columns(vocabulary, learned),
            "documents": Columns(np.concatenate([[0], vocabulary + 1]), Dirichlet(own[None])),
        }
        return statistics, guess

    def _wanted(self, labels: NDArray[np.float32], margin: Floats) -> Zones:
        """Return where uᵀx has to lie for the sum of both margins to be right: anywhere without a label."""
        lower = np.where(labels > 0.0, self.margin - margin, -np.inf)
        return Zones(lower, np.where(labels < 0.0, -self.margin - margin, np.inf))


def draw_words(key: int, words: Gaussian) -> Floats:
    """Draw u (T, W) from its posterior."""
    mean, variance = words.moments()
    drawn: Floats = mean + np.sqrt(variance) * normal(key, grid(*mean.shape))
    return drawn


def _with_bias(weights: Floats, value: float = 0.0) -> Floats:
    """Return weights (words + 1, T): the linear steps have a bias behind the words, which is not in use."""
    return np.concatenate([weights, np.full_like(weights, value, shape=(1, weights.shape[1]))])
