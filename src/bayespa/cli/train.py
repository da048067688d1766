"""``bayespa train`` and ``bayespa update``: learn documents from files and streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from bayespa.cli.job import Job
from bayespa.cli.options import INPUTS, JOBS, JSON, MODEL, Reading, load_text_model, reading
from bayespa.corpus import Document, OnlineVocabulary, shuffle
from bayespa.corpus.sources import expand
from bayespa.text.model import KINDS, TextModel

_OUTPUT = click.Path(dir_okay=False, path_type=Path)
_BUFFER = 10_000
_LEARNING = (
    click.option("--batch-size", type=click.IntRange(1), metavar="N", help="Documents learned at a time."),
    click.option(
        "--shuffle",
        "buffer",
        type=click.IntRange(0),
        metavar="N",
        help=f"Mix the documents in a buffer of N; 0 keeps their order.  [default: {_BUFFER:,}; 0 for '-']",
    ),
    click.option(
        "--checkpoint-every",
        type=click.IntRange(1),
        default=50_000,
        show_default=True,
        metavar="N",
        help="Save after each N documents, so that a crash loses no more.",
    ),
    click.option("--resume", is_flag=True, help="Go on from the checkpoint of a run that broke off, if any."),
)


def learning(command: Any) -> Any:
    """Add the options that say how to learn."""
    for option in reversed(_LEARNING):
        command = option(command)
    return command


def _setting(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """Turn NAME=VALUE, where a value is JSON or else a text, into parameters."""
    settings: dict[str, Any] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals:
            raise click.BadParameter(f"{value!r} is not of the form NAME=VALUE")
        try:
            settings[name] = json.loads(text)
        except ValueError:
            settings[name] = text
    return settings


@click.command()
@INPUTS
@click.option(
    "-o", "--output", "path", type=_OUTPUT, required=True, metavar="MODEL", help="Where the model goes."
)
@reading
@click.option(
    "--model",
    "kind",
    type=click.Choice(list(KINDS)),
    default="medlda",
    show_default=True,
    help="Kind of model.",
)
@click.option("--topics", type=click.IntRange(1), metavar="K", help="Number of topics.  [default: 40]")
@click.option(
    "--classes", metavar="A,B,...", help="Classes, where the first documents do not show at least two."
)
@click.option(
    "--stop-words",
    type=click.Choice(["english", "none"]),
    default="english",
    show_default=True,
    help="Words to leave out: those that are in every English text, or none.",
)
@click.option(
    "--min-count",
    default=3,
    show_default=True,
    help="Occurrences from which on a word is part of the vocabulary.",
)
@click.option("--max-words", default=100_000, show_default=True, help="Largest vocabulary.")
@learning
@click.option("--seed", default=0, show_default=True, help="Of everything random.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    callback=_setting,
    metavar="NAME=VALUE",
    help="Parameter of the estimator, such as cost=64; see the documentation of its class.",
)
@JOBS
@JSON
def train(
    inputs: tuple[str, ...],
    path: Path,
    kind: str,
    topics: int | None,
    classes: str | None,
    stop_words: str,
    min_count: int,
    max_words: int,
    batch_size: int | None,
    buffer: int | None,
    checkpoint_every: int,
    resume: bool,
    seed: int,
    settings: dict[str, Any],
    jobs: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn a model from documents, in one pass.

    INPUT is a file, a folder, a glob or '-' for standard input: JSONL, CSV, TSV, Parquet, Arrow, text (a line
    a document), a folder of files (its name is the label), libsvm, UCI, Matlab or gml; text formats may be
    compressed (.gz, .xz, .zst).

    \b
    bayespa train docs.jsonl --text body --label topic -o model.bayespa
    bayespa train papers.parquet --text title --text abstract --label subjects -o model.bayespa
    bayespa train mails/ -o model.bayespa

    Some documents of each mini-batch are predicted before they are learned: the measures printed are those of
    these predictions. While it runs, checkpoints go to MODEL.checkpoint; MODEL is written at the end.
    """
    source = Reading(options)
    checkpoint = path.with_name(f"{path.name}.checkpoint")
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {str(path.parent)!r} to write {path.name} to")
    if resume and checkpoint.exists():
        model = load_text_model(checkpoint, jobs)
    else:
        parameters = {**settings, "random_state": seed, "n_jobs": jobs}
        if topics is not None:
            parameters["n_topics"] = topics
        if batch_size is not None:
            parameters["batch_size"] = batch_size
        words = None if _bags(inputs, source.format) else (stop_words, min_count, max_words)
        model = _new(kind, source, classes, parameters, words)
    job = Job(model, source, path, checkpoint, checkpoint_every)
    job.run(inputs, _shuffled(source.documents(inputs), inputs, buffer, seed), batch_size, as_json)
    checkpoint.unlink(missing_ok=True)


