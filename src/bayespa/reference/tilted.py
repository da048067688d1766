"""A Gaussian margin tilted by a hinge loss, in readable Python: the twin of ``native/tilted.h``. [PA-3] [PA-4].

The margin is f ~ N(m, s); the tilt is exp(−2c (L − f)₊ − 2c (f − U)₊). A classifier has the label's sign folded into
f, L = ε and U = ∞; a regressor has L = y − ε and U = y + ε. The tilted density is a mixture of normals, each cut to
an interval. In the coordinate z ≥ 0 that starts at the cut and is scaled by √s, each piece is exp(−t z − z²/2), and all
moments below are sums of positive terms: nothing cancels, and a margin of 1e6 standard deviations keeps its digits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from bayespa.reference.elementary import exp64, log64

INFINITY = math.inf
LOG_SQRT_2PI = 0.9189385332046728
SQRT_HALF_PI = 1.2533141373155003

# Gauss-Legendre nodes and weights on [0, 1]: exact to rounding for exp(-t z - z^2/2) where its exponent spans <= 1.
NODES = (
    0.013046735741414184,
    0.06746831665550773,
    0.1602952158504878,
    0.2833023029353764,
    0.4255628305091844,
    0.5744371694908156,
    0.7166976970646236,
    0.8397047841495122,
    0.9325316833444923,
    0.9869532642585859,
)
WEIGHTS = (
    0.03333567215434403,
    0.07472567457529029,
    0.10954318125799103,
    0.13463335965499817,
    0.14776211235737644,
    0.14776211235737644,
    0.13463335965499817,
    0.10954318125799103,
    0.07472567457529029,
    0.03333567215434403,
)


def exp(x: float) -> float:
    """Exponential function, with the bits of the native one."""
    return float(exp64(x))


def log(x: float) -> float:
    """Natural logarithm, with the bits of the native one."""
    return float(log64(x))


class Piece(NamedTuple):
    """Mass, mean and variance of exp(−t z − z²/2) on an interval that starts at z = 0."""

    log_mass: float
    mean: float
    variance: float


class Tilt(NamedTuple):
    """What a tilt does to N(m, s): log normaliser, (m′ − m)/s and s′/s."""

    log_mass: float
    gain: float
    ratio: float


def half_line(t: float) -> Piece:
    """Moments on [0, ∞); for t < 0 the log mass leaves out its largest part, t²/2, so that callers can cancel it."""
    if t > 1.5:
        # I_{n+1} = n I_{n−1} − t I_n, so r_n = I_n / I_{n−1} = n / (t + r_{n+1}): a continued fraction.
        r = 0.0
        for n in range(16 if t > 6 else 80, 1, -1):
            r = n / (t + r)
        mean = 1 / (t + r)
        return Piece(-log(t + mean), mean, mean * (r - mean))
    half_square = 0.5 * t * t
    if t > -1.5:
        term = total = t  # Σ t^{2k+1} / (2k+1)!!, the series of the normal integral
        for k in range(3, 45, 2):
            term *= t * t / k
            total += term
        scaled = SQRT_HALF_PI - total * exp(-half_square)
    else:
        scaled = 2 * SQRT_HALF_PI - exp(half_line(-t).log_mass - half_square)
    mills = exp(-half_square) / scaled
    mean = mills - t
    return Piece(log(scaled) + (half_square if t >= 0 else 0.0), mean, 1 - mills * mean)


def interval(t: float, width: float) -> Piece:
    """Moments on [0, width], for t ≥ 0."""
    if width == INFINITY:
        return half_line(t)
    decay = width * (t + 0.5 * width)
    if decay < 1:
        i0 = i1 = i2 = 0.0
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            z = node * width
            mass = weight * exp(-z * (t + 0.5 * z))
            i0 += mass
            i1 += mass * node
            i2 += mass * node * node
        mean = i1 / i0
        return Piece(log(i0 * width), width * mean, width * width * (i2 / i0 - mean * mean))
    near, far = half_line(t), half_line(t + width)
    beyond = exp(
        far.log_mass - near.log_mass - decay
    )  # the share of the half line that lies beyond the width
    i0 = 1 - beyond
    far_mean = far.mean + width
    mean = (near.mean - beyond * far_mean) / i0
    square = (near.variance + near.mean * near.mean - beyond * (far.variance + far_mean * far_mean)) / i0
    return Piece(near.log_mass + log(i0), mean, square - mean * mean)


def moments(m: float, s: float, lower: float, upper: float, c: float) -> Tilt:
    """Exact moments of the tilted margin, by moment matching. [PA-3] [PA-4].

    Examples
    --------
    >>> moments(m=0.0, s=1.0, lower=1.0, upper=float("inf"), c=1.0).ratio < 1
    True
    """
    if s == 0:
        return Tilt(-2 * c * (max(lower - m, 0.0) + max(m - upper, 0.0)), 0.0, 1.0)
    root = math.sqrt(s)
    b, left, right, width = 2 * c * root, (lower - m) / root, (upper - m) / root, (upper - lower) / root
    # The origin is the point of the flat part [left, right] that is nearest to the mean.
    if left > 0:
        origin, to_left, to_right = left, 0.0, width
    elif right < 0:
        origin, to_left, to_right = right, -width, 0.0
    else:
        origin, to_left, to_right = 0.0, left, right
    # Where the tilt is too weak to pull the mean to the origin, the peak stays out there and the origin lies lower.
    short = b - abs(origin)
    drop, top = (
        (0.5 * short * short, b * (0.5 * b - abs(origin))) if short < 0 else (0.0, -0.5 * origin * origin)
    )

    # Each piece: its log mass less `top`, where it starts (from the origin), its direction, its moments.
    p = half_line(b - left)
    pieces = [(p.log_mass - (drop + 0.5 * to_left * (left + origin) if b > left else 0.0), to_left, -1.0, p)]
    if upper < INFINITY:
        p = half_line(b + right)
        log_mass = p.log_mass - (drop + 0.5 * to_right * (right + origin) if b > -right else 0.0)
        pieces.append((log_mass, to_right, 1.0, p))
    if to_right > 0:
        p = interval(max(origin, 0.0), to_right)
        pieces.append((p.log_mass - drop, 0.0, 1.0, p))
    if to_left < 0:
        p = interval(max(-origin, 0.0), -to_left)
        pieces.append((p.log_mass - drop, 0.0, -1.0, p))

    largest = max(log_mass for log_mass, *_ in pieces)
    weights = [exp(log_mass - largest) for log_mass, *_ in pieces]
    total = sum(weights)
    shares = [weight / total for weight in weights]
    centres = [start + direction * p.mean for _, start, direction, p in pieces]
    mean = sum(share * centre for share, centre in zip(shares, centres, strict=True))
    ratio = sum(
        share * (p.variance + (centre - mean) * (centre - mean))
        for share, centre, (*_, p) in zip(shares, centres, pieces, strict=True)
    )
    beyond_upper = shares[1] if upper < INFINITY else 0.0
    # d log Z / d m: each side pulls with 2c, in proportion to the mass that lies there.
    return Tilt(top + (largest + log(total) - LOG_SQRT_2PI), 2 * c * (shares[0] - beyond_upper), ratio)
