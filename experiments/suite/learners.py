"""Our models, and the linear learners to stand beside: all read the same words, the peers as tf-idf."""

from __future__ import annotations

import importlib.util
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import metadata
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import ComplementNB
from sklearn.svm import LinearSVC

import bayespa
from bayespa import PassiveAggressiveClassifier, TextModel
from bayespa.cli import main as program
from bayespa.corpus import OnlineVocabulary
from bayespa.reproduce.cells import code
from bayespa.text.columns import ALL_WORDS
from bayespa.text.predictor import KINDS
from experiments.suite.corpora import NUMBERS, Integers, Task
from experiments.suite.measures import Floats, Said

PEERS_VERSION = 2  # to be raised when a peer's code here changes what it says
BATCH = 256  # documents of a stream that are predicted, then learned
OF_VOCABULARY = {
    "max_words",
    "min_count",
    "max_candidates",
    "min_length",
    "stop_words",
    "token_pattern",
    "ngrams",
    "min_run_count",
    "max_runs",
}


class Skipped(Exception):
    """A learner that cannot run, and why."""


# Ours


def new_model(kind: str, settings: Mapping[str, Any], seed: int) -> TextModel:
    """Return a model of texts; settings are those of the estimator or of the vocabulary."""
    own = KINDS[kind].classifier()
    parameters = {name: value for name, value in settings.items() if name not in OF_VOCABULARY}
    expert = {name: parameters.pop(name) for name in list(parameters) if name in getattr(own, "expert_", ())}
    if expert:
        parameters["expert"] = expert
    words = {name: value for name, value in settings.items() if name in OF_VOCABULARY}
    vectorizer = None
    if words:
        vectorizer = OnlineVocabulary(**{**ALL_WORDS, **words})
    return TextModel(kind, vectorizer=vectorizer, random_state=seed, n_jobs=1, **parameters)


def answers(model: TextModel, task: Task, texts: Sequence[str]) -> Said:
    """Return what a model says, with classes in the order of the task."""
    said = model.answer_counts(model.counts(texts))
    if task.target == "number":
        return Said(np.array(said.labels, np.float64))
    assert said.probabilities is not None
    probability = np.zeros((len(texts), len(task.classes)))
    probability[:, [task.classes.index(name) for name in said.class_names]] = said.probabilities
    return Said(task.encoded(said.labels), probability)


def labels_of(task: Task, rows: Integers) -> list[Any]:
    """Return labels as a model of texts takes them."""
    own = (task.train.labels[i] for i in rows)
    return [tuple(label) if isinstance(label, list) else label for label in own]


def run_ours(
    kind: str, task: Task, rows: Integers, seed: int, settings: Mapping[str, Any]
) -> tuple[Said, float]:
    """Learn the documents in this order, all in one call; return what is said then, and CPU seconds."""
    begin, model = time.process_time(), new_model(kind, settings, seed)
    try:
        model.learn([task.train.texts[i] for i in rows], labels_of(task, rows))
        model.settle()  # what a prediction would learn first
    except ValueError as error:
        if "several classes" not in str(error):
            raise
        raise Skipped(str(error)) from error
    seconds = time.process_time() - begin
    return answers(model, task, task.test.texts), seconds


def run_program(
    kind: str, task: Task, rows: Integers, seed: int, settings: Mapping[str, Any]
) -> tuple[Said, float]:
    """Learn them as `bayespa train` does, from a file in this order, with all that it does about orders."""
    with TemporaryDirectory() as folder:
        data, file = Path(folder, "train.jsonl"), Path(folder, "model.bayespa")
        records = ({"text": task.train.texts[i], "label": task.train.labels[i]} for i in rows)
        data.write_text("".join(json.dumps(record) + "\n" for record in records))
        options = ["train", str(data), "-o", str(file), "--model", kind, "--seed", str(seed), "--jobs", "1"]
        for name, value in settings.items():
            if name in OF_VOCABULARY:
                options += [f"--{name.replace('_', '-')}", "none" if value is None else str(value)]
            else:
                options += ["--set", f"{name}={json.dumps(value)}"]
        begin = time.process_time()
        try:
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                program(options, standalone_mode=False)
        except click.ClickException as error:
            raise Skipped(error.message) from error
        seconds = time.process_time() - begin
        return answers(bayespa.load(file), task, task.test.texts), seconds


