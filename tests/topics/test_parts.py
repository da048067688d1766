"""The parts that the supervised topic models are made of."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from bayespa import _native
from bayespa.native.dual import solve_dual
from bayespa.posteriors import Categorical, Columns, Dirichlet, Joint, Tally
from bayespa.reference import dual as reference
from bayespa.topics.calibration import Calibration, Meaning, evidence, offset, one_at_least
from bayespa.topics.classifier import Classes
from bayespa.topics.documents import Corpus, label_array
from bayespa.topics.merge import matching

# Documents


def counts(seed=0, n=30, n_words=40):
    return sparse.random(
        n, n_words, 0.3, "csr", random_state=seed, data_rvs=np.random.default_rng(seed).standard_exponential
    )


def test_whole_counts_are_tokens():
    X = np.random.default_rng(0).poisson(1.0, (20, 8))
    for given in (
        X,
        X.astype(float),
        X.tolist(),
        sparse.csr_matrix(X),
        sparse.coo_matrix(X),
        X.astype(np.uint8),
    ):
        corpus = Corpus.of(given, name="test")
        assert_array_equal(corpus.counts.to_scipy().toarray(), X)
        assert_array_equal(corpus.weights, 1.0)


def test_fractional_counts_keep_their_proportions():
    X = counts()
    corpus = Corpus.of(X, name="test")
    tokens = corpus.counts.row_sums()
    assert (tokens[tokens > 0] <= 512 + 20).all()
    assert (tokens[tokens > 0] >= 256 - 20).all()
    assert_array_equal(np.frexp(corpus.weights)[0], 0.5)  # powers of two
    error = np.abs(corpus.counts.to_scipy().toarray() * corpus.weights[:, None] - X.toarray())
    assert (error <= 0.5 * corpus.weights[:, None]).all()


def test_input_is_not_written_to():
    X = sparse.csr_matrix(
        (np.array([1.0, 0.0, 2.0, 1.0]), np.array([1, 0, 1, 0]), np.array([0, 2, 4])), (2, 2)
    )
    small = sparse.csr_matrix([[1000.5, 0.001], [0.25, 3.0]])
    for given, tokens in ((X, [[0, 1], [1, 2]]), (small, [[1000, 0], [32, 384]])):
        before = given.copy()
        assert_array_equal(Corpus.of(given, name="test").counts.to_scipy().toarray(), tokens)
        for name in ("data", "indices", "indptr"):
            assert_array_equal(getattr(given, name), getattr(before, name))


def test_ids_depend_on_content_alone():
    X = np.random.default_rng(1).poisson(0.7, (200, 12))
    ids = Corpus.of(X, name="test").ids()
    assert_array_equal(Corpus.of(X[::-1], name="test").ids(), ids[::-1])
    assert_array_equal(Corpus.of(np.hstack([X, np.zeros((200, 3), int)]), name="test").ids(), ids)
    assert len(np.unique(ids)) == len(np.unique(X, axis=0))


def test_halves_share_out_all_tokens():
    X = np.random.default_rng(2).poisson(1.3, (50, 9))
    even, odd = Corpus.of(X, name="test").halves()
    assert_array_equal((even.counts.to_scipy() + odd.counts.to_scipy()).toarray(), X)
    difference = even.counts.row_sums() - odd.counts.row_sums()
    assert_array_equal(np.asarray(difference).ravel(), X.sum(axis=1) % 2)


# Labels


def test_missing_labels_of_every_kind():
    pandas = pytest.importorskip("pandas")
    for y in (
        ["a", None, float("nan")],
        np.array(["a", None, np.nan], dtype=object),
        pandas.Series(["a", None, pandas.NA]),
        pandas.Series(["a", None, None], dtype="category"),
    ):
        assert label_array(3, y)[1].tolist() == [True, False, False]
    assert label_array(2, [1, 2])[1].all()
    assert not label_array(2, None)[1].any()


def test_classes_grow():
    two, three = Classes(np.array([1, 5]), indicator=False), Classes(np.array([1, 3, 5]), indicator=False)
    source, sign = three.tasks_before(two)
    assert (source.tolist(), sign.tolist()) == ([0, -1, 0], [-1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="name all"):
        two.require_continues(three)


def test_classes_of_two_models_are_joined():
    def names(*found, indicator=True):
        return Classes(np.array(found), indicator=indicator)

    assert names("a", "c", indicator=False).joined(names("a", "b", indicator=False)).names.tolist() == [
        *"abc"
    ]
    for one, other in ("ab", "abc"), ("abc", "ab"):
        assert names(*one).joined(names(*other)).names.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="classes is 'b', 'a', 'c', but the model knows 'a', 'b'"):
        names("b", "a", "c").joined(names("a", "b"))
    with pytest.raises(ValueError, match="several labels per document, the other one class per document"):
        names("a", "b").joined(names("a", "b", indicator=False))


def test_indicators_are_encoded_and_checked():
    labels = Classes(np.array(["a", "b"]), indicator=True)

    def encode(y):
        return labels.encode(*label_array(1, y)).tolist()

    assert encode([[0, 1]]) == [[-1.0, 1.0]]
    assert np.isnan(encode([[np.nan, np.nan]])).all()
    assert_array_equal(encode([[1, None]]), [[1.0, np.nan]])
    assert encode(sparse.csr_matrix([[0, 1]])) == [[-1.0, 1.0]]
    with pytest.raises(ValueError, match="y has 3 columns, but the model has 2 labels; name them all"):
        encode([[0, 1, 1]])
    with pytest.raises(ValueError, match=r"y\[0, 1\] is 2; a y of two dimensions has 1 or 0"):
        encode([[0, 2]])


# The averaging classifier's dual


def problem(regression, seed=0, n=25, k=6, n_tasks=3):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_tasks, k, k))
    covariance = np.einsum("tij,tkj->tik", root, root) + np.eye(k)
    covariance = (covariance + covariance.swapaxes(1, 2)) / 2
    x = rng.dirichlet(np.ones(k), n)
    x[3] = 0.0
    y = rng.normal(size=(n, n_tasks)) if regression else rng.choice([-1, 1], (n, n_tasks))
    y = y.astype(np.float32)
    y[rng.random(y.shape) < 0.1] = np.nan
    return rng.normal(size=(n_tasks, k)), covariance, x, y


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("isa", _native.available_isas())
def test_native_dual_equals_reference(regression, isa, monkeypatch):
    monkeypatch.setenv("BAYESPA_ISA", isa)
    options = {"margin": 0.7, "bound": 3.0, "regression": regression}
    expected = reference.solve_dual(*problem(regression), **options)
    for n_threads in (1, 2, 3):
        for found, twin in zip(
            solve_dual(*problem(regression), **options, n_threads=n_threads), expected, strict=True
        ):
            assert_array_equal(found, twin)


@pytest.mark.parametrize("regression", [False, True])
def test_dual_meets_its_optimality_conditions(regression):
    mean, covariance, x, y = problem(regression)
    margin, bound = 0.7, 3.0
    dual, moved = solve_dual(
        mean,
        covariance,
        x,
        y,
        margin=margin,
        bound=bound,
        regression=regression,
        tol=1e-12,
        max_sweeps=100_000,
    )
    assert_allclose(moved, mean + np.einsum("tij,dt,dj->ti", covariance, dual, x), rtol=1e-9)
    f = x @ moved.T
    for a, y_d, f_d, x_d in zip(dual.T.ravel(), y.T.ravel(), f.T.ravel(), np.tile(x, (3, 1)), strict=True):
        if np.isnan(y_d) or not x_d.any():
            assert a == 0.0
            continue
        gap = y_d - f_d if regression else y_d * (margin - y_d * f_d)  # towards the target
        loss = abs(gap) - margin if regression else y_d * gap
        if a == 0.0:
            assert loss <= 1e-8
        elif abs(a) < bound:
            assert abs(loss) <= 1e-8
        else:
            assert loss >= -1e-8
            assert np.sign(a) == np.sign(gap if regression else y_d)


# Calibration


def learned(margin, labels, kind):
    """What margins mean, by evidence alone."""
    log_weights = evidence(margin, labels, kind).ravel()
    return Calibration(kind).meaning(Joint(temperature=Categorical(log_weights)))


@pytest.mark.parametrize(("power", "noise"), [(1, 0.0), (2, 0.125), (4, 0.25)])
def test_meaning_of_margins_is_found(power, noise):
    rng = np.random.default_rng(0)
    margin, true = rng.normal(size=(8000, 5)), 0.5
    p = (1 / (1 + np.exp(-2 * margin / true))) ** power
    p = (1 - noise) * p / p.sum(axis=1, keepdims=True) + noise / 5
    winner = [rng.choice(5, p=row) for row in p]
    labels = np.where(np.arange(5) == np.array(winner)[:, None], 1, -1).astype(np.float32)
    labels[0, 2] = np.nan
    found = learned(margin, labels, "exclusive")
    assert found.power == power
    assert_allclose(found.temperature, true, rtol=0.1)
    assert_allclose(found.noise, noise, atol=0.01)
    assert_allclose(Meaning(true, power, noise).probabilities(margin, "exclusive"), p)


@pytest.mark.parametrize("power", [1, 2, 4])
def test_meaning_of_independent_labels_is_found(power):
    rng = np.random.default_rng(1)
    margin, true = rng.normal(size=(6000, 2)), 0.25
    p = (1 / (1 + np.exp(-2 * margin / true))) ** power
    labels = np.where(rng.random(p.shape) < p, 1, -1).astype(np.float32)
    found = learned(margin, labels, "labels")
    assert found.power == power
    assert_allclose(found.temperature, true, rtol=0.1)
    assert_allclose(Meaning(true, power).probabilities(margin, "labels"), p, rtol=1e-9)


def test_meaning_of_two_classes_is_found():
    rng = np.random.default_rng(2)
    margin = rng.normal(size=(8000, 1))
    p = 0.75 / (1 + np.exp(-2 * margin / 0.5)) + 0.125
    labels = np.where(rng.random(p.shape) < p, 1, -1).astype(np.float32)
    found = learned(margin, labels, "binary")
    assert found.power == 1
    assert_allclose([found.temperature, found.noise], [0.5, 0.25], rtol=0.1)
    assert_allclose(Meaning(0.5, 1, 0.25).probabilities(margin, "binary"), p)


def test_what_an_earlier_version_learned_keeps_its_meaning():
    """It had a temperature alone, over the same grid."""
    rng = np.random.default_rng(3)
    margin, labels = rng.normal(size=(50, 4)), np.full((50, 4), -1, np.float32)
    labels[:, 0] = 1
    known = evidence(margin, labels, "exclusive")[0, :, 0]
    calibration = Calibration("exclusive")
    posterior = calibration.converted(Joint(temperature=Categorical(known)))
    found = calibration.meaning(posterior)
    assert (found.power, found.noise) == (1, 0.0)
    assert calibration.converted(posterior) is posterior


def test_labels_are_given_as_often_as_they_are_there():
    rng = np.random.default_rng(2)
    margin, true = rng.normal(-1.0, 0.5, size=(2000, 30)), -0.25
    labels = np.where(margin + rng.normal(0.0, 0.1, margin.shape) > true, 1, -1).astype(np.float32)
    labels[:, 0] = np.nan
    calibration = Calibration("labels", n_tasks=30, enough=32)
    model = Joint(**calibration.prior())
    for index in range(20):
        rows = slice(100 * index, 100 * index + 100)
        model += Joint(**calibration.propose(model, margin[rows], labels[rows], index))
    given, known = margin > offset(model), ~np.isnan(labels)
    assert_allclose(given[known].sum(), (labels > 0).sum(), rtol=0.1)
    assert_allclose(offset(model), true, atol=0.1)


def test_the_offset_is_the_best_for_the_rule_that_decides():
    """Where every document is given its best label, a margin below 0 would only give others wrongly."""
    margin = np.random.default_rng(4).normal(-0.6, 0.5, size=(3000, 6))
    labels = np.where(np.arange(6) == margin.argmax(axis=1)[:, None], 1, -1).astype(np.float32)
    calibration = Calibration("labels", n_tasks=6)
    for without in (0, 1):
        labels[:without] = -1
        model = Joint(**calibration.prior())
        for index in range(10):
            rows = slice(300 * index, 300 * index + 300)
            model += Joint(**calibration.propose(model, margin[rows], labels[rows], index + 1))
        assert one_at_least(model) == (without == 0)
        assert (offset(model) == 0.0) == (without == 0)


def test_documents_of_rare_classes_count_more():
    labels = -np.ones((4, 3), np.float32)
    labels[[0, 1, 2], [0, 1, 2]] = 1
    labels[3] = np.nan
    seen = Tally(np.array([[4.0, 16.0, 340.0], [356.0, 344.0, 20.0]]))  # 120 on average
    calibration = Calibration("exclusive", n_tasks=3)
    model = Joint(**{**calibration.prior(), "classes": seen})
    assert_array_equal(calibration.often(model, labels), [4.0, np.sqrt(7.5), 1.0, 1.0])
    assert_array_equal(Calibration("labels", n_tasks=3).often(model, labels), 1.0)


def test_no_evidence_is_no_evidence():
    nothing = np.full((3, 2), np.nan, np.float32)
    for kind in ("exclusive", "binary", "labels"):
        assert_array_equal(evidence(np.ones((3, 2)), nothing, kind), 0.0)


# Posteriors


def test_categorical_learns_by_addition():
    prior = Categorical.prior(3)
    posterior = prior + Categorical([0.0, 1.0, 2.0])
    assert_allclose(posterior.probabilities(), np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum())
    assert_allclose(posterior.kl(posterior), 0.0)
    p, q = posterior.probabilities(), prior.probabilities()
    assert_allclose(posterior.kl(prior), (p * np.log(p / q)).sum())
    assert posterior.discounted(0.0, prior) == prior + Categorical(np.zeros(3))
    with pytest.raises(ValueError, match="log_weights has shape"):
        Categorical([[0.0]])


def test_totals_are_kept_only_where_exact():
    rng = np.random.default_rng(0)
    for scale, exact in ((2.0**-20, True), (0.1, False)):
        topics = Dirichlet.prior(3, 50, 2.0**-6)
        for _ in range(20):
            topics.totals()
            words = rng.permutation(50)[:10]
            topics += Columns(words, Dirichlet(rng.integers(0, 1000, (3, 10)) * scale))
            assert_array_equal(topics.totals(), topics.concentration.sum(axis=1))
        (table,) = topics._tables
        assert (topics._base is not None and bool(table.ledger[1])) == exact
    topics *= 2.0
    assert_array_equal(topics.totals(), topics.concentration.sum(axis=1))


def test_topics_are_matched_one_to_one():
    topics = np.random.default_rng(0).gamma(0.2, size=(7, 60)) + 0.01
    order = np.random.default_rng(1).permutation(7)
    assert_array_equal(order[matching(topics, topics[order])[1]], np.arange(7))
