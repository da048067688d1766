"""What was learned is one value: exceptions, threads and files find it before or after, never between."""

import copy
import itertools
import pickle
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bayespa.linear.bayespa
from bayespa import (
    BayesPAClassifier,
    BayesPARegressor,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
)
from bayespa.posteriors import Gaussian

CLASSIFIERS = [
    BayesPAClassifier(batch_size=8),
    BayesPAClassifier(covariance="full"),
    BayesPAClassifier(covariance="isotropic", discount=0.9),
    BayesPAClassifier(rule="averaging", cost=0.01),
    PassiveAggressiveClassifier(),
    PassiveAggressiveClassifier(average=True),
]
REGRESSORS = [BayesPARegressor(), PassiveAggressiveRegressor(average=True)]
every_classifier = pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
every_estimator = pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=repr)
bayesian = pytest.mark.parametrize(
    "estimator", [BayesPAClassifier(batch_size=10), BayesPAClassifier(batch_size=10, n_passes=3)], ids=repr
)

RNG = np.random.default_rng(0)
X = np.where(RNG.random((24, 6)) < 0.5, RNG.standard_normal((24, 6)), 0.0)
Y = np.arange(24) % 3


def facts(model):
    """All that was learned, in bytes."""
    if not model.__sklearn_is_fitted__():
        return None

    def plain(value):
        if isinstance(value, Gaussian):
            return {name: plain(array) for name, array in value.to_arrays().items()}
        return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value

    return {name: plain(value) for name, value in model._to_file().items()}


def fresh(model):
    """The same model in memory that nobody else holds."""
    return pickle.loads(pickle.dumps(model))


def address(model):
    posterior = getattr(model._learned, "state", None)
    table = model._learned.table if posterior is None else posterior.posterior._tables[0]
    return table.array.__array_interface__["data"][0]


# -- exceptions

ignored = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # in a generator's end


