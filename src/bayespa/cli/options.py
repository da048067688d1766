"""Options that commands share, and how results are printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from bayespa.cli.columns import json_line

F = TypeVar("F", bound=Callable[..., Any])

# The same choices as in `bayespa.corpus.sources` and `bayespa.text.predictor`.
FORMATS = ("lines", "files", "jsonl", "csv", "tsv", "parquet", "arrow", "libsvm", "uci", "matlab", "gml")
KINDS = ("medlda", "medhdp", "linear")
TOP = 3  # classes whose probabilities are printed
_PARAMETER = re.compile(  # a Python parameter, as error messages name it
    r"\b(class_weight|classes|encoding|format|id|kind|label|separator|target|text)=('[^']*'|None|)|"
    r"\bmin_count\b"
)

ELSEWHERE = {  # parameters of estimators that are not for --set
    "n_passes": "the program reads documents once. For several passes use fit in Python",
    "random_state": "use --seed",
    "n_jobs": "use --jobs",
    "class_weight": "use --class-weight",
    "lag": "use --lag",
    "verbose": "the program always shows progress",
    "expert": "name the parameter itself, as in --set n_sweeps=8",
}

MODEL = click.argument("path", metavar="MODEL", type=click.Path(exists=True, dir_okay=False, path_type=Path))
INPUTS = click.argument(
    "inputs", metavar="INPUT...", nargs=-1, required=True, type=click.Path(allow_dash=True)
)
_CREW = (
    click.option(
        "--workers",
        type=click.IntRange(0),
        metavar="N",
        help="Share the work among N processes of this machine, with Ray; 0: only this process, same result.",
    ),
    click.option(
        "--ray", "address", metavar="ADDRESS", help="Share the work with the Ray cluster at this address."
    ),
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
JOBS = click.option(
    "--jobs", default=-1, show_default=True, help="Threads; -1: one per processor. The result is the same."
)

BEGIN = click.option(
    "--from",
    "begin",
    type=click.Choice(["saved", "first", "last"]),
    default="saved",
    show_default=True,
    help="Where to start in the broker's stream: after the last message that the model has learned, at the "
    "first message, or after the last.",
)
PREDICTIONS = click.option(
    "--predictions",
    metavar="URL",
    help="Broker's stream to send predictions to; each is made before its document is learned.",
)


def _class_weight(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> str | dict[str, float] | None:
    """Turn 'balanced', or all CLASS=WEIGHT, into a parameter of classifiers."""
    if not values or values == ("balanced",):
        return values[0] if values else None
    weights = {}
    for value in values:
        name, _, weight = value.rpartition("=")
        try:
            weights[name] = float(weight)
        except ValueError:
            raise click.BadParameter(
                f"{value!r} is neither 'balanced' nor of the form CLASS=WEIGHT"
            ) from None
        if not (name and 0.0 < weights[name] < float("inf")):
            raise click.BadParameter(f"{value!r} is not a class and a weight above 0, as in spam=3")
    return weights


CLASS_WEIGHT = click.option(
    "--class-weight",
    multiple=True,
    callback=_class_weight,
    metavar="CLASS=WEIGHT",
    help="Weight of a class: above 1, the model predicts it more often. Repeat for other classes. "
    "'balanced': as if all classes were equally frequent.",
)
_READING = (
    click.option(
        "--text", multiple=True, metavar="FIELD", help="Field with the text; repeat to join several."
    ),
    click.option("--label", metavar="FIELD", help="Field with the label; 'none' for no labels."),
    click.option("--id", metavar="FIELD", help="Field with the document's id.  [default: file:line]"),
    click.option(
        "--target",
        type=click.Choice(["class", "classes", "number"]),
        help="What labels are. Default: a list is several classes, a fraction is a number, anything else is "
        "a class; whole numbers are classes unless other labels are fractions.",
    ),
    click.option(
        "--separator", metavar="TEXT", help="Separator of several labels in one field, such as ';'."
    ),
    click.option(
        "--format", type=click.Choice(FORMATS), help="Format of the input.  [default: by file ending]"
    ),
    click.option("--encoding", metavar="NAME", help="Encoding of texts.  [default: utf-8, else latin-1]"),
    click.option(
        "--skip", type=click.IntRange(0), default=0, metavar="N", help="Skip the first N documents."
    ),
    click.option("--limit", type=click.IntRange(1), metavar="N", help="Read at most N documents."),
    click.option("--strict", is_flag=True, help="Stop at the first malformed record."),
)


def in_flags(message: str) -> str:
    """Replace the Python parameters in a message by the options of the program.

    >>> in_flags("lower min_count, or use kind='medlda' or label=None; give format= one of csv, tsv")
    'lower --min-count, or use --model medlda or --label none; give --format one of csv, tsv'
    """

    def flag(found: re.Match[str]) -> str:
        name = {None: "min-count", "kind": "model", "class_weight": "class-weight"}.get(found[1], found[1])
        value = "none" if found[2] == "None" else (found[2] or "").strip("'")
        return f"--{name} {value}".rstrip()

    return _PARAMETER.sub(flag, message)


def reading(command: F) -> F:
    """Add the options for reading documents."""
    for option in reversed(_READING):
        command = option(command)
    return command


def crew(command: F) -> F:
    """Add the options for workers."""
    for option in reversed(_CREW):
        command = option(command)
    return command


@contextmanager
def hired(n: int | None, address: str | None) -> Iterator[Any]:
    """Yield the workers that the options ask for; None: no workers."""
    if n is not None and address is not None:
        raise click.UsageError(
            "--workers starts Ray on this machine, --ray uses a cluster; give only one of them"
        )
    if not n and address is None:
        yield None
        return
    from bayespa.workers import Workers

    with Workers(n, address=address) as workers:
        yield workers


def show(result: dict[str, Any], as_json: bool) -> None:
    """Print named results as lines, or as one JSON object."""
    if as_json:
        click.echo(json_line(result))
        return
    width = max(map(len, result))
    for name, value in result.items():
        text = f"{value:.4f}" if isinstance(value, float) else f"{value:,}" if type(value) is int else value
        click.echo(f"{name:<{width}}  {text}")
