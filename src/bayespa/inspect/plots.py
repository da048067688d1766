"""Figures for reports; needs matplotlib (``pip install 'bayespa[plot]'``).

Figures are made without pyplot: no window, no global state, safe in servers. They are SVG elements for pages
of `bayespa.inspect.html`, with their colours, and have a description for screen readers. Words and labels may
be anything; long ones are cut.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from bayespa.inspect.calibration import Reliability
from bayespa.inspect.html import LIGHT, MARKS
from bayespa.inspect.progress import Progress

Floats = NDArray[np.float64]
INK, MUTED, GRID, PAPER = (LIGHT[name] for name in ("ink", "muted", "grid", "paper"))
ACCENT, AGAINST = LIGHT["accent"], LIGHT["against"]
STYLE: Any = {  # Any: rc_context expects a dict of some 300 literal keys
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "font.size": 9,
    "grid.color": GRID,
    "text.color": INK,
    "text.parse_math": False,  # a word may have a dollar sign
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "svg.fonttype": "none",  # text stays text: small, searchable, in the reader's font
}
LONGEST_LABEL = 22  # characters
SHORT_LABEL = 3  # characters: such a label fits below a cell
SURE = 3.0  # standard deviations from 0 that fill a square of `weight_map`


def one_line(text: object) -> str:
    r"""Return a text in one line, without characters that SVG does not allow.

    >>> one_line("two\nlines\x07")
    'two lines'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())


def short(text: object) -> str:
    """Return a label in one line of bounded length.

    >>> short("pneumonoultramicroscopic")
    'pneumonoultramicrosco…'
    """
    line = one_line(text)
    return line if len(line) <= LONGEST_LABEL else line[: LONGEST_LABEL - 1] + "…"


@contextmanager
def _drawing(width: float, height: float, description: str) -> Iterator[tuple[Figure, Callable[[], str]]]:
    """Yield an empty figure, and a function that makes it an <svg> element."""
    description = one_line(description)
    # Ids are hashes with this salt: the same figure gives the same bytes, and two figures do not clash.
    with mpl.rc_context({**STYLE, "svg.hashsalt": description}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has more fonts than matplotlib
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, lambda: _svg(figure, description)


def _svg(figure: Figure, description: str) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]  # without the XML prologue
    text = re.sub(r"\s*<(metadata|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    used = set(re.findall(r"#([\w.-]+)", text))
    text = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", text)
    for name, colour in LIGHT.items():
        text = text.replace(colour, f"var(--{name})")
    label = escape(description)
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1).strip()


def word_bars(words: Sequence[str], values: Sequence[float], description: str, std: Any = None) -> str:
    """Draw n words with a bar each, the first on top.

    Parameters
    ----------
    words : sequence of n str
    values : sequence of n float
        Not negative.
    description : str
        For screen readers.
    std : array of shape (n,), optional
        Standard deviations of the values.

    Returns
    -------
    str
        An <svg> element.

    Examples
    --------
    >>> word_bars(["star", "galaxy"], [0.2, 0.1], "two words").count("<text") > 1
    True
    """
    with _drawing(2.4, 0.2 * len(words) + 0.1, description) as (figure, svg):
        axes = figure.subplots()
        places = np.arange(len(words))
        axes.barh(places, values, height=0.72, color=ACCENT, alpha=0.85)
        if std is not None:
            axes.errorbar(values, places, xerr=std, fmt="none", ecolor=MUTED, elinewidth=1)
        axes.set_yticks(places, [short(word) for word in words])
        axes.set(xlim=(0, None), ylim=(len(words) - 0.5, -0.5), xticks=[])
        axes.tick_params(left=False)
        axes.grid(False)
        axes.spines[["bottom", "left"]].set_visible(False)
        return svg()


def weight_map(
    mean: ArrayLike, std: ArrayLike, rows: Sequence[object], columns: Sequence[object], xlabel: str
) -> str:
    """Draw weights (rows, columns) as squares: colour is the sign, depth the size, and side the certainty.

    A square is full if its weight is `SURE` standard deviations from 0, and vanishes if it is 0 or NaN.

    Parameters
    ----------
    mean, std : arrays of shape (n_rows, n_columns)
        Weights and their standard deviations.
    rows, columns : sequences
        Their names.
    xlabel : str

    Returns
    -------
    str
        An <svg> element.

    Examples
    --------
    >>> weight_map([[1.0, -2.0]], [[0.5, 0.5]], ["cs.GT"], ["0", "1"], "topic")[:4]
    '<svg'
    """
    mean, std = np.nan_to_num(np.asarray(mean, np.float64)), np.nan_to_num(np.asarray(std, np.float64))
    depth = np.abs(mean) / max(float(np.abs(mean).max()), np.finfo(float).tiny)
    side = 0.94 * np.minimum(1.0, np.abs(mean) / (SURE * np.maximum(std, np.finfo(float).tiny)))
    with _drawing(
        1.9 + 0.19 * len(columns),
        0.6 + _depth(columns) + 0.19 * len(rows),
        f"Heat map of the weights of {len(columns)} topics for {len(rows)} labels",
    ) as (figure, svg):
        axes = figure.subplots()
        _squares(axes, side, mean > 0.0, depth)
        _label_cells(axes, rows, columns)
        axes.set(xlabel=xlabel)
        return svg()


