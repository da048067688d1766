"""The data sets of the figures, as word counts with labels, to train and to test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from bayespa.datasets import (
    fetch_20newsgroups,
    fetch_arxiv20,
    fetch_gml,
    load_arxiv_sample,
    make_topic_corpus,
)

N_GENERATED = 50_000  # documents to train, of the shape of the paper's Wikipedia


@dataclass(frozen=True)
class Data:
    """Documents to train and to test; y holds classes, (n,), or 0 and 1 for each label, (n, T)."""

    X: sparse.csr_matrix
    y: NDArray[Any]
    X_test: sparse.csr_matrix
    y_test: NDArray[Any]

    def first(self, documents: int | None) -> Data:
        """Return as many training documents, evenly spaced, and test documents in proportion."""
        if documents is None or documents >= len(self.y):
            return self
        train, test = (
            np.linspace(0, n - 1, max(1, round(n * documents / len(self.y)))).astype(int)
            for n in (len(self.y), len(self.y_test))
        )
        return _known_words(Data(self.X[train], self.y[train], self.X_test[test], self.y_test[test]))


def _known_words(data: Data) -> Data:
    """Drop words that no training document has: no model learns anything of them."""
    known = np.unique(data.X.indices)
    return Data(data.X[:, known], data.y, data.X_test[:, known], data.y_test)


def _newsgroups(data_home: Path | None) -> Data:
    train, test = (
        fetch_20newsgroups(subset, version="matlab", data_home=data_home, remove_stop_words=True)
        for subset in ("train", "test")
    )
    return Data(train.data, train.target, test.data, test.target)


def _texts(train: Any, test: Any, **options: Any) -> Data:
    words = CountVectorizer(stop_words="english", **options)
    X = words.fit_transform(train.data)
    return Data(X, train.target, words.transform(test.data), test.target)


def _sample(data_home: Path | None) -> Data:
    return _texts(*(load_arxiv_sample(subset=subset) for subset in ("train", "test")))


def _sample_labels(data_home: Path | None) -> Data:
    return _texts(*(load_arxiv_sample(subset=subset, multilabel=True) for subset in ("train", "test")))


def _arxiv(data_home: Path | None) -> Data:
    train, test = (
        fetch_arxiv20(subset, multilabel=True, data_home=data_home) for subset in ("train", "test")
    )
    return _texts(train, test, min_df=5)


def _wiki(data_home: Path | None) -> Data:
    bunch = fetch_gml("wiki_test", data_home=data_home)
    X, y = bunch.data, bunch.target
    return _known_words(Data(X[:4000], y[:4000], X[4000:], y[4000:]))


def _generated(data_home: Path | None) -> Data:
    bunch: Any = make_topic_corpus(
        N_GENERATED + 5000,
        n_words=50_000,
        n_topics=40,
        n_labels=20,
        tokens_per_document=61,
        labels_per_document=1.6,
        label_strength=0.6,  # noise enough that none is perfect
        random_state=0,
    )
    X, y, n = bunch.data, bunch.target, N_GENERATED
    return _known_words(Data(X[:n], y[:n], X[n:], y[n:]))


LOADERS: dict[str, Callable[[Path | None], Data]] = {
    "newsgroups": _newsgroups,
    "sample": _sample,
    "sample-labels": _sample_labels,
    "arxiv": _arxiv,
    "wiki": _wiki,
    "generated": _generated,
}
TITLES = {
    "newsgroups": "20 Newsgroups",
    "sample": "sample of arXiv abstracts",
    "sample-labels": "sample of arXiv abstracts",
    "arxiv": "arXiv abstracts",
    "wiki": "Wikipedia, the authors' sample",
    "generated": "generated, of Wikipedia's shape",
    "adversary": "adversary",
}


@lru_cache(maxsize=2)  # cells come in the order of their data
def load(name: str, data_home: Path | None, documents: int | None) -> Data:
    """Return a data set, or as many of its documents."""
    return LOADERS[name](data_home).first(documents)
