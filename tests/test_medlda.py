"""The supervised topic models as estimators: one battery, which every such model runs through."""

import copy
import os
import pickle
import signal
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespa import MedLDAClassifier, MedLDARegressor, _native
from bayespa.datasets import make_topic_corpus
from bayespa.posteriors import Joint

CLASSIFIERS = [MedLDAClassifier]
REGRESSORS = [MedLDARegressor]
# Its data have negative counts, which are refused; test_probabilities_rank_like_decisions does the same with
# counts.
NEGATIVE_DATA = {
    "check_decision_proba_consistency": "fits negative counts, whatever the tag positive_only says"
}


@parametrize_with_checks(
    [model() for model in CLASSIFIERS + REGRESSORS],
    expected_failed_checks=lambda model: NEGATIVE_DATA if isinstance(model, tuple(CLASSIFIERS)) else {},
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def corpus():
    bunch = make_topic_corpus(900, n_words=300, n_topics=6, n_labels=3, random_state=0)
    train, test = slice(0, 700), slice(700, None)
    return SimpleNamespace(
        X=bunch.data[train],
        y=bunch.target[train],
        X_test=bunch.data[test],
        y_test=bunch.target[test],
        bunch=bunch,
    )


@pytest.fixture(params=CLASSIFIERS, ids=lambda model: model.__name__)
def classifier(request):
    def make(**parameters):
        return request.param(**{"n_topics": 8, "batch_size": 64, "random_state": 0, **parameters})

    return make


@pytest.fixture(params=REGRESSORS, ids=lambda model: model.__name__)
def regressor(request):
    def make(**parameters):
        return request.param(**{"n_topics": 8, "random_state": 0, **parameters})

    return make


def state(model) -> dict[str, bytes]:
    """All that a model has learned, as bytes."""
    return {name: array.tobytes() for name, array in model._posterior.to_arrays().items()}


def attributes(model) -> str:
    """All else that `fit` sets."""
    found = {name: value for name, value in vars(model).items() if name not in model.get_params()}
    return joblib.hash({name: value for name, value in found.items() if not isinstance(value, Joint)})


# Learning


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"multi_class": "ovr"},
        {"sampler": "augmented"},
        {"classifier": "averaging"},
        {"batch_size": None, "n_iterations": 12},
        {"n_passes": 3},
        {"discount": 0.98},
        {"label_free": 0.0, "topic_estimate": "geometric"},
    ],
    ids=str,
)
def test_learns_classes(classifier, corpus, parameters):
    model = classifier(**parameters).fit(corpus.X, corpus.y)
    assert model.score(corpus.X_test, corpus.y_test) > 0.85
    assert model.n_documents_seen_ == 700
    assert len(model.objective_) == 1 or model.objective_[-1] < model.objective_[0]


def test_recovers_planted_topics(classifier):
    corpus = make_topic_corpus(1500, n_words=200, n_topics=6, n_labels=6, random_state=1)
    model = classifier(n_topics=6).fit(corpus.data, corpus.target)
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
    assert again.coef_.shape == model.coef_.shape == (3, 8)


@pytest.mark.parametrize("parameters", [{}, {"classifier": "averaging"}, {"multi_class": "ovr"}], ids=str)
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


def test_partial_fit_is_one_pass_in_order(classifier, corpus):
    """`fit` in a given order, mini-batches by hand and one call of `partial_fit` are the same rounds."""
    whole = classifier().partial_fit(corpus.X, corpus.y, classes=[0, 1, 2])
    parts = classifier()
    for start in range(0, 700, 64):
        parts.partial_fit(corpus.X[start : start + 64], corpus.y[start : start + 64], classes=[0, 1, 2])
    assert state(parts) == state(whole)
    assert parts.objective_ == whole.objective_