def confusion(matrix: ArrayLike, names: Sequence[object]) -> str:
    """Draw a confusion matrix (n, n) of n named classes; true ones are rows, drawn as shares of their class.

    >>> confusion([[8, 2], [1, 9]], ["ham", "spam"])[:4]
    '<svg'
    """
    matrix = np.asarray(matrix)
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    n = len(names)
    with _drawing(1.9 + 0.3 * n, 0.6 + _depth(names) + 0.25 * n, f"Confusion matrix of {n} classes") as (
        figure,
        svg,
    ):
        axes = figure.subplots()
        _squares(axes, np.full(matrix.shape, 0.96), matrix > 0, shares)
        for row, column in np.argwhere(matrix):
            ink = PAPER if shares[row, column] > 0.55 else INK
            axes.text(column, row, str(matrix[row, column]), ha="center", va="center", color=ink, fontsize=7)
        _label_cells(axes, names, names)
        axes.set(xlabel="predicted", ylabel="true")
        return svg()


def _squares(axes: Axes, side: Floats, positive: NDArray[np.bool_], depth: Floats) -> None:
    """Draw a square in the middle of each cell, with a side and depth from 0 to 1."""
    rectangles, faces = [], []
    for (row, column), size in np.ndenumerate(side):
        colour = ACCENT if positive[row, column] else AGAINST
        rectangles.append(Rectangle((column - size / 2, row - size / 2), size, size))
        faces.append(mpl.colors.to_rgba(colour, float(np.clip(depth[row, column], 0.0, 1.0))))
    axes.add_collection(PatchCollection(rectangles, facecolors=faces, linewidths=0))


def _depth(columns: Sequence[object]) -> float:
    """Return how many inches the names of columns need below a map: long ones are vertical."""
    longest = max(len(short(name)) for name in columns)
    return 0.1 if longest <= SHORT_LABEL else 0.08 * longest


def _label_cells(axes: Axes, rows: Sequence[object], columns: Sequence[object]) -> None:
    rotation = 0 if _depth(columns) <= 0.1 else 90
    axes.set_xticks(range(len(columns)), [short(name) for name in columns], rotation=rotation, fontsize=7.5)
    axes.set_yticks(range(len(rows)), [short(name) for name in rows], fontsize=8)
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    axes.grid(False, which="major")
    axes.grid(True, which="minor", linewidth=0.5)
    axes.tick_params(which="both", length=0)
    axes.spines[["bottom", "left"]].set_visible(False)
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))


def reliability_diagram(groups: Reliability) -> str:
    """Draw accuracy against confidence, and the number of predictions.

    >>> from bayespa.inspect import reliability
    >>> reliability_diagram(reliability(["a", "b"], [[0.75, 0.25], [0.75, 0.25]], ["a", "b"]))[:4]
    '<svg'
    """
    description = f"Calibration curve; the expected calibration error is {groups.error:.3f}"
    with _drawing(4.2, 4.2, description) as (figure, svg):
        axes, counts = figure.subplots(2, sharex=True, height_ratios=[3, 1])
        axes.plot([0, 1], [0, 1], color=MUTED, linestyle="--", linewidth=1)
        full = groups.count > 0
        axes.plot(groups.confidence[full], groups.accuracy[full], color=ACCENT, marker="o", markersize=4)
        axes.set(ylabel="share that is right", ylim=(0, 1.02), xlim=(0, 1))
        edges = np.linspace(0, 1, len(groups.count) + 1)
        counts.bar(
            edges[:-1], groups.count, width=0.94 * np.diff(edges), align="edge", color=ACCENT, alpha=0.6
        )
        counts.yaxis.set_major_locator(MaxNLocator(3, integer=True))
        counts.set(xlabel="confidence", ylabel="predictions")
        return svg()


