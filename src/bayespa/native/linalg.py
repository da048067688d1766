"""Batches of small dense symmetric matrices: the same bits on every CPU and for every number of threads.

LAPACK could compute this, but its last bits depend on the CPU, and these results become part of a model.
:mod:`bayespa.reference.linalg` is the readable twin.
"""

import numpy as np
from numpy.typing import NDArray

from bayespa import _native

__all__ = [
    "cholesky",
    "inverse",
    "log_determinant",
    "new_ledger",
    "quadratic",
    "regression_sums",
    "solve",
    "weighted_squares",
]

Floats = NDArray[np.float64]


def cholesky(matrices: Floats, *, n_threads: int = 1) -> tuple[Floats, NDArray[np.int64]]:
    """Factor A = RᵀR with R upper triangular, for each of T matrices.

    Parameters
    ----------
    matrices : array of shape (T, K, K)
        Symmetric matrices; only their upper triangles are read.
    n_threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    factors : array of shape (T, K, K)
        R on and above the diagonal, Rᵀ below it: what the other functions of this module take.
    failed : array of shape (T,)
        -1 for a positive definite matrix, otherwise the first pivot that is not positive and finite; such a
        matrix has no factor.

    Examples
    --------
    >>> factors, failed = cholesky(np.array([[[4.0, 2.0], [2.0, 5.0]], [[1.0, 2.0], [2.0, 1.0]]]))
    >>> factors[0]
    array([[2., 1.],
           [1., 2.]])
    >>> failed
    array([-1,  1])
    """
    factors = np.empty(matrices.shape)
    failed = np.empty(len(matrices), dtype=np.int64)
    _native.cholesky(np.ascontiguousarray(matrices), factors, failed, n_threads)
    return factors, failed


def log_determinant(factors: Floats) -> Floats:
    """Return log|A| of each factored matrix, shape (T,).

    Examples
    --------
    >>> log_determinant(cholesky(4.0 * np.eye(3)[None])[0]) / np.log(2)
    array([6.])
    """
    out = np.empty(len(factors))
    _native.log_determinant(factors, out)
    return out


def solve(factors: Floats, x: Floats, *, n_threads: int = 1) -> Floats:
    """Return A⁻¹x for each factored matrix and its own vector; x and the result have shape (T, K).

    Examples
    --------
    >>> solve(cholesky(4.0 * np.eye(2)[None])[0], np.array([[4.0, 8.0]]))
    array([[1., 2.]])
    """
    solution = np.array(x, order="C")
    _native.solve(factors, solution, n_threads)
    return solution


def quadratic(factors: Floats, x: Floats, *, n_threads: int = 1) -> Floats:
    """Return xᵀA⁻¹x of every factored matrix and every row of x (N, K), shape (T, N).

    Examples
    --------
    >>> quadratic(cholesky(4.0 * np.eye(2)[None])[0], np.array([[2.0, 2.0], [0.0, 4.0]]))
    array([[2., 4.]])
    """
    out = np.empty((len(factors), len(x)))
    _native.quadratic(factors, np.ascontiguousarray(x), out, n_threads)
    return out


def inverse(factors: Floats, *, n_threads: int = 1) -> Floats:
    """Return A⁻¹ of each factored matrix, exactly symmetric, shape (T, K, K).

    Examples
    --------
    >>> inverse(cholesky(4.0 * np.eye(2)[None])[0])
    array([[[0.25, 0.  ],
            [0.  , 0.25]]])
    """
    out = np.empty(factors.shape)
    _native.inverse(factors, out, n_threads)
    return out


def weighted_squares(x: Floats, weights: Floats, *, n_threads: int = 1) -> Floats:
    """Return Σ_k x[n, k]² weights[k, t]: the quadratic forms of T diagonal matrices, shape (N, T).

    Parameters
    ----------
    x : array of shape (N, K)
    weights : array of shape (K, T)
        The diagonals, one column each.
    n_threads : int
        Threads to use; the result does not depend on it.

    Examples
    --------
    >>> weighted_squares(np.array([[1.0, 2.0]]), np.array([[1.0, 0.5], [1.0, 2.0]]))
    array([[5. , 8.5]])
    """
    out = np.empty((len(x), weights.shape[1]))
    _native.weighted_squares(np.ascontiguousarray(x), np.ascontiguousarray(weights), out, n_threads)
    return out


def regression_sums(
    x: Floats, weights: Floats, values: Floats, *, n_threads: int = 1
) -> tuple[Floats, Floats]:
    """Return what N weighted observations add to the natural parameters of T Gaussians.

    Parameters
    ----------
    x : array of shape (N, K)
    weights, values : arrays of shape (N, T)
    n_threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    shift : array of shape (T, K)
        Σ_n values[n, t] x[n].
    precision : array of shape (T, K, K)
        Σ_n weights[n, t] x[n] x[n]ᵀ, exactly symmetric.

    Examples
    --------
    >>> shift, precision = regression_sums(np.array([[1.0, 2.0]]), np.array([[3.0]]), np.array([[5.0]]))
    >>> shift, precision
    (array([[ 5., 10.]]), array([[[ 3.,  6.],
            [ 6., 12.]]]))
    """
    n_tasks, k = weights.shape[1], x.shape[1]
    shift, precision = np.empty((n_tasks, k)), np.empty((n_tasks, k, k))
    x, weights, values = map(np.ascontiguousarray, (x, weights, values))
    _native.regression_sums(x, weights, values, shift, precision, n_threads)
    return shift, precision


def new_ledger(n_columns: int) -> Floats:
    """Return a ledger (2 + K,) for one array: number of updates, whether all were exact, sums added."""
    ledger = np.zeros(2 + n_columns)
    ledger[1] = 1.0
    return ledger
