"""Shared by the figures; needs matplotlib (``pip install 'bayespa[plot]'``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayespa.reproduce.methods import METHODS
from bayespa.reproduce.runs import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Chosen by Okabe and Ito, also for colour-blind readers.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vP*"


def panels(n: int, n_rows: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.4 * n, 3.4 * n_rows), layout="constrained")
    return figure, list(figure.subplots(n_rows, n, squeeze=False).ravel())


def style_of(method: str) -> dict[str, Any]:
    """Return the style of a method: its own colour and marker, and a solid line if it is online."""
    return {**numbered([*METHODS].index(method)), "linestyle": "-" if METHODS[method].online else "--"}


def label_of(method: str) -> str:
    """Return the name of a method, with the classifier that it needs.

    >>> label_of("paMedLDA"), label_of("spLDA")
    ('paMedLDA', 'spLDA + SVM')
    """
    return f"{method} + SVM" if METHODS[method].read_out else method


def plain_numbers(axis: Axis) -> None:
    """Label a logarithmic axis at 1 and 3 times powers of ten; widen it to a decade, for two labels."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    margin = max(1.0, np.sqrt(10.0 * low / high))
    axis.set_view_interval(low / margin, high * margin, ignore=True)
    axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def numbered(place: int) -> dict[str, Any]:
    """Return the style of curve number `place`, from 0."""
    return {
        "color": OKABE_ITO[place % len(OKABE_ITO)],
        "marker": MARKERS[place % len(MARKERS)],
        "markersize": 5,
        "linewidth": 1.4,
    }


def curve(axes: Axes, x: str, y: str, runs: Runs, label: str, **style: Any) -> None:
    """Draw runs that differ in their seeds as one line through the means, with a band of one sd.

    The i-th points of all runs belong together; runs that stopped sooner stay at their last point.
    """
    values = {
        name: np.array(
            [[1.0 - p.score if name == "error" else getattr(p, name) for p in ps] for ps in runs.steps()]
        )
        for name in (x, y)
    }
    mean, spread = values[y].mean(axis=1), values[y].std(axis=1)
    at = values[x].mean(axis=1)
    axes.plot(at, mean, label=label, **style)
    axes.fill_between(at, mean - spread, mean + spread, color=style["color"], alpha=0.15, linewidth=0)


def legend(axes: Axes) -> None:
    """Add a small legend without a frame, where it covers the curves least."""
    axes.legend(frameon=False, fontsize=8, handlelength=2.6)
