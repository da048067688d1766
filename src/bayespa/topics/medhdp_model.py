"""Online MedHDP as a model of `bayespa.learning`: its prior, its local step, and its predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayespa.native.medhdp import HdpStepResult, HdpTopics, beside_bias, step, with_bias
from bayespa.native.medlda import Documents, Schedule, Statistics, Tasks, topic_factors
from bayespa.native.random import subkey
from bayespa.posteriors import Counts, Gaussian, Joint
from bayespa.topics.documents import UNIT, Batch
from bayespa.topics.merge import matching
from bayespa.topics.model import Floats, Progressive, Sources, TopicModel
from bayespa.topics.sampling import Sampled, on_grid
from bayespa.topics.topic_sums import TopicStatistics, TopicSums

PIECE, AGAIN = 5, 6  # the purposes of keys, see `bayespa.native.random.subkey`
FREE_SWEEPS = 2  # without labels, of which the last is kept; the first round has more
RARE = 1e-3  # share of all tokens, above which a topic is never too small
LIKELY = 0.6  # topics of strangers that are less alike are two


@dataclass(frozen=True, kw_only=True)
class MedHDP(TopicModel):
    """T tasks that share topics, of which there are as many as the documents need."""

    concentration: float  # α
    stick_concentration: float  # γ
    start_concentration: float  # γ where the chain of the first round starts
    first_sweeps: int  # of the first round, without labels
    min_tokens: float
    max_topics: int | None

    def prior(self, n_words: int) -> Joint:
        """Return the prior: no topic at all."""
        return Joint(topics=TopicSums(n_words, self.n_tasks))

    def require_continues(self, posterior: Joint) -> None:
        """Accept every posterior: no parameter is about its size."""

    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Make room for new words and tasks: task t continues task source[t] (-1: none), with its sign."""
        return Joint(**{**posterior.parts, "topics": posterior["topics"].grown(n_words, source, sign)})

    def aligned(self, mine: Joint, theirs: Joint, ancestor: Joint | None) -> Joint:
        """Give topics that are theirs alone numbers that are not in use here.

        Those of a common ancestor have one number in both. Strangers have topics in common if they are alike.
        """
        a, b = mine["topics"], theirs["topics"]
        ids = np.full(len(b.ids), -1, np.int64)
        if ancestor is not None:
            old = b.ids < ancestor["topics"].next_id
            ids[old] = b.ids[old]
        elif len(a.ids) and len(b.ids):
            here, there = matching(self.topic_mean(mine), self.topic_mean(theirs), LIKELY)
            ids[there] = a.ids[here]
        new = ids < 0
        ids[new] = a.next_id + np.arange(new.sum())
        return Joint(**{**theirs.parts, "topics": b.renamed(ids)})

    def local_step(self, posterior: Joint, batch: Batch, index: int) -> Progressive:
        """Sample the topics of the batch, first without labels, as a prediction would, then with them.

        Where there was no topic there was no weight either: of topics that a first sample has found, a second
        one, in its place, learns what labels make of them.
        """
        sums: TopicSums = posterior["topics"]
        pieces, loss, margin = self._sampled(sums, batch, self.key, index)
        if not len(sums.ids):
            sums = sums.copy()
            sums += pieces
            pieces, loss, _ = self._sampled(sums, batch, subkey(self.key, AGAIN), index)
        return Progressive(Joint(topics=pieces), loss, len(batch), margin)

    def _sampled(
        self, sums: TopicSums, batch: Batch, key: int, index: int
    ) -> tuple[list[TopicStatistics], float, Floats]:
        """Return what the batch adds, its loss, and what would have been predicted (n, T).

        Documents whose tokens weigh the same are one sample; the next sees the topics that it has brought.
        """
        pieces: list[TopicStatistics] = []
        loss, margin = 0.0, np.zeros((len(batch), self.n_tasks))
        for weight, rows, documents in batch.by_weight():
            if pieces:
                sums = sums.copy()
                sums += pieces[-1:]
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
        """Return what documents add, their loss, and what would have been predicted."""
        first = not len(sums.ids)
        sticks = sums.sticks(self.stick_concentration, weight)
        topics = HdpTopics(
            dirichlet=((sums.counts(documents.vocabulary) + self._eta) / weight).astype(np.float32),
            totals=self._totals(sums) / weight,
            u=sticks.u,
            v=sticks.v,
            own_variance=np.full(self.n_tasks, self.weight_scale**2),
            concentration=self.concentration / weight,
            stick_concentration=self.stick_concentration,
            start_concentration=self.start_concentration if first else self.stick_concentration,
            eta=self._eta / weight,
            n_words=sums.n_words,
        )
        sweeps = self.first_sweeps if first else FREE_SWEEPS
        schedule = Schedule(sweeps, sweeps - 1, self.n_sweeps, self.burn_in, self.sampler, seed, index)
        tasks = self._tasks(*self._weights(sums), labels)
        learn = self._averaging if self.averaging else self._gibbs
        result, precision, shift, loss = learn(documents, topics, tasks, schedule)
        precision, shift = beside_bias(precision, shift)
        statistics = TopicStatistics(
            ids=np.arange(len(result.tables)),  # until it is known who stays
            words=documents.vocabulary,
            counts=on_grid(result.topic_word, weight, result.n_kept),
            tables=on_grid(result.tables, weight, result.n_kept),
            shift=shift,
            precision=0.5 * (precision + precision.swapaxes(1, 2)),  # mirror entries are rounded differently
        )
        return self._selected(sums, statistics), loss, result.free.margin

    def _selected(self, sums: TopicSums, found: TopicStatistics) -> TopicStatistics:
        """Drop topics that hold nothing or too little, and number the new ones. [HDP-5]."""
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
        precision = self._mixed(labelled.precision, free.precision)
        return result, precision, self._mixed(labelled.shift, free.shift), float(labelled.loss.sum())

    def _averaging(
        self, documents: Documents, topics: HdpTopics, tasks: Tasks, schedule: Schedule
    ) -> tuple[HdpStepResult, Floats, Floats, float]:
        """Alternate once between the dual given topics and topics given the dual. [MED-7]."""
        unlabelled = replace(schedule, sweeps=0, burn_in=0)
        before = step(documents, topics, tasks, unlabelled, n_threads=self.n_threads).free
        dual, moved = self._dual(*self._each_new(tasks, before.topic_share))
        moved = np.delete(moved, np.s_[tasks.mean.shape[1] - 1 : -1], axis=1)  # new topics are one again
        tilted = replace(tasks, mean=moved, labels=dual.astype(np.float32))
        averaging = replace(schedule, sampler="averaging")
        result = step(documents, topics, tilted, averaging, n_threads=self.n_threads)
        shares = self._mixed(result.labelled.topic_share, result.free.topic_share)
        shift, loss = self._averaged(*self._each_new(tasks, shares))
        shift = shift[:, :-1]
        return result, np.zeros((*shift.shape, shift.shape[1])), shift, loss

    def _each_new(self, tasks: Tasks, shares: NDArray[np.floating]) -> tuple[Tasks, Floats]:
        """Return tasks in which each new topic has its own weight, an unused one last, and E z̄ of all."""
        n_old, n = tasks.mean.shape[1] - 1, shares.shape[1]
        place = np.minimum(np.arange(n + 1), n_old)
        covariance = tasks.covariance.take(place, axis=1).take(place, axis=2)
        new = np.arange(n_old, n + 1)
        covariance[:, new, new] += self.weight_scale**2
        padded = np.pad(shares.astype(np.float64), [(0, 0), (0, 1)])
        return replace(tasks, mean=tasks.mean.take(place, axis=1), covariance=covariance), padded

    # What was learned

    @property
    def _eta(self) -> float:
        return float(np.rint(self.eta / UNIT) * UNIT)

    def _totals(self, sums: TopicSums) -> Floats:
        return sums.tokens + self._eta * sums.n_words

    def _weights(self, sums: TopicSums) -> tuple[Floats, Floats]:
        """Return the weights' mean (T, K + 1) and covariance, bias included, an unused topic last."""
        shift, precision = sums.weights()
        prior = [self.weight_scale**-2] * (shift.shape[1] - 1)
        if self.bias_scale:
            prior.append(self.bias_scale**-2)
        n = np.arange(len(prior))
        precision[:, n, n] += prior
        known = Gaussian(shift[:, n], precision[:, n[:, None], n])
        mean, covariance = np.zeros_like(shift), np.zeros_like(precision)
        mean[:, n], covariance[:, n[:, None], n] = known.moments(n_threads=self.n_threads)
        return with_bias(mean, covariance)

    def topic_word(self, posterior: Joint) -> Floats:
        """Return Δ, (K, W)."""
        concentration: Floats = posterior["topics"].counts().T + self._eta
        return concentration

    def topic_mean(self, posterior: Joint, words: NDArray[np.integer] | None = None) -> Floats:
        """Return E Φ of all words or of some, (K, words)."""
        sums = posterior["topics"]
        mean: Floats = ((sums.counts(words) + self._eta) / self._totals(sums)).T
        return mean

    def weights(self, posterior: Joint) -> tuple[Floats, Floats]:
        """Return mean (T, K) and covariance (T, K, K) of the topics' weights."""
        mean, covariance = self._weights(posterior["topics"])
        return mean[:, :-1].copy(), covariance[:, :-1, :-1].copy()

    def shares_prior(self, posterior: Joint) -> Floats:
        """Return α E π, (K,)."""
        sums: TopicSums = posterior["topics"]
        return self.concentration * sums.sticks(self.stick_concentration).mean()

    def _factors(self, posterior: Joint, vocabulary: NDArray[np.int64]) -> NDArray[np.float32]:
        sums = posterior["topics"]
        rows = sums.counts(vocabulary) + self._eta
        words, totals = np.arange(len(rows)), self._totals(sums)
        return topic_factors(rows, totals, words, mean=self.mean_topics, n_threads=self.n_threads)

    def infer(self, posterior: Joint, batch: Batch, weights: Floats | None = None) -> Sampled:
        """Sample the topics of documents without their labels; if there is no topic yet, the bias decides."""
        if len(posterior["topics"].ids):
            return super().infer(posterior, batch, weights)
        mean, covariance = self._weights(posterior["topics"])
        nothing = Statistics.zeros(batch.documents, 0, self.n_tasks, 1, counted=True)
        nothing.margin[:] = mean[:, -1]
        nothing.margin_var[:] = covariance[:, -1, -1] + self.weight_scale**2
        return Sampled([Counts(batch.documents.vocabulary, nothing.topic_word, 1.0)], nothing, nothing)
