"""Online MedLDA as a model of `bayespa.learning`: its prior, its local step, and its predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bayespa.learning import Local
from bayespa.medlda_step import Schedule, Tasks, Topics, topic_factors
from bayespa.posteriors import Columns, Dirichlet, Gaussian, Joint
from bayespa.random import subkey
from bayespa.topics.calibration import Calibration, calibrated, uncalibrated
from bayespa.topics.documents import UNIT, Batch
from bayespa.topics.dual import solve_dual
from bayespa.topics.sampling import Sampled, sample

Floats = NDArray[np.float64]
Sources = NDArray[np.int64]
PREDICTION, ONE_OF_MANY = 1, 2  # the purposes of keys, see `bayespa.random.subkey`


@dataclass(frozen=True)
class Progressive(Local[Joint]):
    """What a local step found, and what it would have predicted before it looked at the labels."""

    margin: Floats  # (n, T)


@dataclass(frozen=True)
class MedLDA:
    """T tasks that share K topics; the hyper-parameters, with the paper's letters where it has them."""

    n_topics: int  # K
    n_tasks: int  # T
    alpha: float
    eta: float
    weight_scale: float  # v
    bias_scale: float
    cost: float  # c
    margin: float  # ε
    regression: bool
    calibration: Calibration  # a document has one of the T labels, or any number
    averaging: bool  # classifier: averaging [MED-7], or Gibbs
    sampler: Literal["collapsed", "augmented"]
    n_sweeps: int  # J
    burn_in: int  # β
    label_free: float  # share of the weights' statistics that comes from samples drawn without labels
    mean_topics: bool  # sample with E Φ, or with exp(E log Φ)
    prediction_sweeps: int
    key: int  # of the random numbers
    n_threads: int = 1

    def prior(self, n_words: int) -> Joint:
        """Return the prior of topics and weights."""
        return Joint(
            topics=Dirichlet.prior(self.n_topics, n_words, np.rint(self.eta / UNIT) * UNIT),
            weights=Gaussian.prior(self.n_tasks, self.n_topics, self.weight_scale, self.bias_scale),
            **uncalibrated(self.calibration),
        )

    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Make room for new words and tasks: task t continues task source[t] (-1: none), with its sign."""
        prior, topics, weights = self.prior(n_words), posterior["topics"], posterior["weights"]
        if topics.concentration.shape[1] < n_words:
            topics = topics.extended(prior["topics"])
        if not np.array_equal(source, np.arange(len(weights.shift))):
            before, weights = weights, prior["weights"].copy()
            old = source >= 0
            weights.shift[old] = sign[old, None] * before.shift[source[old]]
            weights.precision[old] = before.precision[source[old]]
        return Joint(**{**posterior.parts, "topics": topics, "weights": weights})

    def parts(self, posterior: Joint) -> list[tuple[MedLDA, Joint]]:
        """Return the topic models, with their posteriors: one."""
        return [(self, posterior)]

    def local_step(self, posterior: Joint, batch: Batch, index: int) -> Progressive:
        """Sample the topics of the batch, first without labels, as a prediction would, then with them."""
        topics = self._topics(posterior["topics"], batch)
        mean, covariance = posterior["weights"].moments(n_threads=self.n_threads)
        schedule = Schedule(2, 1, self.n_sweeps, self.burn_in, self.sampler, self.key, index)
        learn = self._averaging if self.averaging else self._gibbs
        counts, weights, loss, margin = learn(topics, mean, covariance, batch, schedule)
        statistics = Joint(
            topics=Columns(batch.documents.vocabulary, Dirichlet(counts.T)),
            weights=weights,
            **calibrated(self.calibration, margin / self.margin, batch.labels),
        )
        return Progressive(statistics, loss, len(batch), margin)

    def _gibbs(
        self, topics: Topics, mean: Floats, covariance: Floats, batch: Batch, schedule: Schedule
    ) -> tuple[Floats, Gaussian, float, Floats]:
        sampled = sample(batch, topics, self._tasks(mean, covariance, batch.labels), schedule, self.n_threads)
        labelled, free = sampled.labelled, sampled.free
        precision = self._mixed(labelled.precision, free.precision)
        precision = 0.5 * (precision + precision.swapaxes(1, 2))  # mirror entries are rounded differently
        weights = Gaussian(self._mixed(labelled.shift, free.shift), precision)
        return (sampled.counts, weights, float(labelled.loss.sum()), free.margin)

    def _averaging(
        self, topics: Topics, mean: Floats, covariance: Floats, batch: Batch, schedule: Schedule
    ) -> tuple[Floats, Gaussian, float, Floats]:
        """Alternate once between the dual given topics and topics given the dual. [MED-7]."""
        tasks = self._tasks(mean, covariance, batch.labels)
        before = sample(batch, topics, tasks, replace(schedule, sweeps=0, burn_in=0), self.n_threads).free
        dual, moved = self._dual(tasks, before.topic_share.astype(np.float64))
        tilted = replace(tasks, mean=moved, labels=dual.astype(np.float32))
        sampled = sample(batch, topics, tilted, replace(schedule, sampler="averaging"), self.n_threads)
        shares = self._mixed(sampled.labelled.topic_share, sampled.free.topic_share).astype(np.float64)
        dual, moved = self._dual(tasks, shares)
        shift, loss = np.zeros_like(mean), 0.0
        for y, a, share in zip(
            batch.labels, dual, shares, strict=True
        ):  # document by document: this order is the bits
            shift += a[:, None] * share
            f = (moved * share).sum(axis=1)
            excess = np.abs(y - f) - self.margin if self.regression else self.margin - y * f
            loss += 2.0 * self.cost * float(np.nansum(np.maximum(excess, 0.0)))
        return (sampled.counts, Gaussian(shift, np.zeros_like(covariance)), loss, before.margin)

    def infer(self, posterior: Joint, batch: Batch, weights: Floats | None = None) -> Sampled:
        """Sample the topics of documents without their labels.

        Parameters
        ----------
        posterior : Joint
        batch : Batch
            Documents with addresses of their own (`Corpus.ids`); the labels are not read.
        weights : (T, K), optional
            Weights to decide with, in place of their posterior.
        """
        mean, covariance = posterior["weights"].moments(n_threads=self.n_threads)
        if weights is not None:
            mean, covariance = weights, np.zeros_like(covariance)
        labels = np.full((len(batch), self.n_tasks), np.nan, np.float32)
        schedule = Schedule(
            self.prediction_sweeps, self.prediction_sweeps // 4, 0, 0, seed=subkey(self.key, PREDICTION)
        )
        tasks = self._tasks(mean, covariance, labels)
        sampled = sample(batch, self._topics(posterior["topics"], batch), tasks, schedule, self.n_threads)
        empty = np.diff(batch.documents.indptr) == 0
        if empty.any():  # no token says anything: the prior of the proportions, whose mean is 1/K
            share, margin = 1.0 / self.n_topics, mean.mean(axis=1)
            free = sampled.free
            free.topic_share[empty], free.margin[empty] = share, margin
            free.margin_var[empty] = covariance.sum(axis=(1, 2)) * share**2
        return sampled

    def _topics(self, topics: Dirichlet, batch: Batch) -> Topics:
        concentration, vocabulary = topics.concentration.T, batch.documents.vocabulary
        factors = topic_factors(concentration, topics.totals(), vocabulary, mean=self.mean_topics)
        return Topics(factors, np.full(self.n_topics, self.alpha, np.float32))

    def _tasks(self, mean: Floats, covariance: Floats, labels: NDArray[np.float32]) -> Tasks:
        return Tasks(mean, covariance, labels, np.full(self.n_tasks, self.cost), self.margin, self.regression)

    def _dual(self, tasks: Tasks, shares: Floats) -> tuple[Floats, Floats]:
        return solve_dual(
            tasks.mean,
            tasks.covariance,
            shares,
            tasks.labels,
            margin=self.margin,
            bound=2.0 * self.cost,
            regression=self.regression,
            n_threads=self.n_threads,
        )

    def _mixed(self, labelled: NDArray[np.floating], free: NDArray[np.floating]) -> NDArray[np.floating]:
        """Weigh what samples with and without labels say: a test document will look like the latter."""
        return (1.0 - self.label_free) * labelled + self.label_free * free


@dataclass(frozen=True)
class OneVsRest:
    """T tasks with a topic model each: the paper's set-up for 20 Newsgroups."""

    model: MedLDA  # of one task
    n_tasks: int
    calibration: Calibration

    @property
    def key(self) -> int:
        """Key of the random numbers, from which every task's is made."""
        return self.model.key

    @property
    def n_topics(self) -> int:
        """Topics of each task."""
        return self.model.n_topics

    def _model(self, task: int) -> MedLDA:
        return replace(self.model, key=subkey(self.model.key, ONE_OF_MANY, task))

    def prior(self, n_words: int) -> Joint:
        """Return the prior of every task's topics and weights, under the task's number."""
        parts = {str(task): self.model.prior(n_words) for task in range(self.n_tasks)}
        return Joint(**parts, **uncalibrated(self.calibration))

    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Make room for new words and tasks; a task that mirrors another copies it."""
        same, grown = np.zeros(1, np.int64), {}
        for task, (old, s) in enumerate(zip(source.tolist(), sign, strict=True)):
            before = self.model.prior(n_words).copy() if old < 0 else posterior[str(old)]
            part = self.model.grown(before, n_words, same, np.ones(1))
            if s < 0.0:
                part = part.copy()
                part["weights"].shift[:] *= s
            grown[str(task)] = part
        return Joint(**{**posterior.parts, **grown})

    def parts(self, posterior: Joint) -> list[tuple[MedLDA, Joint]]:
        """Return the topic models, one a task, with their posteriors."""
        return [(self._model(task), posterior[str(task)]) for task in range(self.n_tasks)]

    def local_step(self, posterior: Joint, batch: Batch, index: int) -> Progressive:
        """Make the local step of every task."""
        steps = [
            model.local_step(part, replace(batch, labels=batch.labels[:, [task]]), index)
            for task, (model, part) in enumerate(self.parts(posterior))
        ]
        margin = np.hstack([local.margin for local in steps])
        statistics = Joint(
            **{str(task): local.statistics for task, local in enumerate(steps)},
            **calibrated(self.calibration, margin / self.model.margin, batch.labels),
        )
        return Progressive(statistics, sum(local.objective for local in steps), len(batch), margin)
