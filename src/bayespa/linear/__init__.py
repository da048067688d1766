"""Linear models of the paper's section 2: online PA and online BayesPA."""

from bayespa.linear.bayespa import BayesPAClassifier, BayesPARegressor
from bayespa.linear.pa import PassiveAggressiveClassifier, PassiveAggressiveRegressor

__all__ = [
    "BayesPAClassifier",
    "BayesPARegressor",
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
]
