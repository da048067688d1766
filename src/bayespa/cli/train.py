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
LAG = 32  # mini-batches under way at once, where workers share the work
_SECONDS = 60.0  # after which a stream is saved
_LEARNING = (
    click.option("--batch-size", type=click.IntRange(1), metavar="N", help="Documents learned at a time."),
    click.option(
        "--shuffle",
        "buffer",
        type=click.IntRange(0),
        metavar="N",
        help="Mix the documents in a buffer of N; 0 keeps their order. Default: files whose labels come in "
        "runs, and are not in the order of time, are mixed as a whole, and nothing else is.",
    ),
    click.option(
        "--checkpoint-every",
        type=click.IntRange(1),
        default=50_000,
        show_default=True,
        metavar="N",
        help="Save after each N documents, so that a crash loses no more; with a lag of L, when 16 L "
        "mini-batches are complete.",
    ),
    click.option(
        "--checkpoint-seconds",
        "seconds",
        type=click.FloatRange(0, min_open=True),
        metavar="S",
        help="Save after S seconds, too.  [default: 60 for '-', else never]",
    ),
    click.option(
        "--lag",
        type=click.IntRange(1, 1024),
        metavar="L",
        help="Mini-batches learned at once, each under what was known when it began. It alone, "
        f"not the number of workers, changes the result.  [default: 1, or {LAG} with --workers or --ray]",
    ),
    click.option("--resume", is_flag=True, help="Go on from the checkpoint of a run that broke off, if any."),
    click.option(
        "--wait/--no-wait",
        default=True,
        show_default=True,
        help="Wait for another process that writes the same model, or refuse to run beside it.",
    ),
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
    "-o", "--output", "path", type=_OUTPUT, required=True, metavar="MODEL", help="Where the model goes."
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
@click.option(
    "--classes", metavar="A,B,...", help="Classes, where the first documents do not show at least two."
)
@click.option(
    "--stop-words",
    type=click.Choice(["english", "none"]),
    default="english",
    show_default=True,
    help="Words that topics leave out, though they decide: those in every English text, or none.",
)
@click.option(
    "--min-count",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Occurrences from which on a word is part of the vocabulary.",
)
@click.option(
    "--max-words", type=click.IntRange(1), default=500_000, show_default=True, help="Largest vocabulary."
)
@click.option(
    "--ngrams",
    type=click.IntRange(1, 8),
    default=1,
    show_default=True,
    metavar="N",
    help="Count runs of up to N words, too.",
)
@CLASS_WEIGHT
@learning
@crew
@click.option("--seed", default=0, show_default=True, help="Of everything random.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    callback=_setting,
    metavar="NAME=VALUE",
    help="Parameter of the estimator, such as cost=64 or, for experts, n_sweeps=8; see its documentation.",
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
    """Learn a model from documents, in one pass.

    INPUT is a file, a folder, a glob or '-' for standard input: JSONL, CSV, TSV, Parquet, Arrow, text (a line
    a document), a folder of files (its name is the label), libsvm, UCI, Matlab or gml; text formats may be
    compressed (.gz, .xz, .zst).

    \b
    bayespa train docs.jsonl --text body --label topic -o model.bayespa
    bayespa train papers.parquet --text title --text abstract --label subjects -o model.bayespa
    bayespa train mails/ -o model.bayespa

    Files are looked at twice: if their labels come in runs, as in a sorted file, all documents are mixed.
    Documents are predicted before they are learned: the measures printed are those of these predictions.
    While it runs, checkpoints go to MODEL.checkpoint; MODEL is written at the end.
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
            started = {**started, **source.described(), "mix": start.mixing(look, inputs, buffer)}
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
            documents = start.mixed(source.documents(inputs, helpers), started)
            job.run(inputs, documents, started["batch-size"], as_json, workers=helpers)
        checkpoint.unlink(missing_ok=True)


def _given() -> set[str]:
    """Return the names of options that the command line has."""
    context = click.get_current_context()
    names = {parameter.name: max(parameter.opts, key=len).lstrip("-") for parameter in context.command.params}
    chosen = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    return {names[name] for name in context.params if context.get_parameter_source(name) in chosen}


@click.command()
@MODEL
@INPUTS
@click.option(
    "-o", "--output", type=_OUTPUT, metavar="MODEL", help="Where the new model goes.  [default: the same]"
)
@reading
@learning
@crew
@BEGIN
@click.option("--drain", is_flag=True, help="End where the stream of a broker ends now; else wait for more.")
@PREDICTIONS
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
    """Go on learning: a model reads more documents.

    Fields are those of the training, unless options say otherwise. New words and classes are learned, too.

    \b
    bayespa update model.bayespa new.jsonl
    tail -f stream.jsonl | bayespa update model.bayespa -
    bayespa update model.bayespa kafka://localhost:9092/papers

    From files, checkpoints go to MODEL.checkpoint and MODEL is replaced at the end. From standard input,
    which may have no end, checkpoints replace MODEL itself, every minute if anything was learned, and an
    interrupt (Ctrl-C) learns and saves all that was read. So it is with streams of brokers
    (kafka://HOST/TOPIC, nats://HOST/STREAM, redis://HOST/STREAM); how far they were learned is in MODEL, too:
    after a crash nothing is lost or learned twice.
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
        raise click.UsageError(f"--{misplaced[0]} is for streams of brokers, such as kafka://HOST/TOPIC")
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
                raise click.UsageError(
                    f"--lag {lag} is for files: from '-' documents are learned as they come; leave it out"
                )
            if stream or lag is not None:
                model.estimator.set_params(lag=lag or 1)
            look = source.look(inputs) if buffer is None else None
            started["mix"] = start.mixing(look, inputs, buffer)
        seconds = _SECONDS if stream and seconds is None else seconds
        job = Job(model, source, target, checkpoint, checkpoint_every, seconds, started)
        with hired(workers, address) as helpers:
            documents = start.mixed(source.documents(inputs, helpers), started)
            job.run(inputs, documents, started["batch-size"], as_json, keep_rest=stream, workers=helpers)
        if not stream:
            checkpoint.unlink(missing_ok=True)
