"""Arrays of a model file in which many cells have the same value, and others lie on a grid.

A model with many words and classes has learned little about most pairs of them: those cells are as in the
prior. What was learned is a multiple of `GRID`. So a file stores which cells differ from the most frequent
value (a bit each), and by how many units of the grid. Most units are small: their bytes, the lowest of all
cells first, are compressed to about two for each cell. Cells off the grid take eight bytes more. Unpacking
gives the same bits.
"""

from __future__ import annotations

import zlib
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
    units: NDArray[Any]  # m of the grid beyond `fill`, or OFF_GRID; `deflated`, or int32 (version 4)
    others: Floats  # cells off the grid

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a file stores as arrays."""
        return {"differ": self.differ, "units": self.units, "others": self.others}


def packed(array: Floats) -> Packed | None:
    """Pack an array; None if that does not save half of its size.

    >>> array = np.ones((100, 8))
    >>> array[3, 4:6] = 1.5, 0.1
    >>> found = packed(array)
    >>> found.fill, inflated(found.units, 2).tolist(), found.others
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
    return Packed(float(fill), np.packbits(differ), deflated(units), others)


def unpacked(found: Packed, shape: Sequence[int]) -> Floats:
    """Return the array, after checking what a file says of it."""
    n = prod(shape)
    kinds = {"differ": (np.uint8,), "units": (np.uint8, np.int32), "others": (np.float64,)}
    for name, array in found.arrays().items():
        if array.dtype not in kinds[name] or array.ndim != 1:
            raise ValueError(f"the cells' {name} have shape {array.shape} and type {array.dtype}")
    if len(found.differ) != -(-n // 8):
        raise ValueError(f"{len(found.differ)} bytes do not say which of {n} cells differ")
    differ = np.unpackbits(found.differ, count=n).view(np.bool_)
    n_cells = int(differ.sum())
    units = found.units if found.units.dtype == np.int32 else inflated(found.units, n_cells)
    off_grid = units == OFF_GRID
    wanted = n_cells, int(off_grid.sum())
    if wanted != (len(units), len(found.others)):
        raise ValueError(f"{wanted} cells need values, and have {len(units), len(found.others)}")
    cells = found.fill + units * GRID
    cells[off_grid] = found.others
    array = np.full(n, found.fill)
    array[differ] = cells
    return array.reshape(shape)


def deflated(units: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Compress whole numbers of which most are small.

    >>> units = np.repeat(np.array([5, -7, 300], np.int32), 100)
    >>> small = deflated(units)
    >>> len(small), bool((inflated(small, 300) == units).all())
    (29, True)
    """
    zigzag = (units << 1) ^ (units >> 31)  # 0, -1, 1, -2, 2, ...: small numbers have high bytes of 0
    planes = zigzag.astype("<i4").view(np.uint8).reshape(-1, 4).T
    compressor = zlib.compressobj(level=1, strategy=zlib.Z_RLE)  # bytes repeat in runs, if at all
    return np.frombuffer(compressor.compress(planes.tobytes()) + compressor.flush(), np.uint8)


def inflated(small: NDArray[np.uint8], n: int) -> NDArray[np.int32]:
    """Return the n numbers that `deflated` compressed; raise a ValueError if there are not so many."""
    inflator = zlib.decompressobj()
    try:
        planes = inflator.decompress(small.data, 4 * n + 1)  # never more, whatever a file says
    except zlib.error as error:
        raise ValueError(f"the units of cells are damaged ({error})") from error
    if len(planes) != 4 * n or not inflator.eof or inflator.unused_data:
        raise ValueError(f"the units of {n} cells have {len(planes)} bytes or more, not {4 * n}")
    zigzag = np.frombuffer(planes, np.uint8).reshape(4, n).T.copy().view("<u4").reshape(n)
    units: NDArray[np.int32] = (zigzag >> 1).astype(np.int32)
    units ^= -(zigzag & 1).astype(np.int32)
    return units


def _bits(values: Floats | np.float64) -> NDArray[np.int64]:
    """Return the bits of numbers, which tell 0 from -0."""
    return np.asarray(values).view(np.int64)
