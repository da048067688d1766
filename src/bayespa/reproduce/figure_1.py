"""Figure 1: test error against the number of passes through the training documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayespa.reproduce.cells import Cell
from bayespa.reproduce.claims import ORDER, SAME, Claim
from bayespa.reproduce.drawing import curve, label_of, legend, panels, plain_numbers, style_of
from bayespa.reproduce.experiment import FAMILIES, Experiment, Plan, ResultTable
from bayespa.reproduce.methods import METHODS
from bayespa.reproduce.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRIES = (0.1, 0.25, 0.5, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48)
SHOWN = (1, 2, 4, 8, 24, 48)  # passes, in the table


def cells(plan: Plan) -> list[Cell]:
    """Return the cells: all methods, with K = 80 where it is to be given."""
    online, batch, n_topics = (3, 6, 40) if plan.quick else (8, 24, 80)
    return [
        cell
        for method, known in METHODS.items()
        for cell in plan.cells(
            method, passes=online if known.online else batch, tries=TRIES, n_topics=n_topics
        )
    ]


def draw(runs: Runs) -> Figure:
    """Draw LDA-based models on the left, HDP-based ones on the right, as the paper does."""
    figure, all_axes = panels(len(FAMILIES))
    for axes, family in zip(all_axes, FAMILIES, strict=True):
        for method in family:
            curve(axes, "passes", "error", runs.of(method), label_of(method), **style_of(method))
        axes.set(
            xscale="log", xlabel="passes through the training documents", ylabel="test error", ylim=(0, 1)
        )
        plain_numbers(axes.xaxis)
        legend(axes)
    return figure


def table(runs: Runs) -> ResultTable:
    """Return the errors after some passes."""
    most = {method: runs.of(method).passes().mean for method in runs.methods}
    shown = [at for at in SHOWN if at <= max(most.values())]
    rows = [
        [method, *(str(runs.of(method).error(at)) if at <= most[method] else "" for at in shown)]
        for method in runs.methods
    ]
    return ResultTable(["error after passes", *map(str, shown)], rows)


def claims(runs: Runs) -> list[Claim]:
    """Judge what the paper says of figure 1."""
    found = []
    for ours, *others in FAMILIES:
        first, best = runs.of(ours).error(1), runs.of(ours).least_error()
        found.append(
            Claim(
                f"{ours} converges in one pass.",
                f"Its error is {first} after one pass and {best} at its best; the same if within {SAME}.",
                first.mean - best.mean <= SAME,
            )
        )
        for method in others:
            if METHODS[method].read_out:
                error = runs.of(method).error(1)
                found.append(
                    Claim(
                        f"{ours} converges faster than the unsupervised {method} with an SVM.",
                        f"After one pass the errors are {first} and {error}.",
                        first.mean < error.mean,
                    )
                )
            else:
                passes = runs.of(method).passes_to_best(SAME)
                ratio = runs.of(method).times_of(runs.of(ours))
                found += [
                    Claim(
                        f"{method}, a batch method, needs many passes.",
                        f"It comes within {SAME} of its best error after {passes.text(1)} passes; many are "
                        "more than two.",
                        passes.mean > 2.0,
                    ),
                    Claim(
                        f"{ours} is about one order of magnitude faster than {method}.",
                        f"To the accuracy of one pass of {ours}, {method} takes, in times of that pass: "
                        f"{ratio.text(1)}; {ORDER:g} times is about one order.",
                        ratio.mean >= ORDER,
                    ),
                ]
    return found


FIGURE_1 = Experiment(
    "figure-1",
    "Figure 1: test error against passes through the training documents",
    "All methods read the training documents again and again and are tried on the test documents on the way. "
    "K = 80 (40 with --quick) for models that must be given a number of topics.",
    cells,
    draw,
    table,
    claims,
)