def test_replayed_passes_count_data_once(classifier, corpus):
    once, thrice = (classifier(n_passes=n).fit(corpus.X, corpus.y) for n in (1, 3))
    prior = 300 * np.rint(once.eta * 2**20) / 2**20
    for model in (once, thrice):
        assert (
            model.topic_word_.sum() - 8 * prior
        ) == corpus.X.sum()  # exactly: counts are multiples of 2^-20
        assert_array_equal(model.topic_word_.sum(axis=0) - once.topic_word_.sum(axis=0), 0.0)
    assert thrice.n_documents_seen_ == 700
    assert state(once) != state(thrice)


def test_totals_of_topics_stay_exact(classifier, corpus):
    model = classifier(n_passes=3, n_sweeps=3).fit(corpus.X, corpus.y)
    topics = model._posterior["topics"]
    assert_array_equal(topics.totals(), topics.concentration.sum(axis=1))


def test_discount_forgets(classifier, corpus):
    model = classifier(discount=0.5).fit(corpus.X, corpus.y)
    learned = model.topic_word_.sum() - 8 * 300 * np.rint(model.eta * 2**20) / 2**20
    per_batch = corpus.X.sum() / 700 * 64
    assert 1.5 * per_batch < learned < 2.2 * per_batch  # Σ 2^-t batches


def test_unlabelled_documents_teach_topics_not_weights(classifier, corpus):
    model = classifier().partial_fit(corpus.X, np.full(700, np.nan), classes=[0, 1, 2])
    assert_array_equal(model.coef_, 0.0)
    assert model.topic_word_.sum() > corpus.X.sum()
    before = state(model)
    model.partial_fit(corpus.X[:5])
    after = state(model)
    assert before["topics.concentration"] != after["topics.concentration"]
    assert before["weights.shift"] == after["weights.shift"]


@pytest.mark.parametrize("missing", [None, np.nan], ids=str)
def test_some_labels_missing(classifier, corpus, missing):
    names = np.array(["a", "b", "c"])[corpus.y]
    y = [missing if i % 3 == 0 else name for i, name in enumerate(names)]
    model = classifier().fit(corpus.X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.predict(corpus.X_test) == np.array(["a", "b", "c"])[corpus.y_test]).mean() > 0.8


def test_vocabulary_grows(classifier, corpus):
    model = classifier().partial_fit(corpus.X[:300, :200], corpus.y[:300], classes=[0, 1, 2])
    before = model.topic_word_.copy()
    model.partial_fit(corpus.X[300:], corpus.y[300:])
    assert model.n_features_in_ == 300
    assert (model.topic_word_[:, :200] >= before).all()
    assert model.score(corpus.X_test, corpus.y_test) > 0.85
    with pytest.raises(ValueError, match=r"200 features, but .* is expecting 300"):
        model.predict(corpus.X_test[:, :200])
    with pytest.raises(ValueError, match=r"200 features, but .* is expecting 300"):
        model.partial_fit(corpus.X[:, :200], corpus.y)


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_new_classes(classifier, corpus, multi_class):
    known = corpus.y != 1
    model = classifier(multi_class=multi_class)
    model.partial_fit(corpus.X[known], corpus.y[known], classes=[0, 2])
    decision = model.decision_function(corpus.X_test)
    model.partial_fit(corpus.X[:0:-1][:1] * 0, [None], classes=[0, 1, 2])  # a document without a word
    grown = model.decision_function(corpus.X_test)
    # The task of two classes goes on as that of the second and, mirrored, of the first; models of their own
    # draw other random numbers than the one did.
    tolerance = 1e-5 if multi_class == "shared" else 0.5
    assert_allclose(grown[:, 2], decision, rtol=1e-5, atol=tolerance)
    assert_allclose(grown[:, 0], -decision, rtol=1e-5, atol=tolerance)
    model.partial_fit(corpus.X, corpus.y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(corpus.X_test, corpus.y_test) > 0.8


def test_new_labels(classifier):
    corpus = make_topic_corpus(
        300, n_words=200, n_topics=6, n_labels=3, labels_per_document=2, random_state=3
    )
    model = classifier().partial_fit(corpus.data, corpus.target[:, :2], classes=["a", "b"])
    model.partial_fit(corpus.data, corpus.target, classes=["a", "b", "c"])
    assert model.coef_.shape == (3, 8)
    with pytest.raises(ValueError, match="the new ones behind"):
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
        ([[1, 2]], [[0, 1]], {}, "one class a document"),
        (np.zeros((0, 2)), [], {}, "minimum of 1 is required"),
        ([[1, 2]], [0], {"n_sweeps": 0}, "n_sweeps is 0"),
        ([[1, 2]], [0], {"burn_in": 4}, "burn_in is 4.* at most 3"),
        ([[1, 2]], [0], {"cost": float("inf")}, "cost is inf"),
        ([[1, 2]], [0], {"eta": 1e-9}, "eta is 1e-09"),
        ([[1, 2]], [0], {"discount": 1.5}, "discount is 1.5"),
        ([[1, 2]], [0], {"sampler": "exact"}, "'collapsed', 'augmented'"),
        ([[1, 2]], [0], {"n_topics": 9}, "the model has 8 topics"),
        ([[1, 2]], [0], {"n_jobs": 0}, "n_jobs is 0"),
    ],
    ids=str,
)
def test_what_is_refused_changes_nothing(classifier, X, y, parameters, message):
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


