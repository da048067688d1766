"""Base class of posteriors: arrays of natural parameters, and arithmetic on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa import _native
from bayespa.posteriors.table import Table, Update

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

Floats = NDArray[np.float64]
GRID = 2.0**-20  # sums of its multiples are exact up to 2^33, in any order


P = TypeVar("P", bound="Sums")


class Piece(ABC):
    """Statistics of only some columns (u,) of a posterior."""

    columns: NDArray[np.int64]

    @abstractmethod
    def near(self) -> Self:
        """Return the same for a posterior that has only these columns."""

    @abstractmethod
    def updates(self, posterior: Sums, sign: float) -> list[Update]:
        """Return the updates of the tables of a posterior."""


@dataclass(frozen=True)
class Columns(Piece, Generic[P]):
    """Statistics of only some columns of a posterior: a mini-batch has few words of a large vocabulary.

    Parameters
    ----------
    columns : array of shape (u,), int64
        Different columns, such as the words of a mini-batch.
    part : Posterior
        Statistics whose arrays have u columns.

    Examples
    --------
    >>> from bayespa.posteriors import Dirichlet
    >>> posterior = Dirichlet.prior(1, 5, eta=0.5) + Columns(np.array([1, 4]), Dirichlet([[2, 3]]))
    >>> posterior.concentration
    array([[0.5, 2.5, 0.5, 0.5, 3.5]])
    """

    columns: NDArray[np.int64]
    part: P

    def near(self) -> Columns[P]:
        """Return the same for a posterior that has only these columns."""
        return Columns(np.arange(len(self.columns)), self.part)

    def updates(self, posterior: Sums, sign: float) -> list[Update]:
        """Return the updates of the tables, after checking that the columns fit."""
        posterior._require_same_type(self.part)
        shapes = [table.shape for table in posterior._tables]
        for name, a, b in zip(posterior.names, shapes, self.part._tables, strict=True):
            if len(a) < 2 or a != shapes[0] or b.shape != (len(self.columns), *a[1:]):
                raise ValueError(
                    f"{name} of shape {b.shape[::-1]} does not fit {len(self.columns)} columns of shape "
                    f"{a[::-1]}; columns are the last axis of arrays of equal shape, as in a Dirichlet or a "
                    "diagonal Gaussian"
                )
        add = partial(_native.add_rows, rows=self.columns, sign=sign, grid=GRID)
        return [partial(add, part=np.ascontiguousarray(table.array)) for table in self.part._tables]


class Sums(ABC):
    """Named arrays that add. Immutable: every operation makes a new posterior.

    ``+`` and ``-`` take the same type, `Columns` of it, or a list of `Columns`; ``*`` takes a number. ``==``
    compares every number exactly.
    """

    names: ClassVar[tuple[str, ...]]  # of the arrays
    _tables: tuple[Table, ...]
    _feature_major = True  # the tables are the transposed arrays

    @abstractmethod
    def __init__(self, **arrays: ArrayLike) -> None:
        """Check and store the arrays called `names`."""

    @classmethod
    def unchecked(cls, *arrays: Floats, own: bool = False) -> Self:
        """Make a posterior from arrays that need no check; `own` is that of `Table`."""
        posterior = cls.__new__(cls)
        posterior._keep(*arrays, own=own)
        return posterior

    def _keep(self, *arrays: Floats, own: bool = False) -> None:
        turned = [a.T for a in arrays] if self._feature_major else arrays
        # Arrays that share one value, as in a prior, stay so.
        kept = [a if a.flags.c_contiguous or not any(a.strides) else np.array(a, order="C") for a in turned]
        self._tables = tuple(
            Table(k, own=(own or k is not t) and k.flags.writeable) for k, t in zip(kept, turned, strict=True)
        )

    @property
    def _arrays(self) -> tuple[Floats, ...]:
        return tuple(map(self._array, range(len(self._tables))))

    def _settled(self) -> tuple[Floats, ...]:
        """Return the arrays for a moment: whoever keeps one has to hold its table, as those above do."""
        arrays = [table.settle() for table in self._tables]
        return tuple(a.T for a in arrays) if self._feature_major else tuple(arrays)

    def _array(self, i: int) -> Floats:
        array = self._tables[i].array
        return array.T if self._feature_major else array

    # Learning

    def __add__(self, other: Any) -> Self:
        return self.changed(plus=other)

    def __sub__(self, other: Any) -> Self:
        return self.changed(minus=other)

    def changed(self, plus: Any = None, minus: Any = None) -> Self:
        """Return self - minus + plus: learn a mini-batch, and subtract what it taught before."""
        changes = [(sign, other) for sign, other in ((-1.0, minus), (1.0, plus)) if other is not None]
        if all(isinstance(other, Piece | list) for _, other in changes):
            pieces = [(s, p) for s, other in changes for p in (other if isinstance(other, list) else [other])]
            return self._changed_columns(pieces) if pieces else self
        arrays, own = self._settled(), False
        for sign, other in changes:
            operation, others = np.add if sign > 0.0 else np.subtract, self._matching(other)
            arrays = tuple(
                operation(a, b, out=a if own else None) for a, b in zip(arrays, others, strict=True)
            )
            own = True
        return self.unchecked(*arrays, own=True)

    def _changed_columns(self, pieces: Sequence[tuple[float, Piece]]) -> Self:
        updates = zip(*(piece.updates(self, sign) for sign, piece in pieces), strict=True)
        result = self.__new__(type(self))
        result._feature_major = self._feature_major
        result._tables = tuple(t.changed(u) for t, u in zip(self._tables, updates, strict=True))
        result._follows(self)
        return result

    def _follows(self, before: Self) -> None:  # noqa: B027  # most keep nothing but the tables
        """Reuse what is known about the posterior before, of which some columns changed."""

    def __mul__(self, factor: float) -> Self:
        return self.unchecked(*(np.multiply(a, factor) for a in self._arrays), own=True)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(map(np.array_equal, self._arrays, other._arrays))

    def _matching(self, other: Any) -> tuple[Floats, ...]:
        """Return the arrays of another posterior of the same type and shapes."""
        self._require_same_type(other)
        arrays: tuple[Floats, ...] = other._settled()
        for name, table, b in zip(self.names, self._tables, arrays, strict=True):
            shape = table.shape[::-1] if self._feature_major else table.shape
            if shape != b.shape:
                raise ValueError(
                    f"{name} has shape {shape} in one {type(self).__name__} and {b.shape} in the other; "
                    "use the same structure, and extended(prior) to grow"
                )
        return arrays

    def _require_same_type(self, other: Any) -> None:
        if type(other) is not type(self):
            raise TypeError(f"cannot combine {type(self).__name__} with {type(other).__name__}")

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
        arrays = [np.multiply(a, rho) for a in self._arrays]
        for a, b in zip(arrays, self._matching(prior), strict=True):
            a += b * (1.0 - rho)  # no cancellation, so the result stays proper
        return self.unchecked(*arrays, own=True)

    def merge(self, other: Self, prior: Self) -> Self:
        """Merge two learners with a common prior: self + other - prior, so that the ancestor counts once.

        Examples
        --------
        >>> from bayespa.posteriors import Dirichlet
        >>> prior = Dirichlet.prior(1, 3, eta=0.5)
        >>> left, right = prior + Dirichlet([[1, 2, 0]]), prior + Dirichlet([[0, 3, 4]])
        >>> left.merge(right, prior).concentration
        array([[1.5, 5.5, 4.5]])
        """
        return self + other - prior

    def extended(self, prior: Self) -> Self:
        """Extend to the size of `prior`: this posterior where it has entries, the prior elsewhere.

        Examples
        --------
        >>> from bayespa.posteriors import Dirichlet
        >>> Dirichlet([[1, 2, 0]]).extended(Dirichlet.prior(2, 4, eta=0.5)).concentration
        array([[1. , 2. , 0. , 0.5],
               [0.5, 0.5, 0.5, 0.5]])
        """
        self._require_same_type(prior)
        if self._feature_major and self._only_rows_differ(prior):
            result = self.__new__(type(self))
            result._feature_major = True
            result._tables = tuple(
                old if old.shape == new.shape else old.grown(new.array[len(old.array) :])
                for old, new in zip(self._tables, prior._tables, strict=True)
            )
            result._grew(self, prior)
            return result
        grown = []
        for name, old, new in zip(self.names, self._arrays, prior._arrays, strict=True):
            if old.ndim != new.ndim or any(a > b for a, b in zip(old.shape, new.shape, strict=True)):
                raise ValueError(f"{name} of shape {old.shape} does not fit in a prior of shape {new.shape}")
            array = np.array(new, order="F" if self._feature_major else "C")
            array[tuple(slice(n) for n in old.shape)] = old
            grown.append(array)
        return self.unchecked(*grown, own=True)

    def _only_rows_differ(self, prior: Self) -> bool:
        shapes = [(old.shape, new.shape) for old, new in zip(self._tables, prior._tables, strict=True)]
        return all(len(a) == len(b) and a[0] <= b[0] and a[1:] == b[1:] for a, b in shapes)

    def _grew(self, before: Self, prior: Self) -> None:  # noqa: B027  # most keep nothing but the tables
        """Reuse what is known about the posterior before, which got the last columns of the prior."""

    # Files

    def to_arrays(self) -> dict[str, Floats]:
        """Return the natural parameters by name, read-only: all that a file stores."""
        return dict(zip(self.names, self._arrays, strict=True))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """Restore a posterior from what `to_arrays` returned, and check it.

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


