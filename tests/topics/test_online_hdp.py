"""OnlineHDP is MedHDP without labels: the same samples, an objective of its own, and topics found again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespa import MedHDPClassifier, OnlineHDP
from bayespa.datasets import make_topic_corpus
from bayespa.posteriors import Sticks

EXPERT = {"first_documents": None, "first_sweeps": 40, "min_tokens": 0.0}
SMALL = {"batch_size": 64, "expert": EXPERT, "random_state": 0}


@parametrize_with_checks([OnlineHDP(expert={"first_sweeps": 10})])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_is_medhdp_of_documents_whose_labels_are_missing(corpus):
    """Its step is compared with enumeration in test_medhdp_exact.py; here it is the very same."""
    ours = OnlineHDP(**SMALL).partial_fit(corpus.X)
    theirs = MedHDPClassifier(
        **{**ours.get_params(), "expert": {**EXPERT, "n_iterations": 1, "prediction_sweeps": 50}}
    )
    theirs.partial_fit(corpus.X, classes=[0, 1, 2])
    assert_array_equal(ours.topic_word_, theirs.topic_word_)
    assert_array_equal(ours.topic_ids_, theirs.topic_ids_)
    assert_array_equal(ours.transform(corpus.X_test), theirs.transform(corpus.X_test))
    assert isinstance(ours.stick_, Sticks)
    assert ours.n_topics_ == len(ours.components_) == len(ours.stick_.u)


def test_finds_planted_topics_and_their_number():
    corpus = make_topic_corpus(2000, n_words=500, n_topics=8, n_labels=4, random_state=0)
    model = OnlineHDP(eta=0.2, expert={"first_documents": 1024}, random_state=0).fit(corpus.data)
    assert 7 <= model.n_topics_ <= 12
    planted, found = corpus.topic_word.toarray(), model.components_
    cosine = planted @ found.T / np.linalg.norm(planted, axis=1)[:, None] / np.linalg.norm(found, axis=1)
    assert cosine[linear_sum_assignment(-cosine)].mean() > 0.9


def test_objective_is_how_well_words_were_known(corpus):
    model = OnlineHDP(**SMALL).partial_fit(corpus.X)
    tokens = corpus.X[:64].sum() / 64
    assert_allclose(model.objective_[0], tokens * np.log(corpus.X.shape[1]))  # nothing was known
    assert len(model.objective_) == 11
    assert model.objective_[-1] < 0.9 * model.objective_[0]


def test_feeds_a_linear_classifier(corpus):
    model = make_pipeline(OnlineHDP(**SMALL), LinearSVC(C=10.0)).fit(corpus.X, corpus.y)
    assert model.score(corpus.X_test, corpus.y_test) > 0.8


def test_every_document_counts_once(corpus, word_counts):
    for parameters in ({"n_passes": 3}, {"batch_size": None, "n_passes": 3}):
        model = OnlineHDP(**{**SMALL, **parameters}).fit(corpus.X)
        assert_array_equal(word_counts(model), np.asarray(corpus.X.sum(axis=0)).ravel())


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_threads_do_not_change_a_bit(corpus, state, n_jobs):
    one, many = (OnlineHDP(**{**SMALL, "batch_size": 300}, n_jobs=n).fit(corpus.X) for n in (1, n_jobs))
    assert state(one) == state(many)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"alpha": 0.0}, "alpha"), ({"max_topics": 0}, "max_topics"), ({"eta": 0.0}, "eta")],
)
def test_refuses(corpus, parameters, message):
    with pytest.raises(ValueError, match=message):
        OnlineHDP(**parameters).fit(corpus.X)


def test_forgetting_and_replaying_exclude_each_other(corpus):
    with pytest.raises(ValueError, match="use only one of them"):
        OnlineHDP(discount=0.9, n_passes=2).fit(corpus.X)
