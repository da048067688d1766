"""Online MedHDP (algorithm 2 of the paper): posterior, step, and estimators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayespa.learning import Before
from bayespa.native.medhdp import HdpStepResult, HdpTopics, beside_bias, step, with_bias
from bayespa.native.medlda import Documents, Schedule, Statistics, Tasks
from bayespa.native.random import subkey
from bayespa.posteriors import Gaussian, Joint
from bayespa.topics.classifier import OnlineTopicClassifier
from bayespa.topics.documents import UNIT, Batch
from bayespa.topics.hdp import EXPERT, HdpTransformer
from bayespa.topics.merge import matching
from bayespa.topics.part import (
    Floats,
    Sampled,
    Sources,
    TopicPart,
    TopicStep,
    View,
    WordIds,
    on_grid,
    rounded,
)
from bayespa.topics.regressor import TopicRegressor
from bayespa.topics.supervised import SupervisedTransformer
from bayespa.topics.topic_sums import TopicStatistics, TopicSums

PIECE, AGAIN, STRANGERS = 5, 6, 13  # purposes of keys, see `bayespa.native.random.subkey`
FREE_SWEEPS = 2  # sweeps without labels, of which the last is kept; the first round has more
RARE = 1e-3  # share of all tokens above which a topic is never too small
STRANGE = 0.05  # share of new topics in the search for them
LOOK = 8  # sweeps of the search, of which the last is kept
LIKELY = 0.6  # cosine above which topics of two models count as the same


@dataclass(frozen=True, kw_only=True)
class MedHDP(TopicPart):
    """T tasks that share topics, as many as the documents need."""

    alpha: float
    gamma: float
    start_gamma: float  # γ in the first sweep
    first_sweeps: int  # sweeps of the first round, without labels
    min_tokens: float
    max_topics: int | None

    # Posterior

    def prior(self, n_words: int) -> Joint:
        """Return the prior: no topic."""
        return Joint(topics=TopicSums(n_words, self.loss.n_tasks))

    def require_continues(self, posterior: Joint) -> None:
        """Accept every posterior: no parameter fixes its size."""

    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Extend the posterior by words and tasks; task t continues task source[t] (-1: new) with a sign."""
        return Joint(posterior, topics=posterior["topics"].grown(n_words, source, sign))

    def aligned(self, mine: Joint, theirs: Joint, ancestor: Joint | None) -> Joint:
        """Give topics that only they have numbers that are not in use here.

        Topics of a common ancestor have the same number in both. Without an ancestor, similar topics are
        matched.
        """
        a, b = mine["topics"], theirs["topics"]
        ids = np.full(len(b.ids), -1, np.int64)
        if ancestor is not None:
            old = b.ids < ancestor["topics"].next_id
            ids[old] = b.ids[old]
        elif len(a.ids) and len(b.ids):
            here, there = matching(self._means(a), self._means(b), LIKELY)
            ids[there] = a.ids[here]
        new = ids < 0
        ids[new] = a.next_id + np.arange(new.sum())
        return Joint(theirs, topics=b.renamed(ids))

    def _means(self, sums: TopicSums) -> Floats:
        """Return E Φ, (K, W)."""
        means: Floats = ((sums.counts() + self._eta) / self._totals(sums)).T
        return means

    def near(self, posterior: Joint, words: WordIds, n_words: int) -> Joint:
        """Return the sums restricted to some words."""
        return Joint(topics=posterior["topics"].near(words, n_words))

    def view(self, posterior: Joint, n_words: int | None = None) -> View:
        """Return what sampling needs from a posterior, of whose words topics use only n_words."""
        sums: TopicSums = posterior["topics"]
        alpha = self.alpha * sums.sticks(self.gamma).mean()
        mean, covariance = self._weights(sums)
        unused = mean[:, -1], covariance[:, -1, -1] + self._own_variance
        weights = mean[:, :-1].copy(), covariance[:, :-1, :-1].copy()

        totals = self._totals(sums, n_words)
        return View(lambda words: sums.counts(words) + self._eta, totals, alpha, *weights, unused)

    def topic_word(self, posterior: Joint) -> Floats:
        """Return Δ, (K, W)."""
        concentration: Floats = posterior["topics"].counts().T + self._eta
        return concentration

    def ids(self, posterior: Joint) -> NDArray[np.int64]:
        """Return the number of each topic, (K,), which never changes."""
        ids: NDArray[np.int64] = posterior["topics"].ids
        return ids

    def sizes(self, posterior: Joint) -> Floats:
        """Return how many words each topic has learned, (K,)."""
        tokens: Floats = posterior["topics"].tokens
        return tokens

    # Step

    def step(self, near: Joint, batch: Batch, index: int) -> TopicStep:
        """Sample the topics of the batch, first without labels, as in prediction, then with them.

        New topics have no weights yet. So if the first sample finds the first topics, a second sample
        replaces it, and learns what labels make of them.
        """
        return self._step(near["topics"], batch, index)

    def first_step(self, near: Joint, batch: Batch, index: int) -> TopicStep:
        """Do the same, after a search for new topics in the batch.

        The iterations that follow test the guess. So with a single iteration, or without room for more
        topics, there is no search.
        """
        sums: TopicSums = near["topics"]
        room = self.max_topics is None or len(sums.ids) < self.max_topics
        if self.n_iterations == 1 or not room or not len(sums.ids):
            return self.step(near, batch, index)
        for i, (weight, _, documents) in enumerate(batch.by_weight()):
            sums = self._with_strangers(sums, documents, weight, subkey(self.key, STRANGERS, i), index)
        return self._step(sums, batch, index)

    def _with_strangers(
        self, sums: TopicSums, documents: Documents, weight: float, seed: int, index: int
    ) -> TopicSums:
        """Add a guess of topics that the documents have and the posterior does not [HDP-6].

        After many documents a new topic has a share of one in as many tables [HDP-2], and a chain of a few
        sweeps never finds it. In this search, new topics have a share of at least `STRANGE`. Its result is
        only the start of the chain of the step, which decides by the model which topics stay.
        """
        n_old, tables = len(sums.ids), float(sums.tables.sum())
        gamma = self.gamma + STRANGE / (1.0 - STRANGE) * tables / weight
        topics = replace(self._global(sums, weight, gamma), own_variance=np.empty(0))
        schedule = Schedule(LOOK, LOOK - 1, 0, 0, self.loss.sampler, seed, index)
        no_tasks = Tasks.none(len(documents.ids), n_old + 1)
        found = step(documents, topics, no_tasks, schedule, n_threads=self.n_threads)
        counts = on_grid(found.topic_word[:, n_old:], weight, found.n_kept)
        new = np.flatnonzero(counts.sum(axis=0) >= max(self.min_tokens, UNIT))
        # Among these documents it is not rare: use the share of their tables.
        share = found.tables[n_old + new] / max(1, int(found.tables.sum()))
        size = len(new) + 1
        guess = TopicStatistics(
            ids=sums.next_id + np.arange(len(new)),
            words=np.arange(len(documents.vocabulary)),
            counts=counts[:, new],
            tables=rounded(share * tables),
            shift=np.zeros((self.loss.n_tasks, size)),
            precision=np.zeros((self.loss.n_tasks, size, size)),
        )
        return sums.changed(plus=[guess])

    def _step(self, sums: TopicSums, batch: Batch, index: int) -> TopicStep:
        """Return what the batch adds, given the sums of its words."""
        pieces, loss, margin = self._sampled(sums, batch, self.key, index)
        if not len(sums.ids):
            sums = sums.changed(plus=[piece.near() for piece in pieces])
            pieces, loss, _ = self._sampled(sums, batch, subkey(self.key, AGAIN), index)
        return TopicStep(Joint(topics=pieces), loss, len(batch), margin=margin)

    def propose(
        self, near: Joint, batch: Batch, index: int, before: Before[Joint] | None = None
    ) -> TopicStep:
        """Return what the batch adds; new topics have provisional numbers."""
        found = super().propose(near, batch, index, before)
        first = near["topics"].next_id
        pieces = [replace(piece, provisional=first) for piece in found.statistics["topics"]]
        return replace(found, statistics=Joint(topics=pieces))

    def finish(self, posterior: Joint, statistics: Joint) -> Joint:
        """Give numbers to new topics: two steps in progress must not use the same number.

        If other steps have added topics and there are too many now, the smallest are removed.
        """
        sums: TopicSums = posterior["topics"]
        pieces = [piece.numbered(sums.next_id) for piece in statistics["topics"]]
        if self.max_topics is not None:
            held = dict(zip(sums.ids.tolist(), sums.tokens.tolist(), strict=True))
            for piece in pieces:
                for topic, tokens in zip(piece.ids.tolist(), piece.counts.sum(axis=0), strict=True):
                    held[topic] = held.get(topic, 0.0) + tokens
                held = {topic: tokens for topic, tokens in held.items() if topic not in piece.removed}
            if lost := sorted(held, key=lambda topic: (-held[topic], topic))[self.max_topics :]:
                pieces[-1] = replace(pieces[-1], removed=np.union1d(pieces[-1].removed, lost))
        return Joint(topics=pieces)

    def _repeated(self, before: Joint, now: Joint) -> Joint:
        """Return what a repeated step adds; topics that the step before removed are gone."""
        first, *others = now["topics"]
        gone = np.concatenate([first.removed, *(piece.removed for piece in before["topics"])])
        return Joint(topics=[replace(first, removed=np.setdiff1d(gone, first.ids)), *others])

    def _sampled(
        self, sums: TopicSums, batch: Batch, key: int, index: int
    ) -> tuple[list[TopicStatistics], float, Floats]:
        """Return what the batch adds, its loss, and label-free predictions (n, T).

        Documents with the same token weight are one sample; the next sample sees its new topics.
        """
        pieces: list[TopicStatistics] = []
        loss, margin = 0.0, np.zeros((len(batch), self.loss.n_tasks))
        for weight, rows, documents in batch.by_weight():
            if pieces:
                sums = sums.changed(plus=[pieces[-1].near()])
            seed = subkey(key, PIECE, len(pieces)) if pieces else key
            piece, own_loss, margin[rows] = self._learn(
                sums, documents, batch.labels[rows], weight, seed, index
            )
            pieces.append(piece)
            loss += own_loss
        return pieces, loss, margin

    def _learn(
        self,
        sums: TopicSums,
        documents: Documents,
        labels: NDArray[np.float32],
        weight: float,
        seed: int,
        index: int,
    ) -> tuple[TopicStatistics, float, Floats]:
        """Return what documents add, their loss, and label-free predictions."""
        first = not len(sums.ids)
        topics = self._global(sums, weight, self.gamma)
        sweeps = self.first_sweeps if first else FREE_SWEEPS
        schedule = Schedule(sweeps, sweeps - 1, self.n_sweeps, self.burn_in, self.loss.sampler, seed, index)
        tasks = self.loss.tasks(*self._weights(sums), labels)
        learn = self._averaging if self.loss.averaging else self._gibbs
        result, precision, shift, loss = learn(documents, topics, tasks, schedule)
        precision, shift = beside_bias(precision, shift)
        statistics = TopicStatistics(
            ids=np.arange(len(result.tables)),  # provisional, until it is known which stay
            words=documents.vocabulary,
            counts=on_grid(result.topic_word, weight, result.n_kept),
            tables=on_grid(result.tables, weight, result.n_kept),
            shift=shift,
            precision=0.5 * (precision + precision.swapaxes(1, 2)),  # mirror entries are rounded differently
        )
        return self._selected(sums, statistics), loss, result.free.margin

    def _global(self, sums: TopicSums, weight: float, gamma: float) -> HdpTopics:
        """Return what the sampler needs from the topics; their sticks have the prior Beta(1, gamma)."""
        sticks = sums.sticks(gamma, weight)
        return HdpTopics(
            dirichlet=((sums.counts() + self._eta) / weight).astype(np.float32),
            totals=self._totals(sums) / weight,
            u=sticks.u,
            v=sticks.v,
            own_variance=np.full(self.loss.n_tasks, self._own_variance),
            concentration=self.alpha / weight,
            stick_concentration=self.gamma,
            start_concentration=self.gamma if len(sums.ids) else self.start_gamma,
            eta=self._eta / weight,
            n_words=sums.n_words,
        )

    def _selected(self, sums: TopicSums, found: TopicStatistics) -> TopicStatistics:
        """Drop topics with too few tokens, and number the new ones [HDP-5]."""
        n_old, held = len(sums.ids), found.counts.sum(axis=0)
        held[:n_old] += sums.tokens
        lost = (held <= 0.0) | (held < min(self.min_tokens, RARE * held.sum()))
        if self.max_topics is not None:
            lost[np.argsort(-held, kind="stable")[self.max_topics :]] = True
        kept = np.flatnonzero(~lost)
        n_born = len(kept) - int((kept < n_old).sum())
        ids = np.concatenate([sums.ids[kept[kept < n_old]], sums.next_id + np.arange(n_born)])
        return replace(found.of(kept), ids=ids, removed=sums.ids[lost[:n_old]])

    def _gibbs(
        self, documents: Documents, topics: HdpTopics, tasks: Tasks, schedule: Schedule
    ) -> tuple[HdpStepResult, Floats, Floats, float]:
        result = step(documents, topics, tasks, schedule, n_threads=self.n_threads)
        free, labelled = result.free, result.labelled
        precision = self.loss.mixed(labelled.precision, free.precision)
        return result, precision, self.loss.mixed(labelled.shift, free.shift), float(labelled.loss.sum())

    def _averaging(
        self, documents: Documents, topics: HdpTopics, tasks: Tasks, schedule: Schedule
    ) -> tuple[HdpStepResult, Floats, Floats, float]:
        """Alternate once between the dual given topics and topics given the dual [MED-7]."""
        unlabelled = replace(schedule, sweeps=0, burn_in=0)
        before = step(documents, topics, tasks, unlabelled, n_threads=self.n_threads).free
        dual, moved = self.loss.dual(*self._each_new(tasks, before.topic_share), self.n_threads)
        moved = np.delete(moved, np.s_[tasks.mean.shape[1] - 1 : -1], axis=1)  # new topics are one again
        tilted = replace(tasks, mean=moved, labels=dual.astype(np.float32))
        averaging = replace(schedule, sampler="averaging")
        result = step(documents, topics, tilted, averaging, n_threads=self.n_threads)
        shares = self.loss.mixed(result.labelled.topic_share, result.free.topic_share)
        shift, loss = self.loss.averaged(*self._each_new(tasks, shares), self.n_threads)
        shift = shift[:, :-1]
        return result, np.zeros((*shift.shape, shift.shape[1])), shift, loss

    def _each_new(self, tasks: Tasks, shares: NDArray[np.floating]) -> tuple[Tasks, Floats]:
        """Return tasks in which each new topic has its own weight, an unused one last, and E z̄ of all."""
        n_old, n = tasks.mean.shape[1] - 1, shares.shape[1]
        place = np.minimum(np.arange(n + 1), n_old)
        covariance = tasks.covariance.take(place, axis=1).take(place, axis=2)
        new = np.arange(n_old, n + 1)
        covariance[:, new, new] += self._own_variance
        padded = np.pad(shares.astype(np.float64), [(0, 0), (0, 1)])
        return replace(tasks, mean=tasks.mean.take(place, axis=1), covariance=covariance), padded

    def _totals(self, sums: TopicSums, n_words: int | None = None) -> Floats:
        return sums.tokens + self._eta * (sums.n_words if n_words is None else n_words)

    def _weights(self, sums: TopicSums) -> tuple[Floats, Floats]:
        """Return the weights' mean (T, K + 1) and covariance, with the bias, and an unused topic last."""
        shift, precision = sums.weights()
        prior = [self.loss.weight_scale**-2] * (shift.shape[1] - 1)
        if self.loss.bias_scale:
            prior.append(self.loss.bias_scale**-2)
        n = np.arange(len(prior))
        precision[:, n, n] += prior
        known = Gaussian(shift[:, n], precision[:, n[:, None], n])
        mean, covariance = np.zeros_like(shift), np.zeros_like(precision)
        mean[:, n], covariance[:, n[:, None], n] = known.moments(n_threads=self.n_threads)
        return with_bias(mean, covariance)

    @property
    def _own_variance(self) -> float:
        """Prior variance of the weight of a new topic, without the bias."""
        return self.loss.weight_scale * self.loss.weight_scale

    # Prediction

    def infer(self, view: View, batch: Batch, weights: Floats | None = None) -> Sampled:
        """Sample the topics of documents without labels; if there is no topic yet, the bias decides."""
        if len(view.alpha):
            return super().infer(view, batch, weights)
        assert view.unused is not None  # this class has made it
        nothing = Statistics.zeros(batch.documents, 0, self.loss.n_tasks, 1, counted=True)
        nothing.margin[:], nothing.margin_var[:] = view.unused
        return Sampled([(batch.documents.vocabulary, nothing.topic_word, 1.0)], nothing, nothing)


