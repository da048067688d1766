"""Allowed values of the parameters of topic models, and defaults of `expert`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayespa.checks import require_choice, require_number
from bayespa.topics.documents import UNIT

_MANY, _SWEEPS = 2**31 - 1, 1_000_000  # more sweeps would never end
_LARGE, _SMALL = 1e9, 1e-9  # the sampler works with 32 bits
# Bounds; `open_`: the lowest value is excluded; `whole`: only whole numbers.
_NUMBERS: dict[str, dict[str, Any]] = {
    "n_topics": {"low": 1, "high": _MANY, "whole": True},
    "max_topics": {"low": 1, "high": _MANY, "whole": True},
    "alpha": {"low": 0.0, "high": _LARGE, "open_": True},
    "gamma": {"low": 0.0, "high": _LARGE, "open_": True},
    "start_gamma": {"low": 0.0, "high": _LARGE, "open_": True},
    "eta": {"low": UNIT, "high": _LARGE},
    "cost": {"low": _SMALL, "high": _LARGE},
    "margin": {"low": 0.0, "high": _LARGE},
    "weight_scale": {"low": _SMALL, "high": _LARGE},
    "bias_scale": {"low": 0.0, "high": _LARGE},
    "word_scale": {"low": _SMALL, "high": _LARGE},
    "learn_alpha": {"low": 0, "high": 1, "whole": True},
    "label_free": {"low": 0.0, "high": 1.0},
    "discount": {"low": 0.0, "high": 1.0, "open_": True},
    "lag": {"low": 1, "high": 1024, "whole": True},
    "n_iterations": {"low": 1, "high": _SWEEPS, "whole": True},
    "n_sweeps": {"low": 1, "high": _SWEEPS, "whole": True},
    "batch_size": {"low": 1, "high": _MANY, "whole": True},
    "first_documents": {"low": 1, "high": _MANY, "whole": True},
    "first_sweeps": {"low": 0, "high": _SWEEPS, "whole": True},
    "min_tokens": {"low": 0.0},
    "n_passes": {"low": 1, "high": _MANY, "whole": True},
    "prediction_sweeps": {"low": 2, "high": _SWEEPS, "whole": True},
    "tau": {"low": 0.0, "open_": True},
    "kappa": {"low": 0.0},
    "total_documents": {"low": 1, "high": 2**53, "whole": True},
}
_CHOICES = {
    "decides": ("topics", "topics+words", "words"),
    "multi_class": ("shared", "ovr"),
    "sampler": ("collapsed", "augmented"),
    "rule": ("gibbs", "averaging"),
    "topic_estimate": ("mean", "geometric"),
}
_WORDS = {"discount": ("auto",)}  # that stand for a rule in place of a number
_MAY_BE_NONE = {"n_passes", "max_topics", "batch_size", "first_documents", "total_documents"}


def resolved(
    given: Mapping[str, Any], expert: Mapping[str, Any] | None, defaults: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """Return the value of every parameter, checked.

    Parameters
    ----------
    given : mapping
        Parameters; None stands for the default, if there is one.
    expert : mapping or None
        The dict `expert`.
    defaults : mapping
        Defaults of parameters that may be None, and of all parameters of `expert`.
    name : str
        Name of the estimator, for errors.

    Examples
    --------
    >>> resolved({"cost": None, "alpha": 0.5}, {"n_sweeps": 9}, {"cost": 12.0, "n_sweeps": 4}, "it")
    {'cost': 12.0, 'n_sweeps': 9, 'alpha': 0.5}
    """
    turned = {} if expert is None else expert
    if not isinstance(turned, Mapping):
        raise ValueError(f"expert is {expert!r}; use a dict of names and values")
    for key in turned:
        if key not in defaults or key in given:
            known = ", ".join(sorted(set(defaults) - set(given)))
            raise ValueError(f"expert has {key!r}, which {name} does not know; it knows {known}")
    own = {key: value for key, value in given.items() if value is not None or key not in defaults}
    values = {**defaults, **own, **turned}
    for key, value in values.items():
        if key in _CHOICES:
            require_choice(key, value, _CHOICES[key])
        if key in _WORDS and isinstance(value, str):
            require_choice(key, value, _WORDS[key])
        elif key in _NUMBERS and not (value is None and key in _MAY_BE_NONE):
            require_number(key, value, **_NUMBERS[key])
    if "burn_in" in values:
        require_number("burn_in", values["burn_in"], 0, values["n_sweeps"] - 1, whole=True)
    if values.get("discount") not in (None, "auto", 1.0) and (values["n_passes"] or 1) > 1:
        raise ValueError(
            f"discount is {values['discount']!r} and n_passes {values['n_passes']!r}; discount is for one "
            "pass over a stream, n_passes for a fixed corpus: use only one of them"
        )
    return values
