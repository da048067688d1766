"""GibbsMedLDAClassifier: its chain against enumeration and quadrature, and what holds for any corpus."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespa import GibbsMedLDAClassifier
from bayespa.learning import Before
from bayespa.topics.documents import Corpus
from bayespa.topics.gibbs_medlda import GibbsMedLDA
from bayespa.topics.part import Loss

SHORT = {"n_topics": 6, "n_sweeps": 20, "burn_in": 12, "random_state": 0}


@parametrize_with_checks(
    [GibbsMedLDAClassifier(8, n_sweeps=6, burn_in=3)],
    expected_failed_checks=lambda _: {
        "check_decision_proba_consistency": "fits negative counts, whatever the tag positive_only says",
        "check_class_weight_classifiers": "likewise",
    },
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


# The law of the chain

ALPHA, ETA, COST, SCALE, BIAS, W = 0.6, 0.5, 1.5, 0.8, 0.5, 4
DOCUMENTS = [[0, 0, 1], [1, 2], [3]]  # words of the tokens; the last document has no label
LABELS = np.array([[1.0, -1.0], [-1.0, -1.0], [np.nan, np.nan]], np.float32)


def exact(n_topics=2):
    """p(Z), and E w and E wwᵀ of every task: topics by enumeration, Φ integrated out, w on a grid."""
    side = np.linspace(-5.0, 5.0, 161)
    w = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    prior = SCALE**2 * np.eye(2) + BIAS**2
    log_prior = -0.5 * np.einsum("wi,ij,wj->w", w, np.linalg.inv(prior), w)
    words = np.concatenate(DOCUMENTS)
    rows = np.repeat(np.arange(len(DOCUMENTS)), [len(d) for d in DOCUMENTS])
    n_tasks = LABELS.shape[1]
    probability, first, second = {}, np.zeros((n_tasks, 2)), np.zeros((n_tasks, 2, 2))
    for z in product(range(n_topics), repeat=len(words)):
        counts, topic_word = np.zeros((len(DOCUMENTS), n_topics)), np.zeros((n_topics, W))
        np.add.at(counts, (rows, list(z)), 1)
        np.add.at(topic_word, (list(z), words), 1)
        log_p = gammaln(ALPHA + counts).sum() + gammaln(ETA + topic_word).sum()
        log_p -= gammaln(W * ETA + topic_word.sum(axis=1)).sum()
        zbar = counts / counts.sum(axis=1, keepdims=True)
        mass, moments = np.exp(log_p), []
        for task in range(n_tasks):
            gap = np.maximum(1.0 - LABELS[:2, task] * (w @ zbar[:2].T), 0.0)
            density = np.exp(log_prior - 2.0 * COST * gap.sum(axis=1))
            mass *= density.sum()
            density /= density.sum()
            moments.append((density @ w, np.einsum("w,wi,wj->ij", density, w, w)))
        probability[z] = mass
        for task, (one, two) in enumerate(moments):
            first[task] += mass * one
            second[task] += mass * two
    total = sum(probability.values())
    return {z: p / total for z, p in probability.items()}, first / total, second / total


def test_chain_has_the_law_of_topics_and_weights():
    probability, first, second = exact()
    model = GibbsMedLDA(
        n_topics=2,
        alpha=ALPHA,
        eta=ETA,
        loss=Loss(2, cost=COST, margin=1.0, weight_scale=SCALE, bias_scale=BIAS),
        n_sweeps=1,
        burn_in=0,
        prediction_sweeps=2,
        key=1,
    )
    X = np.array([np.bincount(d, minlength=W) for d in DOCUMENTS])
    batch = Corpus.of(X, name="a test").batch(np.arange(len(X)), LABELS)
    posterior, n, seen, weights = model.prior(W), 3000, dict.fromkeys(probability, 0), []
    before = None
    for index in range(n):
        step = model.propose(posterior, batch, index, before)
        before, chain = Before(step, kept=True), step.carry
        seen[tuple(chain.topics[0].tolist())] += 1
        weights.append(chain.weights)
    # The law is the same if topics change names, which they seldom do; half of its states say it all.
    found = np.array([*seen.values()]) / n
    p = np.array([*probability.values()])
    found, p = ((x + x[::-1])[: len(x) // 2] for x in (found, p))
    if_independent = np.sqrt(2.0 * p * (1.0 - p) / (np.pi * n)).sum()  # E Σ|found - p|, about
    assert np.abs(found - p).sum() < 1.25 * if_independent
    drawn = np.array(weights)
    learned = chain.sums[1] / n, chain.sums[2] / n
    for one, two in (learned, (drawn.mean(axis=0), np.einsum("nti,ntj->tij", drawn, drawn) / n)):
        assert_allclose(one.mean(axis=1), first.mean(axis=1), atol=0.03)
        assert_allclose(two + two[:, ::-1, ::-1], second + second[:, ::-1, ::-1], atol=0.08)


def test_one_topic_leaves_nothing_to_the_chain_but_weights():
    """All z̄ are 1, so that w has a density in one dimension."""
    X = np.array([[2, 0], [1, 1], [0, 3], [1, 0], [4, 2]])
    model = GibbsMedLDAClassifier(
        1, cost=0.7, weight_scale=1.5, bias_scale=0.0, n_sweeps=1500, burn_in=10, random_state=0
    )
    model.fit(X, [1, 1, 0, 1, 1])
    w = np.linspace(-12.0, 12.0, 4001)
    losses = 4 * np.maximum(1 - w, 0) + np.maximum(1 + w, 0)
    density = np.exp(-0.5 * (w / 1.5) ** 2 - 2 * 0.7 * losses)
    density /= density.sum()
    mean = density @ w
    assert_allclose(model.coef_, mean, atol=0.02)
    assert_allclose(model.coef_cov_, density @ (w - mean) ** 2, rtol=0.1)
    assert_allclose(model.topic_word_, X.sum(axis=0)[None] + 0.02, atol=1e-6)


# Learning


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_learns_classes(corpus, multi_class):
    model = GibbsMedLDAClassifier(**SHORT, multi_class=multi_class).fit(corpus.X, corpus.y)
    assert model.score(corpus.X_test, corpus.y_test) > 0.85
    assert model.n_documents_seen_ == 700
    assert len(model.objective_) == 20
    assert model.objective_[-1] < model.objective_[0]
    n_parts = 1 if multi_class == "shared" else 3
    assert model.transform(corpus.X_test[:3]).shape == (3, 6 * n_parts)
    proba = model.predict_proba(corpus.X_test)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(corpus.X_test))


def test_counts_are_means_over_the_kept_sweeps(corpus, word_counts):
    model = GibbsMedLDAClassifier(**SHORT).fit(corpus.X, corpus.y)
    assert_allclose(word_counts(model), np.asarray(corpus.X.sum(axis=0)).ravel(), rtol=1e-12, atol=1e-9)
    eighths = (model.topic_word_ - np.rint(model.eta * 2**20) / 2**20) * 8
    assert_array_equal(eighths, np.rint(eighths))


@pytest.mark.parametrize("n_jobs", [2, 3, 7])
def test_threads_do_not_change_a_bit(corpus, state, n_jobs):
    one, many = (
        GibbsMedLDAClassifier(**{**SHORT, "n_sweeps": 5, "burn_in": 2}, n_jobs=n).fit(corpus.X, corpus.y)
        for n in (1, n_jobs)
    )
    assert state(one) == state(many)


def test_labels_of_many_kinds_and_missing_ones(corpus):
    several = np.stack([corpus.y == 0, corpus.y != 2], axis=1).astype(float)
    several[::5] = np.nan
    model = GibbsMedLDAClassifier(**SHORT).fit(corpus.X, several)
    assert (model.predict(corpus.X_test)[:, 0] == (corpus.y_test == 0)).mean() > 0.85
    two = GibbsMedLDAClassifier(**SHORT).fit(corpus.X, np.where(corpus.y == 0, "a", "b"))
    assert two.coef_.shape == (1, 6)
    assert (two.predict(corpus.X_test) == np.where(corpus.y_test == 0, "a", "b")).mean() > 0.85


def test_fractional_counts_weigh_less(corpus, word_counts):
    """Half of the documents have counts of a half: the chain goes on in two groups, each given the other."""
    X = corpus.X.astype(float).tolil()
    X[::2] *= 0.5
    X = X.tocsr()
    model = GibbsMedLDAClassifier(**SHORT).fit(X, corpus.y)
    assert_allclose(word_counts(model), np.asarray(X.sum(axis=0)).ravel(), rtol=1e-9)
    assert model.score(corpus.X_test, corpus.y_test) > 0.85


def test_a_callback_sees_every_sweep_and_can_stop_the_chain(corpus):
    model, scores = GibbsMedLDAClassifier(**SHORT), []

    def watch(state):
        scores.append(model.score(corpus.X_test, corpus.y_test))
        return state.pass_index == 14

    model.fit(corpus.X, corpus.y, callback=watch)
    assert len(scores) == 15
    assert scores[-1] > 0.85
    assert set(model.posterior_) == {"topics", "weights", "temperature", "classes"}  # the chain is not kept


def test_labels_come_in_after_half_of_the_burn_in(corpus):
    def topics(y, n_sweeps):
        model = GibbsMedLDAClassifier(4, n_sweeps=9, burn_in=6, random_state=0)
        return model.fit(corpus.X, y, callback=lambda state: state.pass_index + 1 == n_sweeps).topic_word_

    other = (corpus.y + 1) % 3
    assert_array_equal(topics(corpus.y == 0, 3), topics(other == 0, 3))
    assert (topics(corpus.y == 0, 4) != topics(other == 0, 4)).any()


def test_a_batch_learner_does_not_go_on():
    assert not hasattr(GibbsMedLDAClassifier(), "partial_fit")
    assert not hasattr(GibbsMedLDAClassifier(), "merge")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_topics": 0}, "n_topics"),
        ({"alpha": 0.0}, "alpha"),
        ({"cost": -1.0}, "cost"),
        ({"burn_in": 20}, "burn_in"),
        ({"multi_class": "ovo"}, "multi_class"),
    ],
)
def test_refuses(corpus, parameters, message):
    with pytest.raises(ValueError, match=message):
        GibbsMedLDAClassifier(**{**SHORT, **parameters}).fit(corpus.X, corpus.y)
