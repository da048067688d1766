"""What the estimators promise: bits, classes that join, weights, averages, replays, memory."""

import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression

from bayespa import (
    BayesPAClassifier,
    BayesPARegressor,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    _native,
)

CLASSIFIERS = [
    BayesPAClassifier(),
    BayesPAClassifier(covariance="full"),
    BayesPAClassifier(covariance="isotropic", method="augmented"),
    BayesPAClassifier(rule="averaging"),
    PassiveAggressiveClassifier(),
    PassiveAggressiveClassifier(average=True, loss="squared_hinge"),
]
REGRESSORS = [
    BayesPARegressor(),
    BayesPARegressor(covariance="full", method="augmented"),
    BayesPARegressor(rule="averaging"),
    PassiveAggressiveRegressor(average=True),
]
every_classifier = pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
every_estimator = pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=repr)
bayesian = pytest.mark.parametrize("covariance", ["full", "diagonal", "isotropic"])


def examples(n=120, n_classes=4, density=0.4, seed=0):
    X, y = make_classification(
        n, 12, n_informative=8, n_classes=n_classes, n_clusters_per_class=1, random_state=seed
    )
    X[np.random.default_rng(seed).random(X.shape) > density] = 0.0
    return X, y


def outputs(model, X):
    """All that a model says of X."""
    names = ("predict", "decision_function", "decision_std", "predict_proba")
    return {name: getattr(model, name)(X) for name in names if hasattr(model, name)}


def assert_same_bits(model, other, X):
    assert_array_equal(model.coef_, other.coef_)
    assert_array_equal(model.intercept_, other.intercept_)
    for name, value in outputs(model, X).items():
        assert_array_equal(value, getattr(other, name)(X), err_msg=name)


# -- the same bits


@every_estimator
def test_sparse_and_dense_give_the_same_bits(estimator):
    X, y = examples()
    model = clone(estimator).set_params(random_state=0)
    dense, csr = clone(model).fit(X, y), clone(model).fit(sparse.csr_matrix(X), y)
    assert_same_bits(dense, csr, X)
    assert_same_bits(dense, csr, sparse.csc_array(X))


@every_estimator
def test_threads_and_instruction_sets_give_the_same_bits(estimator, monkeypatch):
    X, y = examples()
    model = clone(estimator).set_params(random_state=0)
    expected = clone(model).fit(X, y)
    for n_jobs in (2, 3, 7, -1):
        assert_same_bits(expected, clone(model).set_params(n_jobs=n_jobs).fit(X, y), X)
    for isa in _native.available_isas():
        monkeypatch.setenv("BAYESPA_ISA", isa)
        assert_same_bits(expected, clone(model).fit(X, y), X)


@every_estimator
def test_a_seed_gives_the_same_bits_and_another_seed_others(estimator):
    X, y = examples()
    first, again, other = (clone(estimator).set_params(random_state=s).fit(X, y) for s in (1, 1, 2))
    assert_same_bits(first, again, X)
    assert (first.coef_ != other.coef_).any()


@every_estimator
def test_models_pickle_and_clone(estimator):
    X, y = examples()
    model = clone(estimator).set_params(random_state=0).fit(X, y)
    size = len(pickle.dumps(model))
    copy = pickle.loads(pickle.dumps(model))
    assert_same_bits(model, copy, X)
    assert len(pickle.dumps(model)) == size  # predicting leaves nothing in a pickle
    assert_same_bits(model.partial_fit(X, y), copy.partial_fit(X, y), X)
    assert not hasattr(clone(model), "coef_")


@every_estimator
def test_a_stream_in_pieces_is_the_stream(estimator):
    """Cuts at multiples of the mini-batch make no difference."""
    X, y = examples(96)
    parameters = {"batch_size": 16} if "batch_size" in estimator.get_params() else {}
    classes = {} if "Regressor" in repr(estimator) else {"classes": range(4)}
    whole, pieces = (clone(estimator).set_params(fit_intercept=False, **parameters) for _ in range(2))
    whole.partial_fit(X, y, **classes)
    for first in range(0, 96, 32):
        pieces.partial_fit(X[first : first + 32], y[first : first + 32], **classes)
    assert_array_equal(whole.coef_, pieces.coef_)


# -- classes and weights


@every_classifier
def test_classes_join(estimator):
    X, y = examples(300, density=1.0)
    two = y < 2
    model = clone(estimator)
    if "average" in model.get_params():
        model.set_params(average=False)  # the mean of the weights counts examples of weight 0, too
    model.partial_fit(X[two], y[two], classes=[0, 1])
    before = model.predict(X[two])
    assert model.coef_.shape == (1, 12)
    model.partial_fit(X[:1], y[two][:1], classes=[0, 1, 2, 3], sample_weight=[0.0])  # joins, learns nothing
    assert model.coef_.shape == (4, 12)
    assert_array_equal(model.predict(X[two]), before)
    for _ in range(3):
        model.partial_fit(X, y)
    assert_array_equal(model.classes_, [0, 1, 2, 3])
    assert set(model.predict(X)) == {0, 1, 2, 3}
    assert model.score(X, y) > 0.5


