"""One million generated documents through partial_fit of MedHDP: topics, memory and time at every tenth.

    python -m benchmarks.topic_stream [--documents 1000000] [--topics 20]

Documents are short, so that this takes minutes. Neither topics nor memory may grow with their number.
"""

import argparse

import numpy as np

from bayespa import MedHDPClassifier
from bayespa.datasets import make_topic_corpus
from benchmarks.measure import Watch
from benchmarks.memory import resident_megabytes

N_WORDS, N_LABELS, TOKENS, BATCH = 2000, 5, 25.0, 2048


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--topics", type=int, default=20)
    options = parser.parse_args()
    stream = make_topic_corpus(
        options.documents,
        N_WORDS,
        options.topics,
        N_LABELS,
        tokens_per_document=TOKENS,
        batch_size=BATCH,
        random_state=0,
    )
    model, classes = MedHDPClassifier(decides="topics", random_state=0), np.arange(N_LABELS)
    n_batches = -(-options.documents // BATCH)
    ends = {round(n_batches * tenth / 10) for tenth in range(1, 11)}
    print(f"{'documents':>9} {'topics':>6} {'born':>6} {'MB':>7} {'us a document':>13} {'accuracy':>8}")
    watch, n_timed = Watch(), 0
    for i, batch in enumerate(stream, 1):
        if i in ends and i > 1:
            accuracy = model.score(batch.data, batch.target)  # before it learns them
        with watch:
            model.partial_fit(batch.data, batch.target, classes=classes)
        n_timed += len(batch.target)
        if i in ends:
            print(
                f"{model.n_documents_seen_:9} {model.n_topics_:6} {model.topic_ids_.max() + 1:6} "
                f"{resident_megabytes():7.1f} {watch.cpu / n_timed * 1e6:13.1f} {accuracy:8.3f}",
                flush=True,
            )
            watch, n_timed = Watch(), 0


if __name__ == "__main__":
    main()
