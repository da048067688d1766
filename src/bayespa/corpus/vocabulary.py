"""A vocabulary that grows with a stream."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayespa.checks import number_of_threads, require_number
from bayespa.corpus.documents import Bag, CountedText, brief
from bayespa.corpus.stop_words import ENGLISH_STOP_WORDS
from bayespa.native.medlda import CountMatrix
from bayespa.native.text import NativeVocabulary, SiftedTexts, WordCounts, WordRules
from bayespa.reference.text import ASCII_WORD, RUNS, PythonVocabulary, Tokenizer

if TYPE_CHECKING:
    import scipy.sparse as sp

_LONGEST_PATTERN = 10_000  # characters, in a file, because compiling a pattern takes much more memory
_MOST_WORDS_OF_A_RUN = 8


def require_pattern(pattern: Any) -> None:
    """Raise a ValueError unless a regular expression from a file has a sensible size."""
    if not isinstance(pattern, str) or len(pattern) > _LONGEST_PATTERN:
        raise ValueError(f"token_pattern must be a text of up to {_LONGEST_PATTERN} characters")


class OnlineVocabulary:
    r"""A vocabulary that grows with a stream, in bounded memory; a column never changes its meaning.

    A word gets the next column when it occurs for the `min_count`-th time, and is counted from then on. Words
    without a column are candidates. If there are `max_candidates` and another one comes, every candidate
    loses one occurrence, and those with none left are forgotten (Misra and Gries, 1982). So no word is
    admitted too early, and a word that is more than 1 / `max_candidates` of the words without a column is
    admitted eventually. With `max_words` words no more are admitted. No word is ever removed, so what a model
    has learned about a column stays valid.

    The result depends only on the order of the documents, not on mini-batches.

    Parameters
    ----------
    max_words : int, default=100_000
        Largest number of columns.
    min_count : int, default=3
        Occurrences before a word is admitted.
    max_candidates : int, default=200_000
        Largest number of candidates.
    lowercase : bool, default=True
        Whether to convert texts to lower case.
    token_pattern : str, default=r"\w+"
        Regular expression of a word. With `min_length=2`, words are those of scikit-learn's CountVectorizer.
    min_length : int, default=2
        Length of the shortest word. (Words of more than 128 characters are ignored.)
    stop_words : "english" or collection of str, optional
        Words to leave out; "english" is scikit-learn's list.
    ngrams : int, default=1
        Longest sequence of words to count, up to 8. With 2, "to be or" gives "to", "be", "to be", "or" and
        "be or". Words that are left out are skipped.
    min_run_count : int, optional
        Occurrences before a sequence of several words is admitted; None is `min_count`.
    max_runs : int, optional
        Largest number of columns of such sequences, which count among `max_words`; None is `max_words`.
    fixed_width : bool, default=False
        Whether matrices have `max_words` columns from the start, for models that cannot grow; by default they
        have as many as there are words.
    n_jobs : int, optional
        Threads: None is 1, -1 all processors. The result is the same.

    Attributes
    ----------
    words : list of str
        The word of each column.
    key : str
        Another one whenever words may have been taken back.

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
        token_pattern: str = RUNS,
        min_length: int = 2,
        stop_words: str | Collection[str] | None = None,
        ngrams: int = 1,
        min_run_count: int | None = None,
        max_runs: int | None = None,
        fixed_width: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        for name, value in (
            ("max_words", max_words),
            ("min_count", min_count),
            ("max_candidates", max_candidates),
            ("min_length", min_length),
            ("min_run_count", min_run_count),
            ("max_runs", max_runs),
        ):
            if value is not None and value < 1:
                raise ValueError(f"{name}={value} must be at least 1")
        if not 1 <= ngrams <= _MOST_WORDS_OF_A_RUN:
            raise ValueError(f"ngrams={ngrams} must be from 1 to {_MOST_WORDS_OF_A_RUN}")
        if isinstance(stop_words, str) and stop_words != "english":
            raise ValueError(f"stop_words={stop_words!r} is unknown; use 'english' or a collection of words")
        self.max_words = max_words
        self.min_count = min_count
        self.max_candidates = max_candidates
        self.min_length = min_length
        self.stop_words = stop_words
        self.ngrams = ngrams
        self.min_run_count = min_run_count
        self.max_runs = max_runs
        self.fixed_width = fixed_width
        self.n_jobs = n_jobs
        self.tokenizer = Tokenizer(lowercase, token_pattern)
        self._counter = self._new_counter()
        self.key = _new_key()

    def _new_counter(self) -> NativeVocabulary | PythonVocabulary:
        left_out = ENGLISH_STOP_WORDS if isinstance(self.stop_words, str) else self.stop_words or ()
        rules = WordRules(
            self.max_words,
            self.min_count,
            self.max_candidates,
            self.tokenizer.lowercase,
            self.min_length,
            self.ngrams,
            self.min_run_count,
            self.max_runs,
            frozenset(left_out),
        )
        if self.tokenizer.token_pattern == RUNS:
            return NativeVocabulary(rules)
        return PythonVocabulary(rules, self.tokenizer)

    @property
    def words(self) -> list[str]:
        """The word of each column."""
        return self._counter.words

    def words_between(self, begin: int, end: int) -> list[str]:
        """Return the words of columns from `begin` to before `end`."""
        return self._counter.words_between(begin, end)

    @property
    def n_words(self) -> int:
        """Number of columns."""
        return self._counter.n_words

    @property
    def n_runs(self) -> int:
        """Number of columns of sequences of several words."""
        return self._counter.n_runs

    def runs(self, words: Sequence[str]) -> NDArray[np.bool_] | None:
        """Return which words of columns are sequences of several; None: none ever is.

        >>> OnlineVocabulary(ngrams=2).runs(["credit", "card", "credit card"]).tolist()
        [False, False, True]
        """
        return None if self.ngrams == 1 else np.array([" " in word for word in words], np.bool_)

    def learn(self, texts: Sequence[str | bytes | Bag | CountedText]) -> sp.csr_matrix:
        """Admit new words, and return the counts, (n, n_words) int32, of words from their admission on."""
        return self.count(texts, learn=True).to_scipy()

    def transform(self, texts: Sequence[str | bytes | Bag]) -> sp.csr_matrix:
        """Return the counts, (n, n_words) int32, of the words known so far."""
        return self.count(texts, learn=False).to_scipy()

    def count(self, texts: Sequence[str | bytes | Bag | CountedText], *, learn: bool) -> CountMatrix:
        """Return the counts as `learn` or `transform` does, without SciPy.

        >>> OnlineVocabulary(min_count=1).count(["more words", "words"], learn=True).row_sums()
        array([2, 1])
        """
        if learn and any(type(text) is CountedText for text in texts):
            return self._matrix(self._learn_sifted(texts))
        counted = self._counter.learn if learn else self._counter.transform
        return self._matrix(counted(_only_texts(texts), number_of_threads(self.n_jobs)))

    # Counting in two parts: the first may be done elsewhere

    def sift(self, texts: Sequence[str | bytes | Bag | CountedText]) -> SiftedTexts:
        """Count the words known so far, and list the others: the part of `learn` that needs the texts."""
        return self._counter.sift(_only_texts(texts))

    def without_words(self) -> OnlineVocabulary:
        """Return a vocabulary with the same options that knows no words yet."""
        new = object.__new__(type(self))
        new.__setstate__({**self._options(), "_learned": ([], {})})
        return new

    def extend(self, words: Sequence[str]) -> None:
        """Give words the next columns, before anything is learned."""
        self._counter.load(words, {})

    def _learn_sifted(self, texts: Sequence[str | bytes | Bag | CountedText]) -> WordCounts:
        numbers: dict[int, int] = {}  # of pieces, by their id
        pieces: list[SiftedTexts] = []
        of_piece, rows = [], []
        for i, text in enumerate(texts):
            if not isinstance(text, CountedText):
                number, row = len(pieces), 0
                pieces.append(self.sift([text]))
            else:
                counted, row = text
                number = numbers.setdefault(id(counted), len(pieces))
                if number == len(pieces):
                    if counted.key != self.key:
                        raise ValueError(
                            f"texts[{i}] was counted for another vocabulary, or for words that this one has "
                            "taken back since; read it again"
                        )
                    pieces.append(counted.sifted)
            of_piece.append(number)
            rows.append(row)
        return self._counter.learn_sifted(pieces, np.column_stack([of_piece, rows]).astype(np.int64))

    def _matrix(self, found: WordCounts) -> CountMatrix:
        kind: Any = np.int32 if len(found.columns) < 2**31 else np.int64  # as in SciPy
        indptr = np.concatenate([[0], found.ends]).astype(kind)
        n_columns = self.max_words if self.fixed_width else found.n_words
        return CountMatrix(found.counts, found.columns, indptr, (len(found.ends), n_columns))

    def __getstate__(self) -> dict[str, Any]:
        return {**self._options(), "_learned": self._counter.at()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        learned = state.pop("_learned")
        self.__dict__.update(state)
        self._counter = self._new_counter()
        self._counter.load(*learned)
        self.key = _new_key()

    def _options(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_counter", "key")}

    # Undo: if a model did not learn documents, it should not know their words.

    def mark(self) -> int:
        """Remember the present state; return a mark for `back_to` and `to_state`.

        >>> vocabulary = OnlineVocabulary(min_count=1)
        >>> mark = vocabulary.mark()
        >>> _ = vocabulary.learn(["more words"])
        >>> vocabulary.back_to(mark)
        >>> vocabulary.words
        []
        """
        return self._counter.mark()

    def forget(self, mark: int) -> None:
        """Forget all marks before this one."""
        self._counter.forget(mark)

    def back_to(self, mark: int) -> None:
        """Undo everything learned since a mark; the mark stays."""
        try:
            self._counter.back_to(mark)
            self.key = _new_key()
        except IndexError as error:
            raise ValueError(f"the mark {mark} is forgotten") from error

    def to_state(self, mark: int | None = None) -> dict[str, Any]:
        """Return plain data for `from_state`; learning continues from it as if never interrupted.

        Parameters
        ----------
        mark : int, optional
            Describe the state at this mark; by default the present state.
        """
        stop_words = self.stop_words
        try:
            words, candidates = self._counter.at(mark)
        except IndexError as error:
            raise ValueError(f"the mark {mark} is forgotten") from error
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
            **self._options_of_runs(),
            "fixed_width": self.fixed_width,
            "words": words,
            "candidates": candidates,
        }

    def _options_of_runs(self) -> dict[str, int]:
        """Return the options of sequences of words, if any are counted; the first files had none."""
        options = {"ngrams": self.ngrams, "min_run_count": self.min_run_count, "max_runs": self.max_runs}
        return {} if self.ngrams == 1 else {k: value for k, value in options.items() if value is not None}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> OnlineVocabulary:
        """Restore the vocabulary that `to_state` described."""
        options = dict(state)
        words, candidates = options.pop("words"), options.pop("candidates")
        require_pattern(options["token_pattern"])
        for name in ("max_words", "min_count", "max_candidates", "min_length"):
            require_number(f"{name} of OnlineVocabulary", options[name], 1, 2**31 - 1, whole=True)
        ngrams = options.setdefault("ngrams", 1)
        require_number("ngrams of OnlineVocabulary", ngrams, 1, _MOST_WORDS_OF_A_RUN, whole=True)
        for name in ("min_run_count", "max_runs"):
            if name in options:
                require_number(f"{name} of OnlineVocabulary", options[name], 1, 2**31 - 1, whole=True)
        for name in ("lowercase", "fixed_width"):
            if type(options[name]) is not bool:
                raise ValueError(f"{name}={options[name]!r} is neither true nor false")
        stop_words = options["stop_words"]
        listed = isinstance(stop_words, list) and all(isinstance(word, str) for word in stop_words)
        if not (stop_words is None or isinstance(stop_words, str) or listed):
            raise ValueError(f"stop_words={brief(stop_words)} are not texts")
        vocabulary = cls(**options)
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("the state of OnlineVocabulary must have a list of texts, 'words'")
        counts = candidates.values() if isinstance(candidates, dict) else [None]
        least = vocabulary._counter.rules.least
        below = vocabulary.min_count if ngrams == 1 else max(vocabulary.min_count, least)
        if not all(type(count) is int and 0 < count < below for count in counts):
            raise ValueError(
                "the state of OnlineVocabulary must have 'candidates', words with counts below min_count"
            )
        if len(words) > vocabulary.max_words or len(candidates) > vocabulary.max_candidates:
            raise ValueError("the state of OnlineVocabulary has more words or candidates than it allows")
        taken = set(ENGLISH_STOP_WORDS if isinstance(stop_words, str) else stop_words or ())
        if vocabulary.min_length > 1:
            taken.update(ASCII_WORD)
        n_taken = len(taken) + len(words)
        taken.update(words)
        if len(taken) != n_taken or not taken.isdisjoint(candidates):
            raise ValueError("the state of OnlineVocabulary has a word twice, or one to leave out")
        vocabulary._counter.load(words, candidates)
        return vocabulary


def _new_key() -> str:
    return os.urandom(8).hex()


def _only_texts(contents: Sequence[str | bytes | Bag | CountedText]) -> list[str | bytes]:
    texts: list[str | bytes] = []
    for content in contents:
        if isinstance(content, Bag):
            raise TypeError("documents are bags of words, not texts; count them with BagVectorizer()")
        if isinstance(content, CountedText):
            raise TypeError(
                f"texts[{len(texts)}] was counted by a worker: it can be learned, but nothing else"
            )
        if not isinstance(content, str | bytes):
            raise TypeError(f"texts[{len(texts)}] is {brief(content)}, not a text; leave it out, or give ''")
        texts.append(content)
    return texts
