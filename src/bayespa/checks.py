"""Checks that all estimators share: an error names the parameter or the entry, its value and the remedy."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse


def number_of_threads(n_jobs: int | None) -> int:
    """Turn scikit-learn's ``n_jobs`` into threads: None is 1, -1 all processors, -2 all but one.

    >>> number_of_threads(None), number_of_threads(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}; use None or 1 for one thread, -1 for all processors")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise a ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; use one of {', '.join(map(repr, choices))}")


def require_number(
    name: str,
    value: Any,
    low: float,
    high: float = np.inf,
    *,
    open_: bool = False,
    infinite: bool = False,
    whole: bool = False,
) -> None:
    """Raise a ValueError unless `value` is a number from `low` (above `low`, if `open_`) to at most `high`.

    It must be finite unless it may be `infinite`, and an integer if `whole`.
    """
    is_number = isinstance(value, Integral if whole else Real)
    in_range = is_number and (value > low if open_ else value >= low) and value <= high
    if not in_range or (np.isinf(value) and not infinite):
        kind = "a whole number" if whole else "a number" if infinite else "a finite number"
        top = "" if np.isinf(high) else f", at most {high:g}"
        raise ValueError(
            f"{name} is {value!r}; it must be {kind} {'above' if open_ else 'from'} {low:g}{top}"
        )


def require_finite(name: str, values: Any) -> None:
    """Raise a ValueError that names the first entry of an array or CSR matrix that is NaN or infinite."""
    is_sparse = sparse.issparse(values)
    entries = values.data if is_sparse else values
    if np.isfinite(entries).all():
        return
    where = np.argwhere(~np.isfinite(entries))[0].tolist()
    value = entries[tuple(where)]
    if is_sparse:
        where = [
            int(np.searchsorted(values.indptr, where, side="right")[0]) - 1,
            int(values.indices[where[0]]),
        ]
    kind = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(
        f"Input {name} contains {kind}: {name}{where} is {value!s}; drop the row or fill in a number, "
        "for instance with sklearn.impute.SimpleImputer"
    )
