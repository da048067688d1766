import itertools
from collections import Counter
from dataclasses import fields, replace
from functools import cache
from math import lgamma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from scipy.special import digamma
from scipy.stats import chi2, norm

from bayespa import _native
from bayespa.native.medlda import (
    Documents,
    Schedule,
    Tasks,
    Topics,
    step,
    topic_factors,
)
from bayespa.reference import medlda as reference

SAMPLERS = ["collapsed", "exact", "augmented", "averaging"]


def random_tasks(rng, n_docs, n_topics, n_tasks, *, regression=False, missing=0.2, scale=3.0):
    half = 0.4 * rng.normal(size=(n_tasks, n_topics, n_topics))
    signs = np.where(rng.random((n_docs, n_tasks)) < 0.5, -1, 1)
    labels = (rng.normal(size=signs.shape) if regression else signs).astype(np.float32)
    labels[rng.random(labels.shape) < missing] = np.nan
    return Tasks(
        rng.normal(0, scale, (n_tasks, n_topics)),
        half @ half.transpose(0, 2, 1) + 0.1 * np.eye(n_topics),
        labels,
        rng.uniform(0.5, 3, n_tasks),
        2.0,
        regression,
    )


def random_case(seed, n_topics, n_tasks, *, n_docs=6, n_words=12, sampler="collapsed", regression=False):
    rng = np.random.default_rng(seed)
    documents = Documents.from_csr(csr_matrix(rng.poisson(0.7, (n_docs, n_words)).astype(np.int32)))
    dirichlet = rng.gamma(0.5, 1, (n_words, n_topics)) + 0.1
    phi = topic_factors(dirichlet, dirichlet.sum(0), documents.vocabulary, mean=True)
    topics = Topics(phi, rng.uniform(0.1, 1, n_topics).astype(np.float32))
    tasks = random_tasks(rng, n_docs, n_topics, n_tasks, regression=regression)
    return documents, topics, tasks, Schedule(3, 1, 3, 1, sampler, seed=seed + 2**40, round=seed)


def assert_same(left, right):
    for phase in ("free", "labelled"):
        for field in fields(left.free):
            a, b = getattr(getattr(left, phase), field.name), getattr(getattr(right, phase), field.name)
            assert_array_equal(a, b, err_msg=f"{phase}.{field.name}")


def one_document(case, d):
    """Document d of a case, alone."""
    documents, topics, tasks, schedule = case
    span = slice(documents.indptr[d], documents.indptr[d + 1])
    alone = Documents(
        documents.indptr[[d, d + 1]] - documents.indptr[d],
        documents.words[span],
        documents.counts[span],
        documents.ids[[d]],
        documents.vocabulary,
    )
    return alone, topics, replace(tasks, labels=tasks.labels[[d]]), schedule


# the same bits


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    ("n_topics", "n_tasks"),
    # above 80 topics running sums are kept of every fourth row of eight: whole fours, one more, three more
    [(1, 1), (3, 1), (8, 4), (11, 5), (20, 9), (70, 2), (128, 1), (160, 1), (133, 1), (150, 5)],
)
def test_native_is_twin(isa, n_topics, n_tasks, sampler, regression):
    case, expected = case_and_twin(n_topics, n_tasks, sampler, regression)
    assert_same(step(*case), expected)


@cache  # one for all instruction sets: the twin is slow
def case_and_twin(n_topics, n_tasks, sampler, regression):
    case = random_case(n_topics, n_topics, n_tasks, sampler=sampler, regression=regression)
    return case, reference.step(*case)


def test_native_is_twin_without_tasks(isa):
    documents, topics, _, _ = random_case(1, 5, 1)
    case = documents, topics, Tasks.none(len(documents.ids), 5), Schedule(4, 2, 0, 0)
    assert_same(step(*case), reference.step(*case))


@pytest.mark.parametrize("n_threads", [2, 3, 7])
@pytest.mark.parametrize(("sampler", "n_topics"), [*itertools.product(SAMPLERS, [12]), ("collapsed", 136)])
def test_any_number_of_threads(isa, n_threads, sampler, n_topics):
    case = random_case(5, n_topics, 6, n_docs=1100, n_words=60, sampler=sampler)
    assert_same(step(*case, n_threads=n_threads), step(*case))


@pytest.mark.parametrize("n_topics", [40, 150])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_isa(monkeypatch, sampler, n_topics):
    results = []
    for isa in _native.available_isas():
        monkeypatch.setenv("BAYESPA_ISA", isa)
        results.append(step(*random_case(6, n_topics, 20, n_docs=50, n_words=300, sampler=sampler)))
    for result in results[1:]:
        assert_same(result, results[0])


