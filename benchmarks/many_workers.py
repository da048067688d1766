"""How far one driver carries: the costs of a mini-batch, and a simulation of many workers with them.

    python -m benchmarks.many_workers [--batch-sizes 256 1024] [--documents 4000]

MedLDA of 40 topics with words beside them, on the arXiv sample of the package (20 labels). Costs are seconds
of CPU time of this process, one thread: what the driver does for a mini-batch (count its words, take the rows
it needs, pack them; unpack what comes back, learn words and calibration in order, add), and what a worker
does (unpack, sample, pack). The simulation is one of discrete events: the driver does one thing at a time,
launches mini-batch b when b - L(b) are added, and waits for the oldest; a worker takes the next mini-batch
when it is free. Packed bytes travel at a gigabyte a second. `owners` are processes among which the tasks of
words are dealt, and `count` says who counts words.
"""

from __future__ import annotations

import argparse
import heapq
import pickle
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayespa import TextModel
from bayespa.datasets import load_arxiv_sample
from bayespa.learning import apply
from bayespa.topics.documents import Corpus

BYTES_A_SECOND = 1e9
SECONDS: dict[str, list[float]] = defaultdict(list)


def timed(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    begin = time.process_time()
    value = function(*arguments)
    SECONDS[name].append(time.process_time() - begin)
    return value


@dataclass(frozen=True)
class Costs:
    """Seconds and bytes of a mini-batch."""

    count: float
    launch: float
    work: float
    topics_in_order: float  # unpack, calibrate and add
    words_in_order: float
    n_bytes: float


def measured(batch_size: int, n_documents: int) -> Costs:
    """Learn a stream by hand, and return the mean costs of its last mini-batches."""
    SECONDS.clear()
    papers = load_arxiv_sample(subset="train")
    labels = [own[0] for own in papers.labels]
    model = TextModel(n_topics=40, batch_size=batch_size, random_state=0, n_jobs=1)
    first = n_documents // 2
    model.learn(papers.data[:first], labels[:first])
    learned = model.estimator._learned
    names = {name: i for i, name in enumerate(learned.meaning.names)}
    state, step_model, n_bytes = learned.state, learned.model, []
    for begin in range(first, n_documents - batch_size + 1, batch_size):
        texts = papers.data[begin : begin + batch_size]
        counts = timed("count", model.counts, texts)
        y = np.full((batch_size, step_model.n_tasks), -1.0, np.float32)
        for row, label in enumerate(labels[begin : begin + batch_size]):
            y[row, names[label]] = 1.0
        corpus = Corpus.of(model.features(counts), name="a benchmark").with_topical(learned.features.topical)
        batch = timed("launch", corpus.batch, np.arange(batch_size), y)
        needed = timed("launch", step_model.near, state.posterior, batch)
        packed = timed("launch", pickle.dumps, needed, 5)
        near, own = timed("work", pickle.loads, packed)
        found = timed("work", step_model.propose, near, own, state.n_steps)
        back = timed("work", pickle.dumps, found, 5)
        n_bytes.append(len(packed) + len(back))
        found = timed("in order", pickle.loads, back)
        timed("words", step_model.words.propose, state.posterior, batch, found.margin)
        step = timed("in order", step_model.finish, state.posterior, batch, found, state.n_steps)
        state = timed("in order", apply, state, step)
        timed("in order", state.posterior["topics"].totals)  # what was added is settled when it is read
    n = len(SECONDS["count"])
    mean = {name: sum(values) / n for name, values in SECONDS.items()}
    return Costs(
        mean["count"],
        mean["launch"],
        mean["work"],
        mean["in order"] - mean["words"],
        mean["words"],
        float(np.mean(n_bytes)),
    )


def simulated(costs: Costs, n_workers: int, lag: int, *, owners: int = 1, driver_counts: bool = True) -> Any:
    """Return mini-batches a second in the long run, and how much of the time driver and workers are busy."""
    launch = costs.launch + (costs.count if driver_counts else 0.0)
    work = costs.work + (0.0 if driver_counts else costs.count) + costs.n_bytes / BYTES_A_SECOND
    land = costs.topics_in_order + costs.words_in_order / owners
    free, ready, clock, busy, landed = [0.0] * n_workers, dict[int, float](), 0.0, 0.0, 0
    n = 40 * max(n_workers, lag)
    for b in range(n):
        while b - landed >= lag:  # it has grown
            clock, landed = max(clock, ready.pop(landed)) + land, landed + 1
            busy += land
        clock += launch
        busy += launch
        start = max(clock, heapq.heappop(free))
        ready[b] = start + work
        heapq.heappush(free, ready[b])
    return landed / clock, busy / clock, landed * work / (clock * n_workers)


def main() -> None:
    """Measure, simulate, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--documents", type=int, default=4000)
    options = parser.parse_args()
    for size in options.batch_sizes:
        costs = measured(size, options.documents)
        parts = {name: f"{1e3 * value:.1f} ms" for name, value in vars(costs).items() if name != "n_bytes"}
        print(f"\nmini-batches of {size}: {parts}, {costs.n_bytes / 1e6:.1f} MB")
        driver = costs.count + costs.launch + costs.topics_in_order + costs.words_in_order
        work = costs.work + costs.n_bytes / BYTES_A_SECOND
        print(f"as many workers keep the driver busy: {work / driver:.1f}")
        alone = 1.0 / (driver + costs.work)
        heads = ("workers", "lag", "count", "owners", "times one", "driver", "workers")
        print(" ".join(f"{head:>9}" for head in heads))
        for n in (1, 2, 8, 64, 512):
            for counts, owners in ((True, 1), (False, 1), (False, 20)):
                lag = max(32, 2 * n)
                speed, busy, used = simulated(costs, n, lag, owners=owners, driver_counts=counts)
                who = "driver" if counts else "workers"
                row = (n, lag, who, owners, f"{speed / alone:.1f}", f"{busy:.0%}", f"{used:.0%}")
                print(" ".join(f"{value:>9}" for value in row))


if __name__ == "__main__":
    main()
