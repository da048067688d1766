"""What all posteriors share: arrays of natural parameters, and arithmetic on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa.native.linalg import add_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

Floats = NDArray[np.float64]
GRID = 2.0**-20  # sums of multiples of it are exact up to 2^33, in any order


P = TypeVar("P", bound="Posterior")


@dataclass(frozen=True)
class Columns(Generic[P]):
    """Statistics of some columns of a posterior only: a mini-batch knows few words of a large vocabulary.

    Parameters
    ----------
    columns : array of shape (u,), int64
        Different columns, such as the words of a mini-batch.
    part : Posterior
        Statistics whose arrays have u columns.

    Examples
    --------
    >>> from bayespa.posteriors import Dirichlet
    >>> posterior = Dirichlet.prior(1, 5, eta=0.5).copy()
    >>> posterior += Columns(np.array([1, 4]), Dirichlet([[2, 3]]))
    >>> posterior.concentration
    array([[0.5, 2.5, 0.5, 0.5, 3.5]])
    """

    columns: NDArray[np.int64]
    part: P


class Posterior(ABC):
    """Natural parameters that add: what Gaussian, Dirichlet and Sticks have in common.

    ``+``, ``-`` and ``*`` by a number make a new posterior; ``+=`` and ``-=`` write into the arrays, with no
    temporary. Read-only arrays, such as a prior's, stay as they are: there ``+=`` makes a new posterior.
    ``==`` compares every number exactly.
    """

    names: ClassVar[tuple[str, ...]]  # of the arrays, in the order of _arrays
    _arrays: tuple[Floats, ...]

    @abstractmethod
    def __init__(self, **arrays: ArrayLike) -> None:
        """Check and keep the arrays called `names`."""

    @classmethod
    def unchecked(cls, *arrays: Floats) -> Self:
        """Make a posterior of arrays that need no check, laid out in memory as it keeps them."""
        posterior = cls.__new__(cls)
        posterior._arrays = arrays
        return posterior

    @property
    def _order(self) -> Literal["C", "F"]:
        return "F"  # feature-major: the arrays are transposed views

    @abstractmethod
    def require_proper(self) -> Self:
        """Return this posterior if it is a distribution, else raise ValueError."""

    @abstractmethod
    def kl(self, other: Self) -> Floats:
        """Return the Kullback-Leibler divergence KL(self || other) of each task, topic or stick."""

    def __add__(self, other: Self) -> Self:
        return self.unchecked(*(np.add(a, b, order=self._order) for a, b in self._pairs(other)))

    def __sub__(self, other: Self) -> Self:
        return self.unchecked(*(np.subtract(a, b, order=self._order) for a, b in self._pairs(other)))

    def __mul__(self, factor: float) -> Self:
        return self.unchecked(*(np.multiply(a, factor, order=self._order) for a in self._arrays))

    __rmul__ = __mul__

    def __iadd__(self, other: Self | Columns[Self]) -> Self:
        return self._update(np.add, other)

    def __isub__(self, other: Self | Columns[Self]) -> Self:
        return self._update(np.subtract, other)

    def _update(self, operation: np.ufunc, other: Self | Columns[Self]) -> Self:
        if not self._writeable():
            return self.copy()._update(operation, other)
        if isinstance(other, Columns):
            self._require_columns(other)
            sign = 1.0 if operation is np.add else -1.0
            for a, b in zip(self._arrays, other.part._arrays, strict=True):
                rows, part = np.atleast_2d(a).T, np.atleast_2d(b).T
                sums, on_grid = add_rows(rows, other.columns, part, sign=sign, grid=GRID)
                self._moved(sign * sums if on_grid else None)
        else:
            for a, b in self._pairs(other):
                operation(a, b, out=a)
            self._moved(None)
        return self

    def _moved(self, by: Floats | None) -> None:  # noqa: B027  # most posteriors keep nothing but the arrays
        """Take note of an update, and of what it added to the sums over columns if that is exact."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(map(np.array_equal, self._arrays, other._arrays))

    def _pairs(self, other: Self) -> list[tuple[Floats, Floats]]:
        """Return the arrays of both by name, if they are of one shape."""
        self._require_same_type(other)
        for name, a, b in zip(self.names, self._arrays, other._arrays, strict=True):
            if a.shape != b.shape:
                raise ValueError(
                    f"{name} has shape {a.shape} in one {type(self).__name__} and {b.shape} in the other; "
                    "use one structure, and extended(prior) to make room"
                )
        return list(zip(self._arrays, other._arrays, strict=True))

    def _require_columns(self, other: Columns[Self]) -> None:
        """Refuse statistics that `other.columns` of every array have no room for."""
        self._require_same_type(other.part)
        expected = (*self._arrays[0].shape[:-1], len(other.columns))
        for name, a, b in zip(self.names, self._arrays, other.part._arrays, strict=True):
            if a.shape != self._arrays[0].shape or b.shape != expected:
                raise ValueError(
                    f"{name} of shape {b.shape} cannot go to {len(other.columns)} columns of one of shape "
                    f"{a.shape}; columns are the last axis of arrays that all have one shape, as in a "
                    "Dirichlet or a diagonal Gaussian"
                )

    def _require_same_type(self, other: Posterior) -> None:
        if type(other) is not type(self):
            raise TypeError(f"cannot combine {type(self).__name__} with {type(other).__name__}")

    def _writeable(self) -> bool:
        return all(array.flags.writeable for array in self._arrays)

    def discounted(self, rho: float, prior: Self) -> Self:
        """Forget: prior + rho (posterior - prior), exactly the posterior at rho = 1 and the prior at 0.

        Examples
        --------
        >>> from bayespa.posteriors import Dirichlet
        >>> prior = Dirichlet.prior(1, 3, eta=0.5)
        >>> (prior + Dirichlet([[8, 4, 0]])).discounted(0.25, prior).concentration
        array([[2.5, 1.5, 0.5]])
        """
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"rho is {rho}; it must lie between 0 (forget all) and 1 (keep all)")
        result = self * rho
        result += prior * (1.0 - rho)  # a convex combination: no cancellation, so what was proper stays so
        return result

    def merge(self, other: Self, prior: Self) -> Self:
        """Join what two learners made of one prior: self + other - prior, the common ancestor counted once.

        Examples
        --------
        >>> from bayespa.posteriors import Dirichlet
        >>> prior = Dirichlet.prior(1, 3, eta=0.5)
        >>> left, right = prior + Dirichlet([[1, 2, 0]]), prior + Dirichlet([[0, 3, 4]])
        >>> left.merge(right, prior).concentration
        array([[1.5, 5.5, 4.5]])
        """
        result = self + other
        result -= prior
        return result

    def extended(self, prior: Self) -> Self:
        """Grow to the size of `prior`: this posterior where it has entries, the prior elsewhere.

        Examples
        --------
        >>> from bayespa.posteriors import Dirichlet
        >>> Dirichlet([[1, 2, 0]]).extended(Dirichlet.prior(2, 4, eta=0.5)).concentration
        array([[1. , 2. , 0. , 0.5],
               [0.5, 0.5, 0.5, 0.5]])
        """
        self._require_same_type(prior)
        result = prior.copy()
        for name, old, new in zip(self.names, self._arrays, result._arrays, strict=True):
            if old.ndim != new.ndim or any(a > b for a, b in zip(old.shape, new.shape, strict=True)):
                raise ValueError(f"{name} of shape {old.shape} does not fit in a prior of shape {new.shape}")
            new[tuple(slice(n) for n in old.shape)] = old
        return result

    def copy(self) -> Self:
        """Return a posterior with arrays of its own, writeable and contiguous."""
        return self.unchecked(*(np.array(array, order=self._order) for array in self._arrays))

    def to_arrays(self) -> dict[str, Floats]:
        """Return the natural parameters by name: all that a file has to keep. The arrays are not copied."""
        return dict(zip(self.names, self._arrays, strict=True))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Make a posterior of what `to_arrays` returned, checking it like any input.

        Examples
        --------
        >>> from bayespa.posteriors import Sticks
        >>> sticks = Sticks.prior(3, gamma=2.0)
        >>> Sticks.from_arrays(sticks.to_arrays()) == sticks
        True
        """
        if set(arrays) != set(cls.names):
            raise ValueError(f"{cls.__name__} needs the arrays {list(cls.names)}, not {list(arrays)}")
        return cls(**arrays)


IMPROPER = "add statistics to a prior, and subtract only what was added before"


def finite(name: str, value: ArrayLike) -> Floats:
    """Return `value` as float64, if it holds real and finite numbers only."""
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, not {array.dtype}")
    if not np.isfinite(array).all():
        index = np.argwhere(~np.isfinite(array))[0].tolist()
        raise ValueError(f"{name}{index} is {array[tuple(index)]!s}; every entry must be finite")
    return np.asarray(array, dtype=np.float64)


def positive(name: str, value: float) -> float:
    """Return `value` if it is positive and finite."""
    if not 0.0 < value < np.inf:
        raise ValueError(f"{name} is {value}; it must be positive and finite")
    return value
