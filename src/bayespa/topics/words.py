"""Words beside topics: weights of all words, which learn what topics leave of a margin. [MED-9].

Topics only summarise a document. A linear model of its words learns in the same pass: the posterior is a
diagonal Gaussian, moved by the squared hinge [PA-5] where the sum of both margins is too small. Its natural
parameters are multiples of UNIT: their sums and differences are exact, so what a mini-batch taught can be
subtracted exactly, and most take two bytes in a file (`bayespa.text.cells`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.learning import Before
from bayespa.native.linear import Rows, Zones
from bayespa.native.random import grid, normal
from bayespa.native.words import WordTables, decide_by_words, features, learn_words
from bayespa.posteriors import Columns, Gaussian, Joint, Tally
from bayespa.topics.documents import UNIT, Batch

Floats = NDArray[np.float64]
SHARE = 0.3  # of the topics' margin that counts; words learn the rest
RUN = 0.5  # the value of a run of several words, where that of a word is 1
BIAS = 0.5  # the value of a feature that every document has
KEPT = 2.0**-5  # the share of what was learned of a class that has changed
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

    def forgotten(self, posterior: Joint, tasks: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the weights, of which some tasks (T,) have forgotten all but a share of `KEPT`."""
        before = posterior["words"]
        prior = Gaussian.prior(1, before.shift.shape[1], self.scale, structure="diagonal")
        shift, precision = np.array(before.shift), np.array(before.precision)
        shift[tasks] = np.rint(KEPT * before.shift[tasks] / UNIT) * UNIT
        above = before.precision[tasks] - prior.precision
        precision[tasks] = prior.precision + np.rint(KEPT * above / UNIT) * UNIT
        return {"words": Gaussian.unchecked(shift, precision, own=True)}

    def view(self, posterior: Joint) -> WordView:
        """Return what margins need of a posterior."""
        words = posterior["words"]
        return WordView(posterior["documents"].counts[0], words.shift.T, words.precision.T)

    def margins(self, view: WordView, batch: Batch, weights: Floats | None = None) -> Floats:
        """Return the mean of uᵀx, (n, T), or uᵀx for given weights (T, 1 + W)."""
        places = _places(batch)
        rows = self.features(batch, view.seen[places])
        if weights is not None:
            return rows.decide(weights.T[places], self.n_threads)
        return decide_by_words(rows, WordTables(places, view.shift, view.precision), self.n_threads)

    def variances(self, view: WordView, batch: Batch) -> Floats:
        """Return the variance of uᵀx, (n, T)."""
        places = _places(batch)
        rows = self.features(batch, view.seen[places])
        return rows.squared().decide(1.0 / view.precision[places], self.n_threads)

    def contributions(self, view: WordView, batch: Batch, task: int) -> Floats:
        """Return what each word of a document, in the order of the batch's vocabulary, adds to its margin."""
        places = _places(batch)
        rows = self.features(batch, view.seen[places])
        added = np.zeros(len(places) - 1)
        added[rows.indices] = rows.values
        added *= (view.shift[places, task] / view.precision[places, task])[:-1]
        return added

    def propose(
        self,
        posterior: Joint,
        batch: Batch,
        margin: Floats,
        often: Floats,
        before: Before[Joint] | None = None,
    ) -> tuple[dict[str, Any], Floats, float]:
        """Return what a batch adds, uᵀx (n, T) before, and the loss. [MED-9].

        Words have no latent variables: what the batch taught them before is always subtracted first.

        Parameters
        ----------
        posterior : Joint
        batch : Batch
        margin : (n, T)
            Of the topics.
        often : (n,)
            As how many documents each counts.
        before : Before, optional
            What the batch taught before.
        """
        view, places = self.view(posterior), _places(batch)
        seen, taught = view.seen[places], None
        if before is not None and "words" in before.statistics:
            words, counted = (before.statistics[name].part for name in ("words", "documents"))
            seen, taught = seen - counted.counts[0], (words.shift.T, words.precision.T)
        with_word = np.bincount(batch.documents.words, minlength=len(places) - 1)
        some = np.count_nonzero(np.diff(batch.documents.indptr))  # documents that have a word at all
        own = np.append(with_word, some).astype(np.float64)
        learned = learn_words(
            self.features(batch, seen + own),
            self._wanted(batch.labels, SHARE * margin, often),
            WordTables(places, view.shift, view.precision),
            taught,
            COST / (self.unit * self.unit),
            UNIT,
            self.n_threads,
        )
        added = Gaussian.unchecked(learned.shift.T, learned.precision.T)
        statistics = {"words": Columns(places, added), "documents": Columns(places, Tally(own[None]))}
        return statistics, learned.guess, float(learned.loss.sum())

    def features(self, batch: Batch, seen: Floats) -> Rows:
        """Return x of the documents over the batch's vocabulary; without bias and runs it has length 1.

        Runs of several words have the same unit, so that they do not change the entries of words. Only if
        the vector of the runs is the longer one, it is the runs that have length 1.

        Parameters
        ----------
        batch : Batch
        seen : (vocabulary + 1,)
            Documents with each word, and all of them; one more of each.
        """
        return features(batch.documents, seen, batch.runs, RUN, BIAS, self.n_threads)

    def _wanted(self, labels: NDArray[np.float32], margin: Floats, often: Floats) -> Zones:
        """Return where uᵀx must lie for the sum of both margins to be right; without a label, anywhere."""
        if self.regression:
            rest = labels - margin
            lower, upper = rest - self.margin, rest + self.margin
            known = ~np.isnan(rest)
            return Zones(np.where(known, lower, -np.inf), np.where(known, upper, np.inf), often)
        lower = np.where(labels > 0.0, self.margin - margin, -np.inf)
        return Zones(lower, np.where(labels < 0.0, -self.margin - margin, np.inf), often)


@dataclass(frozen=True)
class WordView:
    """What the margins of words need of a posterior."""

    seen: Floats  # (1 + W,), documents and one more: all, and those with each word
    shift: Floats  # (1 + W, T)
    precision: Floats  # (1 + W, T)


def _places(batch: Batch) -> NDArray[np.int64]:
    """Return the columns of the batch's words and, after them, of the bias: the order of the linear steps."""
    return np.append(batch.documents.vocabulary + 1, 0)


def draw_words(key: int, words: Gaussian) -> Floats:
    """Draw u (T, 1 + W) from its posterior."""
    mean, variance = words.moments()
    drawn: Floats = mean + np.sqrt(variance) * normal(key, grid(*mean.shape))
    return drawn
