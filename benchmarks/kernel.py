"""Speed of the samplers: token-samples a second, ours beside tomotopy's models and lda.

A token-sample is one draw of one token's topic. Ours learns one online pass of the local step; the others
sweep over the corpus from a random start, after one sweep that is not timed.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.native.medlda import Documents, Schedule, Tasks, Topics, step, topic_factors
from benchmarks import plots
from benchmarks.corpora import Corpus, read, words
from benchmarks.measure import Watch, in_turns, median_ratio
from benchmarks.page import Part, Table
from benchmarks.peers import have
from benchmarks.settings import Settings

ALPHA, ETA, COST, MARGIN, WEIGHT_SCALE, BATCH = 0.4, 0.05, 8.0, 32.0, 1.5, 256
LABELLED = Schedule(free_sweeps=1, free_burn_in=1, sweeps=3, burn_in=1)
SETUPS = {
    "no labels": (0, Schedule(free_sweeps=10, free_burn_in=5, sweeps=0, burn_in=0)),
    "1 task": (1, LABELLED),
    "20 tasks": (20, LABELLED),
}
# What is compared: ours, their model, its tasks, and what a reader must know of it.
PAIRS = [
    ("no labels", "tomotopy LDA", 0, "latent Dirichlet allocation by both"),
    ("no labels", "lda", 0, "latent Dirichlet allocation by both"),
    ("1 task", "tomotopy LDA", 0, "ours learns two classes, it has no labels"),
    ("1 task", "tomotopy SLDA", 1, "two classes by both"),
    ("20 tasks", "tomotopy LDA", 0, "ours learns 20 classes, it has no labels"),
    ("20 tasks", "tomotopy SLDA", 20, "20 classes by both"),
    ("20 tasks", "tomotopy PLDA", 20, "20 classes by both; its K are a topic a class and the rest latent"),
]


def ours(corpus: Corpus, n_topics: int, setup: str, n_threads: int = 1) -> float:
    """Return token-samples a second of one pass: of CPU with one thread, of the clock with more."""
    n_tasks, schedule = SETUPS[setup]
    counts, groups = corpus.X, corpus.y
    labels = np.where(groups[:, None] == np.arange(n_tasks), 1, -1).astype(np.float32)
    dirichlet = np.full((counts.shape[1], n_topics), ETA, np.float32)
    totals = dirichlet.sum(0, dtype=np.float64)
    precision = np.tile(np.eye(n_topics) / WEIGHT_SCALE**2, (n_tasks, 1, 1))
    shift = np.zeros((n_tasks, n_topics))
    alpha = np.full(n_topics, ALPHA, np.float32)
    watch = Watch()
    for begin in range(0, counts.shape[0], BATCH):
        rows = slice(begin, begin + BATCH)
        covariance = np.linalg.inv(precision)
        mean = np.einsum("tjk,tk->tj", covariance, shift)
        tasks = Tasks(mean, covariance, labels[rows], np.full(n_tasks, COST), MARGIN)
        batch = counts[rows]
        with watch:
            documents = Documents.from_csr(batch)
            phi = topic_factors(dirichlet, totals, documents.vocabulary, mean=True)
            result = step(documents, Topics(phi, alpha), tasks, schedule, n_threads=n_threads)
        kept = result.labelled if schedule.sweeps else result.free
        added = (kept.topic_word / kept.n_kept).astype(np.float32)
        dirichlet[documents.vocabulary] += added
        totals += added.sum(0, dtype=np.float64)
        precision += kept.precision
        shift += kept.shift
    seconds = watch.cpu if n_threads == 1 else watch.wall
    return corpus.n_tokens * (schedule.free_sweeps + schedule.sweeps) / seconds


def _tomotopy_model(kind: str, n_topics: int, n_tasks: int) -> Any:
    import tomotopy

    if kind == "SLDA":
        return tomotopy.SLDAModel(k=n_topics, vars="b" * n_tasks, seed=1)
    if kind == "PLDA":
        return tomotopy.PLDAModel(latent_topics=max(0, n_topics - n_tasks), topics_per_label=1, seed=1)
    return tomotopy.LDAModel(k=n_topics, seed=1)


def _labels(kind: str, group: int, n_tasks: int) -> dict[str, list[Any]]:
    if kind == "SLDA":
        return {"y": [float(group == task) for task in range(n_tasks)]}
    return {"labels": [str(group)]} if kind == "PLDA" else {}


def tomotopy_speed(
    kind: str,
    texts: list[list[str]],
    groups: NDArray[Any],
    n_topics: int,
    n_tasks: int,
    workers: int,
    seconds: float,
) -> float:
    """Return token-samples a second of about so many seconds of sweeps, at least one and at most 20."""
    model = _tomotopy_model(kind, n_topics, n_tasks)
    for text, group in zip(texts, groups, strict=True):
        model.add_doc(text, **_labels(kind, group, n_tasks))
    with Watch() as first:
        model.train(1, workers=workers)
    n_sweeps = int(np.clip(seconds / first.cpu, 1, 20))
    with Watch() as watch:
        model.train(n_sweeps, workers=workers)
    return float(model.num_words * n_sweeps / (watch.cpu if workers == 1 else watch.wall))


def lda_speed(corpus: Corpus, n_topics: int, n_sweeps: int = 4) -> float:
    """Return token-samples a CPU second; the time of its random start is taken off."""
    import lda

    def cpu_seconds(sweeps: int) -> float:
        with Watch() as watch:
            lda.LDA(n_topics, n_iter=sweeps, random_state=1, refresh=10**9).fit(corpus.X)
        return watch.cpu

    return corpus.n_tokens * n_sweeps / (cpu_seconds(1 + n_sweeps) - cpu_seconds(1))


def run(settings: Settings) -> Part:
    corpus = read("text", settings.data_home, quick=settings.quick)
    topics = (20, 40, 200) if settings.quick else (20, 40, 80, 200, 1000)
    return compare(corpus, topics, settings)


def compare(corpus: Corpus, topics: tuple[int, ...], settings: Settings) -> Part:
    """Measure all programs that are installed for every number of topics."""
    texts, seconds = words(corpus.X), 0.5 if settings.quick else 3.0
    one: dict[str, list[list[float]]] = {}  # name: for every K, a value a round
    two: dict[str, list[list[float]]] = {}
    for n_topics in topics:
        programs: dict[str, Callable[[], float]] = {
            setup: partial(ours, corpus, n_topics, setup) for setup in SETUPS
        }
        for _, theirs, n_tasks, _ in PAIRS:
            package, _, kind = theirs.partition(" ")
            if not have(package):
                continue
            programs[_key(theirs, n_tasks)] = (
                partial(tomotopy_speed, kind, texts, corpus.y, n_topics, n_tasks, 1, seconds)
                if kind
                else partial(lda_speed, corpus, n_topics)
            )
        for name, values in in_turns(programs, settings.repeats).items():
            one.setdefault(name, []).append(values)
        programs = {setup: partial(ours, corpus, n_topics, setup, n_threads=2) for setup in SETUPS}
        if have("tomotopy"):
            programs["tomotopy LDA"] = partial(
                tomotopy_speed, "LDA", texts, corpus.y, n_topics, 0, 2, seconds
            )
        for name, values in in_turns(programs, settings.repeats).items():
            two.setdefault(name, []).append(values)
    return _part(corpus, topics, one, two)


def _key(name: str, n_tasks: int) -> str:
    return f"{name}, {n_tasks} tasks" if n_tasks else name


def _part(
    corpus: Corpus,
    topics: tuple[int, ...],
    one: dict[str, list[list[float]]],
    two: dict[str, list[list[float]]],
) -> Part:
    columns = [f"K = {n_topics}" for n_topics in topics]

    def ratios(a: list[list[float]], b: list[list[float]]) -> list[float]:
        return [median_ratio(x, y) for x, y in zip(a, b, strict=True)]

    rows = [
        [setup, theirs, *ratios(one[setup], one[_key(theirs, n_tasks)]), f"One core, CPU time: {sentence}."]
        for setup, theirs, n_tasks, sentence in PAIRS
        if _key(theirs, n_tasks) in one
    ]
    if "tomotopy LDA" in two:
        rows += [
            [
                setup,
                "tomotopy LDA",
                *ratios(two[setup], two["tomotopy LDA"]),
                "Two threads each, by the clock.",
            ]
            for setup in SETUPS
        ]
    rows += [
        [setup, "itself", *ratios(two[setup], one[setup]), "Ours: two threads by the clock, one by CPU time."]
        for setup in SETUPS
    ]
    absolute = [
        [name, n_threads, *(statistics.median(values) / 1e6 for values in by_topics)]
        for n_threads, table in (("1", one), ("2, clock", two))
        for name, by_topics in table.items()
    ]
    curves = {name: (topics, [statistics.median(v) / 1e6 for v in values]) for name, values in one.items()}
    caption = "Million token-samples a CPU second by number of topics, one core"
    about = f"{(__doc__ or '').strip()}\n\n{corpus.describe()}."
    return Part(
        "Kernel",
        about,
        [Table("Kernel: token-samples a second", ["ours", "theirs", *columns, "compared"], rows)],
        {caption: plots.curves(curves, "topics", "million token-samples / s", log="xy", ours=tuple(SETUPS))},
        [Table("Million token-samples a second", ["program", "threads", *columns], absolute)],
    )
