"""Texts to counts in Python, with any pattern of words: the twin of `bayespa.native.text`."""

from __future__ import annotations

import re
import string
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from bayespa.native.text import PADDING, SiftedTexts, WordCounts, WordRules

RUNS = r"\w+"
LONGEST_WORD = 128  # characters; longer runs are no words, so that memory stays bounded
ASCII_WORD = string.ascii_letters + string.digits + "_"


class Tokenizer:
    r"""Cuts texts into words.

    Parameters
    ----------
    lowercase : bool, default=True
        Whether to convert texts to lower case first.
    token_pattern : str, default=r"\w+"
        Regular expression of a word, with at most one group, which is then the word.

    Examples
    --------
    >>> Tokenizer().words(["A maximum-margin model", "été"])
    [['a', 'maximum', 'margin', 'model'], ['été']]
    """

    def __init__(self, lowercase: bool = True, token_pattern: str = RUNS) -> None:
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
        kept = {c: c.lower() if lowercase else c for c in ASCII_WORD}
        self._ascii = {i: kept.get(chr(i), " ") for i in range(128)}

    def words(self, texts: Iterable[str]) -> list[list[str]]:
        """Return the words of each text, in order."""
        find, table, lower = self._find, self._ascii, self.lowercase
        if self.token_pattern != RUNS:
            return [find(text.lower() if lower else text) for text in texts]
        # For ASCII, str.translate and str.split find the same words in 40 % of the time.
        return [
            text.translate(table).split() if text.isascii() else find(text.lower() if lower else text)
            for text in texts
        ]


def runs_of_words(words: Sequence[str], n: int) -> list[str]:
    """Return each word, followed by the runs of 2 to n words that end with it.

    >>> runs_of_words(["to", "be", "or"], 2)
    ['to', 'be', 'to be', 'or', 'be or']
    """
    return [
        " ".join(words[end - length : end])
        for end in range(1, len(words) + 1)
        for length in range(1, min(n, end) + 1)
    ]


