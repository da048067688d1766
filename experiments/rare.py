"""What it is worth that documents of rare classes count more, on held-out training documents. [MED-9].

    export BAYESPA_DATA=path/to/the/corpora
    python -m experiments.rare

Accuracy and macro-averaged F1 of models whose documents all count once, of the defaults, and of linear SVMs
on tf-idf, without and with weights of classes. Only more than two classes of unequal size can differ.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import mean
from typing import Any
from unittest.mock import patch

from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bayespa.topics import calibration
from experiments.suite.corpora import NUMBERS, READERS, SEVERAL, Integers, Task, read
from experiments.suite.learners import run_ours, run_sklearn
from experiments.suite.measures import Said, measured


def ours(kind: str, most: float) -> Callable[[Task, Integers, int], Said]:
    """Return a learner whose documents count at most so often."""

    def learner(task: Task, rows: Integers, seed: int) -> Said:
        with patch.object(calibration, "OFTEN", most):
            return run_ours(kind, task, rows, seed, {})[0]

    return learner


def svm(class_weight: str | None) -> Callable[[Task, Integers, int], Said]:
    """Return a linear SVM."""

    def make(seed: int) -> Any:
        return LinearSVC(class_weight=class_weight, random_state=seed)

    return lambda task, rows, seed: run_sklearn(make, task, rows, seed)[0]


LEARNERS = {
    "linear, once": ours("linear", 1.0),
    "linear": ours("linear", calibration.OFTEN),
    "medlda, once": ours("medlda", 1.0),
    "medlda": ours("medlda", calibration.OFTEN),
    "SVM": svm(None),
    "SVM, balanced": svm("balanced"),
}


def main() -> None:
    """Learn, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    one_class = [name for name in READERS if name not in NUMBERS + SEVERAL]
    parser.add_argument("--corpora", nargs="+", choices=one_class, default=one_class)
    parser.add_argument("--learners", nargs="+", choices=list(LEARNERS), default=list(LEARNERS))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print(f"| | {' | '.join(options.learners)} |\n" + "|---" * (1 + len(options.learners)) + "|")
    for name in options.corpora:
        task, cells = read(name, "dev"), []
        for learner in options.learners:
            found = []
            for seed in range(options.seeds):
                with threadpool_limits(1):
                    said = LEARNERS[learner](task, task.order("shuffled", seed), seed)
                found.append(measured(task.y_test, said))
            scores = (mean(float(own[measure] or 0.0) for own in found) for measure in ("accuracy", "macro"))
            cells.append(" / ".join(f"{score:.4f}" for score in scores))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
