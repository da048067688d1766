"""The development corpora as texts and labels, cut into documents to learn from and documents to judge by."""

from __future__ import annotations

import json
import lzma
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from bayespa.datasets import fetch_20newsgroups, fetch_arxiv20, fetch_reuters21578
from bayespa.datasets._common import locate

Target = Literal["class", "classes", "number"]
Integers = NDArray[np.int64]

HELD_OUT = 0.2  # of the training documents, to choose on


@dataclass(frozen=True)
class Documents:
    """Texts and labels: a str each, a list of str, or a float."""

    texts: list[str]
    labels: list[Any]
    groups: list[str] | None = None  # documents of one group stay together
    timed: bool = False  # whether they stand in the order of time

    def take(self, rows: Integers) -> Documents:
        """Return these documents, in this order."""
        groups = None if self.groups is None else [self.groups[i] for i in rows]
        return Documents([self.texts[i] for i in rows], [self.labels[i] for i in rows], groups, self.timed)


@dataclass(frozen=True)
class Task:
    """Documents to learn from and to judge by, and what the peers make of them, computed once."""

    name: str
    train: Documents
    test: Documents

    @property
    def target(self) -> Target:
        """What a label is."""
        label = self.train.labels[0]
        return "classes" if isinstance(label, list) else "class" if isinstance(label, str) else "number"

    @cached_property
    def classes(self) -> list[str]:
        """All classes, sorted; a class of the test documents may have none to learn from."""
        labels = self.train.labels + self.test.labels
        return sorted(set(labels) if self.target == "class" else {name for own in labels for name in own})

    def encoded(self, labels: Sequence[Any]) -> NDArray[Any]:
        """Return numbers (n,) of classes, an indicator (n, T), or the numbers themselves."""
        if self.target == "number":
            return np.array(labels, np.float64)
        place = {name: column for column, name in enumerate(self.classes)}
        if self.target == "class":
            return np.array([place[label] for label in labels], np.int64)
        found = np.zeros((len(labels), len(place)), np.int64)
        for row, own in enumerate(labels):
            found[row, [place[name] for name in own]] = 1
        return found

    @cached_property
    def y(self) -> NDArray[Any]:
        """Labels to learn from, encoded."""
        return self.encoded(self.train.labels)

    @cached_property
    def y_test(self) -> NDArray[Any]:
        """Labels to judge by, encoded."""
        return self.encoded(self.test.labels)

    @cached_property
    def counts(self) -> tuple[Any, Any, float]:
        """Counts of all words of the training documents, of these in the test documents, and CPU seconds.

        Words are those of `OnlineVocabulary`: runs of two and more letters, digits and _, in lower case.
        """
        begin, vectorizer = time.process_time(), CountVectorizer(dtype=np.int32)
        counts = vectorizer.fit_transform(self.train.texts)
        seconds = time.process_time() - begin
        return counts, vectorizer.transform(self.test.texts), seconds

    @cached_property
    def weights(self) -> tuple[Any, Any, float]:
        """Sublinear tf-idf of both, and CPU seconds from text to weights of the first."""
        X, X_test, seconds = self.counts
        begin, transformer = time.process_time(), TfidfTransformer(sublinear_tf=True)
        weights = transformer.fit_transform(X)
        seconds += time.process_time() - begin
        return weights, transformer.transform(X_test), seconds

    def order(self, how: str, seed: int) -> Integers:
        """Return the order of training documents: "shuffled" by the seed, "sorted" by label, or "time"."""
        n = len(self.train.texts)
        if how == "shuffled":
            return np.random.default_rng(seed).permutation(n)
        if how == "time":
            return np.arange(n)
        keys = self.train.labels if self.target == "number" else [str(label) for label in self.train.labels]
        return np.array(sorted(range(n), key=lambda i: keys[i]), np.int64)


# Reading: each returns the training and the test documents


def _newsgroups_text() -> tuple[Documents, Documents]:
    found = (fetch_20newsgroups(part, shuffle=False, download_if_missing=False) for part in ("train", "test"))
    train, test = (Documents(b.data, [b.target_names[i] for i in b.target]) for b in found)
    return train, test


def _newsgroups_matlab() -> tuple[Documents, Documents]:
    """Write the bags as texts, so that all learners read the same words."""

    def read(part: str) -> Documents:
        bunch = fetch_20newsgroups(part, version="matlab", shuffle=False)
        words = bunch.feature_names.astype(object)
        texts = [" ".join(np.repeat(words[row.indices], row.data)) for row in bunch.data]
        return Documents(texts, [bunch.target_names[i] for i in bunch.target])

    return read("train"), read("test")


