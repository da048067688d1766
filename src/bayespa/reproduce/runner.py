"""Run many cells, on several processors, and continue where an earlier program was stopped."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from bayespa.reproduce.cells import Cell, Run
from bayespa.reproduce.runs import Runs
from bayespa.reproduce.store import Store
from bayespa.reproduce.trial import run

Progress = Callable[[str], object]


def finish(
    cells: Sequence[Cell], store: Store, data_home: Path | None, jobs: int, progress: Progress
) -> Runs:
    """Run the cells that are not finished yet, and return all runs in the order of the cells.

    Parameters
    ----------
    cells : sequence of Cell
    store : Store
        Stores every run as soon as it is finished.
    data_home : Path, optional
        The folder of the published corpora.
    jobs : int
        Cells that run at the same time, each in its own process.
    progress : callable
        Gets a line of text for every finished cell.
    """
    todo = list({cell.key: cell for cell in cells if store.get(cell) is None}.values())
    if len(todo) < len(cells):
        progress(f"{len(cells) - len(todo)} of {len(cells)} cells are finished already")
    done, total, start = 0.0, sum(cell.work for cell in todo), time.monotonic()
    for number, finished in enumerate(_runs(todo, data_home, jobs), 1):
        store.add(finished)
        done += finished.cell.work
        left = (time.monotonic() - start) * (total / done - 1.0)
        progress(f"{number} of {len(todo)}: {_summary(finished)}; {_clock(left)} left")
    return Runs(filter(None, map(store.get, cells)))


def _runs(cells: Sequence[Cell], data_home: Path | None, jobs: int) -> Iterator[Run]:
    if jobs == 1 or len(cells) < 2:
        for cell in cells:
            yield run(cell, data_home)
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy locks that threads hold
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        futures = [pool.submit(run, cell, data_home) for cell in cells]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _summary(finished: Run) -> str:
    cell, last = finished.cell, finished.last
    shown = ("n_topics", "batch_size", "n_iterations", "n_sweeps", "burn_in")
    settings = "".join(f", {name} {cell.settings[name]}" for name in shown if name in cell.settings)
    return (
        f"{cell.method} on {cell.data}{settings}, seed {cell.seed}: "
        f"{last.score:.3f} after {last.passes:.3g} passes, {last.seconds:.1f} s"
    )


def _clock(seconds: float) -> str:
    """Return a time as text, in seconds or minutes.

    >>> _clock(59.4), _clock(3661.0)
    ('59 s', '61 min')
    """
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
