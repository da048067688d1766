"""How far one driver carries: the costs of a mini-batch, and a simulation of many workers with them.

    python -m benchmarks.many_workers [--batch-sizes 256 1024 4096] [--batches 24]

MedLDA of 40 topics with words beside them, on the arXiv sample of the package (20 labels), over and over.
`learn_stream` learns it with an executor that packs what goes to a worker and comes back, from documents that
are counted and packed as a worker of `read` does; the last steps are then sent to a worker of Ray. Costs are
seconds of CPU time of one thread, for a mini-batch:

read    the driver's second thread: documents unpacked and checked, new words added
labels  the driver's first thread: labels, checks, scores, all that is not named here
margins calibration, in order
rows    rows of topics taken and added, and room for new words
words   weights of words, in order
sent    a step in a call through Ray, and its result taken; Ray's own threads take more beside it
call    a call, however many steps it carries
work    a worker's: unpack, sample, pack
count   a worker's: count the words of documents, pack them

The simulation is one of discrete events. A thread of the driver does one thing at a time; it launches
mini-batches as `learning.alike` says, in two calls for each worker, and waits for the oldest. A worker takes
the next call when it is free. Packed bytes travel at a gigabyte a second to and from each worker. The driver
is saturated by so many workers, in calls of eight mini-batches. The means, each with those before it:
`owners`, 20 threads or processes among which the tasks of words are dealt; `adders`, 16 that have a part of
the columns of topics each; `batches`, workers that hand over whole mini-batches with their labels encoded, so
that nothing is left of `read`, and of `labels` what a mini-batch of 16 documents costs.
"""

from __future__ import annotations

import argparse
import heapq
import pickle
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import cycle, islice
from typing import Any

from bayespa import TextModel, learning
from bayespa.corpus import Document, OnlineVocabulary, sifting
from bayespa.datasets import load_arxiv_sample
from bayespa.text import stream
from bayespa.text.columns import ALL_WORDS
from bayespa.topics.calibration import Calibration
from bayespa.topics.model import Model
from bayespa.topics.words import Words
from bayespa.workers import Workers

BYTES_A_SECOND = 1e9
OWNERS, ADDERS = 20, 16
LAG, TOGETHER = 32, 8  # mini-batches in progress, and of those in a call
SECONDS: dict[str, float] = defaultdict(float)


@dataclass(frozen=True)
class Costs:
    """Seconds and bytes of a mini-batch."""

    read: float
    labels: float
    margins: float
    rows: float
    words: float
    sent: float
    call: float
    work: float
    count: float
    n_bytes: float

    @property
    def driver(self) -> float:
        """Of the thread that is busiest."""
        sent = self.sent + self.call / TOGETHER
        return max(self.read, self.labels + self.margins + self.rows + self.words + sent)

    @property
    def worker(self) -> float:
        """Of a worker, with its share of the way."""
        return self.work + self.count + self.n_bytes / BYTES_A_SECOND

    def means(self, least: float) -> dict[str, Costs]:
        """Return the costs with each of the means, and with all before it."""
        owners = replace(self, words=self.words / OWNERS)
        adders = replace(owners, rows=self.rows / ADDERS)
        work = self.work + self.read + self.labels - least
        batches = replace(adders, read=0.0, labels=least, work=work)
        return {"as it is": self, "owners": owners, "adders": adders, "batches": batches}


def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, whose CPU time is added up under a name."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        begin = time.thread_time()
        try:
            return function(*arguments, **options)
        finally:
            SECONDS[name] += time.thread_time() - begin

    return call


class Packing:
    """An executor in this thread that packs what would travel."""

    def __init__(self) -> None:
        self.n_bytes = 0
        self.last: deque[tuple[Any, ...]] = deque(maxlen=TOGETHER)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Packed:
        """Compute at once; unpack when the result is asked for."""
        packed = timed("packed", pickle.dumps)((function, arguments), 5)
        back = timed("work", _worked)(packed)
        self.last.append((function, *arguments))
        self.n_bytes += len(packed) + len(back)
        return Packed(back)


@dataclass(frozen=True)
class Packed:
    """A packed result."""

    value: bytes

    def result(self) -> Any:
        """Unpack it."""
        return timed("packed", pickle.loads)(self.value)


def _worked(packed: bytes) -> bytes:
    function, arguments = pickle.loads(packed)
    return pickle.dumps(function(*arguments), 5)


class Stored:
    """Words that workers have got."""

    def __init__(self, words: list[str]) -> None:
        self.words = words

    def value(self) -> list[str]:
        """Return them."""
        return self.words


def counted(
    documents: Iterator[Document], model: TextModel, size: int, packing: Packing
) -> Iterator[Document]:
    """Count documents as workers do, `size` in a call."""

    def work(piece: list[Document]) -> tuple[bytes, list[pickle.PickleBuffer]]:
        arrays: list[pickle.PickleBuffer] = []  # which Ray does not copy either
        found = sifting.counted([piece], teller.now())
        return pickle.dumps(found, 5, buffer_callback=arrays.append), arrays

    assert isinstance(model.vectorizer, OnlineVocabulary)
    teller = sifting.Teller(model.vectorizer, Stored)
    while piece := list(islice(documents, size)):
        packed, arrays = timed("count", work)(piece)
        packing.n_bytes += len(packed) + sum(array.raw().nbytes for array in arrays)
        begin = time.thread_time()  # of the thread that reads
        (found,) = pickle.loads(packed, buffers=arrays)
        yield from found
        SECONDS["read"] += time.thread_time() - begin


