"""``bayespa train`` and ``bayespa update``: learn documents from files and streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import click
from click.core import ParameterSource

from bayespa.cli.options import (
    BEGIN,
    CLASS_WEIGHT,
    ELSEWHERE,
    INPUTS,
    JOBS,
    JSON,
    KINDS,
    MODEL,
    PREDICTIONS,
    crew,
    hired,
    reading,
)

_OUTPUT = click.Path(dir_okay=False, path_type=Path)
LAG = 32  # mini-batches in progress at once, with workers
_SECONDS = 60.0  # between checkpoints of a stream
_LEARNING = (
    click.option("--batch-size", type=click.IntRange(1), metavar="N", help="Size of a mini-batch."),
    click.option(
        "--shuffle",
        "buffer",
        type=click.IntRange(0),
        metavar="N",
        help="Shuffle documents in a buffer of N; 0 keeps their order. Default: shuffle whole files if they "
        "are sorted by label and not by time; otherwise keep the order.",
    ),
    click.option(
        "--checkpoint-every",
        type=click.IntRange(1),
        default=50_000,
        show_default=True,
        metavar="N",
        help="Save a checkpoint every N documents; with a lag of L, when 16 L mini-batches are complete.",
    ),
    click.option(
        "--checkpoint-seconds",
        "seconds",
        type=click.FloatRange(0, min_open=True),
        metavar="S",
        help="Save a checkpoint every S seconds, too.  [default: 60 for '-', else never]",
    ),
    click.option(
        "--lag",
        type=click.IntRange(1, 1024),
        metavar="L",
        help="Mini-batches computed at once. The lag changes the result; the number of workers does not.  "
        f"[default: 1, or {LAG} with --workers or --ray]",
    ),
    click.option(
        "--resume", is_flag=True, help="Continue from the checkpoint of an interrupted run, if any."
    ),
    click.option(
        "--wait/--no-wait",
        default=True,
        show_default=True,
        help="If another process is writing the same model, wait for it, or fail.",
    ),
)


def learning(command: Any) -> Any:
    """Add the options for learning."""
    for option in reversed(_LEARNING):
        command = option(command)
    return command


def _setting(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """Turn NAME=VALUE into parameters; a value is JSON or else a text."""
    settings: dict[str, Any] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals:
            raise click.BadParameter(f"{value!r} is not of the form NAME=VALUE")
        if name in ELSEWHERE:
            raise click.BadParameter(f"{value!r} has no effect here; {ELSEWHERE[name]}")
        try:
            settings[name] = json.loads(text)
        except ValueError:
            settings[name] = text
    return settings


@click.command()
@INPUTS
@click.option(
    "-o", "--output", "path", type=_OUTPUT, required=True, metavar="MODEL", help="File to write the model to."
)
@reading
@click.option(
    "--model",
    "kind",
    type=click.Choice(KINDS),
    default="medlda",
    show_default=True,
    help="Kind of model.",
)
@click.option("--topics", type=click.IntRange(1), metavar="K", help="Number of topics.  [default: 40]")
@click.option("--classes", metavar="A,B,...", help="Classes, if the first documents have fewer than two.")
@click.option(
    "--stop-words",
    type=click.Choice(["english", "none"]),
    default="english",
    show_default=True,
    help="Common words that topics leave out; decisions still use them.",
)
@click.option(
    "--min-count",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Occurrences before a word enters the vocabulary.",
)
@click.option(
    "--max-words", type=click.IntRange(1), default=500_000, show_default=True, help="Largest vocabulary."
)
@click.option(
    "--ngrams",
    type=click.IntRange(1, 8),
    default=2,
    show_default=True,
    metavar="N",
    help="Decide by sequences of up to N words, too; 1: by words alone.",
)
@CLASS_WEIGHT
@learning
@crew
@click.option("--seed", default=0, show_default=True, help="Seed of all random numbers.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    callback=_setting,
    metavar="NAME=VALUE",
    help="Any parameter of the estimator, such as cost=64 or n_sweeps=8.",
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
    ngrams: int,
    class_weight: str | dict[str, float] | None,
    batch_size: int | None,
    buffer: int | None,
    checkpoint_every: int,
    seconds: float | None,
    lag: int | None,
    workers: int | None,
    address: str | None,
    resume: bool,
    wait: bool,
    seed: int,
    settings: dict[str, Any],
    jobs: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn a model from documents.

    INPUT is a file, a folder, a glob or '-' for standard input. Formats: JSONL, CSV, TSV, Parquet, Arrow,
    text (one document per line), a folder of files (its name is the label), libsvm, UCI, Matlab and gml.
    Text formats may be compressed (.gz, .xz, .zst).

    \b
    bayespa train docs.jsonl --text body --label topic -o model.bayespa
    bayespa train papers.parquet --text title --text abstract --label subjects -o model.bayespa
    bayespa train mails/ -o model.bayespa

    The labels of a file are read first. If the file is sorted by label, its documents are shuffled. Each
    mini-batch is predicted before it is learned, and the printed scores are those of these predictions. If a
    file has few documents, they are then learned anew as a whole, in several passes.

    Checkpoints go to MODEL.checkpoint; MODEL is written at the end.
    """
    from bayespa.cli import start
    from bayespa.cli.job import Job, require_output, resumed
    from bayespa.cli.reading import Reading
    from bayespa.text.files import locked

    if lag is None and (workers is not None or address is not None):
        lag = LAG
    source = Reading(options)
    checkpoint = path.with_name(f"{path.name}.checkpoint")
    for output in (path, checkpoint):
        require_output(output, inputs)
    started = {
        "command": "train",
        "inputs": list(inputs),
        "model": kind,
        "topics": topics,
        "classes": classes,
        "stop-words": stop_words,
        "min-count": min_count,
        "max-words": max_words,
        "ngrams": ngrams,
        "class-weight": class_weight,
        "batch-size": batch_size,
        "lag": lag,
        "shuffle": buffer,
        "seed": seed,
        "set": settings,
        **source.described(),
    }
    with locked(path, wait=wait):
        found = resumed(checkpoint, path, jobs, started, _given()) if resume else None
        if found is not None:
            model, started = found
            source = Reading.again(options, started)
        else:
            start.require_topics(kind, topics)
            look = source.look(inputs)
            if look is not None:
                start.decide(source, look, inputs, classes)
            order = {"mix": start.mixing(look, inputs, buffer), "together": start.together(look)}
            started = {**started, **source.described(), **order}
            parameters = {**settings, "random_state": seed, "n_jobs": jobs}
            if topics is not None:
                parameters["n_topics"] = topics
            if class_weight is not None:
                parameters["class_weight"] = class_weight
            if batch_size is not None:
                parameters["batch_size"] = batch_size
            if lag is not None:
                parameters["lag"] = lag
            words = None if start.bags(inputs, source.format) else (stop_words, min_count, max_words, ngrams)
            model = start.new_model(kind, source, classes, parameters, words)
        job = Job(model, source, path, checkpoint, checkpoint_every, seconds, started)
        with hired(workers, address) as helpers:
            documents = start.mixed(source.documents(inputs, helpers, model.vectorizer), started)
            together = started.get("together", 0)  # earlier versions had none
            job.run(inputs, documents, started["batch-size"], as_json, together, workers=helpers)
        checkpoint.unlink(missing_ok=True)


