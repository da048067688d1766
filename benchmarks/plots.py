"""Curves of several programs in one figure."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

STYLE = {"font.size": 9, "axes.grid": True, "grid.color": "#e6e6e6", "svg.fonttype": "none"}

OURS = ("#2458a6", "#1a936f", "#6a3d9a", "#0b7a99", "#4c72b0", "#2f4b7c")
THEIRS = ("#c44e52", "#dd8452", "#937860", "#8c8c8c", "#da8bc3", "#b8860b", "#444444", "#e377c2", "#bcbd22")


def curves(
    named: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    xlabel: str,
    ylabel: str,
    *,
    log: str = "x",
    ours: Sequence[str] = (),
) -> str:
    """Draw a curve a program as SVG, ours in full lines, theirs broken; `log` names logarithmic axes."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.4, 4.4), layout="constrained")
        axes = figure.subplots()
        colours = {True: iter(OURS * len(named)), False: iter(THEIRS * len(named))}
        for name, (x, y) in named.items():
            own = name in ours
            axes.plot(
                x,
                y,
                marker="o",
                markersize=3,
                linestyle="-" if own else "--",
                color=next(colours[own]),
                label=name,
            )
        axes.set(xlabel=xlabel, ylabel=ylabel)
        axes.set(**{f"{axis}scale": "log" for axis in log})
        figure.legend(loc="outside right upper", fontsize=7, frameon=False)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
        return file.getvalue()
