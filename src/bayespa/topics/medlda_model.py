"""Online MedLDA as a model of `bayespa.learning`: its prior, its local step, and its predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bayespa.native import medhdp
from bayespa.native.elementary import digamma
from bayespa.native.medhdp import HdpStepResult, HdpTopics
from bayespa.native.medlda import Documents, Schedule, Tasks, Topics, topic_factors
from bayespa.native.random import subkey
from bayespa.posteriors import Counts, Dirichlet, Gaussian, Joint, Sticks
from bayespa.topics.batches import Batches
from bayespa.topics.documents import UNIT, Batch
from bayespa.topics.first_look import answers, topics_by_labels, with_labels
from bayespa.topics.merge import matching
from bayespa.topics.model import Floats, Progressive, Sources, TopicModel
from bayespa.topics.sampling import Sampled, rounded, sample

BEGIN, PLACES = 10, 11  # the purposes of keys, see `bayespa.native.random.subkey`
TABLES = 100.0  # pseudo-counts of each topic, where its share of all topics is learned
CERTAIN = 2.0**50  # pseudo-counts that no corpus moves: sticks stay at 1/K to the precision of float32
NEVER = 1e-300  # pseudo-count of the topics behind the last: none is born


@dataclass(frozen=True, kw_only=True)
class MedLDA(TopicModel):
    """T tasks that share K topics."""

    n_topics: int  # K
    alpha: float
    learn_alpha: bool = False  # topics have shares of it of their own [MED-11]
    first_batch_size: int = 0  # documents that topics are looked for in before labels are learned
    first_sweeps: int = 0  # over these

    def prior(self, n_words: int) -> Joint:
        """Return the prior of topics and weights, and perhaps of the topics' shares of α."""
        shares = {"shares": Dirichlet.prior(1, self.n_topics, TABLES)} if self.learn_alpha else {}
        return Joint(
            topics=Dirichlet.prior(self.n_topics, n_words, np.rint(self.eta / UNIT) * UNIT),
            weights=Gaussian.prior(self.n_tasks, self.n_topics, self.weight_scale, self.bias_scale),
            **shares,
        )

    def require_continues(self, posterior: Joint) -> None:
        """Raise a ValueError unless the posterior has K topics, with shares if these are learned."""
        found = len(posterior["topics"].concentration)
        if found != self.n_topics:
            raise ValueError(
                f"n_topics is {self.n_topics}, but the model has {found} topics; set it back, or fit"
            )
        if self.learn_alpha != ("shares" in posterior.parts):
            raise ValueError(
                f"learn_alpha was {not self.learn_alpha} when learning began; set it back, or fit"
            )

    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Make room for new words and tasks: task t continues task source[t] (-1: none), with its sign."""
        prior, topics, weights = self.prior(n_words), posterior["topics"], posterior["weights"]
        if topics.concentration.shape[1] < n_words:
            topics = topics.extended(prior["topics"])
        if not np.array_equal(source, np.arange(len(weights.shift))) or (sign < 0.0).any():
            weights = weights.continued(prior["weights"], source, sign)
        return Joint(**{**posterior.parts, "topics": topics, "weights": weights})

    def aligned(self, mine: Joint, theirs: Joint, ancestor: Joint | None) -> Joint:
        """Without an ancestor topics come in any order: put each of theirs to the most alike of mine."""
        if ancestor is not None:
            return theirs
        order = matching(mine["topics"].mean(), theirs["topics"].mean())[1]
        topics, weights = theirs["topics"], theirs["weights"]
        topics = Dirichlet(topics.concentration[order])
        weights = Gaussian(weights.shift[:, order], weights.precision[:, order][:, :, order])
        parts = {**theirs.parts, "topics": topics, "weights": weights}
        if self.learn_alpha:
            parts["shares"] = Dirichlet(theirs["shares"].concentration[:, order])
        return Joint(**parts)

    def begin(self, batches: Batches) -> list[Joint]:
        """Return what topics the first mini-batches have, by a chain to which labels are words. [MED-10].

        One chain goes over all of them. Documents whose tokens weigh the same are sampled together, given the
        topics of those before.
        """
        if not self.first_sweeps:
            return []
        batch, edges = batches.joined(self.first_batch_size)
        has = answers(batch.labels, regression=self.regression)
        vocabulary = batch.documents.vocabulary
        n_own = len(vocabulary)
        n_words = n_own + has.shape[1]  # columns that no document has would drown small topics in their prior
        found = np.zeros((n_words, self.n_topics))
        tables = np.full(self.n_topics, TABLES if self.learn_alpha else CERTAIN)
        guesses: list[list[Counts]] = [[] for _ in edges[1:]]
        for group, (weight, rows, plain) in enumerate(batch.by_weight()):
            documents = with_labels(plain, has[rows])
            key = subkey(self.key, PLACES, group)
            start = topics_by_labels(documents, has[rows], self.n_topics, key, self.n_threads)
            schedule = Schedule(
                self.first_sweeps, self.first_sweeps - 1, 0, 0, seed=subkey(self.key, BEGIN, group)
            )
            tasks = Tasks.none(len(documents.ids), self.n_topics + 1)
            result = self._collapsed(documents, found, tables, weight, n_words, tasks, schedule, start)
            found += weight * result.topic_word
            tables += weight * result.tables
            of_batch = np.searchsorted(np.arange(len(batch))[rows], edges)
            cuts = np.concatenate([[0], np.cumsum(documents.counts)])[documents.indptr[of_batch]]
            tokens = np.repeat(documents.words, documents.counts)
            for guess, (begin, end) in zip(guesses, pairwise(cuts.tolist()), strict=True):
                word, topic = tokens[begin:end], result.topics[begin:end]
                own, place = np.unique(word[word < n_own], return_inverse=True)
                cells = place * self.n_topics + topic[word < n_own]
                counts = np.bincount(cells, minlength=len(own) * self.n_topics).astype(np.int32)
                guess.append(Counts(vocabulary[own], counts.reshape(-1, self.n_topics), weight))
        if not self.learn_alpha:
            return [Joint(topics=guess) for guess in guesses]
        part = np.diff(edges)[:, None, None] / edges[-1]  # of the tables, which are not told apart
        shares = rounded(part * (tables - TABLES))
        return [Joint(topics=t, shares=Dirichlet(s)) for t, s in zip(guesses, shares, strict=True)]

    def _collapsed(
        self,
        documents: Documents,
        others: Floats,
        tables: Floats,
        weight: float,
        n_words: int,
        tasks: Tasks,
        schedule: Schedule,
        start: NDArray[np.uint32] | None = None,
    ) -> HdpStepResult:
        """Sample topics with Φ integrated out, given counts (words, K) and tables (K,) of other documents.

        It is the local step of MedHDP, in which no topic is born: no second sampler.
        """
        eta, sticks = self.prior(1)["topics"].concentration[0, 0], Sticks.statistics(tables / weight)
        topics = HdpTopics(
            dirichlet=((others + eta) / weight).astype(np.float32),
            totals=(others.sum(axis=0) + eta * n_words) / weight,
            u=sticks.u,
            v=np.maximum(sticks.v, NEVER),
            own_variance=np.zeros(tasks.mean.shape[0]),
            concentration=self.alpha * self.n_topics / weight,
            stick_concentration=1.0,
            start_concentration=1.0,
            eta=eta / weight,
            n_words=n_words,
        )
        return medhdp.step(documents, topics, tasks, schedule, start=start, n_threads=self.n_threads)

    def local_step(self, posterior: Joint, batch: Batch, index: int) -> Progressive:
        """Sample the topics of the batch, first without labels, as a prediction would, then with them."""
        factors = self._factors(posterior, batch.documents.vocabulary)
        alpha = self.shares_prior(posterior)
        topics = Topics(factors, alpha.astype(np.float32))
        mean, covariance = self.weights(posterior)
        schedule = Schedule(2, 1, self.n_sweeps, self.burn_in, self.sampler, self.key, index)
        learn = self._averaging if self.averaging else self._gibbs
        sampled, weights, loss, margin = learn(topics, mean, covariance, batch, schedule)
        statistics = Joint(topics=sampled.counts, weights=weights)
        if self.learn_alpha:
            statistics = Joint(
                **statistics.parts, shares=self._tables(alpha, batch, sampled.labelled.topic_share)
            )
        return Progressive(statistics, loss, len(batch), margin)

    def _tables(self, alpha: Floats, batch: Batch, shares: NDArray[np.floating]) -> Dirichlet:
        """Return the expected number of tables that serve each topic, given E z̄ (n, K). [MED-11]."""
        documents, weights = batch.documents, batch.weights[:, None]
        ends = np.concatenate([[0], np.cumsum(documents.counts)])[documents.indptr]
        own = alpha / weights  # to tokens that weigh less, it weighs more
        tables = alpha * (digamma(own + np.diff(ends)[:, None] * shares) - digamma(own))
        return Dirichlet(rounded(tables).sum(axis=0, keepdims=True))

    def _gibbs(
        self, topics: Topics, mean: Floats, covariance: Floats, batch: Batch, schedule: Schedule
    ) -> tuple[Sampled, Gaussian, float, Floats]:
        sampled = sample(batch, topics, self._tasks(mean, covariance, batch.labels), schedule, self.n_threads)
        labelled, free = sampled.labelled, sampled.free
        precision = self._mixed(labelled.precision, free.precision)
        precision = 0.5 * (precision + precision.swapaxes(1, 2))  # mirror entries are rounded differently
        weights = Gaussian.unchecked(self._mixed(labelled.shift, free.shift), precision)
        return sampled, weights, float(labelled.loss.sum()), free.margin

    def _averaging(
        self, topics: Topics, mean: Floats, covariance: Floats, batch: Batch, schedule: Schedule
    ) -> tuple[Sampled, Gaussian, float, Floats]:
        """Alternate once between the dual given topics and topics given the dual. [MED-7]."""
        tasks = self._tasks(mean, covariance, batch.labels)
        before = sample(batch, topics, tasks, replace(schedule, sweeps=0, burn_in=0), self.n_threads).free
        dual, moved = self._dual(tasks, before.topic_share.astype(np.float64))
        tilted = replace(tasks, mean=moved, labels=dual.astype(np.float32))
        sampled = sample(batch, topics, tilted, replace(schedule, sampler="averaging"), self.n_threads)
        shares = self._mixed(sampled.labelled.topic_share, sampled.free.topic_share).astype(np.float64)
        shift, loss = self._averaged(tasks, shares)
        return sampled, Gaussian(shift, np.zeros_like(covariance)), loss, before.margin

    def topic_word(self, posterior: Joint) -> Floats:
        """Return Δ, (K, W)."""
        concentration: Floats = posterior["topics"].concentration
        return concentration

    def topic_mean(self, posterior: Joint, words: NDArray[np.integer] | None = None) -> Floats:
        """Return E Φ of all words or of some, (K, words)."""
        mean: Floats = posterior["topics"].mean(words)
        return mean

    def weights(self, posterior: Joint) -> tuple[Floats, Floats]:
        """Return mean (T, K) and covariance (T, K, K) of the topics' weights."""
        moments: tuple[Floats, Floats] = posterior["weights"].moments(n_threads=self.n_threads)
        return moments

    def shares_prior(self, posterior: Joint) -> Floats:
        """Return α of every topic, (K,): their mean is `alpha`."""
        if self.learn_alpha:
            mean: Floats = posterior["shares"].mean()[0]
            return self.alpha * self.n_topics * mean
        return np.full(self.n_topics, self.alpha)

    def _factors(self, posterior: Joint, vocabulary: NDArray[np.int64]) -> NDArray[np.float32]:
        topics = posterior["topics"]
        rows, totals = topics.concentration.T, topics.totals()
        return topic_factors(rows, totals, vocabulary, mean=self.mean_topics, n_threads=self.n_threads)
