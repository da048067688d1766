"""20 Newsgroups, tf-idf, one pass: accuracy beside scikit-learn's PA-I, and calibration."""

import warnings

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.feature_extraction.text import TfidfVectorizer

from bayespa import BayesPAClassifier, PassiveAggressiveClassifier
from bayespa.datasets import fetch_20newsgroups
from bayespa.inspect.calibration import reliability

SEEDS = range(3)


@pytest.fixture(scope="module")
def newsgroups(data_home):
    train, test = (fetch_20newsgroups(subset, data_home=data_home) for subset in ("train", "test"))
    vectorizer = TfidfVectorizer()
    return vectorizer.fit_transform(train.data), train.target, vectorizer.transform(test.data), test.target


@pytest.fixture(scope="module")
def scikit_learn_accuracy(newsgroups):
    """Mean accuracy of scikit-learn's PA-I; as measured with 1.9 where it is gone (from 1.10 on)."""
    pa = getattr(sklearn.linear_model, "PassiveAggressiveClassifier", None)
    if pa is None:
        return 0.8446
    X, y, X_test, y_test = newsgroups
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        models = [pa(max_iter=1, tol=None, random_state=seed).fit(X, y) for seed in SEEDS]
    return np.mean([model.score(X_test, y_test) for model in models])


def test_passive_aggressive_is_as_accurate_as_scikit_learn(newsgroups, scikit_learn_accuracy):
    X, y, X_test, y_test = newsgroups
    models = [PassiveAggressiveClassifier(max_iter=1, tol=None, random_state=s).fit(X, y) for s in SEEDS]
    assert np.mean([model.score(X_test, y_test) for model in models]) > scikit_learn_accuracy - 0.003


def test_diagonal_gibbs_is_more_accurate_and_calibrated(newsgroups, scikit_learn_accuracy):
    X, y, X_test, y_test = newsgroups
    models = [BayesPAClassifier(random_state=seed).fit(X, y) for seed in SEEDS]
    assert np.mean([model.score(X_test, y_test) for model in models]) >= scikit_learn_accuracy
    for model in models:
        assert reliability(y_test, model.predict_proba(X_test), model.classes_, n_bins=15).error <= 0.05
