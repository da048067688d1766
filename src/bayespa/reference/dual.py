"""The dual of native/dual.inc.h, one dual variable at a time."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def _inner(a: Floats, b: Floats) -> float:
    """Return the inner product, added up from the first entry to the last."""
    return float(np.cumsum(a * b)[-1])


def solve_dual(
    mean: Floats,
    covariance: Floats,
    x: Floats,
    labels: NDArray[np.float32],
    *,
    margin: float,
    bound: float,
    regression: bool,
    tol: float = 1e-3,
    max_sweeps: int = 1000,
) -> tuple[Floats, Floats]:
    """Twin of :func:`bayespa.native.dual.solve_dual`."""
    dual, mean = np.zeros(labels.shape), mean.copy()
    for t, w in enumerate(mean):
        directions = np.array([[_inner(row, x_d) for row in covariance[t]] for x_d in x])
        curvature = np.array([_inner(direction, x_d) for direction, x_d in zip(directions, x, strict=True)])
        for _ in range(max_sweeps):
            largest = 0.0
            for d in np.flatnonzero(~np.isnan(labels[:, t]) & (curvature > 0.0)):
                y = float(labels[d, t])
                target, tube = (y, margin) if regression else (margin * y, 0.0)
                low, high = (-bound, bound) if regression else (min(bound * y, 0.0), max(bound * y, 0.0))
                gap = target - _inner(w, x[d]) + dual[d, t] * curvature[d]
                wanted = np.sign(gap) * max(abs(gap) - tube, 0.0) / curvature[d]
                change = min(max(wanted, low), high) - dual[d, t]
                dual[d, t] += change
                w += change * directions[d]
                largest = max(largest, abs(change))
            if largest <= tol * bound:
                break
    return dual, mean
