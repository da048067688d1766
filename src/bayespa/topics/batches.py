"""The mini-batches that `fit` and `partial_fit` learn, one after the other and none by half."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.topics.documents import Batch, Corpus
from bayespa.topics.labels import Labels


class Batches(Sequence[Batch]):
    """The mini-batches of a corpus, cut out when they are asked for."""

    def __init__(
        self,
        corpus: Corpus,
        labels: Labels,
        order: NDArray[np.int64],
        size: int | None,
        first: int | None = None,
    ) -> None:
        self.corpus, self.labels, self.order = corpus, labels, order
        size = size or len(corpus)
        later = np.arange(first or size, len(corpus), size)
        self.edges = [0, *later.tolist(), len(corpus)]

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(index)
        rows = self.order[self.edges[index] : self.edges[index + 1]]
        return self.corpus.batch(rows, self.labels[rows])

    def joined(self, n_documents: int) -> tuple[Batch, list[int]]:
        """Return the mini-batches that the first documents make up as one, and where they begin and end.

        There is at least one; if it has more documents than these, the rest is left out.
        """
        edges = [edge for edge in self.edges if edge <= n_documents]
        if len(edges) < 2:
            edges = [0, min(n_documents, len(self.corpus))]
        rows = self.order[: edges[-1]]
        return self.corpus.batch(rows, self.labels[rows]), edges


@contextmanager
def interrupts_held() -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C back until the yielded function is called: no update is cut in half. A second one acts."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: None
        return
    held: list[tuple[int, Any]] = []

    def hold(number: int, frame: Any) -> None:
        if held:
            before(number, frame)
        held.append((number, frame))

    def release() -> None:
        if held:
            before(*held.pop())

    signal.signal(signal.SIGINT, hold)
    try:
        yield release
    finally:
        signal.signal(signal.SIGINT, before)