@ignored
@pytest.mark.parametrize(
    ("estimator", "held", "stride"),
    [
        (CLASSIFIERS[0], False, 1),
        (CLASSIFIERS[5], False, 1),
        *((estimator, held, 7) for estimator in CLASSIFIERS for held in (False, True)),
    ],
    ids=repr,
)
def test_an_exception_anywhere_in_partial_fit_leaves_the_model_before_or_after(
    estimator, held, stride, cut_short
):
    """At every line, while a class joins, in memory that is taken over or that somebody else holds."""
    before = clone(estimator).partial_fit(X[:8], Y[:8], classes=[0, 1, 2]).partial_fit(X[8:16], Y[8:16])
    new = X[16:], np.where(Y[16:] == 1, 7, Y[16:]), [0, 1, 2, 7]
    once = fresh(before).partial_fit(*new)
    twice = fresh(once).partial_fit(*new)
    known = [facts(model) for model in (before, once, twice)]
    answers = [model.decision_function(X) for model in (before, once)]
    found = set()
    for at in itertools.count(step=stride):
        model = fresh(before)
        other = copy.copy(model) if held else None
        error = (KeyboardInterrupt, MemoryError)[at // stride % 2]
        cut = cut_short(lambda model=model: model.partial_fit(*new), at, error)
        version = known[:2].index(facts(model))
        found.add(version)
        assert_array_equal(model.decision_function(X), answers[version])
        assert facts(model.partial_fit(*new)) == known[version + 1]
        if held:
            assert facts(other) == known[0]
        if not cut:
            break
    assert found == {0, 1}
    assert at > 100


@ignored
@every_estimator
@pytest.mark.parametrize("fitted", [False, True])
def test_an_exception_in_fit_leaves_the_model_as_it_was(estimator, fitted, cut_short):
    before = clone(estimator).set_params(random_state=0)
    if "max_iter" in before.get_params():
        before.set_params(max_iter=2)
    after = facts(clone(before).fit(X, Y))
    if fitted:
        before.fit(X[:10], Y[:10])
    known = facts(before)
    for at in itertools.count(step=5):
        model = fresh(before)
        cut = cut_short(lambda model=model: model.fit(X, Y), at, MemoryError)
        assert facts(model) == after if not cut else facts(model) in (known, after)
        if not cut:
            break
    assert at > 100


@bayesian
@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_interrupt_keeps_the_mini_batches_learned(estimator, at, method, monkeypatch):
    """In a model that was fitted before, too: who interrupts its fit has seen enough."""
    model = clone(estimator).set_params(random_state=0).fit(X[:5], Y[:5])
    before = facts(model)

    class Interrupted(bayespa.linear.bayespa.LinearModel):
        def propose(self, posterior, batch, index, before=None):
            if len(steps) == at:
                raise KeyboardInterrupt
            steps.append(index)
            return super().propose(posterior, batch, index, before)

    steps = []
    monkeypatch.setattr(bayespa.linear.bayespa, "LinearModel", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        getattr(model, method)(X, Y)
    monkeypatch.undo()
    if at == 0:
        assert facts(model) == before
    else:
        assert model.n_examples_seen_ == 10 * at + (5 if method == "partial_fit" else 0)
    model.posterior_.require_proper()
    assert np.isfinite(model.predict_proba(X)).all()
    model.partial_fit(X, Y)


@ignored
def test_an_interrupt_of_passive_aggressive_passes_keeps_those_made(cut_short):
    """At every line of a fit: weights, their mean, `t_` and `n_iter_` are those of the same pass."""
    model = PassiveAggressiveClassifier(average=True, max_iter=3, tol=None, random_state=0)
    known = [None, *(facts(clone(model).set_params(max_iter=n).fit(X, Y)) for n in (1, 2, 3))]
    found = []
    for at in itertools.count():
        model = clone(model)
        cut = cut_short(lambda model=model: model.fit(X, Y), at)
        found.append(known.index(facts(model)))
        if not cut:
            break
    assert found[-1] == 3
    assert set(found) == {0, 1, 2, 3}


# -- memory


@pytest.mark.parametrize("estimator", [CLASSIFIERS[0], CLASSIFIERS[3], CLASSIFIERS[5]], ids=repr)
def test_memory_is_taken_over_unless_somebody_holds_it(estimator):
    model = clone(estimator).partial_fit(X, Y, classes=[0, 1, 2]).partial_fit(X, Y)
    at = address(model)
    for _ in range(3):
        model.predict(X)
        model.partial_fit(X, Y)
        assert address(model) == at
    held, known = copy.copy(model), facts(model)
    model.partial_fit(X, Y)
    assert address(model) != at
    assert facts(held) == known != facts(model)


def test_weights_are_computed_once_a_value():
    model = BayesPAClassifier().fit(X, Y)
    model.predict(X)
    weights = model._learned.weights
    model.predict_proba(X)
    assert model._learned.weights is weights
    model.coef_[:] = 0.0  # a copy
    assert_array_equal(model.coef_, weights[:-1].T)


# -- threads


@every_estimator
def test_answers_while_another_thread_learns_are_those_of_some_version(estimator):
    rng = np.random.default_rng(1)
    batches = [
        (sparse.random(8, 40, 0.2, "csr", random_state=rng), rng.integers(0, 3 + i // 20, 8))
        for i in range(60)
    ]
    question = sparse.random(50, 40, 0.3, "csr", random_state=rng)

    def learn(model, i):
        classes = {} if "Regressor" in repr(estimator) else {"classes": range(3 + i // 20)}
        return model.partial_fit(*batches[i], **classes)

    def answer(model):
        if hasattr(model, "predict_proba"):
            return model.predict_proba(question).tobytes()
        ask = model.decision_function if hasattr(model, "decision_function") else model.predict
        return ask(question).tobytes()

    model = learn(clone(estimator), 0)
    twin = fresh(model)
    versions = [answer(twin), *(answer(learn(twin, i)) for i in range(1, 60))]
    done, heard = threading.Event(), [[] for _ in range(3)]

    def read(said):
        while not done.is_set():
            said.append(answer(model))

    readers = [threading.Thread(target=read, args=(said,)) for said in heard]
    for reader in readers:
        reader.start()
    for i in range(1, 60):
        learn(model, i)
    done.set()
    for reader in readers:
        reader.join()
    for said in heard:
        order = [versions.index(one) for one in said]  # a ValueError: an answer of no version
        assert order == sorted(order)
    assert answer(model) == versions[-1]


# -- what a value says


@every_estimator
def test_nothing_is_there_before_it_was_learned(estimator):
    model = clone(estimator)
    learned = (
        "coef_",
        "intercept_",
        "classes_",
        "posterior_",
        "t_",
        "n_iter_",
        "n_features_in_",
        "objective_",
    )
    assert not any(hasattr(model, name) for name in learned)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(
        AttributeError, match=f"this {type(model).__name__} has learned nothing yet; call fit"
    ):
        model.coef_  # noqa: B018
    assert not hasattr(clone(PassiveAggressiveRegressor()).partial_fit(X, Y), "n_iter_")


# -- files


COMMON = ["n_features_in_", "_bias"]
BAYESIAN = ["posterior_", "n_examples_seen_", "_kind", "objective_", "n_iter_", "_typical_variance"]


@pytest.mark.parametrize(
    ("estimator", "names"),
    [
        (BayesPAClassifier(), [*COMMON, "classes_", *BAYESIAN]),
        (BayesPARegressor(), [*COMMON, *BAYESIAN]),
        (PassiveAggressiveClassifier(), [*COMMON, "classes_", "_weights", "_drift", "t_", "n_iter_"]),
        (PassiveAggressiveRegressor(), [*COMMON, "_weights", "_drift", "t_", "n_iter_"]),
    ],
    ids=repr,
)
def test_files_have_the_names_of_version_1(estimator, names):
    import pandas as pd

    model = clone(estimator).fit(X, Y)
    assert list(model._to_file()) == names
    table = pd.DataFrame(X, columns=list("abcdef"))
    assert list(clone(estimator).fit(table, Y)._to_file()) == ["feature_names_in_", *names]
    for name in names:
        file = model._to_file()
        file["other"] = file.pop(name)
        if name != "n_iter_" or "posterior_" in names:
            with pytest.raises(ValueError, match=f"'{name}' is missing"):
                clone(estimator)._from_file(file)
        with pytest.raises(ValueError, match="'other' is not a name of this estimator"):
            clone(estimator)._from_file({**model._to_file(), "other": 1})


@every_estimator
def test_what_a_file_kept_goes_on_with_the_same_bits(estimator):
    model = clone(estimator).fit(X, Y)
    loaded = clone(estimator)
    loaded._from_file(model._to_file())
    assert facts(loaded) == facts(model)
    assert facts(loaded.partial_fit(X, Y)) == facts(fresh(model).partial_fit(X, Y)) != facts(model)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_features_in_", 7, r"weights have shape \(7, 3\), not \(8, 3\)"),
        ("n_features_in_", 0, "n_features_in_ is 0"),
        ("feature_names_in_", np.array(["a"], object), "must be 6 names"),
        ("feature_names_in_", "abcdef", "must be 6 names"),
        ("_bias", -1.0, "_bias is -1.0"),
        ("classes_", np.array([0, 1]), r"weights have shape \(7, 3\), not \(7, 1\)"),
        ("classes_", np.array([[0, 1, 2]]), "not an array of classes"),
        ("classes_", [0, 1, 2], "not an array of classes"),
        ("classes_", np.array([0]), "a classifier has two or more"),
        ("_kind", ("averaging", "diagonal"), r"rule and covariance were \('averaging', 'diagonal'\)"),
        ("posterior_", Gaussian.prior(3, 7), "not a diagonal Gaussian"),
        ("posterior_", None, "the posterior is None"),
        ("posterior_", Gaussian(np.zeros((3, 7)), -np.ones((3, 7))), "precision of task 0 is not positive"),
        ("n_examples_seen_", 0.5, "n_examples_seen_ is 0.5"),
        ("n_iter_", -1, "n_iter_ is -1"),
        ("objective_", None, "objective_ is None"),
        ("_typical_variance", -1.0, "_typical_variance is -1.0"),
    ],
)
def test_a_file_of_a_bayesian_model_that_does_not_fit_together(name, value, message):
    refuse(BayesPAClassifier().fit(X, Y), name, value, message)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("_weights", None, "must be arrays of the same shape"),
        ("_weights", np.zeros((6, 3)), r"must be arrays of the same shape"),
        ("_weights", np.full((7, 3), np.nan), r"_weights\[0, 0\] is nan"),
        ("_drift", np.zeros((7, 2)), "must be arrays of the same shape"),
        ("_drift", np.full((7, 3), "a"), "_drift is not an array of float64"),
        ("t_", 0.0, "t_ is 0.0"),
        ("n_iter_", 0.5, "n_iter_ is 0.5"),
    ],
)
def test_a_file_of_a_passive_aggressive_model_that_does_not_fit_together(name, value, message):
    refuse(PassiveAggressiveClassifier(average=True).fit(X, Y), name, value, message)


def refuse(model, name, value, message):
    before = facts(model)
    with pytest.raises((ValueError, TypeError), match=message):
        model._from_file({**model._to_file(), name: value})
    assert facts(model) == before
