"""Bad input: the error names value, place and remedy, and the model is as it was before the call."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_equal
from scipy import sparse

from bayespa import (
    BayesPAClassifier,
    BayesPARegressor,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
)
from bayespa.native.linear import Rows

CLASSIFIERS = [
    BayesPAClassifier(),
    BayesPAClassifier(covariance="full"),
    BayesPAClassifier(rule="averaging"),
    PassiveAggressiveClassifier(),
    PassiveAggressiveClassifier(average=True, warm_start=True),
]
REGRESSORS = [
    BayesPARegressor(),
    BayesPARegressor(rule="averaging"),
    PassiveAggressiveRegressor(),
    PassiveAggressiveRegressor(average=True, warm_start=True),
]
every_estimator = pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=repr)
every_classifier = pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
every_method = pytest.mark.parametrize("method", ["fit", "partial_fit"])

X = np.random.default_rng(0).standard_normal((12, 4))
Y = np.arange(12) % 3


def with_entry(value, i=7, j=2):
    bad = X.copy()
    bad[i, j] = value
    return bad


def state(model):
    """Parameters, and the value that was learned with its bits."""
    learned = [model.coef_, model.intercept_] if model.__sklearn_is_fitted__() else []
    return dict(vars(model)), learned


def refuse(model, method, *arguments, error=ValueError, match, **options):
    """Call and expect an error; the fitted model, and a fresh one, stay as they were."""
    for subject in (copy.deepcopy(model), copy.deepcopy(model).fit(X, Y)):
        before = state(subject)
        with pytest.raises(error, match=match):
            getattr(subject, method)(*arguments, **options)
        assert_equal(state(subject), before)


def first_classes(estimator, method):
    """What the first call of partial_fit of a classifier needs."""
    return {"classes": [0, 1, 2]} if method == "partial_fit" and "Classifier" in repr(estimator) else {}


@every_estimator
@every_method
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none(estimator, method, value):
    classes = first_classes(estimator, method)
    kind = "NaN" if np.isnan(value) else "infinity"
    message = rf"X contains {kind}: X\[7, 2\] is {value}; drop the row or fill in a number"
    bad = with_entry(value)
    bad[9, 0] = np.nan  # the first is named
    for matrix in (bad, sparse.csr_matrix(bad), sparse.csc_array(bad), bad.tolist()):
        refuse(estimator, method, matrix, Y, match=message, **classes)
    y = Y.astype(float)
    y[5] = value
    refuse(estimator, method, X, y, match=rf"y contains {kind}: y\[5\] is {value}", **classes)


@every_estimator
@every_method
def test_text_in_place_of_numbers(estimator, method):
    classes = first_classes(estimator, method)
    message = (
        r"X\[7, 2\] is 'red', not a number; encode text and categories, for instance with sklearn's Tfidf"
    )
    for bad in (with_entry(0).astype(object), with_entry(0).astype("U8")):
        bad[7, 2] = "red"
        refuse(estimator, method, bad, Y, match=message, **classes)
    refuse(
        estimator, method, [["red"] * 4] * 12, Y, match=r"X\[0, 0\] is 'red', not a number; encode", **classes
    )


@pytest.mark.parametrize("estimator", REGRESSORS, ids=repr)
@every_method
def test_text_in_place_of_targets(estimator, method):
    y = Y.astype(object)
    y[4] = "much"
    refuse(estimator, method, X, y, match=r"y\[4\] is 'much', not a number")


@every_estimator
@every_method
def test_shapes_that_do_not_fit(estimator, method):
    classes = first_classes(estimator, method)
    refuse(
        estimator,
        method,
        X[0],
        Y[:1],
        match=r"(?s)Expected 2D array, got 1D array instead.*Reshape",
        **classes,
    )
    refuse(
        estimator,
        method,
        X[:0],
        Y[:0],
        match=r"0 sample\(s\) \(shape=\(0, 4\)\) while a minimum of 1",
        **classes,
    )
    refuse(
        estimator,
        method,
        X[:, :0],
        Y,
        match=r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1",
        **classes,
    )
    refuse(estimator, method, sparse.csr_matrix((0, 4)), Y[:0], match=r"0 sample\(s\)", **classes)
    refuse(estimator, method, X, Y[:5], match=r"inconsistent numbers of samples: \[12, 5\]", **classes)
    refuse(estimator, method, X, np.column_stack([Y, Y]), match="y should be a 1d array", **classes)


@every_estimator
def test_another_number_of_features(estimator):
    model = copy.deepcopy(estimator).fit(X, Y)
    before = state(model)
    for call in (model.predict, lambda X: model.partial_fit(X, Y)):
        with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
            call(X[:, :3])
    with pytest.raises(ValueError, match=r"X contains NaN: X\[7, 2\]"):
        model.predict(with_entry(np.nan))
    assert_equal(state(model), before)


@every_classifier
def test_a_class_that_was_not_named(estimator):
    model = copy.deepcopy(estimator).fit(X, Y)
    before = state(model)
    y = np.where(Y == 2, 7, Y)
    message = (
        r"y\[2\] is .*7.*, a class the model does not know \(3 classes: 0, 1, 2\); name all classes, this"
    )
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(
        ValueError, match=r"classes leaves out 1, which the model has learned; pass all classes"
    ):
        model.partial_fit(X, y, classes=[0, 2, 7])
    assert_equal(state(model), before)
    with pytest.raises(
        ValueError, match="classes is None in the first call of partial_fit; pass all classes"
    ):
        copy.deepcopy(estimator).partial_fit(X, Y)


@every_classifier
def test_labels_of_one_class_only(estimator):
    refuse(
        estimator.__class__(),
        "fit",
        X,
        np.ones(12),
        match=r"y has only one class, .*1\.0.*; a classifier needs two",
    )
    model = copy.deepcopy(estimator)
    with pytest.raises(ValueError, match="a classifier needs two"):
        model.partial_fit(X, np.ones(12), classes=[1])
    model.partial_fit(X, np.ones(12, int), classes=[0, 1])  # one class of those named is no error
    assert (model.predict(X) == 1).mean() > 0.5


@every_classifier
@every_method
def test_targets_that_are_no_classes(estimator, method):
    classes = first_classes(estimator, method)
    refuse(estimator, method, X, Y + 0.5, match="Unknown label type: continuous", **classes)


@every_estimator
def test_weights_that_are_none(estimator):
    classes = first_classes(estimator, "partial_fit")
    for weight, message in {
        -1.0: r"sample_weight\[3\] is -1.0; weights must not be negative",
        np.nan: r"sample_weight contains NaN: sample_weight\[3\] is nan",
        np.inf: "sample_weight contains infinity",
    }.items():
        weights = np.ones(12)
        weights[3] = weight
        refuse(estimator, "partial_fit", X, Y, sample_weight=weights, match=message, **classes)
    refuse(
        estimator,
        "partial_fit",
        X,
        Y,
        sample_weight=np.ones(5),
        match=r"sample_weight.shape == \(5,\)",
        **classes,
    )


BAD_PARAMETERS = [
    ("n_jobs", 0, "use None or 1 for one thread"),
    ("n_jobs", 1.5, "use None or 1 for one thread"),
    ("bias_scale", -1.0, "a finite number above 0"),
    ("random_state", -3, "cannot seed a model"),
]
BAD_BAYESIAN = [
    *BAD_PARAMETERS,
    ("cost", 0.0, "a finite number above 0"),
    ("cost", "high", "a finite number above 0"),
    ("cost", np.nan, "a finite number above 0"),
    ("weight_scale", np.inf, "a finite number above 0"),
    ("margin", -0.5, "a finite number (above|from) 0"),
    ("rule", "bayes", "use one of 'averaging', 'gibbs'"),
    ("covariance", "spherical", "use one of 'full', 'diagonal', 'isotropic'"),
    ("method", "exact", "use one of 'moments', 'augmented'"),
    ("batch_size", 0, "a whole number from 1"),
    ("batch_size", 2.5, "a whole number from 1"),
    ("n_passes", 0, "a whole number from 1"),
    ("discount", 0.0, "a finite number above 0"),
    ("discount", 1.5, "at most 1, which forgets nothing"),
]
BAD_PASSIVE_AGGRESSIVE = [
    *BAD_PARAMETERS,
    ("C", 0.0, "a number above 0"),
    ("C", np.nan, "a number above 0"),
    ("loss", "log", "use one of '.*', 'squared_.*'"),
    ("max_iter", 0, "a whole number from 1"),
    ("n_iter_no_change", 0, "a whole number from 1"),
    ("tol", -1.0, "a finite number from 0"),
    ("validation_fraction", 1.0, "it must be below 1"),
    ("validation_fraction", 0.0, "a finite number above 0"),
]


@pytest.mark.parametrize(
    ("estimator", "name", "value", "message"),
    [
        *((cls, *bad) for cls in (BayesPAClassifier, BayesPARegressor) for bad in BAD_BAYESIAN),
        *(
            (cls, *bad)
            for cls in (PassiveAggressiveClassifier, PassiveAggressiveRegressor)
            for bad in BAD_PASSIVE_AGGRESSIVE
        ),
        (PassiveAggressiveClassifier, "margin", 0.0, "a finite number above 0"),
        (PassiveAggressiveRegressor, "epsilon", -0.1, "a finite number from 0"),
    ],
)
def test_bad_parameters(estimator, name, value, message):
    model = estimator().fit(X, Y).set_params(**{name: value})
    before = state(model)
    methods = ["fit"] if name == "random_state" else ["fit", "partial_fit"]
    for method in methods:
        with pytest.raises(ValueError, match=rf"{name} (is|=) {value!r}.*{message}"):
            getattr(model, method)(X, Y)
        assert_equal(state(model), before)


@pytest.mark.parametrize("weight", ["even", {0: -1.0}, {0: np.nan}, {"zero": 2.0}])
def test_bad_class_weights(weight):
    for estimator in (
        BayesPAClassifier(class_weight=weight),
        PassiveAggressiveClassifier(class_weight=weight),
    ):
        before = state(estimator)
        with pytest.raises(ValueError, match="class_weight"):
            estimator.fit(X, Y)
        assert_equal(state(estimator), before)


def test_a_posterior_cannot_change_its_form_on_the_way():
    model = BayesPAClassifier(covariance="diagonal").fit(X, Y).set_params(covariance="full")
    before = state(model)
    with pytest.raises(
        ValueError, match=r"were \('gibbs', 'diagonal'\) when learning began and are \('gibbs', 'full'\)"
    ):
        model.partial_fit(X, Y)
    assert_equal(state(model), before)
    assert model.fit(X, Y).posterior_.structure == "full"


def test_replaying_and_forgetting_exclude_each_other():
    model = BayesPAClassifier().fit(X, Y).set_params(n_passes=2, discount=0.9)
    before = state(model)
    with pytest.raises(
        ValueError, match=r"discount is 0.9 and n_passes 2; discount is for one pass; use one"
    ):
        model.fit(X, Y)
    assert_equal(state(model), before)


@pytest.mark.parametrize("warm_start", [False, True])
def test_a_start_of_the_wrong_size(warm_start):
    model = PassiveAggressiveClassifier(warm_start=warm_start, early_stopping=True).fit(X, Y)
    before = state(model)
    with pytest.raises(ValueError, match=r"coef_init has shape \(5,\); it must hold 12 numbers"):
        model.fit(X, Y, coef_init=np.ones(5))
    with pytest.raises(ValueError, match=r"intercept_init has shape \(2,\); it must hold 3 numbers"):
        model.fit(X, Y, coef_init=np.ones((3, 4)), intercept_init=np.ones(2))
    model.validation_fraction = 0.999
    with pytest.raises(ValueError, match="of 12 samples leaves none to learn from"):
        model.fit(X, Y, coef_init=np.ones((3, 4)))
    model.validation_fraction = 0.1
    assert_equal(state(model), before)


def test_the_position_in_a_sparse_matrix_is_that_of_the_dense_one():
    rng = np.random.default_rng(1)
    for _ in range(50):
        dense = np.where(rng.random((9, 5)) < 0.3, rng.standard_normal((9, 5)), 0.0)
        i, j = rng.integers(9), rng.integers(5)
        dense[i, j] = np.nan
        with pytest.raises(ValueError, match=rf"X\[{i}, {j}\] is nan"):
            BayesPAClassifier().fit(sparse.csr_matrix(dense), np.arange(9) % 2)
    assert Rows.of(sparse.csr_matrix((2, 3))).length() == 0.0