# Peers


class Arow:
    """Adaptive regularization of weights (Crammer et al., 2009): diagonal, one-vs-rest, one pass."""

    def __init__(self, n_words: int, n_classes: int, r: float = 1.0) -> None:
        self.r = r
        self.mean = np.zeros((n_words + 1, n_classes))  # a row a word, and the last for the bias
        self.variance = np.ones((n_words + 1, n_classes))

    def learn(self, X: Any, Y: NDArray[Any]) -> None:
        """Learn rows of X, in their order, whose labels are 1 or 0 in Y (n, T)."""
        signs = 2.0 * Y - 1.0
        for row, (begin, end) in enumerate(zip(X.indptr[:-1], X.indptr[1:], strict=True)):
            words = np.append(X.indices[begin:end], len(self.mean) - 1)
            x = np.append(X.data[begin:end], 1.0)
            mean, variance = self.mean[words], self.variance[words]
            loss = 1.0 - signs[row] * (x @ mean)
            if (wrong := loss > 0.0).any():
                spread = variance * x[:, None]
                beta = wrong / (x @ spread + self.r)
                self.mean[words] = mean + spread * (beta * loss * signs[row])
                self.variance[words] = variance - spread**2 * beta

    def decision(self, X: Any) -> Floats:
        """Return margins (n, T)."""
        return np.asarray(X @ self.mean[:-1] + self.mean[-1])


class Pa:
    """Passive-aggressive, PA-I with C = 1 of this package, one pass in the order given."""

    def __init__(self, n_words: int, n_classes: int, exclusive: bool) -> None:
        self.exclusive, self.n_classes = exclusive, n_classes
        n_models = 1 if exclusive else n_classes
        self.models = [PassiveAggressiveClassifier(random_state=0) for _ in range(n_models)]

    def learn(self, X: Any, Y: NDArray[Any]) -> None:
        """Learn rows of X whose labels are 1 or 0 in Y (n, T)."""
        if self.exclusive:
            self.models[0].partial_fit(X, Y.argmax(axis=1), classes=np.arange(self.n_classes))
        else:
            for model, y in zip(self.models, Y.T, strict=True):
                model.partial_fit(X, y, classes=np.arange(2))

    def decision(self, X: Any) -> Floats:
        """Return margins (n, T)."""
        margins = np.column_stack([model.decision_function(X) for model in self.models])
        return np.hstack([-margins, margins]) if self.exclusive and margins.shape[1] == 1 else margins


def indicator(task: Task, y: NDArray[Any]) -> NDArray[Any]:
    """Return 0/1 of shape (n, T)."""
    return y if y.ndim == 2 else np.eye(len(task.classes), dtype=np.int64)[y]


def decided(task: Task, margins: Floats, probability: Floats | None = None) -> Said:
    """Return the labels that margins (n, T) decide for.

    Where every document to learn from has a label, each document is given at least its best one.
    """
    if task.target == "class":
        best = np.sort(margins, axis=1)[:, -2:]
        return Said(margins.argmax(axis=1), probability, best[:, -1] - best[:, 0])
    chosen = (margins > 0.0).astype(np.int64)
    if task.y.any(axis=1).all():
        chosen[np.arange(len(chosen)), margins.argmax(axis=1)] = 1
    return Said(chosen, probability, np.where(chosen == 1, margins, -margins).min(axis=1))


def widened(task: Task, values: Floats, known: Integers, other: float) -> Floats:
    """Return columns for all classes, of which those that had no document to learn from have one value."""
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    found = np.full((len(values), len(task.classes)), other)
    # One-vs-rest has columns for all, and a margin of 0, above many others, where there was nothing to learn.
    found[:, known] = values[:, known] if task.target == "classes" else values
    return found


