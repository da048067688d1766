"""Base classes of the linear estimators: checks of parameters and input, classes and tasks, predictions."""

from __future__ import annotations

from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y, column_or_1d, validate_data

from bayespa.checks import number_of_threads, require_finite, require_number, require_sound
from bayespa.classes import require_classes, some, tasks_of
from bayespa.estimators import Features, ValueEstimator
from bayespa.native.linear import Examples, Floats, Integers, Rows, Wanted

if TYPE_CHECKING:
    from typing_extensions import Self


def _no_number(name: str, values: Any) -> str | None:
    """Return which entry of an array-like is not a number; None if all are."""
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


@dataclass(frozen=True, eq=False)
class LearnedWeights(ABC):
    """Everything a linear estimator has learned. Weights are feature-major; the bias is the last."""

    features: Features
    bias: float  # value of the constant feature, whose weight gives the intercept
    classes: NDArray[Any] | None  # of a classifier

    @cached_property
    @abstractmethod
    def weights(self) -> Floats:
        """The weights to predict with, (n_columns + 1, tasks)."""

    @abstractmethod
    def to_file(self) -> dict[str, Any]:
        """Return what a file stores besides features, bias and classes."""

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return n_tasks(self.classes)

    def forget_weights(self) -> None:
        """Free the cached weights before learning; they are computed again on demand."""
        vars(self).pop("weights", None)

    def finished(self) -> Self:
        """Return the same without the mini-batch."""
        return self

    def decide(self, rows: Rows, n_jobs: int | None) -> Floats:
        """Return wᵀx of every row and task, (n, tasks)."""
        return rows.decide(self.weights, number_of_threads(n_jobs))

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # without cached weights


