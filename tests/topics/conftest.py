"""The models that the battery runs through, and a corpus to learn."""

from types import SimpleNamespace

import joblib
import pytest

from bayespa import MedLDAClassifier, MedLDARegressor
from bayespa.datasets import make_topic_corpus
from bayespa.posteriors import Joint

CLASSIFIERS = [MedLDAClassifier]
REGRESSORS = [MedLDARegressor]


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


@pytest.fixture
def state():
    """What a model has learned, as bytes."""
    return lambda model: {name: array.tobytes() for name, array in model._posterior.to_arrays().items()}


@pytest.fixture
def attributes():
    """All else that `fit` sets, as a number."""

    def attributes(model):
        found = {name: value for name, value in vars(model).items() if name not in model.get_params()}
        return joblib.hash({name: value for name, value in found.items() if not isinstance(value, Joint)})

    return attributes
