"""The vocabulary of a new model of texts, and what its columns are for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from bayespa.corpus import OnlineVocabulary
from bayespa.corpus.stop_words import topic_words
from bayespa.estimators import NO_ROLES, Features, Roles

# The default vocabulary has rare words and words of one letter, too, and pairs of words that come again.
ALL_WORDS: dict[str, Any] = {
    "max_words": 500_000,
    "min_count": 1,
    "min_length": 1,
    "ngrams": 2,
    "min_run_count": 2,
    "max_runs": 20_000,
}


def new_vocabulary(parameters: Mapping[str, Any], **options: Any) -> OnlineVocabulary:
    """Return the vocabulary of a new model: `ALL_WORDS`, but for options that say something else.

    Examples
    --------
    >>> new_vocabulary({"decides": "topics"}, min_count=3).ngrams  # topics use no runs of words
    1
    """
    options = {**ALL_WORDS, **options}
    options["min_run_count"] = max(options["min_count"], options["min_run_count"])
    if parameters.get("decides") == "topics":
        options["ngrams"] = 1
    return OnlineVocabulary(**options, n_jobs=parameters.get("n_jobs"))


def roles_of(
    vectorizer: Any, stop_words: str | Collection[str] | None, known: Features | None, n_columns: int
) -> Roles:
    """Return what columns are for; those that an estimator knows keep their roles.

    Topics use neither stop words nor runs of several words. Of models that took runs for words, as earlier
    versions did, they stay words.

    Examples
    --------
    >>> vocabulary = OnlineVocabulary(min_count=1, ngrams=2)
    >>> vocabulary.learn(["the credit card"]).shape
    (1, 5)
    >>> roles = roles_of(vocabulary, "english", None, 5)
    >>> [str(word) for word, topical in zip(vocabulary.words, roles.topical) if topical]
    ['credit', 'card']
    """
    if not isinstance(vectorizer, OnlineVocabulary):
        return NO_ROLES
    begin = 0 if known is None else known.n
    new = vectorizer.words_between(begin, n_columns)
    own = slice(begin, begin + len(new))  # wider: more words will come
    topical, runs = np.ones(n_columns, np.bool_), vectorizer.runs(new)
    topical[own] = topic_words(new, stop_words)
    if runs is None or (known is not None and known.runs is None):
        return Roles(topical)
    topical[own] &= ~runs
    every = np.zeros(n_columns, np.bool_)
    every[own] = runs
    return Roles(topical, every)
