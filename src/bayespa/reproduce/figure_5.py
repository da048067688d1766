"""Figure 5: the number of iterations I and of samples J."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayespa.reproduce.cells import Cell
from bayespa.reproduce.claims import SAME, Claim
from bayespa.reproduce.drawing import OKABE_ITO, panels
from bayespa.reproduce.experiment import ONLINE, Experiment, Plan, ResultTable
from bayespa.reproduce.runs import Runs, Spread, standardized

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ITERATIONS = (1, 2, 3)
SAMPLES = (1, 2, 3, 5, 9)
HATCHES = ("", "//", "xx")  # bars are told apart without colours, too

Measured = dict[tuple[int, int], Spread]


def cells(plan: Plan) -> list[Cell]:
    """Return the cells: online models with all combinations, nothing thrown away."""
    return [
        cell
        for method in ONLINE
        for n_iterations in ITERATIONS
        for n_sweeps in SAMPLES
        for cell in plan.cells(
            method, n_topics=40, batch_size=512, n_iterations=n_iterations, n_sweeps=n_sweeps, burn_in=0
        )
    ]


def _by_pair(runs: Runs, method: str) -> tuple[Measured, Measured]:
    """Return accuracy and seconds of every (I, J)."""
    groups = {(i, j): runs.of(method, n_iterations=i, n_sweeps=j) for i in ITERATIONS for j in SAMPLES}
    return (
        {pair: group.score() for pair, group in groups.items()},
        {pair: group.seconds() for pair, group in groups.items()},
    )


def draw(runs: Runs) -> Figure:
    """Draw accuracy and time as groups of bars, a row a model."""
    figure, all_axes = panels(2, len(ONLINE))
    for row, method in enumerate(ONLINE):
        measured = _by_pair(runs, method)
        for axes, values, label in zip(
            all_axes[2 * row :], measured, ("test accuracy", "training time, CPU seconds"), strict=False
        ):
            width = 0.8 / len(ITERATIONS)
            for place, i in enumerate(ITERATIONS):
                x = np.arange(len(SAMPLES)) + (place - (len(ITERATIONS) - 1) / 2) * width
                axes.bar(
                    x,
                    [values[i, j].mean for j in SAMPLES],
                    width,
                    yerr=[values[i, j].sd for j in SAMPLES],
                    label=f"I = {i}",
                    color=OKABE_ITO[place],
                    hatch=HATCHES[place],
                    edgecolor="white",
                    error_kw={"elinewidth": 1, "capsize": 2},
                )
            axes.set_xticks(range(len(SAMPLES)), [str(j) for j in SAMPLES])
            axes.set(xlabel="samples J", ylabel=label, title=method)
            if label == "test accuracy":  # from where the differences can be seen
                low = min(value.mean for value in values.values())
                axes.set_ylim(bottom=max(0.0, np.floor(20 * low) / 20 - 0.05))
        all_axes[2 * row + 1].legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def table(runs: Runs) -> ResultTable:
    """Return accuracy and time of every combination."""
    rows = []
    for method in ONLINE:
        accuracy, seconds = _by_pair(runs, method)
        for j in SAMPLES:
            cells_of_j = [f"{accuracy[i, j]} ({seconds[i, j].text(1)} s)" for i in ITERATIONS]
            rows.append([method, str(j), *cells_of_j])
    return ResultTable(["method", "J", *(f"I = {i}" for i in ITERATIONS)], rows)


def claims(runs: Runs) -> list[Claim]:
    """Judge what the paper says of figure 5."""
    found = []
    for method in ONLINE:
        accuracy, seconds = _by_pair(runs, method)
        best = max(accuracy[1, j].mean for j in SAMPLES)
        gains = {j: max(accuracy[i, j].mean for i in ITERATIONS) - accuracy[1, j].mean for j in SAMPLES[1:]}
        sweeps = [i * j for i, j in seconds]
        times = standardized([value.mean for value in seconds.values()])
        linear = float((standardized(sweeps) * times).mean())
        found += [
            Claim(
                f"{method}: J = 1 sacrifices accuracy.",
                f"{accuracy[1, 1]} with I = J = 1, {best:.3f} with the best J; a sacrifice if above {SAME}.",
                best - accuracy[1, 1].mean > SAME,
            ),
            Claim(
                f"{method}: for larger J, simply I = 1 is promising.",
                "More iterations gain at most "
                + ", ".join(f"{gain:.3f} (J = {j})" for j, gain in gains.items())
                + f"; promising if no more than {SAME}.",
                max(gains.values()) <= SAME,
            ),
            Claim(
                f"{method}: time is linear in I and in J.",
                f"The correlation of time with I J is {linear:.3f}; linear if above 0.95.",
                linear > 0.95,
            ),
        ]
    return found


FIGURE_5 = Experiment(
    "figure-5",
    "Figure 5: accuracy and training time for numbers of iterations and samples",
    "One pass with K = 40 and |B| = 512; all samples are kept. Time is CPU time on one thread.",
    cells,
    draw,
    table,
    claims,
)
