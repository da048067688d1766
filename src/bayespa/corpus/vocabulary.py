"""From words to columns: a vocabulary that grows as a stream goes on."""

from __future__ import annotations

import re
import string
import threading
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from bayespa.checks import require_number
from bayespa.corpus.documents import Bag, brief

_RUNS = r"\w+"
_LONGEST_WORD = 128  # characters: what is longer is no word, and would make the memory unbounded
_LONGEST_PATTERN = 10_000  # characters, in a file: to compile a pattern takes much more memory
_ASCII_WORD = string.ascii_letters + string.digits + "_"


def token_counts(lengths: NDArray[np.int64], columns: NDArray[Any], n_columns: int) -> sp.csr_matrix:
    """Count tokens: row i owns the next ``lengths[i]`` entries of `columns`, in any order."""
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    ones = np.ones(len(columns), dtype=np.int32)
    counts = sp.csr_matrix((ones, columns, indptr), shape=(len(lengths), n_columns))
    counts.sum_duplicates()
    return counts


def require_pattern(pattern: Any) -> None:
    """Raise a ValueError unless a regular expression, which came from a file, is of a sensible size."""
    if not isinstance(pattern, str) or len(pattern) > _LONGEST_PATTERN:
        raise ValueError(f"token_pattern must be a text of up to {_LONGEST_PATTERN} characters")


class Tokenizer:
    r"""Cuts texts into words.

    Parameters
    ----------
    lowercase : bool, default=True
        Whether to write texts in lower case first.
    token_pattern : str, default=r"\w+"
        Regular expression of a word, with at most one group, which is then the word.

    Examples
    --------
    >>> Tokenizer().words(["A maximum-margin model", "été"])
    [['a', 'maximum', 'margin', 'model'], ['été']]
    """

    def __init__(self, lowercase: bool = True, token_pattern: str = _RUNS) -> None:
        try:
            pattern = re.compile(token_pattern)
        except re.error as error:
            raise ValueError(f"token_pattern={token_pattern!r} is no regular expression: {error}") from error
        if pattern.groups > 1:
            raise ValueError(
                f"token_pattern={token_pattern!r} has {pattern.groups} groups; use (?:...) for all but one"
            )
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self._find = pattern.findall
        kept = {c: c.lower() if lowercase else c for c in _ASCII_WORD}
        self._ascii = {i: kept.get(chr(i), " ") for i in range(128)}

    def words(self, texts: Iterable[str]) -> list[list[str]]:
        """Return the words of each text, in order."""
        find, table, lower = self._find, self._ascii, self.lowercase
        if self.token_pattern != _RUNS:
            return [find(text.lower() if lower else text) for text in texts]
        # For ASCII, str.translate and str.split find the same words in 40 % of the time.
        return [
            text.translate(table).split() if text.isascii() else find(text.lower() if lower else text)
            for text in texts
        ]


