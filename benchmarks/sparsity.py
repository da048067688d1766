"""Whether a token could be drawn without weighing every topic: how many topics there are to look at.

    python -m benchmarks.sparsity [--topics 200 400 1000]

Topics are learned from 20 Newsgroups without labels, then the tokens of one more mini-batch are sampled. A
weight (C_k + α) Φ_kx is a document's part, C_k Φ_kx, and a prior's part that all documents share. Of a
token's document are told, as means over tokens: its topics; its rows of eight topics that are not empty,
which is what a sparse loop would visit; the probability that the document's part is drawn; and how often an
exact rejection sampler would try that draws a row with the bound (sum of C) (maximum of Φ) + α (sum of Φ)
and then within it.
"""

import argparse

import numpy as np

from bayespa.native.medlda import LANES, Documents, Schedule, Tasks, Topics, step, topic_factors
from benchmarks.corpora import read
from benchmarks.kernel import BATCH, ETA

N_BATCHES = 24


def sampled(counts, n_topics, alpha):
    """Return the factors of some tokens' words and the counts of their documents, in rows of eight topics."""
    dirichlet = np.full((counts.shape[1], n_topics), ETA, np.float32)
    prior = np.full(n_topics, alpha, np.float32)
    for begin in range(0, (N_BATCHES + 1) * BATCH, BATCH):
        documents = Documents.from_csr(counts[begin : begin + BATCH])
        totals = dirichlet.sum(0, dtype=np.float64)
        phi = topic_factors(dirichlet, totals, documents.vocabulary, mean=True)
        tasks = Tasks.none(len(documents.ids), n_topics)
        free = step(documents, Topics(phi, prior), tasks, Schedule(5, 4, 0, 0)).free
        dirichlet[documents.vocabulary] += free.topic_word
    document = np.repeat(np.arange(len(documents.ids)), np.diff(documents.indptr))
    tokens = np.repeat(np.arange(len(document)), documents.counts)
    tokens = np.random.default_rng(0).choice(tokens, 5000)
    length = np.bincount(document, documents.counts)[:, None]
    own = np.rint(free.topic_share * length)[document[tokens]]
    own = np.pad(own, ((0, 0), (0, phi.shape[1] - n_topics)))
    return (x.reshape(len(tokens), -1, LANES) for x in (phi[documents.words[tokens]], own))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topics", type=int, nargs="+", default=[200, 400, 1000])
    parser.add_argument("--alpha", type=float, nargs="+", default=[0.4, 0.1])
    parser.add_argument("--data-home", help="folder of the corpora; by default BAYESPA_DATA")
    options = parser.parse_args()
    corpus = read("text", options.data_home, quick=False)
    print("topics  alpha  of the document  rows  of  document's part  attempts")
    for n_topics in options.topics:
        for alpha in options.alpha:
            phi, counts = sampled(corpus.X, n_topics, alpha)
            shared, own = alpha * phi.sum(axis=2), (counts * phi).sum(axis=2)
            weight = (shared + own).sum(axis=1)
            bound = shared + counts.sum(axis=2) * phi.max(axis=2)
            print(
                f"{n_topics:6} {alpha:6} {(counts > 0).sum(axis=(1, 2)).mean():16.0f}"
                f" {counts.any(axis=2).sum(axis=1).mean():5.0f} {phi.shape[1]:3}"
                f" {(own.sum(axis=1) / weight).mean():16.2f} {(bound.sum(axis=1) / weight).mean():9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
