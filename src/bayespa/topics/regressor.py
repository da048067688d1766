"""What every supervised topic model does with targets, with the ε-insensitive loss. [MED-8]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from bayespa.topics.estimator import TopicEstimator, one_row
from bayespa.topics.explain import Explanation
from bayespa.topics.labels import Labels, label_array, real_tasks
from bayespa.topics.merge import require_mergeable
from bayespa.topics.transformer import Targets

if TYPE_CHECKING:
    from typing_extensions import Self


class TopicRegressor(RegressorMixin, TopicEstimator):  # type: ignore[misc]
    """Targets are tasks; subclasses say what the topics are."""

    _regression = True
    word_scale = 0.0  # words would learn what topics learn from the same documents, and both would be added
    _flat: bool  # whether there is one target, without an axis for it

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.regressor_tags.poor_score = True  # on data that are no counts, like every model of word counts
        return tags

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

    def _targets(self, n: int, y: Any, classes: Any, *, fit: bool) -> Targets:
        y, known = label_array(n, y)
        labels = real_tasks(y, known)
        first = fit or not hasattr(self, "_n_tasks")
        if not first and not known.any():
            labels = np.full((n, self._n_tasks), np.nan, np.float32)
        if not first and labels.shape[1] != self._n_tasks:
            raise ValueError(
                f"y has {labels.shape[1]} targets a document, but the model has learned {self._n_tasks}"
            )
        if fit and not known.any():
            raise ValueError(
                "y has no known target at all; partial_fit can learn from words alone, fit cannot"
            )
        flat = y.ndim == 1 if first or known.any() else self._flat
        return self._continued(labels, flat)

    def _continued(self, labels: Labels, flat: bool) -> Targets:
        n_tasks = labels.shape[1]
        return Targets(labels, {"_flat": flat}, None, np.arange(n_tasks), np.ones(n_tasks))

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
        mean, variance = self._margins(X, prediction, random_state)
        if self._flat:
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
        feature_names : array of shape (n_words,), optional
            The words.

        Returns
        -------
        Explanation
            What topics contribute and what words add beside them sum to the prediction; so do its words.
        """
        check_is_fitted(self)
        if not 0 <= target < self._n_tasks:
            raise ValueError(f"target is {target!r}; the model has {self._n_tasks} targets, from 0")
        return self._explain(one_row(X), target, f"target {target}", feature_names)

    def merge(self, other: Self, ancestor: Self | None = None) -> Self:
        """Add what another model learned from other documents.

        Parameters
        ----------
        other : Self
            With the same parameters and targets. It may know more words in columns behind the common ones.
        ancestor : Self, optional
            The model that both went on learning from, counted once. Without one both started from the prior;
            since topics then come in any order, each of theirs joins the one of mine that is most like it.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        require_mergeable(self, other)
        if other._n_tasks != self._n_tasks:
            raise ValueError(f"this model has {self._n_tasks} targets and the other {other._n_tasks}")
        targets = self._continued(np.empty((0, self._n_tasks), np.float32), self._flat)
        return self._merge(other, ancestor, lambda model: targets)
