"""Speed of the sampler that finds the number of topics: token-samples a CPU second, beside tomotopy's HDP.

The cost of a token-sample is proportional to the topics in use, so both programs start from the same number
and keep about as many; how many each has in the end is said. tomotopy sweeps over the corpus from a random
start, after sweeps that are not timed. Ours learns one online pass of the local step; the first mini-batch
starts at random from as many topics, and topics that later ones bring are sampled but not kept.
"""

from __future__ import annotations

import statistics
from functools import partial

import numpy as np

from bayespa.native.medhdp import HdpTopics, step
from bayespa.native.medlda import Documents, Tasks
from bayespa.posteriors import Sticks
from benchmarks.corpora import Corpus, read, words
from benchmarks.kernel import BATCH, COST, ETA, MARGIN, SETUPS, WEIGHT_SCALE
from benchmarks.measure import Watch, in_turns, median_ratio
from benchmarks.page import Part, Table
from benchmarks.peers import have
from benchmarks.settings import Settings

ALPHA, GAMMA = 5.0, 1.0
UNTIMED, TIMED = 10, 10  # sweeps of tomotopy

Speed = tuple[float, float]  # token-samples a second, topics in use


def ours(corpus: Corpus, n_topics: int, setup: str) -> Speed:
    """Learn one pass from so many topics."""
    n_tasks, schedule = SETUPS[setup]
    n_docs, n_words = corpus.X.shape
    labels = np.where(corpus.y[:, None] == np.arange(n_tasks), 1, -1).astype(np.float32)
    dirichlet = np.full((n_words, n_topics), ETA, np.float32)
    tables = np.zeros(n_topics)
    precision = np.tile(np.eye(n_topics) / WEIGHT_SCALE**2, (n_tasks, 1, 1))
    shift = np.zeros((n_tasks, n_topics))
    own_variance = np.full(n_tasks, WEIGHT_SCALE**2)
    watch, in_use = Watch(), []
    for begin in range(0, n_docs, BATCH):
        rows = slice(begin, begin + BATCH)
        batch, totals = corpus.X[rows], dirichlet.sum(0, dtype=np.float64)
        sticks = Sticks.prior(n_topics, GAMMA) + Sticks.statistics(tables)
        known = np.linalg.inv(precision)
        mean = np.pad(np.einsum("tjk,tk->tj", known, shift), [(0, 0), (0, 1)])
        covariance = np.pad(known, [(0, 0), (0, 1), (0, 1)])  # without a bias new topics know of no other
        tasks = Tasks(mean, covariance, labels[rows], np.full(n_tasks, COST), MARGIN)
        random = np.random.default_rng(0).integers(n_topics, size=int(batch.sum()), dtype=np.uint32)
        with watch:
            documents = Documents.from_csr(batch)
            topics = HdpTopics(
                dirichlet=dirichlet[documents.vocabulary],
                totals=totals,
                u=sticks.u,
                v=sticks.v,
                own_variance=own_variance,
                concentration=ALPHA,
                stick_concentration=GAMMA,
                start_concentration=GAMMA,
                eta=ETA,
                n_words=n_words,
            )
            result = step(documents, topics, tasks, schedule, start=random if begin == 0 else None)
        kept = result.labelled if schedule.sweeps else result.free
        dirichlet[documents.vocabulary] += (result.topic_word[:, :n_topics] / kept.n_kept).astype(np.float32)
        tables += result.tables[:n_topics] / kept.n_kept
        precision += kept.precision[:, :n_topics, :n_topics]
        shift += kept.shift[:, :n_topics]
        in_use.append(len(result.tables))
    n_samples = corpus.n_tokens * (schedule.free_sweeps + schedule.sweeps)
    return n_samples / watch.cpu, float(np.mean(in_use))


def theirs(texts: list[list[str]], n_topics: int) -> Speed:
    """Sweep from so many topics."""
    import tomotopy

    model = tomotopy.HDPModel(initial_k=n_topics, alpha=ALPHA, gamma=GAMMA, eta=ETA, seed=1)
    for text in texts:
        model.add_doc(text)
    model.train(UNTIMED, workers=1)
    with Watch() as watch:
        model.train(TIMED, workers=1)
    return model.num_words * TIMED / watch.cpu, float(model.live_k)


def run(settings: Settings) -> Part:
    corpus = read("text", settings.data_home, quick=settings.quick)
    return compare(corpus, (40,) if settings.quick else (20, 40, 80), settings)


def compare(corpus: Corpus, topics: tuple[int, ...], settings: Settings) -> Part:
    """Measure both for every number of topics to start from."""
    texts = words(corpus.X)
    ratios, absolute = [], []
    for n_topics in topics:
        programs = {setup: partial(ours, corpus, n_topics, setup) for setup in SETUPS}
        if have("tomotopy"):
            programs["tomotopy HDP"] = partial(theirs, texts, n_topics)
        found = in_turns(programs, settings.repeats)
        speeds = {name: [speed for speed, _ in values] for name, values in found.items()}
        in_use = {name: values[-1][1] for name, values in found.items()}
        if "tomotopy HDP" in found:
            ratios += [
                [
                    f"MedHDP, {setup}",
                    "tomotopy HDP",
                    in_use[setup],
                    in_use["tomotopy HDP"],
                    median_ratio(speeds[setup], speeds["tomotopy HDP"]),
                    f"One core, CPU time, both from {n_topics} topics, alpha {ALPHA:g}, gamma {GAMMA:g}, "
                    f"eta {ETA:g}" + (": it has no labels." if SETUPS[setup][0] else "."),
                ]
                for setup in SETUPS
            ]
        absolute += [[name, in_use[name], statistics.median(values) / 1e6] for name, values in speeds.items()]
    columns = ["ours", "theirs", "our topics", "their topics", "ratio", "compared"]
    return Part(
        "Kernel of the hierarchical Dirichlet process",
        f"{(__doc__ or '').strip()}\n\n{corpus.describe()}.",
        [Table("Hierarchical Dirichlet process: token-samples a second", columns, ratios)],
        absolute=[Table("Million token-samples a CPU second", ["program", "topics", "speed"], absolute)],
    )
