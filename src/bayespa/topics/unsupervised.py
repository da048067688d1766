"""Base class of topic models without labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayespa.learning import Callback
from bayespa.topics.regressor import Numbers
from bayespa.topics.transformer import TopicTransformer
from bayespa.topics.waiting import Targets

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(eq=False, repr=False, kw_only=True)
class UnsupervisedTransformer(TopicTransformer):
    """Documents without labels: no tasks."""

    def _defaults(self) -> dict[str, Any]:
        return {}

    def _read(
        self, n: int, y: Any, classes: Any, before: Numbers | None, *, fit: bool
    ) -> tuple[Numbers, Targets]:
        return Numbers(0), np.empty((n, 0))

    def _meaning_to_file(self, meaning: Numbers) -> dict[str, Any]:
        return {}

    def _meaning_from_file(self, learned: dict[str, Any]) -> Numbers:
        return Numbers(0)

    def fit(self, X: Any, y: Any = None, callback: Callback | None = None) -> Self:
        """Learn from scratch, in `n_passes` passes over the documents in random order.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
            Counts of words.
        y : ignored
        callback : callable, optional
            Called with a `bayespa.learning.Round` after every mini-batch; learning stops if it returns True.

        Returns
        -------
        self
        """
        return self._fit(X, None, callback)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn more documents, in their order, in mini-batches of `batch_size`.

        How documents are cut into calls does not change the model. A mini-batch is learned when it is whole.
        The documents after it wait, and count for predictions at once. In the beginning all documents wait:
        the first ones are learned together. See `settle`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
            Counts of words. More columns than before are new words.
        y : ignored

        Returns
        -------
        self
        """
        return self._partial_fit(X, None, None)._ready()
