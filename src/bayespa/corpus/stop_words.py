"""Which words topics use. Decisions use all words, but people read topics."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS


def topic_words(
    words: Iterable[str], stop_words: str | Collection[str] | None = "english"
) -> NDArray[np.bool_]:
    """Return, for each word, whether topics use it.

    Topics leave out stop words, numbers, single letters, and codes with more digits than letters.

    Parameters
    ----------
    words : iterable of n str
    stop_words : "english" or collection of str, optional
        "english" is scikit-learn's list.

    Returns
    -------
    array of bool of shape (n,)

    Examples
    --------
    >>> topic_words(["who", "wrote", "1984", "in", "mp3", "x"]).tolist()
    [False, True, False, False, True, False]
    """
    left_out = ENGLISH_STOP_WORDS if isinstance(stop_words, str) else frozenset(stop_words or ())
    return np.array([word not in left_out and _spells(word) for word in words], np.bool_)


def _spells(word: str) -> bool:
    """Return whether a word has two letters or more, and no more digits than letters."""
    if word.isalpha():
        return len(word) > 1
    letters = sum(map(str.isalpha, word))
    return letters > 1 and 2 * letters >= len(word)
