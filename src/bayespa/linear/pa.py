"""Online passive-aggressive learning (Crammer et al., JMLR 2006): [PA-1]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bayespa import _native
from bayespa.checks import number_of_threads, require_choice, require_number
from bayespa.linear.estimator import LinearClassifier, LinearEstimator, LinearRegressor
from bayespa.native.linear import Examples, Floats, Integers
from bayespa.native.random import key_from_seed, permutation, subkey

if TYPE_CHECKING:
    from typing_extensions import Self


class _PassiveAggressive(LinearEstimator):
    """The state is (weights, drift, t_); `fit` repeats `_step` until the loss stops falling."""

    _losses: tuple[str, str]  # of PA-I and PA-II
    _weights: Floats  # (D + 1, T)
    _drift: (
        Floats | None
    )  # Σ i step_i over the examples i, by which the mean of the weights differs from them

    def _check_parameters(self, *, fresh: bool) -> None:
        super()._check_parameters(fresh=fresh)
        require_number("C", self.C, 0.0, open_=True, infinite=True)
        require_choice("loss", self.loss, self._losses)
        require_number("max_iter", self.max_iter, 1, whole=True)
        require_number("n_iter_no_change", self.n_iter_no_change, 1, whole=True)
        if self.tol is not None:
            require_number("tol", self.tol, 0.0)
        require_number("validation_fraction", self.validation_fraction, 0.0, open_=True)
        if self.validation_fraction >= 1.0:
            raise ValueError(f"validation_fraction is {self.validation_fraction!r}; it must be below 1")

    def _start(self, n_tasks: int, n_columns: int) -> None:
        self._weights = np.zeros((n_columns + 1, n_tasks))
        self._drift = None
        self.t_ = 1.0

    def _begin_at(self, coef: ArrayLike | None, intercept: ArrayLike | None) -> None:
        """Set the weights to what the user gives, in the shapes of ``coef_`` and ``intercept_``."""
        dim, n_tasks = self._weights.shape
        sizes = {"coef_init": n_tasks * (dim - 1), "intercept_init": n_tasks}
        for (name, size), value in zip(sizes.items(), (coef, intercept), strict=True):
            if value is not None and np.size(value) != size:
                raise ValueError(f"{name} has shape {np.shape(value)}; it must hold {size} numbers")
        self._weights = self._weights.copy()
        if coef is not None:
            self._weights[:-1] = np.reshape(coef, (n_tasks, dim - 1)).T
        if intercept is not None and self.fit_intercept:
            self._weights[-1] = np.reshape(intercept, n_tasks) / self._bias

    def _step(self, batch: Examples, order: Integers) -> float:
        """Show each example once, in this order; return the mean loss met on the way."""
        if not self.average:
            self._drift = None
        elif self._drift is None:
            self._drift = np.zeros_like(self._weights)
        loss = np.zeros(batch.targets.n_tasks)
        _native.aggressive(
            batch.rows,
            batch.targets,
            order,
            aggressiveness=float(self.C),
            squared=self.loss == self._losses[1],
            variance=1.0,
            weights=self._weights,
            dual=None,
            drift=self._drift,
            seen=int(self.t_) - 1,
            loss=loss,
            change=np.empty_like(loss),
            n_threads=number_of_threads(self.n_jobs),
        )
        self.t_ += batch.rows.n
        return float(loss.sum()) / batch.rows.n

    def _learn(self, batch: Examples) -> None:
        self._step(batch, np.arange(batch.rows.n))

    def _weights_now(self) -> Floats:
        if self._drift is None:
            return self._weights
        return self._weights - self._drift / max(self.t_ - 1.0, 1.0)  # the mean over all examples

    def fit(
        self, X: Any, y: Any, coef_init: ArrayLike | None = None, intercept_init: ArrayLike | None = None
    ) -> Self:
        """Learn from (X, y) in as many passes as it takes.

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
        with self._unchanged_on_error():
            batch = self._ready(X, y, fresh=not warm)
            self._begin_at(coef_init, intercept_init)
            self._run(batch, key_from_seed(self.random_state))
        return self

    def _run(self, batch: Examples, key: int) -> None:
        """Pass over the data until the loss (of the pass, or of held-out data) stops falling."""
        held_out = None
        if self.early_stopping:
            order = permutation(subkey(key, 1), batch.rows.n)
            n_held_out = int(np.ceil(self.validation_fraction * batch.rows.n))
            if n_held_out >= batch.rows.n:
                raise ValueError(
                    f"validation_fraction {self.validation_fraction} of {batch.rows.n} samples leaves none "
                    "to learn from; pass more, or early_stopping=False"
                )
            held_out, batch = batch.take(order[:n_held_out]), batch.take(np.sort(order[n_held_out:]))
        n, best, stale = batch.rows.n, np.inf, 0
        for epoch in range(self.max_iter):
            order = permutation(subkey(key, 0, epoch), n) if self.shuffle else np.arange(n)
            loss = self._step(batch, order)
            if held_out is not None:
                loss = held_out.targets.loss(self._decide(held_out.rows)) / held_out.rows.n
            if self.verbose:
                print(f"pass {epoch + 1}: loss {loss:.6g}")
            self.n_iter_ = epoch + 1
            stale = stale + 1 if self.tol is not None and loss > best - self.tol else 0
            best = min(best, loss)
            if stale >= self.n_iter_no_change:
                break


