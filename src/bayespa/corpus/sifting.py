"""Workers count words, too, for a vocabulary that grows on the driver.

A worker gets the words of the first columns. It counts them in its texts, and lists all other words in their
order (`OnlineVocabulary.sift`). The driver adds those when the texts are learned (`OnlineVocabulary.learn`).
So it does not matter which words a worker has heard of: it would only send more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from bayespa.corpus.documents import CountedText, Document, checksum, is_blank
from bayespa.native.text import SiftedTexts

if TYPE_CHECKING:
    from bayespa.corpus.vocabulary import OnlineVocabulary

_NEWS = 16  # workers hear of new words when there are a sixteenth more


class Stored(Protocol):
    """A value that workers can get."""

    def value(self) -> Any:
        """Return it."""


class Told(NamedTuple):
    """What a worker is told of a vocabulary."""

    key: str  # of the vocabulary
    rules: OnlineVocabulary  # one with the same options and no words
    words: tuple[Stored, ...]  # those of the columns, in pieces


class Teller:
    """Tells workers which words a vocabulary knows, in pieces of growing size.

    Parameters
    ----------
    vocabulary : OnlineVocabulary
    keep : callable
        Makes a value available to workers, as a `Stored`.
    """

    def __init__(self, vocabulary: OnlineVocabulary, keep: Callable[[Any], Stored]) -> None:
        self._vocabulary, self._keep = vocabulary, keep
        self._told, self._n = Told("", vocabulary.without_words(), ()), 0

    def now(self) -> Told:
        """Return what is known now, or was until recently."""
        vocabulary = self._vocabulary
        if self._told.key != vocabulary.key:
            self._told, self._n = Told(vocabulary.key, self._told.rules, ()), 0
        n = vocabulary.n_words
        if n > self._n + self._n // _NEWS:
            words = self._keep(vocabulary.words_between(self._n, n))
            self._told, self._n = self._told._replace(words=(*self._told.words, words)), n
        return self._told


class _Heard:
    """In a worker: the vocabulary that it has heard of last."""

    def __init__(self) -> None:
        self.key, self.n = "", 0
        self.vocabulary: OnlineVocabulary

    def of(self, told: Told) -> OnlineVocabulary:
        """Return a vocabulary that knows these words, and perhaps later ones."""
        if self.key != told.key:
            self.key, self.n, self.vocabulary = told.key, 0, told.rules.without_words()
        for words in told.words[self.n :]:
            self.vocabulary.extend(words.value())
            self.n += 1
        return self.vocabulary


_HEARD = _Heard()


class CountedTexts:
    """Texts that a worker has counted, for the vocabulary with this key."""

    def __init__(self, key: str, sifted: SiftedTexts, checksums: list[int], blank: list[bool]) -> None:
        self.key, self.sifted, self.checksums, self.blank = key, sifted, checksums, blank

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Else the memory in which they came could not be used again.
        self.sifted = SiftedTexts._make(np.array(a) if isinstance(a, np.ndarray) else a for a in self.sifted)


def counted(files: Sequence[Sequence[Any]], told: Told) -> list[list[Any]]:
    """Count the texts of documents; whatever else the lists have stays as it is."""
    texts = [one.content for one in chain.from_iterable(files) if _has_text(one)]
    piece = CountedTexts(
        told.key,
        _HEARD.of(told).sift(texts),
        [checksum(text) for text in texts],
        [is_blank(text) for text in texts],
    )
    rows = iter(range(len(texts)))

    def put(one: Any) -> Any:
        return one._replace(content=CountedText(piece, next(rows))) if _has_text(one) else one

    return [[put(one) for one in file] for file in files]


def _has_text(one: Any) -> bool:
    return isinstance(one, Document) and isinstance(one.content, str)
