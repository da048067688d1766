"""Measuring, once for all parts: CPU and wall time, programs in turns, ratios, memory of a fresh process."""

from __future__ import annotations

import logging
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.memory import peak_megabytes

T = TypeVar("T")

ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
PROGRAMS = (
    "bayespa",
    "numpy",
    "scipy",
    "scikit-learn",
    "tomotopy",
    "gensim",
    "lda",
    "river",
    "vowpalwabbit",
    "fasttext-wheel",
)


class Watch:
    """Seconds of CPU (of all threads) and of the clock, added up over every `with`."""

    def __init__(self) -> None:
        self.cpu = self.wall = 0.0

    def __enter__(self) -> Watch:
        self.cpu -= time.process_time()
        self.wall -= time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu += time.process_time()
        self.wall += time.perf_counter()


def in_turns(programs: Mapping[str, Callable[[], T]], repeats: int) -> dict[str, list[T]]:
    """Run the programs one after the other, round after round: a busy machine slows all alike."""
    values: dict[str, list[T]] = {name: [] for name in programs}
    for _ in range(repeats):
        for name, run in programs.items():
            values[name].append(run())
    return values


def median_ratio(ours: Iterable[float], theirs: Iterable[float]) -> float:
    """Return the median over the rounds of ours / theirs."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return b of the least-squares fit costs = a sizes^b."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def line(sizes: Sequence[float], costs: Sequence[float]) -> tuple[float, float]:
    """Return a and b of the least-squares fit costs = a + b sizes."""
    b, a = np.polyfit(sizes, costs, 1)
    return float(a), float(b)


def _with_peak(function: Callable[..., T], arguments: tuple[Any, ...]) -> tuple[T, float]:
    logging.disable(logging.WARNING)  # lda turns on everybody's reports of progress
    return function(*arguments), peak_megabytes()


def fresh(function: Callable[..., T], *arguments: Any) -> tuple[T, float]:
    """Call a function in a new process with one thread in BLAS; return its result and peak megabytes.

    A process that dies raises BrokenProcessPool here.
    """
    os.environ.update(ONE_THREAD)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_with_peak, function, arguments).result()


def machine() -> dict[str, Any]:
    """Describe the machine."""
    cpuinfo, meminfo = (Path("/proc", name).read_text() for name in ("cpuinfo", "meminfo"))
    models = [row.split(":")[1].strip() for row in cpuinfo.splitlines() if row.startswith("model name")]
    return {
        "cpu": models[0] if models else os.uname().machine,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(int(meminfo.split()[1]) / 2**20, 1),
        "system": f"{os.uname().sysname} {os.uname().release}",
    }


def versions() -> dict[str, str]:
    """Return the versions of the programs; "not installed" where there is none."""

    def version(name: str) -> str:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return "not installed"

    return {"python": ".".join(map(str, sys.version_info[:3])), **{name: version(name) for name in PROGRAMS}}
