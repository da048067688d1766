"""scikit-learn's own checks of every estimator, in all its ways to learn; none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespa import (
    BayesPAClassifier,
    BayesPARegressor,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
)

BAYESIAN = [
    {},
    {"covariance": "full"},
    {"covariance": "isotropic", "bias_scale": 1.0},
    {"method": "augmented", "n_passes": 3},
    {"rule": "averaging"},
    {"discount": 0.9, "batch_size": 16, "n_jobs": 2},
]
PASSIVE_AGGRESSIVE = [{}, {"average": True, "early_stopping": True}, {"C": 0.1, "n_jobs": 2}]


@parametrize_with_checks(
    [
        *(BayesPAClassifier(**parameters) for parameters in BAYESIAN),
        BayesPAClassifier(class_weight="balanced"),
        *(BayesPARegressor(**parameters) for parameters in BAYESIAN),
        BayesPARegressor(rule="averaging", batch_size=1, fit_intercept=False),
        *(PassiveAggressiveClassifier(**parameters) for parameters in PASSIVE_AGGRESSIVE),
        PassiveAggressiveClassifier(class_weight="balanced", loss="squared_hinge"),
        *(PassiveAggressiveRegressor(**parameters) for parameters in PASSIVE_AGGRESSIVE),
        PassiveAggressiveRegressor(loss="squared_epsilon_insensitive", C=0.1, fit_intercept=False),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