def test_columns_must_keep_their_names(classifier):
    pandas = pytest.importorskip("pandas")
    model = classifier().partial_fit(
        pandas.DataFrame([[1, 2], [3, 0]], columns=["a", "b"]), [0, 1], classes=[0, 1]
    )
    before = state(model)
    with pytest.raises(ValueError, match="columns behind those known"):
        model.partial_fit(pandas.DataFrame([[1, 2, 0]], columns=["b", "a", "c"]), [0])
    assert state(model) == before
    model.partial_fit(pandas.DataFrame([[1, 2, 0]], columns=["a", "b", "c"]), [0])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


# Odd documents


def test_odd_documents(classifier):
    long = np.zeros(5, int)
    long[[1, 3]] = 60_000, 40_000
    X = np.array([[0] * 5, [0, 1, 0, 0, 0], long, [0, 2, 2, 0, 1]])
    model = classifier(n_topics=3).fit(X, [0, 1, 0, 1])
    assert np.isfinite(model.decision_function(X)).all()
    assert_allclose(model.transform(X).sum(axis=1), 1.0)
    assert_allclose(model.transform(X)[0], 1 / 3)  # no word: the prior
    assert model.topic_word_.sum() - 15 * np.rint(model.eta * 2**20) / 2**20 == X.sum()


def test_a_count_of_a_million(classifier):
    model = classifier(n_topics=2, prediction_sweeps=2).fit([[1_000_000, 1], [1, 2]], [0, 1])
    assert model.topic_word_.sum() > 1_000_000


def test_fractional_counts_weigh_what_they_say(classifier, corpus):
    """Half of every count is half of the evidence, and nearly the same topics."""
    whole, half = classifier().fit(corpus.X, corpus.y), classifier().fit(corpus.X * 0.5, corpus.y)
    learned = half.topic_word_.sum() - (whole.topic_word_.sum() - corpus.X.sum())
    assert_allclose(learned, 0.5 * corpus.X.sum(), rtol=1e-3)
    assert half.score(corpus.X_test * 0.5, corpus.y_test) > 0.85


# Prediction


def test_prediction_ignores_its_company(classifier, corpus):
    model = classifier().fit(corpus.X, corpus.y)
    together = model.decision_function(corpus.X_test)
    order = np.random.default_rng(0).permutation(200)
    assert_array_equal(model.decision_function(corpus.X_test[order]), together[order])
    alone = [model.decision_function(corpus.X_test[i])[0] for i in range(5)]
    assert_array_equal(alone, together[:5])
    fractions = sparse.vstack([corpus.X_test[:3], 0.3 * corpus.X_test[3:5]]).tocsr()
    assert_array_equal(model.decision_function(fractions)[:3], together[:3])
    dense = corpus.X_test.toarray()
    assert_array_equal(model.decision_function(dense), together)
    assert_array_equal(model.decision_function(np.asfortranarray(dense.astype(np.float32))), together)


