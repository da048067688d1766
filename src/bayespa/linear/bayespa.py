"""Online BayesPA for linear models: classifiers and regressors with a Gaussian over the weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayespa.checks import number_of_threads, require_choice, require_number
from bayespa.learning import rounds, without
from bayespa.linear.estimator import LinearClassifier, LinearEstimator, LinearRegressor, squeezed
from bayespa.linear.model import LinearModel
from bayespa.native.elementary import exp
from bayespa.native.linear import Examples, Floats, Integers, Rows, tilt
from bayespa.native.random import key_from_seed, permutation
from bayespa.posteriors import Gaussian

if TYPE_CHECKING:
    from typing_extensions import Self


class _BayesPA(LinearEstimator):
    """The state is `posterior_`; the rounds of `bayespa.learning` do the rest."""

    posterior_: Gaussian
    n_examples_seen_: int
    _kind: tuple[str, str]  # what the state was made for
    _typical_variance: float

    def _check_parameters(self, *, fresh: bool) -> None:
        super()._check_parameters(fresh=fresh)
        require_choice("classifier", self.classifier, ("averaging", "gibbs"))
        require_choice("covariance", self.covariance, ("full", "diagonal", "isotropic"))
        require_choice("method", self.method, ("moments", "augmented"))
        require_number("cost", self.cost, 0.0, open_=True, infinite=self.classifier == "averaging")
        require_number("weight_scale", self.weight_scale, 0.0, open_=True)
        if self.batch_size is not None:
            require_number("batch_size", self.batch_size, 1, whole=True)
        require_number("n_passes", self.n_passes, 1, whole=True)
        require_number("tol", self.tol, 0.0)
        require_number("discount", self.discount, 0.0, open_=True)
        if self.discount > 1.0:
            raise ValueError(f"discount is {self.discount!r}; it must be at most 1, which forgets nothing")
        if not fresh and self._kind != (self.classifier, self.covariance):
            raise ValueError(
                f"classifier and covariance were {self._kind} when learning began and are "
                f"{(self.classifier, self.covariance)} now; set them back, or call fit to start anew"
            )

    def _prior(self, n_tasks: int, dim: int) -> Gaussian:
        return Gaussian.prior(n_tasks, dim, scale=self.weight_scale, structure=self._structure())

    def _structure(self) -> Literal["full", "diagonal", "isotropic"]:
        structure: Literal["full", "diagonal", "isotropic"] = self.covariance
        return "diagonal" if self.classifier == "averaging" else structure

    def _require_whole(self) -> None:
        super()._require_whole()
        wanted = self._structure()
        if self.posterior_.structure != wanted:
            raise ValueError(f"the covariance is {self.posterior_.structure}, not {wanted}")

    def _start(self, n_tasks: int, n_columns: int) -> None:
        self.posterior_ = self._prior(n_tasks, n_columns + 1).copy()
        self.n_examples_seen_ = 0
        self._kind = self.classifier, self.covariance

    def fit(self, X: Any, y: Any) -> Self:
        """Start from the prior and learn from (X, y).

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
        y : array of shape (n,)
            Classes of any type, or the values of a regressor.

        Returns
        -------
        self
        """
        with self._unchanged_on_error():
            batch = self._ready(X, y, fresh=True)
            if self.shuffle:
                batch = batch.take(permutation(key_from_seed(self.random_state), batch.rows.n))
            self._learn(batch, self.n_passes)
        return self

    def _learn(self, batch: Examples, n_passes: int = 1) -> None:
        """Learn in mini-batches. After each one the model is complete: an interrupt loses the rest only."""
        model = LinearModel(self.cost, self.classifier, self.method, number_of_threads(self.n_jobs))
        batches, seen = batch.split(self.batch_size), self.n_examples_seen_
        options = {"n_passes": n_passes, "discount": self.discount, "tol": self.tol}
        prior = self._prior(*self.posterior_.shift.shape)
        try:
            for state in rounds(model, self.posterior_, batches, prior=prior, cavity=without, **options):
                self.posterior_ = state.posterior
                self.n_examples_seen_ = seen + state.n_examples
                self.objective_ = state.local.objective / state.local.n_examples
                self.n_iter_ = state.pass_index + 1
                if self.verbose:
                    print(f"{self.n_examples_seen_} examples: objective {self.objective_:.6g} an example")
        finally:
            self._typical_variance = float(self._margin_variance(batches[-1].rows).mean())

    def _weights_now(self) -> Floats:
        return self.posterior_.mean().T

    def _margin_variance(self, rows: Rows) -> Floats:
        """Return xᵀΣx of every row and task, shape (n, T)."""
        n_threads = number_of_threads(self.n_jobs)
        if self.posterior_.structure == "full":
            return self.posterior_.quadratic(rows.dense(), n_threads=n_threads)
        columns, rows = rows.compact()
        precision = self.posterior_.precision.T
        if self.posterior_.structure == "diagonal":
            precision = precision[columns]
        variance = np.broadcast_to(1.0 / precision, (len(columns), self.posterior_.shift.shape[0]))
        return rows.squared().decide(variance, n_threads)


class BayesPAClassifier(LinearClassifier, _BayesPA):
    """Online Bayesian passive-aggressive classifier: a Gaussian over the weights, updated by mini-batches.

    An example that the posterior already classifies with the margin changes nothing; one that violates it
    moves the posterior to the nearest one that does not, or, softly, that pays for it. The uncertainty that
    remains gives probabilities and standard deviations.

    Parameters
    ----------
    cost : float, default=1.0
        c: how much a violated margin costs. ``inf`` is the hard margin (averaging only). The averaging
        classifier with weight_scale=1 and batch_size=1 is online PA-I with C = 2 cost.
    margin : float, default=1.0
        ε: how far on the right side an example has to be.
    weight_scale : float, default=3.0
        v: prior standard deviation of a weight.
    bias_scale : float, default=0.1
        Prior standard deviation of the intercept, relative to that of wᵀx for a row x of the typical length
        of those first seen.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    classifier : {"gibbs", "averaging"}, default="gibbs"
        "gibbs" pays the expected loss of a random classifier drawn from the posterior, and learns how
        uncertain each weight is. "averaging" pays the loss of the mean classifier; its covariance stays that
        of the prior.
    covariance : {"diagonal", "full", "isotropic"}, default="diagonal"
        What the Gibbs classifier remembers of the posterior covariance. "full" takes memory and time
        quadratic in the number of features.
    method : {"moments", "augmented"}, default="moments"
        How the Gibbs classifier turns the exact posterior of an example into a Gaussian: by matching its
        moments, or by the paper's data augmentation with a mean field.
    batch_size : int or None, default=256
        Examples in a mini-batch; None: all at once. The averaging classifier solves a mini-batch jointly; the
        Gibbs classifier goes through it example by example.
    n_passes : int, default=1
        Passes of `fit` over the data; from the second on, a mini-batch replaces what it added before.
    tol : float, default=0.0
        `fit` stops after a pass whose objective changed by less than this, relatively (the paper: 1e-4).
    discount : float, default=1.0
        Below 1, forget: before each mini-batch, the posterior goes back towards the prior by this factor.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the cost of the examples of a class; "balanced" makes the classes of each call weigh the
        same.
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
    `partial_fit` takes ``sample_weight`` (it multiplies the cost); `fit` does not, because for an online
    learner a weight of 2 is not the same as showing an example twice.

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

    def _continue_tasks(self, source: Integers, sign: Floats) -> None:
        prior = self._prior(len(source), self.posterior_.shift.shape[1])
        self.posterior_ = self.posterior_.continued(prior, source, sign)

    def decision_std(self, X: Any) -> Floats:
        """Return the posterior standard deviation of each margin, in the shape of `decision_function`."""
        return squeezed(np.sqrt(self._margin_variance(self._examples(X))))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, shape (n, n_classes).

        The pseudo-likelihood exp(−2c (ε − y f)₊) of a class, averaged over the posterior of the margin f and
        normalised over the classes: the normaliser of [PA-3] in closed form. All margins are given the
        variance that was typical of the last mini-batch: better calibrated than their own, and probabilities
        then rank as `decision_function` does.
        """
        f = self._decide(self._examples(X))
        log_odds = self._log_evidence(f) - self._log_evidence(-f)
        if log_odds.shape[1] == 1:
            log_odds = np.hstack((np.zeros_like(log_odds), log_odds))
        odds = exp(log_odds - log_odds.max(axis=1, keepdims=True))
        probability: Floats = odds / odds.sum(axis=1, keepdims=True)
        return probability

    def _log_evidence(self, f: Floats) -> Floats:
        cost = min(self.cost, 1e6)  # a hard margin's probabilities: those of a very large cost
        log_mass: Floats = tilt(f, self._typical_variance, self.margin, np.inf, cost)[..., 0]
        return log_mass


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
        Prior standard deviation of the intercept, relative to that of wᵀx for a row x of the typical length
        of those first seen.
    fit_intercept, classifier, covariance, method, batch_size, n_passes, tol, discount, shuffle, random_state,
    verbose
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

    def predict(self, X: Any, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Return the posterior mean of wᵀx of each row, shape (n,), and, if asked, its standard deviation."""
        rows = self._examples(X)
        mean = self._decide(rows)[:, 0]
        return (mean, np.sqrt(self._margin_variance(rows)[:, 0])) if return_std else mean
