"""Sparse stochastic inference of latent Dirichlet allocation (spLDA): the local step of MedLDA, no labels.

The topics' concentrations take steps along the natural gradient of the evidence of a corpus of D documents,
which a mini-batch B stands for: Δ ← Δ + ρ_t (η + D/|B| E[counts] - Δ), ρ_t = (τ + t)^-κ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bayespa.checks import require_number
from bayespa.learning import Callback, Local
from bayespa.native.elementary import exp, log
from bayespa.native.medlda import Schedule, Tasks, Topics
from bayespa.posteriors import Dirichlet, Joint
from bayespa.topics.batches import Batches
from bayespa.topics.calibration import Calibration
from bayespa.topics.documents import Batch
from bayespa.topics.medlda_model import MedLDA
from bayespa.topics.sampling import sample
from bayespa.topics.unsupervised import UnsupervisedTransformer


@dataclass(frozen=True, kw_only=True)
class StochasticLDA(MedLDA):
    """MedLDA of no tasks, whose statistics are steps along the natural gradient."""

    n_documents: float  # D
    tau: float
    kappa: float

    def step_size(self, index: int) -> float:
        """Return ρ_t, at most 1."""
        return min(1.0, float(exp(-self.kappa * float(log(self.tau + index)))))

    def local_step(self, posterior: Joint, batch: Batch, index: int) -> Local[Joint]:  # type: ignore[override]
        """Sample the topics of the batch and return the step ρ_t (η + D/|B| E[counts] - Δ)."""
        topics, vocabulary = posterior["topics"], batch.documents.vocabulary
        factors = self._factors(posterior, vocabulary)
        alpha = self.shares_prior(posterior)
        schedule = Schedule(self.n_sweeps, self.burn_in, 0, 0, seed=self.key, round=index)
        tasks = Tasks.none(len(batch), self.n_topics)
        sampled = sample(batch, Topics(factors, alpha.astype(np.float32)), tasks, schedule, self.n_threads)
        rate = self.step_size(index)
        prior = self.prior(topics.concentration.shape[1])["topics"]
        step = (prior.concentration - topics.concentration).T * rate
        for piece in sampled.counts:
            step[vocabulary] += rate * self.n_documents / len(batch) * piece.weight * piece.counts
        return Local(
            Joint(topics=Dirichlet(step.T)),
            self.minus_log_likelihood(posterior, batch, sampled.free.topic_share),
            len(batch),
        )


class OnlineLDA(UnsupervisedTransformer):
    """Latent Dirichlet allocation, learned from a stream by sparse stochastic inference (spLDA).

    Topics without labels: the baseline of supervised topic models, to be followed by a linear classifier.

    Parameters
    ----------
    n_topics : int
        K.
    alpha : float
        Dirichlet prior of a document's topic proportions.
    eta : float
        Dirichlet prior of a topic's words, rounded to a multiple of 2^-20.
    tau, kappa : float
        Step t (from 0) has the size (tau + t)^-kappa, at most 1; with kappa in (0.5, 1] the steps converge.
    total_documents : int or None
        D, the size of the corpus that the stream is a sample of. None: as many as `fit` is given, or as many
        as `partial_fit` has been given so far.
    n_sweeps, burn_in : int
        Gibbs sweeps over a mini-batch, and how many of them are thrown away.
    batch_size : int or None
        Documents of a mini-batch. None: all at once.
    n_passes : int
        Passes of `fit` over the corpus.
    topic_estimate : {"mean", "geometric"}
        Sample with E Φ or with exp(E log Φ), the mean-field optimum.
    prediction_sweeps : int
        Gibbs sweeps over a document in `transform`; the first quarter is burn-in.
    random_state : int, RandomState, Generator or None
        Seed. The same seed gives the same bits for any `n_jobs` and on any CPU.
    n_jobs : int or None
        Threads: None is 1, -1 all processors.
    verbose : int
        1 reports a pass in ten lines, 2 every mini-batch.

    Attributes
    ----------
    topic_word_ : (K, n_words) array
        Concentrations Δ of the topics.
    components_ : (K, n_words) array
        The topics' mean: probabilities of words.
    n_documents_seen_ : int
        Documents learned.
    objective_ : list of float
        Of every mini-batch, minus the log likelihood of its words per document when it was learned.
    n_features_in_ : int
        Words known.

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

    def __init__(
        self,
        n_topics: int = 40,
        *,
        alpha: float = 0.1,
        eta: float = 0.05,
        tau: float = 64.0,
        kappa: float = 0.6,
        total_documents: int | None = None,
        n_sweeps: int = 10,
        burn_in: int = 5,
        batch_size: int | None = 256,
        n_passes: int = 1,
        topic_estimate: Literal["mean", "geometric"] = "mean",
        prediction_sweeps: int = 50,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_topics = n_topics
        self.alpha = alpha
        self.eta = eta
        self.tau = tau
        self.kappa = kappa
        self.total_documents = total_documents
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.batch_size = batch_size
        self.n_passes = n_passes
        self.topic_estimate = topic_estimate
        self.prediction_sweeps = prediction_sweeps
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _model(self, n_tasks: int, calibration: Calibration, key: int) -> StochasticLDA:
        require_number("n_topics", self.n_topics, 1, whole=True)
        require_number("alpha", self.alpha, 0.0, open_=True)
        require_number("tau", self.tau, 0.0, open_=True)
        require_number("kappa", self.kappa, 0.0)
        if self.total_documents is not None:
            require_number("total_documents", self.total_documents, 1, whole=True)
        return StochasticLDA(
            n_topics=int(self.n_topics),
            alpha=float(self.alpha),
            n_documents=float(self.total_documents or 1),  # `_learn` knows how many there are
            tau=float(self.tau),
            kappa=float(self.kappa),
            **self._without_tasks(key),
        )

    def _options(self, model: Any) -> dict[str, Any]:
        return {"replace": False}

    def _learn(self, model: Any, batches: Batches, n_passes: int, callback: Callback | None = None) -> None:
        known = self.total_documents or self.n_documents_seen_ + len(batches.corpus)
        super()._learn(replace(model, n_documents=float(known)), batches, n_passes, callback)
