"""The methods that the paper compares, by their names in the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bayespa import GibbsMedLDAClassifier, MedHDPClassifier, MedLDAClassifier, OnlineHDP, OnlineLDA

Preset = Literal["ours", "paper"]

# Section 5.1 of the paper, for a method whose class has no `paper`.
PAPER_GIBBS: dict[str, Any] = {
    "cost": 1.0,
    "margin": 164.0,
    "weight_scale": 1.0,
    "bias_scale": 0.0,
    "eta": 0.5,
    "multi_class": "ovr",
}


def _passes(n: int) -> dict[str, int]:
    return {"n_passes": n}


def _sweeps(n: int) -> dict[str, int]:
    return {"n_sweeps": n, "burn_in": n // 2}


def made(kind: Any, **settings: Any) -> Any:
    """Make an estimator; settings that are not its parameters go to `expert`.

    >>> made(MedLDAClassifier, n_topics=8, n_sweeps=3).expert
    {'n_sweeps': 3}
    """
    own = set(kind._get_param_names())
    expert = {name: settings.pop(name) for name in sorted(set(settings) - own)}
    if expert:
        settings["expert"] = {**(settings.get("expert") or {}), **expert}
    return kind(**settings)


@dataclass(frozen=True)
class Method:
    """An estimator, and the settings that make it a method of the paper."""

    kind: type[Any]
    settings: Mapping[str, Any] = field(default_factory=dict)  # fixed
    paper: Mapping[str, Any] = field(default_factory=dict)  # those of the paper's section 5.1
    nonparametric: bool = False  # finds the number of topics by itself
    read_out: bool = False  # finds topics without labels, and a linear SVM decides by them
    online: bool = True
    passes: Callable[[int], dict[str, int]] = _passes  # settings for a number of passes
    patience: int = 1  # its passes for one of the others: those of a chain are short


ALONE = {"decides": "topics"}  # as in the paper
METHODS = {
    "paMedLDA": Method(MedLDAClassifier, ALONE),
    "bMedLDA": Method(MedLDAClassifier, {"batch_size": None, **ALONE}, online=False),
    "gMedLDA": Method(GibbsMedLDAClassifier, paper=PAPER_GIBBS, online=False, passes=_sweeps, patience=2),
    "spLDA": Method(OnlineLDA, paper={"eta": 0.5}, read_out=True),
    "paMedHDP": Method(MedHDPClassifier, ALONE, nonparametric=True),
    "bMedHDP": Method(MedHDPClassifier, {"batch_size": None, **ALONE}, nonparametric=True, online=False),
    "tfHDP": Method(
        OnlineHDP, paper={"eta": 0.45, "alpha": 5.0, "gamma": 1.0}, nonparametric=True, read_out=True
    ),
}


def settings_of(method: str, preset: Preset, **chosen: Any) -> dict[str, Any]:
    """Return the settings of a method: those chosen for a cell, and the paper's if `preset` is "paper".

    >>> settings_of("bMedLDA", "ours", n_topics=40)
    {'n_topics': 40, 'batch_size': None, 'decides': 'topics'}
    >>> settings_of("paMedLDA", "paper", n_topics=40)["alpha"]
    0.025
    """
    known = METHODS[method]
    if known.nonparametric:
        chosen.pop("n_topics", None)
    settings = dict(known.paper) if preset == "paper" else {}
    if preset == "paper" and hasattr(known.kind, "paper"):
        n_topics = {"n_topics": chosen["n_topics"]} if "n_topics" in chosen else {}
        paper, plain = (make(**n_topics).get_params() for make in (known.kind.paper, known.kind))
        settings = {name: value for name, value in paper.items() if value != plain[name]}
        settings.update(settings.pop("expert"))
    elif preset == "paper" and "n_topics" in chosen:
        settings["alpha"] = 1.0 / chosen["n_topics"]
    return {**settings, **chosen, **known.settings}