@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_topic_factors_are_twin(isa, mean, dtype):
    rng = np.random.default_rng(0)
    dirichlet = rng.gamma(0.1, 30, (50, 13)).astype(dtype) + dtype(0.01)
    args = dirichlet, dirichlet.sum(0, dtype=np.float64), rng.permutation(50)[:30]
    assert_array_equal(topic_factors(*args, mean=mean), reference.topic_factors(*args, mean=mean))


# the right distribution


def log_target(z, words, phi, alpha, tasks, sampler):
    """The exponent of [MED-3] or [MED-7], up to a constant, of one assignment."""
    counts = np.bincount(z, minlength=len(alpha))
    zbar = counts / len(z)
    total = sum(lgamma(a + c) for a, c in zip(alpha, counts, strict=True)) + np.log(phi[words, z]).sum()
    for mean, covariance, y, c in zip(tasks.mean, tasks.covariance, tasks.labels[0], tasks.cost, strict=True):
        if np.isnan(y):
            continue
        margin, s = mean @ zbar, zbar @ covariance @ zbar
        if sampler == "averaging":
            total += y * margin
        elif tasks.regression:
            for zeta in (y - margin - tasks.margin, margin - y - tasks.margin):
                total -= c * (zeta + np.sqrt(zeta**2 + s))
        else:
            zeta = tasks.margin - y * margin
            total -= c * (zeta + np.sqrt(zeta**2 + s))
    return total


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("sampler", ["metropolis", *SAMPLERS])
@pytest.mark.parametrize(("n_topics", "n_tokens", "n_tasks"), [(3, 5, 1), (4, 4, 3), (2, 6, 2), (3, 5, 9)])
def test_enumeration(n_topics, n_tokens, n_tasks, sampler, regression):
    """Topic counts of many copies of a document against the sum over all assignments: χ², total variation."""
    rng = np.random.default_rng(n_topics + 10 * n_tasks)
    n_words, n_copies = 3, 8000
    phi = np.zeros((n_words, 8), np.float32)
    phi[:, :n_topics] = rng.uniform(0.2, 1, (n_words, n_topics))
    alpha = rng.uniform(0.2, 1, n_topics).astype(np.float32)
    words = np.sort(rng.integers(0, n_words, n_tokens))
    tasks = random_tasks(rng, 1, n_topics, n_tasks, regression=regression, missing=0.1, scale=1.5)
    tasks = replace(
        tasks, labels=np.repeat(tasks.labels, n_copies, axis=0), margin=0.3 if regression else 1.0
    )
    documents = Documents(
        np.arange(n_copies + 1) * n_words,
        np.tile(np.arange(n_words, dtype=np.int32), n_copies),
        np.tile(np.bincount(words, minlength=n_words).astype(np.int32), n_copies),
        np.arange(n_copies, dtype=np.uint32),
        np.arange(n_words),
    )
    result = step(documents, Topics(phi, alpha), tasks, Schedule(1, 1, 40, 39, sampler, seed=5), n_threads=2)
    seen = Counter(map(tuple, np.rint(result.labelled.topic_share * n_tokens).astype(int)))

    assignments = np.array([*itertools.product(range(n_topics), repeat=n_tokens)])
    logs = np.array([log_target(z, words, phi, alpha, tasks, sampler) for z in assignments])
    probability = Counter()
    for z, p in zip(assignments, np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum(), strict=True):
        probability[tuple(np.bincount(z, minlength=n_topics))] += p
    expected = n_copies * np.array([*probability.values()])
    observed = np.array([seen[counts] for counts in probability])
    assert observed.sum() == n_copies
    assert np.abs(observed - expected).sum() / (2 * n_copies) < 0.03
    common = expected > 5
    statistic = ((observed - expected)[common] ** 2 / expected[common]).sum()
    assert chi2.sf(statistic, max(1, common.sum() - 1)) > 1e-4


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("cost", [1.0, 30.0])
@pytest.mark.parametrize("n_tasks", [1, 3, 9])
def test_all_topics_are_weighed_by_the_target(n_tasks, cost, regression):
    """One step of the exact sampler is the conditional of [MED-3], from every state of a document."""
    n_topics, n = 3, 4
    rng = np.random.default_rng(n_tasks)
    topics = Topics(rng.uniform(0.2, 1, (n, 8)).astype(np.float32), rng.uniform(0.2, 1, 3).astype(np.float32))
    topics.phi[:, n_topics:] = 0
    tasks = random_tasks(rng, 1, n_topics, n_tasks, regression=regression)
    tasks = replace(tasks, cost=np.full(n_tasks, cost))
    model = reference.StepModel.of(topics, tasks, Schedule(sampler="exact"))
    for z in itertools.product(range(n_topics), repeat=n):
        chain = reference.DocumentChain(model, np.arange(n, dtype=np.int32), 0, tasks.labels[0])
        chain.topics, chain.counts = np.array(z), reference.padded(np.bincount(z, minlength=n_topics))
        chain.attach_labels()
        chain.begin_sweep()
        for i in range(n):
            chain.weigh_all(z[i])
            without = chain.counts[:n_topics] - (np.arange(n_topics) == z[i])
            weights = (topics.alpha + without) * topics.phi[i, :n_topics] * chain.factor
            others = [np.array([*z[:i], k, *z[i + 1 :]]) for k in range(n_topics)]
            args = np.arange(n), topics.phi, topics.alpha, tasks, "exact"
            logs = np.array([log_target(other, *args) for other in others])
            expected = np.exp(logs - logs.max())
            assert_allclose(weights / weights.sum(), expected / expected.sum(), rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("n_tasks", [2, 6])
def test_rule_says_which_documents_are_weighed(n_tasks):
    """[MED-12]: short documents with a label that pulls are sampled exactly, others as ever."""
    documents, topics, tasks, schedule = random_case(3, 9, n_tasks, n_docs=60)
    tasks = replace(tasks, cost=np.linspace(1, 9, n_tasks))
    labels = tasks.labels.copy()
    labels[::3, 1:] = np.nan  # the task of the largest cost is unknown
    tasks = replace(tasks, labels=labels)
    found, proposed, weighed = (
        step(documents, topics, tasks, replace(schedule, sampler=s)).labelled.topic_share
        for s in ("collapsed", "metropolis", "exact")
    )
    lengths = np.array([documents.counts[slice(*documents.indptr[d : d + 2])].sum() for d in range(60)])
    fires = ((reference.exact_below(tasks) > lengths[:, None]) & ~np.isnan(labels)).any(axis=1)
    assert 10 < fires.sum() < 50
    assert_array_equal(found, np.where(fires[:, None], weighed, proposed))
    assert (proposed != weighed).any(axis=1)[fires].mean() > 0.5


def test_topics_of_known_weights_are_no_distance_apart():
    """Where weights are known, or all err alike, no document is short: proposals know what matters."""
    _, _, tasks, _ = random_case(0, 5, 2)
    assert_array_equal(reference.exact_below(replace(tasks, covariance=np.zeros((2, 5, 5)))), 0)
    assert_array_equal(reference.exact_below(replace(tasks, covariance=np.ones((2, 5, 5)))), 0)


def test_long_documents_follow_the_margin():
    """Blocks of many tokens share a proposal; the chain still has the mean of the exact target."""
    n, n_copies = 400, 600
    phi = np.zeros((1, 8), np.float32)
    phi[0, :2] = 1, 0.6
    alpha = np.array([0.5, 0.8], np.float32)
    mean, covariance = np.array([[3.0, -2.0]]), np.array([[[0.5, 0.1], [0.1, 0.7]]])
    tasks = Tasks(mean, covariance, np.ones((n_copies, 1), np.float32), np.array([6.0]), 1.5)
    counts = csr_matrix(np.full((n_copies, 1), n, np.int32))
    result = step(
        Documents.from_csr(counts), Topics(phi, alpha), tasks, Schedule(1, 1, 60, 30, seed=1), n_threads=2
    )
    first = np.arange(n + 1)
    zbar = np.stack([first, n - first], axis=1) / n
    zeta = 1.5 - zbar @ mean[0]
    s = np.einsum("ij,jk,ik->i", zbar, covariance[0], zbar)
    lg = np.vectorize(lgamma)
    log_p = lg(alpha[0] + first) + lg(alpha[1] + n - first) - lg(first + 1.0) - lg(n - first + 1.0)
    log_p += (n - first) * np.log(np.float64(phi[0, 1])) - 6.0 * (zeta + np.sqrt(zeta**2 + s))
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    sampled = result.labelled.topic_share[:, 0].astype(np.float64)
    standard_error = sampled.std() / np.sqrt(n_copies)
    assert abs(sampled.mean() - (p @ first) / n) < 4 * standard_error


@pytest.mark.parametrize(("n_tasks", "sampler"), [(0, "collapsed"), (1, "collapsed"), (3, "augmented")])
def test_posterior_averaged_over_data_is_prior(n_tasks, sampler):
    """Geweke's joint test: of documents and labels drawn from the joint law of topics, words and labels, the
    moments of z̄ under the sampler are those of the truth.

    The law is p(z, w) Π_t exp(-c (ζ + √(ζ² + s))) / 2, up to a constant: at most p(z, w), so that what is
    drawn from p(z, w) and even labels is accepted with the rest as probability.
    """
    rng = np.random.default_rng(2)
    n_docs, n, n_topics, n_words = 20000, 12, 3, 5
    alpha = np.array([0.7, 0.4, 1.1])
    phi = rng.dirichlet(np.ones(n_words), n_topics).T
    theta = rng.dirichlet(alpha, n_docs)
    z = (theta.cumsum(axis=1)[:, None, :] < rng.random((n_docs, n, 1))).sum(axis=2)
    words = (phi.T.cumsum(axis=1)[z] < rng.random((n_docs, n, 1))).sum(axis=2)
    true = (z[:, :, None] == np.arange(n_topics)).mean(axis=1)
    tasks = random_tasks(rng, n_docs, n_topics, n_tasks, missing=0.0)
    tasks = replace(tasks, margin=0.5, cost=np.full(n_tasks, 0.5))
    zeta = tasks.margin - tasks.labels * (true @ tasks.mean.T)
    s = np.einsum("nj,tjk,nk->nt", true, tasks.covariance, true)
    accepted = rng.random(n_docs) < np.exp(-((zeta + np.sqrt(zeta**2 + s)) * tasks.cost).sum(axis=1))
    assert 2000 < accepted.sum() < (0.6 * n_docs if n_tasks else n_docs + 1)
    counts = np.stack([np.bincount(w, minlength=n_words) for w in words[accepted]])
    documents = Documents.from_csr(csr_matrix(counts.astype(np.int32)))
    result = step(
        documents,
        Topics(
            np.pad(phi, ((0, 0), (0, 5))).astype(np.float32)[documents.vocabulary], alpha.astype(np.float32)
        ),
        replace(tasks, labels=tasks.labels[accepted]),
        Schedule(1, 1, 40, 39, sampler),
    )
    sampled, true = result.labelled.topic_share.astype(np.float64), true[accepted]
    for moment in (lambda x: x, np.square, lambda x: x * np.roll(x, 1, axis=1)):
        difference = moment(sampled) - moment(true)
        z_scores = difference.mean(axis=0) / (difference.std(axis=0) / np.sqrt(len(true)))
        assert np.abs(z_scores).max() < 4


# what comes out


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n_topics=st.integers(1, 20),
    n_tasks=st.integers(0, 6),
    sampler=st.sampled_from(SAMPLERS),
    regression=st.booleans(),
)
def test_invariants(seed, n_topics, n_tasks, sampler, regression):
    documents, topics, tasks, schedule = random_case(
        seed, n_topics, n_tasks, sampler=sampler, regression=regression
    )
    result = step(documents, topics, tasks, schedule)
    lengths = np.add.reduceat(np.r_[documents.counts, 0], documents.indptr[:-1])
    lengths[np.diff(documents.indptr) == 0] = 0
    in_corpus = np.bincount(documents.words, documents.counts, len(documents.vocabulary))
    assert_array_equal(result.topic_word.sum(axis=1), in_corpus * result.labelled.n_kept)
    for phase in (result.free, result.labelled):
        assert_allclose(phase.topic_share.sum(axis=1), lengths > 0, atol=1e-6)
        assert (phase.topic_share >= 0).all()
        assert_array_equal(phase.precision, phase.precision.transpose(0, 2, 1))
        assert (phase.loss >= 0).all()
        assert (phase.margin_var >= -1e-9).all()
        assert_allclose(phase.margin, phase.topic_share @ tasks.mean.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("regression", [False, True])
def test_statistics_of_one_sweep(regression):
    """With one kept sweep every statistic is a function of z̄: the formulas of [MED-4] in float64."""
    documents, topics, tasks, _ = random_case(3, 10, 6, n_docs=30, regression=regression)
    phase = step(documents, topics, tasks, Schedule(1, 1, 2, 1)).labelled
    share = phase.topic_share.astype(np.float64)
    margin = share @ tasks.mean.T
    s = np.einsum("dj,tjk,dk->dt", share, tasks.covariance, share)
    assert_allclose(phase.margin, margin, rtol=1e-5, atol=1e-5)
    assert_allclose(phase.margin_var, s, rtol=1e-4)
    y = tasks.labels.astype(np.float64)
    hinges = [(1, y - tasks.margin), (-1, y + tasks.margin)] if regression else [(y, y * tasks.margin)]
    weight, shift, loss = np.zeros((3, *y.shape))
    for sign, target in hinges:
        zeta = sign * (target - margin)
        root = np.sqrt(zeta**2 + s)
        weight += tasks.cost / root  # c² E[λ⁻¹]
        shift += tasks.cost * sign + tasks.cost / root * target
        loss += tasks.cost * (zeta + root)
    weight, shift, loss = (np.where(np.isnan(y), 0, x) for x in (weight, shift, loss))
    empty = share.sum(axis=1) == 0
    weight[empty], shift[empty], loss[empty] = 0, 0, 0
    assert_allclose(phase.precision, np.einsum("dt,dj,dk->tjk", weight, share, share), rtol=1e-4, atol=1e-5)
    assert_allclose(phase.shift, shift.T @ share, rtol=1e-4, atol=1e-4)
    assert_allclose(phase.loss, loss.sum(axis=0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_objective_bounds_the_expected_loss(seed):
    """Appendix B of the paper: what is minimised is at least 2c E[(ε − y f)₊] over the weights."""
    documents, topics, tasks, _ = random_case(seed, 10, 6, n_docs=30)
    phase = step(documents, topics, tasks, Schedule(1, 1, 2, 1)).labelled
    zeta = tasks.margin - tasks.labels * phase.margin
    sd = np.sqrt(phase.margin_var)
    expected = 2 * tasks.cost * (zeta * norm.cdf(zeta / sd) + sd * norm.pdf(zeta / sd))
    counted = ~np.isnan(tasks.labels) & (phase.topic_share.sum(axis=1) > 0)[:, None]
    assert (phase.loss >= np.where(counted, expected, 0).sum(axis=0) * (1 - 1e-5)).all()


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_document_does_not_depend_on_its_batch(sampler):
    case = random_case(4, 9, 5, n_docs=20, sampler=sampler)
    together = step(*case)
    for d in range(20):
        alone = step(*one_document(case, d))
        for phase in ("free", "labelled"):
            for name in ("topic_share", "margin", "margin_var"):
                a, b = getattr(getattr(alone, phase), name), getattr(getattr(together, phase), name)
                assert_array_equal(a[0], b[d])


def test_missing_labels_are_no_labels():
    documents, topics, tasks, _ = random_case(7, 6, 3)
    tasks = replace(tasks, labels=np.full_like(tasks.labels, np.nan))
    without = step(documents, topics, tasks, Schedule(5, 3, 0, 0)).free
    with_none = step(documents, topics, tasks, Schedule(3, 3, 2, 0)).labelled
    assert_array_equal(without.topic_share, with_none.topic_share)
    assert_array_equal(without.topic_word, with_none.topic_word)
    assert not with_none.precision.any()


def test_labels_pull_the_margin():
    documents, topics, tasks, _ = random_case(8, 10, 1, n_docs=200, n_words=100)
    labels = np.where(np.arange(200) % 2, 1, -1).astype(np.float32)[:, None]
    result = step(documents, topics, replace(tasks, labels=labels), Schedule(5, 2, 20, 10))
    gain = labels * (result.labelled.margin - result.free.margin)
    assert gain.mean() > 0.5


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_small_and_large_documents(sampler):
    """No token, one token, and one word 200,000 times."""
    counts = csr_matrix(np.array([[0, 0, 0], [0, 1, 0], [200_000, 0, 1], [0, 0, 0], [2, 0, 0]], np.int32))
    documents = Documents.from_csr(counts)
    rng = np.random.default_rng(0)
    phi = np.pad(rng.uniform(0.1, 1, (3, 6)), ((0, 0), (0, 2))).astype(np.float32)
    tasks = random_tasks(rng, 5, 6, 2, missing=0.0)
    result = step(documents, Topics(phi, np.full(6, 0.3, np.float32)), tasks, Schedule(1, 1, 2, 1, sampler))
    assert_allclose(result.labelled.topic_share.sum(axis=1), [0, 1, 1, 0, 1], atol=1e-6)
    assert result.topic_word.sum() == 200_004
    assert np.isfinite(result.labelled.precision).all()
    assert np.isfinite(result.labelled.margin_var).all()


def test_extreme_weights_draw_valid_topics():
    documents, topics, tasks, schedule = random_case(9, 5, 3)
    tasks = replace(tasks, mean=tasks.mean * 1e6, covariance=tasks.covariance * 1e-12, cost=tasks.cost * 1e4)
    result = step(documents, topics, tasks, schedule)
    assert_allclose(result.labelled.topic_share.sum(axis=1), result.free.topic_share.sum(axis=1), atol=1e-6)


def test_no_documents():
    documents = Documents.from_csr(csr_matrix((0, 4), dtype=np.int32))
    topics = Topics(np.empty((0, 8), np.float32), np.ones(3, np.float32))
    result = step(documents, topics, Tasks.none(0, 3), Schedule())
    assert result.labelled.topic_share.shape == (0, 3)


def test_topic_factors_values():
    rng = np.random.default_rng(1)
    dirichlet = rng.gamma(1, 5, (20, 6)) + 0.05
    totals = dirichlet.sum(axis=0)
    words = np.arange(20)
    mean = dirichlet / totals
    log = digamma(dirichlet) - digamma(totals)
    expected = {
        True: mean / mean.max(axis=1, keepdims=True),
        False: np.exp(log - log.max(axis=1, keepdims=True)),
    }
    for flag, value in expected.items():
        assert_allclose(
            topic_factors(dirichlet, totals, words, mean=flag)[:, :6], value, rtol=2e-5, atol=1e-15
        )


def test_words_are_numbered_by_appearance():
    counts = csr_matrix(np.array([[0, 0, 3, 1], [2, 0, 0, 1]], np.int32))
    documents = Documents.from_csr(counts)
    assert_array_equal(documents.vocabulary, [2, 3, 0])
    assert_array_equal(documents.words, [0, 1, 2, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: (c[0], c[1], replace(c[2], mean=c[2].mean[:, :-1].copy()), c[3]), "mean must be"),
        (lambda c: (c[0], c[1], replace(c[2], labels=c[2].labels[:-1]), c[3]), "labels must be"),
        (lambda c: (c[0], replace(c[1], phi=c[1].phi[:, :-1].copy()), c[2], c[3]), "phi must have"),
        (lambda c: (c[0], c[1], c[2], replace(c[3], free_sweeps=0, free_burn_in=0)), "free_sweeps"),
        (lambda c: (c[0], c[1], c[2], replace(c[3], burn_in=9)), "burn_in"),
        (lambda c: (c[0], c[1], c[2], replace(c[3], sampler="gibbs")), "sampler must be"),
        (
            lambda c: (replace(c[0], words=c[0].words + 100), c[1], c[2], c[3]),
            "words must be positions in the vocabulary",
        ),
        (lambda c: (replace(c[0], counts=-c[0].counts), c[1], c[2], c[3]), "counts must"),
        (
            lambda c: (c[0], c[1], replace(c[2], mean=c[2].mean.astype(np.float32)), c[3]),
            "mean has the wrong type",
        ),
    ],
)
def test_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        step(*change(random_case(2, 10, 2)))


HOSTILE = [0.0, np.inf, np.nan, -1.0, 1e-45, 3e38]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(("n_topics", "n_tasks"), [(3, 1), (11, 2), (11, 5), (83, 1)])
def test_hostile_weights_draw_topics_that_exist(isa, n_topics, n_tasks, sampler):
    """Whatever the numbers, every token has one of the topics; sanitizers look at the memory."""
    documents, topics, tasks, schedule = random_case(2, n_topics, n_tasks, n_docs=9, sampler=sampler)
    tokens = np.bincount(documents.words, documents.counts, len(documents.vocabulary))
    weights = Topics(topics.phi.copy(), topics.alpha)
    cases = [(replace(topics, alpha=np.full_like(topics.alpha, x)), tasks) for x in HOSTILE]
    cases += [(replace(topics, phi=np.full_like(topics.phi, x)), tasks) for x in HOSTILE]
    weights.phi[::2] = -np.inf
    cases.append((weights, tasks))
    for name in ("mean", "covariance", "cost", "labels"):
        values = getattr(tasks, name)
        cases += [(topics, replace(tasks, **{name: np.full_like(values, x)})) for x in HOSTILE]
    for hostile_topics, hostile_tasks in cases:
        result = step(documents, hostile_topics, hostile_tasks, schedule, n_threads=2)
        assert_array_equal(result.topic_word.sum(axis=1), tokens * result.labelled.n_kept)
