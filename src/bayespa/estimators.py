"""Base class of all estimators: parameters, and one value with everything learned.

A call that learns computes the next value aside and publishes it in one assignment. After an exception or a
signal, and for a reader in another thread, the estimator is complete: in the old state or in the new one. A
shallow copy of an estimator is therefore a snapshot, and costs nothing.

Nothing here imports scikit-learn: that takes a second, and models of texts learn and predict without it.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa.checks import require_number
from bayespa.native.medlda import CountMatrix

C = TypeVar("C", bound=type)
_HEADING = "Parameters\n----------\n"
_ARRAY = re.compile(r"NDArray\[[\w.]+\]|Floats|Bools")  # annotations, as readers know them
_ENTRY = re.compile(r"^(\w+) : (.+)\n((?: +.+\n)*)", re.MULTILINE)


def documented(cls: C) -> C:
    """Complete the docstring of a class: all parameters, with defaults, and all attributes.

    A class documents the parameters that it adds or redefines, without empty lines in between. Attributes are
    properties whose names end with an underscore; their docstrings are used.

    Examples
    --------
    >>> @dataclass(kw_only=True)
    ... class Base:
    ...     '''Has a size.
    ...
    ...     Parameters
    ...     ----------
    ...     size : int
    ...         How large it is.
    ...     '''
    ...     size: int = 3
    >>> @documented
    ... @dataclass(kw_only=True)
    ... class Large(Base):
    ...     "Has another default."
    ...     size: int = 1000
    >>> Large.__doc__.splitlines()[-2:]
    ['size : int, default=1000', '    How large it is.']
    """
    if cls.__doc__ is None:  # with python -OO
        return cls
    known: dict[str, tuple[str, str]] = {}
    for base in reversed(cls.__mro__):
        entries = inspect.cleandoc(base.__doc__ or "").partition(_HEADING)[2].partition("\n\n")[0]
        known.update((name, (kind, text)) for name, kind, text in _ENTRY.findall(entries + "\n"))
    written = []
    for name, parameter in inspect.signature(cls).parameters.items():
        kind, text = known[name]  # a KeyError names a parameter without documentation
        default = f'"{parameter.default}"' if isinstance(parameter.default, str) else repr(parameter.default)
        written.append(f"{name} : {kind.partition(', default=')[0]}, default={default}\n{text}")
    summary, own, rest = inspect.cleandoc(cls.__doc__).partition(_HEADING)
    if own:
        rest = rest.partition("\n\n")[2]
    else:  # before the first section
        summary, *sections = re.split(r"^(?=\w+\n---)", summary, flags=re.MULTILINE)
        rest = "".join(sections)
    head = f"{summary.rstrip()}\n\n{_HEADING}{''.join(written)}"
    cls.__doc__ = f"{head}\n{_attributes(cls)}{rest}".rstrip()
    return cls


def _attributes(cls: type) -> str:
    """Return the docstrings of the public properties of a class, as a section of its docstring."""
    found = {
        name: value
        for base in reversed(cls.__mro__)
        for name, value in vars(base).items()
        if isinstance(value, property) and name.endswith("_") and not name.startswith("_")
    }
    lines = []
    for name, value in sorted(found.items()):
        text = inspect.cleandoc(value.__doc__ or "").split("\n\n")[0].replace("\n", "\n    ")
        kind = inspect.get_annotations(value.fget)["return"] if value.fget else ""
        kind = _ARRAY.sub("ndarray", kind)
        lines.append(f"{name} : {kind}\n    {text}\n")
    return f"Attributes\n----------\n{''.join(lines)}\n" if lines else ""


class Roles(NamedTuple):
    """What columns are for: arrays of bool (n,)."""

    topical: ArrayLike | None = None  # which ones topics use; None: all
    runs: ArrayLike | None = None  # which ones are runs of several words; None: none


NO_ROLES = Roles()


@dataclass(frozen=True, eq=False)
class Features:
    """The columns that an estimator knows."""

    n: int
    names: NDArray[Any] | None  # None: no names
    topical: NDArray[np.bool_] | None = None  # (n,), the columns that topics use; None: all
    runs: NDArray[np.bool_] | None = None  # (n,), the columns of runs of several words; None: none ever

    @cached_property
    def n_topical(self) -> int:
        """Number of columns that topics use."""
        return self.n if self.topical is None else int(np.count_nonzero(self.topical))

    @classmethod
    def of(cls, X: Any, roles: Roles = NO_ROLES) -> Features:
        """Return the columns of X, with their names if there are any."""
        n, names = _columns(X)
        topical, runs = (None if role is None else np.array(role) for role in roles)
        if topical is not None and (topical.shape != (n,) or topical.dtype != np.bool_):
            raise ValueError(
                f"topic_words is an array of {topical.dtype} of shape {topical.shape}; give True or "
                f"False for each of the {n} columns"
            )
        return cls(n, names, topical, runs)

    @classmethod
    def from_file(cls, values: dict[str, Any]) -> Features:
        """Read the columns from the values of a file."""
        n, names = values.pop("n_features_in_"), values.pop("feature_names_in_", None)
        require_number("n_features_in_", n, 1, 2**31 - 1, whole=True)
        if names is not None and not (isinstance(names, np.ndarray) and names.shape == (n,)):
            raise ValueError(f"feature_names_in_ must be {n} names")
        roles = [values.pop(role, None) for role in ("topic_words_", "runs_")]
        for role, mask in zip(("topic_words_", "runs_"), roles, strict=True):
            if mask is not None and not (getattr(mask, "shape", None) == (n,) and mask.dtype == np.bool_):
                raise ValueError(f"{role} must be {n} booleans")
        return cls(n, names, *roles)

    def to_file(self) -> dict[str, Any]:
        """Return the columns as values of a file."""
        found = {"feature_names_in_": self.names, "topic_words_": self.topical, "runs_": self.runs}
        return {"n_features_in_": self.n, **{k: v for k, v in found.items() if v is not None}}

    def first(self, n: int) -> Features:
        """Return the first n columns."""
        names, topical, runs = (None if a is None else a[:n] for a in (self.names, self.topical, self.runs))
        return self if n == self.n else Features(n, names, topical, runs)

    def wider(self, X: Any, name: str, roles: Roles = NO_ROLES) -> Features:
        """Return the columns of X, which may have additional ones; else raise a ValueError.

        Known columns keep their roles.
        """
        after = Features.of(X, roles)
        topical = self._continued(self.topical, after.topical, after.n, missing=True)
        runs = self._continued(self.runs, after.runs, after.n, missing=False)
        after = replace(after, topical=topical, runs=runs)
        known = None if after.names is None else after.names[: self.n].tolist()
        if known != (None if self.names is None else self.names.tolist()):
            raise ValueError(
                f"X has {after.n} features and {name} knows {self.n}: new words must be additional columns "
                "at the end, and columns must have names if the known ones have"
            )
        return after

    def _continued(
        self, before: NDArray[np.bool_] | None, after: NDArray[np.bool_] | None, n: int, *, missing: bool
    ) -> NDArray[np.bool_] | None:
        """Return a role of n columns, of which known ones keep theirs; `missing` is the role where None."""
        if before is None and after is None:
            return None
        mask = np.full(n, missing) if after is None else after
        mask[: self.n] = missing if before is None else before
        return mask


def _columns(X: Any) -> tuple[int, NDArray[Any] | None]:
    """Return the number of columns, and their names if they have any."""
    if isinstance(X, CountMatrix):
        return X.shape[1], None
    from sklearn.utils.validation import _get_feature_names, _num_features

    return int(_num_features(X)), _get_feature_names(X)


class ValueEstimator:
    """Parameters, and a state `_learned`, a frozen value; `features` of the value are the columns.

    With scikit-learn's `BaseEstimator` as a further base class it is an estimator.
    """

    _learned: Any
    _name: ClassVar[str]  # for users and files: of the class, or what the class says

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._name = vars(cls).get("_name", cls.__name__)

    @classmethod
    @cache
    def _get_param_names(cls) -> tuple[str, ...]:
        """Return the names of parameters, cached: reading the signature is slower than a prediction."""
        return tuple(sorted(inspect.signature(cls).parameters))

    def __sklearn_is_fitted__(self) -> bool:
        return "_learned" in vars(self)

    def _require_fitted(self) -> None:
        """Raise scikit-learn's error if nothing was learned."""
        if "_learned" not in vars(self):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self)

    def _known(self) -> Any:
        """Return what was learned; raise an AttributeError if nothing was, as scikit-learn does."""
        if "_learned" not in vars(self):
            raise AttributeError(f"this {self._name} has learned nothing yet; call fit first")
        return self._learned

    @property
    def n_features_in_(self) -> int:
        """Number of known columns."""
        return int(self._known().features.n)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns, if any."""
        names = self._known().features.names
        if names is None:
            raise AttributeError("the columns have no names")
        found: NDArray[Any] = names
        return found
