"""Growth: CPU time and memory of learning one pass against documents, words, topics and tasks, one core.

Documents of 61 tokens are drawn from a known topic model and learned as a stream, each size in a process of
its own; drawing them is not timed. cost ~ size^b: b is fitted by least squares to all sizes, and between
the two largest, where fixed costs matter least. Memory is fitted by a line, whose slope says at which size
the machine's memory ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from bayespa import MedLDAClassifier
from bayespa.datasets import make_topic_corpus
from benchmarks import plots
from benchmarks.corpora import words
from benchmarks.measure import Watch, exponent, fresh, line, machine
from benchmarks.page import Cell, Part, Table
from benchmarks.peers import have
from benchmarks.settings import Settings

PIECE = 4096  # documents drawn at a time
FLAT = 0.02  # a slope that adds less than this share over all sizes is none


class Size(NamedTuple):
    """The size of a problem."""

    documents: int = 20_000
    words: int = 20_000
    topics: int = 40
    tasks: int = 20


QUICK = Size(documents=2000, words=10_000)


def _stream(size: Size) -> Iterator[Any]:
    n_labels = max(2, size.tasks)  # one task decides between two classes
    return make_topic_corpus(
        size.documents,
        n_words=size.words,
        n_topics=max(20, n_labels),
        n_labels=n_labels,
        tokens_per_document=61,
        batch_size=PIECE,
        random_state=0,
    )


def medlda(size: Size) -> float:
    """Return CPU seconds of learning."""
    model, classes = (
        MedLDAClassifier(size.topics, decides="topics", random_state=0),
        range(max(2, size.tasks)),
    )
    watch = Watch()
    for piece in _stream(size):
        with watch:
            model.partial_fit(piece.data, piece.target, classes=classes)
    return watch.cpu


def tomotopy_lda(size: Size) -> float:
    """Return CPU seconds of six sweeps, as many as ours makes."""
    import tomotopy

    model, watch = tomotopy.LDAModel(k=size.topics, seed=1), Watch()
    for piece in _stream(size):
        texts = words(piece.data)
        with watch:
            for text in texts:
                model.add_doc(text)
    with watch:
        model.train(6, workers=1)
    return watch.cpu


class Growth(NamedTuple):
    """One program along one axis."""

    program: str
    axis: str
    sizes: list[int]
    seconds: list[float]
    megabytes: list[float]

    def row(self, memory_gb: float) -> list[Cell]:
        """Return exponents, and where memory ends."""
        start, slope = line(self.sizes, self.megabytes)
        rise = slope * (self.sizes[-1] - self.sizes[0])
        if rise < FLAT * self.megabytes[0]:
            end = "nowhere: memory is flat"
        else:
            end = f"{(memory_gb * 1024 - start) / slope:.2g}"
        return [
            self.program,
            f"{self.axis}, {self.sizes[0]:,} to {self.sizes[-1]:,}",
            exponent(self.sizes, self.seconds),
            exponent(self.sizes[-2:], self.seconds[-2:]),
            end,
            f"CPU time and peak memory of {len(self.sizes)} sizes; all other sizes stay the same.",
        ]


def grow(program: str, run: Callable[[Size], float], axis: str, sizes: tuple[int, ...], base: Size) -> Growth:
    """Measure every size in a fresh process."""
    pairs = [fresh(run, base._replace(**{axis: size})) for size in sizes]
    seconds, megabytes = zip(*pairs, strict=True)
    return Growth(program, axis, list(sizes), list(seconds), list(megabytes))


def run(settings: Settings) -> Part:
    base = QUICK if settings.quick else Size()
    axes: dict[str, tuple[int, ...]] = {
        "documents": (1000, 4000, 16_000) if settings.quick else (10_000, 100_000, 1_000_000),
        "words": (10_000, 100_000) if settings.quick else (10_000, 100_000, 1_000_000),
        "topics": (10, 40, 160) if settings.quick else (10, 32, 100, 316, 1000),
        "tasks": (1, 10, 50) if settings.quick else (1, 10, 100, 1000),
    }
    found = [grow("MedLDA", medlda, axis, sizes, base) for axis, sizes in axes.items()]
    if have("tomotopy"):
        found += [
            grow("tomotopy LDA", tomotopy_lda, axis, axes[axis], base) for axis in ("documents", "topics")
        ]
    memory = machine()["memory_gb"]
    columns = ["program", "against", "exponent", "at the end", f"size at which {memory} GB end", "measured"]
    rows: list[list[Cell]] = [
        [g.program, g.axis, size, seconds, megabytes]
        for g in found
        for size, seconds, megabytes in zip(g.sizes, g.seconds, g.megabytes, strict=True)
    ]
    curves = {f"{g.program}: {g.axis}": (g.sizes, g.seconds) for g in found}
    own = [name for name in curves if name.startswith("MedLDA")]
    size = (
        f"Where it is not what grows: {base.documents:,} documents, {base.words:,} words, K = {base.topics}, "
    )
    return Part(
        "Growth",
        f"{(__doc__ or '').strip()}\n\n{size}{base.tasks} tasks.",
        [Table("Growth", columns, [g.row(memory) for g in found])],
        {"CPU seconds of learning by size": plots.curves(curves, "size", "CPU seconds", log="xy", ours=own)},
        [Table("Growth", ["program", "axis", "size", "CPU s", "peak MB"], rows)],
    )
