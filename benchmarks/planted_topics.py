"""How many topics MedHDP finds in documents of a known model, and how well.

    python -m benchmarks.planted_topics [--documents 20000] [--topics 20] [--seeds 10]

Every seed draws topics, documents and labels of its own. Goals, for 20 topics in 20,000 documents: 15 to 30
topics for 9 seeds of 10, and a mean cosine of 0.9 between the planted topics and those found, matched one to
one (a planted topic that has no partner counts as 0). All parameters are the defaults.
"""

import argparse
import time

import numpy as np
from scipy.optimize import linear_sum_assignment

from bayespa import MedHDPClassifier
from bayespa.datasets import make_topic_corpus


def cosines(planted, found):
    """Return, for each planted topic, its cosine with its partner among those found."""
    likeness = planted @ found.T / np.linalg.norm(planted, axis=1)[:, None] / np.linalg.norm(found, axis=1)
    cosine = np.zeros(len(planted))
    rows, columns = linear_sum_assignment(-likeness)
    cosine[rows] = likeness[rows, columns]
    return cosine


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=2000)
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--labels", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    print(f"{'seed':>4} {'topics':>6} {'cosine':>7} {'least':>7} {'accuracy':>8} {'fit s':>6}")
    numbers, likeness = [], []
    for seed in range(options.seeds):
        corpus = make_topic_corpus(
            options.documents, options.words, options.topics, options.labels, random_state=seed
        )
        start = time.perf_counter()
        model = MedHDPClassifier(decides="topics", random_state=seed, n_jobs=options.n_jobs)
        model.fit(corpus.data, corpus.target)
        seconds = time.perf_counter() - start
        cosine = cosines(corpus.topic_word.toarray(), model.components_)
        numbers.append(model.n_topics_)
        likeness.append(cosine.mean())
        print(
            f"{seed:4} {numbers[-1]:6} {likeness[-1]:7.3f} {cosine.min():7.3f} "
            f"{model.score(corpus.data[:1000], corpus.target[:1000]):8.3f} {seconds:6.1f}",
            flush=True,
        )
    within = np.sum(
        (np.array(numbers) >= 0.75 * options.topics) & (np.array(numbers) <= 1.5 * options.topics)
    )
    print(
        f"topics {np.mean(numbers):.1f} ± {np.std(numbers):.1f}, {within} of {options.seeds} within the goal"
    )
    print(f"cosine {np.mean(likeness):.3f} ± {np.std(likeness):.3f}, least {np.min(likeness):.3f}")


if __name__ == "__main__":
    main()
