"""The first mini-batches initialise the topics before labels are learned. [MED-10]."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from bayespa import MedLDAClassifier, MedLDARegressor
from bayespa.inspect import npmi
from bayespa.native.medlda import Documents
from bayespa.native.random import permutation, subkey
from bayespa.topics.classifier import Classes
from bayespa.topics.documents import Batches, Corpus
from bayespa.topics.estimator import ORDER
from bayespa.topics.initialisation import answers, topics_by_labels, with_labels
from bayespa.topics.regressor import Numbers

LABELS = np.ones((6, 1), np.float32)
FEW = {"first_sweeps": 5}


def begun(counts, **parameters):
    """Return the guesses of mini-batches of two documents, as (K, W) arrays."""
    settings = {"n_topics": 3, "batch_size": 2, "random_state": 0, "expert": FEW}
    estimator = MedLDAClassifier(**{**settings, **parameters})
    two = Classes(np.array([0, 1]), indicator=False)
    model, corpus = estimator._made(two, key=7)["model"], Corpus.of(counts, name="a test")
    batches = Batches(corpus, LABELS[: len(corpus)], np.arange(len(corpus)), estimator.batch_size)
    prior = model.prior(counts.shape[1])
    return [
        (prior + guess.statistics)["topics"].concentration - prior["topics"].concentration
        for guess in model.guesses(batches)
    ]


def tokens(model):
    """Return how many words a model has learned."""
    return (model.topic_word_ - np.rint(model.eta * 2**20) / 2**20).sum()


@pytest.fixture
def counts():
    return np.random.default_rng(0).poisson(1.0, (6, 12))


def test_a_guess_has_the_words_of_its_mini_batch(counts):
    guesses = begun(counts, expert={**FEW, "first_documents": 4})
    assert len(guesses) == 2
    for guess, documents in zip(guesses, (counts[:2], counts[2:4]), strict=True):
        assert_array_equal(guess.sum(axis=0), documents.sum(axis=0))


def test_fractions_count_by_their_weight(counts):
    halves = counts * np.where(np.arange(6) % 2, 1.0, 0.5)[:, None]  # every other document
    for guess, documents in zip(begun(halves), np.split(halves, 3), strict=True):
        assert_allclose(guess.sum(axis=0), documents.sum(axis=0), atol=0.02)


@pytest.mark.parametrize(
    ("parameters", "sizes"),
    [
        ({"expert": {**FEW, "first_documents": 5}}, [2, 2]),  # whole mini-batches
        ({"expert": {**FEW, "first_documents": 1}}, [1]),  # or what there is of the first
        ({"batch_size": None}, [6]),
        ({"batch_size": None, "expert": {**FEW, "first_documents": 4}}, [4]),
        ({"expert": {"first_sweeps": 0}}, []),
        ({"decides": "topics", "expert": None}, []),
        ({"multi_class": "ovr"}, []),
    ],
    ids=str,
)
def test_where_topics_are_looked_for(counts, parameters, sizes):
    ends = np.cumsum([0, *sizes])
    expected = [counts[a:b].sum() for a, b in pairwise(ends)]
    assert [guess.sum() for guess in begun(counts, **parameters)] == expected


def started(labels, n_topics=4, *, length=20_000, regression=False):
    """Return the share of every topic among the tokens that each document starts with, (n, K), or None."""
    has = answers(np.array(labels, np.float32), regression=regression)
    documents = Documents.from_csr(sparse.csr_matrix(np.full((len(has), 1), length)))
    start = topics_by_labels(documents, has, n_topics, key=7)
    if start is None:
        return None
    return np.array([np.bincount(own, minlength=n_topics) for own in start.reshape(len(has), -1)]) / length


def test_half_of_the_words_start_by_their_labels():
    """Three documents of one label and one of another have three and one of four topics for their own."""
    first, last, chance = np.array([1, 1, 1, 0]) / 3, np.array([0, 0, 0, 1]), np.ones(4) / 4
    found = started([[1, -1], [1, -1], [1, np.nan], [-1, 1], [-1, -1], [np.nan, np.nan]])
    expected = [first, first, first, last, chance, chance]
    assert_allclose(found, 0.5 * chance + 0.5 * np.array(expected), atol=0.02)


def test_words_of_several_labels_start_by_any_of_them():
    found = started([[1, 1], [1, -1], [-1, 1]], 2)
    assert_allclose(found, [[0.5, 0.5], [0.75, 0.25], [0.25, 0.75]], atol=0.02)


def test_of_two_classes_both_are_labels():
    assert_allclose(started([[1], [-1]], 2), [[0.75, 0.25], [0.25, 0.75]], atol=0.02)


def test_rare_labels_share_a_topic():
    found = started(np.where(np.eye(9) > 0, 1, -1), 3)
    assert_array_equal(found.argmax(axis=1), np.arange(9) // 3)


def test_nothing_starts_by_labels_that_are_none():
    assert started([[np.nan], [np.nan]]) is None
    assert started([[0.5], [-2.0]], regression=True) is None


def test_labels_are_words_behind_those_of_a_document():
    counts = np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]])
    labels = np.array([[1, -1], [1, 1], [np.nan, -1]], np.float32)
    documents = Documents.from_csr(sparse.csr_matrix(counts))
    found = with_labels(documents, answers(labels, regression=False))
    dense = sparse.csr_matrix((found.counts, found.words, found.indptr), (3, 5)).toarray()
    assert_array_equal(dense[:, :3], counts[:, documents.vocabulary])
    assert_array_equal(dense[:, 3:], [[10, 0], [5, 5], [0, 0]])
    assert_array_equal(found.vocabulary[:3], documents.vocabulary)
    assert len(found.vocabulary) == 5


def test_a_document_of_many_labels_has_each_once():
    documents = Documents.from_csr(sparse.csr_matrix([[1]]))
    assert_array_equal(with_labels(documents, np.ones((1, 30), bool)).counts, np.ones(31))


def test_numbers_are_no_words(counts):
    estimator = MedLDARegressor(3, expert={"first_sweeps": 5}, batch_size=2, random_state=0)
    batches = Batches(Corpus.of(counts, name="a test"), LABELS, np.arange(6), 2)
    guesses = estimator._made(Numbers(1), key=7)["model"].guesses(batches)
    pieces = [piece for guess in guesses for piece in guess.statistics["topics"]]
    assert sum(piece.counts.sum() for piece in pieces) == counts.sum()


def test_labels_tell_topics_apart_that_words_do_not():
    """Two kinds of documents have the same words; to the chain their labels are words that they have not."""
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (200, 20)), np.arange(200) % 2
    model = MedLDAClassifier(2, alpha=0.1, cost=1e-6, expert={"first_sweeps": 50}, random_state=0).fit(X, y)
    assert model.alpha_.min() > 0.05  # both topics are in use


def test_no_document_counts_twice(corpus):
    for n_passes, n_steps in ((1, 11), (3, 33), (None, 85)):  # None: five passes, of 17 mini-batches
        model = MedLDAClassifier(
            5, batch_size=64, n_passes=n_passes, expert={"first_documents": 300}, random_state=0
        )
        model.fit(corpus.X, corpus.y)
        assert_allclose(tokens(model), corpus.X.sum())
        assert model.n_documents_seen_ == 700
        assert len(model.objective_) == n_steps


def test_the_bits_are_those_of_any_number_of_threads(corpus, state):
    models = [
        MedLDAClassifier(5, batch_size=64, n_jobs=n, random_state=0).fit(corpus.X, corpus.y) for n in (1, 3)
    ]
    assert state(models[0]) == state(models[1])


def test_mini_batches_are_learned_together_or_not_at_all(corpus):
    expert, seen = {"first_documents": 300}, []
    model = MedLDAClassifier(5, batch_size=64, n_passes=1, expert=expert, random_state=0)

    def stop(round_):
        seen.append(model.n_documents_seen_)
        return True

    model.fit(corpus.X, corpus.y, callback=stop)
    assert seen == [256]
    order = permutation(subkey(model._learned.key, ORDER), 700)
    assert_allclose(tokens(model), corpus.X[order[:256]].sum())  # of no other mini-batch is there a guess


def test_documents_without_words(corpus):
    model = MedLDAClassifier(5, random_state=0).fit(np.zeros((3, 4), int), [0, 1, 0])
    assert tokens(model) == 0.0


def test_topics_hold_together():
    """Words of two kinds that never meet, in documents that have one label."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 600)
    X = sparse.csr_matrix(rng.poisson(0.05 + (np.arange(80) // 20 == kind[:, None]) * 0.5))
    y, names = kind % 2, [f"w{w}" for w in range(80)]
    coherence = {
        sweeps: np.mean(npmi(model.topics(5, names), X, feature_names=names))
        for sweeps in (0, 50)
        for expert in [{"first_sweeps": sweeps}]
        for model in [MedLDAClassifier(4, n_passes=1, expert=expert, random_state=0).fit(X, y)]
    }
    assert coherence[50] > coherence[0] + 0.05


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"first_documents": 0}, "first_documents is 0"),
        ({"first_documents": None}, "first_documents is None"),
        ({"first_sweeps": -1}, "first_sweeps is -1"),
    ],
)
def test_what_makes_no_sense_is_refused(corpus, parameters, message):
    with pytest.raises(ValueError, match=message):
        MedLDAClassifier(5, expert=parameters).fit(corpus.X, corpus.y)
