"""What the object store of Ray holds while documents are learned, and what of it a process has touched.

    python -m benchmarks.store_memory [--documents 200000] [--lag 8] [--workers 2]

The arXiv sample of the package, over and over. Ray puts new objects where there is room, so what was touched
goes on growing for a while after what is held has stopped (of Linux: /proc tells).
"""

from __future__ import annotations

import argparse
import time
from itertools import cycle, islice
from pathlib import Path

import ray

from bayespa import TextModel
from bayespa.corpus import Document
from bayespa.datasets import load_arxiv_sample
from bayespa.text.stream import learn_stream
from bayespa.workers import Workers

LOOKS = 12


def held() -> float:
    """Return MB of the object store that are in use; Ray counts twice a second."""
    time.sleep(0.5)
    name = "object_store_memory"
    return float(ray.cluster_resources()[name] - ray.available_resources().get(name, 0.0)) / 1e6


def touched() -> float:
    """Return MB of memory that this process has touched and others may."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("RssShmem")) / 1e3


def main() -> None:
    """Learn, and print a line now and then."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--lag", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    papers = load_arxiv_sample(subset="train")
    labelled = cycle(zip(papers.data, papers.labels, strict=True))
    documents = (Document(text, own[0], "") for text, own in islice(labelled, options.documents))
    model, last = TextModel(lag=options.lag, random_state=0), 0
    print("documents  held MB  touched MB")
    with Workers(options.workers) as workers:
        for run in learn_stream(model, documents, workers=workers):
            if run.documents - last >= options.documents // LOOKS:
                last = run.documents
                print(f"{last:>9} {held():>8.0f} {touched():>11.0f}", flush=True)


if __name__ == "__main__":
    main()
