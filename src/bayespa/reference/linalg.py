"""The linear algebra of native/linalg.inc.h, one matrix and one elimination step at a time.

The native kernels take four steps at a time. That changes no bit: the same products are still subtracted from
each element in the same order.
"""

import numpy as np
from numpy.typing import NDArray

from bayespa.reference.elementary import log64

Floats = NDArray[np.float64]


def cholesky(matrices: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Twin of :func:`bayespa.native.linalg.cholesky`."""
    factors = np.triu(matrices)
    failed = np.full(len(matrices), -1)
    for t, r in enumerate(factors):
        for i, row in enumerate(r):
            if not 0.0 < row[i] < np.inf:
                failed[t] = i
                break
            row[i] = np.sqrt(row[i])
            row[i + 1 :] /= row[i]
            r[i + 1 :, i + 1 :] -= np.triu(row[i + 1 :, None] * row[i + 1 :])
    return factors + np.triu(factors, 1).swapaxes(1, 2), failed


def log_determinant(factors: Floats) -> Floats:
    """Twin of :func:`bayespa.native.linalg.log_determinant`."""
    pivots = log64(np.diagonal(factors, axis1=1, axis2=2))
    return 2.0 * np.cumsum(pivots, axis=1)[:, -1]


def _solve_lower(r: Floats, x: Floats) -> None:
    for i in range(len(r)):
        x[i] /= r[i, i]
        x[i + 1 :] -= np.multiply.outer(r[i, i + 1 :], x[i])


def _solve_upper(r: Floats, x: Floats) -> None:
    for i in reversed(range(len(r))):
        x[i] /= r[i, i]
        x[:i] -= np.multiply.outer(r[:i, i], x[i])


def solve(factors: Floats, x: Floats) -> Floats:
    """Twin of :func:`bayespa.native.linalg.solve`."""
    solution = x.copy()
    for r, column in zip(factors, solution, strict=True):
        _solve_lower(r, column)
        _solve_upper(r, column)
    return solution


def quadratic(factors: Floats, x: Floats) -> Floats:
    """Twin of :func:`bayespa.native.linalg.quadratic`."""
    out = np.empty((len(factors), len(x)))
    for t, r in enumerate(factors):
        y = x.T.copy()
        _solve_lower(r, y)
        out[t] = np.cumsum(y * y, axis=0)[-1]
    return out


def inverse(factors: Floats) -> Floats:
    """Twin of :func:`bayespa.native.linalg.inverse`."""
    out = np.empty_like(factors)
    for t, r in enumerate(factors):
        columns = np.eye(len(r))
        _solve_lower(r, columns)
        _solve_upper(r, columns)
        out[t] = np.tril(columns) + np.tril(columns, -1).T
    return out


def moments(shift: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Twin of the native `moments`: means and variances of Gaussians with positive definite precisions."""
    factors, _ = cholesky(precision)
    return solve(factors, shift), inverse(factors)


def weighted_squares(x: Floats, weights: Floats) -> Floats:
    """Twin of :func:`bayespa.native.linalg.weighted_squares`."""
    out = np.zeros((len(x), weights.shape[1]))
    for i, row in enumerate(weights):
        out += (x[:, i] * x[:, i])[:, None] * row
    return out


def regression_sums(x: Floats, weights: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Twin of :func:`bayespa.native.linalg.regression_sums`."""
    shift = np.zeros((weights.shape[1], x.shape[1]))
    precision = np.zeros((*shift.shape, x.shape[1]))
    for row, weight, value in zip(x, weights, values, strict=True):
        shift += value[:, None] * row
        precision += (weight[:, None] * row)[:, :, None] * row
    return shift, np.tril(precision) + np.tril(precision, -1).swapaxes(1, 2)


def add_rows(
    a: Floats,
    rows: NDArray[np.int64],
    part: Floats,
    *,
    sign: float,
    grid: float,
    ledger: Floats,
    turn: int = 0,
) -> None:
    """Add `sign` times the rows of `part` (N, K) to the given rows, all different, of a (W, K), in place.

    Parameters
    ----------
    a : array of shape (W, K)
    rows : array of shape (N,)
    part : array of shape (N, K)
    sign : float
        1 or -1.
    grid : float
        A power of two; sums are exact if all of `part` are multiples of it and below 2^51 of it.
    ledger : array of shape (2 + K,)
        See `bayespa.native.linalg.new_ledger`.
    turn : int
        The place of this update among those of the ledger. Repeating an update that was made does nothing.

    Examples
    --------
    >>> a, ledger = np.ones((3, 2)), np.array([0.0, 1.0, 0.0, 0.0])
    >>> for _ in range(2):
    ...     add_rows(a, np.array([2, 0]), np.array([[0.5, 1], [0, 4]]), sign=1.0, grid=0.5, ledger=ledger)
    >>> a, ledger
    (array([[1. , 5. ],
           [1. , 1. ],
           [1.5, 2. ]]), array([1. , 1. , 0.5, 5. ]))
    """
    if ledger[0] != turn:
        return
    a[rows] += sign * part
    sums = np.zeros(a.shape[1])
    for row in part:
        sums += row
    cells = part / grid
    if not ((np.rint(cells) == cells).all() and (np.abs(cells) < 2.0**51).all()):
        ledger[1] = 0.0
    ledger[2:] += sign * sums
    ledger[0] += 1.0


def add_counts(
    a: Floats,
    rows: NDArray[np.int64],
    counts: NDArray[np.int32],
    *,
    weight: float,
    grid: float,
    ledger: Floats,
    turn: int = 0,
) -> None:
    """Add `weight` times counts (N, K), rounded to multiples of `grid`, to some rows of a (W, K), in place.

    The weight is below 2^20 times `grid`, so that any count fits. Everything else is as in `add_rows`.
    """
    if ledger[0] != turn:
        return
    x = np.rint(counts * (weight / grid)) * grid
    a[rows] += x
    ledger[2:] += x.sum(axis=0)  # exact in any order
    ledger[0] += 1.0
