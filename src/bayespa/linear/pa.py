"""Online passive-aggressive learning (Crammer et al., JMLR 2006): [PA-1]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa import _native
from bayespa.checks import number_of_threads, require_choice, require_number
from bayespa.estimators import Features, documented
from bayespa.linear.estimator import (
    LearnedWeights,
    LinearClassifier,
    LinearEstimator,
    LinearRegressor,
    n_tasks,
)
from bayespa.native.linalg import new_ledger
from bayespa.native.linear import Examples, Floats, Integers
from bayespa.native.random import key_from_seed, permutation, subkey
from bayespa.posteriors.posterior import finite
from bayespa.posteriors.table import Table, Update

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class _Passive(LearnedWeights):
    """The weights, and how many examples and passes made them."""

    # (1 or 2, D + 1, T): the weights and, if their mean decides, their drift Σ i step_i over the examples i,
    # by which the mean differs from them. Both change in one step, so they are one table.
    table: Table
    t: float = 1.0
    n_iter: int | None = None  # None: only partial_fit was called

    @cached_property
    def weights(self) -> Floats:
        """The weights, or their mean over all examples."""
        return _answer(self.table.array, self.t)

    def averaging(self, average: bool) -> _Passive:
        """Return the same with or without a drift: averaging may begin or end at any time."""
        n_arrays = 2 if average else 1
        if n_arrays == self.table.shape[0]:
            return self
        array = np.zeros((n_arrays, *self.table.shape[1:]))
        array[0] = self.table.array[0]
        return replace(self, table=Table(array, own=True))

    def finished(self) -> _Passive:
        """Return the same with the examples applied: published, so the old memory is reused."""
        self.table.settle()
        return self

    def to_file(self) -> dict[str, Any]:
        """Return what a file stores."""
        weights, *drift = self.table.array
        passes = {} if self.n_iter is None else {"n_iter_": self.n_iter}
        return {"_weights": weights, "_drift": drift[0] if drift else None, "t_": self.t, **passes}


@dataclass
class _Course:
    """Passes over n examples, in an array of its own; it knows how many were made if it is interrupted."""

    start: _Passive
    n: int
    array: Floats  # as of `_Passive`
    ledger: Floats

    @property
    def n_passes(self) -> int:
        """Passes made."""
        return int(self.ledger[0])

    @property
    def t(self) -> float:
        """1 + the number of examples shown."""
        return self.start.t + self.n * self.n_passes

    def finished(self) -> _Passive:
        """Return the state so far."""
        return self._learned

    @cached_property
    def _learned(self) -> _Passive:  # once, because a table owns its array
        return replace(self.start, table=Table(self.array, own=True), t=self.t, n_iter=self.n_passes)


def _answer(array: Floats, t: float) -> Floats:
    """Return the weights to predict with: the last, or their mean over all examples."""
    if len(array) == 1:
        weights: Floats = array[0]
        return weights
    mean: Floats = array[1] / max(t - 1.0, 1.0)
    np.subtract(array[0], mean, out=mean)
    return mean


def _nothing(shape: tuple[int, ...]) -> Table:
    """Return a table of zeros that takes no memory."""
    return Table(np.broadcast_to(0.0, shape))


@dataclass(eq=False, repr=False, kw_only=True)
class _PassiveAggressive(LinearEstimator):
    """Passes over the data, example by example, until the loss stops falling.

    Parameters
    ----------
    C : float
        Aggressiveness: the largest step. ``inf`` is the hard-margin PA.
    max_iter : int
        Largest number of passes of `fit`.
    tol : float or None
        `fit` stops when a pass's mean loss is no better than the best minus `tol`, `n_iter_no_change` times
        in a row.
    early_stopping : bool
        Use held-out data for that decision instead of the loss of the pass.
    validation_fraction : float
        Fraction of held-out data, if `early_stopping`.
    n_iter_no_change : int
        See `tol`.
    warm_start : bool
        Whether `fit` starts from the weights of the last `fit`.
    average : bool
        Use the mean of the weights over all examples.
    """

    C: float = 1.0
    max_iter: int = 1000
    tol: float | None = 1e-3
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    warm_start: bool = False
    average: bool = False
    _losses: ClassVar[tuple[str, str]]  # of PA-I and PA-II

    def _check_parameters(self, learned: Any) -> None:
        super()._check_parameters(learned)
        require_number("C", self.C, 0.0, open_=True, infinite=True)
        require_choice("loss", self.loss, self._losses)
        require_number("max_iter", self.max_iter, 1, whole=True)
        require_number("n_iter_no_change", self.n_iter_no_change, 1, whole=True)
        if self.tol is not None:
            require_number("tol", self.tol, 0.0)
        require_number("validation_fraction", self.validation_fraction, 0.0, open_=True)
        if self.validation_fraction >= 1.0:
            raise ValueError(f"validation_fraction is {self.validation_fraction!r}; it must be below 1")

    def _start(self, features: Features, bias: float, classes: NDArray[Any] | None) -> _Passive:
        return _Passive(features, bias, classes, _nothing((1, features.n + 1, n_tasks(classes))))

    def _begun_at(self, learned: _Passive, coef: ArrayLike | None, intercept: ArrayLike | None) -> _Passive:
        """Return the state with given weights, in the shapes of ``coef_`` and ``intercept_``."""
        _, dim, n_tasks = learned.table.shape
        sizes = {"coef_init": n_tasks * (dim - 1), "intercept_init": n_tasks}
        for (name, size), value in zip(sizes.items(), (coef, intercept), strict=True):
            if value is not None and np.size(value) != size:
                raise ValueError(f"{name} has shape {np.shape(value)}; it must hold {size} numbers")
        array = learned.table.array.copy()
        if coef is not None:
            array[0, :-1] = np.reshape(coef, (n_tasks, dim - 1)).T
        if intercept is not None and self.fit_intercept:
            array[0, -1] = np.reshape(intercept, n_tasks) / learned.bias
        return replace(learned, table=Table(array, own=True))

    def _showing(self, examples: Examples, order: Integers, t: float, loss: Floats) -> Update:
        """Return the update for the examples in this order; it adds to loss (T,)."""
        options: dict[str, Any] = {
            "aggressiveness": float(self.C),
            "squared": self.loss == self._losses[1],
            "variance": 1.0,
            "dual": None,
            "seen": int(t) - 1,
            "loss": loss,
            "change": np.empty_like(loss),
            "n_threads": number_of_threads(self.n_jobs),
        }

        def show(*, a: Floats, ledger: Floats, turn: int) -> None:
            arrays: dict[str, Any] = {"weights": a[0], "drift": a[1] if len(a) == 2 else None}
            _native.aggressive(
                examples.rows, examples.targets, order, **arrays, **options, ledger=ledger, turn=turn
            )

        return show

    def _lessons(self, learned: _Passive, examples: Examples) -> Iterator[_Passive]:
        learned = learned.averaging(self.average)
        n, loss = examples.rows.n, np.zeros(examples.targets.n_tasks)
        show = self._showing(examples, np.arange(n), learned.t, loss)
        learned = replace(learned, table=learned.table.changed([show]), t=learned.t + n)
        yield learned

    def fit(
        self, X: Any, y: Any, coef_init: ArrayLike | None = None, intercept_init: ArrayLike | None = None
    ) -> Self:
        """Learn from (X, y), in passes until the loss stops falling.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
        y : array of shape (n,)
            Classes of any type, or the values of a regressor.
        coef_init, intercept_init : arrays shaped as `coef_` and `intercept_`, optional
            Where to start.

        Returns
        -------
        self
        """
        warm = self.warm_start and self.__sklearn_is_fitted__()
        learned, examples = self._ready(X, y, fresh=not warm)
        if coef_init is not None or intercept_init is not None:
            learned = self._begun_at(learned, coef_init, intercept_init)
        return self._learn_all(self._passes(learned, examples, key_from_seed(self.random_state)))

    def _passes(self, learned: _Passive, examples: Examples, key: int) -> Iterator[_Course]:
        """Pass over the data until the loss (of the pass, or of held-out data) stops falling."""
        held_out = None
        if self.early_stopping:
            order = permutation(subkey(key, 1), examples.rows.n)
            n_held_out = int(np.ceil(self.validation_fraction * examples.rows.n))
            if n_held_out >= examples.rows.n:
                raise ValueError(
                    f"validation_fraction {self.validation_fraction} of {examples.rows.n} samples leaves "
                    "none to learn from; pass more, or early_stopping=False"
                )
            held_out, examples = examples.take(order[:n_held_out]), examples.take(np.sort(order[n_held_out:]))
        n, best, stale = examples.rows.n, np.inf, 0
        array = learned.averaging(self.average).table.array
        course = _Course(learned, n, np.array(array, order="C"), new_ledger(array.shape[-1]))
        for epoch in range(self.max_iter):
            order = permutation(subkey(key, 0, epoch), n) if self.shuffle else np.arange(n)
            losses = np.zeros(examples.targets.n_tasks)
            self._showing(examples, order, course.t, losses)(a=course.array, ledger=course.ledger, turn=epoch)
            loss = float(losses.sum()) / n
            if held_out is not None:
                f = held_out.rows.decide(_answer(course.array, course.t), number_of_threads(self.n_jobs))
                loss = held_out.targets.loss(f) / held_out.rows.n
            if self.verbose:
                print(f"pass {epoch + 1}: loss {loss:.6g}")
            yield course
            stale = stale + 1 if self.tol is not None and loss > best - self.tol else 0
            best = min(best, loss)
            if stale >= self.n_iter_no_change:
                break

    def _read(
        self, file: dict[str, Any], features: Features, bias: float, classes: NDArray[Any] | None
    ) -> _Passive:
        arrays = {name: file.pop(name) for name in ("_weights", "_drift")}
        for name, array in arrays.items():
            if array is not None and not (isinstance(array, np.ndarray) and array.dtype == np.float64):
                raise ValueError(f"{name} is not an array of float64")
        weights, drift = (
            None if array is None else np.ascontiguousarray(finite(name, array))
            for name, array in arrays.items()
        )
        if weights is None or weights.ndim != 2 or (drift is not None and drift.shape != weights.shape):
            raise ValueError("_weights and _drift, if any, must be arrays of the same shape")
        t, n_iter = file.pop("t_"), file.pop("n_iter_", None)
        require_number("t_", t, 1.0)
        if n_iter is not None:
            require_number("n_iter_", n_iter, 1, whole=True)
        table = Table(np.stack([weights] if drift is None else [weights, drift]), own=True)
        return _Passive(features, bias, classes, table, t, n_iter)

    @property
    def t_(self) -> float:
        """1 + the number of examples shown."""
        return float(self._known().t)

    @property
    def n_iter_(self) -> int:
        """Passes made by the last `fit`."""
        passes = self._known().n_iter
        if passes is None:
            raise AttributeError("partial_fit makes no passes; call fit")
        return int(passes)


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class PassiveAggressiveClassifier(LinearClassifier, _PassiveAggressive):
    """Online passive-aggressive classifier: PA, PA-I and PA-II.

    An example that meets the margin changes nothing. One that violates it moves the weights just as far as
    needed. The parameters are those of scikit-learn's class of this name, which scikit-learn removes in 1.10.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge"}
        "hinge" is PA-I, "squared_hinge" PA-II.

    Notes
    -----
    `partial_fit` takes ``sample_weight``, which multiplies C. `fit` does not, because for an online learner a
    weight of 2 is not the same as two copies of an example.

    Examples
    --------
    >>> from bayespa import PassiveAggressiveClassifier
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(random_state=0)
    >>> PassiveAggressiveClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    loss: str = "hinge"
    _losses = ("hinge", "squared_hinge")

    def _continued(
        self, learned: _Passive, classes: NDArray[Any], source: Integers, sign: Floats
    ) -> _Passive:
        array = np.where(source < 0, 0.0, learned.table.array[:, :, source] * sign)
        return replace(learned, classes=classes, table=Table(np.ascontiguousarray(array), own=True))


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class PassiveAggressiveRegressor(LinearRegressor, _PassiveAggressive):
    """Online passive-aggressive regression with the epsilon-insensitive loss: PA, PA-I and PA-II.

    Parameters
    ----------
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
        PA-I, or PA-II.
    epsilon : float
        Errors up to this size cost nothing.

    Examples
    --------
    >>> from bayespa import PassiveAggressiveRegressor
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(n_features=4, random_state=0)
    >>> PassiveAggressiveRegressor(random_state=0).fit(X, y).score(X, y) > 0.99
    True
    """

    loss: str = "epsilon_insensitive"
    epsilon: float = 0.1
    _losses = ("epsilon_insensitive", "squared_epsilon_insensitive")
    _margin_name = "epsilon"

    def predict(self, X: Any) -> Floats:
        """Return the value of each row of X, shape (n,)."""
        learned, rows = self._asked(X)
        predicted: Floats = learned.decide(rows, self.n_jobs)[:, 0]
        return predicted