class OnlineVocabulary:
    r"""A vocabulary that grows as a stream goes on, in bounded memory; a column never changes its meaning.

    A word gets the next column when it occurs for the `min_count`-th time, and is counted from then on. Words
    that have none yet are candidates. When there are `max_candidates` and one more comes, every candidate
    loses one occurrence, and those with none left are forgotten (Misra and Gries, 1982): a word is never
    admitted early, and one that is more than 1 / `max_candidates` of the words without a column is admitted
    in the end. When there are `max_words` words, no more are admitted. Nothing is ever taken out, so whatever
    a model has learned of a column stays true.

    All this depends on the order of the documents alone, not on where mini-batches end.

    Parameters
    ----------
    max_words : int, default=100_000
        Largest number of columns.
    min_count : int, default=3
        Occurrences that a word needs.
    max_candidates : int, default=200_000
        Largest number of words to remember that have no column yet.
    lowercase : bool, default=True
        Whether to write texts in lower case first.
    token_pattern : str, default=r"\w+"
        Regular expression of a word. With `min_length` the words are those of scikit-learn's CountVectorizer.
    min_length : int, default=2
        Length of the shortest word. (A word of more than 128 characters is none.)
    stop_words : "english" or collection of str, optional
        Words to leave out; "english" is scikit-learn's list.
    fixed_width : bool, default=False
        Whether matrices have `max_words` columns from the start, for models that cannot grow; by default they
        have as many as there are words.

    Attributes
    ----------
    words : list of str
        The word of each column.

    Examples
    --------
    >>> vocabulary = OnlineVocabulary(min_count=2)
    >>> vocabulary.learn(["topics and words", "words of topics", "words, words"]).toarray()
    array([[0, 0],
           [1, 1],
           [2, 0]], dtype=int32)
    >>> vocabulary.words
    ['words', 'topics']
    >>> vocabulary.transform(["New words"]).toarray()
    array([[1, 0]], dtype=int32)
    """

    def __init__(
        self,
        max_words: int = 100_000,
        *,
        min_count: int = 3,
        max_candidates: int = 200_000,
        lowercase: bool = True,
        token_pattern: str = _RUNS,
        min_length: int = 2,
        stop_words: str | Collection[str] | None = None,
        fixed_width: bool = False,
    ) -> None:
        for name, value in (
            ("max_words", max_words),
            ("min_count", min_count),
            ("max_candidates", max_candidates),
            ("min_length", min_length),
        ):
            if value < 1:
                raise ValueError(f"{name}={value} must be at least 1")
        if isinstance(stop_words, str) and stop_words != "english":
            raise ValueError(f"stop_words={stop_words!r} is unknown; use 'english' or a collection of words")
        self.max_words = max_words
        self.min_count = min_count
        self.max_candidates = max_candidates
        self.min_length = min_length
        self.stop_words = stop_words
        self.fixed_width = fixed_width
        self.tokenizer = Tokenizer(lowercase, token_pattern)
        self.words: list[str] = []
        self._candidates: dict[str, int] = {}
        self._journal: _Journal | None = None  # how to take back what was learned since a mark
        self._lock = threading.RLock()  # one thread may count ahead of the one that learns and saves
        left_out = ENGLISH_STOP_WORDS if isinstance(stop_words, str) else stop_words or ()
        self._columns = _Columns(self, left_out)

    def learn(self, texts: Sequence[str | Bag]) -> sp.csr_matrix:
        """Admit new words and return the counts, (n, n_words) int32, of words from their admission on."""
        if len(self.words) == self.max_words:
            return self.transform(texts)
        words = self.tokenizer.words(_only_texts(texts))
        with self._lock:
            return self._count(words, map(self._columns.__getitem__, chain.from_iterable(words)))

    def transform(self, texts: Sequence[str | Bag]) -> sp.csr_matrix:
        """Return the counts, (n, n_words) int32, of the words known so far."""
        words = self.tokenizer.words(_only_texts(texts))
        return self._count(words, map(self._columns.get, chain.from_iterable(words), repeat(-1)))

    def _count(self, words: list[list[str]], columns: Iterable[int]) -> sp.csr_matrix:
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        of_tokens = np.fromiter(columns, np.int32, int(lengths.sum()))
        known = of_tokens >= 0
        ends = np.concatenate([[0], np.cumsum(known)])[np.concatenate([[0], np.cumsum(lengths)])]
        n_columns = self.max_words if self.fixed_width else len(self.words)
        return token_counts(np.diff(ends), of_tokens[known], n_columns)

    def _meet(self, word: str) -> int:
        """Return the column of a word that had none until now, or -1 if it still has none."""
        if not self.min_length <= len(word) <= _LONGEST_WORD or len(self.words) == self.max_words:
            return -1
        candidates, journal = self._candidates, self._journal
        count = candidates.get(word, 0) + 1
        if journal is not None:  # before anything changes
            journal.note(word, count - 1)
        if count >= self.min_count:
            candidates.pop(word, None)
            column = len(self.words)
            self.words.append(word)  # before it can be found: readers in other threads count columns
            self._columns[word] = column
            return column
        if count > 1 or len(candidates) < self.max_candidates:
            candidates[word] = count
        else:
            fewer = {other: n - 1 for other, n in candidates.items() if n > 1}
            if journal is not None:
                journal.replaced = True
            self._candidates = fewer
        return -1

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_journal")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _journal=None, _lock=threading.RLock())

    # Taking back: a model that did not learn what was counted is not to know its words either.

    def mark(self) -> int:
        """Remember how things are now; return a mark for `back_to` and `to_state`.

        >>> vocabulary = OnlineVocabulary(min_count=1)
        >>> mark = vocabulary.mark()
        >>> _ = vocabulary.learn(["more words"])
        >>> vocabulary.back_to(mark)
        >>> vocabulary.words
        []
        """
        with self._lock:
            before = self._journal
            number = 0 if before is None else before.number + 1
            self._journal = _Journal(len(self.words), self._candidates, number, before)
            return number

    def forget(self, mark: int) -> None:
        """Give up all marks before this one."""
        journal = self._journal
        while journal is not None and journal.number > mark:
            journal = journal.before
        if journal is not None:
            journal.before = None

    def back_to(self, mark: int) -> None:
        """Take back all that was learned since a mark, which stays."""
        with self._lock:
            while (journal := self._journal) is not None:
                for word in self.words[journal.n_words :]:
                    self._columns.pop(word, None)
                del self.words[journal.n_words :]
                for word, count in journal.counts.items():
                    if count:
                        journal.candidates[word] = count
                    else:
                        journal.candidates.pop(word, None)
                self._candidates = journal.candidates
                if journal.number == mark:
                    journal.counts, journal.replaced = {}, False
                    return
                self._journal = journal.before
            raise ValueError(f"the mark {mark} is forgotten")

    def _at(self, mark: int) -> tuple[list[str], dict[str, int]]:
        """Return the words and candidates that there were at a mark."""
        with self._lock:
            journal, candidates = self._journal, dict(self._candidates)
            while journal is not None:
                if journal.replaced:
                    candidates = dict(journal.candidates)
                candidates.update(journal.counts)
                if journal.number == mark:
                    known = {word: count for word, count in candidates.items() if count}
                    return self.words[: journal.n_words], known
                journal = journal.before
        raise ValueError(f"the mark {mark} is forgotten")

    def to_state(self, mark: int | None = None) -> dict[str, Any]:
        """Return plain data for `from_state`, from which learning goes on as if never interrupted.

        Parameters
        ----------
        mark : int, optional
            Describe how things were at this mark; by default as they are.
        """
        stop_words = self.stop_words
        words, candidates = (list(self.words), dict(self._candidates)) if mark is None else self._at(mark)
        return {
            "max_words": self.max_words,
            "min_count": self.min_count,
            "max_candidates": self.max_candidates,
            "lowercase": self.tokenizer.lowercase,
            "token_pattern": self.tokenizer.token_pattern,
            "min_length": self.min_length,
            "stop_words": stop_words
            if stop_words is None or isinstance(stop_words, str)
            else sorted(stop_words),
            "fixed_width": self.fixed_width,
            "words": words,
            "candidates": candidates,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> OnlineVocabulary:
        """Make the vocabulary that `to_state` described."""
        options = dict(state)
        words, candidates = options.pop("words"), options.pop("candidates")
        require_pattern(options["token_pattern"])
        for name in ("max_words", "min_count", "max_candidates", "min_length"):
            require_number(f"{name} of OnlineVocabulary", options[name], 1, 2**31 - 1, whole=True)
        for name in ("lowercase", "fixed_width"):
            if type(options[name]) is not bool:
                raise ValueError(f"{name}={options[name]!r} is neither true nor false")
        stop_words = options["stop_words"]
        listed = isinstance(stop_words, list) and all(isinstance(word, str) for word in stop_words)
        if not (stop_words is None or isinstance(stop_words, str) or listed):
            raise ValueError(f"stop_words={brief(stop_words)} are no texts")
        vocabulary = cls(**options)
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("the state of OnlineVocabulary must hold a list of texts, 'words'")
        counts = candidates.values() if isinstance(candidates, dict) else [None]
        if not all(type(count) is int and 0 < count < vocabulary.min_count for count in counts):
            raise ValueError(
                "the state of OnlineVocabulary must hold 'candidates', words with counts below min_count"
            )
        if len(words) > vocabulary.max_words or len(candidates) > vocabulary.max_candidates:
            raise ValueError("the state of OnlineVocabulary holds more words or candidates than it allows")
        columns = vocabulary._columns
        n_columns = len(columns) + len(words)
        columns.update((word, column) for column, word in enumerate(words) if word not in columns)
        if len(columns) != n_columns or not columns.keys().isdisjoint(candidates):
            raise ValueError("the state of OnlineVocabulary holds a word twice, or one to leave out")
        vocabulary.words = list(words)
        vocabulary._candidates = dict(candidates)
        return vocabulary


class _Journal:
    """How to take back what a vocabulary has learned since a mark."""

    def __init__(
        self, n_words: int, candidates: dict[str, int], number: int, before: _Journal | None
    ) -> None:
        self.n_words, self.candidates = n_words, candidates
        self.number, self.before = number, before
        self.counts: dict[str, int] = {}  # of candidates that have changed, as they were; 0: was none
        self.replaced = False  # all candidates have lost one, in a dict of their own

    def note(self, word: str, count: int) -> None:
        """Note a candidate's count before it changes for the first time."""
        if not self.replaced:
            self.counts.setdefault(word, count)


class _Columns(dict[str, int]):
    """Column of each word, -1 for one that is never to have any; others are met when they are looked up."""

    def __init__(self, vocabulary: OnlineVocabulary, left_out: Collection[str]) -> None:
        super().__init__(dict.fromkeys(left_out, -1))
        if vocabulary.min_length > 1:
            self.update(
                dict.fromkeys(_ASCII_WORD, -1)
            )  # the most frequent words are of one letter: meet them never
        self._vocabulary = vocabulary

    def __missing__(self, word: str) -> int:
        return self._vocabulary._meet(word)


def _only_texts(contents: Sequence[str | Bag]) -> list[str]:
    texts: list[str] = []
    for content in contents:
        if isinstance(content, Bag):
            raise TypeError("documents are bags of words, not texts; count them with BagVectorizer()")
        if not isinstance(content, str):
            raise TypeError(
                f"texts[{len(texts)}] is {brief(content)}, not a text; leave out what has none, or give ''"
            )
        texts.append(content)
    return texts
