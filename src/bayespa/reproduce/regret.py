"""Regret: what predictions pay more than the best distribution in hindsight, and its bound [PA-6]."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtr
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from bayespa import BayesPAClassifier
from bayespa.reproduce.cells import Cell, Point, Run
from bayespa.reproduce.data import load

Floats = NDArray[np.float64]
RULES: dict[str, dict[str, Any]] = {
    "averaging": {"rule": "averaging"},
    "Gibbs, exact": {"covariance": "full"},  # the model of its adversary; its own steps are on a grid
    "Gibbs, Gaussian": {"covariance": "full"},
    "Gibbs, diagonal": {"covariance": "diagonal"},
}
FIXED: dict[str, Any] = {"weight_scale": 1.0, "margin": 1.0, "batch_size": 1, "fit_intercept": False}
N_POINTS = 20
AXIS: Floats = np.linspace(-6.0, 6.0, 241)  # of a grid of two weights; their prior is a standard normal


def run(cell: Cell, data_home: Path | None = None) -> Run:
    """Learn a stream one example at a time, with a cost of 1/√n for its n examples.

    The score of a point is the accuracy of the predictions so far, its objective their regret divided by the
    bound.
    """
    start = time.process_time()
    X, y = examples(cell, data_home)
    cost = 1.0 / np.sqrt(X.shape[0])
    paid, y, right, model = learn(X, y, cost, **RULES[cell.method])
    if "rule" in RULES[cell.method]:
        best, divergence = best_weights(X, y, cost)
    elif X.shape[1] == 2:
        exactly, right_exactly, best, divergence = on_grid(X, y, cost)
        if cell.method == "Gibbs, exact":
            paid, right = exactly, right_exactly
    else:
        best, divergence = last_posterior(X, y, model)
    allowed = divergence / (2.0 * cost) + cost * np.cumsum(lengths(X) ** 2)
    regret = np.cumsum(paid - best) / allowed
    count = np.arange(1, len(y) + 1)
    accuracy, seconds = np.cumsum(right) / count, time.process_time() - start
    places = np.unique(np.geomspace(1, len(y), N_POINTS).astype(int)) - 1
    points = (
        Point(count[i] / len(y), seconds, float(accuracy[i]), 0, float(regret[i])) for i in places.tolist()
    )
    return Run(cell, tuple(points))


def examples(cell: Cell, data_home: Path | None) -> tuple[Any, Floats | None]:
    """Return rows, and labels of ±1; None for an adversary, which chooses each label after the prediction."""
    rng = np.random.default_rng(cell.seed)
    if cell.data == "adversary":
        n = cell.documents or 0
        return rng.standard_normal((n, 2)) * rng.choice([0.1, 1.0, 3.0], size=(n, 1)), None
    data = load(cell.data, data_home, cell.documents)
    order = rng.permutation(len(data.y))
    X, y = normalize(data.X[order].astype(float)), np.where(data.y[order] < data.y.max() / 2, 1.0, -1.0)
    if cell.settings["weights"] == "all":
        return X, y
    X = TruncatedSVD(2, random_state=0).fit_transform(X)
    return X / lengths(X).mean(), y


def lengths(X: Any) -> Floats:
    """Return the Euclidean length of each row.

    >>> lengths(np.array([[3.0, 4.0]]))
    array([5.])
    """
    found: Floats = np.sqrt(np.ravel(sparse.csr_matrix(X).power(2).sum(axis=1)))
    return found


def hinge(margin: Floats, sd: Any = 0.0) -> Floats:
    """Return the expected hinge losses of normal margins with these means and standard deviations.

    >>> hinge(np.array([0.5, 2.0])), hinge(np.array([1.0]), 2.0).round(3)
    (array([0.5, 0. ]), array([0.798]))
    """
    gap = 1.0 - margin
    z = np.clip(gap / np.maximum(sd, 1e-9), -30.0, 30.0)
    found: Floats = gap * ndtr(z) + sd * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return np.maximum(0.0, found)


def learn(
    X: Any, y: Floats | None, cost: float, **rule: Any
) -> tuple[Floats, Floats, NDArray[np.bool_], BayesPAClassifier]:
    """Return the loss of each prediction, the labels, which predictions were right, and the model."""
    model = BayesPAClassifier(cost=cost, **FIXED, **rule)
    averages, n = "rule" in rule, X.shape[0]
    mean, sd, labels = np.zeros(n), np.zeros(n) if averages else lengths(X[:1]).repeat(n), np.ones(n)
    for i in range(n):
        if i:
            mean[i] = model.decision_function(X[i : i + 1])[0]
            sd[i] = 0.0 if averages else model.decision_std(X[i : i + 1])[0]
        labels[i] = (-1.0 if mean[i] >= 0.0 else 1.0) if y is None else y[i]
        model.partial_fit(X[i : i + 1], labels[i : i + 1], classes=[-1.0, 1.0])
    return hinge(labels * mean, sd), labels, labels * mean > 0.0, model


def best_weights(X: Any, y: Floats, cost: float) -> tuple[Floats, float]:
    """Return the losses and the divergence of the best weights of the averaging rule: those of an SVM."""
    svm = LinearSVC(C=2.0 * cost, loss="hinge", fit_intercept=False, max_iter=100_000, random_state=0)
    w = svm.fit(X, y).coef_[0]
    return hinge(y * (X @ w)), 0.5 * float(w @ w)


def on_grid(X: Floats, y: Floats, cost: float) -> tuple[Floats, NDArray[np.bool_], Floats, float]:
    """Learn by Bayes' rule: losses, which predictions were right, and losses and divergence of the last q."""
    w = np.stack(np.meshgrid(AXIS, AXIS), axis=-1).reshape(-1, 2)
    prior = np.exp(-0.5 * (w * w).sum(axis=1))
    prior /= prior.sum()
    q, paid, margin = prior.copy(), np.zeros(len(y)), np.zeros(len(y))
    for i, x in enumerate(y[:, None] * X):
        m = w @ x
        loss = np.maximum(0.0, 1.0 - m)
        paid[i], margin[i] = q @ loss, q @ m
        q *= np.exp(-2.0 * cost * loss)
        q /= q.sum()
    some = q > 0.0
    divergence = float(q[some] @ np.log(q[some] / prior[some]))
    some = q > 1e-12
    best = np.array([q[some] @ np.maximum(0.0, 1.0 - w[some] @ x) for x in y[:, None] * X])
    return paid, margin > 0.0, best, divergence


def last_posterior(X: Any, y: Floats, model: BayesPAClassifier) -> tuple[Floats, float]:
    """Return the losses of what a model knows in the end, and its divergence from the prior."""
    best, n = hinge(y * model.decision_function(X), model.decision_std(X)), X.shape[1]
    mean, variance = model.coef_[0], model.posterior_.variance()[0, :n]
    return best, 0.5 * float((variance + mean * mean - 1.0 - np.log(variance)).sum())
