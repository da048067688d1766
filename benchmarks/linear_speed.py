"""CPU time of one pass over 20 Newsgroups (tf-idf, 20 classes, one core): scikit-learn's PA-I and ours.

    BAYESPA_DATA=folder python -m benchmarks.linear_speed [--repeats 7]

Prints the median of the repeats, the ratio to scikit-learn and the accuracy on the test set.
"""

import argparse
import statistics
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.feature_extraction.text import TfidfVectorizer

from bayespa import BayesPAClassifier, PassiveAggressiveClassifier
from bayespa.datasets import fetch_20newsgroups
from benchmarks.measure import Watch, in_turns, median_ratio


def learners() -> dict[str, Callable[[], Any]]:
    one_pass = {"max_iter": 1, "tol": None, "random_state": 0}
    named: dict[str, Callable[[], Any]] = {
        "bayespa PA-I": lambda: PassiveAggressiveClassifier(**one_pass),
        "bayespa PA-II": lambda: PassiveAggressiveClassifier(loss="squared_hinge", **one_pass),
        "bayespa Gibbs, diagonal": lambda: BayesPAClassifier(random_state=0),
        "bayespa Gibbs, diagonal, augmented": lambda: BayesPAClassifier(method="augmented", random_state=0),
        "bayespa averaging": lambda: BayesPAClassifier(rule="averaging", random_state=0),
    }
    try:
        from sklearn.linear_model import PassiveAggressiveClassifier as ScikitLearn
    except ImportError:  # removed in 1.10
        return named
    return {"scikit-learn PA-I": lambda: ScikitLearn(**one_pass), **named}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore", FutureWarning)  # of scikit-learn, that it will remove its estimator

    train, test = fetch_20newsgroups("train"), fetch_20newsgroups("test")
    vectorizer = TfidfVectorizer()
    X, X_test = vectorizer.fit_transform(train.data), vectorizer.transform(test.data)
    print(f"{X.shape[0]} messages, {X.shape[1]} words, {X.nnz} entries; median of {repeats}")
    accuracy = {}

    def learn(name: str) -> float:
        model = learners()[name]()
        with Watch() as watch:
            model.fit(X, train.target)
        accuracy[name] = model.score(X_test, test.target)
        return watch.cpu

    seconds = in_turns({name: partial(learn, name) for name in learners()}, repeats)
    theirs = seconds.get("scikit-learn PA-I")
    for name, times in seconds.items():
        ratio = f"{median_ratio(theirs, times):6.2f} x" if theirs else ""
        print(f"{name:36s} {statistics.median(times):7.3f} s {ratio}   accuracy {accuracy[name]:.4f}")


if __name__ == "__main__":
    main()
