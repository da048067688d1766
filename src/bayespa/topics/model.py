"""Supervised topic models as models of `bayespa.learning`: what all of them share, and one for every task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bayespa.learning import Local
from bayespa.native.dual import solve_dual
from bayespa.native.elementary import log
from bayespa.native.linalg import cholesky
from bayespa.native.medlda import Schedule, Tasks, Topics
from bayespa.native.random import grid, normal, subkey
from bayespa.posteriors import Joint
from bayespa.topics.batches import Batches
from bayespa.topics.documents import Batch
from bayespa.topics.sampling import Sampled, sample

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]
Sources = NDArray[np.int64]
ENOUGH = 64  # documents of a mini-batch that the likelihood is computed from
PREDICTION, ONE_OF_MANY = 1, 2  # the purposes of keys, see `bayespa.native.random.subkey`
ONCE = ("words", "documents", "temperature", "labels")  # parts that learn in the first iteration of a round


@dataclass(frozen=True)
class Progressive(Local[Joint]):
    """What a local step found, and what it would have predicted before it looked at the labels."""

    margin: Floats  # (n, T)

    def after(self, before: Progressive) -> Progressive:
        """Keep what was predicted before labels were learned, and what was learned of that."""
        first = {name: part for name, part in before.statistics.parts.items() if name in ONCE}
        return replace(self, statistics=Joint(**{**self.statistics.parts, **first}), margin=before.margin)


@dataclass(frozen=True, kw_only=True)
class TopicModel(ABC):
    """T tasks that share topics; the hyper-parameters, with the paper's letters where it has them."""

    n_tasks: int  # T
    eta: float
    weight_scale: float  # v
    bias_scale: float
    cost: float  # c
    margin: float  # ε
    regression: bool
    averaging: bool  # classifier: averaging [MED-7], or Gibbs
    sampler: Literal["collapsed", "augmented"]
    n_sweeps: int  # J
    burn_in: int  # β
    label_free: float  # share of the weights' statistics that comes from samples drawn without labels
    mean_topics: bool  # sample with E Φ, or with exp(E log Φ)
    prediction_sweeps: int
    key: int  # of the random numbers
    n_threads: int = 1
    evidence: ClassVar[int] = 128  # documents of a mini-batch that the temperature is learned from, at least

    @abstractmethod
    def prior(self, n_words: int) -> Joint:
        """Return the prior of topics and weights."""

    @abstractmethod
    def require_continues(self, posterior: Joint) -> None:
        """Raise a ValueError unless this model can go on learning `posterior`."""

    @abstractmethod
    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Make room for new words and tasks: task t continues task source[t] (-1: none), with its sign."""

    @abstractmethod
    def aligned(self, mine: Joint, theirs: Joint, ancestor: Joint | None) -> Joint:
        """Return `theirs` with topics that stand where those of `mine` do: ready to be added."""

    @abstractmethod
    def local_step(self, posterior: Joint, batch: Batch, index: int) -> Progressive:
        """Sample the topics of the batch, first without labels, as a prediction would, then with them."""

    def begin(self, batches: Batches) -> list[Joint]:
        """Return guesses of what the first mini-batches add to the prior: none."""
        return []

    @abstractmethod
    def topic_word(self, posterior: Joint) -> Floats:
        """Return Δ, (K, W)."""

    @abstractmethod
    def topic_mean(self, posterior: Joint, words: NDArray[np.integer] | None = None) -> Floats:
        """Return E Φ of all words or of some, (K, words)."""

    @abstractmethod
    def weights(self, posterior: Joint) -> tuple[Floats, Floats]:
        """Return mean (T, K) and covariance (T, K, K) of the topics' weights."""

    @abstractmethod
    def shares_prior(self, posterior: Joint) -> Floats:
        """Return the Dirichlet prior of a document's topic proportions, (K,)."""

    @abstractmethod
    def _factors(self, posterior: Joint, vocabulary: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the topics of some words as the sampler sees them: see `topic_factors`."""

    def parts(self, posterior: Joint) -> list[tuple[Self, Joint]]:
        """Return the topic models, with their posteriors: one."""
        return [(self, posterior)]

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
        mean, covariance = self.weights(posterior)
        if weights is not None:
            mean, covariance = weights, np.zeros_like(covariance)
        labels = np.full((len(batch), self.n_tasks), np.nan, np.float32)
        schedule = Schedule(
            self.prediction_sweeps, self.prediction_sweeps // 4, 0, 0, seed=subkey(self.key, PREDICTION)
        )
        alpha = self.shares_prior(posterior)
        topics = Topics(self._factors(posterior, batch.documents.vocabulary), alpha.astype(np.float32))
        sampled = sample(batch, topics, self._tasks(mean, covariance, labels), schedule, self.n_threads)
        empty = np.diff(batch.documents.indptr) == 0
        if empty.any():  # no token says anything: the prior of the proportions
            free, (ratio, total) = sampled.free, ratios(alpha)
            free.topic_share[empty], free.margin[empty] = ratio / total, (mean * ratio).sum(axis=1) / total
            covariance = covariance * ratio * ratio[:, None]
            free.margin_var[empty] = covariance.sum(axis=(1, 2)) * (1.0 / total) ** 2
        return sampled

    def proportions(self, posterior: Joint, length: Floats, shares: Floats) -> Floats:
        """Return E θ (n, K) of documents of some length given E z̄ (n, K): α counts as much as tokens do."""
        alpha = self.shares_prior(posterior)
        total, length = ratios(alpha)[1] * alpha.max(initial=0.0), length[:, None]
        proportions: Floats = (alpha + length * shares) / (total + length)
        return proportions

    def minus_log_likelihood(self, posterior: Joint, batch: Batch, shares: NDArray[np.floating]) -> float:
        """Return that of a batch's words given E Φ and E z̄ (n, K), from some of the documents.

        It is for judging progress without labels, which needs no more.
        """
        documents, n = batch.documents, min(ENOUGH, len(batch))
        end = int(documents.indptr[n])
        rows = np.repeat(np.arange(n), np.diff(documents.indptr[: n + 1]))
        tokens: Floats = documents.counts[:end] * batch.weights[rows]
        proportions = self.proportions(
            posterior, np.bincount(rows, tokens, n).astype(np.float64), shares[:n].astype(np.float64)
        )
        words, place = np.unique(documents.words[:end], return_inverse=True)
        topics = self.topic_mean(posterior, documents.vocabulary[words])
        found = -float((tokens * log(mixed(proportions, topics, rows, place))).sum())
        return found * len(batch) / n

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

    def _averaged(self, tasks: Tasks, shares: Floats) -> tuple[Floats, float]:
        """Return what the averaging classifier adds to h (T, K), and its loss, given E z̄ (n, K). [MED-7]."""
        dual, moved = self._dual(tasks, shares)
        shift, loss = np.zeros_like(moved), 0.0
        for y, a, share in zip(
            tasks.labels, dual, shares, strict=True
        ):  # document by document: this order is the bits
            shift += a[:, None] * share
            f = (moved * share).sum(axis=1)
            excess = np.abs(y - f) - self.margin if self.regression else self.margin - y * f
            loss += 2.0 * self.cost * float(np.nansum(np.maximum(excess, 0.0)))
        return shift, loss

    def _mixed(self, labelled: NDArray[Any], free: NDArray[Any]) -> NDArray[Any]:
        """Weigh what samples with and without labels say: a test document will look like the latter."""
        return (1.0 - self.label_free) * labelled + self.label_free * free


def mixed(
    proportions: Floats, topics: Floats, rows: NDArray[np.integer], words: NDArray[np.integer]
) -> Floats:
    """Return Σ_k θ_dk φ_kw of some documents d and words w, topic by topic: this order is the bits.

    >>> mixed(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75], [0.75, 0.25]]), np.array([0]), np.array([1]))
    array([0.5])
    """
    probability = np.zeros(len(rows))
    for k, topic in enumerate(topics):
        probability += proportions[rows, k] * topic[words]
    return probability


def ratios(alpha: Floats) -> tuple[Floats, float]:
    """Return α relative to its largest entry, and the sum of that: K ones and K where all are equal.

    >>> ratios(np.array([0.4, 0.4, 0.1]))
    (array([1.  , 1.  , 0.25]), 2.25)
    """
    ratio = alpha / alpha.max(initial=0.0)
    return ratio, float(ratio.sum())


def draw_weights(key: int, mean: Floats, covariance: Floats, first: int = 0) -> Floats:
    """Draw w (T, K) of tasks `first`, `first` + 1, ... with mean (T, K) and covariance (T, K, K)."""
    factors = np.triu(cholesky(covariance)[0])  # Σ = RᵀR, so Rᵀz has this covariance
    z = normal(key, grid(first + len(mean), mean.shape[1]))[first:]
    drawn: Floats = mean + (factors * z[:, :, None]).sum(axis=1)
    return drawn


@dataclass(frozen=True)
class OneVsRest:
    """T tasks with a topic model each: the paper's set-up for 20 Newsgroups."""

    model: TopicModel  # of one task
    n_tasks: int

    @property
    def evidence(self) -> int:
        """Documents of a mini-batch that the temperature is learned from, at least."""
        return self.model.evidence

    @property
    def key(self) -> int:
        """Key of the random numbers, from which every task's is made."""
        return self.model.key

    def _model(self, task: int) -> TopicModel:
        return replace(self.model, key=subkey(self.model.key, ONE_OF_MANY, task))

    def prior(self, n_words: int) -> Joint:
        """Return the prior of every task's topics and weights, under the task's number."""
        return Joint(**{str(task): self.model.prior(n_words) for task in range(self.n_tasks)})

    def require_continues(self, posterior: Joint) -> None:
        """Raise a ValueError unless this model can go on learning `posterior`."""
        self.model.require_continues(posterior["0"])

    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Make room for new words and tasks; a task that mirrors another copies it."""
        same, grown = np.zeros(1, np.int64), {}
        for task, (old, s) in enumerate(zip(source.tolist(), sign, strict=True)):
            before = self.model.prior(n_words) if old < 0 else posterior[str(old)]
            if old < 0 or s < 0.0:
                before = before.copy()
            grown[str(task)] = self.model.grown(before, n_words, same, np.array([s]))
        return Joint(**{**posterior.parts, **grown})

    def aligned(self, mine: Joint, theirs: Joint, ancestor: Joint | None) -> Joint:
        """Return `theirs` with every task's topics where those of `mine` stand."""
        tasks: dict[str, Any] = {}
        for task in map(str, range(self.n_tasks)):
            root = None if ancestor is None else ancestor[task]
            tasks[task] = self.model.aligned(mine[task], theirs[task], root)
        return Joint(**{**theirs.parts, **tasks})

    def begin(self, batches: Batches) -> list[Joint]:
        """Return no guess: topics of one task are found by its labels."""
        return []

    def parts(self, posterior: Joint) -> list[tuple[TopicModel, Joint]]:
        """Return the topic models, one a task, with their posteriors."""
        return [(self._model(task), posterior[str(task)]) for task in range(self.n_tasks)]

    def local_step(self, posterior: Joint, batch: Batch, index: int) -> Progressive:
        """Make the local step of every task."""
        steps = [
            model.local_step(part, replace(batch, labels=batch.labels[:, [task]]), index)
            for task, (model, part) in enumerate(self.parts(posterior))
        ]
        margin = np.hstack([local.margin for local in steps])
        statistics = Joint(**{str(task): local.statistics for task, local in enumerate(steps)})
        return Progressive(statistics, sum(local.objective for local in steps), len(batch), margin)
