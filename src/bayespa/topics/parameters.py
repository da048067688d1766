"""The parameters of topic models: what each may be, written once, and what only experts turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayespa.checks import require_choice, require_number
from bayespa.topics.documents import UNIT

_MANY, _SWEEPS = 2**31 - 1, 1_000_000  # more sweeps would not end in anybody's life
_LARGE = 1e9  # the sampler has 32 bits
# The least value, and whether it must be above it or a whole number; and the largest.
_NUMBERS: dict[str, dict[str, Any]] = {
    "n_topics": {"low": 1, "high": _MANY, "whole": True},
    "max_topics": {"low": 1, "high": _MANY, "whole": True},
    "alpha": {"low": 0.0, "high": _LARGE, "open_": True},
    "gamma": {"low": 0.0, "high": _LARGE, "open_": True},
    "start_gamma": {"low": 0.0, "high": _LARGE, "open_": True},
    "eta": {"low": UNIT, "high": _LARGE},
    "cost": {"low": 0.0, "open_": True},
    "margin": {"low": 0.0},
    "weight_scale": {"low": 0.0, "open_": True},
    "bias_scale": {"low": 0.0},
    "word_scale": {"low": 0.0, "open_": True},
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
_MAY_BE_NONE = {"n_passes", "max_topics", "batch_size", "first_documents", "total_documents"}


def resolved(
    given: Mapping[str, Any], expert: Mapping[str, Any] | None, defaults: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """Return the value of every parameter, checked.

    Parameters
    ----------
    given : mapping
        Parameters; those that are None stand for their default, if there is one.
    expert : mapping or None
        What only experts turn.
    defaults : mapping
        Of parameters that may be None, and of all that experts may turn.
    name : str
        Of the estimator, for errors.

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
        if key in _NUMBERS and not (value is None and key in _MAY_BE_NONE):
            require_number(key, value, **_NUMBERS[key])
    if "burn_in" in values:
        require_number("burn_in", values["burn_in"], 0, values["n_sweeps"] - 1, whole=True)
    if values.get("discount", 1.0) < 1.0 and (values["n_passes"] or 1) > 1:
        raise ValueError(
            f"discount is {values['discount']!r} and n_passes {values['n_passes']!r}: one forgets a stream, "
            "the other replays a corpus; use one of both"
        )
    return values
