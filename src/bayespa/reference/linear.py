"""The linear steps of native/linear_step.inc.h, one row and one task at a time.

Arguments are those of the native functions without `n_threads`; arrays are updated in place. NumPy only
vectorises over tasks: the sums of each task run over the features in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespa.reference.tilted import INFINITY, Tilt, hinge, mean_field, moments, squared

if TYPE_CHECKING:
    from bayespa.native.linear import Rows, Wanted, Zones

Floats = NDArray[np.float64]


class Wish(NamedTuple):
    """What a task wants of a row: sign · f in [lower, upper], at this cost."""

    sign: float
    lower: float
    upper: float
    cost: float


def wish(targets: Wanted | Zones, i: int, t: int) -> Wish:
    """Return the wish of task t on row i."""
    cost = float(targets.cost[i])
    if targets.labels is not None:
        return Wish(1.0 if targets.labels[i] == t else -1.0, targets.margin, INFINITY, cost)
    lower, upper = float(targets.lower[i, t]), float(targets.upper[i, t])
    if lower > -INFINITY:
        return Wish(1.0, lower, upper, cost)
    return Wish(-1.0, -upper, INFINITY, cost if upper < INFINITY else 0.0)  # both infinite: nothing is wanted


def entries(rows: Rows, i: int) -> Iterator[tuple[int, float]]:
    """Yield the column and the value of each entry of row i."""
    for j in range(rows.indptr[i], rows.indptr[i + 1]):
        yield int(rows.indices[j]), float(rows.values[j])


def entries_and_bias(rows: Rows, i: int) -> list[tuple[int, float]]:
    """Return the entries of row i, the bias last."""
    return [*entries(rows, i), (rows.n_columns, rows.bias)]


def row_norm(rows: Rows, i: int) -> float:
    """Return ‖x‖² of row i, the bias included."""
    norm = rows.bias * rows.bias
    for _, x in entries(rows, i):
        norm += x * x
    return norm


def project(rows: Rows, i: int, weights: Floats) -> Floats:
    """Return wᵀx of row i, for every task."""
    f: Floats = rows.bias * weights[-1]
    for column, x in entries(rows, i):
        f += x * weights[column]
    return f


def deposit(rows: Rows, i: int, step: Floats, scale: float, weights: Floats) -> None:
    """Add scale · step x to the weights, for every task."""
    weights[-1] += scale * rows.bias * step
    for column, x in entries(rows, i):
        weights[column] += scale * x * step


def decide(rows: Rows, weights: Floats, out: Floats) -> None:
    """Set out[i, t] = wᵀx of every row and task."""
    for i in range(rows.n):
        out[i] = project(rows, i, weights)


def aggressive(
    rows: Rows,
    targets: Wanted | Zones,
    order: NDArray[np.int64],
    aggressiveness: float,
    squared: bool,
    variance: float,
    weights: Floats,
    dual: Floats | None,
    drift: Floats | None,
    seen: int,
    loss: Floats,
    change: Floats,
) -> None:
    """Online PA, or one sweep of dual coordinate descent. [PA-1] [PA-2]."""
    change[:] = 0.0
    for visit, i in enumerate(order.tolist()):
        gram = variance * row_norm(rows, i)  # G_ii
        f = project(rows, i, weights)
        step = np.zeros(targets.n_tasks)
        for t in range(targets.n_tasks):
            sign, lower, upper, cost = wish(targets, i, t)
            before = 0.0 if dual is None else float(dual[i, t])
            margin = sign * float(f[t])
            loss[t] += cost * hinge(margin, lower, upper)
            if gram == 0 or cost == 0:
                continue
            rest = margin - gram * before  # the margin without this example's own contribution
            limit = aggressiveness * cost
            soft = gram + 0.5 / limit if squared else gram
            after = 0.0  # [PA-1]: the step that just meets the margin, cut off at C
            if rest < lower:
                after = (lower - rest) / soft
            if rest > upper:
                after = (upper - rest) / soft
            if not squared:
                after = min(max(after, -limit), limit)
            step[t] = sign * (after - before)
            if dual is not None:
                dual[i, t] = after
            change[t] = max(change[t], gram * abs(after - before))
        if step.any():
            deposit(rows, i, step, variance, weights)
            if drift is not None:
                deposit(rows, i, step, variance * (seen + visit), drift)


TILTS = {"moments": moments, "augmented": mean_field, "squared": squared}


def tilt_wish(w: Wish, f: float, s: float, cost: float, method: str) -> Tilt:
    """Tilt a margin by a wish; 38 standard deviations inside its zone the tilt is 1 in double precision."""
    if w.cost == 0:
        return Tilt(0.0, 0.0, 1.0)
    m = w.sign * f
    room = min(m - w.lower, w.upper - m)
    if method == "moments" and room > 0 and room * room > 38.0 * 38.0 * s:
        return Tilt(0.0, 0.0, 1.0)
    tilted = TILTS[method](m, s, w.lower, w.upper, cost * w.cost)
    return tilted._replace(gain=tilted.gain * w.sign)


def gibbs_diagonal(
    rows: Rows,
    targets: Wanted | Zones,
    cost: float,
    method: str,
    mean: Floats,
    variance: Floats,
    objective: Floats,
) -> None:
    """Update μ and the diagonal of Σ, both (D + 1, T), row by row. [PA-3] [PA-4]."""
    for i in range(rows.n):
        f, s, gain, shrink = np.zeros((4, targets.n_tasks))
        for column, x in entries_and_bias(rows, i):
            f += x * mean[column]
            s += x * x * variance[column]
        for t in range(targets.n_tasks):
            tilted = tilt_wish(wish(targets, i, t), float(f[t]), float(s[t]), cost, method)
            objective[t] -= tilted.log_mass
            gain[t] = tilted.gain
            shrink[t] = (tilted.ratio - 1) / s[t] if s[t] > 0 else 0.0
        for column, x in entries_and_bias(rows, i):
            pull = variance[column] * x
            mean[column] += pull * gain  # [PA-3] μ′
            variance[column] += pull * pull * shrink  # [PA-3] the diagonal of Σ′


def gibbs_isotropic(
    rows: Rows,
    targets: Wanted | Zones,
    cost: float,
    method: str,
    mean: Floats,
    variance: Floats,
    objective: Floats,
) -> None:
    """Update μ (D + 1, T) and the variance (T,) of all weights of a task, row by row. [PA-3] [PA-4]."""
    n_weights = rows.n_columns + (rows.bias != 0)
    for i in range(rows.n):
        norm, f = row_norm(rows, i), project(rows, i, mean)
        step = np.zeros(targets.n_tasks)
        for t in range(targets.n_tasks):
            tilted = tilt_wish(wish(targets, i, t), float(f[t]), float(variance[t]) * norm, cost, method)
            objective[t] -= tilted.log_mass
            step[t] = variance[t] * tilted.gain
            # Only one direction shrinks: take the isotropic Gaussian with the same trace.
            variance[t] *= 1 + (tilted.ratio - 1) / n_weights
        deposit(rows, i, step, 1.0, mean)


def gibbs_full(
    rows: Rows,
    targets: Wanted | Zones,
    cost: float,
    method: str,
    mean: Floats,
    covariance: Floats,
    shift: Floats,
    precision: Floats,
    objective: Floats,
) -> None:
    """Update μ (T, D + 1) and Σ (T, D + 1, D + 1); add to h and P what the rows contribute. [PA-3] [PA-4]."""
    for t in range(targets.n_tasks):
        mu, sigma, h, p = mean[t], covariance[t], shift[t], precision[t]
        for i in range(rows.n):
            row = entries_and_bias(rows, i)
            f = s = 0.0
            direction = np.zeros_like(mu)  # Σx
            for column, x in row:
                direction += x * sigma[column]
                f += x * float(mu[column])
            for column, x in row:
                s += x * float(direction[column])
            tilted = tilt_wish(wish(targets, i, t), f, s, cost, method)
            objective[t] -= tilted.log_mass
            if s <= 0 or (tilted.gain == 0 and tilted.ratio == 1):
                continue
            shrink = (tilted.ratio - 1) / s
            site = (1 / tilted.ratio - 1) / s  # Sherman-Morrison: P′ = P + site x xᵀ
            pull = tilted.gain + site * (f + s * tilted.gain)  # h′ = h + pull x
            mu += direction * tilted.gain  # [PA-3]
            sigma += shrink * (direction[:, None] * direction)  # [PA-3]
            for a, x in row:
                h[a] += pull * x
                for b, z in row:
                    p[a, b] += site * (x * z)


def tilt(m: Floats, s: Floats, lower: Floats, upper: Floats, cost: float, method: str, out: Floats) -> None:
    """Tilt independent margins; out is (n, 3)."""
    how = TILTS[method]
    for i in range(len(m)):
        out[i] = how(float(m[i]), float(s[i]), float(lower[i]), float(upper[i]), cost)
