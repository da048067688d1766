"""``bayespa report``: a page about a model and its predictions."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayespa.cli.options import JOBS, JSON, MODEL, reading, show

if TYPE_CHECKING:
    from bayespa.corpus import Document
    from bayespa.inspect import Progress
    from bayespa.text.model import TextModel

MOST = 20_000  # default of --limit


@click.command()
@MODEL
@click.argument("inputs", metavar="[INPUT]...", nargs=-1, type=click.Path(allow_dash=True))
@click.option(
    "--data", multiple=True, type=click.Path(allow_dash=True), metavar="INPUT", help="The same as INPUT."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="File to write the page to, such as report.html.",
)
@reading
@JOBS
@JSON
def report(
    path: Path,
    inputs: tuple[str, ...],
    data: tuple[str, ...],
    output: Path,
    jobs: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Write a page about a model: its topics, its learning curve and its predictions.

    \b
    bayespa report model.bayespa --data test.jsonl -o report.html

    The page is one HTML file that needs no network. It shows topics with their words and classes, the
    confusion matrix, calibration, the score over the stream, the growth of topics, and documents with marked
    words. Without INPUT it shows only what the model learned. It uses the first 20,000 documents, or as many
    as --limit says. Use documents that the model has not learned.
    """
    if find_spec("matplotlib") is None:
        raise ImportError("the plots of a report need matplotlib: pip install 'bayespa[plot]'")
    if not output.parent.is_dir():
        raise ValueError(f"cannot write {output.name}: there is no folder {str(output.parent)!r}")
    from bayespa.cli.reading import Reading
    from bayespa.inspect import write_report
    from bayespa.text.saving import load_text_model

    model = load_text_model(path, jobs)
    about: dict[str, Any] = {}
    found: dict[str, Any] = {"report": str(output)}
    summary = _learned(model)
    if inputs + data:
        source = Reading({**options, "limit": options["limit"] or MOST + 1}, model.reading)
        documents = list(source.documents(inputs + data))
        source.finish()
        if not documents:
            raise source.nothing()
        cut = options["limit"] is None and len(documents) > MOST
        documents = documents[:MOST] if cut else documents
        about, scores = _about(model, documents)
        found |= {"documents": len(documents), **scores}
        shown = f"the first {MOST:,} documents" if cut else f"{len(documents):,} documents"
        summary += (
            f" Predictions are for {shown} of {', '.join(inputs + data)}. If the model has learned these "
            "documents, the scores are too high."
        )
    write_report(
        output,
        model.estimator,
        feature_names=model.words(),
        progress=_progress(model),
        title=f"{path.name}: what it has learned",
        summary=summary,
        **about,
    )
    show(found, as_json)


def _about(model: TextModel, documents: list[Document]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arguments of `write_report`, and scores of the predictions."""
    from bayespa.cli.answers import Measures

    contents, labels = [d.content for d in documents], [d.label for d in documents]
    counts = model.counts(contents)
    answers = model.answer_counts(counts)
    measures = Measures(model)
    measures.add(labels, answers)
    return {
        "X": model.features(counts),
        "y": model.targets(labels),
        "predicted": model.targets(answers.labels),
        "texts": contents if all(isinstance(content, str) for content in contents) else None,
    }, measures.summary()


def _learned(model: TextModel) -> str:
    """Return a sentence about the model."""
    what = "numbers" if model.target == "number" else f"{len(model.classes)} classes"
    after = f", {model.history.seen:,} documents in one pass" if model.history.points else ""
    return f"A model of kind {model.kind} that has learned to predict {what} from texts{after}."


def _progress(model: TextModel) -> list[Progress]:
    """Return the history of learning, and the present state."""
    from bayespa.inspect import Progress

    steps = [
        Progress(
            point.seen, point.score if point.n else None, tuple(point.topics), tuple(point.topics.values())
        )
        for point in model.history.points
    ]
    return [*steps, Progress.of(model.estimator, model.history.seen)] if steps else []