def _reuters() -> tuple[Documents, Documents]:
    found = (fetch_reuters21578(part) for part in ("train", "test"))
    train, test = (Documents(b.data, b.labels, timed=True) for b in found)
    return train, test


def _arxiv() -> tuple[Documents, Documents]:
    found = (fetch_arxiv20(part) for part in ("train", "test"))
    train, test = (Documents(b.data, b.labels, timed=True) for b in found)
    return train, test


def _of_suite(name: str) -> tuple[Documents, Documents]:
    with lzma.open(locate(f"suite/{name}.jsonl.xz", None), "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    timed = name in TIMED
    if timed:
        records.sort(key=lambda record: record["time"])

    def part(split: str) -> Documents:
        own = [record for record in records if record["split"] == split]
        labels = [r["label"] if isinstance(r["label"], str | list) else float(r["label"]) for r in own]
        groups = [r["book"] for r in own] if name == "english_novels" else None
        return Documents([r["text"] for r in own], labels, groups, timed)

    return part("train"), part("test")


OF_SUITE = (
    "banking77",
    "clinc151_imbalanced",
    "trec",
    "stackoverflow20",
    "sms_spam",
    "mr_sentiment",
    "webkb",
    "bbc_news",
    "english_novels",
    "huffpost",
    "goemotions",
    "hallmarks_cancer",
    "scale_movies",
    "druglib",
)
READERS: dict[str, Callable[[], tuple[Documents, Documents]]] = {
    **{name: partial(_of_suite, name) for name in OF_SUITE},
    "20news-matlab": _newsgroups_matlab,
    "20news-text": _newsgroups_text,
    "reuters": _reuters,
    "arxiv20": _arxiv,
}
NUMBERS = ("scale_movies", "druglib")  # whose labels are numbers
SEVERAL = ("goemotions", "hallmarks_cancer", "reuters", "arxiv20")  # several labels a document
TIMED = ("huffpost", "reuters", "arxiv20")  # which stand in the order of time
STREAMS = ("huffpost", "arxiv20")  # whose labels change with it


# Cutting


def _hash(text: str) -> int:
    return zlib.crc32(text.encode())


def held_out(documents: Documents) -> NDArray[np.bool_]:
    """Return which training documents to choose on: the last ones in time, or those that a hash picks.

    What has the same text stays on one side, and a class keeps something to learn from. Where documents are
    in groups, one group of each class is held out, as in the test.
    """
    n = len(documents.texts)
    if documents.timed:
        return np.arange(n) >= round((1.0 - HELD_OUT) * n)
    labels = documents.labels
    if documents.groups is not None:
        first: dict[str, str] = {}
        for label, group in sorted(
            zip(labels, documents.groups, strict=True), key=lambda pair: _hash(pair[1])
        ):
            first.setdefault(label, group)
        return np.array([first[label] == own for label, own in zip(labels, documents.groups, strict=True)])
    held = np.array([_hash(text) < HELD_OUT * 2**32 for text in documents.texts])
    if isinstance(labels[0], str):
        left = {label for label, out in zip(labels, held, strict=True) if not out}
        held &= np.array([label in left for label in labels])
    return held


def read(name: str, mode: str, limit: int | None = None) -> Task:
    """Read a corpus of READERS.

    In mode "dev" training documents that are held out take the place of the test documents. Of more than
    `limit` training documents as many are taken at even distances.
    """
    train, test = READERS[name]()
    if mode == "dev":
        held = held_out(train)
        train, test = train.take(np.flatnonzero(~held)), train.take(np.flatnonzero(held))
    n = len(train.texts)
    if limit is not None and limit < n:
        train = train.take(np.arange(limit) * n // limit)
    return Task(name, train, test)


def read_stream(name: str, mode: str, limit: int | None = None) -> Task:
    """Read a corpus as a stream of one class a document; it is judged by the tenth that follows.

    In mode "dev" it ends with the training documents, in mode "test" with what comes next.
    """
    train, test = READERS[name]()
    if mode == "dev":
        end = round(len(train.texts) / 1.1)
        train, test = train.take(np.arange(end)), train.take(np.arange(end, len(train.texts)))
    if limit is not None:
        train = train.take(np.arange(min(limit, len(train.texts))))
    test = test.take(np.arange(min(len(test.texts), len(train.texts) // 10)))

    def first(documents: Documents) -> Documents:
        labels = [label if isinstance(label, str) else label[0] for label in documents.labels]
        return Documents(documents.texts, labels, timed=True)

    return Task(name, first(train), first(test))
