"""Figures for reports; needs matplotlib (``pip install 'bayespa[plot]'``).

Figures are made without pyplot: no window, no global state, safe in threads and servers.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from bayespa.inspect.calibration import Reliability

STYLE: Any = {  # Any: rc_context wants a dict of some 300 literal keys
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "axes.axisbelow": True,
    "font.size": 9,
    "svg.fonttype": "none",  # text stays text: small, searchable, in the reader's font
    "svg.hashsalt": "bayespa",  # the same figure gives the same bytes
}
ACCENT, MUTED = "#2458a6", "#9a9a9a"


def learning_curve(
    seen: Sequence[int], accuracy: Sequence[float], references: Mapping[str, float] | None = None
) -> str:
    """Draw the accuracy on each mini-batch, predicted before it was learnt, as SVG.

    Parameters
    ----------
    seen : sequence of int
        Examples learnt from before each prediction.
    accuracy : sequence of float
        Accuracy of each prediction.
    references : mapping of str to float, optional
        Accuracies to draw as labelled horizontal lines.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.2), layout="constrained")
        axes = figure.subplots()
        axes.plot(seen, accuracy, color=ACCENT, marker="o", markersize=3)
        for name, value in (references or {}).items():
            axes.axhline(value, color=MUTED, linestyle="--", linewidth=1)
            axes.annotate(name, (1.01, value), xycoords=("axes fraction", "data"), va="center", color="#555")
        axes.set(
            xlabel="examples learnt from", ylabel="accuracy on the next batch", ylim=(0, 1), xlim=(0, None)
        )
        return _svg(figure)


def reliability_diagram(groups: Reliability) -> str:
    """Draw accuracy against confidence, and how many predictions have that confidence, as SVG."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 4.2), layout="constrained")
        axes, counts = figure.subplots(2, sharex=True, height_ratios=[3, 1])
        axes.plot([0, 1], [0, 1], color=MUTED, linestyle="--", linewidth=1)
        axes.plot(groups.confidence, groups.accuracy, color=ACCENT, marker="o", markersize=4)
        axes.set(ylabel="share that is right", ylim=(0, 1), xlim=(0, 1))
        edges = np.linspace(0, 1, len(groups.count) + 1)
        counts.bar(
            edges[:-1], groups.count, width=np.diff(edges), align="edge", color=ACCENT, edgecolor="white"
        )
        counts.set(xlabel="confidence", ylabel="predictions")
        return _svg(figure)


def confusion(matrix: ArrayLike, names: Sequence[str]) -> str:
    """Draw a confusion matrix (true classes in rows) as SVG, each row as shares of its class."""
    matrix = np.asarray(matrix)
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    with mpl.rc_context({**STYLE, "axes.grid": False, "font.size": 8}):
        figure = Figure(figsize=(6.4, 5.6), layout="constrained")
        axes = figure.subplots()
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for row, column in np.argwhere(matrix):
            ink = "white" if shares[row, column] > 0.5 else "black"
            axes.text(column, row, str(matrix[row, column]), ha="center", va="center", color=ink, fontsize=7)
        axes.set_xticks(range(len(names)), names, rotation=90)
        axes.set_yticks(range(len(names)), names)
        axes.set(xlabel="predicted", ylabel="true")
        return _svg(figure)


def _svg(figure: Figure) -> str:
    """Return the figure as an <svg> element to put into a page."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]  # without the XML prologue
