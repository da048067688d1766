"""Sparse stochastic inference of latent Dirichlet allocation (spLDA), by MedLDA's step without labels.

The concentrations of topics take steps along the natural gradient for a corpus of D documents, estimated from
a mini-batch B: Δ ← Δ + ρ_t (η + D/|B| E[counts] - Δ), ρ_t = (τ + t)^-κ.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from bayespa.estimators import documented
from bayespa.learning import Before
from bayespa.native.elementary import exp, log
from bayespa.native.medlda import Schedule, Tasks
from bayespa.posteriors import Dirichlet, Joint
from bayespa.topics.documents import Batch
from bayespa.topics.medlda import MedLDA
from bayespa.topics.model import Model
from bayespa.topics.part import TopicStep, WordIds, sample
from bayespa.topics.scikit import ScikitTransformer
from bayespa.topics.unsupervised import UnsupervisedTransformer

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, kw_only=True)
class StochasticLDA(MedLDA):
    """MedLDA without tasks, whose statistics are steps along the natural gradient."""

    n_documents: float | None  # D; None: that of the corpus
    tau: float
    kappa: float

    def among(self, n_documents: int) -> Self:
        """Return the part for a corpus of so many documents, if D is not given."""
        return replace(self, n_documents=self.n_documents or float(n_documents))

    def step_size(self, index: int) -> float:
        """Return ρ_t, at most 1."""
        return min(1.0, float(exp(-self.kappa * float(log(self.tau + index)))))

    def near(self, posterior: Joint, words: WordIds, n_words: int) -> Joint:
        """Return the whole posterior: a step changes all of it."""
        return posterior

    def propose(
        self, posterior: Joint, batch: Batch, index: int, before: Before[Joint] | None = None
    ) -> TopicStep:
        """Sample the topics of the batch and return the step ρ_t (η + D/|B| E[counts] - Δ)."""
        topics, vocabulary, view = posterior["topics"], batch.documents.vocabulary, self.view(posterior)
        schedule = Schedule(self.n_sweeps, self.burn_in, 0, 0, seed=self.key, round=index)
        tasks = Tasks.none(len(batch), self.n_topics)
        sampled = sample(batch, self._topics(view, vocabulary), tasks, schedule, self.n_threads)
        rate = self.step_size(index)
        assert self.n_documents is not None  # of `among`
        prior = self.prior(topics.concentration.shape[1])["topics"]
        step = (prior.concentration - topics.concentration).T * rate
        for _, counts, weight in sampled.counts:
            step[vocabulary] += rate * self.n_documents / len(batch) * weight * counts
        return TopicStep(
            Joint(topics=Dirichlet(step.T)),
            self.minus_log_likelihood(view, batch, sampled.free.topic_share),
            len(batch),
            margin=np.empty((len(batch), 0)),
        )


@documented
@dataclass(eq=False, repr=False)
class OnlineLDA(ScikitTransformer, UnsupervisedTransformer, BaseEstimator):  # type: ignore[misc]
    """Latent Dirichlet allocation, learned from a stream by sparse stochastic inference (spLDA).

    Topics without labels. Combine it with a linear classifier for a baseline of supervised topic models.

    Parameters
    ----------
    n_topics : int
        K, the number of topics.
    alpha : float
        Dirichlet prior of a document's topic proportions.
    eta : float
        Dirichlet prior of a topic's words, rounded to a multiple of 2^-20.
    tau : float
        Step t (from 0) has the size (tau + t)^-kappa, at most 1.
    kappa : float
        The steps converge if kappa is in (0.5, 1].
    total_documents : int or None
        D, the size of the corpus that the stream is a sample of. None: the number of documents in `fit`, or
        so far in `partial_fit`.
    n_sweeps : int
        Gibbs sweeps over a mini-batch.
    burn_in : int
        How many of them are dropped.
    batch_size : int or None
        Documents per mini-batch. None: all.
    n_passes : int
        Passes of `fit` over the corpus.
    topic_estimate : {"mean", "geometric"}
        Sample with E Φ or with exp(E log Φ), the mean-field optimum.
    prediction_sweeps : int
        Gibbs sweeps over a document in `transform`; the first quarter is burn-in.

    References
    ----------
    D. Mimno, M. Hoffman and D. Blei, Sparse stochastic inference for latent Dirichlet allocation, ICML 2012.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from bayespa import OnlineLDA
    >>> from bayespa.datasets import make_topic_corpus
    >>> corpus = make_topic_corpus(600, n_words=300, n_topics=6, n_labels=3, random_state=0)
    >>> model = make_pipeline(OnlineLDA(6, batch_size=64, n_passes=5, random_state=0), LinearSVC(C=10.0))
    >>> model.fit(corpus.data[:500], corpus.target[:500]).score(corpus.data[500:], corpus.target[500:]) > 0.8
    True
    """

    n_topics: int = 40
    _: KW_ONLY
    alpha: float = 0.1
    eta: float = 0.05
    tau: float = 64.0
    kappa: float = 0.6
    total_documents: int | None = None
    n_sweeps: int = 10
    burn_in: int = 5
    batch_size: int | None = 256
    n_passes: int = 1
    topic_estimate: Literal["mean", "geometric"] = "mean"
    prediction_sweeps: int = 50

    def _schedule(self, values: dict[str, Any]) -> dict[str, Any]:
        return {"batch_size": values["batch_size"], "n_passes": values["n_passes"], "replaces": False}

    def _model(self, values: dict[str, Any], meaning: Any, shared: dict[str, Any]) -> Model:
        topics = StochasticLDA(
            n_topics=int(values["n_topics"]),
            alpha=float(values["alpha"]),
            n_documents=values["total_documents"] and float(values["total_documents"]),
            tau=float(values["tau"]),
            kappa=float(values["kappa"]),
            **shared,
        )
        return Model(topics, 0)
