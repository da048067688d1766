"""Dirichlet posteriors of topics over words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa import _native
from bayespa.native.elementary import digamma, exp_digamma, log_gamma
from bayespa.posteriors.posterior import GRID, IMPROPER, Floats, Piece, Posterior, Sums, finite, positive
from bayespa.posteriors.table import Table, Update

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Counts(Piece):
    """How often some words were seen in each topic: statistics of a `Dirichlet`, as a sampler counts them.

    Statistics are rounded to multiples of 2^-20, so that subtracting them later is exact.

    Parameters
    ----------
    columns : array of shape (u,), int64
        Different words.
    counts : array of shape (u, K), int32
    weight : float
        The value of one count: 1 over the number of samples, or less; at most 1.

    Examples
    --------
    >>> posterior = Dirichlet.prior(2, 3, eta=0.5)
    >>> (posterior + Counts(np.array([2]), np.array([[4, 1]], np.int32), weight=0.5)).concentration
    array([[0.5, 0.5, 2.5],
           [0.5, 0.5, 1. ]])
    """

    columns: NDArray[np.int64]
    counts: NDArray[np.int32]
    weight: float

    def near(self) -> Counts:
        """Return the same for a posterior that has only these columns."""
        return replace(self, columns=np.arange(len(self.columns)))

    def updates(self, posterior: Sums, sign: float) -> list[Update]:
        """Return the update of the table."""
        add, weight = _native.add_counts, sign * self.weight
        return [partial(add, rows=self.columns, counts=self.counts, weight=weight, grid=GRID)]


class Dirichlet(Posterior):
    """Dirichlet distributions of K topics over W words.

    Parameters
    ----------
    concentration : array of shape (K, W)
        Δ: the prior's value plus the counts of words.

    Examples
    --------
    >>> topics = Dirichlet.prior(n_topics=2, n_words=3, eta=0.5) + Dirichlet([[4, 0, 0], [0, 1, 1]])
    >>> topics.mean(words=[0, 2])
    array([[0.81818182, 0.09090909],
           [0.14285714, 0.42857143]])
    """

    names = ("concentration",)
    _totals: Floats | None = None  # computed on demand
    _base: Floats | None = None  # totals of the Dirichlet before; the ledger holds the difference
    _exact = False  # whether totals are updated: sums of multiples of GRID are exact
    _some = False  # whether it has only some words of a larger vocabulary, with the totals of all

    def __init__(self, concentration: ArrayLike) -> None:
        array = finite("concentration", concentration)
        if array.ndim != 2:
            raise ValueError(f"concentration has shape {array.shape}; it must be (topics, words)")
        self._keep(array)

    @classmethod
    def prior(cls, n_topics: int, n_words: int, eta: float) -> Self:
        """Return Dir(eta, ..., eta) for every topic."""
        return cls.unchecked(np.broadcast_to(positive("eta", eta), (n_topics, n_words)))

    def __getstate__(self) -> dict[str, Any]:
        self.totals()
        return {**vars(self), "_base": None}  # it belongs to a ledger, which is not pickled

    @property
    def concentration(self) -> Floats:
        """Natural parameters Δ, shape (K, W): a transposed view of a (W, K) array."""
        return self._tables[0].array.T

    def __repr__(self) -> str:
        n_topics, n_words = self.concentration.shape
        return f"<Dirichlet: {n_topics} topics, {n_words} words>"

    def require_proper(self) -> Self:
        """Return this Dirichlet if every concentration is positive, else raise ValueError."""
        self._rows(None)
        return self

    def _rows(self, words: ArrayLike | None) -> Floats:
        """Return the concentrations of all or some words, (words, K), C-contiguous."""
        index = np.arange(self.concentration.shape[1]) if words is None else np.asarray(words)
        rows = self.concentration.T if words is None else self.concentration.T[index]
        if not (rows > 0.0).all():
            row, topic = np.argwhere(~(rows > 0.0))[0]
            raise ValueError(
                f"the concentration of word {index[row]} in topic {topic} is {rows[row, topic]!s}, "
                f"not positive; {IMPROPER}"
            )
        return np.ascontiguousarray(rows)

    def totals(self) -> Floats:
        """Return Σ_w Δ_kw of each topic, shape (K,).

        If all concentrations are multiples of 2^-20, learning `Columns` or `Counts` updates the totals: a
        mini-batch of some thousand words need not sum over a vocabulary of a million.
        """
        if self._totals is None:
            (table,) = self._tables
            concentration = table.array.T  # reading it applies the updates
            totals = self._updated()
            if totals is None:
                totals = concentration.sum(axis=1)
                self._exact = _on_grid(concentration.T)
            totals.flags.writeable = False  # all callers share this array
            self._totals = totals
        return self._totals

    def _updated(self) -> Floats | None:
        """Return the totals that updates, which were applied, have led to; None: updates do not tell."""
        ledger = self._tables[0].ledger
        return None if self._base is None or not (ledger[1] or self._some) else self._base + ledger[2:]

    def near(self, words: NDArray[np.int64], n_words: int | None = None, eta: float = 0.0) -> Self:
        """Return the Dirichlet restricted to some words, with the totals of all, for a local step.

        If there are n_words words, not W, those that come or go have concentration `eta`.

        >>> Dirichlet([[1, 2, 4]]).near(np.array([2])).mean()
        array([[0.57142857]])
        >>> Dirichlet([[1, 2, 4]]).near(np.array([2]), n_words=2, eta=1.0).mean()
        array([[0.66666667]])
        """
        array, totals = self._tables[0].array, self.totals()
        if n_words is not None and n_words != len(array):
            totals = totals + eta * (n_words - len(array))
        rows = array.take(words, axis=0, mode="clip")  # of words that are to come, the last one's,
        rows[words >= len(array)] = eta  # which is overwritten
        near = self.__new__(type(self))
        near._tables = (Table(rows, own=True),)
        near._totals, near._exact, near._some = totals, True, True
        return near

    def _follows(self, before: Self) -> None:
        base = before._updated() if before._totals is None else before._totals
        if before._exact and base is not None:
            self._base, self._exact, self._some = base, True, before._some

    def _grew(self, before: Self, prior: Self) -> None:
        rows = prior._tables[0].array[len(before._tables[0].array) :]
        totals = before.totals()
        if before._exact and not before._some and _on_grid(rows):
            self._totals, self._exact = totals + rows.sum(axis=0), True
            self._totals.flags.writeable = False

    def mean(self, words: ArrayLike | None = None) -> Floats:
        """Return E[Φ] of all words, or of those with the indices `words`: (K, words)."""
        return (self._rows(words) / self.totals()).T

    def mean_log(self, words: ArrayLike | None = None, *, n_threads: int = 1) -> Floats:
        """Return E[log Φ] of all words, or of those with the indices `words`: (K, words)."""
        return (digamma(self._rows(words), n_threads) - digamma(self.totals())).T

    def exp_mean_log(self, words: ArrayLike | None = None, *, n_threads: int = 1) -> Floats:
        """Return exp(E[log Φ]) of all words, or of those with the indices `words`: (K, words)."""
        return (exp_digamma(self._rows(words), n_threads) / exp_digamma(self.totals())).T

    def kl(self, other: Self) -> Floats:
        """Return the Kullback-Leibler divergence KL(self || other) of each topic, shape (K,)."""
        self._matching(other)
        return dirichlet_kl(self._rows(None), other._rows(None))


def _on_grid(rows: Floats) -> bool:
    """Return whether all entries of a (W, K) array are multiples of GRID with exact sums."""
    for start in range(0, len(rows), 4096):  # pieces that stay in the cache
        scaled = rows[start : start + 4096] * (1.0 / GRID)
        if (np.rint(scaled) != scaled).any():
            return False
    return True


def dirichlet_kl(a: Floats, b: Floats) -> Floats:
    """Return KL(Dir(a[:, k]) || Dir(b[:, k])) of each column k."""
    kl: Floats = _divergence(a, b).sum(axis=0) - _divergence(a.sum(axis=0), b.sum(axis=0))
    return np.maximum(kl, 0.0)  # negative only by rounding


def _divergence(a: Floats, b: Floats) -> Floats:
    """Return the Bregman divergence of log-gamma; it is exactly zero if b = a."""
    return log_gamma(b) - log_gamma(a) - digamma(a) * (b - a)
