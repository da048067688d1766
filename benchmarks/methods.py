"""Ours and what a user would pick instead, each as an iterator of models that have learned for longer.

One core each. Settings of others are their defaults where nothing is said beside them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import bayespa
from benchmarks import peers
from benchmarks.corpora import Corpus

K = 40
warnings.filterwarnings(
    "ignore", "Label not .* is present in all training examples", UserWarning
)  # rare labels


@dataclass(frozen=True)
class Checkpoint:
    """A model as it is now."""

    predict: Callable[[Any], NDArray[Any]] | None = None  # prepared documents to their labels
    shares: Callable[..., NDArray[Any]] | None = (
        None  # to topic shares, for a read-out; None: those learned from
    )
    prepare: Callable[[csr_matrix], Any] = lambda X: X  # counts to what the program takes: not timed
    alone: bool = False  # learned from scratch, not on top of the checkpoint before
    variants: Callable[[int], dict[str, Checkpoint]] | None = None  # predicting with so many sweeps


class Method(NamedTuple):
    """A program and how it learns."""

    name: str
    package: str
    learn: Callable[[Corpus, bool], Iterator[Checkpoint]]  # the call prepares, the iterator learns
    topics: bool = True  # a topic model; else linear
    exclusive: bool = False  # it has no labels of which a document has several

    @property
    def ours(self) -> bool:
        """Whether it is what is to be shown."""
        return self.package == "bayespa"


def _ends(n: int, quick: bool) -> list[int]:
    """Return sizes of a growing share of n documents."""
    return [n // part for part in ((4, 1) if quick else (16, 8, 4, 2, 1))]


def _stream(make: Callable[[], Any], corpus: Corpus, quick: bool) -> Iterator[Checkpoint]:
    """Learn one pass of a topic model by partial_fit."""
    model, begin = make(), 0
    classes = np.arange(corpus.n_labels)
    for end in _ends(corpus.X.shape[0], quick):
        model.partial_fit(corpus.X[begin:end], corpus.y[begin:end], classes=classes)
        _ = model.posterior_  # learns documents that wait, too, as predictions would do otherwise
        begin = end
        yield topics_of(model)


def topics_of(model: Any) -> Checkpoint:
    """Make a checkpoint of one of our topic models, which predicts with any number of sweeps."""

    def variants(sweeps: int) -> dict[str, Checkpoint]:
        expert = {**(model.expert or {}), "prediction_sweeps": sweeps}
        return {f"{sweeps} sweeps": Checkpoint(copy(model).set_params(expert=expert).predict)}

    return Checkpoint(model.predict, variants=variants)


def _passes(make: Callable[..., Any], corpus: Corpus, quick: bool) -> Iterator[Checkpoint]:
    """Learn from all documents in several passes."""
    for n_passes in (2,) if quick else (2, 3, 5):
        model = make(n_passes=n_passes).fit(corpus.X, corpus.y)
        yield Checkpoint(model.predict, alone=True)


def _prefixes(make: Callable[[], Any], corpus: Corpus, quick: bool) -> Iterator[Checkpoint]:
    """Learn from scratch from a growing share of the documents, weighted by tf-idf."""
    for end in _ends(corpus.X.shape[0], quick):
        learner = OneVsRestClassifier(make()) if corpus.multilabel else make()
        model = make_pipeline(TfidfTransformer(sublinear_tf=True), learner)
        yield Checkpoint(model.fit(corpus.X[:end], corpus.y[:end]).predict, alone=True)


def _peer(learn: Callable[..., Iterator[Any]]) -> Callable[[Corpus, bool], Iterator[Checkpoint]]:
    def checkpoints(corpus: Corpus, quick: bool) -> Iterator[Checkpoint]:
        return map(_of_peer, learn(corpus, quick))

    return checkpoints


def _of_peer(model: Any) -> Checkpoint:
    def variants(sweeps: int) -> dict[str, Checkpoint]:
        return {name: _of_peer(variant) for name, variant in model.variants(sweeps).items()}

    return Checkpoint(
        getattr(model, "predict", None),
        model.shares,
        model.prepare,
        model.alone,
        variants if hasattr(model, "variants") else None,
    )


def _scikit_learn_lda(corpus: Corpus, quick: bool) -> Iterator[Checkpoint]:
    model = LatentDirichletAllocation(
        K, learning_method="online", total_samples=corpus.X.shape[0], random_state=0
    )
    done = 0
    for n_passes in (1, 3) if quick else (1, 3, 10):
        for _ in range(n_passes - done):
            model.partial_fit(corpus.X)
        done = n_passes
        yield Checkpoint(shares=lambda X=None: model.transform(corpus.X if X is None else X))


_medlda = partial(bayespa.MedLDAClassifier, K, random_state=0)
_medhdp = partial(bayespa.MedHDPClassifier, random_state=0)
_bayespa = partial(bayespa.BayesPAClassifier, random_state=0)
_pa = partial(bayespa.PassiveAggressiveClassifier, max_iter=1, tol=None, average=True, random_state=0)
# A topic model is also read out by READ_OUTS, fitted to its topic shares of the training documents.
METHODS = [
    Method("MedLDA", "bayespa", partial(_stream, _medlda)),
    Method("MedHDP", "bayespa", partial(_stream, _medhdp)),
    Method("MedLDA, several passes", "bayespa", partial(_passes, _medlda)),
    Method("BayesPA, tf-idf", "bayespa", partial(_prefixes, _bayespa), topics=False),
    Method("PA, tf-idf", "bayespa", partial(_prefixes, _pa), topics=False),
    Method("tomotopy LDA", "tomotopy", _peer(partial(peers.tomotopy_lda, K))),
    Method("tomotopy PLDA", "tomotopy", _peer(peers.tomotopy_plda)),
    Method("tomotopy SLDA", "tomotopy", _peer(partial(peers.tomotopy_slda, K)), exclusive=True),
    Method("lda", "lda", _peer(partial(peers.lda_lda, K))),
    Method("gensim LDA", "gensim", _peer(partial(peers.gensim_lda, K))),
    Method("scikit-learn LDA", "sklearn", _scikit_learn_lda),
    Method(
        "Vowpal Wabbit", "vowpalwabbit", _peer(peers.VowpalWabbit.checkpoints), topics=False, exclusive=True
    ),
    Method("river PA", "river", _peer(peers.River.checkpoints), topics=False, exclusive=True),
    Method("LinearSVC, tf-idf", "sklearn", partial(_prefixes, LinearSVC), topics=False),
    Method("ComplementNB, tf-idf", "sklearn", partial(_prefixes, ComplementNB), topics=False),
]
READ_OUTS = {
    "LinearSVC": partial(LinearSVC, C=1.0),
    "LogisticRegression": partial(LogisticRegression, C=100.0, max_iter=300),
}


def methods(corpus: Corpus) -> list[Method]:
    """Return the methods that are installed and can learn such labels."""
    return [m for m in METHODS if peers.have(m.package) and not (m.exclusive and corpus.multilabel)]


def read_out(name: str, shares: NDArray[Any], y: NDArray[np.int64]) -> Any:
    """Fit a read-out of topic shares."""
    make = READ_OUTS[name]
    return (OneVsRestClassifier(make()) if y.ndim == 2 else make()).fit(shares, y)


def method(name: str) -> Method:
    """Return the method of this name."""
    return next(m for m in METHODS if m.name == name)
