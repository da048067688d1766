"""Figure 4: test error against training time for several sizes of mini-batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayespa.reproduce.cells import Cell
from bayespa.reproduce.claims import COMPARABLE, ORDER, Claim
from bayespa.reproduce.drawing import curve, legend, numbered, panels, plain_numbers
from bayespa.reproduce.experiment import ONLINE, Experiment, Plan, ResultTable
from bayespa.reproduce.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES: tuple[int | None, ...] = (1, 16, 64, 256, 512, None)
MEDIUM = (64, 256)
TRIES = (0.05, 0.1, 0.2, 0.4, 0.7, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)


def cells(plan: Plan) -> list[Cell]:
    """Return the cells: online models with every size of mini-batch, K = 40."""
    return [
        cell
        for method in ONLINE
        for size in SIZES
        for cell in plan.cells(
            method,
            passes=(6 if plan.quick else 20) if size is None else 1,
            tries=TRIES,
            n_topics=40,
            batch_size=size,
        )
    ]


def _name(size: int | None) -> str:
    return "all" if size is None else str(size)


def draw(runs: Runs) -> Figure:
    """Draw the LDA-based model on the left, the HDP-based one on the right."""
    figure, all_axes = panels(len(ONLINE))
    for axes, method in zip(all_axes, ONLINE, strict=True):
        for place, size in enumerate(SIZES):
            own = runs.of(method, batch_size=size)
            curve(axes, "seconds", "error", own, f"|B| = {_name(size)}", **numbered(place))
        axes.set(
            xscale="log", xlabel="training time, CPU seconds", ylabel="test error", ylim=(0, 1), title=method
        )
        plain_numbers(axes.xaxis)
        legend(axes)
    return figure


def _target(own: Runs) -> float:
    """Return the accuracy that counts as converged: comparable to the best that any size ends with."""
    return max(own.of(batch_size=size).score().mean for size in SIZES) - COMPARABLE


def table(runs: Runs) -> ResultTable:
    """Return for every size the error at the end, and the time until it had converged."""
    rows = []
    for method in ONLINE:
        own = runs.of(method)
        for size in SIZES:
            group = own.of(batch_size=size)
            times = [group.seconds().text(1), group.seconds_to(_target(own)).text(1)]
            rows.append([method, _name(size), str(group.error()), *times])
    return ResultTable(["method", "size", "error at the end", "seconds", "seconds to converge"], rows)


def claims(runs: Runs) -> list[Claim]:
    """Judge what the paper says of the size of mini-batches."""
    found = []
    for method in ONLINE:
        own = runs.of(method)
        target = _target(own)
        times = {size: own.of(batch_size=size).seconds_to(target) for size in SIZES}
        fastest = SIZES[int(np.argmin([times[size].mean for size in SIZES]))]
        written = ", ".join(f"{_name(size)}: {time.text(1)}" for size, time in times.items())
        single, medium = own.of(batch_size=1), min(times[size].mean for size in MEDIUM)
        ratio = own.of(batch_size=None).times_of(own.of(batch_size=256))
        found += [
            Claim(
                f"{method}: medium sizes (|B| = 64, 256) converge faster than small and large ones.",
                f"Seconds to an error of {1 - target:.3f}: {written}. The fastest is {_name(fastest)}.",
                fastest in MEDIUM,
            ),
            Claim(
                f"{method}: |B| = 1 does not bring sufficient evidence for an update.",
                f"It ends with an error of {single.error()}, after {single.seconds().text(1)} s.",
                times[1].mean > medium,
            ),
            Claim(
                f"{method}: the batch algorithm is much slower.",
                f"It takes, in times of one pass with |B| = 256, to be as accurate: {ratio.text(1)}; "
                f"{ORDER:g} or more is much.",
                ratio.mean >= ORDER,
            ),
        ]
    return found


FIGURE_4 = Experiment(
    "figure-4",
    "Figure 4: test error against training time for sizes of mini-batches",
    "K = 40. One pass with every size of mini-batch, several with all documents at once. A model has "
    f"converged when its accuracy is within {COMPARABLE} of the best that any size ends with. Time is CPU "
    "time on one thread.",
    cells,
    draw,
    table,
    claims,
)