def run_sklearn(make: Callable[[int], Any], task: Task, rows: Integers, seed: int) -> tuple[Said, float]:
    """Learn with an estimator of scikit-learn, one-vs-rest where documents have several labels."""
    X, X_test, prepared = task.weights
    model, y = make(seed), task.y[rows]
    probable = hasattr(model, "predict_proba")
    if task.target == "classes":
        model = OneVsRestClassifier(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # as it is used
        warnings.filterwarnings("ignore", "Label .* is present in all|Label not .* is present in all")
        begin = time.process_time()
        model.fit(X[rows], y)
        seconds = prepared + time.process_time() - begin
    if task.target == "number":
        return Said(model.predict(X_test)), seconds
    known = np.flatnonzero(y.any(axis=0)) if task.target == "classes" else model.classes_
    if not probable:
        return decided(task, widened(task, model.decision_function(X_test), known, -np.inf)), seconds
    probability = widened(task, model.predict_proba(X_test), known, 0.0)
    margins = probability - (0.5 if task.target == "classes" else 0.0)
    return decided(task, margins, probability), seconds


def run_online(make: Callable[[Task, int], Any], task: Task, rows: Integers, seed: int) -> tuple[Said, float]:
    """Learn with Arow or Pa."""
    X, X_test, seconds = task.weights
    begin, model = time.process_time(), make(task, X.shape[1])
    model.learn(X[rows], indicator(task, task.y[rows]))
    seconds += time.process_time() - begin
    return decided(task, model.decision(X_test)), seconds


def run_vw(task: Task, rows: Integers, seed: int) -> tuple[Said, float]:
    """Learn with Vowpal Wabbit in one pass: logistic loss one-against-all, or squared loss."""
    if importlib.util.find_spec("vowpalwabbit") is None:
        raise Skipped("vowpalwabbit is not installed: pip install -r benchmarks/requirements.txt")
    import vowpalwabbit  # type: ignore[import-untyped]

    X, X_test, seconds = task.weights
    begin, n = time.process_time(), len(task.classes) if task.target != "number" else 0
    how = {
        "class": f"--oaa {n} --loss_function logistic --probabilities",
        "classes": f"--multilabel_oaa {n} --loss_function logistic --probabilities --link=logistic",
        "number": "",
    }[task.target]
    workspace = vowpalwabbit.Workspace(f"{how} -b 22 --quiet --random_seed {seed}")
    lines = _vw_lines(X[rows])
    for line, y in zip(lines, task.y[rows], strict=True):
        label = f"{y + 1}" if task.target == "class" else f"{y:g}" if task.target == "number" else ""
        workspace.learn(f"{label or ','.join(map(str, np.flatnonzero(y)))} {line}")
    seconds += time.process_time() - begin
    # Of several labels it leaves an example's older answers before the new ones.
    said = np.array([np.atleast_1d(workspace.predict(line))[-max(1, n) :] for line in _vw_lines(X_test)])
    workspace.finish()
    if task.target == "number":
        return Said(said[:, 0]), seconds
    return decided(task, said - (0.5 if task.target == "classes" else 0.0), said), seconds


def _vw_lines(X: sp.csr_matrix) -> list[str]:
    words, values = X.indices.tolist(), X.data.tolist()
    pairs = [f"{word}:{value:.5g}" for word, value in zip(words, values, strict=True)]
    return ["| " + " ".join(pairs[a:b]) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]


def _pa(task: Task, n_words: int) -> Pa:
    return Pa(n_words, len(task.classes), task.target == "class")


def _arow(task: Task, n_words: int) -> Arow:
    return Arow(n_words, len(task.classes))


CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    "LinearSVC": lambda seed: LinearSVC(random_state=seed),
    "logistic": lambda seed: LogisticRegression(max_iter=200),
    "logistic, C=10": lambda seed: LogisticRegression(C=10.0, max_iter=200),
    "ComplementNB": lambda seed: ComplementNB(),
}
ONLINE: dict[str, Callable[[Task, int], Any]] = {"PA": _pa, "AROW": _arow}
# Our models by calls, and by the program.
CALLED = {kind: kind for kind in KINDS}
TRAINED = {f"train {kind}": kind for kind in KINDS}
OURS = {**CALLED, **TRAINED}
PEERS = (*CLASSIFIERS, *ONLINE, "VW", "ridge")
LEARNERS = (*OURS, *PEERS)


def applies(learner: str, corpus: str, stream: bool) -> bool:
    """Return whether a learner is for such labels, and for streams."""
    if stream:
        return learner in CALLED or learner in ONLINE
    return learner in OURS or learner == "VW" or (learner == "ridge") == (corpus in NUMBERS)


