"""``bayespa demo``: learn a stream of arXiv abstracts."""

from __future__ import annotations

from pathlib import Path

import click

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.option(
    "--output", type=FOLDER, default="demo-output", show_default=True, help="Folder to write the report to."
)
@click.option("--seed", default=0, show_default=True, help="Seed of all random numbers.")
@click.option("--quick", is_flag=True, help="Use only every fourth abstract.")
def demo(output: Path, seed: int, quick: bool) -> None:
    """Learn the categories of arXiv abstracts from a stream, and write a report."""
    from bayespa.cli.papers import run

    run(output, seed, quick)
