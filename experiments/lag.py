"""What a lag costs: the quality of models whose mini-batches are learned at once, beside one after the other.

    python -m experiments.lag [--seeds 5] [--lag 32] [--corpora 20news-text reuters arxiv20]
    python -m experiments.lag --batch-sizes 64 64 --corpora arxiv20
    python -m experiments.lag --batch-sizes 256 1024 --judged-by dev --corpora arxiv20

MedLDA as a `TextModel` with all defaults, which learns a stream in random order; with words beside topics,
and topics alone. Judged by the test documents, or by training documents that are held out, up to 2,000 of
them at even distances. A lag grows by one in 16 mini-batches, so small ones show what a full lag of 32 costs:
it is reached after 512. `--batch-sizes` are those of the models without a lag and with it.
"""

from __future__ import annotations

import argparse
from itertools import repeat

import numpy as np

from bayespa import TextModel
from bayespa.corpus import Document
from bayespa.text.stream import learn_stream
from bayespa.text.targets import plain_label
from experiments.suite.corpora import read
from experiments.suite.measures import Said, measured

MOST = 2000  # test documents


def main() -> None:
    """Learn, and print a line a corpus, decision, seed and lag, then the mean of the differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--lag", type=int, default=32)
    parser.add_argument("--batch-sizes", type=int, nargs=2, default=[256, 256])
    parser.add_argument("--judged-by", choices=["test", "dev"], default="test")
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--corpora", nargs="+", default=["20news-text", "reuters", "arxiv20"])
    parser.add_argument("--decides", nargs="+", default=["topics+words", "topics"])
    options = parser.parse_args()
    for corpus in options.corpora:
        task = read(corpus, options.judged_by, options.limit)
        n = len(task.test.texts)
        test = task.test.take(np.unique(np.arange(min(MOST, n)) * n // min(MOST, n)))
        y = task.encoded(test.labels)
        for decides in options.decides:
            found = []
            for seed in range(options.seeds):
                order = np.random.default_rng(seed).permutation(len(task.train.texts))
                shown = task.train.take(order)
                documents = list(map(Document, shown.texts, map(plain_label, shown.labels), repeat("")))
                for lag, size in zip((1, options.lag), options.batch_sizes, strict=True):
                    model = TextModel(
                        decides=decides, lag=lag, batch_size=size, random_state=seed, target=task.target
                    )
                    for _ in learn_stream(model, documents):
                        pass
                    answers = model.answer_counts(model.counts(test.texts))
                    columns = [task.classes.index(name) for name in answers.class_names]
                    probability = np.zeros((len(test.texts), len(task.classes)))
                    probability[:, columns] = answers.probabilities
                    scores = measured(y, Said(task.encoded(answers.labels), probability))
                    found.append((scores["accuracy"], scores["ece"]))
                    print(
                        f"{corpus}, {decides}, seed {seed}, lag {lag}: accuracy {found[-1][0]:.4f}, "
                        f"ECE {found[-1][1]:.4f}",
                        flush=True,
                    )
            pairs = np.array(found, np.float64).reshape(-1, 2, 2)
            worse = pairs[:, 0] - pairs[:, 1]  # seeds by measures
            print(
                f"{corpus}, {decides}: accuracy {pairs[:, 0, 0].mean():.4f} at lag 1, "
                f"{pairs[:, 1, 0].mean():.4f} at lag {options.lag} "
                f"(lost {worse[:, 0].mean():.4f}, spread {worse[:, 0].std():.4f}); "
                f"ECE {pairs[:, 0, 1].mean():.4f} and {pairs[:, 1, 1].mean():.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
