"""Arguments for pyLDAvis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from bayespa.checks import require_sound


def pyldavis_data(model: Any, counts: Any, feature_names: ArrayLike | None = None) -> dict[str, Any]:
    """Return the arguments of ``pyLDAvis.prepare`` for a topic model and the documents to show.

    pyLDAvis is not installed with bayespa. Words and documents with zero counts are left out.

    Parameters
    ----------
    model : fitted topic model
        With K topics; one-vs-rest has those of all tasks.
    counts : array or sparse matrix of shape (n, n_words)
        Counts of words.
    feature_names : array of shape (n_words,), optional
        The words; by default the columns' names or numbers.

    Returns
    -------
    dict of
        topic_term_dists : (K, W) array, rows sum to 1;
        doc_topic_dists : (n, K) array, rows sum to 1;
        doc_lengths : (n,) array;
        vocab : list of W str;
        term_frequency : (W,) array.

    Examples
    --------
    >>> from bayespa import MedLDAClassifier
    >>> from bayespa.datasets import make_topic_corpus
    >>> from bayespa.inspect import pyldavis_data
    >>> corpus = make_topic_corpus(200, n_words=100, n_topics=4, n_labels=2, random_state=0)
    >>> model = MedLDAClassifier(n_topics=4, random_state=0).fit(corpus.data, corpus.target)
    >>> data = pyldavis_data(model, corpus.data)
    >>> {name: np.shape(value) for name, value in data.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'topic_term_dists': (4, 100), 'doc_topic_dists': (200, 4), 'doc_lengths': (200,), 'vocab': (100,),
     'term_frequency': (100,)}

    In a notebook: ``pyLDAvis.display(pyLDAvis.prepare(**data))``.
    """
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", np.arange(model.n_features_in_))
    names = np.asarray(feature_names)
    require_sound("counts", counts)
    counts = sparse.csr_matrix(counts)
    if names.shape != (counts.shape[1],):
        raise ValueError(f"feature_names has shape {names.shape}, and counts {counts.shape[1]} columns")
    frequency = np.asarray(counts.sum(axis=0), np.float64).ravel()
    length = np.asarray(counts.sum(axis=1), np.float64).ravel()
    if not length.any():
        raise ValueError("counts has no words; pass documents with words that the model knows")
    words, documents = np.flatnonzero(frequency), np.flatnonzero(length)
    topics = model.components_[:, words]
    proportions = model.transform(counts[documents])
    return {
        "topic_term_dists": topics / topics.sum(axis=1, keepdims=True),
        # One-vs-rest: the proportions of each task sum to 1, and tasks count equally.
        "doc_topic_dists": proportions / proportions.sum(axis=1, keepdims=True),
        "doc_lengths": length[documents],
        "vocab": [str(name) for name in names[words]],
        "term_frequency": frequency[words],
    }