class PassiveAggressiveClassifier(LinearClassifier, _PassiveAggressive):
    """Online passive-aggressive classifier: PA, PA-I and PA-II.

    An example that meets the margin changes nothing; one that violates it moves the weights just as far as
    needed. Parameters are named as in scikit-learn's class of this name, which scikit-learn removes in 1.10.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the largest step. ``inf`` is the hard-margin PA.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        "hinge" is PA-I, "squared_hinge" PA-II.
    margin : float, default=1.0
        How far on the right side an example has to be.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    bias_scale : float, default=0.1
        The intercept is the weight of a feature that has the same value in every example: this many times the
        typical length of the rows first seen. The larger it is, the faster the intercept learns.
    max_iter : int, default=1000
        Most passes over the data in `fit`.
    tol : float or None, default=1e-3
        `fit` stops when a pass's mean loss is no better than the best minus `tol`, `n_iter_no_change` times
        in a row.
    early_stopping : bool, default=False
        Judge that on a held-out part of the data instead of the loss of the pass.
    validation_fraction : float, default=0.1
        The part held out if `early_stopping`.
    n_iter_no_change : int, default=5
        See `tol`.
    shuffle : bool, default=True
        Show the examples of each pass of `fit` in random order. `partial_fit` keeps the order given.
    verbose : int, default=0
        Print the loss of every pass.
    n_jobs : int or None, default=None
        Threads, over the classes; the result does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the shuffling.
    warm_start : bool, default=False
        Let `fit` start from the weights of the last `fit`.
    class_weight : dict, "balanced" or None, default=None
        Multiplies C for the examples of a class; "balanced" makes the classes of each call weigh the same.
    average : bool, default=False
        Use the mean of the weights over all examples seen.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Passes made by the last `fit`.
    t_ : float
        1 + the number of examples shown.

    Notes
    -----
    `partial_fit` takes ``sample_weight`` (it multiplies C); `fit` does not, because for an online learner a
    weight of 2 is not the same as showing an example twice.

    Examples
    --------
    >>> from bayespa import PassiveAggressiveClassifier
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(random_state=0)
    >>> PassiveAggressiveClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    _losses = ("hinge", "squared_hinge")

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "hinge",
        margin: float = 1.0,
        fit_intercept: bool = True,
        bias_scale: float = 0.1,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        average: bool = False,
    ) -> None:
        self.C = C
        self.loss = loss
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.bias_scale = bias_scale
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.average = average

    def _continue_tasks(self, source: Integers, sign: Floats) -> None:
        def continued(weights: Floats) -> Floats:
            return np.ascontiguousarray(np.where(source < 0, 0.0, weights[:, source] * sign))

        self._weights = continued(self._weights)
        if self._drift is not None:
            self._drift = continued(self._drift)


class PassiveAggressiveRegressor(LinearRegressor, _PassiveAggressive):
    """Online passive-aggressive regression with the epsilon-insensitive loss: PA, PA-I and PA-II.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the largest step. ``inf`` is the hard-margin PA.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        PA-I, or PA-II.
    epsilon : float, default=0.1
        Errors up to this size are no errors.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    bias_scale : float, default=1.0
        The intercept is the weight of a feature that has the same value in every example: this many times the
        typical length of the rows first seen.
    max_iter, tol, early_stopping, validation_fraction, n_iter_no_change, shuffle, verbose, random_state,
    warm_start, average
        As in `PassiveAggressiveClassifier`.
    n_jobs : int or None, default=None
        Threads for predictions.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : ndarray of shape (1,)
    n_iter_ : int
        Passes made by the last `fit`.
    t_ : float
        1 + the number of examples shown.

    Examples
    --------
    >>> from bayespa import PassiveAggressiveRegressor
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(n_features=4, random_state=0)
    >>> PassiveAggressiveRegressor(random_state=0).fit(X, y).score(X, y) > 0.99
    True
    """

    _losses = ("epsilon_insensitive", "squared_epsilon_insensitive")
    _margin_name = "epsilon"

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        bias_scale: float = 1.0,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        average: bool = False,
    ) -> None:
        self.C = C
        self.loss = loss
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.bias_scale = bias_scale
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.average = average

    def predict(self, X: Any) -> Floats:
        """Return the value of each row of X, shape (n,)."""
        return self._decide(self._examples(X))[:, 0]
