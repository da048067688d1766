"""The native local step of online MedHDP against its twin, and what must hold for any data."""

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy import sparse

from bayespa.native.medhdp import HdpTopics, beside_bias, step, with_bias
from bayespa.native.medlda import Documents, Schedule, Tasks
from bayespa.reference import medhdp as reference


def problem(
    n_docs, n_old, n_tasks, *, n_words=12, mean_length=6, seed=0, regression=False, eta=0.3, gamma=1.3
):
    """Random documents, the first two of 0 and 1 tokens, topics and labelled tasks."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(mean_length / n_words, size=(n_docs, n_words))
    counts[:2] = 0
    counts[1, 3] = 1
    documents = Documents.from_csr(sparse.csr_matrix(counts))
    dirichlet = rng.gamma(0.5, 4.0, size=(n_words, n_old)) + eta
    topics = HdpTopics(
        dirichlet[documents.vocabulary].astype(np.float32),
        dirichlet.sum(axis=0),
        rng.uniform(1, 20, n_old),
        rng.uniform(1, 20, n_old),
        rng.uniform(0.5, 1.0, n_tasks),
        2.0,
        gamma,
        5.0,
        eta,
        n_words,
    )
    root = rng.normal(size=(n_tasks, n_old + 1, n_old + 1))
    labels = rng.choice([-1.0, 1.0, np.nan], p=[0.4, 0.4, 0.2], size=(n_docs, n_tasks)).astype(np.float32)
    mean, covariance = with_bias(rng.normal(size=(n_tasks, n_old + 1)), 0.1 * root @ root.swapaxes(1, 2))
    tasks = Tasks(mean, covariance, labels, rng.uniform(0.5, 2.0, n_tasks), 1.0, regression)
    return documents, topics, tasks


def assert_same(a, b):
    np.testing.assert_array_equal(a.topic_word, b.topic_word)
    np.testing.assert_array_equal(a.tables, b.tables)
    np.testing.assert_array_equal(a.topics, b.topics)
    for phase in ("free", "labelled"):
        for field in fields(a.free):
            x, y = getattr(getattr(a, phase), field.name), getattr(getattr(b, phase), field.name)
            np.testing.assert_array_equal(x, y, err_msg=f"{phase}.{field.name}")


@pytest.mark.parametrize(
    ("n_old", "n_tasks", "sampler", "regression"),
    [
        (0, 0, "collapsed", False),
        (9, 0, "collapsed", False),
        (0, 1, "collapsed", False),
        (3, 2, "collapsed", False),
        (8, 9, "collapsed", False),
        (3, 2, "collapsed", True),
        (3, 2, "augmented", False),
        (2, 6, "augmented", True),
        (3, 2, "averaging", False),
    ],
)
def test_twin_has_the_same_bits(isa, n_old, n_tasks, sampler, regression):
    data = problem(14, n_old, n_tasks, regression=regression)
    schedule = Schedule(3, 1, 4 if n_tasks else 0, 1 if n_tasks else 0, sampler, seed=2**63 + 5, round=7)
    assert_same(step(*data, schedule), reference.step(*data, schedule))


def test_twin_has_the_same_bits_where_a_token_returns_to_its_topic_that_has_died(monkeypatch):
    """Of small topics in a long chain; elsewhere tokens found topics in fresh slots only."""
    returns, be_born = [], reference.Shard._be_born

    def watched(self, k, *arguments):
        returns.append(k != self.fresh)
        be_born(self, k, *arguments)

    monkeypatch.setattr(reference.Shard, "_be_born", watched)
    data = problem(30, 1, 2, mean_length=1.5, eta=2.0, gamma=30.0)
    schedule = Schedule(2, 1, 8, 1, seed=5, round=7)
    assert_same(step(*data, schedule), reference.step(*data, schedule))
    assert 0 < sum(returns) < len(returns)


def test_twin_has_the_same_bits_over_several_shards():
    data = problem(reference.SHARD * 4 + 10, 1, 1, mean_length=1.5, gamma=9.0)
    schedule = Schedule(2, 1, 2, 0, seed=3)
    result = step(*data, schedule)
    assert result.topic_word.shape[1] > 16
    assert_same(result, reference.step(*data, schedule))


def test_twin_has_the_same_bits_where_no_topic_can_be_born(isa):
    """The last stick leaves nothing, as in the initialisation of MedLDA; eight topics fill a row."""
    documents, topics, tasks = problem(reference.SHARD * 4 + 10, 8, 0, mean_length=1.5)
    topics = replace(topics, v=np.append(topics.v[:-1], 1e-300))
    start = np.random.default_rng(1).integers(0, 8, int(documents.counts.sum())).astype(np.uint32)
    schedule = Schedule(3, 2, 0, 0, seed=3)
    result = step(documents, topics, tasks, schedule, start=start, n_threads=2)
    assert result.topic_word.shape[1] == 8
    assert_same(result, reference.step(documents, topics, tasks, schedule, start=start))


@pytest.mark.parametrize("n_docs", [14, 300])
def test_twin_goes_on_with_the_same_bits(n_docs):
    """A chain that starts where another has ended, without a free sweep."""
    documents, topics, tasks = problem(n_docs, 5, 2, mean_length=2)
    n_tokens = int(documents.counts.sum())
    start = np.random.default_rng(1).integers(0, 5, n_tokens).astype(np.uint32)
    schedule = Schedule(0, 0, 2, 1, seed=4)
    result = step(documents, topics, tasks, schedule, start=start)
    assert_same(result, reference.step(documents, topics, tasks, schedule, start=start))
    assert len(result.topics) == n_tokens
    assert (result.topics != start).any()


def test_a_chain_that_makes_no_sweep_stays():
    documents, topics, tasks = problem(9, 5, 1)
    start = np.arange(documents.counts.sum(), dtype=np.uint32) % 5
    result = step(documents, topics, tasks, Schedule(0, 0, 0, 0), start=start)
    np.testing.assert_array_equal(result.topics, start)


@pytest.mark.parametrize("n_threads", [2, 3, 7])
def test_threads_do_not_change_a_bit(n_threads):
    data = problem(700, 3, 5)
    schedule = Schedule(2, 1, 3, 1, seed=1)
    assert_same(step(*data, schedule), step(*data, schedule, n_threads=n_threads))


def test_counts_add_up():
    documents, topics, tasks = problem(300, 2, 1, mean_length=20)
    schedule = Schedule(3, 2, 4, 1, seed=1)
    result = step(documents, topics, tasks, schedule)
    assert result.n_kept == 3
    n_tokens = np.bincount(documents.words, documents.counts, len(documents.vocabulary))
    np.testing.assert_array_equal(result.topic_word.sum(axis=1), 3 * n_tokens)
    total = result.topic_word.sum(axis=0)
    assert ((result.tables > 0) == (total > 0)).all()
    assert (result.tables <= total).all()
    lengths = np.add.reduceat(np.append(documents.counts, 0), documents.indptr[:-1])
    lengths[np.diff(documents.indptr) == 0] = 0
    np.testing.assert_allclose(result.labelled.topic_share.sum(axis=1), lengths > 0, atol=1e-6)
    np.testing.assert_allclose(lengths @ result.labelled.topic_share * 3, total, rtol=1e-5)


def test_no_documents_and_no_words():
    documents, topics, tasks = problem(2, 2, 1)
    none = Documents(
        documents.indptr[:1],
        documents.words[:0],
        documents.counts[:0],
        documents.ids[:0],
        documents.vocabulary,
    )
    empty = Tasks(tasks.mean, tasks.covariance, tasks.labels[:0], tasks.cost, tasks.margin)
    result = step(none, topics, empty, Schedule())
    assert result.topic_word.shape == (len(documents.vocabulary), 2)
    assert not result.topic_word.any()
    assert_same(result, reference.step(none, topics, empty, Schedule()))


def test_bias_is_a_weight_that_all_topics_share():
    rng = np.random.default_rng(0)
    n = 4
    root = rng.normal(size=(1, n + 1, n + 1))
    mean, covariance = rng.normal(size=(1, n + 1)), root @ root.swapaxes(1, 2)
    map_back = np.concatenate([np.eye(n), np.zeros((1, n))]).T + np.eye(n + 1)[-1]  # z̄ -> (z̄, 1)
    weights, both = with_bias(mean, covariance)
    np.testing.assert_allclose(weights[0, :n], map_back @ mean[0])
    np.testing.assert_allclose(both[0, :n, :n], map_back @ covariance[0] @ map_back.T)
    assert weights[0, n] == mean[0, n]
    assert both[0, n, n] == covariance[0, n, n]
    precision, shift = covariance[:, :n, :n], mean[:, :n]
    back, shift_back = beside_bias(precision, shift)
    np.testing.assert_allclose(back[0], map_back.T @ precision[0] @ map_back)
    np.testing.assert_allclose(shift_back[0], map_back.T @ shift[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"u": np.ones(5)}, "totals, u and v"),
        ({"own_variance": np.ones(3)}, "own_variance"),
        ({"dirichlet": np.ones((12, 4))}, "dirichlet has the wrong type"),
    ],
)
def test_errors_name_the_array(change, message):
    documents, topics, tasks = problem(5, 4, 1)
    with pytest.raises(ValueError, match=message):
        step(documents, replace(topics, **change), tasks, Schedule())


@pytest.mark.parametrize(("start", "message"), [(np.zeros(3, np.uint32), "n_tokens"), (None, "old topics")])
def test_errors_of_a_start(start, message):
    documents, topics, tasks = problem(5, 4, 1)
    start = np.full(documents.counts.sum(), 4, np.uint32) if start is None else start
    with pytest.raises(ValueError, match=message):
        step(documents, topics, tasks, Schedule(0, 0), start=start)


def test_all_topics_are_weighed_by_medlda_only():
    with pytest.raises(ValueError, match="MedHDP has none"):
        step(*problem(5, 4, 1), Schedule(sampler="exact"))
