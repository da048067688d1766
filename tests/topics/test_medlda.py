"""What MedLDA has that other topic models do not: a number of topics that the user sets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayespa import MedLDAClassifier
from bayespa.topics.words import BIAS


def test_number_of_topics_stays(corpus):
    model = MedLDAClassifier(n_topics=8, random_state=0).partial_fit(corpus.X, corpus.y, classes=[0, 1, 2])
    model.settle()
    assert model.topic_word_.shape == (8, 300)
    with pytest.raises(ValueError, match="n_topics is 9, but the model has 8 topics"):
        model.set_params(n_topics=9).partial_fit(corpus.X, corpus.y)
    with pytest.raises(ValueError, match="n_topics is 8 here and 4 there"):
        model.set_params(n_topics=8).merge(MedLDAClassifier(n_topics=4).fit(corpus.X, corpus.y))


def test_totals_of_topics_stay_exact(corpus):
    model = MedLDAClassifier(n_topics=8, n_passes=3, expert={"n_sweeps": 3}, random_state=0).fit(
        corpus.X, corpus.y
    )
    topics = model.posterior_["topics"]
    assert_array_equal(topics.totals(), topics.concentration.sum(axis=1))


@pytest.mark.parametrize("learn_alpha", [False, True])
def test_a_document_without_words_has_the_shares_of_the_prior(corpus, learn_alpha):
    model = MedLDAClassifier(n_topics=8, expert={"learn_alpha": learn_alpha}, random_state=0).fit(
        corpus.X, corpus.y
    )
    shares = model.alpha_ / model.alpha_.sum()
    assert (np.ptp(shares) > 0.0) == learn_alpha
    assert_allclose(model.transform(corpus.X[:1] * 0), [shares])
    bias = BIAS * model.posterior_["words"].mean()[:, 0]
    assert_allclose(model.decision_function(corpus.X[:1] * 0)[0], model.coef_ @ shares + bias)


def test_merge_of_common_ancestor_keeps_the_order_of_topics(corpus):
    def learn(rows, model):
        return model.partial_fit(corpus.X[rows], corpus.y[rows], classes=[0, 1, 2]).settle()

    left, right, base = (learn(slice(200), MedLDAClassifier(n_topics=8, random_state=0)) for _ in range(3))
    learn(slice(200, 450), left)
    learn(slice(450, 700), right)
    expected = left.topic_word_ + right.topic_word_ - base.topic_word_
    assert_array_equal(left.merge(right, ancestor=base).topic_word_, expected)  # exactly
