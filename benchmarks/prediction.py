"""Prediction: documents a second, the latency of one document, and accuracy by number of sweeps, on one core.

Topic models of others are read out by a LinearSVC. What is timed starts from what the program takes
(counts, or lists of words) and ends with labels. Equal accuracy: theirs is the quickest setting that is
within 0.005 of its best, ours the quickest that is not below that best. tomotopy samples documents one by
one, as ours does, or "together", which is quicker and lets the documents of a call change each other's
topics.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks import plots
from benchmarks.corpora import Corpus, read
from benchmarks.measure import Watch, in_turns
from benchmarks.methods import methods, read_out
from benchmarks.page import Cell, Part, Table
from benchmarks.settings import Settings

NAMES = (
    "MedLDA",
    "MedHDP",
    "tomotopy LDA",
    "tomotopy PLDA",
    "gensim LDA",
    "scikit-learn LDA",
    "LinearSVC, tf-idf",
)
OURS = NAMES[:2]
CLOSE = 0.005
SWEEPS = {True: (5, 20, 50), False: (5, 10, 20, 50, 100)}


@dataclass(frozen=True, eq=False)
class Predictor:
    """A learned model that predicts in one way."""

    name: str
    variant: str  # its number of sweeps, where it has one
    documents: Any  # as the program takes them
    predict: Callable[[Any], Any]


class Measured(NamedTuple):
    """What prediction costs and is worth."""

    name: str
    variant: str  # its number of sweeps, where it has one
    accuracy: float
    per_second: float
    p50: float  # milliseconds of one document
    p99: float

    @property
    def program(self) -> str:
        """Its name without the number of sweeps."""
        return self.name + ", together" * self.variant.endswith("together")

    @property
    def called(self) -> str:
        """Its name with all."""
        return f"{self.name}, {self.variant}" if self.variant else self.name


def predictors(corpus: Corpus, settings: Settings) -> list[Predictor]:
    """Learn the models; return each with every number of sweeps."""
    found = []
    for method in methods(corpus):
        if method.name not in NAMES:
            continue
        *_, last = method.learn(corpus, settings.quick)
        documents = last.prepare(corpus.X_test)
        reader = read_out("LinearSVC", last.shares(), corpus.y) if last.shares else None
        variants = {"": last}
        if last.variants:
            variants = {k: v for n in SWEEPS[settings.quick] for k, v in last.variants(n).items()}
        for name, variant in variants.items():
            predict = partial(_read, variant.shares, reader) if reader else variant.predict
            found.append(Predictor(method.name, name, documents, predict))
    return found


def _read(shares: Callable[[Any], Any], reader: Any, documents: Any) -> Any:
    return reader.predict(shares(documents))


def documents_per_second(predictor: Predictor, corpus: Corpus, accuracy: dict[Predictor, float]) -> float:
    """Predict all test documents; their accuracy is written down."""
    with Watch() as watch:
        predicted = predictor.predict(predictor.documents)
    accuracy[predictor] = float(np.mean(predicted == corpus.y_test))
    return len(corpus.y_test) / watch.cpu


def latency(predictor: Predictor, quick: bool) -> tuple[float, float]:
    """Return median and 99th percentile of the milliseconds of one document."""
    times = []
    for i in range(100 if quick else 1000):
        start = time.perf_counter()
        predictor.predict(predictor.documents[i : i + 1])
        times.append(1e3 * (time.perf_counter() - start))
    p50, p99 = np.percentile(times, [50, 99])
    return float(p50), float(p99)


def measure(corpus: Corpus, settings: Settings) -> list[Measured]:
    """Measure all of them, in turns."""
    every, accuracy = predictors(corpus, settings), {}
    turns = {str(i): partial(documents_per_second, p, corpus, accuracy) for i, p in enumerate(every)}
    speeds = in_turns(turns, settings.repeats).values()
    return [
        Measured(p.name, p.variant, accuracy[p], statistics.median(speed), *latency(p, settings.quick))
        for p, speed in zip(every, speeds, strict=True)
    ]


def ratios(measured: list[Measured]) -> list[list[Cell]]:
    """Compare documents a second and latency at equal accuracy."""
    rows: list[list[Cell]] = []
    ours = [m for m in measured if m.name in OURS]
    for program in dict.fromkeys(m.program for m in measured if m.name not in OURS):
        own = [m for m in measured if m.program == program]
        best = max(m.accuracy for m in own)
        theirs = max((m for m in own if m.accuracy >= best - CLOSE), key=lambda m: m.per_second)
        able = [m for m in ours if m.accuracy >= best]
        if not able:
            most = max(ours, key=lambda m: m.accuracy)
            sentence = f"Ours does not reach its accuracy of {best:.3f} (it has {most.accuracy:.3f})."
            rows.append([most.called, theirs.called, None, None, None, sentence])
            continue
        quick = max(able, key=lambda m: m.per_second)
        sentence = (
            f"Documents a CPU second, and latency of one document, at accuracies "
            f"{quick.accuracy:.3f} and {theirs.accuracy:.3f}."
        )
        speed, p50, p99 = quick.per_second / theirs.per_second, theirs.p50 / quick.p50, theirs.p99 / quick.p99
        rows.append([quick.called, theirs.called, speed, p50, p99, sentence])
    return rows


def run(settings: Settings) -> Part:
    corpus = read("text", settings.data_home, quick=settings.quick)
    if settings.quick:
        corpus = corpus.head(corpus.X.shape[0], 400)
    measured = measure(corpus, settings)
    columns = ["ours", "theirs", "documents/s", "p50", "p99", "compared"]
    lines: dict[str, list[Measured]] = {}
    for m in measured:
        lines.setdefault(m.program, []).append(m)
    caption = "Accuracy by documents predicted a CPU second, one core; points of a line differ in sweeps"
    curves = {name: ([m.per_second for m in ms], [m.accuracy for m in ms]) for name, ms in lines.items()}
    rows = [[m.called, f"{m.accuracy:.3f}", m.per_second, m.p50, m.p99] for m in measured]
    return Part(
        "Prediction",
        f"{(__doc__ or '').strip()}\n\n{corpus.describe()}.",
        [Table("Prediction at equal accuracy", columns, ratios(measured))],
        {caption: plots.curves(curves, "documents / s", "accuracy", ours=OURS)},
        [Table("Prediction", ["program", "accuracy", "documents/s", "p50 ms", "p99 ms"], rows)],
    )
