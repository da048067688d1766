"""The sampler of online MedHDP against its law, by enumeration of all partitions of a few tokens."""

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, gammaln

from bayespa.native.medhdp import HdpTopics, step
from bayespa.native.medlda import Documents, Schedule, Tasks
from bayespa.posteriors import Sticks

ALPHA, GAMMA, START, ETA, N_WORDS = 1.5, 0.8, 4.0, 0.3, 6
DOCUMENTS = [[0, 1, 1], [1, 2]]  # words of the tokens
N_ROUNDS = 6_000


def make_documents(documents):
    indptr = np.concatenate([[0], np.cumsum([len(d) for d in documents])])
    words = np.concatenate([np.asarray(d, np.int32) for d in documents])
    n = len(documents)
    return Documents(
        indptr,
        words,
        np.ones(len(words), np.int32),
        np.arange(n, dtype=np.uint32),
        np.arange(3, dtype=np.int64),
    )


def make_topics(n_old, n_tasks=0):
    rng = np.random.default_rng(n_old)
    dirichlet = rng.uniform(0.2, 2.0, size=(N_WORDS, n_old)).astype(np.float32)
    return HdpTopics(
        dirichlet[:3].copy(),
        dirichlet.sum(axis=0).astype(float),
        rng.uniform(0.5, 2.0, n_old),
        rng.uniform(0.5, 2.0, n_old),
        np.full(n_tasks, 0.7),
        ALPHA,
        GAMMA,
        START,
        ETA,
        N_WORDS,
    )


def make_tasks(n_old, n_tasks, *, regression=False, cost=0.8):
    """Weights of the old topics and of one that stands for the new; a label of the second is missing."""
    rng = np.random.default_rng(10 * n_old + n_tasks)
    root = rng.normal(size=(n_tasks, n_old + 1, n_old + 1))
    labels = rng.choice([-1.0, 1.0], size=(len(DOCUMENTS), n_tasks)).astype(np.float32)
    if n_tasks:
        labels[1, 0] = np.nan
    return Tasks(
        rng.normal(size=(n_tasks, n_old + 1)),
        0.3 * root @ root.swapaxes(1, 2),
        labels,
        np.full(n_tasks, cost),
        0.4,
        regression,
    )


def partitions(n_tokens, n_old):
    """All assignments: old topics 0, ..., n_old - 1, new ones numbered by first appearance."""
    states = [()]
    for _ in range(n_tokens):
        states = [(*s, k) for s in states for k in range(max((n_old - 1, *s)) + 2)]
    return states


def stirling(n):
    """Unsigned Stirling numbers of the first kind: [s] is the number of ways to seat n at s tables."""
    row = [1.0]
    for i in range(n):
        row = [
            (row[s - 1] if s else 0.0) + (i * row[s] if s < len(row) else 0.0) for s in range(len(row) + 1)
        ]
    return row


def sticks_and_tables(counts, topics):
    """Σ over tables of p(Z, S), sticks integrated out; and the mean number of tables of each topic."""
    n_old, n_topics = topics.dirichlet.shape[1], counts.shape[1]
    cells = [(d, k) for d in range(len(counts)) for k in range(n_topics) if counts[d, k]]
    total, tables = 0.0, np.zeros(n_topics)
    for seats in itertools.product(*(range(1, int(counts[c]) + 1) for c in cells)):
        s = np.zeros(n_topics)
        log_p = 0.0
        for (d, k), n in zip(cells, seats, strict=True):
            s[k] += n
            log_p += math.log(stirling(int(counts[d, k]))[n]) + n * math.log(ALPHA)  # [HDP-3]
        for k in range(n_old):  # [HDP-4]
            u, v = topics.u[k], topics.v[k]
            log_p += betaln(u + s[k], v + s[k + 1 :].sum()) - betaln(u, v)
        new = s[n_old:]  # Ewens' formula
        log_p += len(new) * math.log(GAMMA) + gammaln(new).sum() + gammaln(GAMMA) - gammaln(GAMMA + new.sum())
        total += math.exp(log_p)
        tables += math.exp(log_p) * s
    return total, tables / total


