"""One pass over a stream of the size of the paper's Wikipedia: 1.1 million documents of 61 tokens, 20 labels.

    python -m benchmarks.wikipedia_scale [--documents 1100000] [--words 900000] [--n-jobs 2]

The documents are drawn from a known topic model while the program runs, a piece at a time, so that the stream
never exists as a whole. Learning is timed apart from drawing. Goals, on two cores: 90 s of learning, 1.5 GB,
the last tenth of the documents learned at 0.9 of the speed of the first, and the planted topics found again.
"""

import argparse
import time

import numpy as np

from bayespa import MedLDAClassifier
from bayespa.datasets import make_topic_corpus
from benchmarks.measure import Watch
from benchmarks.memory import peak_megabytes

PIECE = 8192  # documents drawn at a time


def found_again(model, planted):
    """Return, for each planted topic, its cosine with the most alike of the learned ones."""
    length = np.sqrt(np.asarray(planted.multiply(planted).sum(axis=1)).ravel())
    cosines = [planted @ topic / (length * np.linalg.norm(topic)) for topic in model.topic_word_]
    return np.max(cosines, axis=0)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1_100_000)
    parser.add_argument("--words", type=int, default=900_000)
    parser.add_argument("--topics", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--n-jobs", type=int, default=2)
    options = parser.parse_args()
    stream = make_topic_corpus(
        options.documents,
        n_words=options.words,
        n_topics=20,
        n_labels=20,
        tokens_per_document=61,
        labels_per_document=1.5,
        batch_size=PIECE,
        random_state=0,
    )
    size, threads = options.batch_size, options.n_jobs
    model = MedLDAClassifier(
        options.topics, decides="topics", batch_size=size, n_jobs=threads, random_state=0
    )
    start = time.perf_counter()
    times, cpu, sizes = [], [], []
    for piece in stream:
        if len(sizes) * PIECE >= 0.98 * options.documents:
            break  # the last pieces test what was learned
        with Watch() as watch:
            model.partial_fit(piece.data, piece.target)
        times.append(watch.wall)
        cpu.append(watch.cpu)
        sizes.append(piece.data.shape[0])
        if len(sizes) % 16 == 0:
            speed = sizes[-1] / times[-1]
            print(f"{sum(sizes):9,} documents, {sum(times):6.1f} s, {speed:8,.0f} a second", flush=True)
    tenth = max(1, len(sizes) // 10)
    first, last = slice(1, tenth + 1), slice(-tenth, None)  # the first piece makes room for the words
    by_clock, by_cpu = (
        sum(sizes[last]) / sum(t[last]) / (sum(sizes[first]) / sum(t[first])) for t in (times, cpu)
    )
    peak = peak_megabytes() / 1024
    hits = (model.predict(piece.data) == piece.target).mean()
    likeness = found_again(model, piece.topic_word)
    total = sum(sizes)
    print(f"documents            {total:,}, {options.words:,} words, K = {options.topics}, {threads} threads")
    print(f"learning             {sum(times):.1f} s, {sum(cpu):.1f} s of CPU, {total / sum(times):,.0f}/s")
    print(f"with drawing them    {time.perf_counter() - start:.1f} s")
    print(f"last tenth / first   {by_clock:.2f} by the clock, {by_cpu:.2f} by CPU time")
    print(f"peak memory          {peak:.2f} GB")
    print(f"labels right         {hits:.3f} of {piece.target.size:,} that were not learned")
    print(
        f"planted topics       {(likeness > 0.9).sum()} of {len(likeness)} found, cosine {likeness.min():.3f}"
    )


if __name__ == "__main__":
    main()
