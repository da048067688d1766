"""Token-samples per CPU second of the MedLDA local step, beside tomotopy's LDAModel on the same corpus in the same run.

    python benchmarks/kernel_speed.py --corpus 20news-bydate-text.tar.xz

One core. The corpus is tokenised as `[a-z]{2,}`, English stop words removed, words in at least 5 documents. The model is
learned online for one pass, so that the timed sweeps see topics and weights as they are in use. Programs take turns
and the table gives medians of ratios: a busy machine slows both.
"""

from __future__ import annotations

import argparse
import statistics
import tarfile
import time
from pathlib import Path

import numpy as np
import tomotopy
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from bayespa.medlda_step import Documents, Schedule, Tasks, Topics, step, topic_factors

ALPHA, ETA, COST, MARGIN, WEIGHT_SCALE = 0.4, 0.05, 4.0, 32.0, 1.5


def read_corpus(path: Path) -> tuple[csr_matrix, NDArray[np.int64]]:
    """Counts and group numbers of the training messages."""
    texts, groups = [], []
    with tarfile.open(path) as archive:
        for member in archive:
            parts = Path(member.name).parts
            if member.isfile() and any(part.endswith("-train") for part in parts):
                stream = archive.extractfile(member)
                assert stream is not None
                texts.append(stream.read().decode("latin-1"))
                groups.append(parts[-2])
    vectorizer = CountVectorizer(token_pattern="[a-z]{2,}", stop_words="english", min_df=5, dtype=np.int32)
    counts = vectorizer.fit_transform(texts)
    order = np.random.default_rng(0).permutation(len(texts))
    return counts[order], np.unique(groups, return_inverse=True)[1][order]


class Online:
    """One pass of online MedLDA with T tasks, as plain NumPy around the native step."""

    def __init__(self, n_words: int, n_topics: int, n_tasks: int) -> None:
        self.dirichlet = np.full((n_words, n_topics), ETA, np.float32)
        self.totals = self.dirichlet.sum(0, dtype=np.float64)
        self.precision = np.tile(np.eye(n_topics) / WEIGHT_SCALE**2, (n_tasks, 1, 1))
        self.shift = np.zeros((n_tasks, n_topics))
        self.seconds = 0.0
        self.samples = 0

    def learn(self, counts: csr_matrix, labels: NDArray[np.float32], schedule: Schedule) -> None:
        covariance = np.linalg.inv(self.precision)
        mean = np.einsum("tjk,tk->tj", covariance, self.shift)
        n_topics = len(self.totals)
        start = time.process_time()
        documents = Documents.from_csr(counts)
        phi = topic_factors(self.dirichlet, self.totals, documents.vocabulary, mean=True)
        topics = Topics(phi, np.full(n_topics, ALPHA, np.float32))
        tasks = Tasks(mean, covariance, labels, np.full(len(mean), COST), MARGIN)
        result = step(documents, topics, tasks, schedule)
        self.seconds += time.process_time() - start
        self.samples += int(counts.sum()) * (schedule.free_sweeps + schedule.sweeps)
        kept = result.labelled if schedule.sweeps else result.free
        added = (kept.topic_word / kept.n_kept).astype(np.float32)
        self.dirichlet[documents.vocabulary] += added
        self.totals += added.sum(0, dtype=np.float64)
        self.precision += kept.precision
        self.shift += kept.shift


def our_speed(
    counts: csr_matrix, groups: NDArray[np.int64], n_topics: int, n_tasks: int, batch_size: int, schedule: Schedule
) -> float:
    model = Online(counts.shape[1], n_topics, n_tasks)
    labels = np.where(groups[:, None] == np.arange(n_tasks), 1, -1).astype(np.float32)
    for begin in range(0, counts.shape[0], batch_size):
        batch = slice(begin, begin + batch_size)
        model.learn(counts[batch], labels[batch], schedule)
    return model.samples / model.seconds


class Tomotopy:
    def __init__(self, counts: csr_matrix, n_topics: int) -> None:
        self.model = tomotopy.LDAModel(k=n_topics, seed=1)
        for row in counts:
            self.model.add_doc([str(word) for word in np.repeat(row.indices, row.data)] or ["0"])
        self.model.train(30, workers=1)

    def speed(self, n_sweeps: int = 10) -> float:
        start = time.process_time()
        self.model.train(n_sweeps, workers=1)
        return self.model.num_words * n_sweeps / (time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="20news-bydate-text.tar.xz")
    parser.add_argument("--topics", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()

    counts, groups = read_corpus(args.corpus)
    rows = {
        "no labels": (0, Schedule(free_sweeps=10, free_burn_in=5, sweeps=0, burn_in=0)),
        "1 task": (1, Schedule(free_sweeps=1, free_burn_in=1, sweeps=3, burn_in=1)),
        "20 tasks": (20, Schedule(free_sweeps=1, free_burn_in=1, sweeps=3, burn_in=1)),
        "20 tasks, augmented": (20, Schedule(free_sweeps=1, free_burn_in=1, sweeps=3, burn_in=1, sampler="augmented")),
    }
    peer = Tomotopy(counts, args.topics)
    print(f"{counts.shape[0]} documents, {counts.shape[1]} words, {counts.sum()} tokens, {args.topics} topics")
    print(f"{'':22}{'M samples/s':>12}{'tomotopy':>12}{'ratio':>8}")
    for name, (n_tasks, schedule) in rows.items():
        speeds = []
        for _ in range(args.repeats):
            before = peer.speed()
            ours = our_speed(counts, groups, args.topics, n_tasks, args.batch_size, schedule)
            speeds.append((ours, (before + peer.speed()) / 2))
        ours, theirs, ratio = (
            statistics.median(values) for values in ([s[0] for s in speeds], [s[1] for s in speeds], [a / b for a, b in speeds])
        )
        print(f"{name:22}{ours / 1e6:12.2f}{theirs / 1e6:12.2f}{ratio:8.2f}", flush=True)


if __name__ == "__main__":
    main()
