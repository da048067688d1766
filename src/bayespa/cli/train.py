"""``bayespa train`` and ``bayespa update``: learn documents from files and streams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from bayespa.cli.job import Job, require_output, resumed
from bayespa.cli.options import INPUTS, JOBS, JSON, MODEL, Reading, load_text_model, reading
from bayespa.corpus import Document, OnlineVocabulary, shuffle
from bayespa.corpus.documents import brief
from bayespa.corpus.look import Look
from bayespa.corpus.order import shuffle_all
from bayespa.corpus.sources import expand
from bayespa.text import files
from bayespa.text.model import KINDS, TextModel

_OUTPUT = click.Path(dir_okay=False, path_type=Path)
_BUFFER = 10_000
_NUMBERED = {"libsvm", "uci", "matlab", "gml"}  # formats of which words and classes are numbers
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
        help="Save after each N documents, so that a crash loses no more.",
    ),
    click.option(
        "--checkpoint-seconds",
        "seconds",
        type=click.FloatRange(0, min_open=True),
        metavar="S",
        help="Save after S seconds, too.  [default: 60 for '-', else never]",
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


_ELSEWHERE = {  # parameters of estimators that are not for --set
    "n_passes": "documents are learned as they are read, in one pass. Several passes are for fit in Python",
    "random_state": "use --seed",
    "n_jobs": "use --jobs",
    "verbose": "progress is shown on a terminal, and every few seconds elsewhere",
    "expert": "name its parameters themselves, as in --set n_sweeps=8",
}


def _setting(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """Turn NAME=VALUE, where a value is JSON or else a text, into parameters."""
    settings: dict[str, Any] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals:
            raise click.BadParameter(f"{value!r} is not of the form NAME=VALUE")
        if name in _ELSEWHERE:
            raise click.BadParameter(f"{value!r} has no effect here; {_ELSEWHERE[name]}")
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
@learning
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
    batch_size: int | None,
    buffer: int | None,
    checkpoint_every: int,
    seconds: float | None,
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
        "batch-size": batch_size,
        "shuffle": buffer,
        "seed": seed,
        "set": settings,
        **source.described(),
    }
    with files.locked(path, wait=wait):
        found = resumed(checkpoint, path, jobs, started, _given()) if resume else None
        if found is not None:
            model, started = found
            source = Reading.again(options, started)
        else:
            _require_topics(kind, topics)
            look = source.look(inputs)
            if look is not None:
                _decide(
                    source, look, {source.format or one.guess_format() for one in expand(inputs)}, classes
                )
            started = {**started, **source.described(), "mix": _mixing(look, inputs, buffer)}
            parameters = {**settings, "random_state": seed, "n_jobs": jobs}
            if topics is not None:
                parameters["n_topics"] = topics
            if batch_size is not None:
                parameters["batch_size"] = batch_size
            words = None if _bags(inputs, source.format) else (stop_words, min_count, max_words, ngrams)
            model = _new(kind, source, classes, parameters, words)
        job = Job(model, source, path, checkpoint, checkpoint_every, seconds, started)
        job.run(inputs, _mixed(source.documents(inputs), started), started["batch-size"], as_json)
        checkpoint.unlink(missing_ok=True)


def _given() -> set[str]:
    """Return the names of options that the command line has."""
    context = click.get_current_context()
    names = {parameter.name: max(parameter.opts, key=len).lstrip("-") for parameter in context.command.params}
    chosen = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    return {names[name] for name in context.params if context.get_parameter_source(name) in chosen}


def _bags(inputs: tuple[str, ...], format: str | None) -> bool:
    """Return whether the words of documents are numbered already."""
    return any((format or source.guess_format()) in _NUMBERED for source in expand(inputs))


def _new(
    kind: str,
    source: Reading,
    classes: str | None,
    parameters: dict[str, Any],
    words: tuple[str, int, int, int] | None,
) -> TextModel:
    estimator = KINDS[kind].classifier()
    unknown = set(parameters) - set(estimator.get_params())
    turned = sorted(unknown & set(getattr(estimator, "expert_", ())))
    if expert := {name: parameters.pop(name) for name in turned}:
        parameters["expert"] = expert
        unknown -= set(expert)
    if unknown:
        known = sorted({*estimator.get_params(), *getattr(estimator, "expert_", ())} - set(_ELSEWHERE))
        raise click.UsageError(
            f"--model {kind} has no parameter {', '.join(sorted(unknown))}; --set knows {', '.join(known)}"
        )
    vocabulary, stop_words = None, "english"
    if words is not None:
        stop_words, min_count, max_words, ngrams = words
        vocabulary = OnlineVocabulary(
            max_words,
            min_count=min_count,
            min_length=1,
            ngrams=ngrams,
            n_jobs=parameters["n_jobs"],
        )
    return TextModel(
        kind,
        vectorizer=vocabulary,
        target=source.fields.get("target"),
        classes=() if classes is None else [name.strip() for name in classes.split(",")],
        reading=source.fields,
        stop_words=None if stop_words == "none" else stop_words,
        **parameters,
    )


def _require_topics(kind: str, topics: int | None) -> None:
    if topics is not None and kind != "medlda":
        why = "finds out how many topics it takes" if kind == "medhdp" else "has no topics"
        raise click.UsageError(
            f"--topics {topics} does not fit --model {kind}, which {why}; leave it out, or use --model medlda"
        )


def _decide(source: Reading, look: Look, formats: set[str], classes: str | None) -> None:
    """Decide what labels are where one alone does not show it, and say so."""
    if source.fields.get("target") is not None:
        return
    name = source.fields.get("label", "label")
    if look.numeric or (look.fractions and formats <= {"csv", "tsv"}):
        # One by one some would be numbers and others classes.
        source.fields["target"] = "number" if look.numeric else "class"
        if look.numeric and look.whole:
            click.echo(
                f"labels (--label {name}) are whole numbers and fractions, and are learned as numbers; "
                "--target class learns them as classes",
                err=True,
            )
        if not look.numeric:
            click.echo(
                f"labels (--label {name}) are fractions and other texts, and are learned as classes; "
                "--target number leaves out the other texts",
                err=True,
            )
        return
    if look.all_whole and len(look.labels) > 2 and not formats & _NUMBERED:
        values = sorted(int(str(label)) for label in look.labels)
        click.echo(
            f"labels (--label {name}) are {len(values)} whole numbers from {values[0]} to {values[-1]} and "
            "are learned as classes; --target number learns them as numbers",
            err=True,
        )
    if not look.several and (found := look.separator()) is not None:
        mark, example = found
        click.echo(
            f"labels such as {brief(example)} seem to be several each, and are learned as one; if they are "
            f"several, give --separator '{mark}'",
            err=True,
        )
    if len(look.labels) == 1 and classes is None and not look.several:
        (label,) = look.labels
        raise ValueError(
            f"all {look.order.n:,} labels are {brief(label)}, and two are needed to learn; name the field of "
            f"the label by --label (now {name}), or classes that are to come by --classes"
        )


def _mixing(look: Look | None, inputs: tuple[str, ...], buffer: int | None) -> dict[str, int]:
    """Decide how to mix documents, and say so: all of so many, or in a buffer."""
    if buffer is not None:
        return {"buffer": buffer}
    if look is None:  # nothing is known of the order
        return {"buffer": 0 if "-" in inputs else _BUFFER}
    if look.time is not None:
        click.echo(
            f"documents are in the order of time, by {look.time!r}, which is kept; --shuffle {_BUFFER} mixes",
            err=True,
        )
        return {"buffer": 0}
    if look.order.mixed:
        return {"buffer": 0}
    click.echo(
        f"{look.order}, so all {look.documents:,} documents are mixed; --shuffle 0 keeps their order",
        err=True,
    )
    return {"all": look.documents}


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
    seconds: float | None,
    resume: bool,
    wait: bool,
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
    which may have no end, checkpoints replace MODEL itself, every minute if anything was learned, and an
    interrupt (Ctrl-C) learns and saves all that was read.
    """
    target = output or path
    stream = "-" in inputs
    checkpoint = target if stream else target.with_name(f"{target.name}.checkpoint")
    for file in (target, checkpoint):
        require_output(file, inputs)
    with files.locked(target, wait=wait):
        model = load_text_model(path, jobs).without_run()
        source = Reading(options, model.reading)
        started = {
            "command": "update",
            "inputs": list(inputs),
            "batch-size": batch_size,
            "shuffle": buffer,
            "seed": seed,
            **source.described(),
        }
        found = resumed(checkpoint, target, jobs, started, _given()) if resume else None
        if found is not None:
            model, started = found
            source = Reading.again(options, started)
        else:
            look = source.look(inputs) if buffer is None else None
            started["mix"] = _mixing(look, inputs, buffer)
        seconds = _SECONDS if stream and seconds is None else seconds
        job = Job(model, source, target, checkpoint, checkpoint_every, seconds, started)
        documents = _mixed(source.documents(inputs), started)
        job.run(inputs, documents, started["batch-size"], as_json, keep_rest=stream)
        if not stream:
            checkpoint.unlink(missing_ok=True)


def _mixed(documents: Iterator[Document], started: Mapping[str, Any]) -> Iterator[Document]:
    """Mix documents as the run was started, so that it can be resumed."""
    how = started.get("mix") or _mixing(None, tuple(started["inputs"]), started["shuffle"])  # of an old file
    if "all" in how:
        return shuffle_all(documents, how["all"], random_state=started["seed"])
    buffer = how["buffer"]
    return shuffle(documents, buffer, random_state=started["seed"]) if buffer > 1 else documents
