"""The mini-batch problem of averaging BayesPA, solved in its dual [PA-2].

The means w of a task change as little as possible: min ½‖w − w₀‖²/v + C Σ_i cost_i loss_i(wᵀx_i). Coordinate
descent on the dual solves single examples, and batches with more features than examples. If examples compete
for few features it is slow, and an interior-point method takes over: some 20 steps, for any C.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bayespa import _native
from bayespa.native import linalg
from bayespa.native.linear import Floats, Rows, Wanted

_SWEEPS = 300  # sweeps of coordinate descent before the interior-point method, and after it
_MOST_ROWS = 2000  # largest batch for the interior-point method, whose matrices are n × n


def solve_dual(
    rows: Rows,
    targets: Wanted,
    aggressiveness: float,
    variance: float,
    weights: Floats,
    *,
    tol: float = 1e-8,
    n_threads: int = 1,
) -> Floats:
    """Solve [PA-2]; `weights` (D + 1, T) become the new means.

    Parameters
    ----------
    rows, targets
        The mini-batch.
    aggressiveness : float
        C = 2c, the bound of a dual; infinite for a hard margin.
    variance : float
        Prior variance v of every weight.
    weights : array of shape (D + 1, T)
        Prior means; overwritten.
    tol : float
        Stop when a sweep moves no margin by more than this, relative to the targets. If the last sweep moves
        a margin by more than 100 times as much, there is a ConvergenceWarning.
    n_threads : int
        Threads, over the tasks. The result is the same.

    Returns
    -------
    ndarray of shape (n, T)
        The duals τ; for regression, negative if the prediction was too large.
    """
    if targets.values is not None:
        tol *= max(1.0, float(np.abs(targets.values).max()))
    before, dual = weights.copy(), np.zeros((rows.n, targets.n_tasks))
    change = _descend(rows, targets, aggressiveness, variance, weights, dual, tol, n_threads)
    if change > tol and aggressiveness < np.inf and rows.n <= _MOST_ROWS:
        dual[:] = _interior_point(rows, targets, aggressiveness, variance, before, n_threads)
        pushes = dual if targets.values is not None else dual * _signs(targets)
        weights[:] = before + variance * rows.combined(pushes)
        change = _descend(rows, targets, aggressiveness, variance, weights, dual, tol, n_threads)
    if change > 100 * tol:
        warnings.warn(
            f"the dual of a mini-batch of {rows.n} examples has not converged: a margin still moves by "
            f"{change:.1e}; use a smaller cost or smaller batches",
            ConvergenceWarning,
            stacklevel=2,
        )
    return dual


def _descend(
    rows: Rows,
    targets: Wanted,
    aggressiveness: float,
    variance: float,
    weights: Floats,
    dual: Floats,
    tol: float,
    n_threads: int,
) -> float:
    """Sweep over the examples; return by how much the last sweep moved a margin."""
    loss, change, order = np.zeros(targets.n_tasks), np.zeros(targets.n_tasks), np.arange(rows.n)
    for _ in range(_SWEEPS):
        _native.aggressive(
            rows,
            targets,
            order,
            aggressiveness=aggressiveness,
            squared=False,
            variance=variance,
            weights=weights,
            dual=dual,
            drift=None,
            seen=0,
            loss=loss,
            change=change,
            n_threads=n_threads,
        )
        if rows.n == 1:  # its first step is exact
            return 0.0
        if change.max() <= tol:
            break
    return float(change.max())


def _signs(targets: Wanted) -> Floats:
    """Return the labels as ±1 for each task, shape (n, T)."""
    return np.where(np.asarray(targets.labels)[:, None] == np.arange(targets.n_tasks), 1.0, -1.0)


def _interior_point(
    rows: Rows, targets: Wanted, aggressiveness: float, variance: float, weights: Floats, n_threads: int
) -> Floats:
    """Return duals (n, T) close to the optimum, by a primal-dual path for all tasks at once.

    A hinge is a constraint sign f + ξ = bound + a with slacks ξ, a ≥ 0 and duals τ, η = C cost − τ ≥ 0.
    The optimum has aτ = ξη = 0; each step is Newton's for aτ = ξη = μ with a smaller μ. Arrays are (hinges,
    T, n): one hinge per row for a classifier, two for a regressor.
    """
    dual = np.zeros((rows.n, targets.n_tasks))
    shown = np.flatnonzero(targets.cost)
    rows, targets = rows.take(shown), targets.take(shown)
    if targets.values is not None:
        sign = np.array([1.0, -1.0])[:, None, None]
        bound = sign * targets.values.T - targets.margin
    else:
        sign, bound = _signs(targets).T[None], np.full((1, 1, 1), targets.margin)
    limit = np.broadcast_to(aggressiveness * targets.cost, (len(sign), targets.n_tasks, rows.n))
    gram = variance * rows.decide(rows.dense().T, n_threads)  # K = v XXᵀ
    tau = eta = 0.5 * limit
    f = rows.decide(weights + variance * rows.combined((sign * tau).sum(axis=0).T), n_threads).T
    xi = np.maximum(bound - sign * f, 0.0) + 1.0
    a = sign * f + xi - bound
    for _ in range(100):
        mu = 0.1 * (a * tau + xi * eta).mean(axis=(0, 2), keepdims=True)
        if (mu <= 1e-13 * limit.min()).all():
            break
        curvature = a / tau + xi / eta
        residual = mu / tau - a - mu / eta + xi
        theta = (1.0 / curvature).sum(axis=0)
        pull = (sign * residual / curvature).sum(axis=0)
        # Σ sign Δτ = pull − θ Δf and Δf = K Σ sign Δτ: an n × n system for each task.
        matrices = gram + np.eye(len(gram)) / theta[:, None, :]
        factors, failed = linalg.cholesky(matrices, n_threads=n_threads)
        if (failed >= 0).any():  # by rounding, at the end of the path
            break
        step_f = (pull - linalg.solve(factors, pull / theta, n_threads=n_threads)) / theta
        step_tau = (residual - sign * step_f) / curvature
        step_xi = (mu - xi * eta + xi * step_tau) / eta
        step_a = sign * step_f + step_xi
        shrinking = [
            np.max(-step / value, axis=(0, 2), keepdims=True)
            for value, step in ((tau, step_tau), (eta, -step_tau), (xi, step_xi), (a, step_a))
        ]
        size = 1.0 / np.maximum(np.max(shrinking, axis=0) / 0.99, 1.0)
        tau, eta = tau + size * step_tau, eta - size * step_tau
        xi, a = xi + size * step_xi, a + size * step_a
    dual[shown] = (tau if targets.values is None else sign * tau).sum(axis=0).T
    return dual  # the next sweep moves duals near a bound to the bound
