"""What every supervised topic model does with targets, with the ε-insensitive loss. [MED-8]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from bayespa.topics.explain import Explanation
from bayespa.topics.labels import Labels, Numbers, label_array
from bayespa.topics.supervised import MergingTransformer

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(eq=False, repr=False, kw_only=True)
class TopicRegressor(RegressorMixin, MergingTransformer):  # type: ignore[misc]
    """Targets are tasks; subclasses say what the topics are.

    Parameters
    ----------
    cost : float
        c, the weight of the loss. What counts is `cost` times `margin`, about how many words' worth of
        evidence the labels of a document are.
    margin : float
        ε, how far a prediction may be off at no loss; in the unit of y.
    weight_scale : float
        v, prior standard deviation of a weight in the unit of y.
    """

    cost: float = 16.0
    margin: float = 0.1
    weight_scale: float = 2.0

    _regression = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.regressor_tags.poor_score = True  # on data that are no counts, like every model of word counts
        return tags

    def _read(
        self, n: int, y: Any, classes: Any, before: Numbers | None, *, fit: bool
    ) -> tuple[Numbers, Labels]:
        return Numbers.of(*label_array(n, y), before, fit=fit)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn more documents, in their order, in mini-batches of `batch_size`; nothing is replaced.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
            Counts. More columns than before are new words.
        y : array of shape (n,) or (n, T), optional
            Targets; None or NaN where unknown. None: no target is known.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, None)

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        *,
        prediction: Literal["mean", "gibbs"] = "mean",
        random_state: Any = None,
    ) -> Any:
        """Return the expected targets of documents.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)
        return_std : bool
            Return their standard deviations too.
        prediction : {"mean", "gibbs"}
            Predict with the posterior mean of the weights, or with one draw from their posterior for the
            whole call.
        random_state : int, RandomState or Generator, optional
            Seed of that draw; by default the model's, and every call draws the same.

        Returns
        -------
        array of the shape of y, or two of them
        """
        snapshot = self._snapshot()
        mean, variance = snapshot._margins(X, prediction, random_state)
        if snapshot._learned.meaning.flat:
            mean, variance = mean[:, 0], variance[:, 0]
        return (mean, np.sqrt(variance)) if return_std else mean

    def explain(self, X: Any, target: int = 0, feature_names: ArrayLike | None = None) -> Explanation:
        """Say which topics and which words of a document carried a prediction.

        Parameters
        ----------
        X : array of shape (n_words,), or array or sparse matrix of shape (1, n_words)
            One document.
        target : int
            Column of y whose prediction to explain.
        feature_names : sequence of n_words, optional
            The words.

        Returns
        -------
        Explanation
            What topics contribute and what words add beside them sum to the prediction; so do its words.
        """
        check_is_fitted(self)
        n_tasks = self._learned.meaning.n_tasks
        if not 0 <= target < n_tasks:
            raise ValueError(f"target is {target!r}; the model has {n_tasks} targets, from 0")
        return self._explain(X, lambda learned, margin: (target, f"target {target}"), feature_names)

    # Files

    def _meaning_to_file(self, meaning: Numbers) -> dict[str, Any]:
        return {"_n_tasks": meaning.n_tasks, "_flat": meaning.flat}

    def _meaning_from_file(self, learned: dict[str, Any]) -> Numbers:
        n_tasks, flat = learned.pop("_n_tasks"), learned.pop("_flat")
        if type(n_tasks) is not int or n_tasks < 1 or type(flat) is not bool:
            raise ValueError(f"there are {n_tasks!r} targets, flat is {flat!r}")
        return Numbers(n_tasks, flat)
