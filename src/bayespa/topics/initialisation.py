"""Labels in the initialisation of topics [MED-10]: they are words, and place the start of the chain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespa.native.medlda import Documents
from bayespa.native.random import grid, uniform
from bayespa.topics.documents import Labels

TOKENS = 10  # of all labels of a document together


def answers(labels: Labels, *, regression: bool) -> NDArray[np.bool_]:
    """Return which labels documents have, (n, labels): one task has a label per answer, numbers have none.

    >>> answers(np.array([[1], [-1], [np.nan]], np.float32), regression=False).astype(int)
    array([[1, 0],
           [0, 1],
           [0, 0]])
    """
    if regression:
        return np.zeros((len(labels), 0), bool)
    return labels > 0.0 if labels.shape[1] > 1 else np.hstack([labels > 0.0, labels < 0.0])


def with_labels(documents: Documents, has: NDArray[np.bool_]) -> Documents:
    """Return documents in which labels (n, labels) are words, numbered after all others.

    >>> from scipy.sparse import csr_matrix
    >>> two = Documents.from_csr(csr_matrix([[3, 1], [0, 2]]))
    >>> found = with_labels(two, np.array([[True, False], [True, True]]))
    >>> found.indptr, found.words, found.counts
    (array([0, 3, 6]), array([0, 1, 2, 1, 2, 3], dtype=int32), array([ 3,  1, 10,  2,  5,  5], dtype=int32))
    """
    n_labels, label = has.sum(axis=1), np.nonzero(has)[1]
    behind = np.repeat(documents.indptr[1:], n_labels)
    each = np.maximum(1, TOKENS // np.repeat(n_labels, n_labels))
    return Documents(
        documents.indptr + np.concatenate([[0], np.cumsum(n_labels)]),
        np.insert(documents.words, behind, len(documents.vocabulary) + label),
        np.insert(documents.counts, behind, each),
        documents.ids,
        np.append(documents.vocabulary, documents.vocabulary.max(initial=0) + 1 + np.arange(has.shape[1])),
    )


def topics_by_labels(
    documents: Documents, has: NDArray[np.bool_], n_topics: int, key: int, n_threads: int = 1
) -> NDArray[np.uint32] | None:
    """Return an initial topic for every token: half at random, half by the labels of its document.

    Topics and labels divide a line: topics in equal parts, labels in parts by their frequency. A token of a
    label gets the topic at a random position of the label's part. Without labels there is no such start.

    Parameters
    ----------
    documents : Documents
    has : (n, labels)
        Which labels they have.
    n_topics : int
        K.
    key : int
        Key of the random numbers.
    """
    n_labels, label = has.sum(axis=1), np.nonzero(has)[1]
    if not len(label):
        return None
    first = np.cumsum(n_labels) - n_labels  # of a document's labels, among those of all documents
    own = np.repeat(np.repeat(np.arange(len(has)), np.diff(documents.indptr)), documents.counts)
    u = uniform(key, grid(len(own)), n_threads)
    led, place = (u < 0.5) & (n_labels[own] > 0), 2.0 * u % 1.0
    own = own[led]
    which = place[led] * n_labels[own]  # a whole number of labels, and a position in the next
    chosen = label[first[own] + which.astype(np.int64)]
    width = np.bincount(label, minlength=has.shape[1]) / len(label)
    place[led] = (np.cumsum(width) - width)[chosen] + which % 1.0 * width[chosen]
    topics: NDArray[np.uint32] = np.minimum(place * n_topics, n_topics - 1).astype(np.uint32)
    return topics
