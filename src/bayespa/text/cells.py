"""Arrays of a model file in which many cells have the same value, and others lie on a grid.

A model with many words and classes has learned little about most pairs of them: those cells are as in the
prior. What was learned is a multiple of `GRID`. So a file stores which cells differ from the most frequent
value (a bit each), and by how many units of the grid (four bytes each). Cells off the grid take eight bytes
more. Unpacking gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespa.posteriors.posterior import GRID

OFF_GRID = np.iinfo(np.int32).min  # in place of units
_SAMPLE = 4096  # cells that show which value is frequent

Floats = NDArray[np.float64]


class Packed(NamedTuple):
    """An array of n cells, of which m differ from `fill`."""

    fill: float
    differ: NDArray[np.uint8]  # (n / 8,), a bit for each cell
    units: NDArray[np.int32]  # (m,), of the grid beyond `fill`, or OFF_GRID
    others: Floats  # cells off the grid

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file stores as arrays."""
        return {"differ": self.differ, "units": self.units, "others": self.others}


def packed(array: Floats) -> Packed | None:
    """Pack an array; None if that does not save half of its size.

    >>> array = np.ones((100, 8))
    >>> array[3, 4:6] = 1.5, 0.1
    >>> found = packed(array)
    >>> found.fill, found.units.tolist(), found.others
    (1.0, [524288, -2147483648], array([0.1]))
    >>> bool((unpacked(found, array.shape) == array).all())
    True
    """
    flat = array.reshape(-1)
    values, n_times = np.unique(flat[:: len(flat) // _SAMPLE + 1], return_counts=True)
    if not np.isfinite(values).all() or not len(values):
        return None
    fill = values[n_times.argmax()]
    differ = _bits(flat) != _bits(fill)
    cells = flat[differ]
    with np.errstate(over="ignore", invalid="ignore"):
        units = np.rint((cells - fill) / GRID)
        on_grid = (np.abs(units) < -float(OFF_GRID)) & (_bits(fill + units * GRID) == _bits(cells))
    others = cells[~on_grid]
    size = len(flat) // 8 + 4 * len(cells) + others.nbytes
    if 2 * size > flat.nbytes:
        return None
    units = np.where(on_grid, units, OFF_GRID).astype(np.int32)
    return Packed(float(fill), np.packbits(differ), units, others)


def unpacked(found: Packed, shape: Sequence[int]) -> Floats:
    """Return the array, after checking what a file says of it."""
    n = prod(shape)
    for (name, array), dtype in zip(found.arrays().items(), (np.uint8, np.int32, np.float64), strict=True):
        if array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"the cells' {name} have shape {array.shape} and type {array.dtype}")
    if len(found.differ) != -(-n // 8):
        raise ValueError(f"{len(found.differ)} bytes do not say which of {n} cells differ")
    differ = np.unpackbits(found.differ, count=n).view(np.bool_)
    off_grid = found.units == OFF_GRID
    wanted = int(differ.sum()), int(off_grid.sum())
    if wanted != (len(found.units), len(found.others)):
        raise ValueError(f"{wanted} cells need values, and have {len(found.units), len(found.others)}")
    cells = found.fill + found.units * GRID
    cells[off_grid] = found.others
    array = np.full(n, found.fill)
    array[differ] = cells
    return array.reshape(shape)


def _bits(values: Floats | np.float64) -> NDArray[np.int64]:
    """Return the bits of numbers, which tell 0 from -0."""
    return np.asarray(values).view(np.int64)