def sent(steps: Sequence[tuple[Any, ...]], workers: Workers, together: int) -> float:
    """Return what it takes to send one of some steps and to get its result, with so many in a call."""
    calls: deque[Any] = deque()
    ahead = 2 * together  # two calls are in progress, as with one worker
    for i in range(10 * LAG):
        if i == 4 * LAG:  # the worker has started
            SECONDS.clear()
        calls.append(timed("sent", workers.submit)(*steps[i % len(steps)]))
        while len(calls) == ahead:
            for _ in range(together):
                timed("sent", calls.popleft().result)()
    return SECONDS["sent"] / (6 * LAG)


def measured(batch_size: int, n_batches: int, workers: Workers) -> Costs:
    """Learn a stream, and return the mean costs of its last mini-batches."""
    papers = load_arxiv_sample(subset="train")
    labelled = cycle(zip(papers.data, papers.labels, strict=True))
    first = 4096 + 8 * batch_size  # the words of the sample are known then
    documents = (Document(text, own[0], "") for text, own in islice(labelled, first + n_batches * batch_size))
    options: dict[str, Any] = {"n_topics": 40, "batch_size": batch_size, "lag": 8, "random_state": 0}
    model = TextModel(vectorizer=OnlineVocabulary(**ALL_WORDS), n_jobs=1, **options)
    packing, learned, begin = Packing(), 0, 0.0
    given = counted(documents, model, batch_size, packing)
    for run in stream.learn_stream(model, given, workers=packing):
        if run.documents <= first:
            SECONDS.clear()
            learned, packing.n_bytes, begin = run.documents, 0, time.thread_time()
    n = (run.documents - learned) / batch_size
    main = time.thread_time() - begin
    named = {name: SECONDS[name] / n for name in ("margins", "rows", "words", "work")}
    labels = (main - SECONDS["packed"]) / n - sum(named.values())
    named |= {name: SECONDS[name] / n for name in ("read", "count")}
    alone, together = (sent(packing.last, workers, steps) for steps in (1, TOGETHER))
    call = (alone - together) / (1.0 - 1.0 / TOGETHER)
    return Costs(
        labels=labels,
        sent=alone - call,
        call=call,
        n_bytes=packing.n_bytes / n,
        **named,
    )


def simulated(costs: Costs, n_workers: int, lag: int) -> tuple[float, float, float]:
    """Return mini-batches a second in the long run, and how much of the time driver and workers are busy."""
    alike, together = lag // 4, max(1, min(lag // 4, lag // (2 * n_workers)))
    launch = 0.5 * (costs.labels + costs.rows + costs.sent + costs.call / together)
    land = launch + costs.margins + costs.words
    free, ready, clock, busy, landed = [0.0] * n_workers, dict[int, float](), 0.0, 0.0, 0
    for b in range(40 * max(n_workers, lag)):
        end = b - b % alike + alike  # of those that are proposed under one posterior, when the lag has grown
        while end - landed > lag:
            clock, landed = max(clock, ready.pop(landed)) + land, landed + 1
            busy += land
        clock = max(clock, b * costs.read) + launch
        busy += launch
        first = b - b % alike % together  # of the call
        if b + 1 == min(first + together, end):
            done = max(clock, heapq.heappop(free)) + (b + 1 - first) * costs.worker
            heapq.heappush(free, done)
            ready.update(dict.fromkeys(range(first, b + 1), done))
    return landed / clock, busy / clock, landed * costs.worker / (clock * n_workers)


def main() -> None:
    """Measure, simulate, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[256, 1024, 4096])
    parser.add_argument("--batches", type=int, default=24)
    options = parser.parse_args()
    for owner, name in ((Model, "near"), (Model, "grown"), (learning, "apply")):
        setattr(owner, name, timed("rows", getattr(owner, name)))
    for owner, name in ((Words, "words"), (Calibration, "margins")):
        owner.propose = timed(name, owner.propose)  # type: ignore[method-assign]
    with Workers(1) as workers:
        least = measured(16, 8 * options.batches, workers).labels
        found = [(size, measured(size, options.batches, workers)) for size in options.batch_sizes]
    print(f"a mini-batch of 16 documents takes {1e3 * least:.2f} ms for what is not named")
    for size, costs in found:
        parts = {name: f"{1e3 * value:.1f}" for name, value in vars(costs).items() if name != "n_bytes"}
        print(f"\nmini-batches of {size}, ms: {parts}; {costs.n_bytes / 1e6:.1f} MB")
        own = costs.read + costs.labels + costs.margins + costs.rows + costs.words
        alone = 1.0 / (own + costs.work + costs.count)
        heads = ("means", "saturates at", "workers", "lag", "times one", "driver busy", "workers busy")
        print(" ".join(f"{head:>12}" for head in heads))
        for name, changed in costs.means(least).items():
            for n in (2, 8, 64, 512):
                lag = max(32, 2 * n)
                speed, busy, used = simulated(changed, n, lag)
                enough = f"{changed.worker / changed.driver:.1f}"
                row = (name, enough, n, lag, f"{speed / alone:.1f}", f"{busy:.0%}", f"{used:.0%}")
                print(" ".join(f"{value:>12}" for value in row))


if __name__ == "__main__":
    main()
