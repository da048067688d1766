"""Examples and targets as the native linear steps read them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa import _native

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Sparse examples. Their weights are feature-major, (n_columns + 1, tasks), the bias in the last row."""

    indptr: Integers  # (n + 1,)
    indices: NDArray[np.int32]
    values: Floats
    n_columns: int
    bias: float = 0.0  # the value of the feature that every example has; 0: no intercept

    @classmethod
    def of(cls, X: Any) -> Rows:
        """Make rows from a finite array or sparse matrix of shape (n, n_columns), without a bias."""
        from scipy import sparse

        csr = sparse.csr_matrix(X, dtype=np.float64)
        if not (csr.has_canonical_format and csr.data.all()):
            csr = csr.copy()  # the arrays are the caller's
            csr.sum_duplicates()
            csr.eliminate_zeros()  # what a dense X leaves out, a sparse one does too: the same bits
        indices = csr.indices.astype(np.int32, copy=False)
        return cls(csr.indptr.astype(np.int64, copy=False), indices, csr.data, csr.shape[1])

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    def length(self) -> float:
        """Return the root mean square of the Euclidean lengths of the rows."""
        return float(np.sqrt((self.values * self.values).sum() / self.n))

    def slice(self, first: int, last: int) -> Rows:
        """Return the rows from `first` up to, not including, `last`."""
        start, stop = self.indptr[first], self.indptr[last]
        return replace(
            self,
            indptr=self.indptr[first : last + 1] - start,
            indices=self.indices[start:stop],
            values=self.values[start:stop],
        )

    def take(self, order: Integers) -> Rows:
        """Return some rows, in the order given."""
        n_entries = np.diff(self.indptr)[order]
        indptr = np.concatenate(([0], np.cumsum(n_entries)))
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[order] - indptr[:-1], n_entries)
        return replace(self, indptr=indptr, indices=self.indices[entries], values=self.values[entries])

    def compact(self) -> tuple[Integers, Rows]:
        """Return the columns in use, the bias last, and the same rows over these columns alone."""
        if self.n_columns > 64 * len(self.indices):
            found, inverse = np.unique(self.indices, return_inverse=True)
            columns, indices = np.append(found, self.n_columns).astype(np.int64), inverse.astype(np.int32)
        else:  # a table of all columns is faster than sorting
            used = np.zeros(self.n_columns + 1, np.bool_)
            used[self.indices] = used[-1] = True
            columns = np.flatnonzero(used)
            place = np.empty(self.n_columns + 1, np.int32)
            place[columns] = np.arange(len(columns))
            indices = place[self.indices]
        return columns, replace(self, indices=indices, n_columns=len(columns) - 1)

    def squared(self) -> Rows:
        """Return x² of every entry, for variances: xᵀΣx with diagonal Σ is linear in x²."""
        return replace(self, values=self.values * self.values, bias=self.bias * self.bias)

    def dense(self) -> Floats:
        """Return the rows as an array of shape (n, n_columns + 1), the bias in the last column."""
        array = np.zeros((self.n, self.n_columns + 1))
        array[np.repeat(np.arange(self.n), np.diff(self.indptr)), self.indices] = self.values
        array[:, -1] = self.bias
        return array

    def decide(self, weights: Floats, n_threads: int = 1) -> Floats:
        """Return wᵀx of every row and task, (n, tasks), for weights (n_columns + 1, tasks)."""
        out = np.empty((self.n, weights.shape[1]))
        _native.decide(self, np.ascontiguousarray(weights), out, n_threads)
        return out

    def combined(self, shares: Floats) -> Floats:
        """Return Σ_i shares[i, t] x_i, shape (n_columns + 1, tasks), for shares (n, tasks)."""
        from scipy import sparse

        csr = sparse.csr_matrix((self.values, self.indices, self.indptr), shape=(self.n, self.n_columns))
        features = Rows.of(csr.T)  # a row for each column, whose constant feature adds nothing
        total = features.decide(np.vstack([shares, np.zeros_like(shares[:1])]))
        return np.vstack([total, self.bias * shares.sum(axis=0)])


