"""The topic part of a model: the base of all kinds of topics, and the loss of labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayespa.learning import Before, Step
from bayespa.native.dual import solve_dual
from bayespa.native.elementary import log
from bayespa.native.linalg import cholesky
from bayespa.native.medlda import Documents, Schedule, Statistics, Tasks, Topics, step, topic_factors
from bayespa.native.random import grid, normal, subkey
from bayespa.posteriors import Joint
from bayespa.topics.documents import UNIT, Batch, Batches

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]
WordIds = NDArray[np.int64]
Sources = NDArray[np.int64]
ENOUGH = 64  # documents of a mini-batch from which the likelihood is computed
MOST = 2**31 - 1  # tokens in all kept sweeps: the native step counts with 32 bits
LEAST, LARGEST = 1e-30, 1e20  # bounds of α and of its sums: the sampler works with 32 bits
_PER_DOCUMENT = {"topic_share", "margin", "margin_var"}
PREDICTION = 1  # purpose of a key, see `bayespa.native.random.subkey`


@dataclass(frozen=True)
class Loss:
    """The max-margin loss of T tasks, in the paper's letters; or no task."""

    n_tasks: int = 0  # T
    cost: float = 1.0  # c
    margin: float = 1.0  # ε
    weight_scale: float = 1.0  # v
    bias_scale: float = 0.0
    regression: bool = False
    averaging: bool = False  # loss of the mean weights [MED-7], else of drawn ones
    sampler: Literal["collapsed", "augmented"] = "collapsed"
    label_free: float = 0.0  # share of the weights' statistics from samples without labels

    def tasks(self, mean: Floats, covariance: Floats, labels: NDArray[np.float32]) -> Tasks:
        """Return the tasks for the sampler."""
        return Tasks(mean, covariance, labels, np.full(self.n_tasks, self.cost), self.margin, self.regression)

    def dual(self, tasks: Tasks, shares: Floats, n_threads: int) -> tuple[Floats, Floats]:
        """Return the signed duals (n, T) of the averaging rule, and the resulting mean [MED-7]."""
        return solve_dual(
            tasks.mean,
            tasks.covariance,
            shares,
            tasks.labels,
            margin=self.margin,
            bound=2.0 * self.cost,
            regression=self.regression,
            n_threads=n_threads,
        )

    def averaged(self, tasks: Tasks, shares: Floats, n_threads: int) -> tuple[Floats, float]:
        """Return what the averaging rule adds to h (T, K), and its loss, given E z̄ (n, K) [MED-7]."""
        dual, moved = self.dual(tasks, shares, n_threads)
        shift, loss = np.zeros_like(moved), 0.0
        for y, a, share in zip(tasks.labels, dual, shares, strict=True):  # a fixed order, for the same bits
            shift += a[:, None] * share
            f = (moved * share).sum(axis=1)
            excess = np.abs(y - f) - self.margin if self.regression else self.margin - y * f
            loss += 2.0 * self.cost * float(np.nansum(np.maximum(excess, 0.0)))
        return shift, loss

    def mixed(self, labelled: NDArray[Any], free: NDArray[Any]) -> NDArray[Any]:
        """Mix samples with and without labels: test documents have none."""
        return (1.0 - self.label_free) * labelled + self.label_free * free


@dataclass(frozen=True)
class View:
    """What sampling needs from a posterior: computed for all predictions, or for the words of a batch."""

    words: Floats | Callable[[WordIds], Floats]  # Δ (W, K), or a function that returns the rows of some words
    totals: Floats  # (K,), Σ_w Δ_kw
    alpha: Floats  # (K,)
    mean: Floats  # (T, K), of the weights
    covariance: Floats  # (T, K, K)
    unused: tuple[Floats, Floats] | None = None  # mean and variance (T,) of the weight of a new topic

    def rows(self, words: WordIds) -> tuple[Floats, WordIds]:
        """Return an array (., K), and which of its rows are Δ of some words."""
        if not callable(self.words):
            return self.words, words
        found = self.words(words)
        return found, np.arange(len(found))


