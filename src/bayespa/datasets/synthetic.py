"""Synthetic documents with labels, from a known topic model."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from sklearn.utils import Bunch

from bayespa.native.elementary import exp, log

_DESCR = """\
Documents drawn from a known topic model with labels

Made by bayespa.datasets.make_topic_corpus, whose documentation describes the model.
"""
_DOCUMENTS_AT_ONCE = 8192  # bounds the memory; the result is the same


def make_topic_corpus(
    n_documents: int = 1000,
    n_words: int = 2000,
    n_topics: int = 10,
    n_labels: int = 5,
    *,
    tokens_per_document: float = 60.0,
    labels_per_document: float = 1.0,
    label_strength: float = 0.9,
    concentration: float = 5.0,
    overlap: float = 0.1,
    zipf_exponent: float = 1.0,
    batch_size: int | None = None,
    random_state: int | None = None,
) -> Bunch | Iterator[Bunch]:
    """Draw labelled documents from a topic model, and return its topics, too.

    Word frequencies follow Zipf's law. A word belongs to one topic, which gets all of its frequency except
    the share `overlap`, and to a second one, which gets that share; frequent words are distributed evenly.
    Topic k belongs to label k mod `n_labels`. A document has one label drawn uniformly, and each other one
    with equal probability. Its topic proportions are Dirichlet with mean `label_strength` on the topics of
    its labels and the rest on all topics evenly. Each token then draws a topic, and a word of that topic.

    The same `random_state` gives the same documents for every `batch_size`, and the same topics for every
    `n_documents`. With `batch_size`, memory holds one mini-batch and the topics.

    Parameters
    ----------
    n_documents, n_words, n_topics, n_labels : int
        Sizes, with n_words >= n_topics >= n_labels and n_topics >= 2.
    tokens_per_document : float, default=60
        Mean length; lengths are one plus a Poisson number.
    labels_per_document : float, default=1
        Mean number of labels, at least 1.
    label_strength : float, default=0.9
        Expected share of a document's tokens from topics of its labels; the rest is noise.
    concentration : float, default=5
        Sum of the Dirichlet parameters of a document, at least 0.1; with large values documents are similar.
    overlap : float, default=0.1
        Share of a word's frequency in its second topic, 0 to 0.5.
    zipf_exponent : float, default=1
        The word of rank r has frequency proportional to r to the power -`zipf_exponent`.
    batch_size : int, optional
        Return an iterator over mini-batches of this size.
    random_state : int, optional
        Seed.

    Returns
    -------
    Bunch, or iterator of Bunch if `batch_size` is given, with
        data : (n, n_words) CSR matrix of int32 counts;
        target : (n,) int array if `labels_per_document` is 1, else (n, n_labels) 0/1 int array;
        target_names : list of `n_labels` str;
        document_topic : (n, n_topics) array, the topic proportions of each document;
        topic_word : (n_topics, n_words) CSR matrix, the word distribution of each topic, two entries a word;
        topic_label : (n_topics,) int array, the label of each topic;
        DESCR : str.

    Examples
    --------
    >>> from bayespa.datasets import make_topic_corpus
    >>> corpus = make_topic_corpus(100, n_words=500, n_topics=6, n_labels=3, random_state=0)
    >>> corpus.data.shape, corpus.topic_word.shape, corpus.topic_label
    ((100, 500), (6, 500), array([0, 1, 2, 0, 1, 2]))

    A stream that never exists as a whole:

    >>> batches = make_topic_corpus(100, n_labels=4, labels_per_document=1.6, batch_size=40, random_state=0)
    >>> [batch.target.shape for batch in batches]
    [(40, 4), (40, 4), (20, 4)]
    """
    for name, value, low, high in (
        ("n_documents", n_documents, 1, np.inf),
        ("n_labels", n_labels, 1, np.inf),
        ("n_topics", n_topics, max(2, n_labels), np.inf),
        ("n_words", n_words, n_topics, np.inf),
        ("tokens_per_document", tokens_per_document, 1, np.inf),
        ("labels_per_document", labels_per_document, 1, n_labels),
        ("label_strength", label_strength, 0, 1),
        ("concentration", concentration, 0.1, np.inf),  # below, all gammas of a document may underflow
        ("overlap", overlap, 0, 0.5),
        ("zipf_exponent", zipf_exponent, 0, np.inf),
        ("batch_size", 1 if batch_size is None else batch_size, 1, np.inf),
    ):
        if not low <= value <= high:
            raise ValueError(f"{name}={value} is outside [{low}, {high}]")
    seeds = np.random.SeedSequence(random_state).spawn(2)
    topic_word = _plant_topics(np.random.default_rng(seeds[0]), n_words, n_topics, overlap, zipf_exponent)
    batches = _draw_batches(
        seeds[1],
        topic_word,
        np.arange(n_topics) % n_labels,
        n_documents,
        batch_size or _DOCUMENTS_AT_ONCE,
        tokens_per_document,
        labels_per_document,
        label_strength,
        concentration,
    )
    if batch_size is not None:
        return batches
    pieces = list(batches)
    whole = Bunch(**pieces[0])
    whole.data = sp.vstack([piece.data for piece in pieces], format="csr")
    whole.target = np.concatenate([piece.target for piece in pieces])
    whole.document_topic = np.concatenate([piece.document_topic for piece in pieces])
    return whole


def _plant_topics(
    rng: np.random.Generator, n_words: int, n_topics: int, overlap: float, zipf_exponent: float
) -> sp.csr_matrix:
    """Return the (n_topics, n_words) word distributions of the topics."""
    frequency = exp(-zipf_exponent * log(np.arange(1.0, n_words + 1.0)))
    # Every n_topics words of consecutive rank are dealt to all topics, so that topics have similar weights.
    deals = np.tile(np.arange(n_topics), (-(-n_words // n_topics), 1))
    first = rng.permuted(deals, axis=1).ravel()[:n_words]
    second = (first + rng.integers(1, n_topics, size=n_words)) % n_topics
    word = rng.permutation(n_words)  # column numbers say nothing about ranks
    weights = np.concatenate([(1.0 - overlap) * frequency, overlap * frequency])
    topics, words = np.concatenate([first, second]), np.concatenate([word, word])
    topic_word = sp.csr_matrix((weights, (topics, words)), shape=(n_topics, n_words))
    normalize(topic_word, norm="l1", copy=False)
    return topic_word


def _draw_batches(
    seed: np.random.SeedSequence,
    topic_word: sp.csr_matrix,
    topic_label: NDArray[np.int64],
    n_documents: int,
    batch_size: int,
    tokens_per_document: float,
    labels_per_document: float,
    label_strength: float,
    concentration: float,
) -> Iterator[Bunch]:
    n_topics, n_words = topic_word.shape
    topics_of_label = np.bincount(topic_label)
    n_labels = len(topics_of_label)
    other_label = (labels_per_document - 1) / max(1, n_labels - 1)
    # The topics' distributions end to end are one cumulative function from 0 to n_topics.
    edges = np.cumsum(topic_word.data)
    # One random stream per variable, consumed document by document, so mini-batches do not matter.
    for_first, for_others, for_lengths, for_proportions, for_topics, for_words = map(
        np.random.default_rng, seed.spawn(6)
    )
    for start in range(0, n_documents, batch_size):
        n = min(batch_size, n_documents - start)
        first_label = for_first.integers(n_labels, size=n)
        labels = for_others.random((n, n_labels)) < other_label
        labels[np.arange(n), first_label] = True

        share_of_label = labels / labels.sum(axis=1, keepdims=True) / topics_of_label
        mean = label_strength * share_of_label[:, topic_label] + (1.0 - label_strength) / n_topics
        gamma = for_proportions.standard_gamma(concentration * mean)
        document_topic = gamma / gamma.sum(axis=1, keepdims=True)

        lengths = 1 + for_lengths.poisson(tokens_per_document - 1.0, size=n)
        tokens_of_topic = for_topics.multinomial(lengths, document_topic)
        topics = np.repeat(np.tile(np.arange(n_topics), n), tokens_of_topic.ravel())
        entries = np.searchsorted(edges, topics + for_words.random(len(topics)), side="right")
        # The edges are rounded sums: no draw may get into the neighbouring topic.
        entries = np.clip(entries, topic_word.indptr[topics], topic_word.indptr[topics + 1] - 1)
        yield Bunch(
            data=_token_counts(lengths, topic_word.indices[entries], n_words),
            target=first_label if labels_per_document == 1 else labels.astype(np.int64),
            target_names=[f"label {label}" for label in range(n_labels)],
            document_topic=document_topic,
            topic_word=topic_word,
            topic_label=topic_label,
            DESCR=_DESCR,
        )


def _token_counts(lengths: NDArray[np.int64], columns: NDArray[np.int32], n_columns: int) -> sp.csr_matrix:
    """Count tokens: row i has the next ``lengths[i]`` entries of `columns`, in any order."""
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    ones = np.ones(len(columns), dtype=np.int32)
    counts = sp.csr_matrix((ones, columns, indptr), shape=(len(lengths), n_columns))
    counts.sum_duplicates()
    return counts
