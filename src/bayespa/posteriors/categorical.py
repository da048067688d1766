"""Posterior of a parameter with a few possible values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from bayespa.native.elementary import exp, log
from bayespa.posteriors.posterior import Floats, Posterior, finite

if TYPE_CHECKING:
    from typing_extensions import Self


class Categorical(Posterior):
    """A distribution over G values in natural parameters: log likelihoods add.

    Parameters
    ----------
    log_weights : array of shape (G,)
        Logarithms of the probabilities, up to a constant.

    Examples
    --------
    Which of three coins showed heads twice?

    >>> heads = np.array([0.2, 0.5, 0.8])
    >>> posterior = Categorical.prior(3) + Categorical(np.log(heads)) + Categorical(np.log(heads))
    >>> posterior.mean(heads).round(3)
    array([0.694])
    """

    names = ("log_weights",)

    def __init__(self, log_weights: ArrayLike) -> None:
        array = finite("log_weights", log_weights)
        if array.ndim != 1 or not len(array):
            raise ValueError(
                f"log_weights has shape {array.shape}; it must be (values,), with at least one value"
            )
        self._keep(array)

    @classmethod
    def prior(cls, n_values: int) -> Self:
        """Return the uniform distribution."""
        return cls.unchecked(np.broadcast_to(0.0, n_values))

    @property
    def log_weights(self) -> Floats:
        """Natural parameters, shape (G,)."""
        return self._arrays[0]

    def __repr__(self) -> str:
        return f"<Categorical: {len(self.log_weights)} values>"

    def require_proper(self) -> Self:
        """Return this distribution; finite log weights are always proper."""
        return self

    def probabilities(self) -> Floats:
        """Return the probability of each value, shape (G,)."""
        weights = exp(self.log_weights - self.log_weights.max())
        shares: Floats = weights / weights.sum()
        return shares

    def mean(self, values: ArrayLike) -> Floats:
        """Return the expectation of a quantity with the given values (G,), shape (1,)."""
        mean: Floats = (self.probabilities() * np.asarray(values)).sum(keepdims=True)
        return mean

    def kl(self, other: Self) -> Floats:
        """Return the Kullback-Leibler divergence KL(self || other), shape (1,)."""
        self._matching(other)
        p, q = self.probabilities(), other.probabilities()
        terms = np.where(p > 0.0, p * (log(np.where(p > 0.0, p, 1.0)) - log(q)), 0.0)
        kl: Floats = np.maximum(terms.sum(keepdims=True), 0.0)  # negative only by rounding
        return kl
