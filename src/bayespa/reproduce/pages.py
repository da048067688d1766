"""The files of a figure or table: every run as CSV, the figure, and a page that judges the paper's claims."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bayespa
from bayespa.inspect import html
from bayespa.reproduce.claims import Claim
from bayespa.reproduce.experiment import Experiment, Plan, ResultTable
from bayespa.reproduce.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("method", "data", "seed", "passes", "seconds", "score", "n_topics", "objective")
CLAIMS = ("the paper", "here", "verdict")


def write(experiment: Experiment, plan: Plan, runs: Runs, folder: Path) -> list[Path]:
    """Write all files of an experiment; each appears whole or not at all. Return their paths."""
    import matplotlib as mpl

    from bayespa.inspect.plots import STYLE

    paper: Any = {"figure.facecolor": "white", "axes.facecolor": "white", "svg.hashsalt": experiment.name}
    with mpl.rc_context({**STYLE, **paper}):
        figure = experiment.draw(runs)
        png, svg = _image(figure, "png"), _image(figure, "svg")
    claims, table = experiment.claims(runs), experiment.table(runs)
    files = {
        "csv": as_csv(runs).encode(),
        "png": png,
        "svg": svg,
        "md": as_markdown(experiment, plan, claims, table).encode(),
        "html": as_html(experiment, plan, claims, table, svg.decode()).encode(),
    }
    return [_replace(folder / f"{experiment.name}.{kind}", content) for kind, content in files.items()]


def as_csv(runs: Runs) -> str:
    """Return a line for every point of every run, settings in columns of their own."""
    names = sorted({name for run in runs for name in run.cell.settings})
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*COLUMNS, *(f"set_{name}" for name in names)])
    for run in runs:
        for point in run.points:
            cell = run.cell
            head = [cell.method, cell.data, cell.seed, *(getattr(point, name) for name in COLUMNS[3:])]
            rows.writerow([*head, *(cell.settings.get(name, "") for name in names)])
    return text.getvalue()


def as_markdown(experiment: Experiment, plan: Plan, claims: Sequence[Claim], table: ResultTable) -> str:
    """Return the page as Markdown."""
    return (
        "\n\n".join(
            [
                f"# {experiment.title}",
                f"{experiment.set_up} {_how(plan)}",
                f"![{experiment.title}]({experiment.name}.svg)",
                _rows(CLAIMS, [[claim.paper, claim.ours, f"**{claim.verdict}**"] for claim in claims]),
                _rows(table.header, table.rows),
                "",
            ]
        ).rstrip("\n")
        + "\n"
    )


def as_html(experiment: Experiment, plan: Plan, claims: Sequence[Claim], table: ResultTable, svg: str) -> str:
    """Return the page as HTML that stands alone."""
    return html.page(
        experiment.title,
        [
            html.section(
                "claims",
                "What the paper says, and what was measured",
                html.table(CLAIMS, [[claim.paper, claim.ours, claim.verdict] for claim in claims]),
            ),
            html.section("numbers", "Numbers", html.table(table.header, table.rows)),
        ],
        head=html.paragraph(f"{experiment.set_up} {_how(plan)}")
        + html.figure(svg[svg.index("<svg") :], experiment.title),
    )


def _how(plan: Plan) -> str:
    settings = {"ours": "the defaults of this package", "paper": "the paper's hyper-parameters"}[plan.preset]
    seeds = "one seed, 0"
    if len(plan.seeds) > 1:
        seeds = f"seeds {', '.join(map(str, plan.seeds))}; numbers are means ± standard deviations over seeds"
    only = f" Only {plan.documents} training documents were used." if plan.documents else ""
    return f"Run with bayespa {bayespa.__version__} and {settings}, {seeds}.{only}"


def _rows(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a table in Markdown.

    >>> print(_rows(["a", "b"], [["1", "x|y"]]))
    | a | b |
    |---|---|
    | 1 | x\|y |
    """
    lines = [header, *rows]
    written = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join([written[0], "|" + "---|" * len(header), *written[1:]])


def _image(figure: Figure, kind: str) -> bytes:
    image = io.BytesIO()
    figure.savefig(image, format=kind, dpi=160, metadata={"Date": None} if kind == "svg" else None)
    return image.getvalue()


def _replace(path: Path, content: bytes) -> Path:
    draft = path.with_name(f".{path.name}.part")
    draft.write_bytes(content)
    os.replace(draft, path)
    return path
