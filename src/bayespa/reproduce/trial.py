"""Run a cell: learn, and stop the clock while the model is evaluated on the test documents."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from sklearn.metrics import accuracy_score, f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from bayespa.reproduce import regret
from bayespa.reproduce.cells import Cell, Point, Run
from bayespa.reproduce.data import Data, load
from bayespa.reproduce.methods import METHODS, Method, made

SVM_COST = 10.0  # 1 is worse for spLDA on held-out training messages of 20 Newsgroups, 100 is no better


def run(cell: Cell, data_home: Path | None = None) -> Run:
    """Train the method of a cell, and evaluate it on the way."""
    if cell.method in regret.RULES:
        return regret.run(cell, data_home)
    data, method = load(cell.data, data_home, cell.documents), METHODS[cell.method]
    model = made(method.kind, random_state=cell.seed, **method.passes(cell.passes), **cell.settings)
    watch = Watch(cell, method, model, data)
    model.fit(data.X, data.y, callback=watch)
    return Run(cell, tuple(watch.points))


class Watch:
    """Called after every mini-batch: evaluates the model when due, and stops it when it has converged."""

    def __init__(self, cell: Cell, method: Method, model: Any, data: Data) -> None:
        self.cell, self.method, self.model, self.data = cell, method, model, data
        self.points: list[Point] = []
        self._tries = list(cell.tries)
        self._objective = [0.0]  # summed over each pass
        self._start = time.process_time()

    def __call__(self, now: Any) -> bool:
        """Return whether learning is to end here."""
        clock = time.process_time()
        n, objective = len(self.data.y), self._objective
        objective[-1] += now.step.objective
        passes = now.n_examples / n
        whole = now.batch_index + 1 == now.n_batches
        ends = whole and (
            now.pass_index + 1 == self.cell.passes
            or (
                len(objective) > 1 and abs(objective[-1] - objective[-2]) < self.cell.tol * abs(objective[-2])
            )
        )
        if ends or (self._tries and passes >= self._tries[0] - 1e-9):
            self._tries = [later for later in self._tries if later > passes + 1e-9]
            read = max(1, now.n_examples - now.pass_index * n)
            extra, score = self._try()
            n_topics = len(self.model.components_)
            self.points.append(
                Point(passes, clock - self._start + extra, score, n_topics, objective[-1] / read)
            )
        if whole:
            objective.append(0.0)
        self._start += time.process_time() - clock  # evaluation does not count
        return ends

    def _try(self) -> tuple[float, float]:
        """Return the seconds of training a read-out, if there is one, and the score."""
        data, seconds = self.data, 0.0
        if self.method.read_out:
            start = time.process_time()
            svm = LinearSVC(C=SVM_COST, random_state=0)
            if data.y.ndim == 2:
                svm = OneVsRestClassifier(svm)
            svm.fit(self.model.transform(data.X), data.y)
            seconds = time.process_time() - start
            predicted = svm.predict(self.model.transform(data.X_test))
        else:
            predicted = self.model.predict(data.X_test)
        if data.y.ndim == 2:
            return seconds, float(f1_score(data.y_test, predicted, average="micro", zero_division=0.0))
        return seconds, float(accuracy_score(data.y_test, predicted))
