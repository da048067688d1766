"""Targets: how they are joined with those of another model, explained, and refused."""

import copy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

TRUTH = np.array([[1, -1, 2, -2, 0, 1], [0, 2, -1, 1, -1, -1]]).T


@pytest.fixture(scope="module")
def y(corpus):
    """Two targets for each of the 900 documents."""
    return corpus.bunch.document_topic @ TRUTH


def test_merge_of_common_ancestor_is_addition(regressor, corpus, y, word_counts):
    base = regressor().partial_fit(corpus.X[:200], y[:200]).settle()
    left = copy.deepcopy(base).partial_fit(corpus.X[200:450], y[200:450])
    right = copy.deepcopy(base).partial_fit(corpus.X[450:], y[450:700])
    left.merge(right, ancestor=base)
    assert_array_equal(word_counts(left), np.asarray(corpus.X.sum(axis=0)).ravel())  # exactly
    assert left.n_documents_seen_ == 700
    predicted = left.predict(corpus.X_test)
    for target in (0, 1):
        assert np.corrcoef(predicted[:, target], y[700:, target])[0, 1] > 0.75


def test_merge_refuses_other_targets_and_other_words(regressor, state):
    table = pd.DataFrame([[1, 2], [3, 0]], columns=["a", "b"])
    model = regressor().fit(table, [0.5, 1.5])
    before = state(model)
    with pytest.raises(ValueError, match="this model has 1 targets and the other 2"):
        model.merge(regressor().fit(table, [[0.5, 1.0], [1.5, 2.0]]))
    with pytest.raises(ValueError, match="a column is 'b' here and 'c' there; columns must be the same"):
        model.merge(regressor().fit(table.rename(columns={"b": "c"}), [0.5, 1.5]))
    assert state(model) == before
    wider = regressor().fit(table.assign(c=1), [0.5, 1.5])
    assert model.merge(wider).feature_names_in_.tolist() == ["a", "b", "c"]


def test_documents_without_targets_keep_their_shape(regressor, corpus, y):
    model = regressor().fit(corpus.X, y[:700])
    weights = model.coef_.copy()
    model.partial_fit(corpus.X_test)
    assert model.n_documents_seen_ == 900
    assert model.predict(corpus.X_test).shape == (200, 2)
    assert model.coef_.shape == weights.shape or len(model.coef_) == 2  # topics may have been born


def test_explanation_of_each_target_adds_up_to_its_prediction(regressor, corpus, y):
    y = 2010.0 + 100.0 * y  # the parts are in the unit of y
    model = regressor().fit(corpus.X, y[:700])
    predicted, std = model.predict(corpus.X_test[:1], return_std=True)
    nothing = model.predict(np.zeros((1, 300), int))
    for target in (0, 1):
        explanation = model.explain(corpus.X_test[0], target)
        assert explanation.decision == pytest.approx(predicted[0, target])
        assert explanation.std == pytest.approx(std[0, target])
        assert explanation.probability is explanation.runner_up is None
        topics = sum(topic.contribution for topic in explanation.topics)
        assert explanation.base + topics + explanation.beside == pytest.approx(predicted[0, target])
        words = sum(word.contribution for word in explanation.words)
        assert explanation.base + words == pytest.approx(predicted[0, target])
        assert abs(explanation.base - y[:700, target].mean()) < y[:700, target].std()
        assert str(explanation).startswith(f"target {target}: {predicted[0, target]:.6g} ± ")
        assert model.explain(np.zeros(300, int), target).base == pytest.approx(nothing[0, target])
    assert_allclose(model.units_, y[:700].std(axis=0), rtol=0.2)
    with pytest.raises(ValueError, match="target is 2; the model has the targets 0 to 1"):
        model.explain(corpus.X_test[0], 2)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0], "y has 1 targets per document, but the model has learned 2"),
        ([["a", "b"]], "y holds 'a'; a regressor needs numbers"),
        (np.array([["a", "b"]]), "y holds <U1; a regressor needs numbers"),
        ([[1.0, np.inf]], r"y\[0, 1\] is inf"),
        ([[1e39, 1.0]], r"too large for float32: y\[0, 0\] is 1e\+39"),
    ],
    ids=str,
)
def test_what_is_refused_changes_nothing(regressor, y, message, state, attributes):
    model = regressor().partial_fit([[1, 2], [3, 0]], [[0.5, 1.0], [1.5, 2.0]])
    before = state(model), attributes(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit([[1, 2]], y)
    assert (state(model), attributes(model)) == before


def test_fit_needs_a_target(regressor):
    with pytest.raises(ValueError, match="y has no known target; partial_fit can learn from words"):
        regressor().fit([[1, 2]], [np.nan])
