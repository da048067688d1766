"""``bayespa reproduce``: run an experiment of the paper, and judge its claims."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import click

WHAT = ("figure-1", "figure-2", "figure-3", "figure-4", "table-1", "figure-5", "figure-6", "regret")
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("what", type=click.Choice([*WHAT, "all"]))
@click.option("--data", type=FOLDER, help="Folder of the published corpora.  [default: $BAYESPA_DATA]")
@click.option("--output", type=FOLDER, default="reproduction", show_default=True, help="Folder to write to.")
@click.option("--quick", is_flag=True, help="A small version on the sample in the package: two minutes.")
@click.option("--seeds", type=click.IntRange(1), help="Number of seeds.  [default: 2, or 1 with --quick]")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1), help="Runs at a time.")
@click.option(
    "--settings",
    default="ours",
    show_default=True,
    type=click.Choice(["ours", "paper"]),
    help="Hyper-parameters: the defaults of this package, or the paper's.",
)
@click.option("--documents", type=click.IntRange(1), help="Limit of training documents.")
def reproduce(
    what: str,
    data: Path | None,
    output: Path,
    quick: bool,
    seeds: int | None,
    jobs: int,
    settings: Literal["ours", "paper"],
    documents: int | None,
) -> None:
    """Run an experiment of the paper: a figure or a table.

    OUTPUT/runs.jsonl keeps every finished run; the same command continues where it was stopped.
    """
    if find_spec("matplotlib") is None:
        raise click.ClickException("the figures need matplotlib: pip install 'bayespa[plot]'")
    from bayespa.reproduce import EXPERIMENTS
    from bayespa.reproduce.experiment import Plan
    from bayespa.reproduce.pages import write
    from bayespa.reproduce.runner import finish
    from bayespa.reproduce.store import Store

    plan = Plan(quick, settings, range(seeds or (1 if quick else 2)), documents)
    chosen = [EXPERIMENTS[name] for name in (WHAT if what == "all" else [what])]
    data_sets = {cell.data for experiment in chosen for cell in experiment.cells(plan)}
    if "arxiv" in data_sets and find_spec("pyarrow") is None:  # fail now, not after an hour
        raise click.ClickException("the arXiv abstracts need pyarrow: pip install 'bayespa[data]'")
    output.mkdir(parents=True, exist_ok=True)
    store = Store(output / "runs.jsonl")
    for experiment in chosen:
        click.echo(experiment.title)
        try:
            runs = finish(experiment.cells(plan), store, data, jobs, lambda line: click.echo(f"  {line}"))
        except FileNotFoundError as error:
            raise click.ClickException(f"{error}; or use --quick, which needs no data") from error
        for claim in experiment.claims(runs):
            click.echo(f"  {claim.verdict}: {claim.paper} {claim.ours}")
        for path in write(experiment, plan, runs, output):
            click.echo(f"  {path}")
