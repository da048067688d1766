"""Gibbs MedLDA (gMedLDA): a Markov chain over topics and weights of a whole corpus.

The chain alternates between the topics of all tokens given the weights w, with Φ integrated out and the loss
exp(-2c (ε - y wᵀz̄)₊) as a factor; the augmenting λ given both, InverseGaussian; and w given topics and λ,
Gaussian. Topics are drawn by the local step of MedHDP with sticks fixed at 1/K.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from bayespa.estimators import documented
from bayespa.learning import Before
from bayespa.native import linalg
from bayespa.native.medlda import Schedule
from bayespa.native.random import grid, inverse_gaussian, subkey
from bayespa.posteriors import Columns, Dirichlet, Gaussian, Joint
from bayespa.topics.classifier import TopicClassifier
from bayespa.topics.documents import Batch
from bayespa.topics.medhdp import PIECE
from bayespa.topics.medlda import CERTAIN, MedLDA
from bayespa.topics.part import Floats, TopicStep, WordIds, draw_weights, on_grid
from bayespa.topics.scikit import ScikitClassifier

SCALES, CHAIN_WEIGHTS = 7, 8  # purposes of keys, see `bayespa.native.random.subkey`
NEAREST = 1e-9  # a smaller gap, in units of the margin, counts as none


@dataclass(frozen=True)
class Chain:
    """The state of a chain, and sums over its kept sweeps."""

    weights: Floats  # (T, K), w
    topics: list[NDArray[np.uint32]] = field(default_factory=list)  # of tokens, one array per token weight
    counts: list[Floats] = field(default_factory=list)  # (n_words, K), one array per token weight
    n_kept: int = 0
    sums: tuple[Floats, ...] = ()  # of counts, of E w and of E wwᵀ given topics and λ


@dataclass(frozen=True, kw_only=True)
class GibbsMedLDA(MedLDA):
    """MedLDA whose statistics are means over the sweeps of a chain, after `burn_in` sweeps.

    The first half of the burn-in draws topics without labels. Otherwise topics would stay where labels first
    put them.
    """

    evidence: int = 256  # documents from which the temperature is learned

    def near(self, posterior: Joint, words: WordIds, n_words: int) -> Joint:
        """Return the whole posterior, because the chain needs its size."""
        return posterior

    def propose(
        self, posterior: Joint, batch: Batch, index: int, before: Before[Joint] | None = None
    ) -> TopicStep:
        """Draw all topics once, then the weights; the chain continues from the step before."""
        n_words = posterior["topics"].concentration.shape[1]
        start = Chain(np.zeros((self.loss.n_tasks, self.n_topics)))
        if before is not None:
            start = before.step.carry  # type: ignore[attr-defined]  # a step of this class
        chain, shares, margin = self._sweep(start, batch, n_words, index)
        gap = self.loss.margin - batch.labels * margin
        mean, covariance = self._conditional(shares, gap, batch.labels, index).moments(
            n_threads=self.n_threads
        )
        drawn = draw_weights(subkey(self.key, CHAIN_WEIGHTS, index), mean, covariance)
        counts = sum(chain.counts[1:], start=chain.counts[0])
        new: tuple[Floats, ...] = (counts, mean, covariance + mean[:, :, None] * mean[:, None, :])
        if index > self.burn_in:
            new = tuple(before + now for before, now in zip(chain.sums, new, strict=True))
        chain = replace(chain, weights=drawn, n_kept=max(0, index - self.burn_in) + 1, sums=new)
        guess = self.infer(self.view(posterior), batch.first(self.evidence)).free.margin
        statistics = Joint(
            topics=Columns(
                batch.documents.vocabulary, Dirichlet(on_grid(chain.sums[0], 1.0, chain.n_kept).T)
            ),
            weights=self._averaged_weights(chain),
        )
        loss = 2.0 * self.loss.cost * float(np.nansum(np.maximum(gap, 0.0)))
        return TopicStep(statistics, loss, len(batch), margin=guess, carry=chain)

    def _sweep(self, chain: Chain, batch: Batch, n_words: int, index: int) -> tuple[Chain, Floats, Floats]:
        """Draw the topic of every token; return the chain, z̄ (n, K) and wᵀz̄ (n, T).

        Documents with the same token weight are drawn together, given the topics of all others.
        """
        n_topics = self.n_topics
        labels = batch.labels if index >= self.burn_in // 2 else np.full_like(batch.labels, np.nan)
        shares, margin = np.zeros((len(batch), n_topics)), np.zeros((len(batch), self.loss.n_tasks))
        counts, topics = list(chain.counts), list(chain.topics)
        for group, (weight, rows, documents) in enumerate(batch.by_weight()):
            others = np.zeros((len(documents.vocabulary), n_topics))
            for other, found in enumerate(counts):
                if other != group:
                    others += found
            start = topics[group] if group < len(topics) else None
            result = self._collapsed(
                documents,
                others,
                np.full(n_topics, CERTAIN),
                weight,
                n_words,
                self.loss.tasks(
                    np.pad(chain.weights, [(0, 0), (0, 1)]),
                    np.zeros((self.loss.n_tasks, n_topics + 1, n_topics + 1)),
                    labels[rows],
                ),
                Schedule(
                    free_sweeps=int(start is None),
                    free_burn_in=int(start is None),
                    sweeps=1,
                    seed=subkey(self.key, PIECE, group) if group else self.key,
                    round=index,
                ),
                start,
            )
            counts[group : group + 1] = [on_grid(result.topic_word, weight, 1)]
            topics[group : group + 1] = [result.topics]
            shares[rows], margin[rows] = result.labelled.topic_share, result.labelled.margin
        return replace(chain, topics=topics, counts=counts), shares, margin

    def _conditional(self, shares: Floats, gap: Floats, labels: NDArray[np.float32], index: int) -> Gaussian:
        """Draw λ given topics and weights [MED-2], and return w given λ and topics [MED-4]."""
        known, cost, margin = ~np.isnan(gap), self.loss.cost, self.loss.margin
        distance = np.maximum(np.abs(np.where(known, gap, margin)), NEAREST * margin)
        key = subkey(self.key, SCALES, index)
        inverse = inverse_gaussian(key, grid(*gap.shape), 1.0 / (cost * distance), 1.0, self.n_threads)
        weights = np.where(known, cost * cost * inverse, 0.0)
        values = (
            np.where(known, labels, 0.0)
            * self.loss.cost
            * (1.0 + self.loss.cost * self.loss.margin * inverse)
        )
        shift, precision = linalg.regression_sums(shares, weights, values, n_threads=self.n_threads)
        prior: Gaussian = self.prior(1)["weights"]
        return prior + Gaussian(shift, precision)

    def _averaged_weights(self, chain: Chain) -> Gaussian:
        """Return the statistics that turn the prior of w into the moments of the kept sweeps."""
        mean, second = (total / chain.n_kept for total in chain.sums[1:])
        factors, _ = linalg.cholesky(second - mean[:, :, None] * mean[:, None, :], n_threads=self.n_threads)
        found = Gaussian(
            linalg.solve(factors, mean, n_threads=self.n_threads),
            linalg.inverse(factors, n_threads=self.n_threads),
        )
        prior: Gaussian = self.prior(1)["weights"]
        return found - prior


@documented
@dataclass(eq=False, repr=False)
class GibbsMedLDAClassifier(ScikitClassifier, TopicClassifier, BaseEstimator):  # type: ignore[misc]
    """Classifier that learns topics by a Markov chain over the whole corpus: Gibbs MedLDA (gMedLDA).

    The batch learner that the paper compares with online MedLDA. It samples from the exact posterior, while
    online MedLDA assumes that topics and weights are independent. It needs many sweeps over the corpus.

    Parameters
    ----------
    n_topics : int
        K, the number of topics.
    cost : float
        c, the weight of the loss. The product of `cost` and `margin` matters: it is about how many words of
        evidence the labels of a document are worth.
    weight_scale : float
        v, prior standard deviation of a weight, in the unit of `margin`.
    bias_scale : float
        Prior standard deviation of the part that all weights of a task share. It acts as a bias, because
        topic shares sum to one.
    alpha : float
        Dirichlet prior of a document's topic proportions.
    eta : float
        Dirichlet prior of a topic's words, rounded to a multiple of 2^-20.
    n_sweeps : int
        Sweeps over the corpus.
    burn_in : int
        How many of them are dropped; the model is the mean over the rest. The first half of the burn-in draws
        topics without labels.
    multi_class : {"shared", "ovr"}
        All tasks share K topics (gMedLDA-mt), or each has its own K.
    prediction_sweeps : int
        Gibbs sweeps over a document to predict; the first quarter is burn-in.
    verbose : int
        1 or 2 report every sweep.

    Notes
    -----
    The topics of up to 128 documents are drawn one after the other, each given all others. A larger corpus is
    split into shards of 128 documents. A shard sees the topics of other shards as they were before the sweep,
    as in approximate distributed LDA (Newman et al., 2009). So threads do not change the result.

    The temperature of probabilities is learned from label-free predictions of training documents, so
    probabilities may be too high. Online MedLDA learns it from documents that it has not yet learned.

    References
    ----------
    J. Zhu, N. Chen, H. Perkins and B. Zhang, Gibbs max-margin topic models with data augmentation, JMLR 2014.

    Examples
    --------
    >>> from bayespa import GibbsMedLDAClassifier
    >>> from bayespa.datasets import make_topic_corpus
    >>> corpus = make_topic_corpus(600, n_words=300, n_topics=6, n_labels=3, random_state=0)
    >>> model = GibbsMedLDAClassifier(n_topics=6, n_sweeps=30, burn_in=20, random_state=0)
    >>> model = model.fit(corpus.data[:500], corpus.target[:500])
    >>> model.score(corpus.data[500:], corpus.target[500:]) > 0.8
    True
    """

    n_topics: int = 40
    _: KW_ONLY
    cost: float = 32.0
    weight_scale: float = 0.05
    bias_scale: float = 0.3
    alpha: float = 0.1
    eta: float = 0.02
    n_sweeps: int = 100
    burn_in: int = 60
    prediction_sweeps: int = 50

    _evidence = 256

    def _defaults(self) -> dict[str, Any]:
        return {}

    def _schedule(self, values: dict[str, Any]) -> dict[str, Any]:
        return {"batch_size": None, "n_passes": values["n_sweeps"]}

    def _topics(self, values: dict[str, Any], **shared: Any) -> GibbsMedLDA:
        return GibbsMedLDA(n_topics=int(values["n_topics"]), alpha=float(values["alpha"]), **shared)
