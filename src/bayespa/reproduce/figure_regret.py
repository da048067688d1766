"""Regret against its bound: a figure that the paper does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayespa.reproduce.cells import Cell
from bayespa.reproduce.claims import Claim
from bayespa.reproduce.data import TITLES
from bayespa.reproduce.drawing import curve, legend, numbered, panels, plain_numbers
from bayespa.reproduce.experiment import Experiment, Plan, ResultTable
from bayespa.reproduce.regret import RULES
from bayespa.reproduce.runs import Runs, Spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES, QUICK_EXAMPLES = 2000, 300
EXACT = ("averaging", "Gibbs, exact")
ROUNDING = 1e-9  # where no loss is ever 0, the regret of the averaging rule equals the bound


def cells(plan: Plan) -> list[Cell]:
    """Return the cells: an adversary and documents with two weights each, and documents with all words."""
    n = plan.documents or (QUICK_EXAMPLES if plan.quick else EXAMPLES)
    few, many = ("averaging", "Gibbs, exact", "Gibbs, Gaussian"), ("averaging", "Gibbs, diagonal")
    return [
        Cell(method, data, {"weights": weights}, seed, documents=n)
        for data, weights, methods in (
            ("adversary", "2", few),
            (plan.data, "2", few),
            (plan.data, "all", many),
        )
        for method in methods
        for seed in plan.seeds
    ]


def streams(runs: Runs) -> dict[str, Runs]:
    """Return the runs of each stream under its title."""
    return {
        f"{TITLES[data]}, {weights} weights": runs.of(data=data, weights=weights)
        for data in runs.data
        for weights in runs.of(data=data).settings("weights")
    }


def draw(runs: Runs) -> Figure:
    """Draw a panel for every stream."""
    figure, all_axes = panels(len(streams(runs)))
    for axes, (title, own) in zip(all_axes, streams(runs).items(), strict=True):
        axes.axhline(1.0, color="0.4", linestyle=":", label="the bound")
        axes.axhline(0.0, color="0.8", linewidth=0.8)
        for method in own.methods:
            style = {**numbered([*RULES].index(method)), "linestyle": "-" if method in EXACT else "--"}
            curve(axes, "passes", "objective", own.of(method), method, **style)
        axes.set(xscale="log", ylim=(-0.4, 1.6), xlabel="part of the stream", title=title)
        axes.set(ylabel="regret, in parts of the bound")
        plain_numbers(axes.xaxis)
        legend(axes)
    return figure


def most(run: Runs) -> Spread:
    """Return the largest regret of each run, divided by the bound."""
    return Spread.of(max(point.objective for point in one.points) for one in run)


def table(runs: Runs) -> ResultTable:
    """Return regret and accuracy of every rule on every stream."""
    rows = [
        [title, method, str(most(own.of(method))), _last(own.of(method)), str(own.of(method).score())]
        for title, own in streams(runs).items()
        for method in own.methods
    ]
    return ResultTable(["stream", "rule", "most regret / bound", "at the end", "accuracy"], rows)


def _last(runs: Runs) -> str:
    return str(Spread.of(run.last.objective for run in runs))


def claims(runs: Runs) -> list[Claim]:
    """Judge the theorem where it holds, and measure how far the steps that it does not cover differ."""
    found = []
    for title, own in streams(runs).items():
        for method in own.methods:
            share = most(own.of(method))
            covered = "[PA-6]" if method in EXACT else "Not a theorem"
            said = f"It uses at most {share} of the bound."
            pairs = own.of(method).pairs(own.of("Gibbs, exact")) if method == "Gibbs, Gaussian" else []
            if pairs:
                gap = Spread.of(one.last.objective - exact.last.objective for one, exact in pairs)
                said += f" At the end it pays {gap} of the bound more than exact steps do."
            held = all(point.objective <= 1.0 + ROUNDING for run in own.of(method) for point in run.points)
            found.append(Claim(f"{covered}: {title}: {method} keeps the bound.", said, held))
    return found


REGRET = Experiment(
    "regret",
    "Regret: what predictions pay beyond the best distribution in hindsight",
    "Not a figure of the paper. Examples are learned one at a time with a cost of 1/√n and a standard normal "
    "prior. The bound is KL/(2c) + c Σ x², see the mathematics, [PA-6]. An adversary gives the label that "
    "the model does not expect. Documents, of which 2,000 are taken (300 with --quick), have length 1; two "
    "weights are those of their two largest singular vectors, so that exact steps can be computed on a grid. "
    "Whether a document is of the first half of the classes is to be learned. The comparator in hindsight is "
    "an SVM for the averaging rule, the exact posterior for the Gibbs rule with two weights, and the model's "
    "own last posterior with all words.",
    cells,
    draw,
    table,
    claims,
)