@dataclass(frozen=True, kw_only=True)
class TopicStep(Step[Joint]):
    """What a batch adds, and its predictions before the labels were seen."""

    margin: Floats  # (n, T)
    carry: Any = None  # where the next step on this batch continues, in a chain


@dataclass(frozen=True, kw_only=True)
class TopicPart(ABC):
    """Topics, and the weights of T tasks that share them."""

    eta: float
    n_sweeps: int  # J
    burn_in: int  # β
    prediction_sweeps: int
    key: int  # of the random numbers
    mean_topics: bool = True  # sample with E Φ, else with exp(E log Φ)
    loss: Loss = Loss()
    n_iterations: int = 1  # I
    n_threads: int = 1

    # Posterior

    @property
    def _eta(self) -> float:
        """η rounded to a multiple of UNIT."""
        return float(np.rint(self.eta / UNIT) * UNIT)

    @abstractmethod
    def prior(self, n_words: int) -> Joint:
        """Return the prior of topics and weights."""

    @abstractmethod
    def require_continues(self, posterior: Joint) -> None:
        """Raise a ValueError unless this model can continue from `posterior`."""

    @abstractmethod
    def grown(self, posterior: Joint, n_words: int, source: Sources, sign: Floats) -> Joint:
        """Extend the posterior by words and tasks; task t continues task source[t] (-1: new) with a sign."""

    @abstractmethod
    def aligned(self, mine: Joint, theirs: Joint, ancestor: Joint | None) -> Joint:
        """Return `theirs` with its topics in the order of `mine`, ready to be added."""

    @abstractmethod
    def near(self, posterior: Joint, words: WordIds, n_words: int) -> Joint:
        """Return the posterior restricted to some of the n_words words that topics use, for a local step.

        Words that the posterior does not have yet are as in the prior.
        """

    @abstractmethod
    def view(self, posterior: Joint, n_words: int | None = None) -> View:
        """Return what sampling needs from a posterior, of whose words topics use only n_words."""

    @abstractmethod
    def topic_word(self, posterior: Joint) -> Floats:
        """Return Δ, (K, W)."""

    def ids(self, posterior: Joint) -> NDArray[np.int64]:
        """Return a stable number for each topic, (K,): its position."""
        return np.arange(len(self.topic_word(posterior)))

    def sizes(self, posterior: Joint) -> Floats:
        """Return about how many words each topic has learned, (K,): concentrations minus the prior."""
        concentration = self.topic_word(posterior)
        sizes: Floats = concentration.sum(axis=1) - self.eta * concentration.shape[1]
        return np.maximum(sizes, 0.0)

    def parts(self, posterior: Joint) -> list[tuple[Self, Joint]]:
        """Return the topic parts with their posteriors: one."""
        return [(self, posterior)]

    # Learning

    def guesses(self, batches: Batches) -> list[TopicStep]:
        """Return guesses of what the first mini-batches add to the prior: none."""
        return []

    @abstractmethod
    def step(self, near: Joint, batch: Batch, index: int) -> TopicStep:
        """Sample the topics of the batch, first without labels, as in prediction, then with them.

        The posterior is restricted to the words of the batch: see `near`.
        """

    def first_step(self, near: Joint, batch: Batch, index: int) -> TopicStep:
        """Return what the batch adds, in the first of I steps."""
        return self.step(near, batch, index)

    def propose(
        self, near: Joint, batch: Batch, index: int, before: Before[Joint] | None = None
    ) -> TopicStep:
        """Return what the batch adds: the last of I steps, with the predictions before the first."""
        if before is not None and not before.kept:
            near = near.changed(minus=_near(self._own(before.statistics, near)))
        found = self.first_step(near, batch, index)
        for iteration in range(1, self.n_iterations):
            again = self.step(near.changed(plus=_near(found.statistics)), batch, index + iteration)
            found = replace(
                again, statistics=self._repeated(found.statistics, again.statistics), margin=found.margin
            )
        return replace(found, n_steps=self.n_iterations)

    def finish(self, posterior: Joint, statistics: Joint) -> Joint:
        """Return the proposal ready to be added to this posterior."""
        return statistics

    def _own(self, statistics: Joint, near: Joint) -> Joint:
        """Return the topics' part of the statistics."""
        return Joint({name: part for name, part in statistics.items() if name in near})

    def _repeated(self, before: Joint, now: Joint) -> Joint:
        """Return what a repeated step adds."""
        return now

    # Prediction

    @cached_property
    def prediction_key(self) -> int:
        """Key of the random numbers of predictions."""
        return subkey(self.key, PREDICTION)

    def infer(self, view: View, batch: Batch, weights: Floats | None = None) -> Sampled:
        """Sample the topics of documents without labels.

        Parameters
        ----------
        view : View
        batch : Batch
            Documents with addresses (`Corpus.ids`); labels are not read.
        weights : (T, K), optional
            Weights to decide with, instead of their posterior.
        """
        mean, covariance = view.mean, view.covariance
        if weights is not None:
            mean, covariance = weights, np.zeros_like(covariance)
        labels = np.full((len(batch), self.loss.n_tasks), np.nan, np.float32)
        schedule = Schedule(
            self.prediction_sweeps, self.prediction_sweeps // 4, 0, 0, seed=self.prediction_key
        )
        topics = self._topics(view, batch.documents.vocabulary)
        tasks = self.loss.tasks(mean, covariance, labels)
        sampled = sample(batch, topics, tasks, schedule, self.n_threads)
        empty = np.diff(batch.documents.indptr) == 0
        if empty.any():  # a document without tokens has the prior proportions
            free, (ratio, total) = sampled.free, ratios(view.alpha)
            free.topic_share[empty], free.margin[empty] = ratio / total, (mean * ratio).sum(axis=1) / total
            covariance = covariance * ratio * ratio[:, None]
            free.margin_var[empty] = covariance.sum(axis=(1, 2)) * (1.0 / total) ** 2
        return sampled

    def _topics(self, view: View, words: WordIds) -> Topics:
        """Return the topics of some words for the sampler."""
        array, places = view.rows(words)
        factors = topic_factors(array, view.totals, places, mean=self.mean_topics, n_threads=self.n_threads)
        return Topics(factors, np.maximum(view.alpha, LEAST).astype(np.float32))

    def topic_mean(self, view: View, words: NDArray[np.integer]) -> Floats:
        """Return E Φ of some words, (K, words)."""
        array, places = view.rows(words.astype(np.int64))
        mean: Floats = (array[places] / view.totals).T
        return mean

    def minus_log_likelihood(self, view: View, batch: Batch, shares: NDArray[np.floating]) -> float:
        """Return the log likelihood of a batch's words given E Φ and E z̄ (n, K), from some of the documents.

        It shows progress without labels.
        """
        documents, n = batch.documents, min(ENOUGH, len(batch))
        end = int(documents.indptr[n])
        rows = np.repeat(np.arange(n), np.diff(documents.indptr[: n + 1]))
        tokens: Floats = documents.counts[:end] * batch.weights[rows]
        length = np.bincount(rows, tokens, n).astype(np.float64)
        proportions = expected_proportions(view.alpha, length, shares[:n].astype(np.float64))
        words, place = np.unique(documents.words[:end], return_inverse=True)
        topics = self.topic_mean(view, documents.vocabulary[words])
        found = -float((tokens * log(mixed(proportions, topics, rows, place))).sum())
        return found * len(batch) / n


