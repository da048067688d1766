"""The program ``bayespa``: one file per group of commands.

Commands import heavy modules only when they run, so that help and shell completion are fast.
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
    """Prints errors of the input as one line, and exits with code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # click ends quietly: nobody reads the output any more
        except (OSError, ValueError, ImportError) as error:
            raise click.ClickException(in_flags(str(error))) from error
        except MemoryError as error:
            raise click.ClickException(
                f"out of memory ({error or 'an allocation failed'}); no file was changed. Use fewer words "
                "(--max-words), fewer topics or smaller mini-batches (--batch-size)"
            ) from error
        except Interrupted as interrupted:
            ctx.exit(interrupted.exit_code)
        except KeyboardInterrupt:
            ctx.exit(130)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bayespa.__version__, prog_name="bayespa")
def main() -> None:
    """Learn to label texts from files and streams in one pass, and explain the labels.

    \b
    bayespa train docs.jsonl --text body --label topic -o model.bayespa
    bayespa evaluate model.bayespa test.jsonl
    bayespa predict model.bayespa new.jsonl
    bayespa report model.bayespa --data test.jsonl -o report.html
    tail -f stream.jsonl | bayespa update model.bayespa -
    bayespa serve model.bayespa

    Results go to standard output, as JSON with --json. Messages and progress go to standard error. Exit
    codes: 0 done, 1 bad data or files, 2 wrong usage, 130 interrupted (the model is saved).
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
