"""Topics whose shares of α are learned. [MED-11]."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayespa import MedLDAClassifier, MedLDARegressor
from bayespa.topics.classifier import Classes
from bayespa.topics.documents import Corpus
from bayespa.topics.medlda import TABLES


def everywhere_and_nowhere(n=400, seed=0):
    """Return documents of four topics, ten words each; one is in most, and the label is the next of them."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([2.0, 0.3, 0.3, 0.3], n)
    return rng.multinomial(60, np.repeat(shares, 10, axis=1) / 10), shares[:, 1:].argmax(axis=1)


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_expected_tables_are_those_of_the_restaurant(scale):
    """The i-th word of a topic in a document opens a table with probability α / (α + i)."""
    held = np.array([[5, 0, 2], [0, 1, 7]])
    model = MedLDAClassifier(3)._made(Classes(np.array([0, 1]), indicator=False), key=0)["model"].topics
    alpha = np.array([0.2, 1.0, 1.8])
    batch = Corpus.of(np.array([[3, 4], [8, 0]]), name="a test").batch(
        np.arange(2), np.ones((2, 1), np.float32)
    )
    batch.weights[:] = scale
    found = model._tables(alpha, batch, held / held.sum(axis=1, keepdims=True))
    own = alpha / scale
    expected = [sum(scale * own[k] / (own[k] + i) for n in held[:, k] for i in range(n)) for k in range(3)]
    assert_allclose(found.concentration, [expected], atol=1e-5)


def test_a_topic_of_most_documents_has_the_largest_alpha():
    X, y = everywhere_and_nowhere()
    model = MedLDAClassifier(4, expert={"first_sweeps": 30}, batch_size=50, random_state=0).fit(X, y)
    common = model.components_[:, :10].sum(axis=1).argmax()
    assert model.alpha_.argmax() == common
    assert model.alpha_[common] > 2.0 * np.delete(model.alpha_, common).max()
    assert_allclose(model.alpha_.mean(), 0.8)


def test_before_documents_all_are_alike():
    model = MedLDAClassifier(4, alpha=0.3, random_state=0).partial_fit(
        np.zeros((2, 3), int), ["a", "b"], classes=["a", "b"]
    )
    assert_allclose(model.alpha_, 0.3)


def test_what_is_known_of_shares_grows_by_the_tables_of_documents():
    X, y = everywhere_and_nowhere(100)
    model = MedLDAClassifier(4, expert={"first_sweeps": 0}, random_state=0).fit(X, y)
    tables = model.posterior_["shares"].concentration - TABLES
    assert (tables > 0.0).all()
    assert 100 < tables.sum() < X.sum()


def test_passes_replace_what_they_taught():
    """A document that is learned again has tables of one pass, not of two."""
    X, y = everywhere_and_nowhere(100)
    sums = [
        MedLDAClassifier(4, n_passes=n, batch_size=25, random_state=0)
        .fit(X, y)
        .posterior_["shares"]
        .concentration.sum()
        for n in (1, 3)
    ]
    assert_allclose(sums[1], sums[0], rtol=0.2)


@pytest.mark.parametrize(
    ("model", "learned"),
    [
        (MedLDAClassifier(), True),
        (MedLDAClassifier(decides="topics"), False),
        (MedLDAClassifier(multi_class="ovr"), False),
        (MedLDAClassifier(expert={"learn_alpha": False}), False),
        (MedLDARegressor(), False),
        (MedLDARegressor(expert={"learn_alpha": True}), True),
    ],
    ids=repr,
)
def test_where_shares_are_learned(model, learned):
    X, y = everywhere_and_nowhere(60)
    model.set_params(n_topics=3, random_state=0).fit(X, y)
    assert model.alpha_.shape == ((9,) if model.get_params().get("multi_class") == "ovr" else (3,))
    assert (np.ptp(model.alpha_) > 0.0) == learned


def test_models_of_strangers_are_merged_with_their_shares():
    X, y = everywhere_and_nowhere()
    one, other = (
        MedLDAClassifier(4, expert={"first_sweeps": 30}, random_state=seed).fit(X[rows], y[rows])
        for seed, rows in ((0, np.s_[:200]), (1, np.s_[200:]))
    )
    known = one.posterior_["shares"].concentration.sum() + other.posterior_["shares"].concentration.sum()
    merged = one.merge(other)
    assert_allclose(merged.posterior_["shares"].concentration.sum(), known - 4 * TABLES)
    assert merged.alpha_.argmax() == merged.components_[:, :10].sum(axis=1).argmax()


def test_it_cannot_be_changed_while_learning():
    X, y = everywhere_and_nowhere(60)
    model = MedLDAClassifier(3, random_state=0).fit(X, y)
    before = model.alpha_
    with pytest.raises(ValueError, match="learn_alpha was True when learning began; set it back, or fit"):
        model.set_params(expert={"learn_alpha": False}).partial_fit(X, y)
    assert_array_equal(model.set_params(expert={"learn_alpha": True}).alpha_, before)


def test_what_makes_no_sense_is_refused():
    X, y = everywhere_and_nowhere(60)
    with pytest.raises(ValueError, match="learn_alpha is 'yes'"):
        MedLDAClassifier(3, expert={"learn_alpha": "yes"}).fit(X, y)