@pytest.mark.parametrize("parameters", [{}, {"multi_class": "ovr"}, {"classifier": "averaging"}], ids=str)
def test_same_bits_for_any_threads_and_instructions(classifier, corpus, parameters, monkeypatch):
    def learn(n_jobs):
        model = classifier(n_jobs=n_jobs, **parameters).fit(corpus.X[:300], corpus.y[:300])
        return (
            state(model),
            model.predict_proba(corpus.X_test).tobytes(),
            model.transform(corpus.X_test).tobytes(),
        )

    first = learn(1)
    assert learn(2) == first
    assert learn(3) == first
    for isa in _native.available_isas():
        monkeypatch.setenv("BAYESPA_ISA", isa)
        assert learn(1) == first


def test_seeds(classifier, corpus):
    def fit(seed):
        return state(classifier(random_state=seed).fit(corpus.X[:100], corpus.y[:100]))

    assert fit(1) == fit(1) != fit(2)
    assert fit(np.random.RandomState(3)) == fit(np.random.RandomState(3))
    assert fit(None) != fit(None)


def test_gibbs_prediction_draws_weights(classifier, corpus):
    model = classifier(weight_scale=1.0).fit(corpus.X[:100], corpus.y[:100])
    mean = model.decision_function(corpus.X_test[:20])
    draws = [
        model.decision_function(corpus.X_test[:20], prediction="gibbs", random_state=seed)
        for seed in range(300)
    ]
    deviation = np.std(draws, axis=0)
    assert_allclose(np.mean(draws, axis=0), mean, atol=5 * deviation.max() / np.sqrt(300))
    assert (deviation <= 1.3 * model.decision_std(corpus.X_test[:20])).all()  # which has the topics' part too
    once, again = (model.predict(corpus.X_test, prediction="gibbs") for _ in range(2))
    assert_array_equal(once, again)
    with pytest.raises(ValueError, match="prediction is 'map'"):
        model.predict(corpus.X_test, prediction="map")


def test_probabilities_rank_like_decisions(classifier, corpus):
    model = classifier().fit(corpus.X, corpus.y == 0)
    probability, decision = model.predict_proba(corpus.X_test)[:, 1], model.decision_function(corpus.X_test)
    assert_array_equal(rankdata(probability.round(10)), rankdata(decision.round(10)))
    model = classifier().fit(corpus.X, corpus.y)
    assert_allclose(model.predict_proba(corpus.X_test).sum(axis=1), 1.0)
    assert_array_equal(
        model.classes_[model.predict_proba(corpus.X_test).argmax(axis=1)], model.predict(corpus.X_test)
    )


def test_probabilities_are_calibrated(classifier):
    """Noisy labels: one in five is wrong, and the model must not be surer than that."""
    corpus = make_topic_corpus(2500, n_words=300, n_topics=6, n_labels=3, random_state=5)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(2500) < 0.2, rng.integers(3, size=2500), corpus.target)
    model = classifier().fit(corpus.data[:1500], y[:1500])
    probability = model.predict_proba(corpus.data[1500:])
    hit = probability.argmax(axis=1) == y[1500:]
    assert abs(probability.max(axis=1).mean() - hit.mean()) < 0.06


# What a model shows


