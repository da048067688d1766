"""The program ``bayespa``: one file a command."""

import click

import bayespa
from bayespa.cli.demo import demo


@click.group()
@click.version_option(bayespa.__version__, prog_name="bayespa")
def main() -> None:
    """Online Bayesian max-margin learning: classifiers from a stream, in one pass."""


main.add_command(demo)
