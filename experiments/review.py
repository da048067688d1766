"""What a review queue is worth: labels that it asks for against as many labels of documents drawn at random.

    python -m experiments.review            # five seeds, on arxiv20 (BAYESPA_DATA names its folder)
    python -m experiments.review --sample   # on the sample inside the package

A stream of arXiv abstracts. A model learns the labels of the first 300. Then 5,000 abstracts pass without
labels; a person reviews 200 of them, one for 25 that pass, from the thousand that came last, and the model
learns each at once. What counts is its accuracy on the abstracts that follow, which nobody labels. A seed
decides where in the stream it begins, and every random number.

The 200 are chosen by the queue of `bayespa.serve` (uncertain ones, and a fifth at random), or all at random.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bayespa import TextModel
from bayespa.datasets import fetch_arxiv20, load_arxiv_sample
from bayespa.native.random import subkey
from bayespa.serve.queue import ReviewQueue, uncertainty

RANDOM = "at random"
SHARES = {"the queue": 0.2, RANDOM: 1.0}  # the last is judged before, too
PERSON = "reviewer"


class Plan(NamedTuple):
    """Numbers of documents."""

    labelled: int = 300  # at first
    passing: int = 5000
    reviewed: int = 200
    judged: int = 40_000  # at most


class Run(NamedTuple):
    """Accuracies on the rest of the stream."""

    before: float  # any review
    after: dict[str, float]


def stream(sample: bool) -> tuple[list[str], list[str]]:
    """Return texts and the first label of each, in order of time."""
    papers = load_arxiv_sample() if sample else fetch_arxiv20("all")
    return papers.data, [labels[0] for labels in papers.labels]


def run(texts: Sequence[str], labels: Sequence[str], seed: int, plan: Plan) -> Run:
    """Review in each way, from the same model."""
    spare = len(texts) - plan.labelled - plan.passing - min(plan.judged, len(texts) // 5)
    start = subkey(seed, 1) % max(1, spare)
    texts, labels = texts[start:], labels[start:]
    n = plan.labelled
    models = {name: TextModel(random_state=seed, classes=sorted(set(labels))) for name in SHARES}
    for name, model in models.items():
        model.learn(texts[:n], labels[:n])
        before = accuracy(model, texts, labels, plan) if name == RANDOM else 0.0
        review(model, texts, labels, SHARES[name], seed, plan)
    return Run(before, {name: accuracy(model, texts, labels, plan) for name, model in models.items()})


def review(
    model: TextModel, texts: Sequence[str], labels: Sequence[str], share: float, seed: int, plan: Plan
) -> None:
    """Let documents pass, and learn the labels of those that the queue hands out."""
    queue = ReviewQueue(share, key=subkey(seed, 2))
    step = plan.passing // plan.reviewed
    for k in range(plan.reviewed):
        first = plan.labelled + k * step
        for number in range(first, first + step):
            queue.add(str(number), number, 0.0)
        waiting = list(queue.items) if share < 1.0 else []
        if waiting:
            unsure = uncertainty(model.predict_proba([texts[int(id)] for id in waiting]))
            queue.rescore(dict(zip(waiting, unsure.tolist(), strict=True)))
        (item,) = queue.next(PERSON, 1, now=0.0)
        queue.remove(item.id)
        model.learn([texts[item.number]], [labels[item.number]])


def accuracy(model: TextModel, texts: Sequence[str], labels: Sequence[str], plan: Plan) -> float:
    """Return the accuracy on the rest of the stream."""
    rest = slice(plan.labelled + plan.passing, plan.labelled + plan.passing + plan.judged)
    return float(np.mean([a == b for a, b in zip(model.predict(texts[rest]), labels[rest], strict=True)]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the accuracies of each seed, and how much more than random labels the queue's are worth."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", action="store_true", help="the sample inside the package, 1,500 pass")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    given = parser.parse_args(arguments)
    texts, labels = stream(given.sample)
    plan = Plan(passing=1500, reviewed=100) if given.sample else Plan()
    print(f"{'seed':6}{'before':>8}" + "".join(f"{name:>22}" for name in SHARES))
    runs = []
    for seed in given.seeds:
        runs.append(run(texts, labels, seed, plan))
        values = "".join(f"{runs[-1].after[name]:22.3f}" for name in SHARES)
        print(f"{seed:<6}{runs[-1].before:8.3f}{values}", flush=True)
    gain = np.array([one.after["the queue"] - one.after[RANDOM] for one in runs])
    print(f"the queue above random labels: {gain.mean():+.3f}, from {gain.min():+.3f} to {gain.max():+.3f}")


if __name__ == "__main__":
    main()
