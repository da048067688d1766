"""What the supervised topic models learn and refuse: a battery that each runs through."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespa import MedHDPClassifier, MedHDPRegressor, MedLDAClassifier, MedLDARegressor
from bayespa.datasets import make_topic_corpus

# Its data have negative counts, which are refused; test_probabilities_rank_like_decisions does the same with
# counts.
NEGATIVE_DATA = {
    "check_decision_proba_consistency": "fits negative counts, whatever the tag positive_only says",
    "check_class_weight_classifiers": "likewise; test_class_weights_are_odds has such weights",
}


@parametrize_with_checks(  # few sweeps: conventions are not about how well topics are found
    [
        MedLDAClassifier(expert={"first_sweeps": 5}),
        MedLDARegressor(),
        MedHDPClassifier(expert={"first_sweeps": 5, "n_iterations": 1}),
        MedHDPRegressor(expert={"first_sweeps": 5}),
    ],
    expected_failed_checks=lambda model: NEGATIVE_DATA if is_classifier(model) else {},
)
def test_scikit_learn_conventions(estimator, check, monkeypatch):
    monkeypatch.setattr("bayespa.topics.waiting.MOST_PASSES", 2)  # nor about how often a small corpus is read
    check(estimator)


# Learning


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"multi_class": "ovr"},
        {"expert": {"sampler": "augmented"}},
        {"expert": {"rule": "averaging"}},
        {"batch_size": None, "expert": {"n_iterations": 12}},
        {"batch_size": None, "n_passes": 12, "cost": 256.0},
        {"n_passes": 3},
        {"discount": 0.98},
        {"expert": {"label_free": 0.0, "topic_estimate": "geometric"}},
    ],
    ids=str,
)
def test_learns_classes(classifier, corpus, parameters):
    model = classifier(**parameters).fit(corpus.X, corpus.y)
    assert model.score(corpus.X_test, corpus.y_test) > 0.85
    assert model.n_documents_seen_ == 700
    assert len(model.objective_) == 1 or model.objective_[-1] < model.objective_[0]


def test_a_callback_sees_a_model_that_predicts_and_can_stop_it(classifier, corpus):
    model, states, scores = classifier(n_passes=2), [], []

    def watch(state):
        states.append(state)
        scores.append(model.score(corpus.X_test, corpus.y_test))
        return state.pass_index == 1

    model.fit(corpus.X, corpus.y, callback=watch)
    assert len(states) == len(model.objective_) == states[0].n_batches + 1  # a pass, and one mini-batch more
    assert scores[-1] > 0.85


def test_recovers_planted_topics(classifier):
    corpus = make_topic_corpus(1500, n_words=200, n_topics=6, n_labels=6, random_state=1)
    model = classifier(6, n_passes=5).fit(corpus.data, corpus.target)  # one pass may merge two of six
    likeness = (np.sqrt(corpus.topic_word.toarray())[:, None] * np.sqrt(model.components_)).sum(axis=2)
    assert sorted(likeness.argmax(axis=1)) == list(range(6))
    assert likeness.max(axis=1).min() > 0.9


def test_learns_two_classes_and_strings(classifier, corpus):
    y = np.array(["rest", "first"])[(corpus.y == 0).astype(int)]
    model = classifier().fit(corpus.X, y)
    assert model.classes_.tolist() == ["first", "rest"]
    decision = model.decision_function(corpus.X_test)
    assert decision.shape == (200,)
    assert_array_equal(model.predict(corpus.X_test), np.where(decision > 0, "rest", "first"))
    assert (model.predict(corpus.X_test) == np.where(corpus.y_test == 0, "first", "rest")).mean() > 0.85


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_learns_several_labels(classifier, multi_class):
    corpus = make_topic_corpus(
        900, n_words=300, n_topics=6, n_labels=3, labels_per_document=1.6, random_state=2
    )
    Y = corpus.target.astype(float)
    Y[::7, 1] = np.nan
    model = classifier(multi_class=multi_class, n_passes=2).fit(corpus.data[:700], Y[:700])
    assert model.predict(corpus.data[700:]).shape == (200, 3)
    assert (model.predict(corpus.data[700:]) == corpus.target[700:]).mean() > 0.8
    probabilities = model.predict_proba(corpus.data[700:])
    assert_array_equal(probabilities > 0.5, model.predict(corpus.data[700:]) == 1)
    again = classifier(multi_class=multi_class, n_passes=2).fit(
        corpus.data[:700], sparse.csr_matrix(corpus.target[:700])
    )
    assert len(again.coef_) == len(model.coef_) == 3


@pytest.mark.parametrize(
    "parameters", [{}, {"expert": {"rule": "averaging"}}, {"multi_class": "ovr"}], ids=str
)
def test_learns_targets(regressor, corpus, parameters):
    y = corpus.bunch.document_topic @ np.array([[1, -1, 2, -2, 0, 1], [0, 2, -1, 1, -1, -1]]).T
    y[::9, 0] = np.nan
    model = regressor(n_passes=2, **parameters).fit(corpus.X, y[:700])
    mean, std = model.predict(corpus.X_test, return_std=True)
    assert mean.shape == std.shape == (200, 2)
    truth = corpus.bunch.document_topic[700:] @ np.array([[1, -1, 2, -2, 0, 1], [0, 2, -1, 1, -1, -1]]).T
    assert (np.corrcoef(mean[:, 0], truth[:, 0])[0, 1], np.corrcoef(mean[:, 1], truth[:, 1])[0, 1]) > (
        0.75,
        0.75,
    )
    assert model.fit(corpus.X, y[:700, 1]).predict(corpus.X_test).shape == (200,)


@pytest.mark.filterwarnings("error")
def test_a_mini_batch_may_have_a_document_of_each_class(classifier, corpus):
    names = [f"class {i}" for i in range(25)]
    model = classifier().partial_fit(corpus.X[:25], names, classes=names)
    assert list(model.classes_) == sorted(names)


def test_partial_fit_is_one_pass_in_order(classifier, corpus, state):
    """`fit` in a given order, mini-batches by hand and one call of `partial_fit` are the same rounds."""
    whole = classifier().partial_fit(corpus.X, corpus.y, classes=[0, 1, 2])
    parts = classifier()
    for start in range(0, 700, 64):
        parts.partial_fit(corpus.X[start : start + 64], corpus.y[start : start + 64], classes=[0, 1, 2])
    assert state(parts) == state(whole)
    assert parts.objective_ == whole.objective_


def test_replayed_passes_count_data_once(classifier, corpus, state, word_counts):
    once, thrice = (classifier(n_passes=n).fit(corpus.X, corpus.y) for n in (1, 3))
    for model in (once, thrice):
        # exactly: counts are multiples of 2^-20
        assert_array_equal(word_counts(model), np.asarray(corpus.X.sum(axis=0)).ravel())
    assert thrice.n_documents_seen_ == 700
    assert state(once) != state(thrice)


def test_discount_forgets(classifier, corpus, word_counts):
    model = classifier(discount=0.5).fit(corpus.X, corpus.y)
    per_batch = corpus.X.sum() / 700 * 64
    assert 1.5 * per_batch < word_counts(model).sum() < 2.2 * per_batch  # Σ 2^-t batches


def test_unlabelled_documents_teach_topics_not_weights(classifier, corpus, word_counts):
    model = classifier().partial_fit(corpus.X, np.full(700, np.nan), classes=[0, 1, 2])
    assert_array_equal(model.coef_, 0.0)
    assert word_counts(model).sum() == corpus.X.sum()
    model.partial_fit(corpus.X[:5])
    assert word_counts(model).sum() == corpus.X.sum() + corpus.X[:5].sum()
    assert_array_equal(model.coef_, 0.0)


@pytest.mark.parametrize("missing", [None, np.nan], ids=str)
def test_some_labels_missing(classifier, corpus, missing):
    names = np.array(["a", "b", "c"])[corpus.y]
    y = [missing if i % 3 == 0 else name for i, name in enumerate(names)]
    model = classifier().fit(corpus.X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.predict(corpus.X_test) == np.array(["a", "b", "c"])[corpus.y_test]).mean() > 0.8


def test_vocabulary_grows(classifier, corpus, word_counts):
    model = classifier().partial_fit(corpus.X[:300, :200], corpus.y[:300], classes=[0, 1, 2])
    before = word_counts(model)
    model.partial_fit(corpus.X[300:], corpus.y[300:])
    assert model.n_features_in_ == 300
    more = word_counts(model) - np.append(before, np.zeros(100))
    assert_array_equal(more, np.asarray(corpus.X[300:].sum(axis=0)).ravel())
    assert model.score(corpus.X_test, corpus.y_test) > 0.85
    with pytest.raises(ValueError, match=r"200 features, but .* is expecting 300"):
        model.predict(corpus.X_test[:, :200])
    with pytest.raises(ValueError, match=r"200 features, but .* is expecting 300"):
        model.partial_fit(corpus.X[:, :200], corpus.y)


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_new_classes(classifier, corpus, multi_class):
    known = corpus.y != 1
    model = classifier(multi_class=multi_class, expert={"prediction_sweeps": 200})
    model.partial_fit(corpus.X[known], corpus.y[known], classes=[0, 2]).settle()
    decision = model.decision_function(corpus.X_test)
    model.partial_fit(corpus.X[:0:-1][:1] * 0, [None], classes=[0, 1, 2])  # a document without a word
    grown = model.decision_function(corpus.X_test)
    # The task of two classes goes on as that of the second and, mirrored, of the first, but for what the
    # frequency of three classes adds to all documents; models of their own draw other random numbers.
    tolerance = 1e-5 if multi_class == "shared" else 0.5
    for margin, before in ((grown[:, 2], decision), (grown[:, 0], -decision)):
        added = float((margin - before).mean())
        assert abs(added) < 0.5
        assert_allclose(margin, before + added, rtol=1e-5, atol=tolerance)
    model.partial_fit(corpus.X, corpus.y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(corpus.X_test, corpus.y_test) > 0.8


def test_new_labels(classifier):
    corpus = make_topic_corpus(
        300, n_words=200, n_topics=6, n_labels=3, labels_per_document=2, random_state=3
    )
    model = classifier().partial_fit(corpus.data, corpus.target[:, :2], classes=["a", "b"])
    model.partial_fit(corpus.data, corpus.target, classes=["a", "b", "c"])
    assert model.coef_.shape == (3, len(model.topic_word_))
    with pytest.raises(ValueError, match="the new ones at the end"):
        model.partial_fit(corpus.data, corpus.target, classes=["c", "a", "b"])


# Refusals


@pytest.mark.parametrize(
    ("X", "y", "parameters", "message"),
    [
        ([[1, -1]], [0], {}, "Negative values"),
        ([[1, np.nan]], [0], {}, "NaN"),
        ([[2**24, 2]], [0], {}, "document 0 of X has 16777218 tokens.* split it"),
        ([[1, 2]], [7], {}, r"y\[0\] is .*7.*, a class the model does not know"),
        ([[1, 2]], [0, 1], {}, r"y has shape \(2,\); 1 documents"),
        ([[1, 2]], [[0, 1]], {}, "one class per document"),
        (np.zeros((0, 2)), [], {}, "minimum of 1 is required"),
        ([[1, 2]], [0], {"expert": {"n_sweeps": 0}}, "n_sweeps is 0"),
        ([[1, 2]], [0], {"expert": {"burn_in": 4}}, "burn_in is 4.* at most 3"),
        (["a text"], [0], {}, "bayespa.TextModel, which reads texts"),
        ([[1, 2]], [0], {"cost": float("inf")}, "cost is inf"),
        ([[1, 2]], [0], {"margin": 0.0}, "margin is 0.0; it must be a finite number from 1e-09"),
        ([[1, 2]], [0], {"eta": 1e-9}, "eta is 1e-09"),
        ([[1, 2]], [0], {"discount": 1.5}, "discount is 1.5"),
        ([[1, 2]], [0], {"expert": {"sampler": "exact"}}, "'collapsed', 'augmented'"),
        ([[1, 2]], [0], {"n_jobs": 0}, "n_jobs is 0"),
        (
            [[1, 2]],
            [0],
            {"expert": {"sweeps": 3}},
            "expert has 'sweeps', which Med.* does not know; it knows",
        ),
        ([[1, 2]], [0], {"expert": {"cost": 3.0}}, "expert has 'cost', which Med.* does not know"),
        ([[1, 2]], [0], {"expert": "n_sweeps"}, "expert is 'n_sweeps'; use a dict"),
    ],
    ids=str,
)
def test_what_is_refused_changes_nothing(classifier, X, y, parameters, message, state, attributes):
    model = classifier().partial_fit([[1, 2], [3, 0]], [0, 1], classes=[0, 1])
    before = state(model), attributes(model)
    model.set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y)
    assert (state(model), attributes(model)) == before


def test_first_call_needs_classes(classifier):
    with pytest.raises(ValueError, match="classes must be passed"):
        classifier().partial_fit([[1]], [0])
    with pytest.raises(ValueError, match="only one class"):
        classifier().partial_fit([[1]], [0], classes=[0])
    with pytest.raises(NotFittedError):
        classifier().predict([[1]])


def test_columns_must_keep_their_names(classifier, state):
    pandas = pytest.importorskip("pandas")
    model = classifier().partial_fit(
        pandas.DataFrame([[1, 2], [3, 0]], columns=["a", "b"]), [0, 1], classes=[0, 1]
    )
    before = state(model)
    with pytest.raises(ValueError, match="new words must be additional columns"):
        model.partial_fit(pandas.DataFrame([[1, 2, 0]], columns=["b", "a", "c"]), [0])
    assert state(model) == before
    model.partial_fit(pandas.DataFrame([[1, 2, 0]], columns=["a", "b", "c"]), [0])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


# Odd documents


def test_odd_documents(classifier, word_counts):
    long = np.zeros(5, int)
    long[[1, 3]] = 60_000, 40_000
    X = np.array([[0] * 5, [0, 1, 0, 0, 0], long, [0, 2, 2, 0, 1]])
    model = classifier().fit(X, [0, 1, 0, 1])
    assert np.isfinite(model.decision_function(X)).all()
    assert_allclose(model.transform(X).sum(axis=1), 1.0)
    assert_array_equal(word_counts(model), X.sum(axis=0))


def test_a_count_of_a_million(classifier):
    model = classifier(expert={"first_sweeps": 2, "prediction_sweeps": 2}).fit(
        [[1_000_000, 1], [1, 2]], [0, 1]
    )
    assert model.topic_word_.sum() > 1_000_000


def test_fractional_counts_weigh_what_they_say(classifier, corpus, word_counts):
    """Half of every count is half of the evidence, and nearly the same topics."""
    half = classifier().fit(corpus.X * 0.5, corpus.y)
    assert_allclose(word_counts(half).sum(), 0.5 * corpus.X.sum(), rtol=1e-3)
    assert half.score(corpus.X_test * 0.5, corpus.y_test) > 0.85
