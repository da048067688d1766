"""What topic models without labels share as estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayespa.checks import number_of_threads
from bayespa.learning import Callback
from bayespa.topics.transformer import Targets, TopicTransformer

if TYPE_CHECKING:
    from typing_extensions import Self


class UnsupervisedTransformer(TopicTransformer):
    """Documents without labels: no tasks."""

    def _without_tasks(self, key: int) -> dict[str, Any]:
        """Check the parameters that all have, and return those of a `TopicModel` of no tasks."""
        self._check_sampling()
        return {
            "n_tasks": 0,
            "eta": float(self.eta),
            "n_sweeps": int(self.n_sweeps),
            "burn_in": int(self.burn_in),
            "mean_topics": self.topic_estimate == "mean",
            "prediction_sweeps": int(self.prediction_sweeps),
            "key": key,
            "n_threads": number_of_threads(self.n_jobs),
            # What is about labels has no effect.
            "weight_scale": 1.0,
            "bias_scale": 0.0,
            "cost": 1.0,
            "margin": 1.0,
            "regression": False,
            "averaging": False,
            "sampler": "collapsed",
            "label_free": 0.0,
        }

    def _targets(self, n: int, y: Any, classes: Any, *, fit: bool) -> Targets:
        return Targets(np.empty((n, 0), np.float32), {}, None, np.empty(0, np.int64), np.empty(0))

    def fit(self, X: Any, y: Any = None, callback: Callback | None = None) -> Self:
        """Learn from scratch, in `n_passes` passes over the documents in random order.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
            Counts of words.
        y : ignored
        callback : callable, optional
            Called with a `bayespa.learning.Round` after every mini-batch; learning ends where it returns
            True.

        Returns
        -------
        self
        """
        return self._fit(X, None, callback)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn more documents, in their order, in mini-batches of `batch_size`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
            Counts of words. More columns than before are new words.
        y : ignored

        Returns
        -------
        self
        """
        return self._partial_fit(X, None, None)