def log_words(topic_word, topics):
    """Words given their topics, the topics integrated out [HDP-1, HDP-2]."""
    n_old = topics.dirichlet.shape[1]
    n_new = topic_word.shape[1] - n_old
    delta = np.concatenate([topics.dirichlet, np.full((3, n_new), ETA)], axis=1)
    total = np.concatenate([topics.totals, np.full(n_new, ETA * N_WORDS)])
    words = (gammaln(delta + topic_word) - gammaln(delta)).sum()
    return words - (gammaln(total + topic_word.sum(axis=0)) - gammaln(total)).sum()


def log_label(counts, topics, tasks, averaging):
    """[MED-3], or two of it [MED-8], or the tilt [MED-7], of one document."""
    n_old = topics.dirichlet.shape[1]
    share = counts / counts.sum()
    pooled = np.append(share[:n_old], share[n_old:].sum())
    log_p = 0.0
    for t, label in enumerate(tasks.labels[0]):
        if np.isnan(label):
            continue
        f = tasks.mean[t] @ pooled
        s = pooled @ tasks.covariance[t] @ pooled + topics.own_variance[t] * (share[n_old:] ** 2).sum()
        if averaging:
            log_p += label * f
        elif tasks.regression:
            for zeta in (label - tasks.margin - f, f - label - tasks.margin):
                log_p -= tasks.cost[t] * (zeta + math.sqrt(zeta**2 + s))
        else:
            zeta = tasks.margin - label * f
            log_p -= tasks.cost[t] * (zeta + math.sqrt(zeta**2 + s))
    return log_p


def summary(topic_word, counts, n_old):
    """A state up to the names of new topics and of tokens that look alike."""
    columns = [(*topic_word[:, k], *counts[:, k]) for k in range(topic_word.shape[1])]
    return tuple(columns[:n_old]), tuple(sorted(c for c in columns[n_old:] if any(c)))


def enumerate_states(topics, tasks, averaging=False):
    n_old = topics.dirichlet.shape[1]
    place = [(d, w) for d, words in enumerate(DOCUMENTS) for w in words]
    mass, tables = defaultdict(float), 0.0
    for state in partitions(len(place), n_old):
        n_topics = max(n_old, max(state) + 1)
        counts, topic_word = np.zeros((len(DOCUMENTS), n_topics)), np.zeros((3, n_topics))
        for (d, w), k in zip(place, state, strict=True):
            counts[d, k] += 1
            topic_word[w, k] += 1
        p, seated = sticks_and_tables(counts, topics)
        p *= math.exp(log_words(topic_word, topics))
        for d in range(len(DOCUMENTS)):
            own = Tasks(
                tasks.mean, tasks.covariance, tasks.labels[[d]], tasks.cost, tasks.margin, tasks.regression
            )
            p *= math.exp(log_label(counts[d], topics, own, averaging))
        mass[summary(topic_word, counts, n_old)] += p
        tables += p * np.append(seated[:n_old], seated[n_old:].sum())
    total = sum(mass.values())
    return {key: value / total for key, value in mass.items()}, tables / total


def fits(found, expected):
    """The p-value of Pearson's test; what is expected less than eight times counts as one outcome."""
    n = sum(found.values())
    common = [key for key in expected if expected[key] * n >= 8]
    rest = 1.0 - sum(expected[key] for key in common)
    observed = np.array([found[key] for key in common])
    wanted = n * np.array([expected[key] for key in common])
    if n * rest > 1e-6:
        observed, wanted = np.append(observed, n - observed.sum()), np.append(wanted, n * rest)
    return stats.chisquare(observed, wanted).pvalue


