"""``bayespa update`` from a broker's stream; the model file holds the position."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from bayespa.cli.job import Job, require_output
from bayespa.cli.reading import Reading
from bayespa.sources import open_sink, open_source
from bayespa.sources.broker import Begin
from bayespa.text.files import locked
from bayespa.text.saving import load_text_model


def require_one_stream(inputs: tuple[str, ...], given: set[str]) -> None:
    """Raise an error if there are other inputs, or options that do not fit a broker's stream."""
    if len(inputs) > 1:
        raise click.UsageError("give a single stream of a broker, and no files with it")
    if found := sorted(given & {"shuffle", "skip", "format", "encoding", "resume", "lag"}):
        raise click.UsageError(
            f"--{found[0]} does not work with a broker's stream, which continues where the model stopped"
        )


def learn_stream_of_broker(
    path: Path,
    target: Path,
    url: str,
    begin: Begin,
    drain: bool,
    predictions: str | None,
    options: dict[str, Any],
    *,
    batch_size: int | None,
    every: int,
    seconds: float,
    wait: bool,
    jobs: int,
    as_json: bool,
) -> None:
    """Learn the messages of a stream that the model has not learned yet."""
    require_output(target, ("-",))
    with ExitStack() as stack:
        stack.enter_context(locked(target, wait=wait))
        model = load_text_model(path, jobs)
        model.with_lag(1)  # learn documents as they come
        reading = Reading(options, model.reading)
        source = stack.enter_context(open_source(url))
        sink = None if predictions is None else stack.enter_context(open_sink(predictions))
        started = {"command": "update", "inputs": [source.name], "batch-size": batch_size}
        before = ((model.run or {}).get("started") or {}).get("inputs")
        if begin != "saved" or before != [source.name]:
            model.with_run(None)
        source.begin(begin, model.offsets)
        job = Job(model, reading, target, target, every, seconds, started, sink)
        documents = reading.stream(source, drain)
        job.run(("-",), documents, batch_size, as_json, keep_rest=True, sought=True)