_LABELS = {"sampler": "collapsed", "rule": "gibbs", "label_free": 0.5}


@dataclass(eq=False, repr=False, kw_only=True)
class MedHDPEstimator(HdpTransformer, SupervisedTransformer):
    """Base class of classifier and regressor."""

    _merged_alike: ClassVar[tuple[str, ...]] = ("gamma",)

    def _topics(self, values: dict[str, Any], **shared: Any) -> MedHDP:
        return MedHDP(**self._hdp(values), **shared)


@dataclass(eq=False, repr=False, kw_only=True)
class MedHDPOfClasses(OnlineTopicClassifier, MedHDPEstimator):
    """Online MedHDP for classes; `MedHDPClassifier` explains it."""

    _name = "MedHDPClassifier"

    def _defaults(self) -> dict[str, Any]:
        shared = {"cost": 256.0, "weight_scale": 0.05, "bias_scale": 0.3, "alpha": 5.0, "eta": 0.05}
        defaults = {**EXPERT, **_LABELS, **shared, "n_iterations": 4, "word_scale": 1.0}
        if self.multi_class == "ovr":  # a single task has few, smooth topics, found by its labels
            alone = {"cost": 512.0, "weight_scale": 2.0**-6, "bias_scale": 0.0, "eta": 0.45}
            return {**defaults, **alone, "first_sweeps": 3, "start_gamma": 1000.0, "n_iterations": 2}
        if self.decides == "topics+words":
            defaults |= {"cost": 64.0, "alpha": 20.0, "prediction_sweeps": 24}  # experiments/sweeps.py
        return defaults


@dataclass(eq=False, repr=False, kw_only=True)
class MedHDPOfNumbers(TopicRegressor, MedHDPEstimator):
    """Online MedHDP for numbers; `MedHDPRegressor` explains it.

    Parameters
    ----------
    alpha : float
        Concentration of a document's topics: larger values give more topics per document. Proportions are
        Dirichlet(α π), where π are the shares of the topics in all documents.
    eta : float
        Dirichlet prior of a topic's words, rounded to a multiple of 2^-20. Smaller values give more topics
        with fewer words each.
    """

    _name = "MedHDPRegressor"

    alpha: float = 5.0
    eta: float = 0.05
    batch_size: int | None = 64

    def _defaults(self) -> dict[str, Any]:
        return {**EXPERT, **_LABELS, "n_iterations": 1, "bias_scale": 1.0, "word_scale": 1.0}
