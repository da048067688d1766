"""Time to accuracy: CPU seconds of learning until a program predicts so well, and its peak memory.

Every program learns in a process of its own, on one core, from the same counts. What is charged is learning
and the fit of a read-out, not reading the corpus, converting it or predicting the test documents. LinearSVC
and PA on tf-idf are ceilings, which explain nothing in topics.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray
from sklearn.metrics import f1_score

from benchmarks import plots
from benchmarks.corpora import Corpus, read
from benchmarks.measure import Watch, fresh
from benchmarks.methods import READ_OUTS, Method, method, methods, read_out
from benchmarks.page import Cell, Part, Table
from benchmarks.settings import Settings

LEVELS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85)
CLOSE = 0.005  # a peer has arrived when it is so close to its best


class Point(NamedTuple):
    """A checkpoint of a curve."""

    curve: str  # the program, and its read-out if it has one
    cpu: float
    score: float  # accuracy, or micro F1 of several labels
    macro: float  # macro F1


class Curve(NamedTuple):
    """All points of one program and read-out."""

    method: Method
    name: str
    points: list[Point]
    megabytes: float

    @property
    def best(self) -> float:
        """Its best score."""
        return max(point.score for point in self.points)

    def reaches(self, score: float) -> float | None:
        """Return the CPU seconds to a score."""
        return min((point.cpu for point in self.points if point.score >= score), default=None)


def _scored(curve: str, cpu: float, y: NDArray[Any], predicted: NDArray[Any]) -> Point:
    micro, macro = (
        f1_score(y, predicted, average=average, zero_division=0) for average in ("micro", "macro")
    )
    return Point(curve, cpu, float(micro), float(macro))  # of one label a document, micro F1 is the accuracy


def learn(name: str, corpus: Corpus, quick: bool) -> list[Point]:
    """Learn by one method and score its checkpoints."""
    points, watch = [], Watch()
    checkpoints = method(name).learn(corpus, quick)
    while True:
        before = watch.cpu
        with watch:
            checkpoint = next(checkpoints, None)
        if checkpoint is None:
            return points
        cpu = watch.cpu - before if checkpoint.alone else watch.cpu
        documents = checkpoint.prepare(corpus.X_test)
        if checkpoint.predict:
            points.append(_scored(name, cpu, corpus.y_test, checkpoint.predict(documents)))
        if checkpoint.shares:
            with Watch() as own:
                shares = checkpoint.shares()
            shares_test = checkpoint.shares(documents)
            for reader in READ_OUTS:
                with Watch() as reading:
                    model = read_out(reader, shares, corpus.y)
                curve, seconds = f"{name} + {reader}", cpu + own.cpu + reading.cpu
                points.append(_scored(curve, seconds, corpus.y_test, model.predict(shares_test)))


def measure(corpus: Corpus, settings: Settings) -> list[Curve]:
    """Learn by all methods, each in a process of its own."""
    curves = []
    for chosen in methods(corpus):
        points, megabytes = fresh(learn, chosen.name, corpus, settings.quick)
        for name in dict.fromkeys(point.curve for point in points):
            curves.append(Curve(chosen, name, [p for p in points if p.curve == name], megabytes))
    return curves


def ratios(corpus: Corpus, curves: list[Curve]) -> list[list[Cell]]:
    """Compare each of theirs with the best of ours of its kind: how much sooner ours is as accurate."""
    rows: list[list[Cell]] = []
    for theirs in curves:
        if theirs.method.ours:
            continue
        own = [c for c in curves if c.method.ours and c.method.topics == theirs.method.topics]
        their_cpu = theirs.reaches(theirs.best - CLOSE)
        reached = [(cpu, c.name, c.megabytes) for c in own if (cpu := c.reaches(theirs.best)) is not None]
        sentence = (
            f"CPU seconds until {'micro F1' if corpus.multilabel else 'accuracy'} {theirs.best:.3f}, its best"
        )
        if not reached or their_cpu is None:
            best = max(own, key=lambda c: c.best)
            sentence += f"; ours does not get there ({best.name}: {best.best:.3f})."
            rows.append([best.name, theirs.name, None, theirs.megabytes / best.megabytes, sentence])
        else:
            cpu, name, megabytes = min(reached)
            sentence += f": {cpu:.3g} and {their_cpu:.3g}."
            rows.append([name, theirs.name, their_cpu / cpu, theirs.megabytes / megabytes, sentence])
    return rows


def _absolute(corpus: Corpus, curves: list[Curve]) -> Table:
    score = ["micro F1", "macro F1"] if corpus.multilabel else ["accuracy"]
    rows: list[list[Cell]] = []
    for curve in curves:
        top = max(curve.points, key=lambda point: point.score)
        scores = [f"{top.score:.3f}", f"{top.macro:.3f}"][: len(score)]
        rows.append([curve.name, *scores, top.cpu, curve.megabytes, *map(curve.reaches, LEVELS)])
    columns = ["program", *score, "CPU s", "peak MB", *(f"s to {level}" for level in LEVELS)]
    return Table(corpus.describe(), columns, rows)


def run(settings: Settings) -> Part:
    names = ("text",) if settings.quick else ("text", "matlab", "reuters")
    tables, figures, absolute = [], {}, []
    for name in names:
        corpus = read(name, settings.data_home, quick=settings.quick)
        curves = measure(corpus, settings)
        title = f"Time to accuracy and memory: {corpus.name}"
        columns = ["ours", "theirs", "time", "memory", "compared"]
        tables.append(Table(title, columns, ratios(corpus, curves)))
        absolute.append(_absolute(corpus, curves))
        drawn = {c.name: ([p.cpu for p in c.points], [p.score for p in c.points]) for c in curves}
        own = [c.name for c in curves if c.method.ours]
        ylabel = "micro F1" if corpus.multilabel else "accuracy"
        figures[title] = plots.curves(drawn, "CPU seconds of learning", ylabel, ours=own)
    return Part("Time to accuracy, and memory", (__doc__ or "").strip(), tables, figures, absolute)
