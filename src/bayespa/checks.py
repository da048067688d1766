"""Checks that all estimators share. An error names the parameter or the entry, its value and the remedy."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any

import numpy as np

_MOST_THREADS = 4096


def number_of_threads(n_jobs: int | None) -> int:
    """Turn scikit-learn's ``n_jobs`` into a number of threads: None is 1, -1 all processors, -2 all but one.

    >>> number_of_threads(None), number_of_threads(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or n_jobs == 0 or n_jobs > _MOST_THREADS:
        raise ValueError(
            f"n_jobs is {n_jobs!r}; use None or 1 for one thread, -1 for all processors, at most "
            f"{_MOST_THREADS}"
        )
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

    It must be finite unless `infinite`, and an integer if `whole`.
    """
    is_number = isinstance(value, Integral if whole else Real)
    in_range = is_number and (value > low if open_ else value >= low) and value <= high
    if not in_range or (value in (np.inf, -np.inf) and not infinite):
        kind = "a whole number" if whole else "a number" if infinite else "a finite number"
        top = "" if np.isinf(high) else f", at most {high:g}"
        raise ValueError(
            f"{name} is {value!r}; it must be {kind} {'above' if open_ else 'from'} {low:g}{top}"
        )


def require_finite(name: str, values: Any) -> None:
    """Raise a ValueError that names the first entry of an array or CSR matrix that is NaN or infinite."""
    is_sparse = sparse_format(values) is not None
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


def sparse_format(matrix: Any) -> str | None:
    """Return the format of a sparse matrix, such as "csr"; None if it is not one.

    Only what is neither an array nor a list can be one. So SciPy is imported for others alone.
    """
    if isinstance(matrix, np.ndarray | list):
        return None
    from scipy import sparse

    return getattr(matrix, "format", None) if sparse.issparse(matrix) else None


def require_sound(name: str, matrix: Any) -> None:
    """Raise a ValueError unless the arrays of a sparse matrix are consistent; other objects pass.

    SciPy does not check them: an index outside the matrix crashes the process. Call this before anything that
    follows the indices, such as a conversion to another format.
    """
    if sparse_format(matrix) == "lil":
        matrix = matrix.tocsr()  # copies the indices without following them
    kind = sparse_format(matrix)
    if kind == "coo":
        coords = getattr(matrix, "coords", None) or (matrix.row, matrix.col)  # since SciPy 1.13
        for axis, (places, size) in enumerate(zip(coords, matrix.shape, strict=True)):
            _require_places(name, f"coords[{axis}]", places, size)
    elif kind in ("csr", "csc", "bsr"):
        shape = np.array((1, *matrix.shape)[-2:]) // getattr(matrix, "blocksize", 1)
        size, other_size = shape[::-1] if kind == "csc" else shape
        _require_pointers(name, matrix, int(size))
        _require_places(name, "indices", matrix.indices[: matrix.indptr[-1]], int(other_size))


def _require_pointers(name: str, matrix: Any, size: int) -> None:
    """Raise a ValueError unless `indptr` splits the entries into `size` pieces."""
    pointers, n_entries = matrix.indptr, min(len(matrix.indices), len(matrix.data))
    if len(pointers) != size + 1:
        raise _unsound(f"{name}.indptr has length {len(pointers)}, not {size + 1}")
    if pointers[0] != 0:
        raise _unsound(f"{name}.indptr[0] is {pointers[0]}, not 0")
    falls = pointers[1:] < pointers[:-1]
    if falls.any():
        i = int(np.argmax(falls))
        raise _unsound(f"{name}.indptr[{i + 1}] is {pointers[i + 1]}, less than {pointers[i]} before it")
    if pointers[-1] > n_entries:
        raise _unsound(f"{name}.indptr[{size}] is {pointers[-1]}, but there are {n_entries} entries")


def _require_places(name: str, array: str, places: Any, size: int) -> None:
    """Raise a ValueError unless all indices are in [0, size)."""
    if len(places) and (places.min() < 0 or places.max() >= size):
        i = int(np.argmax((places < 0) | (places >= size)))
        raise _unsound(f"{name}.{array}[{i}] is {places[i]}, not in [0, {size})")


def _unsound(what: str) -> ValueError:
    return ValueError(
        f"{what}: the arrays of this sparse matrix do not fit together; build it anew, for instance by "
        "scipy.sparse.csr_matrix((values, (rows, columns)), shape)"
    )
