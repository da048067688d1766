"""Beta posteriors of the sticks of a hierarchical Dirichlet process, which give topics their shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from bayespa.native.elementary import digamma
from bayespa.posteriors.dirichlet import dirichlet_kl
from bayespa.posteriors.posterior import IMPROPER, Floats, Posterior, finite, positive

if TYPE_CHECKING:
    from typing_extensions import Self


class Sticks(Posterior):
    """Beta distributions of K sticks, which give topics their shares: π_k = π̄_k Π_{j<k} (1 - π̄_j).

    Parameters
    ----------
    u, v : arrays of shape (K,)
        π̄_k ~ Beta(u_k, v_k): u counts what stick k took, v what went on to later sticks.

    Examples
    --------
    >>> sticks = Sticks.prior(n_topics=2, gamma=1.0) + Sticks.statistics([2, 1])
    >>> sticks.mean().round(4), round(sticks.remaining(), 4)
    (array([0.6   , 0.2667]), 0.1333)
    """

    names = ("u", "v")

    def __init__(self, u: ArrayLike, v: ArrayLike) -> None:
        first, second = finite("u", u), finite("v", v)
        if first.ndim != 1 or first.shape != second.shape:
            raise ValueError(f"u has shape {first.shape} and v {second.shape}; both must be (topics,)")
        self._keep(first, second)

    @classmethod
    def prior(cls, n_topics: int, gamma: float) -> Self:
        """Return Beta(1, gamma) for every stick."""
        return cls.unchecked(
            np.broadcast_to(1.0, n_topics), np.broadcast_to(positive("gamma", gamma), n_topics)
        )

    @classmethod
    def statistics(cls, tables: ArrayLike) -> Self:
        """Return what s (K,) tables add to the sticks: s_k to u_k and Σ_{j>k} s_j to v_k.

        Examples
        --------
        >>> Sticks.statistics([5, 2, 1]).v
        array([3., 1., 0.])
        """
        s = np.array(finite("tables", tables))
        later = np.zeros_like(s)
        later[:-1] = np.cumsum(s[:0:-1])[::-1]
        return cls(s, later)  # [HDP-4]

    @property
    def u(self) -> Floats:
        """First parameter of each Beta, shape (K,)."""
        return self._arrays[0]

    @property
    def v(self) -> Floats:
        """Second parameter of each Beta, shape (K,)."""
        return self._arrays[1]

    def __repr__(self) -> str:
        return f"<Sticks: {len(self.u)} topics>"

    def require_proper(self) -> Self:
        """Return these sticks if every u and v is positive, else raise ValueError."""
        for name, array in self.to_arrays().items():
            if not (array > 0.0).all():
                k = np.argmin(array > 0.0)
                raise ValueError(f"{name} of stick {k} is {array[k]!s}, not positive; {IMPROPER}")
        return self

    def mean(self) -> Floats:
        """Return E[π_k], shape (K,)."""
        return self._left()[:-1] * self.u / (self.u + self.v)

    def remaining(self) -> float:
        """Return E[1 - Σ_k π_k], the share of topics without a stick."""
        return float(self._left()[-1])

    def _left(self) -> Floats:
        """Return the expected share left before each stick and after the last, (K + 1,)."""
        self.require_proper()
        return np.cumprod(np.concatenate([[1.0], self.v / (self.u + self.v)]))

    def mean_log(self) -> Floats:
        """Return E[log π_k], shape (K,)."""
        self.require_proper()
        total = digamma(self.u + self.v)
        left = np.cumsum(np.concatenate([[0.0], digamma(self.v) - total]))
        return left[:-1] + (digamma(self.u) - total)

    def kl(self, other: Self) -> Floats:
        """Return the Kullback-Leibler divergence KL(self || other) of each stick, shape (K,)."""
        self._matching(other)
        return dirichlet_kl(np.stack(self.require_proper()._arrays), np.stack(other.require_proper()._arrays))
