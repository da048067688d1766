"""The corpora, as counts of the same tokens for every program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from bayespa.datasets import fetch_20newsgroups, fetch_reuters21578, load_arxiv_sample

QUICK_DOCUMENTS = {"train": 2500, "test": 800}


@dataclass(frozen=True)
class Corpus:
    """Documents to learn from and to test on."""

    name: str
    X: csr_matrix  # (n, W) counts
    y: NDArray[np.int64]  # (n,) classes, or (n, T) 0/1
    X_test: csr_matrix
    y_test: NDArray[np.int64]

    @property
    def multilabel(self) -> bool:
        """Whether a document has any number of labels."""
        return self.y.ndim == 2

    @property
    def n_labels(self) -> int:
        """Classes or labels."""
        return self.y.shape[1] if self.multilabel else int(self.y.max()) + 1

    @property
    def n_tokens(self) -> int:
        """Tokens to learn from."""
        return int(self.X.sum())

    def head(self, train: int, test: int) -> Corpus:
        """Return the first documents, without words that only later ones have."""
        seen = np.flatnonzero(self.X[:train].getnnz(axis=0))
        name = f"{self.name} (the first {train:,} and {test:,})" if train < self.X.shape[0] else self.name
        return replace(
            self,
            name=name,
            X=self.X[:train, seen],
            y=self.y[:train],
            X_test=self.X_test[:test, seen],
            y_test=self.y_test[:test],
        )

    def describe(self) -> str:
        """Return the sizes in a phrase."""
        n, n_words = self.X.shape
        return (
            f"{self.name}: {n:,} documents to learn from and {self.X_test.shape[0]:,} to test on, "
            f"{n_words:,} words, {self.n_tokens:,} tokens, {self.n_labels} labels"
        )


def words(counts: csr_matrix) -> list[list[str]]:
    """Return documents as lists of words, for programs that take them; an empty one has a word of its own."""
    return [[str(word) for word in np.repeat(row.indices, row.data)] or ["none"] for row in counts]


def counted(train: Any, test: Any) -> tuple[csr_matrix, csr_matrix, NDArray[Any]]:
    """Count `[a-z]{2,}` in texts, without English stop words and words of fewer than 5 texts to learn from.

    Return the counts of both, and the words.
    """
    vectorizer = CountVectorizer(token_pattern="[a-z]{2,}", stop_words="english", min_df=5, dtype=np.int32)
    X = vectorizer.fit_transform(train)
    return X, vectorizer.transform(test), vectorizer.get_feature_names_out()


def _counted(name: str, train: Any, test: Any) -> Corpus:
    X, X_test, _ = counted(train.data, test.data)
    return Corpus(name, X, train.target, X_test, test.target)


def _newsgroups_text(data_home: str | None) -> Corpus:
    train, test = (
        fetch_20newsgroups(subset, data_home=data_home, download_if_missing=False)
        for subset in ("train", "test")
    )
    return _counted("20 Newsgroups, text", train, test)


def _newsgroups_matlab(data_home: str | None) -> Corpus:
    train, test = (
        fetch_20newsgroups(subset, version="matlab", data_home=data_home, remove_stop_words=True)
        for subset in ("train", "test")
    )
    return Corpus("20 Newsgroups, matlab", train.data, train.target, test.data, test.target)


def _reuters(data_home: str | None) -> Corpus:
    train, test = (fetch_reuters21578(subset, data_home=data_home) for subset in ("train", "test"))
    return _counted("Reuters-21578", train, test)


CORPORA = {"text": _newsgroups_text, "matlab": _newsgroups_matlab, "reuters": _reuters}


def read(name: str, data_home: str | None, *, quick: bool) -> Corpus:
    """Read a corpus of CORPORA, or where its file is missing the sample of arXiv inside the package."""
    try:
        corpus = CORPORA[name](data_home)
    except FileNotFoundError:
        multilabel = name == "reuters"
        train, test = (load_arxiv_sample(subset=part, multilabel=multilabel) for part in ("train", "test"))
        corpus = _counted(f"arXiv sample in place of {name}, which BAYESPA_DATA does not have", train, test)
    return corpus.head(**QUICK_DOCUMENTS) if quick else corpus
