"""``bayespa predict`` and ``bayespa evaluate``: use a model on documents."""

from __future__ import annotations

from functools import partial
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
    help="Documents to predict at a time; 1 answers each at once.",
)
@click.option(
    "--top", type=click.IntRange(1), default=TOP, show_default=True, help="Number of probabilities to print."
)
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
    """Predict the labels of documents.

    Prints a line per document, with tabs between the columns: the document's id, its label (several with
    commas between them), and the most probable classes with their probabilities. For numbers: the id, the
    number with six digits, and its standard deviation. Tabs, line ends, backslashes and the like in ids and
    labels are escaped as in JSON (\\t, \\n, \\\\, \\u002c), and so is a first character that a spreadsheet
    would take for a formula. With --json, one JSON object per line.
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
        for lines in found:
            click.echo("\n".join(lines))
    source.finish()
    if source.problems and not source.read:
        raise source.nothing()


@click.command()
@MODEL
@INPUTS
@reading
@click.option("--by-class", is_flag=True, help="Also print precision, recall and F1 of each class.")
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

    For classes: accuracy, F1, top-3 and top-5 accuracy, log loss and the expected calibration error (ECE).
    For numbers: errors, R², and the share of documents within two standard deviations. Documents without a
    label do not count. Labels that the model does not know are listed, and count as wrong.
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
        answers = model.answer([d.content for d in chunk])
        measures.add([d.label for d in chunk], answers)
    source.finish()
    if not measures.n:
        raise ValueError("no document of the input has a label")
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
