"""Whether calibration errors on test documents are shift: documents that differ from those learned.

    export BAYESPA_DATA=path/to/the/corpora
    python -m experiments.shift

One model is judged twice: on held-out training documents, and on the test documents. Beside it stands a
linear SVM on tf-idf, calibrated by what cross-validation on the same documents says: a softmax of its margins
with the temperature of the least log loss, then isotonic regression of being right on the probability of the
best class. If such a learner, too, is calibrated on held-out documents and not on test documents, what is
missing is not in the training documents. A perfectly calibrated model has an error, too, if it is measured on
few documents: the last two columns have its mean, on documents as sure as ours.
"""

from __future__ import annotations

import argparse
from statistics import mean, stdev

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bayespa.inspect.calibration import reliability
from experiments.suite.corpora import NUMBERS, READERS, SEVERAL, Documents, Integers, Task, read
from experiments.suite.learners import answers, labels_of, new_model
from experiments.suite.measures import Floats

TEMPERATURES = np.exp(np.linspace(-4.0, 1.0, 61))  # of margins
FOLDS, TRIES, BINS = 5, 200, 15


def error(right: NDArray[np.bool_], confidence: Floats) -> float:
    """Return the expected calibration error of the best class."""
    sure = np.column_stack([confidence, np.full(len(right), -1.0)])
    return reliability(~right, sure, [0, 1], BINS).error


def perfect(confidence: Floats, rng: np.random.Generator) -> float:
    """Return the mean error of a calibrated model that is as sure."""
    return mean(error(rng.random(len(confidence)) < confidence, confidence) for _ in range(TRIES))


def softmax(margins: Floats, temperature: float) -> Floats:
    """Return probabilities (n, T) of margins."""
    shares = np.exp((margins - margins.max(axis=1, keepdims=True)) / temperature)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def wide(margins: Floats) -> Floats:
    """Return a column for each class, also of two."""
    return np.column_stack([-margins, margins]) if margins.ndim == 1 else margins


def ours(task: Task, rows: Integers, seed: int) -> tuple[NDArray[np.bool_], Floats]:
    """Return which predictions of documents to judge by are right, and how sure they are."""
    model = new_model("medlda", {}, seed)
    model.learn([task.train.texts[i] for i in rows], labels_of(task, rows))
    said = answers(model, task, task.test.texts)
    assert said.probability is not None
    return said.y == task.y_test, said.probability.max(axis=1)


def svm(task: Task, rows: Integers, seed: int) -> tuple[NDArray[np.bool_], Floats]:
    """Return the same of a linear SVM, calibrated by cross-validation."""
    weights, judged, _ = task.weights
    X, y = weights[rows], task.y[rows]
    often = np.bincount(y)[y] >= FOLDS  # each fold needs some of a class
    place = np.unique(y[often], return_inverse=True)[1]
    how = {"cv": StratifiedKFold(FOLDS), "method": "decision_function"}
    margins = wide(cross_val_predict(LinearSVC(random_state=seed), X[often], y[often], **how))
    likely = [np.log(softmax(margins, t)[np.arange(len(place)), place]).mean() for t in TEMPERATURES]
    temperature = float(TEMPERATURES[int(np.argmax(likely))])
    shares = softmax(margins, temperature)
    sure = IsotonicRegression(out_of_bounds="clip").fit(shares.max(axis=1), shares.argmax(axis=1) == place)
    model = LinearSVC(random_state=seed).fit(X, y)
    margins = wide(model.decision_function(judged))
    right = model.classes_[margins.argmax(axis=1)] == task.y_test
    return right, np.asarray(sure.predict(softmax(margins, temperature).max(axis=1)))


def errors(name: str, seed: int) -> list[float]:
    """Return the errors of ours, of the SVM, and of a perfect model: held-out documents, test documents."""
    dev, test = read(name, "dev"), read(name, "test").test
    held = len(dev.test.texts)
    judged = Documents(dev.test.texts + test.texts, dev.test.labels + test.labels)
    task = Task(name, dev.train, judged)
    rows, parts = task.order("shuffled", seed), (slice(held), slice(held, None))
    with threadpool_limits(1):
        said = [learner(task, rows, seed) for learner in (ours, svm)]
    found = [error(right[part], sure[part]) for right, sure in said for part in parts]
    rng = np.random.default_rng(seed)
    return found + [perfect(said[0][1][part], rng) for part in parts]


def main() -> None:
    """Learn, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    one_class = [name for name in READERS if name not in NUMBERS + SEVERAL]
    parser.add_argument("--corpora", nargs="+", choices=one_class, default=one_class)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    heads = [f"{who}, {of}" for who in ("medlda", "SVM", "perfect") for of in ("held out", "test")]
    print(f"| | {' | '.join(heads)} |\n" + "|---" * (1 + len(heads)) + "|")
    for name in options.corpora:
        found = zip(*(errors(name, seed) for seed in range(options.seeds)), strict=True)
        cells = [f"{mean(own):.3f}" + (f" ± {stdev(own):.3f}" if len(own) > 1 else "") for own in found]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
