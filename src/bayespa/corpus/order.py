"""The order of documents: whether they are sorted by label, and how to shuffle all of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from tempfile import TemporaryFile, gettempdir

import numpy as np

from bayespa.corpus.documents import Document, Label
from bayespa.corpus.reading import places
from bayespa.native.random import RandomState, key_from_seed, permutation, subkey

_MOST_CLASSES = 1024  # different classes; all others count as one, to bound memory
_MOST_WINDOWS = 64
_FIRST_WINDOW = 8  # documents
_LONG = 64  # documents of a long run: a good part of a mini-batch
_CHANCE = 1e-6  # expected number of runs of a length that are beyond chance
_RUNS = 0.1  # share of documents in long runs from which on they count as sorted
_UNEVEN = 0.3  # streams in order of time have up to 0.25, two halves without a common class 0.5
_PILE = 10_000  # documents that are shuffled in memory
_MOST_PILES = 256  # files that are open at once


class LabelOrder:
    """Measures how far the order of labels is from a random one, in bounded memory.

    Two things make learning hard and progressive scores too high: long runs of one label, and parts of the
    stream with labels of their own. For the first, it counts documents in runs of 64 or more that are too
    long to be chance, given the frequency of their label. For the second, it divides the stream into 32 to 64
    windows.

    Attributes
    ----------
    n : int
        Labels counted; documents without a label do not count.

    Examples
    --------
    >>> order = LabelOrder()
    >>> for i in range(4000):
    ...     order.add("ab"[i // 2000])
    >>> order.in_long_runs, round(order.unevenness, 2), order.mixed
    (1.0, 0.99, False)
    >>> print(order)
    100% of documents are in runs of 64 or more of one label
    """

    def __init__(self) -> None:
        self.n = 0
        self._codes: dict[Label, int] = {}
        self._windows: list[tuple[Counter[int], float]] = []  # counts of labels; sum of numbers
        self._size = _FIRST_WINDOW  # documents per window
        self._counts: Counter[int] = Counter()  # of the incomplete window
        self._sum = self._square = 0.0  # of numbers: sum in this window, and sum of squares in all
        self._numbers = self._filled = 0
        self._last: Label = None
        self._run = 0
        self._in_runs: Counter[tuple[int, int]] = Counter()  # documents by label and log2 of run length

    def add(self, label: Label) -> None:
        """Count the label of the next document."""
        if label is None:
            return
        self.n += 1
        if label != self._last:
            self._end_run()
            self._last, self._run = label, 0
        self._run += 1
        if isinstance(label, float):
            self._numbers += 1
            self._sum += label
            self._square += label * label
        for one in label if isinstance(label, tuple) else (label,):
            self._counts[self._code(one)] += 1
        self._filled += 1
        if self._filled == self._size:
            self._end_window()

    def _code(self, label: Label) -> int:
        if len(self._codes) < _MOST_CLASSES:
            return self._codes.setdefault(label, len(self._codes))
        return self._codes.get(label, _MOST_CLASSES)

    def _end_run(self) -> None:
        if self._run >= _LONG:
            self._in_runs[self._run_code(), self._run.bit_length() - 1] += self._run

    def _run_code(self) -> int:
        """Return the label of the run; of several labels, one that is the rarest."""
        label = self._last
        return self._code(label) if not isinstance(label, tuple) else min(map(self._code, label), default=0)

    def _end_window(self) -> None:
        self._windows.append((self._counts, self._sum))
        self._counts, self._sum, self._filled = Counter(), 0.0, 0
        if len(self._windows) == _MOST_WINDOWS:
            pairs = zip(self._windows[::2], self._windows[1::2], strict=True)
            self._windows = [(a + b, x + y) for (a, x), (b, y) in pairs]
            self._size *= 2

    @property
    def in_long_runs(self) -> float:
        """The share of documents in long runs of one label, beyond chance."""
        runs = Counter(self._in_runs)
        if self._run >= _LONG:
            runs[self._run_code(), self._run.bit_length() - 1] += self._run
        often = sum((counts for counts, _ in self._windows), Counter(self._counts))
        found = 0
        for (code, length), documents in runs.items():
            share = min(1.0, often[code] / self.n)
            found += documents * (self.n * share ** (2**length) < _CHANCE)
        return found / max(1, self.n)

    @property
    def unevenness(self) -> float:
        """How much windows differ in their labels: 0 as by chance, 1 if each window has one label.

        For classes: the share of a window's labels that would have to change for it to be like the whole,
        minus what chance explains, relative to a sorted stream. For numbers: the share of the variance
        between windows.
        """
        if len(self._windows) < 2:
            return 0.0
        found = self._between() if self._numbers > self.n / 2 else self._exchanged()
        return min(1.0, max(0.0, found))

    def _exchanged(self) -> float:
        windows = [counts for counts, _ in self._windows if counts]
        whole = sum(windows, Counter())
        total = whole.total()
        share = {code: n / total for code, n in whole.items()}
        distance = 0.0
        for counts in windows:
            n = counts.total()
            distance += 0.5 * math.fsum(abs(counts[code] / n - p) for code, p in share.items())
        distance /= len(windows)
        chance = 0.5 * math.fsum(_mean_deviation(total // len(windows), p) for p in share.values())
        most = 1.0 - math.fsum(p * p for p in share.values())
        return (distance - chance) / (most - chance) if most > chance else 0.0

    def _between(self) -> float:
        sums = np.array([total for _, total in self._windows])
        n = self._numbers
        mean = (sums.sum() + self._sum) / n
        variance = self._square / n - mean * mean
        chance = (len(sums) - 1) / max(1, n - 1)
        if variance <= 1e-12 * max(1.0, mean * mean) or chance >= 1.0:
            return 0.0
        return float((np.mean((sums / self._size - mean) ** 2) / variance - chance) / (1.0 - chance))

    @property
    def mixed(self) -> bool:
        """Whether the order is good enough for learning."""
        return self.in_long_runs < _RUNS and self.unevenness < _UNEVEN

    def __str__(self) -> str:
        if (share := self.in_long_runs) >= _RUNS:
            return f"{share:.0%} of documents are in runs of {_LONG} or more of one label"
        return (
            f"labels are not spread evenly over the documents (unevenness {self.unevenness:.2f}, where a "
            "sorted file has 1)"
        )


def _mean_deviation(n: int, p: float) -> float:
    """Return E|X/n - p| of a binomial X, by de Moivre's formula.

    >>> round(_mean_deviation(2, 0.5), 9)  # a quarter each for 0 and 2 of 2
    0.25
    """
    if p >= 1.0 or n < 1:
        return 0.0
    k = math.floor(n * p) + 1
    log_choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return 2.0 * k * math.exp(log_choose + k * math.log(p) + (n - k + 1) * math.log1p(-p)) / n


def shuffle_all(
    documents: Iterable[Document], n: int, random_state: RandomState = None
) -> Iterator[Document]:
    """Shuffle a whole stream: every order is equally likely, with about 10,000 documents in memory.

    Documents go to random piles, which are unnamed temporary files; then one pile after the other is
    shuffled. The order is a pure function of `random_state`, `n` and the documents.

    Parameters
    ----------
    documents : iterable of Document
        All are read before the first is yielded.
    n : int
        About how many there are; it decides the number of piles.
    random_state : int, Generator or None

    Examples
    --------
    >>> documents = [Document(text, None, "") for text in "abcdefgh"]
    >>> [document.content for document in shuffle_all(documents, 8, random_state=0)]
    ['d', 'g', 'e', 'a', 'h', 'c', 'b', 'f']
    """
    n_piles = min(_MOST_PILES, max(1, -(-n // _PILE)))
    key = key_from_seed(random_state)
    with ExitStack() as stack:
        try:
            piles = [stack.enter_context(TemporaryFile()) for _ in range(n_piles)]
            for document, pile in zip(documents, places(subkey(key, 2), n_piles), strict=False):
                piles[pile].write(f"{document.to_line()}\n".encode())
            for pile_file in piles:
                pile_file.flush()
        except OSError as error:
            if error.filename is not None:  # of reading, not of a pile
                raise
            raise OSError(
                error.errno,
                f"{error.strerror}: shuffling writes documents to files in {gettempdir()}; set TMPDIR to "
                "another folder, or use a shuffle of 10000, which needs no files",
            ) from error
        for k, file in enumerate(piles):
            file.seek(0)
            pile_of = [Document.from_line(line) for line in file]
            file.truncate(0)  # frees its space on the disk
            for place in permutation(subkey(key, 3, k), len(pile_of)):
                yield pile_of[place]
