"""A Gaussian margin tilted by a hinge loss: the twin of ``native/tilted.h``. [PA-3] [PA-4].

The margin is f ~ N(m, s); the tilt is exp(−2c (L − f)₊ − 2c (f − U)₊). For a classifier the label's sign is
part of f, L = ε and U = ∞; a regressor has L = y − ε and U = y + ε. The tilted density is a mixture of
normals, each cut to an interval. In the coordinate z ≥ 0 that starts at the cut and is scaled by √s, each
piece is exp(−t z − z²/2), and all moments below are sums of positive terms: nothing cancels, and a margin of
1e6 standard deviations keeps its digits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from bayespa.reference.elementary import exp64, log64

INFINITY = math.inf
LOG_SQRT_2PI = 0.9189385332046728
SQRT_HALF_PI = 1.2533141373155003

# Gauss-Legendre on [0, 1]: exact to rounding for exp(-t z - z²/2) where its exponent spans at most 1.
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


class TiltedPiece(NamedTuple):
    """Mass, mean and variance of exp(−t z − z²/2) on an interval that starts at z = 0."""

    log_mass: float
    mean: float
    variance: float


class Tilt(NamedTuple):
    """What a tilt does to N(m, s): log normaliser, (m′ − m)/s and s′/s."""

    log_mass: float
    gain: float
    ratio: float


def far_half_line(t: float) -> TiltedPiece:
    """Moments on [0, ∞), t > 1.5: with I_n the n-th, r_n = I_n / I_{n−1} = n / (t + r_{n+1})."""
    r = 0.0
    for n in range(16 if t > 6 else 80, 1, -1):
        r = n / (t + r)
    mean = 1 / (t + r)
    return TiltedPiece(-log(t + mean), mean, mean * (r - mean))


def half_line(t: float) -> TiltedPiece:
    """Moments on [0, ∞); for t < 0 the log mass omits t²/2, its largest part, which callers cancel."""
    if t > 1.5:
        return far_half_line(t)
    half_square = 0.5 * t * t
    if t > -1.5:
        term = total = t  # Σ t^{2k+1} / (2k+1)!!, the series of the normal integral
        for k in range(3, 45, 2):
            term *= t * t / k
            total += term
        scaled = SQRT_HALF_PI - total * exp(-half_square)
    else:
        scaled = 2 * SQRT_HALF_PI - exp(far_half_line(-t).log_mass - half_square)
    mills = exp(-half_square) / scaled
    mean = mills - t
    return TiltedPiece(log(scaled) + (half_square if t >= 0 else 0.0), mean, 1 - mills * mean)


def interval(t: float, width: float) -> TiltedPiece:
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
        return TiltedPiece(log(i0 * width), width * mean, width * width * (i2 / i0 - mean * mean))
    near, far = half_line(t), half_line(t + width)
    beyond = exp(far.log_mass - near.log_mass - decay)  # the share that lies beyond the width
    i0 = 1 - beyond
    far_mean = far.mean + width
    mean = (near.mean - beyond * far_mean) / i0
    square = (near.variance + near.mean * near.mean - beyond * (far.variance + far_mean * far_mean)) / i0
    return TiltedPiece(near.log_mass + log(i0), mean, square - mean * mean)


def hinge(f: float, lower: float, upper: float) -> float:
    """How far f lies outside of [lower, upper]."""
    return lower - f if f < lower else f - upper if f > upper else 0.0


class Zone(NamedTuple):
    """The flat part [left, right] of the tilt in standard deviations from the mean, and from the origin.

    The origin is its point nearest to the mean.
    """

    left: float
    right: float
    origin: float
    to_left: float
    to_right: float


def zone_of(m: float, root: float, lower: float, upper: float) -> Zone:
    """Return where [lower, upper] lies for N(m, root²)."""
    left, right, width = (lower - m) / root, (upper - m) / root, (upper - lower) / root
    if left > 0:
        return Zone(left, right, left, 0.0, width)
    if right < 0:
        return Zone(left, right, right, -width, 0.0)
    return Zone(left, right, 0.0, left, right)


def moments(m: float, s: float, lower: float, upper: float, c: float) -> Tilt:
    """Exact moments of the tilted margin. [PA-3] [PA-4].

    Examples
    --------
    >>> moments(m=0.0, s=1.0, lower=1.0, upper=float("inf"), c=1.0).ratio < 1
    True
    """
    if s == 0:
        return Tilt(-2 * c * hinge(m, lower, upper), 0.0, 1.0)
    root = math.sqrt(s)
    b = 2 * c * root
    left, right, origin, to_left, to_right = zone_of(m, root, lower, upper)
    # If the tilt is too weak to pull the mean to the origin, the peak stays outside, above the origin.
    drop, top = 0.0, -0.5 * origin * origin
    missing = b - abs(origin)
    if missing < 0:
        drop, top = 0.5 * missing * missing, b * (0.5 * b - abs(origin))

    # For each piece: its log mass minus `top`, its start, its direction from there, its moments.
    p = half_line(b - left)  # below L
    pieces = [(p.log_mass - (drop + 0.5 * to_left * (left + origin) if b > left else 0.0), to_left, -1.0, p)]
    if upper < INFINITY:
        p = half_line(b + right)  # above U
        log_mass = p.log_mass - (drop + 0.5 * to_right * (right + origin) if b > -right else 0.0)
        pieces.append((log_mass, to_right, 1.0, p))
    if to_right > 0:
        p = interval(max(origin, 0.0), to_right)  # the flat part on the right of the origin
        pieces.append((p.log_mass - drop, 0.0, 1.0, p))
    if to_left < 0:
        p = interval(max(-origin, 0.0), -to_left)  # and on the left
        pieces.append((p.log_mass - drop, 0.0, -1.0, p))

    largest = max(log_mass for log_mass, *_ in pieces)
    shares = [exp(log_mass - largest) for log_mass, *_ in pieces]
    total = mean = ratio = 0.0
    for share in shares:  # not sum(): newer Pythons compensate its rounding
        total += share
    shares = [share / total for share in shares]
    centres = [start + direction * p.mean for _, start, direction, p in pieces]
    for share, centre in zip(shares, centres, strict=True):
        mean += share * centre
    for share, centre, (*_, p) in zip(shares, centres, pieces, strict=True):
        ratio += share * (p.variance + (centre - mean) * (centre - mean))
    # d log Z / d m: each side pulls with 2c, in proportion to the mass that lies there. The tilt is
    # log-concave, so only rounding can make a variance grow.
    above = shares[1] if upper < INFINITY else 0.0
    return Tilt(top + (largest + log(total) - LOG_SQRT_2PI), 2 * c * (shares[0] - above), min(ratio, 1.0))


def squared(m: float, s: float, lower: float, upper: float, c: float) -> Tilt:
    """Tilt by the squared hinge exp(−2c miss²): Bayes' rule where the mean misses the zone. [PA-5].

    Examples
    --------
    A likelihood as precise as the prior goes half way to meet a miss of 1, and halves the variance:

    >>> squared(m=0.0, s=1.0, lower=1.0, upper=float("inf"), c=0.25)[1:]
    (0.5, 0.5)
    """
    miss = lower - m if m < lower else upper - m if m > upper else 0.0
    if miss == 0.0:
        return Tilt(0.0, 0.0, 1.0)
    noise = 0.25 / c
    total = s + noise
    return Tilt(-0.5 * (log(total / noise) + miss * miss / total), miss / total, noise / total)


class Bound:
    """What the augmented mean field maximises, over u = (m′ − m)/√s and log r, r² = s′/s.

    Holds its gradient (u, r) and minus its Hessian (uu, ur, rr) at one point. The bound is strictly concave.
    """

    def __init__(self, zone: Zone, k: float, u: float, x: float, r: float, two_sided: bool) -> None:
        v = r * r
        self.u, self.r, self.uu, self.ur, self.rr = -u, 1 - v, 1.0, 0.0, 2 * v
        self._add_hinge(zone.to_left - x, 1.0, k, v)
        if two_sided:
            self._add_hinge(x - zone.to_right, -1.0, k, v)

    def _add_hinge(self, z: float, falls: float, k: float, v: float) -> None:
        """Add −k (z + √(z² + v)), a hinge with λ integrated out [MED-3], whose z falls or grows in u."""
        n = math.sqrt(z * z + v)
        share, precision = z / n, k * v / n
        self.u += falls * (k * reach(z, n, v) / n)
        self.r -= precision
        self.uu += precision / (n * n)
        self.ur += falls * (precision * share / n)
        self.rr += precision * (1 + share * share)


def reach(z: float, n: float, v: float) -> float:
    """Return n + z for n = √(z² + v), without cancellation for z < 0."""
    return n + z if z > 0 else v / (n - z)


def mean_field(m: float, s: float, lower: float, upper: float, c: float) -> Tilt:
    """Return the best Gaussian of the augmented mean field; `log_mass` bounds the exact one from below.

    There, E[1/λ] = 1 / (c √(E[z]² + s′)) for each hinge (z)₊ [MED-2]. Alternating between λ and the Gaussian
    converges too slowly where the tilt is strong, so this is Newton's method on the bound.

    Examples
    --------
    >>> exact, bound = (f(0.0, 1.0, 1.0, float("inf"), 1.0) for f in (moments, mean_field))
    >>> bound.log_mass < exact.log_mass
    True
    """
    if s == 0:
        return moments(m, s, lower, upper, c)
    root = math.sqrt(s)
    k = c * root
    zone = zone_of(m, root, lower, upper)
    two_sided = upper < INFINITY
    # u and x = u − origin separately: each keeps its digits when it is small.
    u, x, r = 0.0, -zone.origin, 1.0
    bound = Bound(zone, k, u, x, r, two_sided)
    for _ in range(100):
        determinant = bound.uu * bound.rr - bound.ur * bound.ur
        step_u = (bound.rr * bound.u - bound.ur * bound.r) / determinant
        step_r = (bound.uu * bound.r - bound.ur * bound.u) / determinant
        slope = bound.u * step_u + bound.r * step_r
        size = 4 / abs(step_r) if abs(step_r) > 4 else 1.0
        next_r = 0.0
        while size > 1e-18:  # shorten the step until the slope along it keeps its sign
            next_r = r * exp(size * step_r)
            bound = Bound(zone, k, u + size * step_u, x + size * step_u, next_r, two_sided)
            if bound.u * step_u + bound.r * step_r >= -0.1 * slope:
                break
            size *= 0.5
        u, x, r = u + size * step_u, x + size * step_u, next_r
        if slope < 1e-13:  # in units of s′; this step has squared the error
            break
    v, below, above = r * r, zone.to_left - x, x - zone.to_right
    loss = k * reach(below, math.sqrt(below * below + v), v)
    if two_sided:
        loss += k * reach(above, math.sqrt(above * above + v), v)
    return Tilt(-0.5 * (v - 1 - log(v) + u * u) - loss, u / root, v)