class PythonVocabulary:
    """A vocabulary that grows, of words that a `Tokenizer` finds.

    >>> vocabulary = PythonVocabulary(WordRules(min_count=1, n_grams=2), Tokenizer())
    >>> vocabulary.learn(["Words, words", "of words"]).counts
    array([2, 1, 1, 1, 1], dtype=int32)
    >>> vocabulary.words
    ['words', 'words words', 'of', 'of words']
    """

    def __init__(self, rules: WordRules, tokenizer: Tokenizer) -> None:
        self.rules, self.tokenizer = rules, tokenizer
        self.words: list[str] = []
        self.n_runs = 0  # of the words
        self._candidates: dict[str, int] = {}
        self._columns = _Columns(self)
        self._journal: _Journal | None = None  # what is needed to go back to a mark
        self._lock = threading.RLock()  # one thread may count ahead of the one that learns and saves

    @property
    def n_words(self) -> int:
        """Number of columns."""
        return len(self.words)

    def words_between(self, begin: int, end: int) -> list[str]:
        """Return the words of some columns."""
        return self.words[begin:end]

    def learn(self, texts: Sequence[str | bytes], n_threads: int = 1) -> WordCounts:
        """Admit new words and count."""
        if len(self.words) == self.rules.max_words:
            return self.transform(texts)
        words = self._words_of(texts)
        with self._lock:
            return self._count(words, map(self._columns.__getitem__, chain.from_iterable(words)))

    def transform(self, texts: Sequence[str | bytes], n_threads: int = 1) -> WordCounts:
        """Count the words known so far."""
        words = self._words_of(texts)
        return self._count(words, map(self._columns.get, chain.from_iterable(words), repeat(-1)))

    def sift(self, texts: Sequence[str | bytes]) -> SiftedTexts:
        """Count the words known so far, and list the others: the first part of `learn`."""
        words, rules = self._words_of(texts), self.rules
        known = self._count(words, map(self._columns.get, chain.from_iterable(words), repeat(-1)))
        more, more_runs = self.n_words < rules.max_words, self.n_runs < rules.most_runs

        def is_other(word: str) -> bool:
            fits = more_runs if rules.is_run(word) else self._fits(word)
            return more and fits and word not in self._columns

        others = [[word.encode("utf-8", "surrogatepass") for word in own if is_other(word)] for own in words]
        listed = list(chain.from_iterable(others))
        return SiftedTexts(
            *known,
            np.cumsum([len(own) for own in others], dtype=np.int64),
            np.cumsum([len(word) for word in listed], dtype=np.int64),
            np.frombuffer(b"".join(listed) + bytes(PADDING), np.uint8),
        )

    def learn_sifted(self, pieces: Sequence[SiftedTexts], places: NDArray[np.int64]) -> WordCounts:
        """Admit new words and count: the second part of `learn`."""
        rows: list[dict[int, int]] = []
        with self._lock:
            for piece, row in places.tolist():
                sifted = pieces[piece]
                own = _row(sifted.ends, row)
                counts = Counter(
                    dict(zip(sifted.columns[own].tolist(), sifted.counts[own].tolist(), strict=True))
                )
                for i in range(len(sifted.text_ends))[_row(sifted.other_ends, row)]:
                    word = sifted.texts[_row(sifted.text_ends, i)].tobytes().decode("utf-8", "surrogatepass")
                    if (column := self._columns[word]) >= 0:
                        counts[column] += 1
                rows.append(dict(sorted(counts.items())))
            return WordCounts(
                np.cumsum([len(counts) for counts in rows], dtype=np.int64),
                np.array([column for counts in rows for column in counts], np.int32),
                np.array([n for counts in rows for n in counts.values()], np.int32),
                self.n_words,
            )

    def _words_of(self, texts: Sequence[str | bytes]) -> list[list[str]]:
        rules = self.rules
        words = self.tokenizer.words(text if isinstance(text, str) else text.decode() for text in texts)
        if rules.n_grams == 1:
            return words
        # Words that are left out do not interrupt a run.
        kept = ([w for w in own if self._fits(w) and w not in rules.left_out] for own in words)
        return [runs_of_words(own, rules.n_grams) for own in kept]

    def _fits(self, word: str) -> bool:
        return self.rules.min_length <= len(word) <= LONGEST_WORD

    def _count(self, words: list[list[str]], columns: Iterable[int]) -> WordCounts:
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        of_tokens = np.fromiter(columns, np.int32, int(lengths.sum()))
        n_words, known = len(self.words), of_tokens >= 0
        rows = np.repeat(np.arange(len(words)), lengths)[known]
        # Row and column in one number: sorting it sorts by both.
        places, counts = np.unique(rows * max(n_words, 1) + of_tokens[known], return_counts=True)
        rows, found = np.divmod(places, max(n_words, 1))
        ends = np.cumsum(np.bincount(rows, minlength=len(words)))
        return WordCounts(ends, found.astype(np.int32), counts.astype(np.int32), n_words)

    def meet(self, word: str) -> int:
        """Return the column of a word that had none until now, or -1 if it still has none."""
        rules = self.rules
        if len(self.words) == rules.max_words or (rules.n_grams == 1 and not self._fits(word)):
            return -1
        run = rules.is_run(word)
        if run and self.n_runs == rules.most_runs:
            return -1
        candidates, journal = self._candidates, self._journal
        count = candidates.get(word, 0) + 1
        if journal is not None:  # before anything changes
            journal.note(word, count - 1)
        if count >= (rules.least if run else rules.min_count):
            candidates.pop(word, None)
            column = len(self.words)
            self.words.append(word)  # before it can be found: readers in other threads count columns
            self._columns[word] = column
            self.n_runs += run
            return column
        if count > 1 or len(candidates) < rules.max_candidates:
            candidates[word] = count
        else:
            fewer = {other: n - 1 for other, n in candidates.items() if n > 1}
            if journal is not None:
                journal.replaced = True
            self._candidates = fewer
        return -1

    def load(self, words: Sequence[str], candidates: dict[str, int]) -> None:
        """Load further words, and then candidates, before anything is learned; none was left out."""
        # A loaded word that is too long or too short has a column, but is never counted.
        columns = ((word, column) for column, word in enumerate(words, self.n_words))
        self.words.extend(words)
        self.n_runs += sum(map(self.rules.is_run, words))
        self._candidates.update(candidates)
        self._columns.update(
            (word, column) for word, column in columns if self.rules.n_grams > 1 or self._fits(word)
        )

    # Going back: a model that did not learn what was counted must not know its words either.

    def mark(self) -> int:
        """Mark the present state."""
        with self._lock:
            before = self._journal
            number = 0 if before is None else before.number + 1
            self._journal = _Journal(len(self.words), self._candidates, number, before)
            return number

    def forget(self, mark: int) -> None:
        """Forget all marks before this one."""
        journal = self._journal
        while journal is not None and journal.number > mark:
            journal = journal.before
        if journal is not None:
            journal.before = None

    def back_to(self, mark: int) -> None:
        """Go back to a mark; raise IndexError if it does not exist."""
        with self._lock:
            for journal in self._journals(mark):
                for word in self.words[journal.n_words :]:
                    self._columns.pop(word, None)
                    self.n_runs -= self.rules.is_run(word)
                del self.words[journal.n_words :]
                for word, count in journal.counts.items():
                    if count:
                        journal.candidates[word] = count
                    else:
                        journal.candidates.pop(word, None)
                self._candidates, self._journal = journal.candidates, journal
            journal.counts, journal.replaced = {}, False

    def at(self, mark: int | None = None) -> tuple[list[str], dict[str, int]]:
        """Return words and candidates of now or of a mark; raise IndexError if it does not exist."""
        with self._lock:
            candidates = dict(self._candidates)
            if mark is None:
                return list(self.words), candidates
            for journal in self._journals(mark):
                if journal.replaced:
                    candidates = dict(journal.candidates)
                candidates.update(journal.counts)
            known = {word: count for word, count in candidates.items() if count}
            return self.words[: journal.n_words], known

    def _journals(self, mark: int) -> list[_Journal]:
        """Return the journals from the last one back to that of a mark."""
        found, journal = [], self._journal
        while journal is not None:
            found.append(journal)
            if journal.number == mark:
                return found
            journal = journal.before
        raise IndexError(f"the mark {mark} is forgotten")


