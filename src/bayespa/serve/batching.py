"""Batches predictions: requests that come while others are computed wait, and share the next call."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from bayespa.serve.service import Busy, Predicted
from bayespa.text.predictor import Answers

_AT_ONCE = 256  # texts per call, unless one request has more
_SECOND = 64  # waiting texts from which on another thread pays off


class _Request(NamedTuple):
    texts: Sequence[str]
    done: asyncio.Future[Predicted]


class Batcher:
    """Gathers the requests of one event loop.

    Parameters
    ----------
    predict : callable
        Called with the texts of some requests, in another thread.
    threads : int
    most_waiting : int
        How many texts may wait; more raise `Busy`.
    """

    def __init__(self, predict: Callable[[list[str]], Predicted], threads: int, most_waiting: int) -> None:
        self._predict, self._threads, self._most_waiting = predict, threads, most_waiting
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="bayespa-predict")
        self._waiting: deque[_Request] = deque()
        self._n_waiting = self._running = 0

    async def predict(self, texts: Sequence[str]) -> Predicted:
        """Return what the model says of texts."""
        if self._n_waiting + len(texts) > self._most_waiting:
            raise Busy(1, "too many texts wait to be predicted")
        request = _Request(texts, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        self._n_waiting += len(texts)
        self._go_on()
        return await request.done

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def _go_on(self) -> None:
        """Start a call, unless enough of them run for the texts that wait."""
        if not self._waiting or self._running >= (self._threads if self._n_waiting >= _SECOND else 1):
            return
        requests: list[_Request] = []
        texts: list[str] = []
        while self._waiting and (not texts or len(texts) + len(self._waiting[0].texts) <= _AT_ONCE):
            request = self._waiting.popleft()
            self._n_waiting -= len(request.texts)
            if not request.done.cancelled():
                requests.append(request)
                texts.extend(request.texts)
        if not requests:
            return
        self._running += 1
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._pool, self._predict, texts)
        work.add_done_callback(lambda work: self._deliver(requests, work))

    def _deliver(self, requests: list[_Request], work: asyncio.Future[Predicted]) -> None:
        self._running -= 1
        self._go_on()
        error, begin = work.exception(), 0
        for request in requests:
            end = begin + len(request.texts)
            if request.done.cancelled():
                pass
            elif error is not None:
                request.done.set_exception(error)
            else:
                request.done.set_result(_part(work.result(), begin, end))
            begin = end


def _part(whole: Predicted, begin: int, end: int) -> Predicted:
    rows, said = slice(begin, end), whole.answers
    if end - begin == len(whole.ids):
        return whole
    answers = Answers(
        said.labels[rows],
        None if said.probabilities is None else said.probabilities[rows],
        said.class_names,
        None if said.deviations is None else said.deviations[rows],
    )
    return Predicted(whole.version, whole.ids[rows], whole.texts[rows], answers)