def test_perplexity_is_that_of_completed_documents(classifier, corpus):
    model = classifier(n_passes=2).fit(corpus.X, corpus.y)
    frequency = (np.asarray(corpus.X.sum(axis=0)).ravel() + 0.5) / (corpus.X.sum() + 150)
    test = np.asarray(corpus.X_test.sum(axis=0)).ravel()
    unigram = np.exp(-(test * np.log(frequency)).sum() / test.sum())
    truth = corpus.bunch.document_topic[700:] @ corpus.bunch.topic_word.toarray()
    best = np.exp(-(corpus.X_test.toarray() * np.log(truth)).sum() / test.sum())
    assert best < model.perplexity(corpus.X_test) < 0.9 * unigram
    with pytest.raises(ValueError, match="two words"):
        model.perplexity(np.eye(300)[:2])


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_explanation_adds_up(classifier, corpus, multi_class):
    model = classifier(multi_class=multi_class).fit(corpus.X, np.array(["a", "b", "c"])[corpus.y])
    names = np.array([f"word{i}" for i in range(300)])
    for target, decision in zip(model.classes_, model.decision_function(corpus.X_test[0])[0], strict=True):
        explanation = model.explain(corpus.X_test[0], target, names)
        assert explanation.target == target
        assert explanation.decision == decision
        assert_allclose(sum(part.contribution for part in explanation.topics), decision, atol=1e-5)
        assert_allclose(sum(part.contribution for part in explanation.words), decision, atol=1e-5)
        assert sum(part.count for part in explanation.words) == corpus.X_test[0].sum()
    best = model.explain(corpus.X_test[0].toarray()[0])
    assert best.target == model.predict(corpus.X_test[0])[0]
    assert str(best).startswith(f"{best.target}: +")
    assert "<table>" in best._repr_html_()
    with pytest.raises(ValueError, match="one at a time"):
        model.explain(corpus.X_test[:2])
    with pytest.raises(ValueError, match="the classes are 'a', 'b', 'c'"):
        model.explain(corpus.X_test[0], "d")


def test_topics_show_their_words(classifier, corpus):
    model = classifier().fit(corpus.X, corpus.y)
    names = [f"word{i}" for i in range(300)]
    tops = model.topics(4, names)
    assert len(tops) == 8
    assert tops[3] == [names[w] for w in np.argsort(-model.components_[3], kind="stable")[:4]]
    assert model.topics(400)[0].__len__() == 300
    with pytest.raises(ValueError, match="300 words"):
        model.topics(3, names[:10])


def test_shapes_of_attributes(classifier, corpus):
    shared, separate = (classifier(multi_class=m).fit(corpus.X, corpus.y) for m in ("shared", "ovr"))
    assert shared.topic_word_.shape == shared.components_.shape == (8, 300)
    assert separate.topic_word_.shape == (24, 300)
    for model in (shared, separate):
        assert_allclose(model.components_.sum(axis=1), 1.0)
        assert model.coef_.shape == (3, 8)
        assert model.coef_cov_.shape == (3, 8, 8)
    assert separate.transform(corpus.X_test).shape == (200, 24)
    assert_allclose(separate.transform(corpus.X_test).sum(axis=1), 3.0)
    assert len(separate.get_feature_names_out()) == 24


# Joining models


def test_merge_of_common_ancestor_is_addition(classifier, corpus):
    base = classifier().partial_fit(corpus.X[:200], corpus.y[:200], classes=[0, 1, 2])
    left = copy.deepcopy(base).partial_fit(corpus.X[200:450], corpus.y[200:450])
    right = copy.deepcopy(base).partial_fit(corpus.X[450:], corpus.y[450:])
    expected = left.topic_word_ + right.topic_word_ - base.topic_word_
    merged = copy.deepcopy(left).merge(right, ancestor=base)
    assert_array_equal(merged.topic_word_, expected)  # exactly
    other_way = copy.deepcopy(right).merge(left, ancestor=base)
    assert_array_equal(other_way.topic_word_, expected)
    assert merged.n_documents_seen_ == 700
    assert merged.score(corpus.X_test, corpus.y_test) > 0.85


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_merge_of_strangers_matches_topics(classifier, corpus, multi_class):
    left = classifier(multi_class=multi_class).fit(corpus.X[:350], corpus.y[:350])
    right = classifier(multi_class=multi_class, random_state=1).fit(corpus.X[350:, :250], corpus.y[350:])
    left.merge(right)
    assert left.n_documents_seen_ == 700
    assert left.score(corpus.X_test, corpus.y_test) > 0.85
    assert (left.transform(corpus.X_test) >= 0).all()


