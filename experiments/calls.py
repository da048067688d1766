"""What small calls cost, and that they change nothing: the arXiv sample, learned in calls of several sizes.

    python -m experiments.calls

A `TextModel` with all defaults learns the 4,000 training abstracts. After each call it predicts one abstract,
or nothing until the end. Seconds are those of the processor. "Topics alone" is the accuracy of the
margins of the topics, without words.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from bayespa import TextModel, save
from bayespa.datasets import load_arxiv_sample

SIZES, STOPS = (4000, 200, 20), (300, 1000, 4000)


def topics_alone(model: TextModel, texts: list[str], labels: list[str]) -> float:
    """Return the accuracy of the topics of a model, without its words."""
    learned, corpus = model.estimator._corpus(model.features(model.counts(texts)))
    margins = [
        np.hstack([each.free.margin for each in found]) for _, found in learned.knowledge.infer(corpus)
    ]
    decided = learned.meaning.decided(np.concatenate(margins))
    return float(np.mean(decided == np.array(labels)))


def main() -> None:
    """Print the table."""
    train, test = load_arxiv_sample(subset="train"), load_arxiv_sample(subset="test")
    labels, held_out = ([each[0] for each in part.labels] for part in (train, test))
    seen: dict[int, bytes] = {}
    print("| calls of | predicts | documents | accuracy | topics alone | seconds | file as of one call |")
    print("|---|---|---|---|---|---|---|")
    for looks in (False, True):
        for size in SIZES:
            model, seconds = TextModel(random_state=0, n_jobs=1, classes=sorted(set(labels))), 0.0
            edges = sorted({*range(size, 4000, size), *STOPS})
            for begin, end in zip([0, *edges], edges, strict=False):
                start = time.process_time()
                model.learn(train.data[begin:end], labels[begin:end])
                if looks:
                    model.predict(test.data[:1])
                seconds += time.process_time() - start
                if end in STOPS:
                    said = model.predict(test.data)
                    accuracy = float(np.mean([a == b for a, b in zip(said, held_out, strict=True)]))
                    alone = topics_alone(model, test.data, held_out)
                    with tempfile.TemporaryDirectory() as folder:
                        path = Path(folder, "model")
                        save(model, path)
                        alike = seen.setdefault(end, path.read_bytes()) == path.read_bytes()
                    row = (size, looks, end, f"{accuracy:.3f}", f"{alone:.3f}", f"{seconds:.1f}", alike)
                    print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
