"""What the linear estimators share: checking parameters and input, classes and their tasks, predictions."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from bayespa.checks import number_of_threads, require_finite, require_number, require_sound
from bayespa.classes import some, tasks_of
from bayespa.native.linear import Examples, Floats, Integers, Rows, Wanted

if TYPE_CHECKING:
    from typing_extensions import Self


def _no_number(name: str, values: Any) -> str | None:
    """Say which entry of an array-like is no number; None if all are."""
    if sparse.issparse(values) or getattr(values, "dtype", np.dtype(object)).kind not in "OSU":
        return None
    for index, value in np.ndenumerate(np.asarray(values, dtype=object)):
        try:
            float(value)
        except (TypeError, ValueError):
            return (
                f"{name}{list(index)} is {value!r}, not a number; encode text and categories, for instance "
                "with sklearn's TfidfVectorizer or OneHotEncoder"
            )
    return None


class LinearEstimator(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]  # scikit-learn is untyped
    """Checks, state and predictions of weights that are kept feature-major, the bias in the last row.

    A subclass keeps what it has learned in attributes that `_start` makes, and learns in `_learn`.
    """

    _bias: float  # the value of the constant feature whose weight makes the intercept

    @abstractmethod
    def _start(self, n_tasks: int, n_columns: int) -> None:
        """Set the state to that before the first example, in arrays of its own."""

    @abstractmethod
    def _learn(self, batch: Examples) -> object:
        """Learn the examples once, in their order."""

    @abstractmethod
    def _weights_now(self) -> Floats:
        """Return the weights to predict with, (n_columns + 1, tasks)."""

    @abstractmethod
    def _check(self, X: Any, y: Any, *, fresh: bool, sample_weight: Any = None) -> Examples:
        """Return the examples, checked; what it sets is undone by `_unchanged_on_error`."""

    def _check_parameters(self, *, fresh: bool) -> None:
        """Raise a ValueError for parameters that are wrong, or, if not `fresh`, wrong to go on with."""
        number_of_threads(self.n_jobs)
        require_number("bias_scale", self.bias_scale, 0.0, open_=True)

    @abstractmethod
    def _known_tasks(self) -> int:
        """Return the number of tasks learned."""

    def _require_whole(self) -> None:
        """Raise a ValueError unless parameters and weights, which came from a file, belong together."""
        self._check_parameters(fresh=False)
        require_number("n_features_in_", self.n_features_in_, 1, whole=True)
        require_number("_bias", self._bias, 0.0)
        found, wanted = self._weights_now().shape, (self.n_features_in_ + 1, self._known_tasks())
        if found != wanted:
            raise ValueError(f"the weights have shape {found}, not {wanted}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_bias")

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Leave the model as it was if its parameters or its input are refused.

        Attributes are put back, so what runs in here may set them but not write into their arrays.
        """
        before = dict(vars(self))
        try:
            yield
        except Exception:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _ready(self, X: Any, y: Any, *, fresh: bool, **options: Any) -> Examples:
        """Return the checked examples, with the state ready to learn them: a new one if `fresh`."""
        with self._unchanged_on_error():
            self._check_parameters(fresh=fresh)
            batch = self._check(X, y, fresh=fresh, **options)
            if fresh:
                self._start(batch.targets.n_tasks, batch.rows.n_columns)
        return batch

    def _validate(self, X: Any, *y: Any, reset: bool) -> Any:
        require_sound("X", X)
        options = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": False, "reset": reset}
        try:
            return validate_data(self, X, *y, **options)
        except (TypeError, ValueError) as error:
            place = _no_number("X", X)
            if place is None:
                raise
            raise type(error)(f"{error}: {place}") from error

    def _labelled(self, X: Any, y: Any, *, fresh: bool) -> tuple[Rows, NDArray[Any]]:
        """Return rows to learn and their y (n,); a first call fixes the value of the constant feature."""
        given = np.asarray(y)
        if given.dtype.kind == "f":
            require_finite("y", given)
        X, y = self._validate(X, y, reset=fresh)
        require_finite("X", X)
        rows = Rows.of(X)
        if fresh:
            self._bias = float(self.bias_scale) * (rows.length() or 1.0) if self.fit_intercept else 0.0
        return replace(rows, bias=self._bias), column_or_1d(y, warn=True)

    def _example_weights(self, sample_weight: Any, rows: Rows) -> Floats:
        if sample_weight is None:
            return np.ones(rows.n)
        weights = np.array(sample_weight, np.float64)
        if weights.shape != (rows.n,):
            raise ValueError(
                f"sample_weight.shape == {weights.shape}, expected {(rows.n,)}: one for each row"
            )
        require_finite("sample_weight", weights)
        if (weights < 0).any():
            i = int(np.argmax(weights < 0))
            raise ValueError(f"sample_weight[{i}] is {weights[i]}; weights must not be negative")
        return weights

    def _examples(self, X: Any) -> Rows:
        """Return rows to predict."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        require_finite("X", X)
        return replace(Rows.of(X), bias=self._bias)

    def _decide(self, rows: Rows) -> Floats:
        """Return wᵀx of every row and task, (n, tasks)."""
        return rows.decide(self._weights_now(), number_of_threads(self.n_jobs))

    @property
    def coef_(self) -> Floats:
        """Weights of the features, shape (1 or n_classes, n_features); of a regressor, (n_features,)."""
        return self._weights_now()[:-1].T.copy()

    @property
    def intercept_(self) -> Floats:
        """Intercepts, shape (1 or n_classes,)."""
        intercept: Floats = self._weights_now()[-1] * self._bias
        return intercept


class LinearClassifier(ClassifierMixin, LinearEstimator):  # type: ignore[misc]
    """One task for each class (one against the rest), or a single task for two classes."""

    classes_: NDArray[Any]

    @abstractmethod
    def _continue_tasks(self, source: Integers, sign: Floats) -> None:
        """Make task t continue task source[t], with its sign; -1: a new task."""

    def _check_parameters(self, *, fresh: bool) -> None:
        super()._check_parameters(fresh=fresh)
        require_number("margin", self.margin, 0.0, open_=True)

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go on learning from (X, y), each example once and in the order given.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
        y : array of shape (n,)
        classes : array of shape (n_classes,), optional
            All classes that y may hold in this and later calls: needed in the first call, and whenever a new
            class joins.
        sample_weight : array of shape (n,), optional
            Multiplies the cost of an example; one of weight 0 teaches nothing.

        Returns
        -------
        self
        """
        fresh = not self.__sklearn_is_fitted__()
        if fresh and classes is None:
            raise ValueError(
                "classes is None in the first call of partial_fit; pass all classes, e.g. np.unique(y)"
            )
        self._learn(self._ready(X, y, fresh=fresh, classes=classes, sample_weight=sample_weight))
        return self

    def _check(
        self, X: Any, y: Any, *, fresh: bool, sample_weight: Any = None, classes: ArrayLike | None = None
    ) -> Examples:
        rows, y = self._labelled(X, y, fresh=fresh)
        check_classification_targets(y)
        known = self._known_classes(y, None if fresh else self.classes_, classes)
        labels = np.searchsorted(known, y).astype(np.int32)
        n_tasks = _n_tasks(known)
        if n_tasks == 1:
            labels -= 1  # task 0 stands for the second class
        cost = self._example_weights(sample_weight, rows) * self._class_cost(known, y)
        if not fresh and len(known) > len(self.classes_):
            self._continue_tasks(*tasks_of(known, self.classes_))
        self.classes_ = known
        return Examples(rows, Wanted(labels, None, cost, n_tasks, self.margin))

    def _known_tasks(self) -> int:
        return _n_tasks(self.classes_)

    @staticmethod
    def _known_classes(
        y: NDArray[Any], before: NDArray[Any] | None, classes: ArrayLike | None
    ) -> NDArray[Any]:
        """Return all classes, sorted: those named, else those known before, else those of y."""
        if classes is not None:
            known = np.unique(np.asarray(classes))
            lost = [] if before is None else np.setdiff1d(before, known).tolist()
            if lost:
                raise ValueError(
                    f"classes leaves out {lost[0]!r}, which the model has learned; pass all classes, old "
                    "and new"
                )
        else:
            known = np.unique(y) if before is None else before
        unknown = ~np.isin(y, known)
        if unknown.any():
            i = int(np.argmax(unknown))
            raise ValueError(
                f"y[{i}] is {y[i]!r}, a class the model does not know ({len(known)} classes: {some(known)});"
                " name all classes, this one too, in partial_fit(..., classes=...)"
            )
        if len(known) < 2:
            raise ValueError(
                f"y has only one class, {known[0]!r}; a classifier needs two: pass more data, or "
                "partial_fit(..., classes=...) with all classes to come"
            )
        return known

    def _class_cost(self, classes: NDArray[Any], y: NDArray[Any]) -> Floats:
        """Return the weight of each example's class, shape (n,)."""
        class_weight: Mapping[Any, float] | str | None = self.class_weight
        if isinstance(class_weight, str):
            classes = classes[np.isin(classes, y)]  # "balanced" means within the batch
        weight = np.asarray(compute_class_weight(class_weight, classes=classes, y=y), np.float64)
        for c, w in zip(classes.tolist(), weight.tolist(), strict=True):
            require_number(f"class_weight[{c!r}]", w, 0.0)
        of_examples: Floats = weight[np.searchsorted(classes, y)]
        return of_examples

    def decision_function(self, X: Any) -> Floats:
        """Return the margins, (n, n_classes); for two classes (n,), positive for the second."""
        return squeezed(self._decide(self._examples(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row of X, shape (n,)."""
        scores = self.decision_function(X)
        winners = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[winners]
        return predicted


class LinearRegressor(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """A single task, whose values are the targets."""

    _margin_name = "margin"  # the parameter that holds ε

    def _known_tasks(self) -> int:
        return 1

    def _check_parameters(self, *, fresh: bool) -> None:
        super()._check_parameters(fresh=fresh)
        require_number(self._margin_name, getattr(self, self._margin_name), 0.0)

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Go on learning from (X, y), each example once and in the order given.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Multiplies the cost of an example; one of weight 0 teaches nothing.

        Returns
        -------
        self
        """
        fresh = not self.__sklearn_is_fitted__()
        self._learn(self._ready(X, y, fresh=fresh, sample_weight=sample_weight))
        return self

    def _check(self, X: Any, y: Any, *, fresh: bool, sample_weight: Any = None) -> Examples:
        rows, y = self._labelled(X, y, fresh=fresh)
        try:
            values = np.array(y, np.float64)[:, None]
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error}: {_no_number('y', y)}") from error
        weights = self._example_weights(sample_weight, rows)
        return Examples(rows, Wanted(None, values, weights, 1, getattr(self, self._margin_name)))

    @property
    def coef_(self) -> Floats:
        """Weights of the features, shape (n_features,)."""
        coef: Floats = super().coef_[0]
        return coef


def _n_tasks(classes: NDArray[Any]) -> int:
    """Return the number of tasks: two classes share one, which stands for the second."""
    return 1 if len(classes) == 2 else len(classes)


def squeezed(f: Floats) -> Floats:
    """Return (n,) for a single task, else (n, tasks)."""
    return f[:, 0] if f.shape[1] == 1 else f
