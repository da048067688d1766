"""Online MedLDA (algorithm 1 of the paper): prior, initialisation, step, and estimators."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayespa.checks import require_number
from bayespa.native import medhdp
from bayespa.native.elementary import digamma
from bayespa.native.medhdp import HdpStepResult, HdpTopics
from bayespa.native.medlda import Documents, Schedule, Tasks, Topics
from bayespa.native.random import subkey
from bayespa.posteriors import Counts, Dirichlet, Gaussian, Joint, Sticks
from bayespa.topics.classifier import OnlineTopicClassifier
from bayespa.topics.documents import Batch, Batches
from bayespa.topics.initialisation import answers, topics_by_labels, with_labels
from bayespa.topics.merge import matching
from bayespa.topics.online import OnlineEstimator
from bayespa.topics.part import Floats, Sampled, Sources, TopicPart, TopicStep, View, WordIds, rounded, sample
from bayespa.topics.regressor import TopicRegressor
from bayespa.topics.supervised import SupervisedTransformer

BEGIN, PLACES = 10, 11  # purposes of keys, see `bayespa.native.random.subkey`
TABLES = 100.0  # prior pseudo-counts of each topic, if shares of topics are learned
CERTAIN = 2.0**50  # pseudo-counts that no corpus changes: sticks stay at 1/K to the precision of float32
NEVER = 1e-300  # pseudo-count of topics after the last: no topic is born


@dataclass(frozen=True, kw_only=True)
class MedLDA(TopicPart):
    """T tasks that share K topics."""

    n_topics: int  # K
    alpha: float
    learn_alpha: bool = False  # each topic has its own share of α [MED-11]
    first_documents: int = 0  # documents that initialise the topics before labels are learned
    first_sweeps: int = 0  # sweeps of the initialisation

    # Posterior

    def prior(self, n_words: int) -> Joint:
        """Return the prior of topics and weights and, if they are learned, of the shares of α."""
        shares = {"shares": Dirichlet.prior(1, self.n_topics, TABLES)} if self.learn_alpha else {}
        loss = self.loss
        return Joint(
            topics=Dirichlet.prior(self.n_topics, n_words, self._eta),
            weights=Gaussian.prior(loss.n_tasks, self.n_topics, loss.weight_scale, loss.bias_scale),
            **shares,
        )

    def require_continues(self, posterior: Joint) -> None:
        """Raise a ValueError unless the posterior has K topics, with shares if these are learned."""
        found = len(posterior["topics"].concentration)
        if found != self.n_topics:
            raise ValueError(
                f"n_topics is {self.n_topics}, but the model has {found} topics; set it back, or fit"
            )
        if self.learn_alpha != ("shares" in posterior):
            raise ValueError(
                f"learn_alpha was {not self.learn_alpha} when learning began; set it back, or fit"
            )

    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Extend the posterior by words and tasks; task t continues task source[t] (-1: new) with a sign."""
        prior, topics, weights = self.prior(n_words), posterior["topics"], posterior["weights"]
        if topics.concentration.shape[1] < n_words:
            topics = topics.extended(prior["topics"])
        if not np.array_equal(source, np.arange(len(weights.shift))) or (sign < 0.0).any():
            weights = weights.continued(prior["weights"], source, sign)
        return Joint(posterior, topics=topics, weights=weights)

    def aligned(self, mine: Joint, theirs: Joint, ancestor: Joint | None) -> Joint:
        """Return their topics in the order of my most similar ones, if there is no common ancestor."""
        if ancestor is not None:
            return theirs
        order = matching(mine["topics"].mean(), theirs["topics"].mean())[1]
        topics, weights = theirs["topics"], theirs["weights"]
        topics = Dirichlet(topics.concentration[order])
        weights = Gaussian(weights.shift[:, order], weights.precision[:, order][:, :, order])
        shares = {"shares": Dirichlet(theirs["shares"].concentration[:, order])} if self.learn_alpha else {}
        return Joint(theirs, topics=topics, weights=weights, **shares)

    def near(self, posterior: Joint, words: WordIds, n_words: int) -> Joint:
        """Return the posterior restricted to some words."""
        shares = {"shares": posterior["shares"]} if self.learn_alpha else {}
        topics = posterior["topics"].near(words, n_words, self._eta)
        return Joint(topics=topics, weights=posterior["weights"], **shares)

    def view(self, posterior: Joint, n_words: int | None = None) -> View:
        """Return what sampling needs from a posterior, of whose words topics use only n_words."""
        topics = posterior["topics"]
        alpha = np.full(self.n_topics, self.alpha)
        if self.learn_alpha:  # its mean is `alpha`
            alpha = self.alpha * self.n_topics * posterior["shares"].mean()[0]
        weights = posterior["weights"].moments(n_threads=self.n_threads)
        totals = topics.totals()
        if n_words is not None:  # the others have the prior
            totals = totals + self._eta * (n_words - topics.concentration.shape[1])
        return View(topics.concentration.T, totals, alpha, *weights)

    def topic_word(self, posterior: Joint) -> Floats:
        """Return Δ, (K, W)."""
        concentration: Floats = posterior["topics"].concentration
        return concentration

    # Initialisation

    def guesses(self, batches: Batches) -> list[TopicStep]:
        """Return the topics of the first mini-batches, found by sweeps that treat labels as words [MED-10].

        One chain goes over all mini-batches. Documents with the same token weight are sampled together, given
        the topics of the documents before.
        """
        if not self.first_sweeps:
            return []
        batch, edges = batches.joined(self.first_documents)
        batch = batch.topical
        has = answers(batch.labels, regression=self.loss.regression)
        vocabulary = batch.documents.vocabulary
        n_own = len(vocabulary)
        n_words = n_own + has.shape[1]  # unused columns would drown small topics in their prior
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
        found_parts = [Joint(topics=guess) for guess in guesses]
        if self.learn_alpha:
            part = np.diff(edges)[:, None, None] / edges[-1]  # split the tables by the sizes of mini-batches
            shares = rounded(part * (tables - TABLES))
            found_parts = [Joint(topics=t, shares=Dirichlet(s)) for t, s in zip(guesses, shares, strict=True)]
        return [TopicStep(statistics, 0.0, 0, margin=np.empty((0, 0))) for statistics in found_parts]

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

        It uses the local step of MedHDP, without new topics.
        """
        eta, sticks = self._eta, Sticks.statistics(tables / weight)
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

    # Step

    def step(self, near: Joint, batch: Batch, index: int) -> TopicStep:
        """Sample the topics of the batch, first without labels, as in prediction, then with them."""
        view = self.view(near)
        topics = self._topics(view, np.arange(len(batch.documents.vocabulary)))
        schedule = Schedule(2, 1, self.n_sweeps, self.burn_in, self.loss.sampler, self.key, index)
        learn = self._averaging if self.loss.averaging else self._gibbs
        sampled, weights, loss, margin = learn(topics, view.mean, view.covariance, batch, schedule)
        shares = {}
        if self.learn_alpha:
            shares = {"shares": self._tables(view.alpha, batch, sampled.labelled.topic_share)}
        statistics = Joint(topics=[Counts(*piece) for piece in sampled.counts], weights=weights, **shares)
        return TopicStep(statistics, loss, len(batch), margin=margin)

    def _tables(self, alpha: Floats, batch: Batch, shares: NDArray[np.floating]) -> Dirichlet:
        """Return the expected number of tables of each topic, given E z̄ (n, K) [MED-11]."""
        documents, weights = batch.documents, batch.weights[:, None]
        ends = np.concatenate([[0], np.cumsum(documents.counts)])[documents.indptr]
        own = alpha / weights  # relative to the weight of a token
        tables = alpha * (digamma(own + np.diff(ends)[:, None] * shares) - digamma(own))
        return Dirichlet(rounded(tables).sum(axis=0, keepdims=True))

    def _gibbs(
        self, topics: Topics, mean: Floats, covariance: Floats, batch: Batch, schedule: Schedule
    ) -> tuple[Sampled, Gaussian, float, Floats]:
        tasks = self.loss.tasks(mean, covariance, batch.labels)
        sampled = sample(batch, topics, tasks, schedule, self.n_threads)
        labelled, free = sampled.labelled, sampled.free
        precision = self.loss.mixed(labelled.precision, free.precision)
        precision = 0.5 * (precision + precision.swapaxes(1, 2))  # mirrored entries are rounded differently
        weights = Gaussian.unchecked(self.loss.mixed(labelled.shift, free.shift), precision)
        return sampled, weights, float(labelled.loss.sum()), free.margin

    def _averaging(
        self, topics: Topics, mean: Floats, covariance: Floats, batch: Batch, schedule: Schedule
    ) -> tuple[Sampled, Gaussian, float, Floats]:
        """Alternate once between the dual given topics and topics given the dual [MED-7]."""
        tasks = self.loss.tasks(mean, covariance, batch.labels)
        before = sample(batch, topics, tasks, replace(schedule, sweeps=0, burn_in=0), self.n_threads).free
        dual, moved = self.loss.dual(tasks, before.topic_share.astype(np.float64), self.n_threads)
        tilted = replace(tasks, mean=moved, labels=dual.astype(np.float32))
        sampled = sample(batch, topics, tilted, replace(schedule, sampler="averaging"), self.n_threads)
        shares = self.loss.mixed(sampled.labelled.topic_share, sampled.free.topic_share).astype(np.float64)
        shift, loss = self.loss.averaged(tasks, shares, self.n_threads)
        return sampled, Gaussian(shift, np.zeros_like(covariance)), loss, before.margin


_ALONE = {"weight_scale": 0.05, "bias_scale": 0.3, "alpha": 0.4, "learn_alpha": False, "first_sweeps": 0}
_EXPERT = {
    "n_iterations": 1,
    "n_sweeps": 4,
    "burn_in": 2,
    "first_documents": 4096,
    "sampler": "collapsed",
    "rule": "gibbs",
    "label_free": 0.5,
    "topic_estimate": "mean",
    "prediction_sweeps": 50,
}


@dataclass(eq=False, repr=False)
class MedLDAEstimator(OnlineEstimator, SupervisedTransformer):
    """Base class of classifier and regressor.

    Parameters
    ----------
    n_topics : int
        K, the number of topics.
    alpha : float or None
        Dirichlet prior of a document's topic proportions; if `learn_alpha`, its mean over the topics. None:
        0.8 if words decide, too, else 0.4.
    eta : float
        Dirichlet prior of a topic's words, rounded to a multiple of 2^-20.
    """

    n_topics: int = 40
    _: KW_ONLY
    alpha: float | None = None
    eta: float = 0.02

    _merged_alike: ClassVar[tuple[str, ...]] = ("n_topics", "learn_alpha")

    def _topics(self, values: dict[str, Any], **shared: Any) -> MedLDA:
        require_number("first_documents", values["first_documents"], 1, whole=True)
        return MedLDA(
            n_topics=int(values["n_topics"]),
            alpha=float(values["alpha"]),
            learn_alpha=bool(values["learn_alpha"]),
            first_documents=int(values["first_documents"]),
            first_sweeps=int(values["first_sweeps"]),
            **shared,
        )

    def _first_call(self) -> int | None:
        """Return how many documents the first call should have, if that matters."""
        values = self._values()
        looks = values["first_sweeps"] and values["decides"] != "words"
        return values["first_documents"] if looks else None

    @property
    def alpha_(self) -> Floats:
        """The Dirichlet prior of topic proportions, (K,); one-vs-rest has those of all tasks."""
        return np.concatenate([view.alpha for _, view in self._fitted().knowledge.views])


@dataclass(eq=False, repr=False, kw_only=True)
class MedLDAOfClasses(OnlineTopicClassifier, MedLDAEstimator):
    """Online MedLDA for classes; `MedLDAClassifier` explains it."""

    _name = "MedLDAClassifier"

    def _defaults(self) -> dict[str, Any]:
        defaults = {**_EXPERT, **_ALONE, "cost": 256.0, "word_scale": 1.0}
        if self.multi_class == "ovr":
            return {**defaults, "cost": 512.0, "weight_scale": 2.0**-6, "bias_scale": 0.0}
        if self.decides == "topics+words":
            defaults |= {"cost": 12.0, "alpha": 0.8, "learn_alpha": True, "first_sweeps": 100}
            defaults["prediction_sweeps"] = 12  # experiments/sweeps.py
        return defaults


@dataclass(eq=False, repr=False, kw_only=True)
class MedLDAOfNumbers(TopicRegressor, MedLDAEstimator):
    """Online MedLDA for numbers; `MedLDARegressor` explains it.

    Parameters
    ----------
    alpha : float
        Dirichlet prior of a document's topic proportions, or its mean over the topics.
    """

    _name = "MedLDARegressor"

    alpha: float = 0.4
    batch_size: int | None = 64

    def _defaults(self) -> dict[str, Any]:
        return {**_EXPERT, "bias_scale": 1.0, "learn_alpha": False, "first_sweeps": 0, "word_scale": 1.0}