def _bags(inputs: tuple[str, ...], format: str | None) -> bool:
    """Return whether the words of documents are numbered already."""
    return any(
        (format or source.guess_format()) in ("libsvm", "uci", "matlab", "gml") for source in expand(inputs)
    )


def _new(
    kind: str,
    source: Reading,
    classes: str | None,
    parameters: dict[str, Any],
    words: tuple[str, int, int] | None,
) -> TextModel:
    unknown = set(parameters) - set(KINDS[kind].classifier().get_params())
    if unknown:
        raise click.UsageError(f"--model {kind} has no parameter {', '.join(sorted(unknown))}")
    vocabulary = None
    if words is not None:
        stop_words, min_count, max_words = words
        vocabulary = OnlineVocabulary(
            max_words,
            min_count=min_count,
            stop_words=None if stop_words == "none" else stop_words,
            fixed_width=not KINDS[kind].grows,
        )
    return TextModel(
        kind,
        vectorizer=vocabulary,
        target=source.fields.get("target"),
        classes=() if classes is None else [name.strip() for name in classes.split(",")],
        reading=source.fields,
        **parameters,
    )


@click.command()
@MODEL
@INPUTS
@click.option(
    "-o", "--output", type=_OUTPUT, metavar="MODEL", help="Where the new model goes.  [default: the same]"
)
@reading
@learning
@click.option("--seed", default=0, show_default=True, help="Of the shuffling.")
@JOBS
@JSON
def update(
    path: Path,
    inputs: tuple[str, ...],
    output: Path | None,
    batch_size: int | None,
    buffer: int | None,
    checkpoint_every: int,
    resume: bool,
    seed: int,
    jobs: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Go on learning: a model reads more documents.

    Fields are those of the training, unless options say otherwise. New words and classes are learned, too.

    \b
    bayespa update model.bayespa new.jsonl
    tail -f stream.jsonl | bayespa update model.bayespa -

    From files, checkpoints go to MODEL.checkpoint and MODEL is replaced at the end. From standard input,
    which may have no end, checkpoints replace MODEL itself, and an interrupt (Ctrl-C) learns and saves all
    that was read.
    """
    target = output or path
    stream = "-" in inputs
    checkpoint = target if stream else target.with_name(f"{target.name}.checkpoint")
    model = load_text_model(checkpoint if resume and checkpoint.exists() else path, jobs)
    if not resume:
        model.run = None
    source = Reading(options, model.reading)
    job = Job(model, source, target, checkpoint, checkpoint_every)
    documents = _shuffled(source.documents(inputs), inputs, buffer, seed)
    job.run(inputs, documents, batch_size, as_json, keep_rest=stream)
    if not stream:
        checkpoint.unlink(missing_ok=True)


def _shuffled(
    documents: Iterator[Document], inputs: tuple[str, ...], buffer: int | None, seed: int
) -> Iterator[Document]:
    if buffer is None:
        buffer = 0 if "-" in inputs else _BUFFER
    return shuffle(documents, buffer, random_state=seed) if buffer > 1 else documents