def _row(ends: NDArray[np.int64], row: int) -> slice:
    return slice(int(ends[row - 1]) if row else 0, int(ends[row]))


class _Journal:
    """What is needed to take a vocabulary back to a mark."""

    def __init__(
        self, n_words: int, candidates: dict[str, int], number: int, before: _Journal | None
    ) -> None:
        self.n_words, self.candidates = n_words, candidates
        self.number, self.before = number, before
        self.counts: dict[str, int] = {}  # of changed candidates, before; 0: was none
        self.replaced = False  # all candidates have lost one count, in a new dict

    def note(self, word: str, count: int) -> None:
        """Note a candidate's count before it changes for the first time."""
        if not self.replaced:
            self.counts.setdefault(word, count)


class _Columns(dict[str, int]):
    """Column of each word, -1 for a word that never gets one; a lookup meets words that are not here."""

    def __init__(self, vocabulary: PythonVocabulary) -> None:
        super().__init__(dict.fromkeys(vocabulary.rules.left_out, -1))
        if vocabulary.rules.min_length > 1:  # the most frequent words have one letter: skip them at once
            self.update(dict.fromkeys(ASCII_WORD, -1))
        self._vocabulary = vocabulary

    def __missing__(self, word: str) -> int:
        return self._vocabulary.meet(word)