class Posterior(Sums):
    """Natural parameters of distributions: the base of Gaussian, Dirichlet and others."""

    @abstractmethod
    def require_proper(self) -> Self:
        """Return this posterior if it is a distribution, else raise ValueError."""

    @abstractmethod
    def kl(self, other: Self) -> Floats:
        """Return the Kullback-Leibler divergence KL(self || other) of each task, topic or stick."""


class Tally(Sums):
    """Counts in rows and columns: sums that are not a distribution.

    Parameters
    ----------
    counts : array of shape (R, C)

    Examples
    --------
    >>> (Tally([[1, 0]]) + Tally([[1, 4]])).counts
    array([[2., 4.]])
    """

    names = ("counts",)

    def __init__(self, counts: ArrayLike) -> None:
        array = finite("counts", counts)
        if array.ndim != 2:
            raise ValueError(f"counts has shape {array.shape}; it must be (rows, columns)")
        self._keep(array)

    @property
    def counts(self) -> Floats:
        """The counts, shape (R, C)."""
        return self._arrays[0]

    def __repr__(self) -> str:
        return f"<Tally: {' by '.join(map(str, self.counts.shape))}>"


IMPROPER = "add statistics to a prior, and subtract only what was added before"


def finite(name: str, value: ArrayLike) -> Floats:
    """Return `value` as float64, if all its numbers are real and finite."""
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
