"""Predictions as lines to print, and scores of predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click
import numpy as np

from bayespa.cli.columns import column, json_line
from bayespa.cli.reading import Reading
from bayespa.corpus import Document, Label, MalformedInput, Problem
from bayespa.corpus.documents import brief
from bayespa.text.model import TextModel
from bayespa.text.predictor import Answers
from bayespa.text.scores import ProbabilityScores, Scores
from bayespa.text.targets import as_target

NAMED = 10  # labels in a message


def chunks(documents: Iterator[Document], size: int) -> Iterator[list[Document]]:
    """Yield the documents in lists of `size`."""
    while chunk := list(islice(documents, size)):
        yield chunk


def predicted(model: TextModel, chunk: list[Document], top: int, as_json: bool) -> list[str]:
    """Return a line to print for each document."""
    return list(_predicted(model, chunk, top, as_json))


def _predicted(model: TextModel, chunk: list[Document], top: int, as_json: bool) -> Iterator[str]:
    answers = model.answer([document.content for document in chunk])
    names, probabilities = answers.class_names, answers.probabilities
    if probabilities is None:
        probabilities = np.empty((len(chunk), 0))
    deviations = answers.deviations or [0.0] * len(chunk)
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, :top]
    ranked = np.take_along_axis(probabilities, order, axis=1).tolist()
    between_spaces = [column(name, between=" ") for name in names]
    between_commas = {name: column(name, between=",") for name in names}
    rows = zip(chunk, answers.labels, order.tolist(), ranked, deviations, strict=True)
    for document, label, places, values, deviation in rows:
        best = [(i, round(p, 4)) for i, p in zip(places, values, strict=True)]
        if answers.deviations is not None:
            digits = f"{label:.6g}", f"{deviation:.6g}"
            if as_json:
                yield json_line({"id": document.id, "label": float(digits[0]), "deviation": float(digits[1])})
            else:
                yield "\t".join([column(document.id), *digits])
        elif as_json:
            found = {"probabilities": {names[i]: p for i, p in best}} if names else {}
            yield json_line({"id": document.id, "label": label, **found})
        else:
            probable = " ".join(f"{between_spaces[i]}:{p:.3f}" for i, p in best)
            said = label if isinstance(label, tuple) else None  # several
            text = column(str(label)) if said is None else ",".join(between_commas[name] for name in said)
            shown = [column(document.id), text, probable]
            yield "\t".join(shown if names else shown[:2])


class Measures:
    """All scores of a model's predictions."""

    def __init__(self, model: TextModel) -> None:
        assert model.target is not None  # it has learned
        self._model, self._target = model, model.target
        self.scores = Scores(self._target)
        self._probable = ProbabilityScores(self._target, model.class_names)
        self._within = 0

    @property
    def n(self) -> int:
        """Documents with a label."""
        return self.scores.n

    @property
    def unknown(self) -> Counter[str]:
        """Labels that the model does not know, and how often each occurs."""
        return self._probable.unknown

    def add(self, labels: list[Label], answers: Answers) -> None:
        """Count documents; a label may be None."""
        labels = [as_target(label, self._target, row) for row, label in enumerate(labels)]
        self.scores.add(labels, answers.labels)
        if answers.probabilities is not None:
            self._probable.add(labels, answers.probabilities)
        for y, said, deviation in zip(labels, answers.labels, answers.deviations or (), strict=False):
            if isinstance(y, float) and isinstance(said, float):
                self._within += abs(y - said) <= 2.0 * deviation

    def summary(self) -> dict[str, Any]:
        """Return the scores by name."""
        found: dict[str, Any] = {**self.scores.summary(), **self._probable.summary()}
        if self._target == "number" and self.n:
            found["within 2 deviations"] = self._within / self.n
        if self.unknown:
            found["of unknown labels"] = self._probable.n_unknown
        return found

    def name_unknown(self, source: Reading) -> None:
        """List the labels that the model does not know; raise an error if it knows none."""
        if not self.unknown:
            return
        more = ", ..." if len(self.unknown) > NAMED else ""
        shown = ", ".join(f"{brief(name)} ({n:,})" for name, n in self.unknown.most_common(NAMED)) + more
        if self._probable.n_unknown == self.n:
            names = self._model.class_names
            known = ", ".join(map(brief, names[:NAMED])) + (", ..." if len(names) > NAMED else "")
            raise ValueError(
                f"the model knows none of the labels, {shown}; it knows {known}. Name the field of the label "
                f"by --label (now {source.fields.get('label', 'label')})"
            )
        click.echo(
            f"{self._probable.n_unknown:,} of {self.n:,} documents have labels that the model does not know: "
            f"{shown}. They count as wrong; log loss leaves them out",
            err=True,
        )


def comparable(model: TextModel, source: Reading, inputs: tuple[str, ...]) -> Iterator[Document]:
    """Yield the documents whose label fits the model (a class or a number); report the others."""
    for document in source.documents(inputs):
        message = model.refusal(document, model.target)
        if message is None:
            yield document
        elif source.strict:
            raise MalformedInput(f"{document.id}: {message}")
        else:
            source.problems.add(Problem(document.id, None, message))
