"""Online BayesPA for linear models: classifiers and regressors with a Gaussian over the weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bayespa.checks import number_of_threads, require_choice, require_number
from bayespa.estimators import Features, documented
from bayespa.learning import State, rounds
from bayespa.linear.estimator import (
    LearnedWeights,
    LinearClassifier,
    LinearEstimator,
    LinearRegressor,
    n_tasks,
    squeezed,
)
from bayespa.linear.model import LinearModel, margin_variance
from bayespa.native.elementary import exp
from bayespa.native.linear import Examples, Floats, Integers, Rows, tilt
from bayespa.native.random import key_from_seed, permutation
from bayespa.posteriors import Gaussian

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class _Bayesian(LearnedWeights):
    """A posterior over the weights, and the last mini-batch."""

    kind: tuple[str, str]  # rule and covariance, which must stay the same
    state: State[Gaussian]
    objective: float = np.nan
    n_iter: int = 0
    last: Rows | float = np.nan  # the last mini-batch, or the mean variance of its margins

    @cached_property
    def weights(self) -> Floats:
        """The posterior mean."""
        return self.state.posterior.mean().T

    @cached_property
    def typical_variance(self) -> float:
        """Mean variance of the margins of the last mini-batch."""
        if not isinstance(self.last, Rows):
            return self.last
        return float(margin_variance(self.state.posterior, self.last).mean())

    def finished(self) -> _Bayesian:
        """Return the same with the typical variance instead of the mini-batch."""
        return replace(self, last=self.typical_variance)

    def to_file(self) -> dict[str, Any]:
        """Return what a file stores."""
        return {
            "posterior_": self.state.posterior,
            "n_examples_seen_": self.state.n_examples,
            "_kind": self.kind,
            "objective_": self.objective,
            "n_iter_": self.n_iter,
            "_typical_variance": self.typical_variance,
        }


@dataclass(eq=False, repr=False, kw_only=True)
class _BayesPA(LinearEstimator):
    """The rounds of `bayespa.learning`, with a posterior over the weights.

    Parameters
    ----------
    cost : float
        c: the cost of a violated margin, or of an error beyond it. ``inf`` is the hard margin (averaging
        only). The averaging rule with weight_scale=1 and batch_size=1 is online PA-I with C = 2 cost.
    weight_scale : float
        v: the prior standard deviation of a weight.
    rule : {"gibbs", "averaging"}
        The loss: "gibbs" is the expected loss of weights drawn from the posterior, and learns the uncertainty
        of each weight; "averaging" is the loss of the mean weights, whose covariance stays that of the prior.
    covariance : {"diagonal", "full", "isotropic"}
        The form of the posterior covariance of the Gibbs rule. "full" takes memory and time quadratic in the
        number of features.
    method : {"moments", "augmented"}
        How the Gibbs rule approximates the exact posterior of an example by a Gaussian: by its moments, or by
        the paper's data augmentation with a mean field.
    batch_size : int or None
        Examples per mini-batch; None: all. The averaging rule solves a mini-batch jointly; the Gibbs rule
        goes through it example by example.
    n_passes : int
        Passes of `fit` over the data. From the second on, a mini-batch replaces what it added before.
    discount : float
        If below 1, forget: before each mini-batch the posterior moves back towards the prior by this factor.
    """

    cost: float = 1.0
    weight_scale: float = 3.0
    rule: str = "gibbs"
    covariance: Literal["diagonal", "full", "isotropic"] = "diagonal"
    method: str = "moments"
    batch_size: int | None = 256
    n_passes: int = 1
    discount: float = 1.0

    def _check_parameters(self, learned: _Bayesian | None) -> None:
        super()._check_parameters(learned)
        require_choice("rule", self.rule, ("averaging", "gibbs"))
        require_choice("covariance", self.covariance, ("full", "diagonal", "isotropic"))
        require_choice("method", self.method, ("moments", "augmented"))
        require_number("cost", self.cost, 0.0, open_=True, infinite=self.rule == "averaging")
        require_number("weight_scale", self.weight_scale, 0.0, open_=True)
        if self.batch_size is not None:
            require_number("batch_size", self.batch_size, 1, whole=True)
        require_number("n_passes", self.n_passes, 1, whole=True)
        require_number("discount", self.discount, 0.0, open_=True)
        if self.discount > 1.0:
            raise ValueError(f"discount is {self.discount!r}; it must be at most 1, which forgets nothing")
        if learned is not None and learned.kind != (self.rule, self.covariance):
            raise ValueError(
                f"rule and covariance were {learned.kind} when learning began and are "
                f"{(self.rule, self.covariance)} now; set them back, or call fit to start again"
            )

    def _prior(self, n_tasks: int, dim: int) -> Gaussian:
        return Gaussian.prior(n_tasks, dim, scale=self.weight_scale, structure=self._structure())

    def _structure(self) -> Literal["full", "diagonal", "isotropic"]:
        return "diagonal" if self.rule == "averaging" else self.covariance

    def _start(self, features: Features, bias: float, classes: NDArray[Any] | None) -> _Bayesian:
        prior = self._prior(n_tasks(classes), features.n + 1)
        return _Bayesian(features, bias, classes, (self.rule, self.covariance), State(prior))

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
        key = key_from_seed(self.random_state) if self.shuffle else None
        return self._learn_all(self._lessons(*self._ready(X, y, fresh=True), n_passes=self.n_passes, key=key))

    def _lessons(
        self, learned: _Bayesian, examples: Examples, n_passes: int = 1, key: int | None = None
    ) -> Iterator[_Bayesian]:
        """Learn the examples, shuffled if there is a key; yield the state after each mini-batch."""
        if key is not None:
            examples = examples.take(permutation(key, examples.rows.n))
        model = LinearModel(self.cost, self.rule, self.method, number_of_threads(self.n_jobs))
        batches = examples.split(self.batch_size)
        prior = self._prior(learned.n_tasks, learned.features.n + 1) if self.discount < 1.0 else None
        for now in rounds(
            model, learned.state, batches, n_passes=n_passes, discount=self.discount, prior=prior
        ):
            learned = replace(
                learned,
                state=now.state,
                objective=now.step.objective / now.step.n_examples,
                n_iter=now.pass_index + 1,
                last=batches[now.batch_index].rows,
            )
            if self.verbose:
                n_seen = learned.state.n_examples
                print(f"{n_seen} examples: objective {learned.objective:.6g} an example")
            yield learned

    def _read(
        self, file: dict[str, Any], features: Features, bias: float, classes: NDArray[Any] | None
    ) -> _Bayesian:
        posterior, n_examples, kind = file.pop("posterior_"), file.pop("n_examples_seen_"), file.pop("_kind")
        if not isinstance(posterior, Gaussian) or posterior.structure != self._structure():
            raise ValueError(f"the posterior is {posterior!r}, not a {self._structure()} Gaussian")
        require_number("n_examples_seen_", n_examples, 0, whole=True)
        objective, n_iter = file.pop("objective_"), file.pop("n_iter_")
        require_number("objective_", objective, -np.inf)
        require_number("n_iter_", n_iter, 0, whole=True)
        variance = file.pop("_typical_variance")
        require_number("_typical_variance", variance, 0.0)
        state = State(posterior, n_examples=n_examples)
        return _Bayesian(features, bias, classes, kind, state, objective, n_iter, variance)

    @property
    def posterior_(self) -> Gaussian:
        """Posterior of the weights (tasks, n_features + 1); the last is the intercept."""
        posterior: Gaussian = self._known().state.posterior
        return posterior

    @property
    def n_examples_seen_(self) -> int:
        """Examples learned, each counted once."""
        return int(self._known().state.n_examples)

    @property
    def objective_(self) -> float:
        """Of the last mini-batch, per example: −log evidence (Gibbs), or KL + 2c loss (averaging)."""
        return float(self._known().objective)

    @property
    def n_iter_(self) -> int:
        """Passes made by the last `fit`."""
        return int(self._known().n_iter)


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class BayesPAClassifier(LinearClassifier, _BayesPA):
    """Online Bayesian passive-aggressive classifier, with a Gaussian posterior over the weights.

    An example that the posterior classifies with the margin changes nothing. One that violates the margin
    moves the posterior as little as possible, in exchange for a smaller loss. The remaining uncertainty gives
    probabilities and standard deviations.

    Notes
    -----
    `partial_fit` takes ``sample_weight``, which multiplies the cost. `fit` does not, because for an online
    learner a weight of 2 is not the same as two copies of an example.

    Examples
    --------
    >>> from bayespa import BayesPAClassifier
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(random_state=0)
    >>> model = BayesPAClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.85, model.decision_std(X[:3]).shape
    (True, (3,))
    """

    def _continued(
        self, learned: _Bayesian, classes: NDArray[Any], source: Integers, sign: Floats
    ) -> _Bayesian:
        prior = self._prior(len(source), learned.features.n + 1)
        posterior = learned.state.posterior.continued(prior, source, sign)
        return replace(learned, classes=classes, state=replace(learned.state, posterior=posterior))

    def decision_std(self, X: Any) -> Floats:
        """Return the posterior standard deviation of each margin, in the shape of `decision_function`."""
        learned, rows = self._asked(X)
        return squeezed(
            np.sqrt(margin_variance(learned.state.posterior, rows, number_of_threads(self.n_jobs)))
        )

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, shape (n, n_classes).

        It is the pseudo-likelihood exp(−2c (ε − y f)₊) of a class, averaged over the posterior of the margin
        f and normalised over the classes: the normaliser of [PA-3] in closed form. All margins get the
        variance that was typical of the last mini-batch. This is better calibrated than their own variances,
        and keeps the order of `decision_function`.
        """
        learned, rows = self._asked(X)
        return self._probable(learned, learned.decide(rows, self.n_jobs))

    def _probable(self, learned: Any, f: Floats) -> Floats:
        cost = min(self.cost, 1e6)  # a hard margin is treated as a very large cost
        right, wrong = (tilt(m, learned.typical_variance, self.margin, np.inf, cost)[..., 0] for m in (f, -f))
        log_odds = right - wrong
        if log_odds.shape[1] == 1:
            log_odds = np.hstack((np.zeros_like(log_odds), log_odds))
        odds = exp(log_odds - log_odds.max(axis=1, keepdims=True))
        probability: Floats = odds / odds.sum(axis=1, keepdims=True)
        return probability


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class BayesPARegressor(LinearRegressor, _BayesPA):
    """Online Bayesian passive-aggressive regression with the epsilon-insensitive loss.

    Parameters
    ----------
    margin : float
        ε: errors up to this size cost nothing.

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

    margin: float = 0.1
    weight_scale: float = 10.0

    def predict(self, X: Any, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Return the posterior mean of wᵀx of each row, (n,), perhaps with its standard deviation."""
        learned, rows = self._asked(X)
        mean: Floats = learned.decide(rows, self.n_jobs)[:, 0]
        if not return_std:
            return mean
        variance = margin_variance(learned.state.posterior, rows, number_of_threads(self.n_jobs))
        return mean, np.sqrt(variance[:, 0])
