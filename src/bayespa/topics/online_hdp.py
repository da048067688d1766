"""Truncation-free inference of the hierarchical Dirichlet process (tfHDP): online MedHDP, no labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bayespa.estimators import documented
from bayespa.native.elementary import log
from bayespa.posteriors import Joint
from bayespa.topics.documents import Batch
from bayespa.topics.hdp import EXPERT, HdpTransformer
from bayespa.topics.medhdp import MedHDP
from bayespa.topics.model import Model
from bayespa.topics.part import ENOUGH, TopicStep
from bayespa.topics.scikit import ScikitTransformer
from bayespa.topics.unsupervised import UnsupervisedTransformer


@dataclass(frozen=True, kw_only=True)
class HDP(MedHDP):
    """MedHDP without tasks."""

    def step(self, near: Joint, batch: Batch, index: int) -> TopicStep:
        """Sample the topics of the batch; the objective is how well its words were predicted."""
        objective = self._surprise(near, batch)
        return replace(super().step(near, batch, index), objective=objective)

    def _surprise(self, near: Joint, batch: Batch) -> float:
        sums, documents = near["topics"], batch.documents
        if not len(sums.ids):  # all words are the same
            tokens = documents.counts * np.repeat(batch.weights, np.diff(documents.indptr))
            return float(tokens.sum()) * float(log(float(sums.n_words)))
        words = np.arange(len(documents.vocabulary))
        own = replace(batch, documents=replace(documents, vocabulary=words))
        view = self.view(near)
        shares = self.infer(view, own.first(ENOUGH)).free.topic_share
        return self.minus_log_likelihood(view, own, shares)


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class OnlineHDP(ScikitTransformer, HdpTransformer, UnsupervisedTransformer, BaseEstimator):  # type: ignore[misc]
    """Topics from a stream, as many as needed: truncation-free inference of an HDP (tfHDP).

    Topics without labels. Combine it with a linear classifier for a baseline of `MedHDPClassifier`.

    Parameters
    ----------
    alpha : float
        Concentration of a document's topics: larger values give more topics per document. Proportions are
        Dirichlet(α π), where π are the shares of the topics in all documents.
    eta : float
        Dirichlet prior of a topic's words, rounded to a multiple of 2^-20. Smaller values give more topics
        with fewer words each.

    Notes
    -----
    `expert` may have ``n_sweeps`` and ``burn_in`` (Gibbs sweeps over a mini-batch, after two that are
    dropped, and how many more are dropped), ``first_documents``, ``first_sweeps``, ``start_gamma``,
    ``min_tokens``, ``topic_estimate`` and ``prediction_sweeps``, as in MedHDPClassifier.

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

    alpha: float = 5.0
    eta: float = 0.01

    def _defaults(self) -> dict[str, Any]:
        return EXPERT

    def _model(self, values: dict[str, Any], meaning: Any, shared: dict[str, Any]) -> Model:
        return Model(HDP(**self._hdp(values), **shared), 0)
