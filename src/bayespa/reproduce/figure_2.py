"""Figures 2 and 3: accuracy and training time against the number of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayespa.reproduce.cells import Cell
from bayespa.reproduce.claims import COMPARABLE, ORDER, Claim
from bayespa.reproduce.drawing import label_of, legend, panels, plain_numbers, style_of
from bayespa.reproduce.experiment import HDP, LDA, Experiment, Plan, ResultTable
from bayespa.reproduce.methods import METHODS
from bayespa.reproduce.runs import Runs, Spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCE = 1e-4  # the paper's: of the objective, from one pass to the next
MOST_PASSES, QUICK_PASSES = 30, 8
TOPICS, QUICK_TOPICS = (20, 40, 60, 80, 110), (20, 60, 110)


def _passes(plan: Plan, method: str) -> int:
    """Return the largest number of passes of a method: one if it is supervised and online."""
    if METHODS[method].online and not METHODS[method].read_out:
        return 1
    return QUICK_PASSES if plan.quick else MOST_PASSES


def lda_cells(plan: Plan) -> list[Cell]:
    """Return the cells: every LDA-based method with every number of topics."""
    return [
        cell
        for n_topics in (QUICK_TOPICS if plan.quick else TOPICS)
        for method in LDA
        for cell in plan.cells(method, passes=_passes(plan, method), tol=TOLERANCE, n_topics=n_topics)
    ]


def hdp_cells(plan: Plan) -> list[Cell]:
    """Return the cells: every HDP-based method."""
    return [
        cell for method in HDP for cell in plan.cells(method, passes=_passes(plan, method), tol=TOLERANCE)
    ]


def _groups(runs: Runs, method: str) -> list[Runs]:
    """Return the runs of a method, by the number of topics that it was given."""
    own = runs.of(method)
    return [own.of(n_topics=given) for given in own.settings("n_topics")]


def draw(runs: Runs) -> Figure:
    """Draw accuracy on the left and time on the right; a bar along x is the sd of the number of topics."""
    figure, (left, right) = panels(2)
    for method in runs.methods:
        groups = _groups(runs, method)
        topics = [group.n_topics() for group in groups]
        for axes, values in (
            (left, [group.score() for group in groups]),
            (right, [group.seconds() for group in groups]),
        ):
            axes.errorbar(
                [x.mean for x in topics],
                [y.mean for y in values],
                xerr=[x.sd for x in topics],
                yerr=[y.sd for y in values],
                label=label_of(method),
                capsize=2,
                **style_of(method),
            )
    left.set(xlabel="topics", ylabel="test accuracy")
    right.set(xlabel="topics", ylabel="training time, CPU seconds", yscale="log")
    plain_numbers(right.yaxis)
    legend(left)
    return figure


def table(runs: Runs) -> ResultTable:
    """Return accuracy, time, passes and number of topics of every setting."""
    rows = [
        [method, group.n_topics().text(1), *_measured(group)]
        for method in runs.methods
        for group in _groups(runs, method)
    ]
    return ResultTable(["method", "topics", "accuracy", "seconds", "passes"], rows)


def _measured(group: Runs) -> list[str]:
    return [str(group.score()), group.seconds().text(1), group.passes().text(1)]


def claims(runs: Runs) -> list[Claim]:
    """Judge what the paper says of the figure."""
    ours, *others = runs.methods
    found = []
    for method in others:
        both = runs.of(ours).pairs(runs.of(method))
        gap = Spread.of(theirs.last.score - own.last.score for own, theirs in both)
        if METHODS[method].read_out:
            found.append(
                Claim(
                    f"{ours} is more accurate than the unsupervised {method} with an SVM.",
                    f"By {Spread(-gap.mean, gap.sd)} on average over topics and seeds.",
                    gap.mean < 0.0,
                )
            )
            continue
        ratio = Spread.of(theirs.last.seconds / own.last.seconds for own, theirs in both)
        found += [
            Claim(
                f"{ours} is about one order of magnitude faster than {method}.",
                f"{method} takes {ratio.text(1)} times as long; {ORDER:g} times is about one order.",
                ratio.mean >= ORDER,
            ),
            Claim(
                f"{ours} parallels {method} in accuracy.",
                f"{method} is better by {gap}; comparable if by no more than {COMPARABLE}.",
                gap.mean <= COMPARABLE,
            ),
        ]
    return found


_SET_UP = (
    "Batch methods and unsupervised ones stop when the objective of a pass differs by less than 1e-4, "
    f"relatively, from that of the pass before, or after {MOST_PASSES} passes ({QUICK_PASSES} with --quick; "
    "twice as many sweeps of gMedLDA's chain); "
    "supervised online ones read the training documents once. Time is CPU time on one thread, that of the "
    "SVM included."
)
FIGURE_2 = Experiment(
    "figure-2",
    "Figure 2: accuracy and training time of LDA-based models",
    _SET_UP,
    lda_cells,
    draw,
    table,
    claims,
)
FIGURE_3 = Experiment(
    "figure-3",
    "Figure 3: accuracy and training time of HDP-based models",
    f"{_SET_UP} The number of topics is what each model found; horizontal bars are its standard deviation.",
    hdp_cells,
    draw,
    table,
    claims,
)
