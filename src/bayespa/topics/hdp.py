"""Base class of the models that find the number of topics, with and without labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.checks import require_number
from bayespa.topics.online import OnlineEstimator
from bayespa.topics.part import Floats
from bayespa.topics.transformer import TopicTransformer

EXPERT = {
    "n_sweeps": 4,
    "burn_in": 2,
    "first_documents": 2048,
    "first_sweeps": 100,
    "start_gamma": 100.0,
    "min_tokens": 20.0,
    "topic_estimate": "mean",
    "prediction_sweeps": 50,
}


@dataclass(eq=False, repr=False, kw_only=True)
class HdpTransformer(OnlineEstimator, TopicTransformer):
    """Parameters and attributes of a topic model that finds the number of its topics.

    Parameters
    ----------
    alpha : float or None
        Concentration of a document's topics: larger values give more topics per document. Proportions are
        Dirichlet(α π), where π are the shares of the topics in all documents. None: 20 if words decide, too,
        else 5.
    gamma : float
        Concentration of the shares of topics: larger values give more topics in all.
    eta : float or None
        Dirichlet prior of a topic's words, rounded to a multiple of 2^-20. Smaller values give more topics
        with fewer words each. None: 0.05, or 0.45 with one-vs-rest.
    max_topics : int or None
        Largest number of topics after a mini-batch; the smallest are removed. None: no limit.
    """

    alpha: float | None = None
    gamma: float = 1.0
    eta: float | None = None
    max_topics: int | None = None

    def _hdp(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the hyper-parameters for the birth and death of topics."""
        require_number("first_sweeps", values["first_sweeps"], 1, whole=True)
        return {
            "alpha": float(values["alpha"]),
            "gamma": float(values["gamma"]),
            "start_gamma": float(values["start_gamma"]),
            "first_sweeps": int(values["first_sweeps"]),
            "min_tokens": float(values["min_tokens"]),
            "max_topics": values["max_topics"],
        }

    def _first_call(self) -> int | None:
        """Return how many documents the first call should have, if that matters."""
        values = self._values()
        first: int | None = None if values.get("decides") == "words" else values["first_documents"]
        return first

    def _schedule(self, values: dict[str, Any]) -> dict[str, Any]:
        schedule, size = super()._schedule(values), values["batch_size"]
        first = None if size is None else max(values["first_documents"] or 0, size)
        return {**schedule, "first_batch": first}

    @property
    def n_topics_(self) -> int:
        """Number of topics, K; with one-vs-rest those of all tasks."""
        return len(self.topic_ids_)

    @property
    def topic_ids_(self) -> NDArray[np.int64]:
        """Numbers of the topics, (K,), which never change."""
        return np.concatenate([part.ids(posterior) for part, posterior in self._parts()])

    @property
    def topic_tokens_(self) -> Floats:
        """Words that each topic has learned, (K,), in the order of `topic_ids_`."""
        return self.topic_sizes_

    @property
    def stick_(self) -> Any:
        """Posterior of the sticks, in the order of the topics; with one-vs-rest a list, one per task."""
        sticks = [posterior["topics"].sticks(float(self.gamma)) for _, posterior in self._parts()]
        return sticks if getattr(self, "multi_class", "shared") == "ovr" else sticks[0]
