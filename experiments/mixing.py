"""How far from its target a chain is after the default sweeps, by length, cost and sampler. [MED-12].

    python -m experiments.mixing              total variation, by enumeration: two minutes
    python -m experiments.mixing accuracy     the score of models of topics alone, on held-out documents

Documents repeat one word, so that the law of the counts of K = 3 topics is a sum over few counts, whatever
the length. Each cell is the mean over five random posteriors, 20,000 chains of each. Independent draws from
the target show some distance, too, since a law is estimated from so many; it is printed beside.
"""

from __future__ import annotations

import json
import lzma
import os
import sys
import time
from dataclasses import replace
from math import lgamma
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

from bayespa import MedLDAClassifier
from bayespa.native.medlda import Documents, Sampler, Schedule, Tasks, Topics, step
from bayespa.reference.medlda import exact_below
from experiments.quality.splits import Split, split

Floats = NDArray[np.float64]
N_TOPICS, N_POSTERIORS = 3, 5
LENGTHS, COSTS, N_TASKS = (2, 8, 32), (1.0, 8.0, 64.0, 512.0), (1, 3, 20)
DEFAULT = (2, 1, 4, 3)  # sweeps of MedLDAClassifier; only the last is looked at
SAMPLERS: tuple[Sampler, ...] = ("metropolis", "exact", "collapsed")


def posterior(seed: int, n_tasks: int, cost: float, known: float = 1.0) -> tuple[Topics, Tasks]:
    """Return a word's topics, and tasks of a labelled document whose random Σ is multiplied by `known`."""
    rng = np.random.default_rng(seed)
    phi = np.zeros((1, 8), np.float32)
    phi[0, :N_TOPICS] = rng.uniform(0.2, 1.0, N_TOPICS)
    half = 0.4 * rng.normal(size=(n_tasks, N_TOPICS, N_TOPICS))
    covariance = known * (half @ half.transpose(0, 2, 1) + 0.1 * np.eye(N_TOPICS))
    labels = np.where(rng.random((1, n_tasks)) < 0.5, -1, 1).astype(np.float32)
    mean = rng.normal(size=(n_tasks, N_TOPICS))
    return Topics(phi, rng.uniform(0.2, 1.0, N_TOPICS).astype(np.float32)), Tasks(
        mean, covariance, labels, np.full(n_tasks, cost), 1.0
    )


def target(topics: Topics, tasks: Tasks, n: int) -> tuple[NDArray[np.int64], Floats]:
    """Return all counts (., K) of n tokens and their probabilities under [MED-3]."""
    counts = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)])
    lg = np.vectorize(lgamma)
    logs = (lg(topics.alpha + counts) - lg(counts + 1.0)).sum(axis=1)
    logs += counts @ np.log(topics.phi[0, :N_TOPICS].astype(np.float64))
    zbar = counts / n
    zeta = tasks.margin - tasks.labels * (zbar @ tasks.mean.T)
    s = np.einsum("nj,tjk,nk->nt", zbar, tasks.covariance, zbar)
    logs -= ((zeta + np.sqrt(zeta**2 + s)) * tasks.cost).sum(axis=1)
    p = np.exp(logs - logs.max())
    return counts, p / p.sum()


def distance(topics: Topics, tasks: Tasks, n: int, sampler: Sampler, n_chains: int = 20_000) -> float:
    """Return the total variation between the target and chains after the default sweeps."""
    copies = Tasks(
        tasks.mean, tasks.covariance, np.repeat(tasks.labels, n_chains, 0), tasks.cost, tasks.margin
    )
    documents = Documents(
        np.arange(n_chains + 1),
        np.zeros(n_chains, np.int32),
        np.full(n_chains, n, np.int32),
        np.arange(n_chains, dtype=np.uint32),
        np.zeros(1, np.int64),
    )
    share = step(documents, topics, copies, Schedule(*DEFAULT, sampler), n_threads=2).labelled.topic_share
    counts, p = target(topics, tasks, n)
    return between(np.rint(share * n).astype(np.int64), counts, p)


def between(seen: NDArray[np.int64], counts: NDArray[np.int64], p: Floats) -> float:
    """Return half the sum of differences between what was seen (., K) and probabilities of counts."""
    base = int(counts.sum(axis=1).max()) + 1
    places = np.bincount(seen[:, 0] * base + seen[:, 1], minlength=base * base)
    share = places[counts[:, 0] * base + counts[:, 1]] / len(seen)
    return float(np.abs(share - p).sum()) / 2


def noise(topics: Topics, tasks: Tasks, n: int, n_chains: int = 20_000) -> float:
    """Return the total variation that independent draws from the target would show."""
    counts, p = target(topics, tasks, n)
    drawn = np.random.default_rng(0).choice(len(p), n_chains, p=p)
    return between(counts[drawn], counts, p)


