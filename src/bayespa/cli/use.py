"""``bayespa predict`` and ``bayespa evaluate``: use a model on documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np

from bayespa.cli.columns import column, json_line
from bayespa.cli.options import INPUTS, JOBS, JSON, MODEL, Reading, load_text_model, reading, show
from bayespa.corpus import Document, Label, MalformedInput, Problem
from bayespa.corpus.documents import brief
from bayespa.text.model import Answers, TextModel
from bayespa.text.scores import ProbabilityScores, Scores
from bayespa.text.targets import as_target

_AT_ONCE = 512
_NAMED = 10  # labels in a message


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
    probable classes with their probabilities, with tabs between them. Of numbers: its name, the number in six
    digits, and the standard deviation by which the model is unsure of it. What a name or label has of tabs,
    ends of lines, backslashes and the like is escaped as in JSON (\\t, \\n, \\\\, \\u002c), and so is the
    first character of what a spreadsheet would take for a formula. With --json, a JSON object a line.
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
    deviations = answers.deviations or [0.0] * len(chunk)
    rows = zip(chunk, answers.labels, probabilities, deviations, strict=True)
    for document, label, row, deviation in rows:
        best = {names[i]: round(float(row[i]), 4) for i in np.argsort(-row, kind="stable")[:top]}
        if answers.deviations is not None:
            digits = f"{label:.6g}", f"{deviation:.6g}"
            if as_json:
                yield json_line({"id": document.id, "label": float(digits[0]), "deviation": float(digits[1])})
            else:
                yield "\t".join([column(document.id), *digits])
        elif as_json:
            yield json_line({"id": document.id, "label": label, **({"probabilities": best} if names else {})})
        else:
            probable = " ".join(f"{column(name, between=' ')}:{p:.3f}" for name, p in best.items())
            shown = [column(document.id), _text(label), probable]
            yield "\t".join(shown if names else shown[:2])


def _text(label: Label) -> str:
    if isinstance(label, tuple):
        return ",".join(column(name, between=",") for name in label)
    return column(str(label))


class Measures:
    """All that the labels of documents say of a model's answers."""

    def __init__(self, model: TextModel) -> None:
        assert model.target is not None  # it has learned
        self._model, self._target = model, model.target
        self.scores = Scores(self._target)
        self._probable = ProbabilityScores(self._target, model.class_names)
        self._within = 0

    @property
    def n(self) -> int:
        """Documents that have a label."""
        return self.scores.n

    @property
    def unknown(self) -> Counter[str]:
        """Labels that the model does not know, and how often each occurs."""
        return self._probable.unknown

    def add(self, labels: list[Label], answers: Answers) -> None:
        """Count documents; labels may be None where they are not known."""
        labels = [as_target(label, self._target, row) for row, label in enumerate(labels)]
        self.scores.add(labels, answers.labels)
        if answers.probabilities is not None:
            self._probable.add(labels, answers.probabilities)
        for y, said, deviation in zip(labels, answers.labels, answers.deviations or (), strict=False):
            if isinstance(y, float) and isinstance(said, float):
                self._within += abs(y - said) <= 2.0 * deviation

    def summary(self) -> dict[str, Any]:
        """Return the measures by name."""
        found: dict[str, Any] = {**self.scores.summary(), **self._probable.summary()}
        if self._target == "number" and self.n:
            found["within 2 deviations"] = self._within / self.n
        if self.unknown:
            found["of unknown labels"] = self._probable.n_unknown
        return found

    def name_unknown(self, source: Reading) -> None:
        """Say which labels the model does not know; if it knows none, raise an error."""
        if not self.unknown:
            return
        more = ", ..." if len(self.unknown) > _NAMED else ""
        shown = ", ".join(f"{brief(name)} ({n:,})" for name, n in self.unknown.most_common(_NAMED)) + more
        if self._probable.n_unknown == self.n:
            names = self._model.class_names
            known = ", ".join(map(brief, names[:_NAMED])) + (", ..." if len(names) > _NAMED else "")
            raise ValueError(
                f"the model knows none of the labels, {shown}; it knows {known}. Name the right field by "
                f"--label (now {source.fields.get('label', 'label')})"
            )
        click.echo(
            f"{self._probable.n_unknown:,} of {self.n:,} documents have labels that the model does not know, "
            f"which count as wrong: {shown}; log loss is that of the others",
            err=True,
        )


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

    Prints accuracy and F1 of classes, how often the right one is among the best, log loss and the expected
    calibration error (ECE) of probabilities; or the errors of numbers, and how many of these are within two
    of the deviations that predict prints. Documents without a label do not count; a label that the model
    does not know is named, and counts as wrong.
    """
    model = load_text_model(path, jobs)
    source = Reading(options, model.reading)
    measures = Measures(model)
    for chunk in _chunks(_comparable(model, source, inputs), _AT_ONCE):
        answers = model.answer_counts(model.counts([d.content for d in chunk]))
        measures.add([d.label for d in chunk], answers)
    source.finish()
    if not measures.n:
        raise ValueError("no document of the input has a label to compare with")
    measures.name_unknown(source)
    found: dict[str, Any] = {"documents": measures.n, **measures.summary()}
    scores, unknown = measures.scores, measures.unknown
    if as_json:
        if unknown:
            found["unknown labels"] = dict(unknown.most_common(_NAMED))
        show({**found, **({} if model.target == "number" else {"by class": scores.by_class()})}, as_json)
        return
    show(found, as_json)
    if by_class and model.target != "number":
        rows = {column(name): row for name, row in scores.by_class().items()}
        width = max(map(len, rows))
        click.echo(f"\n{'':<{width}}  precision  recall     F1  documents")
        for name, row in rows.items():
            click.echo(
                f"{name:<{width}}  {row['precision']:9.3f}  {row['recall']:6.3f}  {row['F1']:5.3f}  "
                f"{row['documents']:9,}"
            )


def _comparable(model: TextModel, source: Reading, inputs: tuple[str, ...]) -> Iterator[Document]:
    """Yield the documents whose label is of the kind that the model predicts; report the others."""
    for document in source.documents(inputs):
        message = model.refusal(document, model.target)
        if message is None:
            yield document
        elif source.strict:
            raise MalformedInput(f"{document.id}: {message}")
        else:
            source.problems.add(Problem(document.id, None, message))