@dataclass(eq=False, repr=False, kw_only=True)
class LinearEstimator(ValueEstimator, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Checks, and predictions from the learned state.

    Parameters
    ----------
    fit_intercept : bool
        Whether to learn an intercept.
    bias_scale : float
        The intercept is the weight of a constant feature, whose value is this many times the typical length
        of the first rows. The larger it is, the faster the intercept learns.
    shuffle : bool
        Whether `fit` shuffles the examples. `partial_fit` keeps their order.
    random_state : int, RandomState, Generator or None
        Seed of the shuffling.
    n_jobs : int or None
        Threads, over the classes; a regressor uses them only to predict. The result is the same.
    verbose : int
        Whether to print progress.
    """

    fit_intercept: bool = True
    bias_scale: float = 0.1
    shuffle: bool = True
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    @abstractmethod
    def _start(self, features: Features, bias: float, classes: NDArray[Any] | None) -> Any:
        """Return the state before the first example."""

    @abstractmethod
    def _ready(self, X: Any, y: Any, fresh: bool) -> tuple[Any, Examples]:
        """Return the state, extended by new classes, and the checked examples."""

    @abstractmethod
    def _lessons(self, learned: Any, examples: Examples) -> Iterator[Any]:
        """Learn the examples once, in their order; yield the state after each mini-batch."""

    @abstractmethod
    def _read(
        self, file: dict[str, Any], features: Features, bias: float, classes: NDArray[Any] | None
    ) -> Any:
        """Return the state, removing its entries from those of a file."""

    def _check_parameters(self, learned: Any) -> None:
        """Raise a ValueError for wrong parameters, or ones that do not fit the state `before`."""
        number_of_threads(self.n_jobs)
        require_number("bias_scale", self.bias_scale, 0.0, open_=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _validated(self, X: Any, *y: Any, fresh: bool = False) -> Any:
        require_sound("X", X)
        options = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": False}
        try:
            if fresh:
                return check_X_y(X, *y, estimator=self, **options)
            return validate_data(self, X, *y, reset=False, **options)
        except (TypeError, ValueError) as error:
            place = _no_number("X", X)
            if place is None:
                raise
            raise type(error)(f"{error}: {place}") from error

    def _labelled(self, X: Any, y: Any, learned: Any) -> tuple[Features, Rows, NDArray[Any]]:
        """Return columns, rows to learn and their y (n,); the first rows fix the constant feature."""
        if self.__sklearn_is_fitted__():
            self._learned.forget_weights()
        given = np.asarray(y)
        if given.dtype.kind == "f":
            require_finite("y", given)
        checked, y = self._validated(X, y, fresh=learned is None)
        require_finite("X", checked)
        rows = Rows.of(checked)
        if learned is not None:
            features, bias = learned.features, learned.bias
        else:
            features = Features.of(X)
            bias = float(self.bias_scale) * (rows.length() or 1.0) if self.fit_intercept else 0.0
        return features, replace(rows, bias=bias), column_or_1d(y, warn=True)

    def _example_weights(self, sample_weight: Any, rows: Rows) -> Floats:
        if sample_weight is None:
            return np.ones(rows.n)
        weights = np.array(sample_weight, np.float64)
        if weights.shape != (rows.n,):
            raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(rows.n,)}: one per row")
        require_finite("sample_weight", weights)
        if (weights < 0).any():
            i = int(np.argmax(weights < 0))
            raise ValueError(f"sample_weight[{i}] is {weights[i]}; weights must not be negative")
        return weights

    def _asked(self, X: Any) -> tuple[Any, Rows]:
        """Return the state, one for a whole prediction, and the rows to predict."""
        now = copy(self)  # a snapshot, in case another thread learns
        check_is_fitted(now)
        checked = now._validated(X)
        require_finite("X", checked)
        return now._learned, replace(Rows.of(checked), bias=now._learned.bias)

    def _learn(self, lessons: Iterator[Any]) -> Self:
        """Publish the state after each mini-batch; nothing holds the old one, so its memory is reused."""
        for self._learned in lessons:
            self._learned = self._learned.finished()
        return self

    def _learn_all(self, lessons: Iterator[Any]) -> Self:
        """Publish the last state, or the last one before an interrupt."""
        learned: Any = None
        try:
            for lesson in lessons:
                learned = lesson
            self._learned = learned.finished()
        except KeyboardInterrupt:
            if learned is not None:
                self._learned = learned.finished()
            raise
        return self

    def _to_file(self) -> dict[str, Any]:
        """Return what was learned, with the names of a file."""
        learned = self._known()
        names, classes = learned.features.names, learned.classes
        return {
            **({} if names is None else {"feature_names_in_": names}),
            "n_features_in_": learned.features.n,
            "_bias": learned.bias,
            **({} if classes is None else {"classes_": classes}),
            **learned.to_file(),
        }

    def _from_file(self, learned: dict[str, Any]) -> None:
        """Restore what `_to_file` returned, after checking it."""
        file = dict(learned)
        try:
            features = Features.from_file(file)
            bias = file.pop("_bias")
            require_number("_bias", bias, 0.0)
            value = self._read(file, features, bias, self._read_classes(file))
        except KeyError as name:
            raise ValueError(f"{name} is missing") from None
        if file:
            raise ValueError(f"{next(iter(file))!r} is not a name of this estimator")
        self._check_parameters(value)
        wanted = (features.n + 1, value.n_tasks)
        if value.weights.shape != wanted:
            raise ValueError(f"the weights have shape {value.weights.shape}, not {wanted}")
        self._learned = value

    def _read_classes(self, file: dict[str, Any]) -> NDArray[Any] | None:
        """Read the classes from the entries of a file, if the estimator has any."""
        return None

    @property
    def coef_(self) -> Floats:
        """Weights of the features, (1 or n_classes, n_features); for a regressor, (n_features,)."""
        coef: Floats = self._known().weights[:-1].T.copy()
        return coef

    @property
    def intercept_(self) -> Floats:
        """Intercepts, shape (1 or n_classes,)."""
        learned = self._known()
        intercept: Floats = learned.weights[-1] * learned.bias
        return intercept


@dataclass(eq=False, repr=False, kw_only=True)
class LinearClassifier(ClassifierMixin, LinearEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """One task per class (one-vs-rest), or a single task for two classes.

    Parameters
    ----------
    margin : float
        ε: the margin that an example must have.
    class_weight : dict, "balanced" or None
        Multiplies the cost of the examples of a class; "balanced" gives the classes of each call equal
        weight.
    """

    margin: float = 1.0
    class_weight: Mapping[Any, float] | str | None = None

    @abstractmethod
    def _continued(self, learned: Any, classes: NDArray[Any], source: Integers, sign: Floats) -> Any:
        """Return the state in which task t continues task source[t], with its sign (-1: a new task)."""

    def _check_parameters(self, learned: Any) -> None:
        super()._check_parameters(learned)
        require_number("margin", self.margin, 0.0, open_=True)

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn more examples, each once and in the given order.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
        y : array of shape (n,)
        classes : array of shape (n_classes,), optional
            All classes of y in this and later calls. Needed in the first call, and whenever a new class
            comes.
        sample_weight : array of shape (n,), optional
            Multiplies the cost of an example; with weight 0 it teaches nothing.

        Returns
        -------
        self
        """
        fresh = not self.__sklearn_is_fitted__()
        if fresh and classes is None:
            raise ValueError(
                "classes is None in the first call of partial_fit; pass all classes, e.g. np.unique(y)"
            )
        return self._learn(self._lessons(*self._ready(X, y, fresh, classes, sample_weight)))

    def _ready(
        self, X: Any, y: Any, fresh: bool, classes: ArrayLike | None = None, sample_weight: Any = None
    ) -> tuple[Any, Examples]:
        learned: Any = None if fresh else self._learned
        self._check_parameters(learned)
        features, rows, y = self._labelled(X, y, learned)
        if y.dtype.kind not in "biuU":  # as of classes scikit-learn warns of small batches
            check_classification_targets(y)
        known = _known_classes(y, None if fresh else learned.classes, classes)
        if learned is None:
            learned = self._start(features, rows.bias, known)
        elif len(known) > len(learned.classes):
            learned = self._continued(learned, known, *tasks_of(known, learned.classes))
        labels = np.searchsorted(known, y).astype(np.int32)
        if learned.n_tasks == 1:
            labels -= 1  # the positive side of task 0 is the second class
        cost = self._example_weights(sample_weight, rows) * self._class_cost(known, y)
        return learned, Examples(rows, Wanted(labels, None, cost, learned.n_tasks, self.margin))

    def _read_classes(self, file: dict[str, Any]) -> NDArray[Any]:
        classes: NDArray[Any] = file.pop("classes_")
        require_classes(classes)
        return classes

    def _class_cost(self, classes: NDArray[Any], y: NDArray[Any]) -> Floats:
        """Return the weight of each example's class, shape (n,)."""
        class_weight = self.class_weight
        if isinstance(class_weight, str):
            classes = classes[np.isin(classes, y)]  # "balanced" means within the call
        weight = np.asarray(compute_class_weight(class_weight, classes=classes, y=y), np.float64)
        for c, w in zip(classes.tolist(), weight.tolist(), strict=True):
            require_number(f"class_weight[{c!r}]", w, 0.0)
        of_examples: Floats = weight[np.searchsorted(classes, y)]
        return of_examples

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted."""
        classes: NDArray[Any] = self._known().classes
        return classes

    def decision_function(self, X: Any) -> Floats:
        """Return the margins, (n, n_classes); for two classes (n,), positive for the second."""
        learned, rows = self._asked(X)
        return squeezed(learned.decide(rows, self.n_jobs))

    def _answers(self, X: Any) -> tuple[NDArray[Any], Floats | None, Floats]:
        """Return the results of `predict` and `predict_proba`, and the margins (n, T), computed once."""
        learned, rows = self._asked(X)
        f = learned.decide(rows, self.n_jobs)
        return _winners(learned, f), self._probable(learned, f), f

    def _probable(self, learned: Any, f: Floats) -> Floats | None:
        """Return the probabilities for margins f (n, T)."""
        return None

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row of X, shape (n,)."""
        learned, rows = self._asked(X)
        return _winners(learned, learned.decide(rows, self.n_jobs))


def _winners(learned: Any, f: Floats) -> NDArray[Any]:
    """Return the classes for margins f (n, T), (n,)."""
    winners = (f[:, 0] > 0).astype(np.int64) if learned.n_tasks == 1 else f.argmax(axis=1)
    predicted: NDArray[Any] = learned.classes[winners]
    return predicted


@dataclass(eq=False, repr=False, kw_only=True)
class LinearRegressor(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """A single task, whose values are the targets."""

    bias_scale: float = 1.0
    _margin_name: ClassVar[str] = "margin"  # the parameter for ε

    def _check_parameters(self, learned: Any) -> None:
        super()._check_parameters(learned)
        require_number(self._margin_name, getattr(self, self._margin_name), 0.0)

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn more examples, each once and in the given order.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Multiplies the cost of an example; with weight 0 it teaches nothing.

        Returns
        -------
        self
        """
        fresh = not self.__sklearn_is_fitted__()
        return self._learn(self._lessons(*self._ready(X, y, fresh, sample_weight)))

    def _ready(self, X: Any, y: Any, fresh: bool, sample_weight: Any = None) -> tuple[Any, Examples]:
        learned: Any = None if fresh else self._learned
        self._check_parameters(learned)
        features, rows, y = self._labelled(X, y, learned)
        try:
            values = np.array(y, np.float64)[:, None]
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error}: {_no_number('y', y)}") from error
        weights = self._example_weights(sample_weight, rows)
        if learned is None:
            learned = self._start(features, rows.bias, None)
        return learned, Examples(rows, Wanted(None, values, weights, 1, getattr(self, self._margin_name)))

    @property
    def coef_(self) -> Floats:
        """Weights of the features, shape (n_features,)."""
        coef: Floats = super().coef_[0]
        return coef


def _known_classes(y: NDArray[Any], before: NDArray[Any] | None, classes: ArrayLike | None) -> NDArray[Any]:
    """Return all classes, sorted: those given, else those known before, else those of y."""
    if classes is not None:
        known = np.unique(np.asarray(classes))
        lost = [] if before is None else np.setdiff1d(before, known).tolist()
        if lost:
            raise ValueError(
                f"classes leaves out {lost[0]!r}, which the model has learned; pass all classes, old and new"
            )
    else:
        known = np.unique(y) if before is None else before
    unknown = ~np.isin(y, known)
    if unknown.any():
        i = int(np.argmax(unknown))
        raise ValueError(
            f"y[{i}] is {some(y[i : i + 1])}, a class the model does not know ({len(known)} classes: "
            f"{some(known)}); name all classes, this one too, in partial_fit(..., classes=...)"
        )
    if len(known) < 2:
        raise ValueError(
            f"y has only one class, {some(known)}; a classifier needs two: pass more data, or "
            "partial_fit(..., classes=...) with all classes"
        )
    return known


def n_tasks(classes: NDArray[Any] | None) -> int:
    """Return the number of tasks: one per class, or one for two classes."""
    return 1 if classes is None or len(classes) == 2 else len(classes)


def squeezed(f: Floats) -> Floats:
    """Return (n,) for a single task, else (n, tasks)."""
    return f[:, 0] if f.shape[1] == 1 else f
