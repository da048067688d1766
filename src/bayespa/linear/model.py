"""The step of linear BayesPA: averaging [PA-2] and Gibbs [PA-3] [PA-4]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayespa import _native
from bayespa.learning import Before, Step
from bayespa.linear.averaging import solve_dual
from bayespa.native.linear import Examples, Floats, Rows
from bayespa.posteriors import Columns, Gaussian

Statistics = Gaussian | Columns[Gaussian]


@dataclass(frozen=True)
class LinearModel:
    """The statistics that a mini-batch adds to the Gaussian of the weights, (T, D + 1).

    With the averaging rule the covariance stays v²I: the posterior is diagonal, and all precisions are equal.
    """

    cost: float
    rule: str
    method: str
    n_threads: int = 1

    def propose(
        self, posterior: Gaussian, batch: Examples, index: int, before: Before[Any] | None = None
    ) -> Step[Statistics]:
        """Return what `batch` adds, and −log of its evidence (Gibbs) or KL + 2c loss (averaging).

        What it added before is always subtracted first, because there are no latent variables to keep.
        """
        if posterior.structure == "diagonal":
            columns, rows = batch.rows.compact()
            near = posterior.near(columns)
            if before is not None:
                near = near - before.statistics.part
            learn = self._averaging if self.rule == "averaging" else self._diagonal
            part, objective = learn(near, Examples(rows, batch.targets))
            return Step(Columns(columns, part), objective, batch.rows.n)
        learn = self._isotropic if posterior.structure == "isotropic" else self._full
        part, objective = learn(posterior.changed(minus=before and before.statistics), batch)
        return Step(part, objective, batch.rows.n)

    def _averaging(self, posterior: Gaussian, batch: Examples) -> tuple[Gaussian, float]:
        precision = posterior.precision[0, 0]
        before = posterior.shift.T / precision
        weights = before.copy()
        aggressiveness = 2.0 * self.cost  # C of PA-I is the paper's 2c
        solve_dual(
            batch.rows, batch.targets, aggressiveness, 1.0 / precision, weights, n_threads=self.n_threads
        )
        moved = weights - before
        objective = 0.5 * precision * float((moved * moved).sum())
        if self.cost < np.inf:  # a hard margin leaves no loss
            objective += aggressiveness * batch.targets.loss(batch.rows.decide(weights, self.n_threads))
        shift = (precision * moved).T  # [PA-2]
        return Gaussian(shift, np.zeros_like(shift)), objective

    def _diagonal(self, posterior: Gaussian, batch: Examples) -> tuple[Gaussian, float]:
        known = posterior.moments()
        mean, variance = (array.T.copy() for array in known)
        objective = np.zeros(batch.targets.n_tasks)
        _native.gibbs_diagonal(
            batch.rows, batch.targets, self.cost, self.method, mean, variance, objective, self.n_threads
        )
        precision = 1.0 / variance.T
        moved = (known[0] != mean.T) | (known[1] != variance.T)  # what is the same adds nothing, to the bit
        shift = np.where(moved, mean.T * precision - posterior.shift, 0.0)
        return Gaussian(shift, np.where(moved, precision - posterior.precision, 0.0)), float(objective.sum())

    def _isotropic(self, posterior: Gaussian, batch: Examples) -> tuple[Gaussian, float]:
        mean, variance = posterior.new_moments()
        objective = np.zeros(batch.targets.n_tasks)
        _native.gibbs_isotropic(
            batch.rows, batch.targets, self.cost, self.method, mean.T, variance, objective, self.n_threads
        )
        # One number scales all precisions, so all shifts change with it.
        precision = 1.0 / variance
        part = Gaussian((mean.T * precision).T - posterior.shift, precision - posterior.precision)
        return part, float(objective.sum())

    def _full(self, posterior: Gaussian, batch: Examples) -> tuple[Gaussian, float]:
        mean, covariance = posterior.new_moments(n_threads=self.n_threads)
        del posterior  # free its memory
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
        return Gaussian.unchecked(shift, precision, own=True), float(objective.sum())


def margin_variance(posterior: Gaussian, rows: Rows, n_threads: int = 1) -> Floats:
    """Return xᵀΣx of every row and task, shape (n, T)."""
    if posterior.structure == "full":
        return posterior.quadratic(rows.dense(), n_threads=n_threads)
    columns, rows = rows.compact()
    return rows.squared().decide(posterior.variance(columns).T, n_threads)
