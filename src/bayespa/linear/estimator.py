"""What the linear estimators share: checking input, classes and their tasks, decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from bayespa.classes import some
from bayespa.linear.examples import Batch, Floats, Rows, Targets


def require_finite(name: str, X: Any) -> None:
    """Raise a ValueError that names the first entry of an array or CSR matrix that is NaN or infinite."""
    values = X.data if sparse.issparse(X) else X
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    where = np.argwhere(bad)[0].tolist()
    value = values[tuple(where)]
    if sparse.issparse(X):
        where = [int(np.searchsorted(X.indptr, where[0], side="right")) - 1, int(X.indices[where[0]])]
    kind = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(
        f"Input {name} contains {kind}: {name}{where} is {value!s}; drop the row or fill in a number, "
        "for instance with sklearn.impute.SimpleImputer"
    )


class LinearEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Weights are kept feature-major with the bias last; subclasses say how they are learned."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _examples(self, X: Any, *, bias: float) -> Rows:
        """Return rows to predict, whose constant feature has the value `bias`."""
        check_is_fitted(self)
        options = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": False, "reset": False}
        X = validate_data(self, X, **options)
        require_finite("X", X)
        return Rows.of(X, bias)

    def _labelled(self, X: Any, y: Any, *, reset: bool) -> tuple[Rows, NDArray[Any]]:
        """Return rows to learn and their y (n,); a first call (`reset`) fixes the value of the constant feature."""
        options = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": False, "reset": reset}
        X, y = validate_data(self, X, y, **options)
        require_finite("X", X)
        if reset:
            square = X.multiply(X).sum() if sparse.issparse(X) else (X * X).sum()
            length = float(np.sqrt(square / X.shape[0])) or 1.0
            self._bias = float(self.bias_scale) * length if self.fit_intercept else 0.0
        return Rows.of(X, self._bias), column_or_1d(y, warn=True)

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Undo what checking the input wrote to the estimator (``n_features_in_``) if the input is refused."""
        before = dict(vars(self))
        try:
            yield
        except Exception:
            vars(self).clear()
            vars(self).update(before)
            raise

    def _weights_for(self, sample_weight: Any, rows: Rows) -> Floats:
        weights: Floats = _check_sample_weight(
            sample_weight, sparse.csr_matrix((rows.n, 1)), dtype=np.float64, ensure_non_negative=True
        )
        return weights


class LinearClassifier(ClassifierMixin, LinearEstimator):  # type: ignore[misc]
    """One task for each class (one against the rest), or a single task for two classes."""

    classes_: NDArray[Any]

    def _check(
        self, X: Any, y: Any, *, classes: ArrayLike | None, reset: bool, margin: float, sample_weight: Any
    ) -> tuple[Batch, NDArray[Any]]:
        """Return checked examples and the classes as they will be; nothing of the model changes, unless `reset`."""
        rows, y = self._labelled(X, y, reset=reset)
        check_classification_targets(y)
        known = None if reset else self.classes_
        if classes is not None:
            named = np.unique(np.asarray(classes))
            lost = [] if known is None else np.setdiff1d(known, named)
            if len(lost):
                raise ValueError(
                    f"classes leaves out {lost[0]!r}, which the model has learned; pass all classes, old and new"
                )
            known = named
        if known is None:
            known = np.unique(y)
        unknown = ~np.isin(y, known)
        if unknown.any():
            i = int(np.argmax(unknown))
            raise ValueError(
                f"y[{i}] is {y[i]!r}, a class the model does not know ({len(known)} classes: {some(known)}); name all "
                "classes, this one too, in partial_fit(..., classes=...)"
            )
        if len(known) < 2:
            raise ValueError(
                f"y has only one class, {known[0]!r}; a classifier needs two: pass more data, or "
                "partial_fit(..., classes=...) with all classes to come"
            )
        labels = np.searchsorted(known, y).astype(np.int32)
        n_tasks = 1 if len(known) == 2 else len(known)
        if n_tasks == 1:
            labels -= 1  # task 0 stands for the second class
        cost = self._weights_for(sample_weight, rows) * self._class_cost(known, y)
        return Batch(rows, Targets(labels, None, cost, n_tasks, margin)), known

    def _class_cost(self, classes: NDArray[Any], y: NDArray[Any]) -> Floats:
        """Return the weight of each example's class, shape (n,)."""
        class_weight: Mapping[Any, float] | str | None = self.class_weight
        present = np.isin(classes, y)  # "balanced" means within the batch
        weight = compute_class_weight(class_weight, classes=classes[present], y=y)
        return weight[np.searchsorted(classes[present], y)]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row of X, shape (n,)."""
        scores = self.decision_function(X)
        winners = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winners]


class LinearRegressor(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """A single task, whose values are the targets."""

    def _check(self, X: Any, y: Any, *, reset: bool, margin: float, sample_weight: Any) -> Batch:
        rows, y = self._labelled(X, y, reset=reset)
        y = y.astype(np.float64)
        require_finite("y", y)
        return Batch(
            rows, Targets(None, y[:, None].copy(), self._weights_for(sample_weight, rows), 1, margin)
        )
