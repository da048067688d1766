"""What keeps topics alone behind a linear SVM: micro-averaged F1, one change after the other.

    python -m experiments.topics_alone          held-out training documents
    python -m experiments.topics_alone test     the test documents, at the end

The changes were found on held-out training documents of 20 Newsgroups, and not on Reuters. Each row adds a
change to the rows before it. Repeats: how often a word of a document counts at most. Where a document has one
class, micro-averaged F1 is accuracy.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from bayespa import MedLDAClassifier
from bayespa.reproduce.methods import made
from experiments.quality.splits import split

STEPS: dict[str, tuple[dict[str, Any], int | None]] = {  # what is added: parameters, and repeats
    "the default of topics alone, one pass": ({}, None),
    "4 passes, each replacing what the one before taught": ({"n_passes": 4}, None),
    "200 sweeps of a prediction in place of 50": ({"prediction_sweeps": 200}, None),
    "a share of alpha for each topic, alpha 0.8, cost 128": (
        {"learn_alpha": True, "alpha": 0.8, "cost": 128.0},
        None,
    ),
    "a word counts twice at most": ({}, 2),
}
CORPORA = ("matlab", "text", "reuters")
SEEDS = 3


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["dev", "test"], default="dev")
    options = parser.parse_args()
    corpora = {name: split(name, holdout=options.what == "dev") for name in CORPORA}
    print("| | " + " | ".join(corpora) + " |\n|---" + "|---" * len(corpora) + "|")
    settings: dict[str, Any] = {"decides": "topics"}
    for name, (added, repeats) in STEPS.items():
        settings = {**settings, **added}
        cells = []
        for data in corpora.values():
            X, X_test = (_capped(counts, repeats) for counts in (data.X, data.X_test))
            scores = []
            for seed in range(SEEDS):
                model = made(MedLDAClassifier, random_state=seed, **settings).fit(X, data.y)
                scores.append(f1_score(data.y_test, model.predict(X_test), average="micro"))
            cells.append(f"{np.mean(scores):.3f} ± {np.std(scores, ddof=1):.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    svm = make_pipeline(TfidfTransformer(sublinear_tf=True), OneVsRestClassifier(LinearSVC(random_state=0)))
    cells = []
    for data in corpora.values():
        said = svm.fit(data.X, data.y).predict(data.X_test)
        cells.append(f"{f1_score(data.y_test, said, average='micro'):.3f}")
    print("| linear SVM, tf-idf | " + " | ".join(cells) + " |")


def _capped(counts: Any, most: int | None) -> Any:
    counts = counts.copy()
    counts.data = counts.data if most is None else np.minimum(counts.data, most)
    return counts


if __name__ == "__main__":
    main()