def _given() -> set[str]:
    """Return the names of the options that the user gave."""
    context = click.get_current_context()
    names = {parameter.name: max(parameter.opts, key=len).lstrip("-") for parameter in context.command.params}
    chosen = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    return {names[name] for name in context.params if context.get_parameter_source(name) in chosen}


@click.command()
@MODEL
@INPUTS
@click.option(
    "-o", "--output", type=_OUTPUT, metavar="MODEL", help="File to write the model to.  [default: MODEL]"
)
@reading
@learning
@crew
@BEGIN
@click.option(
    "--drain",
    is_flag=True,
    help="Stop at the current end of the broker's stream instead of waiting for more.",
)
@PREDICTIONS
@click.option("--seed", default=0, show_default=True, help="Seed of the shuffling.")
@JOBS
@JSON
def update(
    path: Path,
    inputs: tuple[str, ...],
    output: Path | None,
    batch_size: int | None,
    buffer: int | None,
    checkpoint_every: int,
    seconds: float | None,
    lag: int | None,
    workers: int | None,
    address: str | None,
    resume: bool,
    wait: bool,
    begin: Literal["saved", "first", "last"],
    drain: bool,
    predictions: str | None,
    seed: int,
    jobs: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn more documents with a model.

    The model remembers the fields it was trained with; options override them. It learns new words and
    classes, too.

    \b
    bayespa update model.bayespa new.jsonl
    tail -f stream.jsonl | bayespa update model.bayespa -
    bayespa update model.bayespa kafka://localhost:9092/papers

    From files, checkpoints go to MODEL.checkpoint, and MODEL is replaced at the end. Standard input may have
    no end, so checkpoints replace MODEL itself, every minute if anything was learned; Ctrl-C learns and saves
    everything read so far. The same holds for streams of brokers (kafka://HOST/TOPIC, nats://HOST/STREAM,
    redis://HOST/STREAM). There MODEL also holds the position in the stream, so that after a crash no message
    is lost or learned twice.
    """
    from bayespa.cli import start
    from bayespa.cli.job import Job, require_output, resumed
    from bayespa.cli.reading import Reading
    from bayespa.sources import is_url
    from bayespa.text.files import locked
    from bayespa.text.saving import load_text_model

    target = output or path
    if any(map(is_url, inputs)):
        from bayespa.cli.brokers import learn_stream_of_broker, require_one_stream

        require_one_stream(inputs, _given())
        learn_stream_of_broker(
            path,
            target,
            inputs[0],
            begin,
            drain,
            predictions,
            options,
            batch_size=batch_size,
            every=checkpoint_every,
            seconds=seconds or _SECONDS,
            wait=wait,
            jobs=jobs,
            as_json=as_json,
        )
        return
    if misplaced := sorted(_given() & {"from", "drain", "predictions"}):
        raise click.UsageError(
            f"--{misplaced[0]} works only with a broker's stream, such as kafka://HOST/TOPIC"
        )
    stream = "-" in inputs
    if lag is None and not stream and (workers is not None or address is not None):
        lag = LAG
    checkpoint = target if stream else target.with_name(f"{target.name}.checkpoint")
    for file in (target, checkpoint):
        require_output(file, inputs)
    with locked(target, wait=wait):
        model = load_text_model(path, jobs).with_run(None)
        source = Reading(options, model.reading)
        started = {
            "command": "update",
            "inputs": list(inputs),
            "batch-size": batch_size,
            "lag": lag,
            "shuffle": buffer,
            "seed": seed,
            **source.described(),
        }
        found = resumed(checkpoint, target, jobs, started, _given()) if resume else None
        if found is not None:
            model, started = found
            source = Reading.again(options, started)
        else:
            if stream and lag is not None and lag > 1:
                raise click.UsageError(f"--lag {lag} works only with files, not with '-'; leave it out")
            if stream or lag is not None:
                model.with_lag(lag or 1)
            look = source.look(inputs) if buffer is None else None
            started["mix"] = start.mixing(look, inputs, buffer)
        seconds = _SECONDS if stream and seconds is None else seconds
        job = Job(model, source, target, checkpoint, checkpoint_every, seconds, started)
        with hired(workers, address) as helpers:
            documents = start.mixed(source.documents(inputs, helpers, model.vectorizer), started)
            job.run(inputs, documents, started["batch-size"], as_json, keep_rest=stream, workers=helpers)
        if not stream:
            checkpoint.unlink(missing_ok=True)
