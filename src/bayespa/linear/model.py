"""The local step of linear BayesPA: averaging [PA-2] and Gibbs [PA-3] [PA-4]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayespa import _native
from bayespa.learning import Local
from bayespa.linear.averaging import solve_dual
from bayespa.native.linear import Examples
from bayespa.posteriors import Columns, Gaussian

Statistics = Gaussian | Columns[Gaussian]


@dataclass(frozen=True)
class LinearModel:
    """What a mini-batch adds to the Gaussian of the weights, (T, D + 1).

    The averaging classifier's covariance stays v²I: its posterior is diagonal, with one precision throughout.
    """

    cost: float
    classifier: str
    method: str
    n_threads: int = 1

    def local_step(self, posterior: Gaussian, batch: Examples, index: int) -> Local[Statistics]:
        """Return what `batch` adds, and −log of its evidence (Gibbs) or KL + 2c loss (averaging)."""
        if self.classifier == "averaging":
            statistics, objective = self._averaging(posterior, batch)
        elif posterior.structure == "diagonal":
            statistics, objective = self._diagonal(posterior, batch)
        elif posterior.structure == "isotropic":
            statistics, objective = self._isotropic(posterior, batch)
        else:
            statistics, objective = self._full(posterior, batch)
        return Local(statistics, objective, batch.rows.n)

    def _averaging(self, posterior: Gaussian, batch: Examples) -> tuple[Statistics, float]:
        columns, rows = batch.rows.compact()
        precision = posterior.precision[0, 0]
        before = posterior.shift.T[columns] / precision
        weights = before.copy()
        aggressiveness = 2.0 * self.cost  # C of PA-I is the paper's 2c
        solve_dual(rows, batch.targets, aggressiveness, 1.0 / precision, weights, n_threads=self.n_threads)
        moved = weights - before
        objective = 0.5 * precision * float((moved * moved).sum())
        if self.cost < np.inf:  # a hard margin leaves no loss
            objective += aggressiveness * batch.targets.loss(rows.decide(weights, self.n_threads))
        shift = (precision * moved).T  # [PA-2]
        return Columns(columns, Gaussian(shift, np.zeros_like(shift))), objective

    def _diagonal(self, posterior: Gaussian, batch: Examples) -> tuple[Statistics, float]:
        columns, rows = batch.rows.compact()
        before = posterior.shift.T[columns], posterior.precision.T[columns]
        shift, precision = before[0].copy(), before[1].copy()
        objective = np.zeros(batch.targets.n_tasks)
        _native.gibbs_diagonal(
            rows, batch.targets, self.cost, self.method, shift, precision, objective, self.n_threads
        )
        part = Gaussian((shift - before[0]).T, (precision - before[1]).T)
        return Columns(columns, part), float(objective.sum())

    def _isotropic(self, posterior: Gaussian, batch: Examples) -> tuple[Statistics, float]:
        mean, variance = np.array(posterior.mean().T, order="C"), posterior.covariance()
        objective = np.zeros(batch.targets.n_tasks)
        _native.gibbs_isotropic(
            batch.rows, batch.targets, self.cost, self.method, mean, variance, objective, self.n_threads
        )
        # One number scales every weight's precision, so every shift changes with it.
        precision = 1.0 / variance
        part = Gaussian((mean * precision).T - posterior.shift, precision - posterior.precision)
        return part, float(objective.sum())

    def _full(self, posterior: Gaussian, batch: Examples) -> tuple[Statistics, float]:
        mean, covariance = posterior.moments(n_threads=self.n_threads)
        part = Gaussian(np.zeros_like(mean), np.zeros_like(covariance))
        objective = np.zeros(batch.targets.n_tasks)
        _native.gibbs_full(
            batch.rows,
            batch.targets,
            self.cost,
            self.method,
            mean,
            covariance,
            part.shift,
            part.precision,
            objective,
            self.n_threads,
        )
        return part, float(objective.sum())
