"""Table 1: the number of samples J and of burn-in steps β."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayespa.native.elementary import log
from bayespa.reproduce.cells import Cell
from bayespa.reproduce.claims import SAME, Claim
from bayespa.reproduce.drawing import panels
from bayespa.reproduce.experiment import LDA, Experiment, Plan, ResultTable
from bayespa.reproduce.runs import Runs, Spread, standardized

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = {
    (1, 0): 0.783,
    (3, 0): 0.803,
    (3, 2): 0.799,
    (5, 0): 0.808,
    (5, 2): 0.803,
    (5, 4): 0.792,
    (9, 0): 0.806,
    (9, 2): 0.806,
    (9, 4): 0.806,
    (9, 6): 0.804,
    (9, 8): 0.796,
}
KEPT_THREE = ((3, 0), (5, 2), (9, 6))


def cells(plan: Plan) -> list[Cell]:
    """Return the cells: paMedLDA with all pairs of the table."""
    return [
        cell
        for n_sweeps, burn_in in PAPER
        for cell in plan.cells(LDA[0], n_topics=40, batch_size=512, n_sweeps=n_sweeps, burn_in=burn_in)
    ]


def _accuracy(runs: Runs) -> dict[tuple[int, int], Spread]:
    return {(j, b): runs.of(n_sweeps=j, burn_in=b).score() for j, b in PAPER}


def draw(runs: Runs) -> Figure:
    """Draw the paper's table on the left and ours on the right, shaded by accuracy as the paper's is."""
    ours = {pair: spread.mean for pair, spread in _accuracy(runs).items()}
    rows, columns = sorted({pair[0] for pair in PAPER}), sorted({pair[1] for pair in PAPER})
    figure, all_axes = panels(2)
    for axes, title, values in zip(all_axes, ("the paper", "here"), (PAPER, ours), strict=True):
        shades = np.full((len(rows), len(columns)), np.nan)
        for (n_sweeps, burn_in), value in values.items():
            shades[rows.index(n_sweeps), columns.index(burn_in)] = value
        axes.pcolormesh(  # not an image, which a page that may load nothing does not show
            np.arange(len(columns)),
            np.arange(len(rows)),
            np.ma.masked_invalid(shades),
            cmap="Blues",
            vmin=np.nanmin(shades) - 0.01,
            vmax=np.nanmax(shades) + 0.02,
        )
        axes.invert_yaxis()
        for (n_sweeps, burn_in), value in values.items():
            place = columns.index(burn_in), rows.index(n_sweeps)
            axes.text(*place, f"{value:.3f}", ha="center", va="center", fontsize=10)
        axes.grid(visible=False)
        axes.set_xticks(range(len(columns)), [str(column) for column in columns])
        axes.set_yticks(range(len(rows)), [str(row) for row in rows])
        axes.set(xlabel="burn-in steps β", ylabel="samples J", title=f"accuracy, {title}")
    return figure


def table(runs: Runs) -> ResultTable:
    """Return the accuracies of the paper, and ours."""
    ours = _accuracy(runs)
    return ResultTable(
        ["J", "β", "kept", "the paper", "here"],
        [
            [str(j), str(b), str(j - b), f"{paper:.3f}", str(ours[j, b])]
            for (j, b), paper in sorted(PAPER.items(), key=lambda item: (item[0][0] - item[0][1], item[0]))
        ],
    )


def effects(accuracy: dict[tuple[int, int], float]) -> tuple[float, float]:
    """Return what one sd more of log kept samples and of burn-in steps changes, by least squares.

    >>> [f"{x:.3f}" for x in effects({(1, 0): 0.1, (2, 1): 0.2, (2, 0): 0.3, (3, 1): 0.4})]
    ['0.100', '0.050']
    """
    kept, burn_in = standardized(log([j - b for j, b in accuracy])), standardized([b for _, b in accuracy])
    found = np.array(list(accuracy.values()))
    by_kept, by_burn_in, both = (
        float((a * b).mean()) for a, b in ((kept, found), (burn_in, found), (kept, burn_in))
    )
    rest = 1.0 - both * both
    return (by_kept - both * by_burn_in) / rest, (by_burn_in - both * by_kept) / rest


def claims(runs: Runs) -> list[Claim]:
    """Judge what the paper says of table 1."""
    ours = {pair: spread.mean for pair, spread in _accuracy(runs).items()}
    diagonal = {j: ours[j, j - 1] for j in (3, 5, 9)}
    best = {j: max(value for (sweeps, _), value in ours.items() if sweeps == j) for j in diagonal}
    same = [ours[pair] for pair in KEPT_THREE]
    kept, burn_in = effects(ours)
    paper_kept, paper_burn_in = effects(PAPER)
    return [
        Claim(
            "Accuracies closer to the diagonal (one kept sample) are relatively lower.",
            ", ".join(f"J = {j}: {diagonal[j]:.3f} against {best[j]:.3f} at best" for j in diagonal) + ".",
            all(diagonal[j] < best[j] for j in diagonal),
        ),
        Claim(
            "Settings with the same number of kept samples, (3, 0), (5, 2), (9, 6), yield similar results.",
            f"{', '.join(f'{value:.3f}' for value in same)}; similar if within {SAME}.",
            max(same) - min(same) <= SAME,
        ),
        Claim(
            "The number of kept samples plays a more significant role than the burn-in steps.",
            f"One sd more of log kept samples changes accuracy by {kept:+.4f}, of burn-in steps by "
            f"{burn_in:+.4f} (the paper's numbers: {paper_kept:+.4f}, {paper_burn_in:+.4f}).",
            kept > abs(burn_in),
        ),
    ]


TABLE_1 = Experiment(
    "table-1",
    "Table 1: effect of the number of samples and of burn-in steps",
    "One pass of paMedLDA with K = 40 and |B| = 512.",
    cells,
    draw,
    table,
    claims,
)
