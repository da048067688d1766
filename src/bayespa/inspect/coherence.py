"""Coherence and diversity of the words of topics.

The measures are those of M. Röder, A. Both and A. Hinneburg, Exploring the space of topic coherence measures,
WSDM 2015, with their ε = 1e-12 and γ = 1. Probabilities are shares of virtual documents: whole documents, or
windows that slide over them token by token. Only pairs of words of the same topic are counted, and documents
are read in blocks, so memory depends only on the topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from bayespa.checks import require_number, require_sound
from bayespa.native.elementary import log

Floats = NDArray[np.float64]
Topics = Sequence[Sequence[str]]
EPSILON = 1e-12
DOCUMENTS_AT_ONCE = 1024  # bounds the memory


def npmi(
    topics: Topics,
    documents: Any,
    *,
    feature_names: ArrayLike | None = None,
    window: int | None = None,
) -> Floats:
    """Return the mean normalised pointwise mutual information of the pairs of words of each topic.

    It is -1 for words that never meet, 0 for words that meet by chance, and 1 for words that only come
    together.

    Parameters
    ----------
    topics : list of K lists of str
        The most probable words of each topic, at least two, as from ``model.topics(10, feature_names)``.
    documents : array or sparse matrix of shape (n, n_words), or iterable of lists of str
        Reference corpus: counts, with columns named by `feature_names`, or lists of the tokens of each
        document.
    feature_names : array of shape (n_words,), optional
        The words of the columns; needed if, and only if, `documents` are counts.
    window : int, optional
        Length of the sliding window, for lists of tokens; 10 gives the C_NPMI of the literature. By default
        words meet if they are in the same document.

    Returns
    -------
    array of shape (K,)
        A word that is not in the reference corpus has NPMI 0 with every other.

    Examples
    --------
    The first two words always meet, the last two never:

    >>> from bayespa.inspect import npmi
    >>> documents = [["star", "galaxy"], ["star", "galaxy"], ["prime"], ["star", "galaxy", "field"]]
    >>> npmi([["star", "galaxy"], ["star", "prime"]], documents).round(3)
    array([ 1.   , -0.939])
    """
    values = []
    for joint in _meetings(topics, documents, feature_names, window):
        pairs = joint[np.triu_indices(len(joint), 1)]
        values.append(pairs.mean())
    return np.array(values)


def c_v(
    topics: Topics,
    documents: Any,
    *,
    feature_names: ArrayLike | None = None,
    window: int | None = 110,
) -> Floats:
    """Return the coherence C_v of each topic: how similar the contexts of its words are.

    Every word has a vector of its NPMI with all words of the topic; C_v is the mean cosine of these vectors
    with their sum. It is also high for words that never meet, so compare it with `npmi`.

    Parameters
    ----------
    topics : list of K lists of str
        The most probable words of each topic, at least two.
    documents : iterable of lists of str, or array or sparse matrix of shape (n, n_words)
        Reference corpus: lists of the tokens of each document, or counts, with ``window=None``.
    feature_names : array of shape (n_words,), optional
        The words of the columns; needed if, and only if, `documents` are counts.
    window : int or None, default=110
        Length of the sliding window; None: words meet if they are in the same document.

    Returns
    -------
    array of shape (K,)

    Examples
    --------
    >>> from bayespa.inspect import c_v
    >>> documents = [["star", "galaxy"], ["star", "galaxy"], ["prime"], ["star", "galaxy", "field"]]
    >>> c_v([["star", "galaxy"], ["star", "prime"]], documents).round(3)
    array([1.   , 0.031])
    """
    values = []
    for vectors in _meetings(topics, documents, feature_names, window):
        total = vectors.sum(axis=0)
        length = np.sqrt((vectors**2).sum(axis=1) * (total**2).sum())
        # A word that is not in the corpus has no direction, hence cosine 0.
        product = (vectors * total).sum(axis=1)  # not BLAS, whose last bits depend on the processor
        cosine = np.divide(product, length, out=np.zeros(len(vectors)), where=length > 0.0)
        values.append(cosine.mean())
    return np.array(values)


def diversity(topics: Topics) -> float:
    """Return the share of different words among the words of all topics: 1 if no two topics share one.

    Topics are lists of words, as in `npmi`; the literature (Dieng, Ruiz and Blei, 2020) takes 25 of each.

    Examples
    --------
    >>> from bayespa.inspect import diversity
    >>> diversity([["star", "galaxy"], ["star", "prime"]])
    0.75
    """
    words = [word for topic in topics for word in topic]
    if not words:
        raise ValueError("topics has no words at all")
    return len(set(words)) / len(words)


def _meetings(topics: Topics, documents: Any, feature_names: Any, window: int | None) -> Iterator[Floats]:
    """Yield the NPMI of all pairs of words of each topic, (words, words)."""
    for k, topic in enumerate(topics):
        if len(set(topic)) < max(2, len(topic)):
            raise ValueError(f"topics[{k}] is {list(topic)!r}; a coherence needs two or more different words")
    words = sorted({word for topic in topics for word in topic})
    place = {word: i for i, word in enumerate(words)}
    if window is not None:
        require_number("window", window, 1, whole=True)
    blocks = (
        _blocks_of_tokens(documents, place, window)
        if feature_names is None
        else _blocks_of_counts(documents, place, feature_names, window)
    )
    columns = [[place[word] for word in topic] for topic in topics]
    together = [np.zeros((len(c), len(c))) for c in columns]
    total = 0.0
    for presence, weight in blocks:
        total += float(weight.sum())
        for counts, c in zip(together, columns, strict=True):
            here = presence[:, c].toarray()
            counts += here.T @ (here * weight[:, None])  # whole numbers, so exact in any order
    if total == 0.0:
        raise ValueError("documents is empty; a coherence needs a reference corpus")
    for counts in together:
        yield _npmi(counts / total)


def _npmi(joint: Floats) -> Floats:
    """Return the NPMI of words from their joint probabilities, with their own on the diagonal."""
    single = np.diag(joint)
    known = np.outer(single, single) > 0.0
    # A word in every document has 0 / 0; the limit is that of words that only come together.
    sure = joint >= 1.0
    inner = np.where(known & ~sure, joint, 0.5) + EPSILON
    information = log(inner / np.where(known, np.outer(single, single), 1.0))
    values: Floats = np.where(sure, 1.0, np.where(known, information / -log(inner), 0.0))
    return values


def _blocks_of_counts(
    documents: Any, place: Mapping[str, int], feature_names: Any, window: int | None
) -> Iterator[tuple[Any, Floats]]:
    """Yield which words are in which documents, and the weights of these: ones."""
    require_sound("documents", documents)
    counts = sparse.csr_matrix(documents)
    names = [str(name) for name in np.asarray(feature_names)]
    if window is not None:
        raise ValueError(
            f"window is {window}, but documents are counts, which have no order; pass lists of tokens or "
            "window=None"
        )
    if counts.shape[1] != len(names):
        raise ValueError(f"documents has {counts.shape[1]} columns, and feature_names {len(names)} names")
    column = {name: i for i, name in enumerate(names)}
    found = [(place[word], column[word]) for word in place if word in column]
    select = sparse.csr_matrix(
        (np.ones(len(found)), ([c for _, c in found], [p for p, _ in found])), (len(names), len(place))
    )
    for start in range(0, counts.shape[0], DOCUMENTS_AT_ONCE):
        block: Any = counts[start : start + DOCUMENTS_AT_ONCE] > 0
        yield sparse.csc_matrix(block.astype(np.float64) @ select), np.ones(block.shape[0])


def _blocks_of_tokens(
    documents: Iterable[Sequence[str]], place: Mapping[str, int], window: int | None
) -> Iterator[tuple[Any, Floats]]:
    """Yield which words are in which windows, and how many windows have exactly these words."""
    if sparse.issparse(documents) or isinstance(documents, np.ndarray):
        raise ValueError("documents are counts: name their columns by feature_names")
    rest = iter(documents)
    while block := list(islice(rest, DOCUMENTS_AT_ONCE)):
        rows, columns, weights, n = [], [], [], 0
        for tokens in block:
            if isinstance(tokens, str):
                raise ValueError(f"a document is the text {tokens[:40]!r}; split it into a list of tokens")
            weight, row, column = _windows(tokens, place, len(tokens) if window is None else window)
            rows.append(row + n)
            columns.append(column)
            weights.append(weight)
            n += len(weight)
        row, column = np.concatenate(rows), np.concatenate(columns)
        presence = sparse.coo_matrix((np.ones(len(row)), (row, column)), (n, len(place))).tocsc()
        presence.data[:] = 1.0  # a word may be in a window twice
        yield presence, np.concatenate(weights).astype(np.float64)


def _windows(
    tokens: Sequence[str], place: Mapping[str, int], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the windows of a document, neighbours with the same words as one: weights, rows, columns.

    The window that starts at s covers the tokens s to s + size - 1; a shorter document has one window.
    """
    n = max(1, len(tokens) - size + 1)
    found = np.array([(i, place[t]) for i, t in enumerate(tokens) if t in place], np.int64).reshape(-1, 2)
    enters = np.maximum(found[:, 0] - size + 1, 0)
    leaves = np.minimum(found[:, 0] + 1, n)
    edges = np.unique(np.concatenate([[0, n], enters, leaves]))
    first, last = np.searchsorted(edges, enters), np.searchsorted(edges, leaves)
    lengths = last - first
    inside = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.diff(edges), np.repeat(first, lengths) + inside, np.repeat(found[:, 1], lengths)
