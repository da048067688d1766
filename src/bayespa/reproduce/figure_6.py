"""Figure 6: F1 against training time where documents have several labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bayespa.reproduce.cells import Cell
from bayespa.reproduce.claims import COMPARABLE, ORDER, Claim
from bayespa.reproduce.data import TITLES
from bayespa.reproduce.drawing import curve, legend, panels, plain_numbers, style_of
from bayespa.reproduce.experiment import FAMILIES, Experiment, Plan, ResultTable
from bayespa.reproduce.methods import METHODS
from bayespa.reproduce.runs import Runs, Spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRIES = (0.05, 0.1, 0.2, 0.4, 0.7, 1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32)
QUICK_DOCUMENTS = 4000


def cells(plan: Plan) -> list[Cell]:
    """Return the cells: supervised methods whose tasks share topics, on every data set of many labels."""
    if plan.quick:
        plan = replace(plan, documents=plan.documents or QUICK_DOCUMENTS)
    return [
        cell
        for data in (("sample-labels", "generated") if plan.quick else ("arxiv", "wiki", "generated"))
        for method, known in METHODS.items()
        if not known.read_out
        for cell in plan.cells(
            method,
            data,
            passes=1 if known.online else 6 if plan.quick else 16,
            tries=TRIES,
            n_topics=40,
            multi_class="shared",
        )
    ]


def draw(runs: Runs) -> Figure:
    """Draw a panel for every data set."""
    figure, all_axes = panels(len(runs.data))
    for axes, data in zip(all_axes, runs.data, strict=True):
        for method in runs.methods:
            curve(axes, "seconds", "score", runs.of(method, data), f"{method}-mt", **style_of(method))
        axes.set(
            xscale="log", xlabel="training time, CPU seconds", ylabel="F1", ylim=(0, 1), title=TITLES[data]
        )
        plain_numbers(axes.xaxis)
        legend(axes)
    return figure


def table(runs: Runs) -> ResultTable:
    """Return F1 and time of every method on every data set."""
    rows = []
    for data in runs.data:
        for method in runs.methods:
            own = runs.of(method, data)
            measured = [str(own.score()), own.seconds().text(1), own.passes().text(1)]
            rows.append([TITLES[data], f"{method}-mt", *measured])
    return ResultTable(["data", "method", "F1", "seconds", "passes"], rows)


def claims(runs: Runs) -> list[Claim]:
    """Judge what the paper says of figure 6."""
    found = []
    for data in runs.data:
        for ours, *others in FAMILIES:
            for method in [other for other in others if other in runs.methods]:
                both = runs.of(ours, data).pairs(runs.of(method, data))
                gap = Spread.of(theirs.last.score - own.last.score for own, theirs in both)
                ratio = runs.of(method, data).times_of(runs.of(ours, data), COMPARABLE)
                found.append(
                    Claim(
                        f"{TITLES[data]}: {ours}-mt is about one order of magnitude faster than {method}-mt "
                        "and yet produces comparable results.",
                        f"To come within {COMPARABLE} of its F1, {method}-mt takes, in times of its time: "
                        f"{ratio.text(1)}; it ends better by {gap}. The limits are {ORDER:g} and "
                        f"{COMPARABLE}.",
                        ratio.mean >= ORDER and gap.mean <= COMPARABLE,
                    )
                )
    return found


FIGURE_6 = Experiment(
    "figure-6",
    "Figure 6: F1 against training time, many labels a document",
    "All tasks share K = 40 topics. Online methods read the training documents once. F1 pools all labels "
    "(micro). The paper's corpus of 1.1 million Wikipedia articles is not public; in its place: 60,000 arXiv "
    "abstracts, the authors' sample of 5,000 articles, split 4,000 / 1,000, and 50,000 documents generated "
    "in its shape; with --quick, the sample of arXiv abstracts and 4,000 generated documents.",
    cells,
    draw,
    table,
    claims,
)