@dataclass(frozen=True)
class Sampled:
    """Results of the kept sweeps, without labels and with them."""

    counts: list[tuple[WordIds, NDArray[np.int32], float]]  # of the last phase: fields of `Counts`
    free: Statistics
    labelled: Statistics


def sample(batch: Batch, topics: Topics, tasks: Tasks, schedule: Schedule, n_threads: int = 1) -> Sampled:
    """Run the step once per token weight u, with α/u; for whole counts that is once.

    If there are more tokens than the kept sweeps can count, documents are sampled in pieces; they are
    independent here.
    """
    places, free, labelled, counts = [], [], [], []
    kept = schedule.sweeps - schedule.burn_in or schedule.free_sweeps - schedule.free_burn_in
    for weight, rows, together in batch.by_weight():
        own = replace(topics, alpha=(topics.alpha / weight).astype(np.float32))
        for piece, documents in _pieces(together, MOST // kept):
            own_rows = np.arange(len(batch))[rows][piece]
            labels = replace(tasks, labels=tasks.labels[own_rows])
            result = step(documents, own, labels, schedule, n_threads=n_threads)
            counts.append((documents.vocabulary, result.topic_word, weight / kept))
            places.append(own_rows)
            free.append(result.free)
            labelled.append(result.labelled)
    return Sampled(counts, _joined(places, free), _joined(places, labelled))


def _pieces(documents: Documents, n_tokens: int) -> Iterator[tuple[slice, Documents]]:
    """Yield groups of documents with up to `n_tokens` tokens, or a single longer one, and their positions."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(documents.counts, dtype=np.int64)])
    ends = ends[documents.indptr]
    if ends[-1] <= n_tokens:
        yield slice(None), documents
        return
    begin, n = 0, len(documents.ids)
    while begin < n:
        end = max(begin + 1, int(np.searchsorted(ends, ends[begin] + n_tokens, side="right")) - 1)
        yield slice(begin, end), documents.slice(begin, end)
        begin = end


def on_grid(
    total: NDArray[np.integer] | NDArray[np.float64], weight: float, kept: int
) -> NDArray[np.float64]:
    """Return the mean of counts over kept sweeps, rounded to multiples of UNIT.

    So what is subtracted when the batch is learned again is exactly what was added.
    """
    if kept & (kept - 1) == 0:  # dividing by a power of two is exact
        return np.asarray(total * np.float64(weight / kept), np.float64)
    return rounded(total * (weight / kept))


def rounded(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the nearest multiples of UNIT, whose sums and differences are exact."""
    return np.asarray(np.rint(values / UNIT) * UNIT)


def _joined(places: list[Any], pieces: list[Statistics]) -> Statistics:
    """Return the statistics of all documents in their order; `Sampled.counts` has the topics of words."""
    if len(pieces) == 1:
        return pieces[0]
    order = np.argsort(np.concatenate(places))
    joined: dict[str, Any] = {"n_kept": pieces[0].n_kept, "topic_word": pieces[0].topic_word[:0]}
    for field in fields(Statistics):
        parts = [getattr(piece, field.name) for piece in pieces]
        if field.name in _PER_DOCUMENT:
            joined[field.name] = np.concatenate(parts)[order]
        elif field.name not in joined:
            joined[field.name] = sum(parts[1:], start=parts[0])
    return Statistics(**joined)


def _near(statistics: Joint) -> Joint:
    """Return the statistics of a batch for a posterior restricted to its words."""
    parts = statistics.items()
    return Joint({k: [piece.near() for piece in v] if isinstance(v, list) else v for k, v in parts})


def expected_proportions(alpha: Floats, length: Floats, shares: Floats) -> Floats:
    """Return E θ (n, K) of documents of some length, given E z̄ (n, K)."""
    total, length = ratios(alpha)[1] * alpha.max(initial=0.0), length[:, None]
    proportions: Floats = (alpha + length * shares) / (total + length)
    return proportions


def mixed(
    proportions: Floats, topics: Floats, rows: NDArray[np.integer], words: NDArray[np.integer]
) -> Floats:
    """Return Σ_k θ_dk φ_kw of some documents d and words w, in the order of topics, for the same bits.

    >>> mixed(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75], [0.75, 0.25]]), np.array([0]), np.array([1]))
    array([0.5])
    """
    probability = np.zeros(len(rows))
    for k, topic in enumerate(topics):
        probability += proportions[rows, k] * topic[words]
    return probability


def ratios(alpha: Floats) -> tuple[Floats, float]:
    """Return α relative to its largest entry, and the sum; for equal entries K ones and K.

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
