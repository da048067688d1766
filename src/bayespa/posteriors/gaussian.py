"""Gaussian posteriors of the weights of several tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa import _native
from bayespa.native import linalg
from bayespa.native.elementary import log
from bayespa.posteriors.posterior import IMPROPER, Floats, Posterior, finite, positive

if TYPE_CHECKING:
    from typing_extensions import Self

Structure = Literal["full", "diagonal", "isotropic"]


class Gaussian(Posterior):
    """Normal distributions of T weight vectors of length D, one per task.

    Parameters
    ----------
    shift : array of shape (T, D)
        h = Σ⁻¹μ.
    precision : array of shape (T, D, D), (T, D) or (T,)
        P = Σ⁻¹. Its shape gives the structure: full, diagonal or isotropic. A full precision must be exactly
        symmetric, and stays so.

    Examples
    --------
    >>> prior = Gaussian.prior(n_tasks=2, dim=3, scale=0.5, structure="diagonal")
    >>> posterior = prior + Gaussian([[4, 0, 0], [0, 6, 0]], [[4, 0, 0], [0, 8, 0]])
    >>> posterior.mean()
    array([[0.5, 0. , 0. ],
           [0. , 0.5, 0. ]])
    """

    names = ("shift", "precision")
    _known: tuple[Floats, Floats] | None = None  # the moments, computed on demand

    def __init__(self, shift: ArrayLike, precision: ArrayLike) -> None:
        h, p = finite("shift", shift), finite("precision", precision)
        if h.ndim != 2:
            raise ValueError(f"shift has shape {h.shape}; it must be (tasks, dimensions)")
        n_tasks, dim = h.shape
        full, diagonal, isotropic = (n_tasks, dim, dim), (n_tasks, dim), (n_tasks,)
        if p.shape not in (full, diagonal, isotropic):
            raise ValueError(
                f"precision has shape {p.shape}; a shift of shape {h.shape} needs {full} (full), {diagonal} "
                f"(diagonal) or {isotropic} (isotropic)"
            )
        if p.ndim == 3 and (p != p.swapaxes(1, 2)).any():
            t, i, j = np.argwhere(p != p.swapaxes(1, 2))[0]
            raise ValueError(
                f"the precision of task {t} is not symmetric: [{i}, {j}] is {p[t, i, j]!s} and [{j}, {i}] is "
                f"{p[t, j, i]!s}; pass (P + P.swapaxes(1, 2)) / 2"
            )
        self._keep(h, p)

    @classmethod
    def prior(
        cls,
        n_tasks: int,
        dim: int,
        scale: float = 1.0,
        bias_scale: float = 0.0,
        structure: Structure = "full",
    ) -> Self:
        """Return N(0, scale² I + bias_scale² 11ᵀ) for every task.

        Parameters
        ----------
        n_tasks, dim : int
            T and D.
        scale : float
            Standard deviation v of a weight.
        bias_scale : float
            Standard deviation v_b of a number added to all weights. It acts as a bias if features sum to one,
            as topic proportions do. Needs the full structure.
        structure : {"full", "diagonal", "isotropic"}
            The form of the covariance within a task.

        Examples
        --------
        >>> Gaussian.prior(1, 2, scale=2.0, bias_scale=3.0).covariance().round(12)
        array([[[13.,  9.],
                [ 9., 13.]]])
        """
        weight, bias = positive("scale", scale) * scale, bias_scale * bias_scale
        if not 0.0 <= bias < np.inf:
            raise ValueError(f"bias_scale is {bias_scale}; it must be finite")
        if bias and structure != "full":
            raise ValueError(f"bias_scale correlates weights: it needs structure 'full', not {structure!r}")
        value: ArrayLike = 1.0 / weight
        if structure == "full":
            shape: tuple[int, ...] = (n_tasks, dim, dim)
            value = np.eye(dim) / weight - bias / (weight * (weight + dim * bias))  # Sherman-Morrison
        elif structure == "diagonal":
            shape = (n_tasks, dim)
        elif structure == "isotropic":
            shape = (n_tasks,)
        else:
            raise ValueError(f"structure is {structure!r}; use one of {', '.join(get_args(Structure))}")
        return cls.unchecked(np.broadcast_to(0.0, (n_tasks, dim)), np.broadcast_to(value, shape))

    def _keep(self, *arrays: Floats, own: bool = False) -> None:
        self._feature_major = arrays[1].ndim < 3
        super()._keep(*arrays, own=own)

    @property
    def shift(self) -> Floats:
        """Natural parameter h = Σ⁻¹μ, shape (T, D)."""
        return self._array(0)

    @property
    def precision(self) -> Floats:
        """Natural parameter P = Σ⁻¹, shape (T, D, D), (T, D) or (T,)."""
        return self._array(1)

    @property
    def structure(self) -> Structure:
        """Form of the covariance within a task."""
        structures: dict[int, Structure] = {3: "full", 2: "diagonal", 1: "isotropic"}
        return structures[len(self._tables[1].shape)]

    def __repr__(self) -> str:
        n_tasks, dim = self.shift.shape
        return f"<Gaussian: {n_tasks} tasks, {dim} dimensions, {self.structure}>"

    def extended(self, prior: Self) -> Self:
        """Extend to the size of `prior`; new tasks and dimensions are as in the prior.

        Examples
        --------
        >>> Gaussian([[1.0, 2.0]], [3.0]).extended(Gaussian.prior(2, 3, structure="isotropic")).shift
        array([[1., 2., 0.],
               [0., 0., 0.]])
        """
        result = super().extended(prior)
        dim = self.shift.shape[1]
        if self.structure == "full" and result.precision[:, :dim, dim:].any():
            raise ValueError(
                f"the prior correlates new dimensions with the first {dim}, whose posterior would change; "
                "use bias_scale=0 if dimensions will be added"
            )
        return result

    def continued(self, prior: Self, source: NDArray[np.int64], sign: Floats) -> Self:
        """Return `prior` in which task t continues task source[t] of this one, with its sign (-1: unchanged).

        Dimensions that only `prior` has stay unchanged.

        Examples
        --------
        >>> before = Gaussian([[1.0, 2.0]], [3.0])
        >>> prior = Gaussian.prior(2, 3, structure="isotropic")
        >>> before.continued(prior, np.array([-1, 0]), np.array([1.0, -1.0])).shift
        array([[ 0.,  0.,  0.],
               [-1., -2.,  0.]])
        """
        if np.array_equal(source, np.arange(len(self.shift))) and (sign > 0.0).all():
            return self.extended(prior)
        old, known = source >= 0, slice(self.shift.shape[1])
        shift, precision = (np.array(a, order="F" if self._feature_major else "C") for a in prior._arrays)
        shift[old, known] = sign[old, None] * self.shift[source[old]]
        where: tuple[Any, ...] = (old, *[known] * (self.precision.ndim - 1))
        precision[where] = self.precision[source[old]]
        return self.unchecked(shift, precision, own=True)

    def near(self, dimensions: NDArray[np.int64]) -> Self:
        """Return a diagonal Gaussian restricted to some dimensions, for a local step.

        >>> Gaussian([[1.0, 2.0, 4.0]], [[1.0, 1.0, 2.0]]).near(np.array([2])).mean()
        array([[2.]])
        """
        return self.unchecked(*(table.array.take(dimensions, axis=0).T for table in self._tables), own=True)

    def require_proper(self) -> Self:
        """Return this Gaussian if every precision is positive definite, else raise ValueError."""
        if self.structure == "full":
            self._factors()
        else:
            self._scalars()
        return self

    def _factors(self, n_threads: int = 1) -> Floats:
        """Return the Cholesky factors of full precisions."""
        factors, failed = linalg.cholesky(self.precision, n_threads=n_threads)
        _require_factors(failed)
        return factors

    def _scalars(self) -> Floats:
        """Return diagonal or isotropic precisions in a shape that broadcasts against (T, D)."""
        precision = self.precision if self.structure == "diagonal" else self.precision[:, None]
        if not (precision > 0.0).all():
            task, i = np.argwhere(~(precision > 0.0))[0]
            raise ValueError(
                f"the precision of task {task} is not positive ({precision[task, i]!s} at dimension {i}); "
                f"{IMPROPER}"
            )
        return precision

    def moments(self, *, n_threads: int = 1) -> tuple[Floats, Floats]:
        """Return the mean μ (T, D) and the covariance Σ in the shape of `precision`, computed together.

        With the full structure they are computed once, and read-only.
        """
        if self.structure != "full":
            return self.new_moments()
        if self._known is None:
            mean, covariance = self.new_moments(n_threads=n_threads)
            mean.flags.writeable = covariance.flags.writeable = False
            self._known = mean, covariance
        return self._known

    def new_moments(self, *, n_threads: int = 1) -> tuple[Floats, Floats]:
        """Return the same in writeable arrays."""
        if self.structure != "full":
            return self.mean(), np.divide(1.0, self.precision, order="F")
        shift, precision = (np.ascontiguousarray(table.array) for table in self._tables)
        mean, covariance = np.empty(shift.shape), np.empty(precision.shape)
        failed = np.empty(len(shift), np.int64)
        _native.moments(shift, precision, mean, covariance, failed, n_threads)
        _require_factors(failed)
        return mean, covariance

    def mean(self, *, n_threads: int = 1) -> Floats:
        """Return μ, shape (T, D)."""
        if self.structure == "full":
            return linalg.solve(self._factors(n_threads), self.shift, n_threads=n_threads)
        return np.divide(self.shift, self._scalars(), order="F")

    def covariance(self, *, n_threads: int = 1) -> Floats:
        """Return Σ in the shape of `precision`: (T, D, D), (T, D) or (T,)."""
        return self.moments(n_threads=n_threads)[1]

    def variance(self, dimensions: NDArray[np.int64] | None = None, *, n_threads: int = 1) -> Floats:
        """Return the variance of each weight, or of some dimensions, (T, D), for any structure."""
        if self.structure == "diagonal" and dimensions is not None:
            return np.divide(1.0, self._tables[1].array.take(dimensions, axis=0).T, order="F")
        covariance = self.covariance(n_threads=n_threads)
        if self.structure == "full":
            covariance = np.diagonal(covariance, axis1=1, axis2=2)
        elif self.structure == "isotropic":
            covariance = np.broadcast_to(covariance[:, None], self.shift.shape)
        return np.array(covariance if dimensions is None else covariance[:, dimensions], order="F")

    def quadratic(self, x: ArrayLike, *, n_threads: int = 1) -> Floats:
        """Return xᵀΣx, the variance of the margin wᵀx, of each row of x (N, D) and each task: (N, T).

        Examples
        --------
        >>> Gaussian.prior(2, 3, scale=2.0).quadratic([[1.0, 0.0, 2.0]])
        array([[20., 20.]])
        """
        rows = finite("x", x)
        dim = self.shift.shape[1]
        if rows.ndim != 2 or rows.shape[1] != dim:
            raise ValueError(f"x has shape {rows.shape}; it must be (N, {dim})")
        if self.structure == "full":
            return linalg.quadratic(self._factors(n_threads), rows, n_threads=n_threads).T
        if self.structure == "diagonal":
            return linalg.weighted_squares(rows, self.covariance().T, n_threads=n_threads)
        return linalg.weighted_squares(rows, np.ones((dim, 1)), n_threads=n_threads) * self.covariance()

    def kl(self, other: Self, *, n_threads: int = 1) -> Floats:
        """Return the Kullback-Leibler divergence KL(self || other) of each task, shape (T,).

        Examples
        --------
        >>> prior = Gaussian.prior(1, 2, structure="isotropic")
        >>> (prior + Gaussian([[1.0, 0.0]], [0.0])).kl(prior)
        array([0.5])
        """
        self._matching(other)
        if self.structure == "full":
            p, q = self._factors(n_threads), other._factors(n_threads)
            d = linalg.solve(p, self.shift) - linalg.solve(q, other.shift)
            second_moment = linalg.inverse(p, n_threads=n_threads) + d[:, :, None] * d[:, None, :]
            kl: Floats = (other.precision * second_moment).sum(axis=(1, 2)) - self.shift.shape[1]
            kl += linalg.log_determinant(p) - linalg.log_determinant(q)
        else:
            ratio = other._scalars() / self._scalars()
            d = self.mean() - other.mean()
            kl = (ratio - 1.0 - log(ratio) + other._scalars() * d * d).sum(axis=1)
        return np.maximum(0.5 * kl, 0.0)  # negative only by rounding


def _require_factors(failed: NDArray[np.int64]) -> None:
    """Raise a ValueError that names the first matrix that could not be factored (-1: it could)."""
    if (failed >= 0).any():
        task = np.argmax(failed >= 0)
        raise ValueError(
            f"the precision of task {task} is not positive definite (elimination stops at dimension "
            f"{failed[task]}); {IMPROPER}"
        )