@every_classifier
def test_classes_join_between_others(estimator):
    X, y = examples(200)
    names = np.array(["a", "c", "e", "g"])[y]
    model = clone(estimator).set_params(fit_intercept=False)
    if "average" in model.get_params():
        model.set_params(average=False)
    model.partial_fit(X, names, classes=["a", "c", "e", "g"])
    weights = model.coef_
    nothing = {"sample_weight": np.zeros(1)}
    model.partial_fit(X[:1], names[:1], classes=["a", "b", "c", "d", "e", "f", "g"], **nothing)
    assert_array_equal(model.coef_[::2], weights)
    assert not model.coef_[1::2].any()


@pytest.mark.parametrize("estimator", [BayesPAClassifier(), PassiveAggressiveClassifier()], ids=repr)
def test_class_weights_are_sample_weights(estimator):
    X, y = examples()
    weight = {0: 0.2, 1: 3.0, 3: 0.0}  # class 2 has weight 1
    by_class = clone(estimator).set_params(class_weight=weight).partial_fit(X, y, range(4))
    by_sample = clone(estimator).partial_fit(X, y, range(4), sample_weight=np.array([0.2, 3.0, 1.0, 0.0])[y])
    assert_same_bits(by_class, by_sample, X)
    counts = np.bincount(y)
    balanced = clone(estimator).set_params(class_weight="balanced").partial_fit(X, y, range(4))
    by_sample = clone(estimator).partial_fit(X, y, range(4), sample_weight=(120 / (4 * counts))[y])
    assert_same_bits(balanced, by_sample, X)
    few = y < 2  # a batch without some of the classes that have weights
    clone(estimator).set_params(class_weight=weight).partial_fit(X[few], y[few], range(4))


@every_estimator
def test_a_sample_weight_multiplies_the_cost(estimator):
    X, y = examples()
    name = "cost" if "cost" in estimator.get_params() else "C"
    classes = {} if "Regressor" in repr(estimator) else {"classes": range(4)}
    weighted = clone(estimator).partial_fit(X, y, sample_weight=np.full(120, 0.25), **classes)
    cheaper = clone(estimator).set_params(**{name: 0.25}).partial_fit(X, y, **classes)
    assert_array_equal(weighted.coef_, cheaper.coef_)


@every_estimator
def test_an_example_of_weight_0_teaches_nothing(estimator):
    X, y = examples()
    shown = np.arange(120) % 3 > 0
    model = clone(estimator).set_params(fit_intercept=False)
    model.set_params(**({"batch_size": None} if "batch_size" in model.get_params() else {"average": False}))
    classes = {} if "Regressor" in repr(estimator) else {"classes": range(4)}
    some = clone(model).partial_fit(X, y, sample_weight=shown.astype(float), **classes)
    assert_array_equal(some.coef_, clone(model).partial_fit(X[shown], y[shown], **classes).coef_)


# -- passive-aggressive


def test_averaging_can_begin_later():
    X, y = examples(60, n_classes=2)
    model = PassiveAggressiveClassifier(fit_intercept=False).partial_fit(X[:20], y[:20], [0, 1])
    path = [model.coef_] * 20
    single = pickle.loads(pickle.dumps(model))
    for i in range(20, 60):
        path.append(single.partial_fit(X[i : i + 1], y[i : i + 1]).coef_)
    model.set_params(average=True).partial_fit(X[20:], y[20:])
    assert_allclose(model.coef_, np.mean(path, axis=0), rtol=1e-12)


def test_fit_averages_over_all_passes():
    X, y = examples(40, n_classes=2)
    model = PassiveAggressiveClassifier(
        average=True, max_iter=3, tol=None, shuffle=False, fit_intercept=False
    )
    single, path = clone(model).set_params(average=False), []
    for _ in range(3):
        for i in range(40):
            path.append(single.partial_fit(X[i : i + 1], y[i : i + 1], [0, 1]).coef_)
    assert_allclose(model.fit(X, y).coef_, np.mean(path, axis=0), rtol=1e-12)
    assert model.t_ == 121.0


@pytest.mark.parametrize("estimator", [PassiveAggressiveClassifier, PassiveAggressiveRegressor])
def test_fit_stops_when_the_loss_stops_falling(estimator):
    X, y = examples(200)
    assert estimator(max_iter=7, tol=None).fit(X, y).n_iter_ == 7
    patient, hasty = (estimator(n_iter_no_change=k, random_state=0).fit(X, y).n_iter_ for k in (8, 2))
    assert 2 < hasty <= patient < 1000
    assert estimator(early_stopping=True, random_state=0).fit(X, y).n_iter_ < 1000


