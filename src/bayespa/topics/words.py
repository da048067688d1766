"""Words beside topics: weights of all words, which learn what topics leave of a margin. [MED-9].

Topics are a narrow view of a document. A linear model of its words learns in the same pass: the posterior is
a diagonal Gaussian, moved by the squared hinge [PA-5] where the sum of both margins is violated. Its natural
parameters are multiples of UNIT: their sums and differences are exact, so what a mini-batch taught can be
taken out without a trace, and each takes four bytes in a file (`bayespa.text.cells`).
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
from bayespa.topics.documents import UNIT, Batch

Floats = NDArray[np.float64]
SHARE = 0.3  # of the topics' margin that counts beside words: they learn the rest
RUN = 0.5  # the value of a run of several words, where that of a word is 1
BIAS = 0.5  # the value of a feature that every document has
COST = 0.5  # c of the squared hinge, for decisions in their unit


@dataclass(frozen=True)
class Words:
    """Words of T tasks: u ~ N(0, scale² I), with independent posteriors. Column 0 is a bias."""

    scale: float
    margin: float  # ε
    regression: bool = False
    n_threads: int = 1

    @property
    def unit(self) -> float:
        """Of decisions: ε, or the standard deviation of targets."""
        return 1.0 if self.regression else self.margin

    def prior(self, n_tasks: int, n_words: int) -> dict[str, Any]:
        """Return the weights (T, 1 + W), and counts (1, 1 + W) of documents: all, and with each word."""
        return {
            "words": Gaussian.prior(n_tasks, 1 + n_words, self.scale, structure="diagonal"),
            "documents": Tally.unchecked(np.broadcast_to(1.0, (1, 1 + n_words))),
        }

    def grown(
        self, posterior: Joint, n_words: int, source: NDArray[np.int64], sign: Floats
    ) -> dict[str, Any]:
        """Make room for new words and tasks: task t continues task source[t] (-1: none), with its sign."""
        prior, before = self.prior(len(source), n_words), posterior["words"]
        n_tasks, known = before.shift.shape
        if known == 1 + n_words and np.array_equal(source, np.arange(n_tasks)) and (sign > 0.0).all():
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
        """Return mean and variance of uᵀx, (n, T); of given weights (T, 1 + W) the variance is 0."""
        places = _places(batch)
        rows = features(batch, view.seen[places])
        if weights is not None:
            mean = rows.decide(weights.T[places], self.n_threads)
            return mean, np.zeros_like(mean)
        shift, precision = view.shift[places], view.precision[places]
        mean = rows.decide(shift / precision, self.n_threads)
        return mean, rows.squared().decide(1.0 / precision, self.n_threads)

    def contributions(self, view: WordView, batch: Batch, task: int) -> Floats:
        """Return what each word of a document, in the order of the batch's vocabulary, adds to its margin."""
        places = _places(batch)
        rows = features(batch, view.seen[places])
        added = np.zeros(len(places) - 1)
        added[rows.indices] = rows.values
        added *= (view.shift[places, task] / view.precision[places, task])[:-1]
        return added

    def propose(
        self, posterior: Joint, batch: Batch, margin: Floats, before: Before[Joint] | None = None
    ) -> tuple[dict[str, Any], Floats, float]:
        """Return what a batch adds, uᵀx (n, T) before, and the loss, given margins of topics (n, T). [MED-9].

        Words have no latent variables: what the batch taught them before is always taken out.
        """
        view, places = self.view(posterior), _places(batch)
        seen, known = view.seen[places], [view.shift[places], view.precision[places]]
        if before is not None and "words" in before.statistics:
            taught, counted = (before.statistics[name].part for name in ("words", "documents"))
            seen = seen - counted.counts[0]
            known = [now - old.T for now, old in zip(known, taught.to_arrays().values(), strict=True)]
        with_word = np.bincount(batch.documents.words, minlength=len(places) - 1)
        some = np.count_nonzero(np.diff(batch.documents.indptr))  # documents that have a word at all
        own = np.append(with_word, some).astype(np.float64)
        rows = features(batch, seen + own)
        guess = rows.decide(known[0] / known[1], self.n_threads)
        shift, precision, loss = known[0].copy(), known[1].copy(), np.zeros(margin.shape[1])
        _native.gibbs_diagonal(
            rows,
            self._wanted(batch.labels, SHARE * margin),
            COST / (self.unit * self.unit),
            "squared",
            shift,
            precision,
            loss,
            UNIT,
            self.n_threads,
        )
        learned = Gaussian.unchecked((shift - known[0]).T, (precision - known[1]).T)
        statistics = {"words": Columns(places, learned), "documents": Columns(places, Tally(own[None]))}
        return statistics, guess, float(loss.sum())

    def _wanted(self, labels: NDArray[np.float32], margin: Floats) -> Zones:
        """Return where uᵀx has to lie for the sum of both margins to be right: anywhere without a label."""
        if self.regression:
            rest = labels - margin
            lower, upper = rest - self.margin, rest + self.margin
            return Zones(np.where(np.isnan(rest), -np.inf, lower), np.where(np.isnan(rest), np.inf, upper))
        lower = np.where(labels > 0.0, self.margin - margin, -np.inf)
        return Zones(lower, np.where(labels < 0.0, -self.margin - margin, np.inf))


@dataclass(frozen=True)
class WordView:
    """What the margins of words need of a posterior."""

    seen: Floats  # (1 + W,), documents and one more: all, and those with each word
    shift: Floats  # (1 + W, T)
    precision: Floats  # (1 + W, T)


def _places(batch: Batch) -> NDArray[np.int64]:
    """Return the columns of the batch's words, and behind them, as the linear steps have it, the bias."""
    return np.append(batch.documents.vocabulary + 1, 0)


def features(batch: Batch, seen: Floats) -> Rows:
    """Return x of the documents over the batch's vocabulary, whose words have length 1 without the bias.

    Runs of several words stand beside them in the same unit: what words have does not depend on them, unless
    they would be longer than the words.

    Parameters
    ----------
    batch : Batch
    seen : (vocabulary + 1,)
        Documents with each word, and all of them; one more of each.
    """
    documents = batch.documents
    rarity = 1.0 + log(seen[-1] / seen[:-1])
    x = (1.0 + log(documents.counts.astype(np.float64))) * rarity[documents.words]
    n_entries = np.diff(documents.indptr)
    rows = np.repeat(np.arange(len(batch)), n_entries)
    if batch.runs is None:
        length = np.sqrt(np.bincount(rows, x * x, len(batch)))
    else:
        run = batch.runs[documents.words]
        x[run] *= RUN
        alike = (np.bincount(rows, np.where(own, x * x, 0.0), len(batch)) for own in (~run, run))
        length = np.sqrt(np.maximum(*alike))
    x /= np.repeat(np.maximum(length, np.finfo(float).tiny), n_entries)
    return Rows(documents.indptr, documents.words, x, len(documents.vocabulary), BIAS)


def draw_words(key: int, words: Gaussian) -> Floats:
    """Draw u (T, 1 + W) from its posterior."""
    mean, variance = words.moments()
    drawn: Floats = mean + np.sqrt(variance) * normal(key, grid(*mean.shape))
    return drawn
