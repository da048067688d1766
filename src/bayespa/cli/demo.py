"""``bayespa demo``: one pass over a stream of arXiv abstracts, and a report on what was learnt."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from textwrap import shorten
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import bayespa
from bayespa.datasets import load_arxiv_sample
from bayespa.inspect import report
from bayespa.inspect.calibration import Reliability, reliability
from bayespa.topics.explain import Explanation

OURS, SVM, MAJORITY = "MedLDA, one pass", "linear SVM, batch", "the commonest class"
BATCH_SIZE = 200
FOLDER = click.Path(file_okay=False, path_type=Path)
N_WORDS = 8  # shown for each topic
N_EXAMPLES = 4  # shown of the surest predictions that are right, and of those that are wrong


@dataclass(frozen=True)
class Papers:
    """Titles with abstracts in order of time, and the name of the class of each."""

    texts: list[str]
    y: NDArray[Any]


@dataclass(frozen=True)
class Progress:
    """How many examples were learnt, and the accuracy on the mini-batch that came next."""

    seen: int
    accuracy: float


@dataclass(frozen=True)
class Outcome:
    """What the demo found out: to be printed, and written into the report."""

    n_train: int
    n_test: int
    progress: list[Progress]
    seconds: float  # one pass, the predictions before each batch included
    accuracy: dict[str, float]  # on the test set: ours, and what it is compared with
    calibration: Reliability
    classes: list[str]
    confusion: NDArray[np.int64]  # (n_classes, n_classes), true classes in rows
    topics: dict[str, list[str]]  # for each class, the first words of the topic that speaks most for it
    explanation: Explanation  # of the surest prediction
    examples: dict[str, list[list[str]]]  # under each heading, rows as from `surest`


@click.command()
@click.option(
    "--output", type=FOLDER, default="demo-output", show_default=True, help="Where the report goes."
)
@click.option("--seed", default=0, show_default=True, help="Seed of everything random.")
@click.option("--quick", is_flag=True, help="Use every fourth abstract only.")
def demo(output: Path, seed: int, quick: bool) -> None:
    """Learn the categories of arXiv abstracts from a stream, and write a report."""
    train, test = (load(subset, every=4 if quick else 1) for subset in ("train", "test"))
    outcome = run(train, test, seed)
    show(outcome)
    output.mkdir(parents=True, exist_ok=True)
    path = output / "report.html"
    path.write_text(as_page(outcome), encoding="utf-8")
    click.echo(f"\nreport: {path}")


def load(subset: str, every: int) -> Papers:
    """Load every so many-th paper of the embedded sample, in order of time."""
    sample = load_arxiv_sample(subset=subset)
    return Papers(sample.data[::every], np.asarray(sample.target_names)[sample.target[::every]])


def learn(model: Any, X: Any, y: NDArray[Any], batch_size: int) -> Iterator[Progress]:
    """Learn mini-batches in the order of the stream, predicting each but the first before it is learnt."""
    classes = np.unique(y)
    for start in range(0, len(y), batch_size):
        batch = slice(start, start + batch_size)
        if start:
            yield Progress(seen=start, accuracy=float(np.mean(model.predict(X[batch]) == y[batch])))
        model.partial_fit(X[batch], y[batch], classes=classes)


def run(train: Papers, test: Papers, seed: int) -> Outcome:
    """Learn from the training papers in one pass, and try the model on the test papers."""
    vectorizer = CountVectorizer(stop_words="english")
    X, X_test = vectorizer.fit_transform(train.texts), vectorizer.transform(test.texts)
    model = bayespa.MedLDAClassifier(random_state=seed)

    click.echo(f"bayespa {bayespa.__version__}: one pass over {len(train.y):,} arXiv abstracts\n")
    click.echo("  learnt   accuracy on the next batch, before it is learnt")
    progress = []
    start = time.perf_counter()
    for step in learn(model, X, train.y, BATCH_SIZE):
        progress.append(step)
        click.echo(f"  {step.seen:6,}   {step.accuracy:.2f} {'▪' * round(40 * step.accuracy)}")
    seconds = time.perf_counter() - start

    probability = model.predict_proba(X_test)
    predicted = model.classes_[probability.argmax(axis=1)]
    names, counts = np.unique(train.y, return_counts=True)
    svm = make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC(random_state=seed))
    words = vectorizer.get_feature_names_out()
    topics = model.topics(N_WORDS, words)
    return Outcome(
        n_train=len(train.y),
        n_test=len(test.y),
        progress=progress,
        seconds=seconds,
        accuracy={
            OURS: float(np.mean(predicted == test.y)),
            SVM: float(svm.fit(X, train.y).score(X_test, test.y)),
            MAJORITY: float(np.mean(names[counts.argmax()] == test.y)),
        },
        calibration=reliability(test.y, probability, model.classes_),
        classes=[str(name) for name in model.classes_],
        confusion=confusion_matrix(test.y, predicted, labels=model.classes_),
        topics={
            str(name): topics[int(weights.argmax())]
            for name, weights in zip(model.classes_, model.coef_, strict=True)
        },
        explanation=model.explain(X_test[int(probability.max(axis=1).argmax())], feature_names=words),
        examples=surest(test, predicted, probability.max(axis=1)),
    )


def surest(
    test: Papers, predicted: NDArray[Any], confidence: NDArray[np.float64]
) -> dict[str, list[list[str]]]:
    """Return rows of text, class, prediction, probability: of the surest right, and of the surest wrong."""
    order = np.argsort(-confidence, kind="stable")
    right = (predicted == test.y)[order]
    return {
        heading: [
            [
                shorten(test.texts[i], 240, placeholder=" …"),
                str(test.y[i]),
                str(predicted[i]),
                f"{confidence[i]:.3f}",
            ]
            for i in chosen[:N_EXAMPLES]
        ]
        for heading, chosen in [("Surest, and right", order[right]), ("Surest, and wrong", order[~right])]
    }


def show(outcome: Outcome) -> None:
    """Print the outcome."""
    click.echo(f"\naccuracy on the {outcome.n_test:,} abstracts that follow")
    for name, value in outcome.accuracy.items():
        click.echo(f"  {name:20} {value:.3f}")
    click.echo(f"calibration: confidence is off by {outcome.calibration.error:.3f} on average (ECE)")
    click.echo(f"time: {outcome.seconds:.2f} s for {outcome.n_train:,} abstracts")
    click.echo("\nthe topic that speaks most for each class")
    for name, words in outcome.topics.items():
        click.echo(f"  {name:20} {', '.join(words)}")
    click.echo(f"\nwhy, for the surest prediction: the topics and words that added to\n{outcome.explanation}")


def as_page(outcome: Outcome) -> str:
    """Return the outcome as a page of HTML."""
    return report.page(
        "arXiv abstracts, learnt in one pass",
        report.paragraph(
            f"A max-margin topic model (online MedLDA) read {outcome.n_train:,} abstracts once, in order of "
            f"time, {BATCH_SIZE} at a time, and learnt topics that tell {len(outcome.classes)} categories "
            f"apart. The test set are the {outcome.n_test:,} abstracts that follow, which it never learnt. "
            "The linear SVM has read all abstracts as often as it liked, with TF-IDF weights of the words."
        ),
        report.facts(
            {
                "test accuracy": f"{outcome.accuracy[OURS]:.3f}",
                "calibration error": f"{outcome.calibration.error:.3f}",
                "seconds to learn": f"{outcome.seconds:.2f}",
            }
        ),
        report.table(
            ["test accuracy", ""], [[name, f"{value:.3f}"] for name, value in outcome.accuracy.items()]
        ),
        report.section("How it learnt, how sure it is, what it mixes up", *figures(outcome)),
        report.section(
            "The topic that speaks most for each class",
            report.table(
                ["class", "its first words"],
                [[name, ", ".join(words)] for name, words in outcome.topics.items()],
            ),
        ),
        report.section(
            "Why: the topics and words behind the surest prediction", outcome.explanation._repr_html_()
        ),
        *(
            report.section(heading, report.table(["abstract", "class", "predicted", "probability"], rows))
            for heading, rows in outcome.examples.items()
        ),
        report.paragraph(f"Written by bayespa {bayespa.__version__}."),
    )


def figures(outcome: Outcome) -> list[str]:
    """Return the figures of the report, or how to get them where matplotlib is missing."""
    if find_spec("matplotlib") is None:
        return [report.paragraph("For plots: pip install 'bayespa[plot]', then run bayespa demo again.")]
    from bayespa.inspect import plots

    curve = plots.learning_curve(
        seen=[step.seen for step in outcome.progress],
        accuracy=[step.accuracy for step in outcome.progress],
        references={name: outcome.accuracy[name] for name in (SVM, MAJORITY)},
    )
    diagram = plots.reliability_diagram(outcome.calibration)
    matrix = plots.confusion(outcome.confusion, outcome.classes)
    return [
        report.figure(
            curve, "Each mini-batch is predicted before it is learnt. Dashed: accuracy on the test set."
        ),
        report.figure(
            diagram, "Of predictions made with confidence 0.8, 80 % should be right: on the diagonal."
        ),
        report.figure(matrix, "Number of test abstracts; the shade is the share of the true class."),
    ]
