"""Online Bayesian max-margin learning: classifiers and topics from a stream, in one pass."""

from typing import TYPE_CHECKING

from bayespa.late import late

if TYPE_CHECKING:
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

# Names are imported on first use, so that importing the package is fast.
_HOMES = {
    "bayespa.linear": (
        "BayesPAClassifier",
        "BayesPARegressor",
        "PassiveAggressiveClassifier",
        "PassiveAggressiveRegressor",
    ),
    "bayespa.text.model": ("TextModel",),
    "bayespa.text.saving": ("ModelFileError", "load", "save"),
    "bayespa.topics": (
        "GibbsMedLDAClassifier",
        "MedHDPClassifier",
        "MedHDPRegressor",
        "MedLDAClassifier",
        "MedLDARegressor",
        "OnlineHDP",
        "OnlineLDA",
    ),
}
_ROOMS = ("corpus", "datasets", "inspect", "learning", "linear", "posteriors", "text", "topics")
__getattr__, __dir__ = late(__name__, _HOMES, _ROOMS)
