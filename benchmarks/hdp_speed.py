"""Speed of the MedHDP estimator beside tomotopy's HDPModel: same corpus, same run, one core.

    python benchmarks/hdp_speed.py [--repeats 3]

The unit is token-samples per CPU second: tokens times sweeps. Tokens are `[a-z]{2,}` without English stop
words and words of fewer than 5 documents. Both programs start afresh in every repeat: ours learns one online
pass with all that goes with it, tomotopy sweeps 20 times after 20 that are not timed, in which most of its
topics are born. Goals: 1.0 of tomotopy's speed without labels and 0.3 with 20 tasks.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import tomotopy
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from bayespa import MedHDPClassifier
from bayespa.datasets import fetch_20newsgroups

ALPHA, GAMMA = 5.0, 1.0


def read_corpus(data_home: str | None) -> tuple[csr_matrix, NDArray[np.int64]]:
    news = fetch_20newsgroups("train", data_home=data_home)
    vectorizer = CountVectorizer(token_pattern="[a-z]{2,}", stop_words="english", min_df=5, dtype=np.int32)
    return vectorizer.fit_transform(news.data), news.target


def our_speed(counts: csr_matrix, labels: NDArray[np.float64], eta: float) -> tuple[float, int]:
    """Return token-samples a second, and the number of topics."""
    model = MedHDPClassifier(ALPHA, GAMMA, eta, random_state=1)
    start = time.process_time()
    model.partial_fit(counts, labels, classes=np.arange(20))
    seconds = time.process_time() - start
    first = counts[: model.first_batch_size].sum()
    sweeps = first * model.first_sweeps + (counts.sum() - first) * 2 + counts.sum() * model.n_sweeps
    return float(sweeps / seconds), model.n_topics_


def their_speed(texts: list[list[str]], eta: float, n_sweeps: int = 20) -> tuple[float, int]:
    model = tomotopy.HDPModel(alpha=ALPHA, gamma=GAMMA, eta=eta, seed=1)
    for text in texts:
        model.add_doc(text)
    model.train(n_sweeps, workers=1)
    start = time.process_time()
    model.train(n_sweeps, workers=1)
    return float(model.num_words * n_sweeps / (time.process_time() - start)), model.live_k


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of MedHDP beside tomotopy's HDPModel.")
    parser.add_argument("--data-home", help="folder of the corpora; by default BAYESPA_DATA")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    counts, groups = read_corpus(args.data_home)
    texts = [[str(word) for word in np.repeat(row.indices, row.data)] or ["0"] for row in counts]
    n_docs, n_words = counts.shape
    print(f"{n_docs} documents, {n_words} words, {counts.sum()} tokens")
    print(f"{'M samples/s':22}{'eta':>6}{'ours':>8}{'topics':>8}{'tomotopy':>10}{'topics':>8}{'ratio':>7}")
    unknown = np.full(n_docs, np.nan)
    for eta in (0.45, 0.05):
        for row, labels in (("no labels", unknown), ("20 tasks", groups.astype(np.float64))):
            pairs = []
            for _ in range(args.repeats):
                theirs, ours = their_speed(texts, eta), our_speed(counts, labels, eta)
                pairs.append((ours, theirs))
            speed, other = (
                statistics.median(s for s, _ in column) / 1e6 for column in zip(*pairs, strict=True)
            )
            ratio = statistics.median(ours[0] / theirs[0] for ours, theirs in pairs)
            print(
                f"{row:22}{eta:6}{speed:8.2f}{pairs[-1][0][1]:8}{other:10.2f}{pairs[-1][1][1]:8}{ratio:7.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
