"""The local step of online MedHDP on a mini-batch: its input, its result, the call into native code.

As in `bayespa.native.medlda`, a mini-batch meets the global posterior here, but the topics are those of a
hierarchical Dirichlet process: tokens may also bring new topics to life. `bayespa.reference.medhdp.step` is
the slow, readable twin with the same bits.

A mini-batch of up to 128 documents is sampled exactly. A larger one is cut into shards of 128 consecutive
documents. A shard sees where the tokens of other shards were before a sweep, not how they move during it. If
two shards bring up the same new topic in one sweep, it becomes two topics. (Most topics are born in the first
sweep. There, shards go in waves, each as large as all before it, and see the topics of earlier waves.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa import _native
from bayespa.native.medlda import Documents, Schedule, Statistics, Tasks

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class HdpTopics:
    """The K topics of the posterior, their sticks, and the prior of those to come.

    Parameters
    ----------
    dirichlet : (n_words, K) float32
        Δ of the words of the mini-batch.
    totals : (K,) float64
        Σ_w Δ_kw over all words.
    u, v : (K,) float64
        π̄_k ~ Beta(u_k, v_k).
    own_variance : (T,) float64
        Variance v² of the weight of a new topic in each task, in addition to that of the bias.
    concentration : float
        α of a document's proportions Dir(απ).
    stick_concentration : float
        γ of the sticks to come.
    start_concentration : float
        γ in the first sweep, where the chain starts. It does not change the distribution that the chain
        samples. But a chain that starts with many topics drops those it does not need, while one that starts
        with few hardly splits them.
    eta : float
        η of the topics to come.
    n_words : int
        W, the size of the whole vocabulary.
    """

    dirichlet: NDArray[np.float32]
    totals: Floats
    u: Floats
    v: Floats
    own_variance: Floats
    concentration: float
    stick_concentration: float
    start_concentration: float
    eta: float
    n_words: int


def with_bias(mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Return the weights of the topics, bias included, from those beside the bias, which comes last.

    A topic's weight is w_k + b, since topic proportions sum to one. The weight of a new topic is b plus an
    independent part. New topics are the last of the K + 1 topics of `Tasks`, with the variance of b.

    Parameters
    ----------
    mean : (T, K + 1)
    covariance : (T, K + 1, K + 1)

    Examples
    --------
    >>> mean, covariance = with_bias(np.array([[1.0, 2.0, 10.0]]), np.diag([4.0, 5.0, 1.0])[None])
    >>> mean
    array([[11., 12., 10.]])
    >>> covariance[0]
    array([[5., 1., 1.],
           [1., 6., 1.],
           [1., 1., 1.]])
    """
    weights, bias = mean.copy(), mean[:, -1:]
    weights[:, :-1] += bias
    rows = covariance.copy()
    rows[:, :-1] += covariance[:, -1:]
    both = rows.copy()
    both[:, :, :-1] += rows[:, :, -1:]
    return weights, both


def beside_bias(precision: Floats, shift: Floats) -> tuple[Floats, Floats]:
    """Return statistics (T, K, K), (T, K) of the topics' weights as those of weights and bias, the bias last.

    Examples
    --------
    >>> precision, shift = beside_bias(np.array([[[1.0, 2.0], [2.0, 5.0]]]), np.array([[1.0, 3.0]]))
    >>> precision[0], shift[0]
    (array([[ 1.,  2.,  3.],
           [ 2.,  5.,  7.],
           [ 3.,  7., 10.]]), array([1., 3., 4.]))
    """
    both = np.concatenate([precision, precision.sum(axis=2, keepdims=True)], axis=2)
    both = np.concatenate([both, both.sum(axis=1, keepdims=True)], axis=1)
    return both, np.concatenate([shift, shift.sum(axis=1, keepdims=True)], axis=1)


@dataclass(frozen=True)
class HdpStepResult:
    """Statistics over K slots: the old topics in their order, then new ones.

    The slot of a new topic that has died, or was never kept, is empty: its `topic_word` is 0.
    """

    topic_word: NDArray[np.int32]  # (n_words, K), sum over the kept sweeps of the last phase that has any
    tables: NDArray[np.int64]  # (K,), Σ_d s_dk, likewise a sum
    free: Statistics
    labelled: Statistics
    topics: NDArray[np.uint32]  # (n_tokens,), slots after the last sweep, tokens in order of documents

    @property
    def n_kept(self) -> int:
        """Sweeps that `topic_word` and `tables` sum over."""
        return self.labelled.n_kept or self.free.n_kept


def step(
    documents: Documents,
    topics: HdpTopics,
    tasks: Tasks,
    schedule: Schedule,
    *,
    start: NDArray[np.uint32] | None = None,
    n_threads: int = 1,
) -> HdpStepResult:
    """Sample topics and sticks of a mini-batch given the posterior; the same bits for any number of threads.

    Parameters
    ----------
    documents : Documents
    topics : HdpTopics
    tasks : Tasks
        With K + 1 topics, the last of which stands for all new ones: see `with_bias`.
    schedule : Schedule
    start : (n_tokens,), optional
        Topics of the posterior from which a chain continues; then `schedule` needs no free sweep. The sticks
        of its first sweep know no tables of the mini-batch.
    n_threads : int

    Cost: O(tokens · sweeps · topics in use · (1 + T)).
    """
    topic_word, tables, last, free, labelled = _native.medhdp_step(
        documents, topics, tasks, schedule, start, n_threads
    )

    def statistics(phase: dict[str, Any]) -> Statistics:
        return Statistics(topic_word=np.empty((0, len(tables)), np.int32), **phase)

    return HdpStepResult(topic_word, tables, statistics(free), statistics(labelled), last)
