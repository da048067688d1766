"""What forgetting gains: models that forget at several rates, on streams that change and that do not.

    python -m experiments.forgetting [--limit 20000] [--corpora huffpost arxiv20] [--seeds 2]
    python -m experiments.forgetting --rates 1 auto --decides topics+words topics
    python -m experiments.forgetting --decides topics --orders swapped --limit 10000 --only weights

Each model predicts a mini-batch, then learns it; "auto" forgets what has changed. "Weighed" is all rates at
once: the mean of their probabilities, weighed by how likely each has made the labels so far; that fades by
0.97 a mini-batch. A stream comes in the order of time, shuffled, or "swapped": shuffled, and in its second
half a third of the classes have changed places. With --only, one part of the posterior forgets. The table has
progressive accuracy, that of all mini-batches but the first, beside PA and AROW.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

from bayespa import MedLDAClassifier
from bayespa.corpus import topic_words
from bayespa.posteriors import Joint
from experiments.suite.corpora import STREAMS, Documents, Integers, Task, read_stream
from experiments.suite.learners import run_stream

RATES = ("1", "0.997", "0.99", "0.97")
FADES = 0.97  # of what was said of earlier mini-batches
SIZE = 256
PEERS = ("PA", "AROW")
Floats = NDArray[np.float64]


def ordered(task: Task, order: str, seed: int) -> Task:
    """Return the stream in this order."""
    train = task.train.take(task.order("time" if order == "time" else "shuffled", seed))
    if order != "swapped":
        return Task(task.name, train, task.test)
    some = np.random.default_rng(seed).permutation(task.classes)[: max(2, len(task.classes) // 3)]
    places = dict(zip(some, np.roll(some, 1), strict=True))
    half = len(train.labels) // 2
    labels = train.labels[:half] + [str(places.get(label, label)) for label in train.labels[half:]]
    return Task(task.name, Documents(train.texts, labels, timed=True), task.test)


def said(decides: str, rate: str, seed: int, X: Any, y: Integers, own: NDArray[np.bool_]) -> Floats:
    """Return the probabilities (n, T) that a model that forgets gives documents before it learns them."""
    discount = rate if rate == "auto" else float(rate)
    model = MedLDAClassifier(decides=decides, discount=discount, random_state=seed)
    classes = np.arange(y.max() + 1)
    found = [np.full((len(y[:SIZE]), len(classes)), 1.0 / len(classes))]
    for begin in range(0, len(y), SIZE):
        batch = slice(begin, begin + SIZE)
        if begin:
            found.append(model.predict_proba(X[batch]))
        model.partial_fit(X[batch], y[batch], classes=classes, topic_words=own)
    return np.concatenate(found)


def weighed(probability: Floats, y: Integers) -> Floats:
    """Return the mean (n, T) of the probabilities of R models, weighed by how well each did so far."""
    right = np.log(np.maximum(probability[:, np.arange(len(y)), y], 1e-6))
    evidence, found = np.zeros(len(probability)), []
    for begin in range(0, len(y), SIZE):
        batch = slice(begin, begin + SIZE)
        weights = np.exp(evidence - evidence.max())
        found.append(np.tensordot(weights / weights.sum(), probability[:, batch], 1))
        evidence = FADES * evidence + right[:, batch].sum(axis=1)
    return np.concatenate(found)


def main() -> None:
    """Learn, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--corpora", nargs="+", default=list(STREAMS))
    parser.add_argument("--orders", nargs="+", default=["time", "shuffled", "swapped"])
    parser.add_argument("--rates", nargs="+", default=list(RATES))
    parser.add_argument("--only", choices=["weights", "topics", "words"], help="the part that forgets")
    parser.add_argument("--decides", nargs="+", default=["topics+words", "words", "topics"])
    options = parser.parse_args()
    forgetting: Any = nullcontext()
    if options.only is not None:

        def discounted(posterior: Joint, rho: float, prior: Joint) -> Joint:
            own = posterior[options.only].discounted(rho, prior[options.only])
            return Joint(posterior, **{options.only: own})

        forgetting = patch.object(Joint, "discounted", discounted)
    heads = [*(f"discount={rate}" for rate in options.rates), "weighed", *PEERS]
    print("| stream | order | decides | " + " | ".join(heads) + " |\n" + "|---" * (len(heads) + 3) + "|")
    for corpus in options.corpora:
        whole = read_stream(corpus, "dev", options.limit)
        vectorizer = CountVectorizer(token_pattern=r"(?u)\b\w+\b").fit(whole.train.texts)
        own = topic_words(vectorizer.get_feature_names_out())
        for order in options.orders:
            found: dict[str, list[list[float]]] = {decides: [] for decides in options.decides}
            for seed in range(options.seeds):
                task = ordered(whole, order, seed)
                X, rows = vectorizer.transform(task.train.texts), np.arange(len(task.y))
                peers = [run_stream(peer, task, rows, seed, {})[2] for peer in PEERS]
                for decides, scores in found.items():
                    with forgetting:
                        each = np.array([said(decides, rate, seed, X, task.y, own) for rate in options.rates])
                    right = [(p.argmax(axis=1) == task.y)[SIZE:] for p in (*each, weighed(each, task.y))]
                    scores.append([*(float(r.mean()) for r in right), *peers])
            for decides, scores in found.items():
                cells = [f"{mean:.4f}" for mean in np.mean(scores, axis=0)]
                print(f"| {corpus} | {order} | {decides} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