def scatter(true: ArrayLike, predicted: ArrayLike, name: str) -> str:
    """Draw predicted (n,) against true values (n,) of the target `name`.

    >>> scatter([1.0, 2.0], [1.5, 2.0], "stars")[:4]
    '<svg'
    """
    true, predicted = np.asarray(true, np.float64), np.asarray(predicted, np.float64)
    with _drawing(4.4, 4.2, f"Predicted against true values of {name}, {len(true)} documents") as (
        figure,
        svg,
    ):
        axes = figure.subplots()
        ends = [min(true.min(), predicted.min()), max(true.max(), predicted.max())]
        axes.plot(ends, ends, color=MUTED, linestyle="--", linewidth=1)
        axes.scatter(true, predicted, s=9, color=ACCENT, alpha=0.45, linewidths=0)
        axes.set(xlabel="true", ylabel="predicted")
        return svg()


def learning_curve(
    seen: Sequence[int],
    score: Sequence[float],
    references: Mapping[str, float] | None = None,
    name: str = "accuracy",
) -> str:
    """Draw the score on each mini-batch, before it was learned.

    Parameters
    ----------
    seen : sequence of int
        Examples learned before each prediction.
    score : sequence of float
        Score of each prediction.
    references : mapping of str to float, optional
        Scores to draw as labelled horizontal lines.
    name : str
        Of the score.

    Examples
    --------
    >>> learning_curve([100, 200, 300], [0.5, 0.7, 0.75], references={"guessing": 0.1})[:4]
    '<svg'
    """
    with _drawing(5.6, 3.1, f"The {name} over the stream: from {score[0]:.2f} to {score[-1]:.2f}") as (
        figure,
        svg,
    ):
        axes = figure.subplots()
        axes.plot(seen, score, color=ACCENT, marker="o" if len(seen) < 50 else "", markersize=3)
        for reference, value in (references or {}).items():
            axes.axhline(value, color=MUTED, linestyle="--", linewidth=1)
            axes.text(
                1.0,
                value,
                short(reference),
                transform=axes.get_yaxis_transform(),
                ha="right",
                va="bottom",
                color=MUTED,
            )
        low = min(0.0, *score)
        axes.set(xlabel="documents learned", ylabel=f"{name} on the next", ylim=(low, 1.02), xlim=(0, None))
        return svg()


def topic_growth(progress: Sequence[Progress], n_named: int = len(MARKS)) -> str:
    """Draw the sizes of the topics over the stream, with names of the `n_named` largest, and their number.

    >>> from bayespa.inspect import Progress
    >>> first, later = Progress(100, 0.5, ("0",), (9e2,)), Progress(200, 0.6, ("0", "1"), (1e3, 6e2))
    >>> topic_growth([first, later])[:4]
    '<svg'
    """
    sizes: dict[str, dict[int, float]] = {}
    for i, step in enumerate(progress):
        for topic, size in zip(step.topic_names, step.topic_sizes, strict=True):
            sizes.setdefault(topic, {})[i] = size
    grown = {topic: [steps.get(i, 0.0) for i in range(len(progress))] for topic, steps in sizes.items()}
    order = sorted(grown, key=lambda topic: -grown[topic][-1])
    seen = [step.seen for step in progress]
    with _drawing(5.6, 4.4, f"The growth of {len(grown)} topics over the stream") as (figure, svg):
        areas, numbers = figure.subplots(2, sharex=True, height_ratios=[3, 1])
        named = order[:n_named]
        rest = np.sum([grown[topic] for topic in order[n_named:]], axis=0) if order[n_named:] else None
        layers = [*([] if rest is None else [rest]), *(grown[topic] for topic in reversed(named))]
        colours = [*([] if rest is None else [GRID]), *(MARKS[i][0] for i in reversed(range(len(named))))]
        areas.stackplot(seen, layers, colors=colours, alpha=0.8, edgecolor=PAPER, linewidth=0.5)
        base = np.cumsum([layer[-1] for layer in layers])
        names = [
            *([] if rest is None else ["the others"]),
            *(f"topic {short(topic)}" for topic in reversed(named)),
        ]
        for name, layer, top in zip(names, layers, base, strict=True):
            if layer[-1] > 0.03 * base[-1]:
                areas.annotate(
                    name, (seen[-1], top - layer[-1] / 2), (4, 0), textcoords="offset points", va="center"
                )
        areas.set(ylabel="words in the topic", ylim=(0, None), xlim=(seen[0], seen[-1]))
        numbers.step(seen, [len(step.topic_names) for step in progress], where="post", color=ACCENT)
        births = [i for i in range(len(seen)) if any(min(steps) == i for steps in sizes.values())]
        numbers.plot(
            [seen[i] for i in births],
            [len(progress[i].topic_names) for i in births],
            "o",
            color=ACCENT,
            markersize=3,
        )
        numbers.yaxis.set_major_locator(MaxNLocator(3, integer=True))
        numbers.set(xlabel="documents learned", ylabel="topics", ylim=(0, None))
        return svg()
