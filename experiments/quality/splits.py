"""Corpora as counts, whole or with the later part of the training documents held out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from benchmarks.corpora import counted
from benchmarks.newsgroups_accuracy import later_of_each_group
from numpy.typing import NDArray

from bayespa.datasets import (
    fetch_20newsgroups,
    fetch_arxiv20,
    fetch_gml,
    fetch_reuters21578,
    load_arxiv_sample,
)

NAMED = ("matlab", "text", "arxiv", "reuters")
OTHERS = ("wikipedia", "atheism", "sample")  # nothing was chosen on these


class Split(NamedTuple):
    """Documents to learn from, and later ones to judge by."""

    X: Any  # (n, W) counts
    y: NDArray[Any]  # (n,) classes, or (n, T) 0/1
    X_test: Any
    y_test: NDArray[Any]
    words: NDArray[Any]  # (W,)


def _later(y: NDArray[Any], share: float = 0.3) -> NDArray[np.bool_]:
    """Return which documents are the last of their class, or of all where they have many labels."""
    if y.ndim == 2:
        return np.arange(len(y)) >= (1 - share) * len(y)
    return later_of_each_group(y)


def _cut(X: Any, y: NDArray[Any], later: NDArray[np.bool_], words: NDArray[Any]) -> Split:
    return Split(X[~later], y[~later], X[later], y[later], words)


def split(name: str, *, holdout: bool) -> Split:
    """Read a corpus; with `holdout` later training documents take the place of the test documents."""
    if name == "matlab":
        options = {"version": "matlab", "remove_stop_words": True, "shuffle": False}
        train = fetch_20newsgroups("train", **options)
        if holdout:
            return _cut(train.data, train.target, _later(train.target), np.asarray(train.feature_names))
        test = fetch_20newsgroups("test", **options)
        return Split(train.data, train.target, test.data, test.target, np.asarray(train.feature_names))
    if name in ("wikipedia", "atheism"):
        parts = ("wiki_test",) if name == "wikipedia" else ("binary_train", "binary_test")
        first, *rest = (fetch_gml(part) for part in parts)
        words = np.arange(first.data.shape[1])
        if rest and not holdout:
            width = first.data.shape[1]
            return Split(first.data, first.target, rest[0].data[:, :width], rest[0].target, words)
        later = _later(first.target) if rest else np.arange(len(first.target)) >= 4000
        if not rest and holdout:
            return _cut(first.data[:4000], first.target[:4000], _later(first.target[:4000]), words)
        return _cut(first.data, first.target, later, words)
    fetch = {
        "text": lambda subset: fetch_20newsgroups(subset, shuffle=False),
        "arxiv": fetch_arxiv20,
        "reuters": fetch_reuters21578,
        "sample": lambda subset: load_arxiv_sample(subset=subset),
    }[name]
    train = fetch("train")
    if holdout:
        later = _later(train.target, 5000 / len(train.target) if name == "arxiv" else 0.3)
        texts = np.asarray(train.data, object)
        X, X_test, words = counted(texts[~later], texts[later])
        return Split(X, train.target[~later], X_test, train.target[later], words)
    test = fetch("test")
    X, X_test, words = counted(train.data, test.data)
    return Split(X, train.target, X_test, test.target, words)
