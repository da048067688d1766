"""Checks of parameters that all estimators share: an error names the parameter, its value and the remedy."""

from __future__ import annotations

import os
from typing import Any

import numpy as np


def number_of_threads(n_jobs: int | None) -> int:
    """Turn scikit-learn's ``n_jobs`` into threads: None is 1, -1 all processors, -2 all but one.

    >>> number_of_threads(None), number_of_threads(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; use None or 1 for one thread, -1 for all processors")
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


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
    infinite: bool = False,
    open_: bool = True,
    whole: bool = False,
) -> None:
    """Raise a ValueError unless `value` is above `low` (at least `low`, if not `open_`) and at most `high`.

    It must be finite unless it may be `infinite`, and an integer if `whole`.
    """
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    ok = isinstance(value, kinds) and (value > low if open_ else value >= low) and value <= high
    if not ok or (np.isinf(value) and not infinite):
        bound = f"{'greater than' if open_ else 'at least'} {low:g}"
        bound += "" if infinite else " and finite" if np.isinf(high) else f" and at most {high:g}"
        raise ValueError(f"{name} is {value!r}; it must be {'a whole number, ' if whole else ''}{bound}")
