"""The averaging classifier's update of a mini-batch: a box-constrained dual for each task. [PA-2] [MED-7].

`bayespa.reference.dual` is the readable twin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespa import _native

Floats = NDArray[np.float64]


def solve_dual(
    mean: Floats,
    covariance: Floats,
    x: Floats,
    labels: NDArray[np.float32],
    *,
    margin: float,
    bound: float,
    regression: bool,
    tol: float = 1e-3,
    max_sweeps: int = 1000,
    n_threads: int = 1,
) -> tuple[Floats, Floats]:
    """Maximise the dual of q(w) = N(μ, Σ) with margin losses, by coordinate descent in the order of the rows.

    Parameters
    ----------
    mean : (T, K)
        μ before the mini-batch.
    covariance : (T, K, K)
        Σ, which does not change.
    x : (n, K)
        Features: E z̄ of the documents.
    labels : (n, T)
        ±1, or targets if `regression`; NaN: no constraint.
    margin : float
        ε, the margin or the half-width of the tube.
    bound : float
        Largest dual variable: 2c.
    regression : bool
        Whether losses are two-sided.
    tol : float
        Stop after a sweep in which no dual variable changes by more than `tol` times `bound`.
    max_sweeps : int
        Stop after so many sweeps in any case.
    n_threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    dual : (n, T)
        Signed dual variables: τy for a classifier.
    mean : (T, K)
        μ + Σ Σ_d dual_d x_d.

    Examples
    --------
    One example, as in Crammer's PA-I, τ = min(C, ℓ / |x|²):

    >>> dual, mean = solve_dual(
    ...     np.zeros((1, 2)), np.eye(2)[None], np.array([[1.0, 2.0]]), np.array([[-1]], np.float32),
    ...     margin=1.0, bound=10.0, regression=False)
    >>> dual, mean
    (array([[-0.2]]), array([[-0.2, -0.4]]))
    """
    dual, moved = np.zeros(labels.shape), np.array(mean, order="C")
    _native.solve_dual(
        x, covariance, labels, margin, bound, regression, tol, max_sweeps, moved, dual, n_threads
    )
    return dual, moved
