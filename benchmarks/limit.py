"""How far the kernel is from the machine: what a token needs against what one core can do.

Without labels a token reads a row of topic factors, the document's counts and alpha, and writes running
sums that drawing reads once more: 5 floats a topic, and 3 operations (an addition, a multiplication, an
addition to the running sum). Above 80 topics a quarter of the sums are written and read: 3.5 floats. K is
rounded up to 8. What one core can do is measured: operations by a
product of two matrices, halved because a fused multiply-add counts as two and the same bits on every CPU
forbid it; bytes by adding two arrays that fit into the second-level cache, where a mini-batch's factors
are, and by adding two that fit into no cache.
"""

from __future__ import annotations

import statistics

import numpy as np
from numpy.typing import NDArray

from benchmarks import kernel
from benchmarks.corpora import read
from benchmarks.measure import Watch, in_turns
from benchmarks.page import Cell, Part, Table
from benchmarks.settings import Settings

OPERATIONS, LANES = 3, 8  # of a token, for each topic


def operations_per_second(n: int = 512, repeats: int = 4) -> float:
    """Return float32 operations of one core, without fused multiply-add."""
    a = np.ones((n, n), np.float32)
    a @ a
    with Watch() as watch:
        for _ in range(repeats):
            a @ a
    return n**3 * repeats / watch.cpu  # 2 n^3 operations, halved


def bytes_per_second(n_floats: int, seconds: float = 0.2) -> float:
    """Return the bytes that one core reads and writes when it adds two arrays."""
    a, b, c = (np.ones(n_floats, np.float32) for _ in range(3))
    repeats, watch = 0, Watch()
    while watch.cpu < seconds:
        with watch:
            for _ in range(16):
                np.add(a, b, out=c)
        repeats += 16
    return _size(a, b, c) * repeats / watch.cpu


def _size(*arrays: NDArray[np.float32]) -> int:
    return sum(array.nbytes for array in arrays)


def row(n_topics: int, per_second: float, operations: float, near: float, far: float) -> list[Cell]:
    """Return what a token needs and the shares of the machine that its speed uses."""
    width = -(-n_topics // LANES) * LANES
    floats, flops = (5 if width <= 80 else 3.5) * 4 * width, OPERATIONS * width
    used = max(flops * per_second / operations, floats * per_second / near)
    return [
        f"K = {n_topics}",
        flops,
        floats,
        per_second / 1e6,
        flops * per_second / operations,
        floats * per_second / near,
        4 * width * per_second / far,
        f"{used:.0%} of the nearer limit is used: {1 / used:.1f} times the speed would fill it.",
    ]


def run(settings: Settings) -> Part:
    corpus = read("text", settings.data_home, quick=settings.quick)
    rows = []
    for n_topics in (40, 200) if settings.quick else (20, 40, 80, 200, 1000):
        turns = {
            "kernel": lambda n_topics=n_topics: kernel.ours(corpus, n_topics, "no labels"),
            "operations": operations_per_second,
            "near": lambda: bytes_per_second(2**14),  # 192 KB in all
            "far": lambda: bytes_per_second(2**25),  # 400 MB
        }
        speed, operations, near, far = (
            statistics.median(values) for values in in_turns(turns, settings.repeats).values()
        )
        rows.append(row(n_topics, speed, operations, near, far))
    machine: list[list[Cell]] = [
        ["operations, 10^9/s", operations / 1e9],
        ["bytes from the second-level cache, GB/s", near / 1e9],
        ["bytes from memory, GB/s", far / 1e9],
    ]
    columns = ["", "operations", "bytes", "million tokens/s", "of operations", "of cache", "of memory", "so"]
    return Part(
        "Limit",
        (__doc__ or "").strip(),
        [Table("The kernel and the machine, one core, no labels", columns, rows)],
        {},
        [Table("What one core can do", ["", "measured"], machine)],
    )
