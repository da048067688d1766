"""The program ``bayespa``: one file a group of commands.

Files of commands import what computes when a command runs: help and completion of the shell need none of it.
"""

from typing import Any

import click

import bayespa
from bayespa.cli.corpora import datasets
from bayespa.cli.demo import demo
from bayespa.cli.look import explain, topics
from bayespa.cli.options import in_flags
from bayespa.cli.report import report
from bayespa.cli.reproduce import reproduce
from bayespa.cli.serve import serve, token
from bayespa.cli.train import train, update
from bayespa.cli.use import evaluate, predict
from bayespa.text.interrupts import Interrupted


class Program(click.Group):
    """Turns errors that tell what is wrong with the input into one line and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # click ends quietly: nobody reads any more
        except (OSError, ValueError, ImportError) as error:
            raise click.ClickException(in_flags(str(error))) from error
        except MemoryError as error:
            raise click.ClickException(
                f"there is not enough memory ({error or 'nothing more can be allocated'}); files are as they "
                "were. Fewer words (--max-words), topics or documents at a time (--batch-size) need less"
            ) from error
        except Interrupted as interrupted:
            ctx.exit(interrupted.exit_code)
        except KeyboardInterrupt:
            ctx.exit(130)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bayespa.__version__, prog_name="bayespa")
def main() -> None:
    """Learn to label texts from files and streams, in one pass, and say why.

    \b
    bayespa train docs.jsonl --text body --label topic -o model.bayespa
    bayespa evaluate model.bayespa test.jsonl
    bayespa predict model.bayespa new.jsonl
    bayespa report model.bayespa --data test.jsonl -o report.html
    tail -f stream.jsonl | bayespa update model.bayespa -
    bayespa serve model.bayespa

    Results go to standard output, as JSON with --json; messages and progress go to standard error. Exit
    codes: 0 done, 1 bad data or files, 2 wrong usage, 130 interrupted (what was learned is saved).
    """


for command in (
    train,
    update,
    predict,
    evaluate,
    topics,
    explain,
    report,
    serve,
    token,
    reproduce,
    datasets,
    demo,
):
    main.add_command(command)
