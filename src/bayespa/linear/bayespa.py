"""Online BayesPA for linear models: averaging [PA-2] and Gibbs [PA-3] [PA-4] classifiers and regressors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from bayespa import _native
from bayespa.checks import number_of_threads, require_choice, require_number
from bayespa.classes import tasks_of
from bayespa.elementary import exp
from bayespa.learning import Local, rounds
from bayespa.linear.estimator import LinearClassifier, LinearEstimator, LinearRegressor
from bayespa.linear.examples import Batch, Floats, Rows
from bayespa.posteriors import Columns, Gaussian
from bayespa.random import key_from_seed, permutation

Statistics = Gaussian | Columns[Gaussian]


@dataclass(frozen=True)
class LinearModel:
    """The local step of linear BayesPA: what a mini-batch adds to the Gaussian of the weights, (T, D + 1).

    The averaging classifier's covariance never leaves the prior, so its posterior is diagonal whatever the structure.
    """

    cost: float
    classifier: str
    method: str
    n_threads: int = 1

    def local_step(self, posterior: Gaussian, batch: Batch, index: int) -> Local[Statistics]:
        """Return what `batch` adds to `posterior`, and -log of its evidence (Gibbs) or KL + 2c loss (averaging)."""
        if self.classifier == "averaging":
            statistics, objective = self._averaging(posterior, batch)
        elif posterior.structure == "diagonal":
            statistics, objective = self._diagonal(posterior, batch)
        elif posterior.structure == "isotropic":
            statistics, objective = self._isotropic(posterior, batch)
        else:
            statistics, objective = self._full(posterior, batch)
        return Local(statistics, objective, batch.rows.n)

    def _averaging(self, posterior: Gaussian, batch: Batch) -> tuple[Statistics, float]:
        columns, rows = batch.rows.compact()
        precision = posterior.precision[0, 0]  # of every weight and task: it never changes
        before = posterior.shift.T[columns] / precision
        weights = before.copy()
        solve_dual(
            rows, batch, 2.0 * self.cost, 1.0 / precision, weights, self.n_threads
        )  # the paper's 2c is C
        moved = weights - before
        objective = 0.5 * precision * float((moved * moved).sum())
        objective += 2.0 * self.cost * batch.targets.loss(rows.decide(weights, self.n_threads))
        shift = (precision * moved).T  # [PA-2]
        return Columns(columns, Gaussian(shift, np.zeros_like(shift))), objective

    def _diagonal(self, posterior: Gaussian, batch: Batch) -> tuple[Statistics, float]:
        columns, rows = batch.rows.compact()
        before = posterior.shift.T[columns], posterior.precision.T[columns]
        shift, precision = before[0].copy(), before[1].copy()
        objective = np.zeros(batch.targets.n_tasks)
        _native.gibbs_diagonal(
            rows, batch.targets, self.cost, self.method, shift, precision, objective, self.n_threads
        )
        part = Gaussian((shift - before[0]).T, (precision - before[1]).T)
        return Columns(columns, part), float(objective.sum())

    def _isotropic(self, posterior: Gaussian, batch: Batch) -> tuple[Statistics, float]:
        mean, variance = np.array(posterior.mean().T, order="C"), posterior.covariance()
        objective = np.zeros(batch.targets.n_tasks)
        _native.gibbs_isotropic(
            batch.rows, batch.targets, self.cost, self.method, mean, variance, objective, self.n_threads
        )
        # One number scales every weight's precision, so every shift changes with it.
        precision = 1.0 / variance
        return Gaussian((mean * precision).T - posterior.shift, precision - posterior.precision), float(
            objective.sum()
        )

    def _full(self, posterior: Gaussian, batch: Batch) -> tuple[Statistics, float]:
        mean, covariance = posterior.moments(n_threads=self.n_threads)
        shift, precision = np.zeros_like(mean), np.zeros_like(covariance)
        objective = np.zeros(batch.targets.n_tasks)
        _native.gibbs_full(
            batch.rows,
            batch.targets,
            self.cost,
            self.method,
            mean,
            covariance,
            shift,
            precision,
            objective,
            self.n_threads,
        )
        return Gaussian(shift, precision), float(objective.sum())


def solve_dual(
    rows: Rows,
    batch: Batch,
    aggressiveness: float,
    variance: float,
    weights: Floats,
    n_threads: int = 1,
    *,
    squared: bool = False,
    tol: float = 1e-8,
    max_sweeps: int = 2000,
) -> Floats:
    """Solve [PA-2] by dual coordinate descent; `weights` (D + 1, T) become the new means.

    Returns the duals τ (n, T), signed: for regression, negative where the prediction was too large. A sweep in which no
    margin moves by more than `tol` ends it; a ConvergenceWarning says that `max_sweeps` did not reach that.
    """
    targets = batch.targets
    dual = np.zeros((rows.n, targets.n_tasks))
    loss, change = np.zeros(targets.n_tasks), np.full(targets.n_tasks, np.inf)
    order = np.arange(rows.n)
    for _ in range(max_sweeps):
        _native.aggressive(
            rows,
            targets,
            order,
            aggressiveness,
            squared,
            variance,
            weights,
            dual,
            None,
            0,
            loss,
            change,
            n_threads,
        )
        if rows.n == 1 or change.max() <= tol:  # a single example is solved by its first step
            return dual
    warnings.warn(
        f"the dual of a mini-batch of {rows.n} examples still moves a margin by {change.max():.1e} after "
        f"{max_sweeps} sweeps; with a finite cost it converges, or use smaller batches",
        ConvergenceWarning,
        stacklevel=2,
    )
    return dual


class _BayesPA(LinearEstimator):
    """State: `posterior_`. The rounds of `bayespa.learning` do the rest."""

    def _check_parameters(self) -> None:
        require_number("cost", self.cost, 0.0, infinite=self.classifier == "averaging")
        require_number("weight_scale", self.weight_scale, 0.0)
        require_number("bias_scale", self.bias_scale, 0.0)
        require_choice("classifier", self.classifier, ("averaging", "gibbs"))
        require_choice("covariance", self.covariance, ("full", "diagonal", "isotropic"))
        require_choice("method", self.method, ("moments", "augmented"))
        if self.batch_size is not None:
            require_number("batch_size", self.batch_size, 1, open_=False)

    def _prior(self, n_tasks: int, n_columns: int) -> Gaussian:
        structure = "diagonal" if self.classifier == "averaging" else self.covariance
        return Gaussian.prior(n_tasks, n_columns + 1, scale=self.weight_scale, structure=structure)

    def _learn(self, batch: Batch, n_passes: int) -> None:
        """Learn in mini-batches. After each one the model is complete: an interrupt loses only what was not learned."""
        n_threads = number_of_threads(self.n_jobs)
        model = LinearModel(self.cost, self.classifier, self.method, n_threads)
        prior = self._prior(batch.targets.n_tasks, batch.rows.n_columns)
        seen = self.n_examples_seen_
        batches = batch.split(self.batch_size)
        for state in rounds(
            model,
            self.posterior_,
            batches,
            n_passes=n_passes,
            discount=self.discount,
            prior=prior,
            tol=self.tol,
        ):
            self.posterior_ = state.posterior
            self.n_examples_seen_ = seen + state.n_examples
            self.objective_ = state.local.objective / state.local.n_examples
            self.n_iter_ = state.pass_index + 1
            if self.verbose:
                print(f"{self.n_examples_seen_} examples: objective {self.objective_:.6g} an example")
        self._typical_variance = float(self._margin_variance(batches[-1].rows).mean())

    def _start(self, n_tasks: int, n_columns: int) -> None:
        self.posterior_: Gaussian = self._prior(n_tasks, n_columns).copy()
        self.n_examples_seen_ = 0
        self._typical_variance = float(self.weight_scale) ** 2

    def _shuffled(self, batch: Batch) -> Batch:
        if not self.shuffle:
            return batch
        return batch.take(permutation(key_from_seed(self.random_state), batch.rows.n))

    @property
    def coef_(self) -> Floats:
        """Posterior mean of the weights, shape (1 or n_classes, n_features); for a regressor (n_features,)."""
        return self.posterior_.mean()[:, :-1].copy()

    @property
    def intercept_(self) -> Floats:
        """Posterior mean of the intercept, shape (1 or n_classes,)."""
        intercept: Floats = self.posterior_.mean()[:, -1] * self._bias
        return intercept

    def _margin(self, X: Any) -> tuple[Floats, Rows]:
        check_is_fitted(self)
        rows = self._examples(X, bias=self._bias)
        return rows.decide(self.posterior_.mean().T, number_of_threads(self.n_jobs)), rows

    def _margin_variance(self, rows: Rows) -> Floats:
        """Return xᵀΣx of every row and task, shape (n, T)."""
        n_threads = number_of_threads(self.n_jobs)
        posterior = self.posterior_
        if posterior.structure != "full":
            return rows.squared().decide(posterior.variance().T, n_threads)
        dense = np.zeros((rows.n, rows.n_columns + 1))
        dense[np.repeat(np.arange(rows.n), np.diff(rows.indptr)), rows.indices] = rows.values
        dense[:, -1] = rows.bias
        return posterior.quadratic(dense, n_threads=n_threads)


class BayesPAClassifier(LinearClassifier, _BayesPA):
    """Online Bayesian passive-aggressive classifier: a Gaussian over the weights, updated by mini-batches.

    An example that the posterior already classifies with the margin changes nothing; one that violates it moves the
    posterior to the nearest one that does not, or, softly, that pays for it. The uncertainty that remains gives
    probabilities and standard deviations.

    Parameters
    ----------
    cost : float, default=1.0
        c: how much a violated margin costs. ``inf`` is the hard margin (averaging only). The averaging classifier with
        weight_scale=1 and batch_size=1 is online PA-I with C = 2 cost.
    margin : float, default=1.0
        ε: how far on the right side an example has to be.
    weight_scale : float, default=3.0
        v: prior standard deviation of a weight.
    bias_scale : float, default=0.1
        Prior standard deviation of the intercept, relative to that of wᵀx for a row x of typical length.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    classifier : {"gibbs", "averaging"}, default="gibbs"
        "gibbs" pays the expected loss of a random classifier drawn from the posterior, and learns how uncertain each
        weight is. "averaging" pays the loss of the mean classifier; its covariance stays that of the prior.
    covariance : {"diagonal", "full", "isotropic"}, default="diagonal"
        What the Gibbs classifier remembers of the posterior covariance. "full" takes memory and time quadratic in
        the number of features.
    method : {"moments", "augmented"}, default="moments"
        How the Gibbs classifier turns the exact posterior of an example into a Gaussian: by matching its moments, or by
        the paper's data augmentation with a mean field.
    batch_size : int or None, default=256
        Examples in a mini-batch; None: all at once. The averaging classifier solves a mini-batch jointly; the Gibbs
        classifier goes through it example by example.
    n_passes : int, default=1
        Passes of `fit` over the data; from the second on, a mini-batch replaces what it added before.
    tol : float, default=0.0
        `fit` stops after a pass whose objective changed by less than this, relatively (the paper: 1e-4).
    discount : float, default=1.0
        Below 1, forget: before each mini-batch, the posterior goes back towards the prior by this factor.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the cost of the examples of a class; "balanced" makes the classes of each call weigh the same.
    shuffle : bool, default=True
        Let `fit` take the examples in random order. `partial_fit` keeps the order given.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the shuffling.
    n_jobs : int or None, default=None
        Threads, over the classes; the result does not depend on it.
    verbose : int, default=0
        Print the objective after each mini-batch.

    Attributes
    ----------
    posterior_ : Gaussian
        Of the weights (tasks, n_features + 1); the last is that of the intercept.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    objective_ : float
        Of the last mini-batch, per example: −log evidence (Gibbs), or KL + 2c loss (averaging).
    n_examples_seen_ : int
    n_iter_ : int
        Passes made by the last `fit`.

    Notes
    -----
    `partial_fit` takes ``sample_weight`` (it multiplies the cost); `fit` does not, because for an online learner a
    weight of 2 is not the same as showing an example twice.

    Examples
    --------
    >>> from bayespa import BayesPAClassifier
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(random_state=0)
    >>> model = BayesPAClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.85, model.decision_std(X[:3]).shape
    (True, (3,))
    """

    def __init__(
        self,
        *,
        cost: float = 1.0,
        margin: float = 1.0,
        weight_scale: float = 3.0,
        bias_scale: float = 0.1,
        fit_intercept: bool = True,
        classifier: str = "gibbs",
        covariance: str = "diagonal",
        method: str = "moments",
        batch_size: int | None = 256,
        n_passes: int = 1,
        tol: float = 0.0,
        discount: float = 1.0,
        class_weight: Mapping[Any, float] | str | None = None,
        shuffle: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.margin = margin
        self.weight_scale = weight_scale
        self.bias_scale = bias_scale
        self.fit_intercept = fit_intercept
        self.classifier = classifier
        self.covariance = covariance
        self.method = method
        self.batch_size = batch_size
        self.n_passes = n_passes
        self.tol = tol
        self.discount = discount
        self.class_weight = class_weight
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_labelled(
        self, X: Any, y: Any, *, classes: ArrayLike | None, reset: bool, sample_weight: Any
    ) -> tuple[Batch, NDArray[Any]]:
        self._check_parameters()
        require_number("margin", self.margin, 0.0)
        return self._check(
            X, y, classes=classes, reset=reset, margin=self.margin, sample_weight=sample_weight
        )

    def fit(self, X: Any, y: Any) -> BayesPAClassifier:
        """Start from the prior and learn from (X, y).

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
        y : array of shape (n,)
            Classes, of any type.

        Returns
        -------
        self
        """
        with self._unchanged_on_error():
            batch, self.classes_ = self._check_labelled(X, y, classes=None, reset=True, sample_weight=None)
            self._start(batch.targets.n_tasks, batch.rows.n_columns)
            self._learn(self._shuffled(batch), self.n_passes)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> BayesPAClassifier:
        """Go on learning from (X, y), once and in the order given.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
        y : array of shape (n,)
        classes : array of shape (n_classes,), optional
            All classes that y may hold in this and later calls: needed in the first call, and whenever a new class
            joins.
        sample_weight : array of shape (n,), optional
            Multiplies the cost.

        Returns
        -------
        self
        """
        first = not hasattr(self, "posterior_")
        with self._unchanged_on_error():
            if first and classes is None:
                raise ValueError(
                    "classes is None in the first call of partial_fit; pass all classes, e.g. np.unique(y)"
                )
            batch, known = self._check_labelled(
                X, y, classes=classes, reset=first, sample_weight=sample_weight
            )
        if first:
            self._start(batch.targets.n_tasks, batch.rows.n_columns)
        elif len(known) > len(self.classes_):
            self._add_classes(known, batch.rows.n_columns)
        self.classes_ = known
        self._learn(batch, 1)
        return self

    def _add_classes(self, classes: NDArray[Any], n_columns: int) -> None:
        source, sign = tasks_of(classes, self.classes_)
        arrays = self._prior(len(source), n_columns).copy().to_arrays()
        before = self.posterior_.to_arrays()
        old = source >= 0
        arrays["shift"][old] = before["shift"][source[old]] * sign[old, None]
        arrays["precision"][old] = before["precision"][source[old]]
        self.posterior_ = Gaussian.from_arrays(arrays)

    def decision_function(self, X: Any) -> Floats:
        """Return the mean margin of each row: (n,) for two classes, where positive means the second, else (n, n_classes)."""
        f, _ = self._margin(X)
        return f[:, 0] if f.shape[1] == 1 else f

    def decision_std(self, X: Any) -> Floats:
        """Return the posterior standard deviation of each margin, in the shape of `decision_function`."""
        _, rows = self._margin(X)
        std = np.sqrt(self._margin_variance(rows))
        return std[:, 0] if std.shape[1] == 1 else std

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, shape (n, n_classes).

        The pseudo-likelihood exp(−2c (ε − y f)₊) of a class, averaged over the posterior of the margin f and normalised
        over the classes: the normaliser of [PA-3] in closed form. All margins are given the variance that was typical of the
        last mini-batch: better calibrated than their own, and probabilities then rank as `decision_function` does.
        """
        f, _ = self._margin(X)
        variance = np.full_like(f, self._typical_variance)
        log_odds = self._log_evidence(f, variance) - self._log_evidence(-f, variance)
        if log_odds.shape[1] == 1:
            log_odds = np.hstack((np.zeros_like(log_odds), log_odds))
        odds = exp(log_odds - log_odds.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def _log_evidence(self, f: Floats, variance: Floats) -> Floats:
        cost = min(self.cost, 1e6)  # a hard margin's probabilities: those of a very large cost
        return tilt(f, variance, self.margin, np.inf, cost)[..., 0]


class BayesPARegressor(LinearRegressor, _BayesPA):
    """Online Bayesian passive-aggressive regression with the epsilon-insensitive loss.

    Parameters
    ----------
    cost : float, default=1.0
        c: how much an error beyond the margin costs.
    margin : float, default=0.1
        ε: errors up to this size are no errors.
    weight_scale : float, default=10.0
        v: prior standard deviation of a weight.
    bias_scale : float, default=1.0
        Prior standard deviation of the intercept, relative to that of wᵀx for a row x of typical length.
    fit_intercept, classifier, covariance, method, batch_size, n_passes, tol, discount, shuffle, random_state, verbose
        As in `BayesPAClassifier`.
    n_jobs : int or None, default=None
        Threads for predictions.

    Attributes
    ----------
    posterior_ : Gaussian
        Of the weights (1, n_features + 1); the last is that of the intercept.
    coef_ : ndarray of shape (n_features,)
    intercept_ : ndarray of shape (1,)
    objective_, n_examples_seen_, n_iter_
        As in `BayesPAClassifier`.

    Examples
    --------
    >>> from bayespa import BayesPARegressor
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(n_features=4, random_state=0)
    >>> model = BayesPARegressor(covariance="full", weight_scale=100.0, random_state=0).fit(X, y)
    >>> mean, std = model.predict(X, return_std=True)
    >>> float(abs(mean - y).mean()) < 1.0
    True
    """

    def __init__(
        self,
        *,
        cost: float = 1.0,
        margin: float = 0.1,
        weight_scale: float = 10.0,
        bias_scale: float = 1.0,
        fit_intercept: bool = True,
        classifier: str = "gibbs",
        covariance: str = "diagonal",
        method: str = "moments",
        batch_size: int | None = 256,
        n_passes: int = 1,
        tol: float = 0.0,
        discount: float = 1.0,
        shuffle: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.margin = margin
        self.weight_scale = weight_scale
        self.bias_scale = bias_scale
        self.fit_intercept = fit_intercept
        self.classifier = classifier
        self.covariance = covariance
        self.method = method
        self.batch_size = batch_size
        self.n_passes = n_passes
        self.tol = tol
        self.discount = discount
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_examples(self, X: Any, y: Any, *, reset: bool, sample_weight: Any) -> Batch:
        self._check_parameters()
        require_number("margin", self.margin, 0.0, open_=False)
        return self._check(X, y, reset=reset, margin=self.margin, sample_weight=sample_weight)

    def fit(self, X: Any, y: Any) -> BayesPARegressor:
        """Start from the prior and learn from X (n, n_features) and y (n,)."""
        with self._unchanged_on_error():
            batch = self._check_examples(X, y, reset=True, sample_weight=None)
            self._start(1, batch.rows.n_columns)
            self._learn(self._shuffled(batch), self.n_passes)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> BayesPARegressor:
        """Go on learning, once and in the order given; ``sample_weight`` (n,) multiplies the cost."""
        first = not hasattr(self, "posterior_")
        with self._unchanged_on_error():
            batch = self._check_examples(X, y, reset=first, sample_weight=sample_weight)
        if first:
            self._start(1, batch.rows.n_columns)
        self._learn(batch, 1)
        return self

    @property
    def coef_(self) -> Floats:
        """Posterior mean of the weights, shape (n_features,)."""
        return super().coef_[0]

    def predict(self, X: Any, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Return the posterior mean of wᵀx of each row, shape (n,), and its standard deviation if asked for."""
        f, rows = self._margin(X)
        if not return_std:
            return f[:, 0]
        return f[:, 0], np.sqrt(self._margin_variance(rows)[:, 0])


def tilt(
    m: ArrayLike, s: ArrayLike, lower: ArrayLike, upper: ArrayLike, cost: float, method: str = "moments"
) -> Floats:
    """Tilt margins f ~ N(m, s) by exp(−2c (lower − f)₊ − 2c (f − upper)₊). [PA-3] [PA-4].

    Parameters
    ----------
    m, s, lower, upper : arrays that broadcast to one shape
        Mean and variance of the margins, and where the hinges start; upper may be infinite.
    cost : float
        c.
    method : {"moments", "augmented"}
        Exact moments, or those of the augmented mean field.

    Returns
    -------
    ndarray of that shape + (3,)
        Log normaliser (for "augmented" its lower bound), (m′ − m)/s and s′/s.

    Examples
    --------
    >>> tilt(0.0, 1.0, lower=1.0, upper=np.inf, cost=1.0).round(4)
    array([-1.1479,  1.    ,  0.4749])
    """
    arrays = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in (m, s, lower, upper)))
    out = np.empty((arrays[0].size, 3))
    _native.tilt(*(np.ascontiguousarray(a).reshape(-1) for a in arrays), cost, method, out)
    return out.reshape(*arrays[0].shape, 3)
