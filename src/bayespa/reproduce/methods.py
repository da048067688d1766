"""The methods that the paper compares, by its names for them; to add one is to add a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bayespa import GibbsMedLDAClassifier, MedHDPClassifier, MedLDAClassifier, OnlineHDP, OnlineLDA

Preset = Literal["ours", "paper"]

# The paper's section 5.1, and the choices that its algorithm 1 leaves no doubt about.
PAPER: dict[str, Any] = {
    "cost": 1.0,
    "margin": 164.0,
    "weight_scale": 1.0,
    "bias_scale": 0.0,
    "eta": 0.5,
    "multi_class": "ovr",
}
PAPER_LDA = {
    **PAPER,
    "sampler": "augmented",
    "label_free": 0.0,
    "topic_estimate": "geometric",
    "n_iterations": 1,
    "n_sweeps": 2,
    "burn_in": 0,
}
PAPER_HDP = {**PAPER_LDA, "eta": 0.45, "concentration": 5.0, "stick_concentration": 1.0}


def _passes(n: int) -> dict[str, int]:
    return {"n_passes": n}


def _sweeps(n: int) -> dict[str, int]:
    return {"n_sweeps": n, "burn_in": n // 2}


@dataclass(frozen=True)
class Method:
    """How a method is made of its settings."""

    make: Callable[..., Any]
    settings: Mapping[str, Any] = field(default_factory=dict)  # that make the method what it is
    paper: Mapping[str, Any] = field(default_factory=dict)  # the paper's
    nonparametric: bool = False  # finds the number of topics by itself
    read_out: bool = False  # finds topics without labels, and a linear SVM decides by them
    online: bool = True
    passes: Callable[[int], dict[str, int]] = _passes  # the settings that say how many passes there may be
    patience: int = 1  # its passes, in the place of one of the others: a chain makes many that are short


ALONE = {"word_scale": 0.0}  # topics decide, as in the paper
METHODS = {
    "paMedLDA": Method(MedLDAClassifier, ALONE, PAPER_LDA),
    "bMedLDA": Method(MedLDAClassifier, {"batch_size": None, **ALONE}, PAPER_LDA, online=False),
    "gMedLDA": Method(GibbsMedLDAClassifier, paper=PAPER, online=False, passes=_sweeps, patience=2),
    "spLDA": Method(OnlineLDA, paper={"eta": 0.5}, read_out=True),
    "paMedHDP": Method(MedHDPClassifier, ALONE, PAPER_HDP, nonparametric=True),
    "bMedHDP": Method(
        MedHDPClassifier, {"batch_size": None, **ALONE}, PAPER_HDP, nonparametric=True, online=False
    ),
    "tfHDP": Method(
        OnlineHDP,
        paper={"eta": 0.45, "concentration": 5.0, "stick_concentration": 1.0},
        nonparametric=True,
        read_out=True,
    ),
}


def settings_of(method: str, preset: Preset, **chosen: Any) -> dict[str, Any]:
    """Return the settings of a method, the paper's where `preset` says so, and those chosen for a cell.

    >>> settings_of("bMedLDA", "ours", n_topics=40)
    {'n_topics': 40, 'batch_size': None, 'word_scale': 0.0}
    >>> settings_of("paMedLDA", "paper", n_topics=40)["alpha"]
    0.025
    """
    known = METHODS[method]
    settings = {**(known.paper if preset == "paper" else {}), **chosen, **known.settings}
    if known.nonparametric:
        settings.pop("n_topics", None)
    elif preset == "paper":
        settings["alpha"] = 1.0 / settings["n_topics"]
    return settings
