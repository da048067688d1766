"""Online Bayesian max-margin learning: classifiers and topics from a stream, in one pass."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = ("corpus", "datasets", "inspect", "learning", "linear", "posteriors", "text", "topics")


def __getattr__(name: str) -> Any:
    """Import a public name or a subpackage."""
    if name in _HOME:
        found = getattr(import_module(_HOME[name]), name)
        globals()[name] = found
        return found
    if name in _ROOMS:
        return import_module(f"bayespa.{name}")
    raise AttributeError(f"module 'bayespa' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
