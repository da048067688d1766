"""The paper's lemmas, and each update against what it solves: duals, integrals, natural-parameter algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from bayespa import (
    BayesPAClassifier,
    BayesPARegressor,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
)
from bayespa.linear.averaging import solve_dual
from bayespa.native.linear import Rows, Wanted, tilt
from bayespa.posteriors import Gaussian

online = settings(derandomize=True, deadline=None, max_examples=60)


@st.composite
def streams(draw, regression=False):
    """Examples of any scale and correlation, C, ε; classes of any number from 2."""
    seed, n, dim = draw(st.integers(0, 2**32 - 1)), draw(st.integers(2, 25)), draw(st.integers(1, 6))
    rng = np.random.default_rng(seed)
    scale = draw(st.sampled_from([1e-2, 1.0, 1e2]))
    X = scale * (rng.standard_normal((n, dim)) + draw(st.sampled_from([0.0, 3.0])))
    X[rng.random((n, dim)) < draw(st.sampled_from([0.0, 0.5]))] = 0.0
    X[rng.random(n) < 0.2] = X[0]  # repeated examples
    X[0, 0] = scale
    n_classes = draw(st.integers(2, 4))
    y = (
        5 * rng.standard_normal(n)
        if regression
        else np.append(np.arange(n_classes), rng.integers(n_classes, size=n))[:n]
    )
    C = draw(st.sampled_from([1e-2, 0.5, 10.0, np.inf]))
    return X, y, np.arange(n_classes), C, draw(st.sampled_from([0.1, 1.0]))


def online_pa(X, signs, C, margin, variant="PA-I"):
    """[PA-1] as it is printed; signs (n, T) are ±1. Returns the weights after each example, (n, T, D)."""
    w = np.zeros((signs.shape[1], X.shape[1]))
    path = []
    for x, y in zip(X, signs, strict=True):
        for t in range(len(w)):
            loss = max(0.0, margin - y[t] * w[t] @ x)
            norm = x @ x
            if loss > 0 and norm > 0:
                tau = loss / (norm + 1 / (2 * C)) if variant == "PA-II" else min(C, loss / norm)
                w[t] += tau * y[t] * x
        path.append(w.copy())
    return np.array(path)


def online_pa_regression(X, y, C, epsilon, variant="PA-I"):
    w = np.zeros(X.shape[1])
    for x, target in zip(X, y, strict=True):
        error = target - w @ x
        loss, norm = max(0.0, abs(error) - epsilon), x @ x
        if loss > 0 and norm > 0:
            tau = loss / (norm + 1 / (2 * C)) if variant == "PA-II" else min(C, loss / norm)
            w += tau * np.sign(error) * x
    return w


def signs_of(y, classes):
    return np.where(y[:, None] == (classes[1:] if len(classes) == 2 else classes), 1.0, -1.0)


def assert_close(actual, expected, tol=1e-10):
    """Agreement to 1e-10 of the largest weight."""
    assert_allclose(actual, expected, rtol=0, atol=tol * max(1.0, np.abs(expected).max()))


@online
@given(streams())
def test_lemma_2_2_averaging_bayespa_is_online_pa(stream):
    X, y, classes, C, margin = stream
    expected = online_pa(X, signs_of(y, classes), C, margin)[-1]
    model = BayesPAClassifier(
        rule="averaging", weight_scale=1.0, batch_size=1, cost=C / 2, margin=margin, fit_intercept=False
    )
    assert_close(model.partial_fit(X, y, classes).coef_, expected)
    assert (model.posterior_.precision == 1.0).all()


@online
@given(streams(), st.sampled_from(["PA-I", "PA-II"]), st.integers(1, 24))
def test_passive_aggressive_is_online_pa(stream, variant, cut):
    X, y, classes, C, margin = stream
    expected = online_pa(X, signs_of(y, classes), C, margin, variant)
    loss = "hinge" if variant == "PA-I" else "squared_hinge"
    for average in (False, True):
        model = PassiveAggressiveClassifier(
            C=C, margin=margin, loss=loss, fit_intercept=False, average=average
        )
        model.partial_fit(X[:cut], y[:cut], classes)
        if cut < len(X):
            model.partial_fit(X[cut:], y[cut:])
        assert_close(model.coef_, expected.mean(axis=0) if average else expected[-1])


@online
@given(streams(regression=True), st.sampled_from(["PA-I", "PA-II"]))
def test_regressors_are_online_pa_too(stream, variant):
    X, y, _, C, epsilon = stream
    loss = "epsilon_insensitive" if variant == "PA-I" else "squared_epsilon_insensitive"
    pa = PassiveAggressiveRegressor(C=C, epsilon=epsilon, loss=loss, fit_intercept=False).partial_fit(X, y)
    assert_close(pa.coef_, online_pa_regression(X, y, C, epsilon, variant))
    averaging = BayesPARegressor(
        rule="averaging",
        weight_scale=1.0,
        batch_size=1,
        cost=C / 2,
        margin=epsilon,
        fit_intercept=False,
    )
    assert_close(averaging.partial_fit(X, y).coef_, online_pa_regression(X, y, C, epsilon))


def test_the_intercept_is_the_weight_of_a_constant_feature():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.integers(2, size=30)
    constant = 0.5 * np.sqrt((X**2).sum(axis=1).mean())
    expected = online_pa(np.column_stack([X, np.full(30, constant)]), signs_of(y, np.arange(2)), 1.0, 1.0)[-1]
    model = PassiveAggressiveClassifier(bias_scale=0.5).partial_fit(X, y, [0, 1])
    assert_close(model.coef_, expected[:, :-1])
    assert_close(model.intercept_, expected[:, -1] * constant)
    assert_close(model.decision_function(X), X @ expected[0, :-1] + expected[0, -1] * constant)


@online
@given(streams(), st.sampled_from(["full", "diagonal", "isotropic"]))
def test_lemma_2_1_the_gibbs_loss_is_at_least_the_averaging_loss(stream, covariance):
    X, y, classes, C, margin = stream
    model = BayesPAClassifier(covariance=covariance, cost=min(C, 10.0) / 2, margin=margin)
    model.partial_fit(X, y, classes)
    mean = model.decision_function(X).reshape(len(X), -1)
    std = model.decision_std(X).reshape(len(X), -1)
    signs = signs_of(y, classes)
    averaging = np.maximum(0, margin - signs * mean)
    draws = np.random.default_rng(0).standard_normal(4000)
    draws -= draws.mean()  # so that the Monte Carlo mean of the margin is exact, and Jensen holds for it
    gibbs = np.maximum(0, margin - signs[..., None] * (mean[..., None] + std[..., None] * draws)).mean(
        axis=-1
    )
    assert (gibbs >= averaging - 1e-9 * (1 + averaging)).all()


def batch_of(rng, n=60, dim=12, n_tasks=3, regression=False):
    """Correlated rows: most of their variance lies in two directions."""
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, dim)) + 0.3 * rng.standard_normal((n, dim))
    cost = rng.uniform(0.5, 2.0, n)
    if regression:
        values = X @ rng.standard_normal((dim, n_tasks)) + rng.standard_normal((n, n_tasks))
        targets = Wanted(None, values, cost, n_tasks, 0.1)
    else:
        targets = Wanted(rng.integers(n_tasks, size=n).astype(np.int32), None, cost, n_tasks, 1.0)
    return X, Rows.of(X), targets


@pytest.mark.parametrize("regression", [False, True], ids=["classification", "regression"])
@pytest.mark.parametrize("C", [0.01, 0.3, 10.0, 1000.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_dual_of_a_mini_batch_is_solved_to_a_kkt_gap_below_1e_minus_6(regression, C, seed):
    rng = np.random.default_rng(seed)
    X, rows, targets = batch_of(rng, regression=regression)
    variance, n_tasks = 0.7, targets.n_tasks
    before = np.vstack([rng.standard_normal((X.shape[1], n_tasks)), np.zeros((1, n_tasks))])
    weights = before.copy()
    dual = solve_dual(rows, targets, C, variance, weights)
    limit = C * targets.cost[:, None]
    f, f0 = X @ weights[:-1], X @ before[:-1]
    # What the signed dual of an example pushes: y x for a classifier, x for a regressor.
    sign = 1.0 if regression else np.where(targets.labels[:, None] == np.arange(n_tasks), 1.0, -1.0)
    assert_allclose(weights[:-1], before[:-1] + variance * X.T @ (sign * dual), atol=1e-10)  # stationarity
    assert (np.abs(dual) <= limit).all()
    if regression:
        loss = np.maximum(0, np.abs(targets.values - f) - targets.margin)
        linear = (dual * (targets.values - f0)).sum(axis=0) - targets.margin * np.abs(dual).sum(axis=0)
    else:
        assert (dual >= 0).all()
        loss = np.maximum(0, targets.margin - sign * f)
        linear = (dual * (targets.margin - sign * f0)).sum(axis=0)
    moved = (weights - before) / np.sqrt(variance)
    primal = 0.5 * (moved**2).sum(axis=0) + (limit * loss).sum(axis=0)
    gap = primal - (linear - 0.5 * (moved**2).sum(axis=0))
    assert (gap > -1e-9 * (1 + primal)).all()
    assert (gap < 1e-6 * (1 + primal)).all()
    # Projected gradient of the dual: 0 where free, only outwards at a bound.
    if regression:
        slack = np.where(dual != 0, targets.values - f - targets.margin * np.sign(dual), 0.0)
        free, at_limit = (dual != 0) & (np.abs(dual) < limit), np.abs(dual) == limit
        assert (np.abs(np.where(free, slack, 0.0)) < 1e-6).all()
        assert ((slack * np.sign(dual))[at_limit] > -1e-6).all()
        assert ((np.abs(targets.values - f) - targets.margin)[dual == 0] < 1e-6).all()
    else:
        gradient = targets.margin - sign * f
        projected = np.where(
            dual == 0, np.maximum(gradient, 0), np.where(dual == limit, np.minimum(gradient, 0), gradient)
        )
        assert np.abs(projected).max() < 1e-6


def test_a_hard_margin_mini_batch_meets_every_margin():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 60))
    y = np.where(rng.random(40) < 0.5, "no", "yes")
    model = BayesPAClassifier(rule="averaging", cost=np.inf, batch_size=None, random_state=0).fit(X, y)
    assert (np.where(y == "yes", 1, -1) * model.decision_function(X) > 1 - 1e-6).all()
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_hard_margin_that_cannot_be_met_warns():
    X, y = np.ones((4, 1)), np.array([0, 1, 0, 1])
    model = BayesPAClassifier(rule="averaging", cost=np.inf, batch_size=None)
    with pytest.warns(
        ConvergenceWarning, match=r"mini-batch of 4 examples has not converged: a margin still moves by"
    ):
        model.fit(X, y)


def quadrature(mean, covariance, x, loss, cost):
    """Mean and covariance of N(mean, covariance) exp(−2c loss(wᵀx)) on a grid of weights."""
    dim = len(mean)
    axis = np.linspace(-9.0, 9.0, 100_001 if dim == 1 else 901)
    z = np.stack(np.meshgrid(*dim * [axis], indexing="ij"), axis=-1).reshape(-1, dim)
    w = mean + z @ np.linalg.cholesky(covariance).T
    density = np.exp(-0.5 * (z**2).sum(axis=1) - 2 * cost * loss(w @ x))
    density /= density.sum()
    first = density @ w
    return first, (w - first).T @ ((w - first) * density[:, None])


@pytest.mark.parametrize("regression", [False, True], ids=["classification", "regression"])
@pytest.mark.parametrize("x", [[0.8], [1.2, -0.7]], ids=["1 dimension", "2 dimensions"])
@pytest.mark.parametrize("covariance", ["full", "diagonal", "isotropic"])
def test_one_gibbs_example_equals_quadrature(regression, x, covariance):
    x, y, v, c = np.array(x), -0.4, 1.3, 0.9
    parameters = {"cost": c, "weight_scale": v, "covariance": covariance, "fit_intercept": False}
    if regression:
        model = BayesPARegressor(margin=0.3, **parameters).partial_fit([x], [y])
        loss = lambda f: np.maximum(0, np.abs(y - f) - 0.3)  # noqa: E731
    else:
        model = BayesPAClassifier(margin=1.0, **parameters).partial_fit([x], [0], classes=[0, 1])
        loss = lambda f: np.maximum(0, 1.0 + f)  # noqa: E731
    dim = len(x)
    mean, exact = quadrature(np.zeros(dim), v**2 * np.eye(dim), x, loss, c)
    assert_allclose(np.ravel(model.coef_), mean, atol=2e-6)
    learned = model.posterior_.covariance()[0]
    if covariance == "full":
        assert_allclose(learned[:dim, :dim], exact, atol=2e-6)
    elif covariance == "diagonal":
        assert_allclose(learned[:dim], np.diag(exact), atol=2e-6)
    else:
        assert_allclose(learned, np.trace(exact) / dim, atol=2e-6)


@pytest.mark.parametrize("method", ["moments", "augmented"])
def test_full_covariance_is_exact_natural_parameter_algebra(method):
    """P′ = P + site x xᵀ, h′ = h + pull x for each example in turn, with Σ = P⁻¹ by LAPACK."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 5)) @ rng.standard_normal((5, 5))
    y = rng.integers(2, size=60)
    model = BayesPAClassifier(
        covariance="full", method=method, cost=0.7, weight_scale=2.0, batch_size=7, fit_intercept=False
    ).partial_fit(X, y, [0, 1])
    P, h = np.eye(5) / 4, np.zeros(5)
    for x, sign in zip(X, 2.0 * y - 1, strict=True):
        sigma = np.linalg.inv(P)
        m, s = x @ sigma @ h, x @ sigma @ x
        _, gain, ratio = tilt(sign * m, s, 1.0, np.inf, 0.7, method)
        mean = sigma @ h + sigma @ x * sign * gain
        P = P + (1 / ratio - 1) / s * np.outer(x, x)
        h = P @ mean
    assert_allclose(model.posterior_.precision[0, :5, :5], P, rtol=1e-9, atol=1e-9)
    assert_allclose(model.posterior_.shift[0, :5], h, rtol=1e-9, atol=1e-9)
    assert isinstance(model.posterior_.require_proper(), Gaussian)