def version(learner: str) -> str:
    """Return by what a run is known to be of today's code: peers do not change with this package."""
    if learner in OURS:
        return code()[:12]
    package = {"VW": "vowpalwabbit", "PA": "", "AROW": ""}.get(learner, "scikit-learn")
    try:
        return f"{PEERS_VERSION} {metadata.version(package)}" if package else f"{PEERS_VERSION}"
    except metadata.PackageNotFoundError:
        return f"{PEERS_VERSION} none"


def run(
    learner: str, task: Task, rows: Integers, seed: int, settings: Mapping[str, Any]
) -> tuple[Said, float]:
    """Learn training documents in the order of `rows`; return what is said of the others, and CPU seconds."""
    if learner in OURS:
        run_own = run_ours if learner in CALLED else run_program
        return run_own(OURS[learner], task, rows, seed, settings)
    if learner == "VW":
        return run_vw(task, rows, seed)
    if learner == "ridge":
        return run_sklearn(lambda seed: Ridge(), task, rows, seed)
    if learner in ONLINE:
        return run_online(ONLINE[learner], task, rows, seed)
    return run_sklearn(CLASSIFIERS[learner], task, rows, seed)


# Streams


class _OursInStream:
    """A model of texts that learns a stream in calls of BATCH documents."""

    def __init__(self, kind: str, task: Task, seed: int, settings: Mapping[str, Any]) -> None:
        self.task, self.model = task, new_model(kind, settings, seed)

    def predict(self, rows: Integers) -> NDArray[Any] | None:
        if not self.model.fitted:
            return None
        return answers(self.model, self.task, [self.task.train.texts[i] for i in rows]).y

    def learn(self, rows: Integers) -> None:
        self.model.learn([self.task.train.texts[i] for i in rows], labels_of(self.task, rows))

    def at_the_end(self) -> Said:
        return answers(self.model, self.task, self.task.test.texts)


class _PeerInStream:
    """Arow or Pa that learns a stream; a word's idf is that of the documents that have come."""

    def __init__(self, learner: str, task: Task) -> None:
        X, X_test, _ = task.counts
        self.task, self.X, self.X_test = task, _sublinear(X), _sublinear(X_test)
        self.model = ONLINE[learner](task, X.shape[1])
        self.frequency, self.n, self.learned = np.zeros(X.shape[1]), 0, False

    def _weights(self, X: sp.csr_matrix) -> sp.csr_matrix:
        idf = np.log((1.0 + self.n) / (1.0 + self.frequency)) + 1.0
        found = sp.csr_matrix((X.data * idf[X.indices], X.indices, X.indptr), X.shape)
        length = np.sqrt(np.asarray(found.multiply(found).sum(axis=1))).ravel()
        found.data /= np.repeat(np.maximum(length, 1e-12), np.diff(found.indptr))
        return found

    def predict(self, rows: Integers) -> NDArray[Any] | None:
        batch = self.X[rows]
        self.frequency += batch.getnnz(axis=0)  # texts come before their labels
        self.n += len(rows)
        self.batch = self._weights(batch)
        return np.asarray(self.model.decision(self.batch).argmax(axis=1)) if self.learned else None

    def learn(self, rows: Integers) -> None:
        self.model.learn(self.batch, indicator(self.task, self.task.y[rows]))
        self.learned = True

    def at_the_end(self) -> Said:
        return decided(self.task, self.model.decision(self._weights(self.X_test)))


def _sublinear(counts: sp.csr_matrix) -> sp.csr_matrix:
    return sp.csr_matrix((1.0 + np.log(counts.data), counts.indices, counts.indptr), counts.shape)


def run_stream(
    learner: str, task: Task, rows: Integers, seed: int, settings: Mapping[str, Any]
) -> tuple[Said, float, float]:
    """Predict and then learn BATCH documents after the other.

    Return what is said of the documents that follow, CPU seconds, and progressive accuracy: that of all
    batches but the first.
    """
    if learner in OURS:
        model: Any = _OursInStream(OURS[learner], task, seed, settings)
    else:
        model = _PeerInStream(learner, task)
    begin, right, judged = time.process_time(), 0, 0
    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        said = model.predict(batch)
        if said is not None:
            right, judged = right + int((said == task.y[batch]).sum()), judged + len(batch)
        model.learn(batch)
    seconds = time.process_time() - begin
    return model.at_the_end(), seconds, right / max(1, judged)
