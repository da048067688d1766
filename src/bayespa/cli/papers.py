"""What ``bayespa demo`` runs: one pass over a stream of arXiv abstracts, and a report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import bayespa
from bayespa.datasets import load_arxiv_sample
from bayespa.inspect import Progress, reliability, write_report
from bayespa.inspect.view import TopicView
from bayespa.topics.relevance import CONTRAST

OURS, SVM, MAJORITY = "MedLDA, one pass", "linear SVM, batch", "the commonest class"
BATCH_SIZE = 200
N_WORDS = 8  # printed of each topic


@dataclass(frozen=True)
class Papers:
    """Titles with abstracts in order of time, their word counts, and their classes."""

    texts: list[str]
    X: Any
    y: NDArray[Any]


def run(output: Path, seed: int, quick: bool) -> None:
    """Learn the stream, print progress, and write a report to a folder."""
    vectorizer = CountVectorizer(stop_words="english")
    every = 4 if quick else 1
    train, test = load("train", every, vectorizer.fit_transform), load("test", every, vectorizer.transform)
    words = vectorizer.get_feature_names_out()
    model = bayespa.MedLDAClassifier(random_state=seed)
    click.echo(f"bayespa {bayespa.__version__}: one pass over {len(train.y):,} arXiv abstracts\n")
    progress, seconds = learn_aloud(model, train)
    accuracy = compare(model, train, test, seed)
    show(model, test, words, accuracy)
    click.echo(f"time: {seconds:.2f} s for {len(train.y):,} abstracts")
    output.mkdir(parents=True, exist_ok=True)
    path = output / "report.html"
    write_report(
        path,
        model,
        test.X,
        test.y,
        texts=test.texts,
        feature_names=words,
        progress=progress,
        references={name: accuracy[name] for name in (SVM, MAJORITY)},
        title="arXiv abstracts, learned in one pass",
        summary=f"A max-margin topic model (online MedLDA) read {len(train.y):,} abstracts once, in order of "
        f"time, a quarter together and then {BATCH_SIZE} at a time, in {seconds:.2f} seconds. It learned "
        f"topics that tell {len(model.classes_)} categories apart. This page shows the {len(test.y):,} "
        "abstracts that follow, which it never learned. The linear SVM read all abstracts several times, "
        "with tf-idf weights.",
    )
    click.echo(f"\nreport: {path}")


def load(subset: str, every: int, count: Any) -> Papers:
    """Load each `every`-th paper of the embedded sample, in order of time."""
    sample = load_arxiv_sample(subset=subset)
    texts = sample.data[::every]
    return Papers(texts, count(texts), np.asarray(sample.target_names)[sample.target[::every]])


def learn(model: Any, papers: Papers) -> Iterator[Progress]:
    """Learn mini-batches in the order of the stream, and predict each but the first before learning it.

    The first is a quarter of all, because it initialises the topics.
    """
    n, classes = len(papers.y), np.unique(papers.y)
    for start, end in pairwise([0, *range(n // 4, n, BATCH_SIZE), n]):
        X, y = papers.X[start:end], papers.y[start:end]
        if start:
            yield Progress(start, float(np.mean(model.predict(X) == y)))
        model.partial_fit(X, y, classes=classes)


def learn_aloud(model: Any, papers: Papers) -> tuple[list[Progress], float]:
    """Learn and print progress; return it and the seconds of the pass, predictions included."""
    click.echo("  learned   accuracy on the next mini-batch, before learning it")
    progress = []
    start = time.perf_counter()
    for step in learn(model, papers):
        progress.append(step)
        click.echo(f"  {step.seen:6,}   {step.score:.2f} {'▪' * round(40 * (step.score or 0.0))}")
    return progress, time.perf_counter() - start


def compare(model: Any, train: Papers, test: Papers, seed: int) -> dict[str, float]:
    """Return the accuracy on the test papers, of the model, a batch learner and a constant guess."""
    names, counts = np.unique(train.y, return_counts=True)
    svm = make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC(random_state=seed))
    return {
        OURS: float(model.score(test.X, test.y)),
        SVM: float(svm.fit(train.X, train.y).score(test.X, test.y)),
        MAJORITY: float(np.mean(names[counts.argmax()] == test.y)),
    }


def show(model: Any, test: Papers, words: NDArray[Any], accuracy: dict[str, float]) -> None:
    """Print accuracy, topics, and an explanation of the surest prediction."""
    click.echo(f"\naccuracy on the {len(test.y):,} abstracts that follow")
    for name, value in accuracy.items():
        click.echo(f"  {name:20} {value:.3f}")
    probability = model.predict_proba(test.X)
    error = reliability(test.y, probability, model.classes_).error
    click.echo(f"calibration: probabilities are off by {error:.3f} on average (ECE)")
    click.echo("\nthe topic that speaks most for each class")
    topics, view = model.topics(N_WORDS, words, CONTRAST), TopicView.of(model)
    for name, weights in zip(model.classes_, view.weight, strict=True):
        click.echo(f"  {name:20} {', '.join(topics[int(weights.argmax())])}")
    surest = int(probability.max(axis=1).argmax())
    why = model.explain(test.X[surest], feature_names=words)
    click.echo(f"\nthe surest prediction, with the topics and words behind it\n{why}\n")