def test_early_stopping_learns_from_the_rest_only():
    X, y = examples(100, n_classes=2)
    model = PassiveAggressiveClassifier(
        early_stopping=True, validation_fraction=0.35, max_iter=1, random_state=3
    ).fit(X, y)
    assert model.t_ == 1 + 65


def test_a_warm_start_goes_on():
    X, y = examples()
    parameters = {"shuffle": False, "tol": None, "max_iter": 1}
    warm = PassiveAggressiveClassifier(warm_start=True, **parameters)
    for _ in range(4):
        warm.fit(X, y)
    at_once = PassiveAggressiveClassifier(shuffle=False, tol=None, max_iter=4).fit(X, y)
    assert_array_equal(warm.coef_, at_once.coef_)
    cold = PassiveAggressiveClassifier(**parameters).fit(X, y)
    assert_array_equal(cold.fit(X, y).coef_, PassiveAggressiveClassifier(**parameters).fit(X, y).coef_)


@pytest.mark.parametrize("estimator", [PassiveAggressiveClassifier, PassiveAggressiveRegressor])
def test_fit_starts_where_it_is_told(estimator):
    X, y = examples()
    start = estimator(max_iter=3, tol=None, random_state=0).fit(X, y)
    parameters = {"shuffle": False, "tol": None, "max_iter": 1}
    fitted = estimator(**parameters).fit(X, y, coef_init=start.coef_, intercept_init=start.intercept_)
    resumed = start.set_params(shuffle=False).partial_fit(X, y)
    assert_allclose(fitted.coef_, resumed.coef_, rtol=1e-12, atol=1e-12)
    assert_allclose(fitted.intercept_, resumed.intercept_, rtol=1e-12, atol=1e-12)


def test_without_an_intercept_there_is_none():
    X, y = examples()
    for estimator in (*CLASSIFIERS, *REGRESSORS):
        assert not clone(estimator).set_params(fit_intercept=False).fit(X, y).intercept_.any()


@pytest.mark.parametrize(
    "estimator", [BayesPAClassifier(), BayesPARegressor(), PassiveAggressiveClassifier()], ids=repr
)
def test_verbose_prints_progress(estimator, capsys):
    X, y = examples()
    clone(estimator).set_params(verbose=1).fit(X, y)
    assert "objective" in (printed := capsys.readouterr().out) or "pass 1: loss" in printed


# -- Bayesian


@bayesian
@pytest.mark.parametrize("method", ["moments", "augmented"])
def test_passes_replay_and_do_not_count_twice(covariance, method):
    X, y = examples(150, n_classes=2, density=1.0)
    model = BayesPAClassifier(covariance=covariance, method=method, batch_size=10, random_state=0)
    first, twentieth, last = (
        clone(model).set_params(n_passes=n).fit(X, y).posterior_.precision.sum() for n in (1, 20, 21)
    )
    counted_often = clone(model).partial_fit(np.tile(X, (20, 1)), np.tile(y, 20), [0, 1]).posterior_
    assert first < last < 1.03 * twentieth  # no pass adds the data again
    assert last < 0.5 * counted_often.precision.sum()


def test_replaying_single_examples_is_expectation_propagation():
    """Its fixed point does not depend on the order, and every example agrees with the rest."""
    X, y = examples(40, n_classes=2, density=1.0)
    model = BayesPAClassifier(covariance="full", batch_size=1, n_passes=60, fit_intercept=False)
    one, other = (clone(model).set_params(random_state=seed).fit(X, y).posterior_ for seed in (0, 1))
    assert_allclose(one.precision, other.precision, rtol=1e-6, atol=1e-6)
    assert_allclose(one.shift, other.shift, rtol=1e-6, atol=1e-6)


def test_the_averaging_classifier_settles_at_the_batch_solution():
    """Replaying mini-batches is block coordinate descent on the dual of all data."""
    X, y = examples(60, n_classes=2, density=1.0)
    parameters = {"rule": "averaging", "weight_scale": 1.0, "cost": 0.05, "shuffle": False}
    replayed = BayesPAClassifier(batch_size=10, n_passes=300, **parameters).fit(X, y)
    at_once = BayesPAClassifier(batch_size=None, **parameters).fit(X, y)
    assert_allclose(replayed.coef_, at_once.coef_, atol=1e-6)


def test_passes_and_examples_are_counted():
    X, y = examples()
    model = BayesPAClassifier(n_passes=3, batch_size=50).fit(X, y)
    assert (model.n_iter_, model.n_examples_seen_) == (3, 120)
    model.partial_fit(X, y)
    assert (model.n_iter_, model.n_examples_seen_) == (1, 240)