def test_merge_joins_classes_and_refuses_other_models(classifier, corpus):
    left = classifier().fit(corpus.X[corpus.y != 2], corpus.y[corpus.y != 2])
    right = classifier().fit(corpus.X[corpus.y != 0], corpus.y[corpus.y != 0])
    before = state(left)
    with pytest.raises(ValueError, match="n_topics is 8 here and 4 there"):
        left.merge(classifier(n_topics=4).fit(corpus.X, corpus.y))
    with pytest.raises(TypeError, match="cannot merge"):
        left.merge(MedLDARegressor(n_topics=8).fit(corpus.X, corpus.y))
    assert state(left) == before
    assert left.merge(right).classes_.tolist() == [0, 1, 2]


# Company


def test_pipelines(classifier):
    texts = [
        "the cat sat on the mat",
        "dogs bark at the cat",
        "stocks fell as rates rose",
        "the market and its rates",
    ]
    y = ["pets", "pets", "money", "money"]
    for vectorizer in (CountVectorizer(), HashingVectorizer(n_features=64, alternate_sign=False, norm=None)):
        pipeline = make_pipeline(vectorizer, classifier(n_topics=2, n_passes=5, batch_size=2)).fit(
            texts * 20, y * 20
        )
        assert pipeline.predict(texts).tolist() == y


def test_grid_search_clone_and_joblib(classifier, corpus, tmp_path):
    search = GridSearchCV(classifier(), {"n_topics": [4, 8]}, cv=2).fit(corpus.X[:200], corpus.y[:200])
    assert search.best_score_ > 0.6
    model = classifier(cost=100.0).fit(corpus.X, corpus.y)
    assert clone(model).get_params() == model.get_params()
    joblib.dump(model, tmp_path / "model")
    for loaded in (joblib.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert state(loaded) == state(model)
        assert_array_equal(loaded.decision_function(corpus.X_test), model.decision_function(corpus.X_test))
        assert state(loaded.partial_fit(corpus.X[:64], corpus.y[:64])) == state(
            copy.deepcopy(model).partial_fit(corpus.X[:64], corpus.y[:64])
        )


def test_pandas_output(classifier, corpus):
    pytest.importorskip("pandas")
    model = classifier().set_output(transform="pandas").fit(corpus.X, corpus.y)
    frame = model.transform(corpus.X_test)
    assert frame.columns.tolist() == model.get_feature_names_out().tolist()
    assert frame.shape == (200, 8)


def test_verbose_reports(classifier, corpus, capsys):
    classifier(verbose=1).fit(corpus.X, corpus.y)
    lines = capsys.readouterr().out.splitlines()
    assert 10 <= len(lines) <= 12
    assert "pass 1 of 1, batch 11 of 11, 700 documents, loss" in lines[-1]


def test_interrupt_leaves_the_batches_done(classifier, corpus, monkeypatch):
    """Ctrl-C during the fourth mini-batch: it is finished, and the model is that of four."""
    model, reports = classifier(verbose=2), []
    monkeypatch.setattr(
        "builtins.print", lambda line: (reports.append(line), len(reports) == 4 and _interrupt())
    )
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(corpus.X, corpus.y, classes=[0, 1, 2])
    monkeypatch.undo()
    assert model.n_documents_seen_ == 4 * 64
    four = classifier().partial_fit(corpus.X[: 4 * 64], corpus.y[: 4 * 64], classes=[0, 1, 2])
    assert state(model) == state(four)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    model.partial_fit(corpus.X[4 * 64 :], corpus.y[4 * 64 :])


def _interrupt():
    os.kill(os.getpid(), signal.SIGINT)