@pytest.mark.parametrize(
    ("n_old", "n_tasks", "sampler", "regression"),
    [
        (0, 0, "collapsed", False),
        (2, 0, "collapsed", False),
        (1, 1, "collapsed", False),
        (2, 6, "collapsed", False),
        (1, 2, "collapsed", True),
        (1, 2, "augmented", False),
        (1, 2, "averaging", False),
    ],
)
def test_sampler_follows_its_law(n_old, n_tasks, sampler, regression):
    topics, tasks = make_topics(n_old, n_tasks), make_tasks(n_old, n_tasks, regression=regression)
    expected, expected_tables = enumerate_states(topics, tasks, averaging=sampler == "averaging")
    documents = make_documents(DOCUMENTS)
    lengths = np.array([[len(words)] for words in DOCUMENTS])
    found, tables = defaultdict(int), np.zeros((N_ROUNDS, n_old + 1))
    for r in range(N_ROUNDS):
        sweeps = (2, 2, 24, 23) if n_tasks else (10, 9, 0, 0)
        result = step(documents, topics, tasks, Schedule(*sweeps, sampler, seed=5, round=r))
        last = result.labelled if n_tasks else result.free
        counts = np.rint(last.topic_share * lengths).astype(int)
        found[summary(result.topic_word, counts, n_old)] += 1
        tables[r, :n_old], tables[r, n_old] = result.tables[:n_old], result.tables[n_old:].sum()
    assert set(found) <= set(expected)
    assert fits(found, expected) > 1e-3
    z = (tables.mean(axis=0) - expected_tables) / (tables.std(axis=0) / math.sqrt(N_ROUNDS))
    assert np.abs(z).max() < 4


def prior_topics(n_old=0, u=(), v=(), start=START):
    """One word: it says nothing, so topics follow their prior."""
    ones = np.ones(n_old)
    return HdpTopics(
        np.ones((1, n_old), np.float32),
        ones,
        np.array(u),
        np.array(v),
        np.empty(0),
        ALPHA,
        GAMMA,
        start,
        ETA,
        1,
    )


def one_word(*lengths):
    n = len(lengths)
    return Documents(
        np.arange(n + 1),
        np.zeros(n, np.int32),
        np.array(lengths, np.int32),
        np.arange(n, dtype=np.uint32),
        np.zeros(1, np.int64),
    )


def antoniak(n, mass):
    """Law of the number of tables of n tokens: [HDP-3]."""
    weights = np.array(stirling(n)) * mass ** np.arange(n + 1.0)
    return weights / weights.sum()


def test_tables_follow_antoniak_and_topics_their_expectation():
    """The prior: tables of each document are Antoniak's with α, topics of all tables Antoniak's with γ."""
    lengths, n_rounds = (12, 5), 4_000
    found, n_topics = defaultdict(int), np.zeros(n_rounds)
    for r in range(n_rounds):
        result = step(
            one_word(*lengths), prior_topics(), Tasks.none(2, 1), Schedule(40, 39, 0, 0, seed=2, round=r)
        )
        found[int(result.tables.sum())] += 1
        n_topics[r] = (result.tables > 0).sum()
    law = np.convolve(*(antoniak(n, ALPHA) for n in lengths))
    assert fits(found, dict(enumerate(law))) > 1e-3
    expected = sum(p * (np.arange(m + 1) @ antoniak(m, GAMMA)) for m, p in enumerate(law))
    assert abs(n_topics.mean() - expected) / (n_topics.std() / math.sqrt(n_rounds)) < 4


def test_one_token_takes_a_stick():
    """A document of one token has topic k with probability E π_k, and a new one with what is left."""
    u, v, n_rounds = [2.0, 1.0, 0.5], [3.0, 0.7, 4.0], 8_000
    found = defaultdict(int)
    for r in range(n_rounds):
        result = step(
            one_word(1), prior_topics(3, u, v), Tasks.none(1, 4), Schedule(1, 0, 0, 0, seed=1, round=r)
        )
        found[int(np.flatnonzero(result.tables)[0])] += 1
    sticks = Sticks(u, v)
    assert fits(found, dict(enumerate([*sticks.mean(), sticks.remaining()]))) > 1e-3
