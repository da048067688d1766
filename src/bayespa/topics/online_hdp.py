"""Truncation-free inference of the hierarchical Dirichlet process (tfHDP): online MedHDP, no labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bayespa.native.elementary import log
from bayespa.posteriors import Joint
from bayespa.topics.calibration import Calibration
from bayespa.topics.documents import Batch
from bayespa.topics.medhdp import HdpTransformer
from bayespa.topics.medhdp_model import MedHDP
from bayespa.topics.model import ENOUGH, Progressive
from bayespa.topics.unsupervised import UnsupervisedTransformer


@dataclass(frozen=True, kw_only=True)
class HDP(MedHDP):
    """MedHDP of no tasks."""

    def local_step(self, posterior: Joint, batch: Batch, index: int) -> Progressive:
        """Sample the topics of the batch; the objective is how well its words were known before."""
        objective = self._surprise(posterior, batch)
        return replace(super().local_step(posterior, batch, index), objective=objective)

    def _surprise(self, posterior: Joint, batch: Batch) -> float:
        sums, documents = posterior["topics"], batch.documents
        if not len(sums.ids):  # all words are alike
            tokens = documents.counts * np.repeat(batch.weights, np.diff(documents.indptr))
            return float(tokens.sum()) * float(log(float(sums.n_words)))
        shares = self.infer(posterior, batch.first(ENOUGH)).free.topic_share
        return self.minus_log_likelihood(posterior, batch, shares)


class OnlineHDP(HdpTransformer, UnsupervisedTransformer):
    """Topics from a stream, as many as it needs, by truncation-free inference of an HDP (tfHDP).

    Topics without labels: the baseline of `MedHDPClassifier`, to be followed by a linear classifier.

    Parameters
    ----------
    concentration : float
        α: the more of it, the more topics a document has. Its proportions are Dirichlet(α π), where π are the
        shares of the topics in all documents.
    stick_concentration : float
        γ: how readily topics are born. The more of it, the more topics share the documents.
    eta : float
        η, the Dirichlet prior of a topic's words, rounded to a multiple of 2^-20. Small values make more
        topics, of fewer words each.
    max_topics : int or None
        After a mini-batch at most so many topics are kept, those that hold most. None: as many as it takes.
    n_sweeps, burn_in : int
        Gibbs sweeps over a mini-batch, after two that are thrown away, and how many more are.
    batch_size : int or None
        Documents of a mini-batch. None: all at once.
    first_batch_size : int or None
        Documents of the first mini-batch, if that is more than `batch_size`: topics are found where there is
        enough to see.
    first_sweeps : int
        Sweeps over the first mini-batch before the `n_sweeps`.
    start_concentration : float
        γ in the very first sweep, where the chain of the first mini-batch starts. It does not change the law
        of the samples; but a chain that starts with many topics loses those that it has no use for.
    min_tokens : float
        A topic that holds fewer tokens after a mini-batch, and less than a thousandth of all, is removed with
        what it holds. 0: only topics that hold nothing are removed.
    n_passes : int
        Passes of `fit` over the corpus; what a mini-batch taught before is replaced, so that no document
        counts twice.
    discount : float
        Below 1: before each mini-batch the posterior goes back to the prior by this factor, for streams that
        drift.
    topic_estimate : {"mean", "geometric"}
        Transform with E Φ or with exp(E log Φ). Learning integrates Φ out.
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
        Concentrations Δ of the K topics, the largest first.
    components_ : (K, n_words) array
        The topics' mean: probabilities of words.
    n_topics_ : int
        K, the topics in use.
    topic_ids_ : (K,) array of int64
        A number for each topic that it keeps from birth to death.
    stick_ : Sticks
        Posterior of the sticks that the shares of the topics are broken from, in the order of `topic_ids_`.
    n_documents_seen_ : int
        Documents learned.
    objective_ : list of float
        Of every mini-batch, minus the log likelihood of its words per document before it was learned.
    n_features_in_ : int
        Words known.

    References
    ----------
    C. Wang and D. Blei, Truncation-free online variational inference for Bayesian nonparametric models,
    NIPS 2012.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from bayespa import OnlineHDP
    >>> from bayespa.datasets import make_topic_corpus
    >>> corpus = make_topic_corpus(600, n_words=300, n_topics=6, n_labels=3, random_state=0)
    >>> model = make_pipeline(OnlineHDP(batch_size=64, random_state=0), LinearSVC(C=10.0))
    >>> model.fit(corpus.data[:500], corpus.target[:500]).score(corpus.data[500:], corpus.target[500:]) > 0.8
    True
    """

    multi_class = "shared"  # there is one set of topics

    def __init__(
        self,
        concentration: float = 5.0,
        stick_concentration: float = 1.0,
        eta: float = 0.01,
        max_topics: int | None = None,
        *,
        n_sweeps: int = 4,
        burn_in: int = 2,
        batch_size: int | None = 256,
        first_batch_size: int | None = 2048,
        first_sweeps: int = 100,
        start_concentration: float = 100.0,
        min_tokens: float = 20.0,
        n_passes: int = 1,
        discount: float = 1.0,
        topic_estimate: Literal["mean", "geometric"] = "mean",
        prediction_sweeps: int = 50,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.concentration = concentration
        self.stick_concentration = stick_concentration
        self.eta = eta
        self.max_topics = max_topics
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.batch_size = batch_size
        self.first_batch_size = first_batch_size
        self.first_sweeps = first_sweeps
        self.start_concentration = start_concentration
        self.min_tokens = min_tokens
        self.n_passes = n_passes
        self.discount = discount
        self.topic_estimate = topic_estimate
        self.prediction_sweeps = prediction_sweeps
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _model(self, n_tasks: int, calibration: Calibration, key: int) -> HDP:
        self._check_discount()
        return HDP(**self._check_topics(), **self._without_tasks(key))

    def _options(self, model: Any) -> dict[str, Any]:
        return {"discount": self.discount}
