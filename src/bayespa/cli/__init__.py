"""The program ``bayespa``: one file a command."""

import click

import bayespa
from bayespa.cli.demo import demo
from bayespa.cli.reproduce import reproduce


@click.group()
@click.version_option(bayespa.__version__, prog_name="bayespa")
def main() -> None:
    """Online Bayesian max-margin learning: classifiers from a stream, in one pass."""


main.add_command(demo)
main.add_command(reproduce)
