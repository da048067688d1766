"""``bayespa predict`` and ``bayespa evaluate``: use a model on documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np

from bayespa.cli.options import INPUTS, JOBS, JSON, MODEL, Reading, load_text_model, reading, show
from bayespa.corpus import Document, Label
from bayespa.text.model import TextModel
from bayespa.text.scores import Scores

_AT_ONCE = 512


def _chunks(documents: Iterator[Document], size: int) -> Iterator[list[Document]]:
    while chunk := list(islice(documents, size)):
        yield chunk


@click.command()
@MODEL
@INPUTS
@reading
@click.option(
    "--batch-size",
    type=click.IntRange(1),
    default=_AT_ONCE,
    show_default=True,
    help="Documents predicted at a time; 1 answers a stream at once.",
)
@click.option("--top", type=click.IntRange(1), default=3, show_default=True, help="Probabilities to print.")
@JOBS
@JSON
def predict(
    path: Path, inputs: tuple[str, ...], batch_size: int, top: int, jobs: int, as_json: bool, **options: Any
) -> None:
    """Predict the labels of documents, which need not have any.

    Prints a line for each document: its name, its label (several are separated by commas), and the most
    probable classes with their probabilities. With --json, a JSON object a line.
    """
    model = load_text_model(path, jobs)
    learned = {**model.reading, "label": None}
    source = Reading(options, learned)
    for chunk in _chunks(source.documents(inputs), batch_size):
        for line in _predicted(model, chunk, top, as_json):
            click.echo(line)
    source.finish()
    if source.problems and not source.read:
        raise ValueError("no document of the input could be read")


def _predicted(model: TextModel, chunk: list[Document], top: int, as_json: bool) -> Iterator[str]:
    answers = model.answer_counts(model.counts([document.content for document in chunk]))
    names, probabilities = answers.class_names, answers.probabilities
    if probabilities is None:
        probabilities = np.empty((len(chunk), 0))
    for document, label, row in zip(chunk, answers.labels, probabilities, strict=True):
        best = {names[i]: round(float(row[i]), 4) for i in np.argsort(-row, kind="stable")[:top]}
        if as_json:
            found: dict[str, Any] = {"id": document.id, "label": label}
            yield json.dumps({**found, **({"probabilities": best} if names else {})}, ensure_ascii=False)
        else:
            shown = [document.id, _text(label), " ".join(f"{name}:{p:.3f}" for name, p in best.items())]
            yield "\t".join(shown if names else shown[:2])


def _text(label: Label) -> str:
    return ",".join(label) if isinstance(label, tuple) else str(label)


@click.command()
@MODEL
@INPUTS
@reading
@click.option("--by-class", is_flag=True, help="Print precision, recall and F1 of each class, too.")
@JOBS
@JSON
def evaluate(
    path: Path, inputs: tuple[str, ...], by_class: bool, jobs: int, as_json: bool, **options: Any
) -> None:
    """Compare the predictions of a model with the labels of documents.

    Prints accuracy and F1 of classes, or the errors of numbers. Documents without a label do not count.
    """
    model = load_text_model(path, jobs)
    source = Reading(options, model.reading)
    assert model.target is not None  # it has learned
    scores = Scores(model.target)
    for chunk in _chunks(source.documents(inputs), _AT_ONCE):
        scores.add([d.label for d in chunk], model.predict([d.content for d in chunk]))
    source.finish()
    if not scores.n:
        raise ValueError("no document of the input has a label to compare with")
    found: dict[str, Any] = {"documents": scores.n, **scores.summary()}
    if as_json:
        show({**found, **({} if model.target == "number" else {"by class": scores.by_class()})}, as_json)
        return
    show(found, as_json)
    if by_class and model.target != "number":
        rows = scores.by_class()
        width = max(map(len, rows))
        click.echo(f"\n{'':<{width}}  precision  recall     F1  documents")
        for name, row in rows.items():
            click.echo(
                f"{name:<{width}}  {row['precision']:9.3f}  {row['recall']:6.3f}  {row['F1']:5.3f}  "
                f"{row['documents']:9,}"
            )
