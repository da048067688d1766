"""Speed of the MedLDA local step beside tomotopy's LDAModel: same corpus, same run, one core.

    python benchmarks/kernel_speed.py

The unit is token-samples per CPU second. Tokens are `[a-z]{2,}` without English stop words and words of fewer
than 5 documents. Both programs start afresh in every repeat: ours learns one online pass, tomotopy sweeps 20
times. They take turns, and the table has medians of ratios: a busy machine slows both.
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

from bayespa.datasets import fetch_20newsgroups
from bayespa.medlda_step import Documents, Schedule, Tasks, Topics, step, topic_factors

ALPHA, ETA, COST, MARGIN, WEIGHT_SCALE = 0.4, 0.05, 8.0, 32.0, 1.5

LABELLED = Schedule(free_sweeps=1, free_burn_in=1, sweeps=3, burn_in=1)
ROWS = {
    "no labels": (0, Schedule(free_sweeps=10, free_burn_in=5, sweeps=0, burn_in=0)),
    "1 task": (1, LABELLED),
    "20 tasks": (20, LABELLED),
}


def read_corpus(data_home: str | None) -> tuple[csr_matrix, NDArray[np.int64]]:
    news = fetch_20newsgroups("train", data_home=data_home)
    vectorizer = CountVectorizer(token_pattern="[a-z]{2,}", stop_words="english", min_df=5, dtype=np.int32)
    return vectorizer.fit_transform(news.data), news.target


def our_speed(counts: csr_matrix, groups: NDArray[np.int64], args: argparse.Namespace, row: str) -> float:
    n_tasks, schedule = ROWS[row]
    labels = np.where(groups[:, None] == np.arange(n_tasks), 1, -1).astype(np.float32)
    dirichlet = np.full((counts.shape[1], args.topics), ETA, np.float32)
    totals = dirichlet.sum(0, dtype=np.float64)
    precision = np.tile(np.eye(args.topics) / WEIGHT_SCALE**2, (n_tasks, 1, 1))
    shift = np.zeros((n_tasks, args.topics))
    alpha = np.full(args.topics, ALPHA, np.float32)
    seconds = 0.0
    for begin in range(0, counts.shape[0], args.batch_size):
        batch = slice(begin, begin + args.batch_size)
        covariance = np.linalg.inv(precision)
        mean = np.einsum("tjk,tk->tj", covariance, shift)
        tasks = Tasks(mean, covariance, labels[batch], np.full(n_tasks, COST), MARGIN)
        words = counts[batch]
        start = time.process_time()
        documents = Documents.from_csr(words)
        phi = topic_factors(dirichlet, totals, documents.vocabulary, mean=True)
        result = step(documents, Topics(phi, alpha), tasks, schedule)
        seconds += time.process_time() - start
        kept = result.labelled if schedule.sweeps else result.free
        added = (kept.topic_word / kept.n_kept).astype(np.float32)
        dirichlet[documents.vocabulary] += added
        totals += added.sum(0, dtype=np.float64)
        precision += kept.precision
        shift += kept.shift
    return float(counts.sum()) * (schedule.free_sweeps + schedule.sweeps) / seconds


def their_speed(texts: list[list[str]], n_topics: int, n_sweeps: int = 20) -> float:
    model = tomotopy.LDAModel(k=n_topics, seed=1)
    for text in texts:
        model.add_doc(text)
    model.train(0)
    start = time.process_time()
    model.train(n_sweeps, workers=1)
    return float(model.num_words * n_sweeps / (time.process_time() - start))


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of the MedLDA local step beside tomotopy's LDAModel.")
    parser.add_argument("--data-home", help="folder of the corpora; by default BAYESPA_DATA")
    parser.add_argument("--topics", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()

    counts, groups = read_corpus(args.data_home)
    texts = [[str(word) for word in np.repeat(row.indices, row.data)] or ["0"] for row in counts]
    n_docs, n_words = counts.shape
    print(f"{n_docs} documents, {n_words} words, {counts.sum()} tokens, {args.topics} topics")
    print(f"{'M samples/s':22}{'ours':>10}{'tomotopy':>10}{'ratio':>8}")
    for row in ROWS:
        pairs = []
        for _ in range(args.repeats):
            before, ours = their_speed(texts, args.topics), our_speed(counts, groups, args, row)
            pairs.append((ours, (before + their_speed(texts, args.topics)) / 2))
        ours, theirs = (statistics.median(column) / 1e6 for column in zip(*pairs, strict=True))
        ratio = statistics.median(ours / theirs for ours, theirs in pairs)
        print(f"{row:22}{ours:10.2f}{theirs:10.2f}{ratio:8.2f}", flush=True)


if __name__ == "__main__":
    main()
