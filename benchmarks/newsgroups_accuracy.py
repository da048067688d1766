"""Accuracy and calibration of MedLDA, MedHDP and gMedLDA on 20 Newsgroups, the paper's data, split by date.

Topics decide alone, as in the paper; `python -m experiments.quality` has them beside words.

    python benchmarks/newsgroups_accuracy.py --data-home DATA [--holdout] [--seeds 0 1 2 3 4] [--only NAME]

DATA is the folder of 20news-matlab.tar.xz. --holdout learns from the first 70 % of the training messages
of each newsgroup and tests on the rest: choices are made on it, and the test set is for the final table.
"""

import argparse
import time

import numpy as np

from bayespa import GibbsMedLDAClassifier, MedHDPClassifier, MedLDAClassifier
from bayespa.datasets import fetch_20newsgroups
from bayespa.inspect.calibration import reliability
from bayespa.reproduce.methods import made, settings_of

PAPER = {**settings_of("paMedLDA", "paper", n_topics=40, batch_size=512), "n_sweeps": 5}
HDP_PRIORS = {  # the paper's; topics of such smooth words are found by their labels, or not at all
    "alpha": 5.0,
    "gamma": 1.0,
    "eta": 0.45,
    "start_gamma": 10_000.0,
    "first_sweeps": 2,
}
SETTINGS = {
    "shared topics": {},
    "shared topics, 3 passes": {"n_passes": 3},
    "one-vs-rest": {"multi_class": "ovr"},
    "shared topics, augmented sampler": {"sampler": "augmented"},
    "shared topics, averaging rule": {"rule": "averaging"},
    "shared topics, K = 80": {"n_topics": 80},
    "paper, one-vs-rest, J = 5": PAPER,
    "paper, shared topics, J = 5": {**PAPER, "multi_class": "shared"},
    "MedHDP, shared topics": {},
    "MedHDP, shared topics, I = 1": {"n_iterations": 1},
    "MedHDP, one-vs-rest": {"multi_class": "ovr"},  # whose defaults are the paper's priors
    "MedHDP, shared topics, paper's priors": HDP_PRIORS,
    "gMedLDA, shared topics": {},
}
KINDS = {"MedHDP": MedHDPClassifier, "gMedLDA": GibbsMedLDAClassifier}  # by the first word; MedLDA else


def later_of_each_group(groups):
    """Return which messages are the last 30 % of their newsgroup, (n,) bool; they stand in order of time."""
    late = np.zeros(len(groups), bool)
    for group in np.unique(groups):
        places = np.flatnonzero(groups == group)
        late[places[int(0.7 * len(places)) :]] = True
    return late


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-home")
    parser.add_argument("--holdout", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="+", default=range(5))
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="settings whose name starts so")
    options = parser.parse_args()
    messages = fetch_20newsgroups(
        "all", version="matlab", data_home=options.data_home, remove_stop_words=True, shuffle=False
    )
    n_train = len(fetch_20newsgroups("train", version="matlab", data_home=options.data_home).target)
    rows = np.arange(n_train if options.holdout else len(messages.target))
    late = later_of_each_group(messages.target[rows]) if options.holdout else rows >= n_train
    X, y = messages.data[rows[~late]], messages.target[rows[~late]]
    X_test, y_test = messages.data[rows[late]], messages.target[rows[late]]
    print(
        f"{'MedLDA has K = 40 unless said':40} {'accuracy':>8} {'sd':>6} {'ECE':>6} {'topics':>7} {'sd':>5} "
        f"{'fit s':>6}  by seed"
    )
    for name, parameters in SETTINGS.items():
        if not name.startswith(options.only):
            continue
        kind = KINDS.get(name.split(",")[0], MedLDAClassifier)
        if kind is not GibbsMedLDAClassifier:
            parameters = {**parameters, "decides": "topics"}
        accuracy, calibration, topics, seconds = [], [], [], []
        for seed in options.seeds:
            start = time.perf_counter()
            model = made(kind, random_state=seed, n_jobs=options.n_jobs, **parameters).fit(X, y)
            seconds.append(time.perf_counter() - start)
            topics.append(len(model.get_feature_names_out()))
            probability = model.predict_proba(X_test)
            accuracy.append((probability.argmax(axis=1) == y_test).mean())
            calibration.append(reliability(y_test, probability, model.classes_, n_bins=15).error)
        print(
            f"{name:40} {np.mean(accuracy):8.4f} {np.std(accuracy):6.4f} {np.mean(calibration):6.3f} "
            f"{np.mean(topics):7.1f} {np.std(topics):5.1f} {np.mean(seconds):6.1f}  "
            f"{' '.join(f'{a:.4f}' for a in accuracy)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
