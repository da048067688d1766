"""Online Bayesian max-margin learning: classifiers and topics from a stream, in one pass."""

from bayespa.linear import (
    BayesPAClassifier,
    BayesPARegressor,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
)
from bayespa.text.model import TextModel
from bayespa.text.saving import ModelFileError, load, save
from bayespa.topics import (
    GibbsMedLDAClassifier,
    MedHDPClassifier,
    MedHDPRegressor,
    MedLDAClassifier,
    MedLDARegressor,
    OnlineHDP,
    OnlineLDA,
)

__version__ = "0.1.0"

__all__ = [
    "BayesPAClassifier",
    "BayesPARegressor",
    "GibbsMedLDAClassifier",
    "MedHDPClassifier",
    "MedHDPRegressor",
    "MedLDAClassifier",
    "MedLDARegressor",
    "ModelFileError",
    "OnlineHDP",
    "OnlineLDA",
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
    "TextModel",
    "load",
    "save",
]
