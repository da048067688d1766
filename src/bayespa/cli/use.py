"""``bayespa predict`` and ``bayespa evaluate``: use a model on documents."""

from __future__ import annotations

from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click

from bayespa.cli.columns import column
from bayespa.cli.options import CLASS_WEIGHT, INPUTS, JOBS, JSON, MODEL, TOP, crew, hired, reading, show

_AT_ONCE = 512


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
@click.option("--top", type=click.IntRange(1), default=TOP, show_default=True, help="Probabilities to print.")
@CLASS_WEIGHT
@crew
@JOBS
@JSON
def predict(
    path: Path,
    inputs: tuple[str, ...],
    batch_size: int,
    top: int,
    class_weight: str | dict[str, float] | None,
    workers: int | None,
    address: str | None,
    jobs: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Predict the labels of documents, which need not have any.

    Prints a line for each document: its name, its label (several are separated by commas), and the most
    probable classes with their probabilities, with tabs between them. Of numbers: its name, the number in six
    digits, and the standard deviation by which the model is unsure of it. What a name or label has of tabs,
    ends of lines, backslashes and the like is escaped as in JSON (\\t, \\n, \\\\, \\u002c), and so is the
    first character of what a spreadsheet would take for a formula. With --json, a JSON object a line.
    """
    from bayespa.cli.answers import chunks, predicted
    from bayespa.cli.reading import Reading
    from bayespa.text.saving import load_text_model

    model = load_text_model(path, jobs)
    if class_weight is not None:
        model.set_class_weight(class_weight)
    learned = {**model.reading, "label": None}
    source = Reading(options, learned)
    with hired(workers, address) as helpers:
        batches = chunks(source.documents(inputs, helpers), batch_size)
        answer = partial(predicted, top=top, as_json=as_json)
        if helpers is None:
            found = map(partial(answer, model), batches)
        else:
            found = helpers.map(answer, batches, shared=model)
        for line in chain.from_iterable(found):
            click.echo(line)
    source.finish()
    if source.problems and not source.read:
        raise ValueError("no document of the input could be read")


@click.command()
@MODEL
@INPUTS
@reading
@click.option("--by-class", is_flag=True, help="Print precision, recall and F1 of each class, too.")
@CLASS_WEIGHT
@JOBS
@JSON
def evaluate(
    path: Path,
    inputs: tuple[str, ...],
    by_class: bool,
    class_weight: str | dict[str, float] | None,
    jobs: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare the predictions of a model with the labels of documents.

    Prints accuracy and F1 of classes, how often the right one is among the best, log loss and the expected
    calibration error (ECE) of probabilities; or the errors of numbers, and how many of these are within two
    of the deviations that predict prints. Documents without a label do not count; a label that the model
    does not know is named, and counts as wrong.
    """
    from bayespa.cli.answers import NAMED, Measures, chunks, comparable
    from bayespa.cli.reading import Reading
    from bayespa.text.saving import load_text_model

    model = load_text_model(path, jobs)
    if class_weight is not None:
        model.set_class_weight(class_weight)
    source = Reading(options, model.reading)
    measures = Measures(model)
    for chunk in chunks(comparable(model, source, inputs), _AT_ONCE):
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
            found["unknown labels"] = dict(unknown.most_common(NAMED))
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