@dataclass(frozen=True)
class Wanted:
    """What T tasks want of n rows: a class for a classifier, values for a regressor."""

    labels: NDArray[np.int32] | None  # (n,): task t wants +1 where labels == t, else -1
    values: Floats | None  # (n, T), of a regressor
    cost: Floats  # (n,): weight of an example
    n_tasks: int
    margin: float

    @property
    def lower(self) -> Floats:
        """Where the zone begins in which a prediction costs nothing, (n, T); of a regressor."""
        return np.asarray(self.values) - self.margin

    @property
    def upper(self) -> Floats:
        """Where that zone ends, (n, T)."""
        return np.asarray(self.values) + self.margin

    def loss(self, f: Floats) -> float:
        """Return the hinge or epsilon-insensitive loss of margins f (n, T), summed with all weights."""
        if self.values is not None:
            excess = np.abs(self.values - f) - self.margin
        else:
            positive = np.asarray(self.labels)[:, None] == np.arange(self.n_tasks)
            excess = self.margin - np.where(positive, f, -f)
        return float((self.cost[:, None] * np.maximum(excess, 0.0)).sum())

    def take(self, rows: Integers | slice) -> Wanted:
        """Return the targets of some rows."""
        return replace(
            self,
            labels=None if self.labels is None else self.labels[rows],
            values=None if self.values is None else self.values[rows],
            cost=self.cost[rows],
        )


@dataclass(frozen=True)
class Zones:
    """Where T tasks want the margins of n rows to lie: in [lower, upper], whose ends may be infinite."""

    lower: Floats  # (n, T)
    upper: Floats  # (n, T)
    cost: Floats  # (n,): weight of a row
    labels: None = None
    margin: float = 0.0

    @property
    def n_tasks(self) -> int:
        """Number of tasks, T."""
        return int(self.lower.shape[1])


@dataclass(frozen=True)
class Examples:
    """A mini-batch: rows and their targets."""

    rows: Rows
    targets: Wanted

    def take(self, order: Integers) -> Examples:
        """Return some examples, in the order given."""
        return Examples(self.rows.take(order), self.targets.take(order))

    def split(self, size: int | None) -> list[Examples]:
        """Cut into mini-batches of `size` examples; None: all in one."""
        n = self.rows.n
        size = size or n
        cuts = [(i, min(i + size, n)) for i in range(0, n, size)]
        return [Examples(self.rows.slice(i, j), self.targets.take(slice(i, j))) for i, j in cuts]


def tilt(
    m: ArrayLike, s: ArrayLike, lower: ArrayLike, upper: ArrayLike, cost: float, method: str = "moments"
) -> Floats:
    """Tilt margins f ~ N(m, s) by exp(−2c (lower − f)₊ − 2c (f − upper)₊). [PA-3] [PA-4].

    Parameters
    ----------
    m, s, lower, upper : arrays that broadcast to one shape
        Mean and variance of the margins, and where the hinges start; upper may be infinite.
    cost : float
        c.
    method : {"moments", "augmented", "squared"}
        Exact moments, those of the augmented mean field, or those of the squared hinge [PA-5].

    Returns
    -------
    ndarray of that shape + (3,)
        Log normaliser (for "augmented" its lower bound), (m′ − m)/s and s′/s.

    Examples
    --------
    >>> tilt(0.0, 1.0, lower=1.0, upper=np.inf, cost=1.0).round(4)
    array([-1.1479,  1.    ,  0.4749])
    """
    arrays = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in (m, s, lower, upper)))
    flat = [np.ascontiguousarray(a).reshape(-1) for a in arrays]
    out = np.empty((arrays[0].size, 3))
    _native.tilt(flat[0], flat[1], flat[2], flat[3], cost, method, out)
    return out.reshape(*arrays[0].shape, 3)