def mixing() -> None:
    """Print the grid: Metropolis / exact, and for how many of the posteriors the rule says exact."""
    print("| T | n | " + " | ".join(f"c = {cost:g}" for cost in COSTS) + " |")
    print("|---" * (2 + len(COSTS)) + "|")
    floors, apart = [], []
    for n_tasks in N_TASKS:
        for n in LENGTHS:
            cells = []
            for cost in COSTS:
                cases = [posterior(seed, n_tasks, cost) for seed in range(N_POSTERIORS)]
                found = [np.mean([distance(*case, n, sampler) for case in cases]) for sampler in SAMPLERS[:2]]
                fires = sum(bool((exact_below(tasks) > n).any()) for _, tasks in cases)
                cells.append(" / ".join(f"{x:.2f}" for x in found) + f" ({fires})")
                floors.append(max(noise(*case, n) for case in cases))
                sure = posterior(0, n_tasks, cost, known=1e-6)
                apart.append(abs(distance(*sure, n, "metropolis") - distance(*sure, n, "exact")))
            print(f"| {n_tasks} | {n} | {' | '.join(cells)} |", flush=True)
    print(f"\nindependent draws: at most {max(floors):.2f}")
    print(f"where weights are known, the two samplers differ by at most {max(apart):.2f}")


def forced(sampler: Sampler) -> type[MedLDAClassifier]:
    """Return MedLDAClassifier with a sampler that is not for users to turn."""

    class Forced(MedLDAClassifier):
        def _topics(self, values: dict[str, Any], **shared: Any) -> Any:
            return super()._topics(values, **{**shared, "loss": replace(shared["loss"], sampler=sampler)})

    return Forced


def short_texts(name: str) -> Split:
    """Return training documents of a corpus of short texts, every fourth of them held out."""
    folder = Path(os.environ.get("BAYESPA_DATA", "../shared/data"), "suite")
    with lzma.open(folder / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
        documents = [found for found in map(json.loads, file) if found["split"] == "train"]
    later = np.arange(len(documents)) % 4 == 3
    texts, y = (np.array([found[key] for found in documents], object) for key in ("text", "label"))
    vectorizer = CountVectorizer(token_pattern=r"\w+", dtype=np.int32)
    X, X_test = vectorizer.fit_transform(texts[~later]), vectorizer.transform(texts[later])
    return Split(X, y[~later].astype(str), X_test, y[later].astype(str), vectorizer.get_feature_names_out())


def accuracy(n_seeds: int = 12) -> None:
    """Print the scores of topics that decide alone, beside Metropolis with the same seeds, and the time."""
    print("| corpus | tokens | cost | rule, first and last | sampler | seeds 0 to 2 | gain | CPU seconds |")
    print("|---" * 8 + "|")
    for name in ("trec", "banking77", "20news"):
        data = split("text", holdout=True) if name == "20news" else short_texts(name)
        lengths = np.asarray(data.X.sum(axis=1)).ravel()
        for cost in (None, 1024.0):
            base = np.zeros(n_seeds)
            for sampler in SAMPLERS:
                scores, seconds = np.zeros(n_seeds), []
                for seed in range(n_seeds):
                    begin = time.process_time()
                    model = forced(sampler)(decides="topics", cost=cost, random_state=seed, n_jobs=1)
                    model.fit(data.X, data.y)
                    seconds.append(time.process_time() - begin)
                    scores[seed] = model.score(data.X_test, data.y_test)
                base = scores if sampler == "metropolis" else base
                gain, first = scores - base, scores[:3]
                cells = [
                    name,
                    f"{np.median(lengths):g}",
                    f"{model.cost_:g}",
                    " and ".join(f"{100 * share:.0f} %" for share in holds(model, lengths)),
                    sampler,
                    f"{first.mean():.3f} ± {first.std(ddof=1):.3f}",
                    f"{gain.mean():+.3f} ± {gain.std(ddof=1) / np.sqrt(n_seeds):.3f}",
                    f"{np.median(seconds):.1f}",
                ]
                print("| " + " | ".join(cells) + " |", flush=True)


def holds(model: MedLDAClassifier, lengths: NDArray[np.integer]) -> tuple[float, float]:
    """Return the shares of documents that the rule takes, by the prior and by what a model has learned."""
    n_tasks, n_topics = model.coef_.shape
    cost = np.full(n_tasks, model.cost_)
    prior = np.tile(np.eye(n_topics) * model.weight_scale_**2, (n_tasks, 1, 1))
    first, last = (
        exact_below(Tasks(model.coef_, covariance, np.ones((1, n_tasks), np.float32), cost, 1.0)).max()
        for covariance in (prior, model.coef_cov_)
    )
    return float((lengths < first).mean()), float((lengths < last).mean())


if __name__ == "__main__":
    accuracy() if sys.argv[1:] == ["accuracy"] else mixing()
