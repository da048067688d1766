"""OnlineLDA: its steps against closed forms, its samples against enumeration, and topics found again."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespa import OnlineLDA
from bayespa.datasets import make_topic_corpus

ETA = 0.0625  # a multiple of 2^-20: nothing is rounded
X = np.random.default_rng(0).poisson(1.5, (30, 6))


@parametrize_with_checks([OnlineLDA()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


# Steps


@pytest.mark.parametrize(("tau", "kappa"), [(1.0, 0.6), (10.0, 1.0), (0.25, 0.7)])
def test_steps_go_along_the_natural_gradient(tau, kappa):
    # One topic holds all tokens, so that a step is Δ ← (1 - ρ) Δ + ρ (η + D/|B| counts) with nothing random.
    model = OnlineLDA(1, eta=ETA, tau=tau, kappa=kappa, total_documents=500, batch_size=10)
    model.partial_fit(X).partial_fit(X[:10])
    expected = np.full(6, ETA)
    for t, rows in enumerate((slice(0, 10), slice(10, 20), slice(20, 30), slice(0, 10))):
        rho = min(1.0, (tau + t) ** -kappa)
        expected = (1 - rho) * expected + rho * (ETA + 500 / 10 * X[rows].sum(axis=0))
    assert_allclose(model.topic_word_, expected[None], rtol=1e-12)


def test_steps_of_one_over_t_are_the_mean_over_all_mini_batches():
    model = OnlineLDA(1, eta=ETA, tau=1.0, kappa=1.0, batch_size=10, n_passes=4).fit(X)
    assert_allclose(model.topic_word_, ETA + X.sum(axis=0)[None])  # D/|B| times the mean of three thirds


def test_a_whole_step_over_the_whole_corpus_is_a_coordinate_step():
    """Δ = η + E[counts], whatever it was before."""
    model = OnlineLDA(3, eta=ETA, kappa=0.0, batch_size=None, n_sweeps=4, burn_in=0, random_state=0)
    for n_passes in (1, 5):
        counts = model.set_params(n_passes=n_passes).fit(X).topic_word_ - ETA
        assert_allclose(counts.sum(axis=0), X.sum(axis=0))
        assert_allclose(counts * 4, np.rint(counts * 4), atol=1e-9)  # a mean of four samples


def test_the_size_of_the_corpus_is_what_was_given_or_seen():
    one = {"eta": ETA, "kappa": 0.0, "batch_size": None}
    assert_allclose(OnlineLDA(1, **one).fit(X).topic_word_[0], ETA + X.sum(axis=0))
    stream = OnlineLDA(1, **one).partial_fit(X).partial_fit(X[:10])
    assert_allclose(stream.topic_word_[0], ETA + 4 * X[:10].sum(axis=0))
    assert stream.n_documents_seen_ == 40
    given = OnlineLDA(1, total_documents=90, **one).fit(X)
    assert_allclose(given.topic_word_[0], ETA + 3 * X.sum(axis=0))


# Samples


def enumerated(words, phi, alpha):
    """Return E C (K, tokens' positions summed) of a document, over all assignments of its tokens."""
    n_topics = len(phi)
    total, counts = 0.0, np.zeros((n_topics, phi.shape[1]))
    for z in product(range(n_topics), repeat=len(words)):
        weight = 1.0
        held = np.zeros(n_topics)
        for k, w in zip(z, words, strict=True):
            weight *= (alpha + held[k]) * phi[k, w]
            held[k] += 1
        total += weight
        for k, w in zip(z, words, strict=True):
            counts[k, w] += weight
    return counts / total


@pytest.fixture(scope="module")
def tiny():
    """A model of three topics and six words."""
    return OnlineLDA(
        3,
        alpha=0.3,
        eta=0.1,
        tau=1.0,
        kappa=0.5,
        batch_size=10,
        n_passes=10,
        topic_estimate="geometric",
        random_state=2,
    ).fit(X)


def geometric(delta):
    """Return exp(E log Φ)."""
    return np.exp(digamma(delta) - digamma(delta.sum(axis=1, keepdims=True)))


def test_topic_proportions_are_those_of_all_assignments(tiny):
    tiny.set_params(prediction_sweeps=40_000)
    for document in ([2, 0, 1, 0, 0, 2], [0, 1, 0, 3, 1, 0]):
        words = np.repeat(np.arange(6), document)
        share = enumerated(words, geometric(tiny.topic_word_), 0.3).sum(axis=1)
        expected = (0.3 + share) / (3 * 0.3 + len(words))
        assert_allclose(tiny.transform([document])[0], expected, atol=0.01)


def test_a_step_adds_the_mean_over_all_assignments(tiny):
    before, phi = tiny.topic_word_.copy(), geometric(tiny.topic_word_)
    documents = np.array([[2, 0, 1, 0, 0, 2], [0, 1, 0, 3, 1, 0]])
    tiny.set_params(n_sweeps=40_000, burn_in=100, total_documents=100).partial_fit(documents)
    counts = sum(enumerated(np.repeat(np.arange(6), document), phi, 0.3) for document in documents)
    rho = (1.0 + 30) ** -0.5  # after ten passes of three mini-batches
    target = (tiny.topic_word_ - (1 - rho) * before) / rho - np.rint(0.1 * 2**20) / 2**20
    assert_allclose(target / 50, counts, atol=0.03)  # D/|B| = 50


# Use


@pytest.fixture(scope="module")
def corpus():
    return make_topic_corpus(1200, n_words=200, n_topics=5, n_labels=5, random_state=1)


def test_planted_topics_are_found_and_a_linear_svm_decides_by_them(corpus):
    train, test = slice(0, 1000), slice(1000, None)
    lda = OnlineLDA(5, batch_size=100, n_passes=6, random_state=0)
    model = make_pipeline(lda, LinearSVC(C=10.0)).fit(corpus.data[train], corpus.target[train])
    likeness = (np.sqrt(corpus.topic_word.toarray())[:, None] * np.sqrt(lda.components_)).sum(axis=2)
    assert sorted(likeness.argmax(axis=1)) == list(range(5))
    assert likeness.max(axis=1).min() > 0.9
    assert model.score(corpus.data[test], corpus.target[test]) > 0.9
    assert lda.objective_[-1] < lda.objective_[0]
    untrained = OnlineLDA(5, batch_size=100, random_state=0).fit(corpus.data[:100])
    words = corpus.data[test].tocoo()
    planted = np.log((corpus.document_topic[test] @ corpus.topic_word)[words.row, words.col])
    least = np.exp(-(words.data * planted).sum() / words.data.sum())  # of a model that knows everything
    assert least < lda.perplexity(corpus.data[test]) < untrained.perplexity(corpus.data[test])
    words = [f"w{i}" for i in range(200)]
    assert [len(topic) for topic in lda.topics(7, words)] == [7] * 5
    assert lda.get_feature_names_out().tolist() == [f"onlinelda{k}" for k in range(5)]


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_the_same_bits_for_any_number_of_threads(corpus, n_jobs):
    one, many = (
        OnlineLDA(4, batch_size=300, random_state=3, n_jobs=n).fit(corpus.data) for n in (None, n_jobs)
    )
    assert one.topic_word_.tobytes() == many.topic_word_.tobytes()
    assert one.transform(corpus.data[:50]).tobytes() == many.transform(corpus.data[:50]).tobytes()


def test_a_stream_may_bring_new_words(corpus):
    X = corpus.data[:200]
    model = OnlineLDA(4, random_state=0).partial_fit(X[:, :150]).partial_fit(X)
    assert model.components_.shape == (4, 200)
    assert model.transform(X).shape == (200, 4)
    with pytest.raises(ValueError, match="n_topics is 5, but the model has 4 topics"):
        model.set_params(n_topics=5).partial_fit(X)


def test_a_callback_sees_every_mini_batch_and_can_stop(corpus):
    seen = []

    def watch(state):
        seen.append((state.pass_index, state.n_examples))
        return len(seen) == 14

    OnlineLDA(4, batch_size=100, n_passes=3, random_state=0).fit(corpus.data, callback=watch)
    assert seen[-1] == (1, 1400)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tau": 0.0}, "tau is 0.0; it must be a finite number above 0"),
        ({"kappa": -1.0}, "kappa is -1.0"),
        ({"total_documents": 0}, "total_documents is 0; it must be a whole number from 1"),
        ({"n_topics": 0}, "n_topics is 0"),
        ({"burn_in": 10}, "burn_in is 10; it must be a whole number from 0, at most 9"),
        ({"topic_estimate": "median"}, "topic_estimate is 'median'"),
    ],
)
def test_errors_name_the_parameter(parameters, message):
    with pytest.raises(ValueError, match=message):
        OnlineLDA(**{"n_topics": 3, **parameters}).fit(X)


def test_an_error_leaves_the_model_as_it_was(corpus):
    model = OnlineLDA(4, random_state=0).partial_fit(corpus.data[:100])
    before, seen = model.topic_word_.copy(), model.n_documents_seen_
    with pytest.raises(ValueError, match="Negative values"):
        model.partial_fit(-corpus.data[:100])
    assert_array_equal(model.topic_word_, before)
    assert model.n_documents_seen_ == seen
