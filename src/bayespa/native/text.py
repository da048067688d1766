"""Texts to counts, without the interpreter's lock: case, words, runs of words, a vocabulary that grows.

`bayespa.reference.text` is the readable twin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespa import _native
from bayespa.native.random import key_from_seed

_N_CODE_POINTS = 0x110000
_WORD, _LOWER_IS_WORD, _SPECIAL, _CASED, _IGNORABLE, _SHIFT = 1, 2, 4, 8, 16, 8  # native/characters.h
_SIGMA = "\N{GREEK CAPITAL LETTER SIGMA}"
_FINAL_SIGMA = "\N{GREEK SMALL LETTER FINAL SIGMA}"


@dataclass(frozen=True)
class WordRules:
    """Which words a vocabulary takes: see `bayespa.corpus.OnlineVocabulary`."""

    max_words: int = 100_000
    min_count: int = 3
    max_candidates: int = 200_000
    lowercase: bool = True
    min_length: int = 2
    n_grams: int = 1
    min_run_count: int | None = None  # None: min_count
    max_runs: int | None = None  # None: max_words
    left_out: frozenset[str] = field(default_factory=frozenset)

    @property
    def least(self) -> int:
        """Occurrences before a run of several words is admitted."""
        return self.min_count if self.min_run_count is None else self.min_run_count

    @property
    def most_runs(self) -> int:
        """Largest number of runs of several words."""
        return self.max_words if self.max_runs is None else self.max_runs

    def is_run(self, word: str) -> bool:
        """Return whether a column has a run of several words."""
        return self.n_grams > 1 and " " in word


class WordCounts(NamedTuple):
    """Counts of n texts: row i has the columns, which increase, from ``ends[i - 1]`` to ``ends[i]``."""

    ends: NDArray[np.int64]
    columns: NDArray[np.int32]
    counts: NDArray[np.int32]
    n_words: int  # when they were counted


class SiftedTexts(NamedTuple):
    """Counts of the known words of n texts, and their other words: what is left to learn.

    Row i has the other words, in their order, from ``other_ends[i - 1]`` to ``other_ends[i]``. Word j is
    ``texts[text_ends[j - 1] : text_ends[j]]``, in UTF-8. `PADDING` zeros stand behind.
    """

    ends: NDArray[np.int64]
    columns: NDArray[np.int32]
    counts: NDArray[np.int32]
    n_words: int  # that were known
    other_ends: NDArray[np.int64]
    text_ends: NDArray[np.int64]
    texts: NDArray[np.uint8]


PADDING = 16  # native/word_table.h


class NativeVocabulary:
    r"""A vocabulary that grows, whose words are runs of ``\w``.

    Texts are str, or bytes of UTF-8. The number of threads changes no result.

    >>> vocabulary = NativeVocabulary(WordRules(min_count=1, n_grams=2))
    >>> vocabulary.learn(["Words, words", b"of words"]).counts
    array([2, 1, 1, 1, 1], dtype=int32)
    >>> vocabulary.words
    ['words', 'words words', 'of', 'of words']
    """

    def __init__(self, rules: WordRules) -> None:
        self.rules = rules
        most = 2**31 - 1
        self._table = _native.TextVocabulary(
            min(rules.max_words, most),
            min(rules.min_count, most),
            min(rules.max_candidates, most),
            bool(rules.lowercase),
            min(rules.min_length, most),
            rules.n_grams,
            min(rules.least, most),
            min(rules.most_runs, most),
            _encoded(rules.left_out),
            key_from_seed(None),  # no result depends on it
        )
        self._known: tuple[int, list[str]] = (0, [])  # n_returns, and words that somebody has asked for

    def learn(self, texts: Sequence[str | bytes], n_threads: int = 1) -> WordCounts:
        """Admit new words and count."""
        return WordCounts(*self._table.learn(self._views(texts), n_threads))

    def transform(self, texts: Sequence[str | bytes], n_threads: int = 1) -> WordCounts:
        """Count the words known so far."""
        return WordCounts(*self._table.transform(self._views(texts), n_threads))

    def sift(self, texts: Sequence[str | bytes]) -> SiftedTexts:
        """Count the words known so far, and list the others: the first part of `learn`.

        >>> known, all_words = (NativeVocabulary(WordRules(min_count=1)) for _ in range(2))
        >>> for vocabulary in (known, all_words):
        ...     vocabulary.load(["words"], {})
        >>> sifted = known.sift(["more words", "and more"])
        >>> all_words.learn_sifted([sifted], np.array([[0, 1], [0, 0]])).columns, all_words.words
        (array([1, 2, 0, 2], dtype=int32), ['words', 'and', 'more'])
        """
        return SiftedTexts(*self._table.sift(self._views(texts)))

    def learn_sifted(self, pieces: Sequence[SiftedTexts], places: NDArray[np.int64]) -> WordCounts:
        """Admit new words and count: the second part of `learn`.

        Parameters
        ----------
        pieces : sequence of SiftedTexts
            Of vocabularies with the same rules that have the first of these columns.
        places : (n, 2)
            The piece of each text, and its row there.
        """
        return WordCounts(*self._table.learn_sifted(pieces, places))

    def _views(self, texts: Sequence[str | bytes]) -> _native.Texts:
        views = _native.Texts(texts if isinstance(texts, list | tuple) else list(texts))
        if not views.all_ascii:
            self._table.know(characters())
        return views

    @property
    def n_words(self) -> int:
        """Number of columns."""
        return self._table.n_words

    @property
    def n_runs(self) -> int:
        """Number of columns of runs."""
        return self._table.n_runs

    @property
    def words(self) -> list[str]:
        """The word of each column."""
        while True:  # until nothing was taken back meanwhile; no lock, which an exception may leave behind
            n_returns, (returns_before, known) = self._table.n_returns, self._known
            if n_returns != returns_before:
                known = []
            if len(known) < (n_words := self._table.n_words):
                known = known + self.words_between(len(known), n_words)
            if n_returns == self._table.n_returns:
                self._known = n_returns, known
                return known

    def words_between(self, begin: int, end: int) -> list[str]:
        """Return the words of some columns, without those of all others."""
        return self._table.words(begin, end)

    def load(self, words: Sequence[str], candidates: dict[str, int]) -> None:
        """Load further words, and then candidates, before anything is learned; none was left out."""
        self._table.load(_encoded(words), _encoded(candidates), list(candidates.values()))

    def mark(self) -> int:
        """Mark the present state."""
        return self._table.mark()

    def forget(self, mark: int) -> None:
        """Forget all marks before this one."""
        self._table.forget(mark)

    def back_to(self, mark: int) -> None:
        """Go back to a mark; raise IndexError if it does not exist."""
        self._table.back_to(mark)

    def at(self, mark: int | None = None) -> tuple[list[str], dict[str, int]]:
        """Return words and candidates of now or of a mark; raise IndexError if it does not exist."""
        n_words, texts, counts = self._table.candidates(-1 if mark is None else mark)
        return self.words[:n_words], dict(zip(texts, counts, strict=True))


def json_lines(block: bytes, names: Sequence[str]) -> list[tuple[Any, ...] | str] | None:
    r"""Return the fields `names` of each line of a block, a JSON object; or a line that is not simple.

    An object is simple if its values are texts, lists of texts, numbers of up to 15 characters, true, false
    and null, and if no backslash stands for half of a surrogate pair. None if the block is not UTF-8, or has
    NUL.

    >>> json_lines(b'{"text": "some\\nwords", "label": ["a", "b"]}\n{"text": {}}\n', ["label", "text"])
    [(['a', 'b'], 'some\nwords'), '{"text": {}}\n']
    """
    return _native.json_lines(block, _encoded(names))


def _encoded(words: Iterable[str]) -> list[bytes]:
    return [word.encode("utf-8", "surrogatepass") for word in words]


@cache
def characters() -> _native.Characters:
    """Ask this interpreter how `re` and `str.lower` treat each code point, in its version of Unicode.

    This takes some 30 ms, once, and only if a text is not ASCII.
    """
    every = np.arange(_N_CODE_POINTS, dtype="<u4")
    text = _text(every)
    is_word = np.zeros(_N_CODE_POINTS, bool)
    for run in re.finditer(r"\w+", text):
        is_word[slice(*run.span())] = True
    lower, several = every.copy(), []
    for begin in range(0, _N_CODE_POINTS, 4096):
        piece = slice(begin, begin + 4096)
        lowered = text[piece].lower()
        if len(lowered) == 4096:
            lower[piece] = _code_points(lowered)
        else:
            for code in range(begin, begin + 4096):
                codes = [ord(c) for c in chr(code).lower()]
                if len(codes) == 1:
                    lower[code] = codes[0]
                else:
                    several.append([code, *codes, *[0] * (3 - len(codes))])
    lower[ord(_SIGMA)] = ord(_SIGMA)  # what it is depends on others
    properties = (lower.astype(np.int32) - every.astype(np.int32)) << _SHIFT
    properties |= is_word * np.int32(_WORD) | is_word[lower] * np.int32(_LOWER_IS_WORD)
    special = [row[0] for row in several]
    properties[[ord(_SIGMA), *special]] |= _SPECIAL
    # Beyond these nothing has case, and nothing is passed over beside a sigma; the tests look at all.
    near = np.concatenate([every[:0x20000], every[0xE0000:0xE1000]])
    near = near[~np.isin(near, special)]
    # Before a sigma that ends a word stands a letter with case, or one with something ignorable behind it.
    either = near[_makes_final("A", near)]
    alone = _makes_final("", either)
    properties[either[alone]] |= _CASED
    properties[either[~alone]] |= _IGNORABLE
    for code in special:
        if (chr(code) + _SIGMA).lower().endswith(_FINAL_SIGMA):
            properties[code] |= _CASED
    return _native.Characters(properties, np.array(several, np.uint32).reshape(-1, 4))


def _makes_final(before: str, codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return whether a sigma is final after `before` and each of the code points."""
    words = np.empty((len(codes), len(before) + 3), "<u4")
    words[:, : len(before)] = [ord(c) for c in before]
    words[:, -3], words[:, -2], words[:, -1] = codes, ord(_SIGMA), ord(" ")
    lower = _code_points(_text(words).lower()).reshape(words.shape)
    found: NDArray[np.bool_] = lower[:, -2] == ord(_FINAL_SIGMA)
    return found


def _text(codes: NDArray[np.uint32]) -> str:
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32)
