"""What scikit-learn expects of topic models, beside `BaseEstimator`: its mixins and tags."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin

from bayespa.topics.part import Floats


class ScikitTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """A topic model is a transformer: from counts to topic proportions."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return sum(len(view.alpha) for _, view in self._fitted().knowledge.views)

    def transform(self, X: Any) -> Floats:
        """Return the expected topic proportions of documents, without using labels; rows sum to 1.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_words)

        Returns
        -------
        array of shape (n, K)
            One-vs-rest: (n, T K), the proportions of the topics of every task.
        """
        learned, corpus = self._corpus(X)
        return np.hstack(learned.knowledge.proportions(corpus))


class ScikitClassifier(ClassifierMixin, ScikitTransformer):  # type: ignore[misc]
    """A classifier of counts."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True  # on data other than counts
        return tags


class ScikitRegressor(RegressorMixin, ScikitTransformer):  # type: ignore[misc]
    """A regressor of counts."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.regressor_tags.poor_score = True  # on data other than counts
        return tags