def test_a_discount_forgets():
    """Without news the posterior goes back to the prior by the factor; news that contradict prevail."""
    X, y = examples(400, n_classes=2)
    model = BayesPAClassifier(discount=0.5, batch_size=100)
    model.partial_fit(X, y, [0, 1])
    prior, before = model._prior(1, 13), model.posterior_
    model.partial_fit(X[:1], y[:1], sample_weight=[0.0])
    assert_array_equal(model.posterior_.precision, before.discounted(0.5, prior).precision)
    steady, forgetful = BayesPAClassifier(batch_size=50), BayesPAClassifier(batch_size=50, discount=0.5)
    for labels in (y, y, y, 1 - y):
        for learner in (steady, forgetful):
            learner.partial_fit(X, labels, [0, 1])
    assert forgetful.score(X, 1 - y) > steady.score(X, 1 - y)


@every_classifier
@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_agree_with_predictions(estimator, n_classes):
    X, y = examples(200, n_classes=n_classes)
    model = clone(estimator).set_params(random_state=0).fit(X, y)
    f = model.decision_function(X)
    assert f.shape == ((200,) if n_classes == 2 else (200, 4))
    winners = (f > 0).astype(int) if n_classes == 2 else f.argmax(axis=1)
    assert_array_equal(model.predict(X), model.classes_[winners])
    assert_allclose(f.reshape(200, -1), X @ model.coef_.T + model.intercept_, rtol=1e-10, atol=1e-10)
    if isinstance(estimator, BayesPAClassifier):
        p = model.predict_proba(X)
        assert p.shape == (200, n_classes)
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
        assert_array_equal(p.argmax(axis=1), winners)
        if n_classes == 2:
            assert_array_equal(np.argsort(p[:, 1], kind="stable"), np.argsort(f, kind="stable"))


@bayesian
def test_standard_deviations_are_those_of_the_posterior(covariance):
    X, y = examples(80, n_classes=3)
    model = BayesPAClassifier(covariance=covariance, random_state=0).fit(X, y)
    rows = np.column_stack([X, np.full(80, model._to_file()["_bias"])])
    assert_allclose(model.decision_std(X) ** 2, model.posterior_.quadratic(rows), rtol=1e-12)
    assert model.decision_std(X).shape == (80, 3)
    mean, std = BayesPARegressor(covariance=covariance).fit(X, y).predict(X, return_std=True)
    assert mean.shape == std.shape == (80,)
    assert (std > 0).all()


def test_a_regressor_with_full_covariance_knows_what_it_does_not_know():
    X, y = make_regression(300, 5, noise=1.0, random_state=0)
    model = BayesPARegressor(covariance="full", weight_scale=100.0, random_state=0).fit(X, y)
    assert np.abs(model.predict(X) - y).mean() < 1.5
    far = 100.0 * X[:5]
    assert (model.predict(far, return_std=True)[1] > 10 * model.predict(X[:5], return_std=True)[1]).all()


def test_a_hard_margin_has_probabilities():
    X, y = make_classification(40, 60, random_state=0)
    model = BayesPAClassifier(rule="averaging", cost=np.inf, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert np.isfinite(model.predict_proba(X)).all()


# -- streams


@pytest.mark.parametrize(
    "estimator",
    [
        BayesPAClassifier(),
        BayesPAClassifier(rule="averaging"),
        PassiveAggressiveClassifier(average=True),
    ],
    ids=repr,
)
def test_a_stream_holds_memory_flat(estimator):
    """50,000 sparse examples: what the model holds, and the most that learning a batch takes, do not grow."""
    rng = np.random.default_rng(0)
    direction = rng.standard_normal(2000)

    def batch(n=500):
        X = sparse.random(n, 2000, density=0.01, format="csr", random_state=rng)
        return X, (X @ direction > 0).astype(int)

    model, peaks, sizes = clone(estimator), [], []
    tracemalloc.start()
    try:
        for _ in range(100):
            X, y = batch()
            base = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            model.partial_fit(X, y, [0, 1])
            peaks.append(tracemalloc.get_traced_memory()[1] - base)
            sizes.append(len(pickle.dumps(model)))
    finally:
        tracemalloc.stop()
    assert max(sizes[5:]) - min(sizes[5:]) < 64  # of a counter that pickles in more digits
    assert max(peaks[50:]) < 1.1 * max(peaks[5:50])
    assert model.score(*batch(2000)) > 0.8


@pytest.mark.parametrize("rule", ["gibbs", "averaging"])
def test_passes_over_one_batch_of_all_data_learn_it_once(rule):
    X, y = make_classification(200, random_state=0)
    model = BayesPAClassifier(rule=rule, batch_size=None, random_state=0)
    once, thrice = (clone(model).set_params(n_passes=n).fit(X, y) for n in (1, 3))
    assert_allclose(thrice.coef_, once.coef_, rtol=1e-6, atol=1e-9)
