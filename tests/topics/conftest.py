"""The models that the battery runs through, and a corpus to learn."""

from dataclasses import fields
from types import SimpleNamespace

import joblib
import numpy as np
import pytest

from bayespa import MedHDPClassifier, MedHDPRegressor, MedLDAClassifier, MedLDARegressor
from bayespa.datasets import make_topic_corpus

# What a model is made of in the battery, given how many topics it may have (None: any number).
HDP = {"start_gamma": 100.0, "first_documents": None, "first_sweeps": 40, "min_tokens": 0.0}
MODELS = {
    MedLDAClassifier: lambda n: {"n_topics": n or 8, "batch_size": 64, "expert": {"first_documents": 64}},
    MedHDPClassifier: lambda n: {"max_topics": n, "batch_size": 64, "eta": 0.05, "expert": HDP},
    MedLDARegressor: lambda n: {"n_topics": n or 8},
    MedHDPRegressor: lambda n: {"max_topics": n, "eta": 0.05, "expert": HDP},
}


def maker(model):
    def make(topics=None, expert=None, **parameters):
        known = MODELS[model](topics)
        turned = {**known.get("expert", {}), **(expert or {})}
        return model(**{"random_state": 0, "n_passes": 1, **known, **parameters, "expert": turned})

    return make


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


@pytest.fixture(params=[MedLDAClassifier, MedHDPClassifier], ids=lambda model: model.__name__)
def classifier(request):
    return maker(request.param)


@pytest.fixture(params=[MedLDARegressor, MedHDPRegressor], ids=lambda model: model.__name__)
def regressor(request):
    return maker(request.param)


@pytest.fixture
def state():
    """What a model has learned, as bytes."""
    return lambda model: {name: array.tobytes() for name, array in model.posterior_.to_arrays().items()}


@pytest.fixture
def word_counts():
    """How often each word was learned, in all topics together, (W,)."""

    def word_counts(model):
        prior = np.rint(model.eta_ * 2**20) / 2**20
        return (model.topic_word_ - prior).sum(axis=0)

    return word_counts


@pytest.fixture
def attributes():
    """All else that a model has learned, as a number."""

    def attributes(model):
        found = {name: value for name, value in vars(model).items() if name not in model.get_params()}
        learned = found.pop("_learned")
        known = {field.name: getattr(learned, field.name) for field in fields(learned)}
        state = known.pop("state")
        known["losses"] = known["losses"].tolist()
        known["features"] = vars(known["features"])
        counted = state.version, state.n_steps, state.n_examples
        return joblib.hash({**found, **known, "counted": counted})

    return attributes
