"""Tilted margins [PA-3] [PA-4] against exact integrals, and their mean field against its own equations."""

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from numpy.testing import assert_allclose, assert_array_equal

from bayespa.native.linear import tilt
from bayespa.reference import linear as reference


def random_tilts(n, seed=0):
    """(m, s, lower, upper, c) of every size: near and far, flat and steep, zones from nothing to infinity."""
    rng = np.random.default_rng(seed)
    m = rng.choice([-1, 1], n) * 10 ** rng.uniform(-6, 6, n)
    s, c = 10 ** rng.uniform(-6, 6, n), 10 ** rng.uniform(-4, 4, n)
    near = m + 3 * np.sqrt(s) * rng.standard_normal(n)
    balanced = m + 2 * c * s + np.sqrt(s) * rng.standard_normal(n)  # where the tilted mean just gets there
    kinds = [np.ones(n), np.zeros(n), near, np.where(np.abs(balanced) < 1e6, balanced, 1.0)]
    lower = np.choose(rng.integers(4, size=n), kinds)
    width = np.choose(
        rng.integers(3, size=n), [np.full(n, np.inf), 10 ** rng.uniform(-12, 7, n), np.zeros(n)]
    )
    return np.column_stack([m, s, lower, lower + width, c])


EXTREMES = [
    (sign * margin, s, 1.0, upper, c)
    for sign in (-1, 1)
    for margin in (0.0, 1.0, 1e6)
    for s in (1e-6, 1.0, 1e6)
    for c in (1e-4, 1.0, 1e4)
    for upper in (np.inf, 1.0 + 1e-9, 3.0)
]


def tail(a):
    """∫ 1, u and u² times the standard normal density over (a, ∞)."""
    density, mass = mpmath.npdf(a), mpmath.erfc(a / mpmath.sqrt(2)) / 2
    return mpmath.matrix([mass, density, mass + a * density])


def flat(a, b):
    """The same over (a, b), from the tails on the side where they are small."""
    if a + b > 0:
        return tail(a) - (tail(b) if b < mpmath.inf else mpmath.zeros(3, 1))
    mass, first, second = tail(-b) - tail(-a)
    return mpmath.matrix([mass, -first, second])


def exact_tilt(m, s, lower, upper, c):
    """Log normaliser, (m′ − m)/s and s′/s by 150 digits of erfc: each side is a shifted normal, cut off."""
    with mpmath.workdps(150):
        m, s, lower, upper, c = map(mpf, (m, s, lower, upper, c))
        root = mpmath.sqrt(s)
        b, left, right = 2 * c * root, (lower - m) / root, (upper - m) / root
        mass, first, second = tail(b - left)
        parts = [(mpmath.exp(-b * left + b * b / 2), b, (mass, -first, second)), (1, 0, flat(left, right))]
        if upper < mpmath.inf:
            parts.append((mpmath.exp(b * right + b * b / 2), -b, tail(b + right)))
        total = sum(w * x[0] for w, _, x in parts)
        mean = sum(w * (k * x[0] + x[1]) for w, k, x in parts) / total
        square = sum(w * (k * k * x[0] + 2 * k * x[1] + x[2]) for w, k, x in parts) / total
        return float(mpmath.log(total)), float(mean / root), float(square - mean * mean)


def assert_tilts(cases, exact, tol=1e-8):
    log_mass, gain, ratio = np.array([tilt(*case[:4], cost=case[4]) for case in cases]).T
    exact_log_mass, exact_gain, exact_ratio = np.array(exact).T
    cost = np.array(cases)[:, 4]
    assert np.all(np.abs(log_mass - exact_log_mass) <= tol * np.maximum(1, np.abs(exact_log_mass)))
    assert np.all(np.abs(gain - exact_gain) <= tol * 2 * cost)  # 2c is the largest that a gain can be
    assert_allclose(ratio, exact_ratio, rtol=tol)


def test_moments_are_exact_for_extreme_margins_and_scales():
    cases = [*EXTREMES, *random_tilts(500).tolist()]
    assert_tilts(cases, [exact_tilt(*case) for case in cases])


def test_moments_equal_quadrature():
    """No closed form: the integral itself."""
    cases = [
        (0.3, 0.5, 1.0, np.inf, 1.0),
        (-4.0, 2.0, 1.0, np.inf, 0.7),
        (5.0, 1.0, 1.0, np.inf, 3.0),
        (0.3, 0.5, 1.0, 1.2, 1.0),
        (-2.0, 4.0, -0.5, 0.5, 0.25),
        (3.0, 0.1, 0.0, 1.0, 10.0),
    ]
    exact = []
    with mpmath.workdps(20):
        for m, s, lower, upper, c in cases:
            root = mpmath.sqrt(s)

            def density(f, m=m, s=s, lower=lower, upper=upper, c=c):
                loss = max(lower - f, 0) + (max(f - upper, 0) if upper < np.inf else 0)
                return mpmath.npdf(f, m, mpmath.sqrt(s)) * mpmath.exp(-2 * c * loss)

            ends = sorted([m - 40 * root, m + 40 * root, m, lower, *([upper] if upper < np.inf else [])])
            mass, mean, square = (
                mpmath.quad(lambda f, k=k, m=m: (f - m) ** k * density(f), ends) for k in (0, 1, 2)
            )
            mean, square = mean / mass, square / mass
            exact.append((float(mpmath.log(mass)), float(mean / s), float((square - mean * mean) / s)))
    assert_tilts(cases, exact, tol=1e-12)


def test_a_certain_margin_pays_its_loss():
    assert_array_equal(tilt([-3.0, 0.5, 4.0], 0.0, 0.0, 1.0, 2.0), [[-12, 0, 1], [0, 0, 1], [-12, 0, 1]])


@pytest.mark.parametrize("method", ["moments", "augmented"])
def test_a_tilt_shrinks_the_variance_and_pulls_towards_the_zone(method):
    m, s, lower, upper, c = random_tilts(3000, seed=1).T
    for i in range(len(m)):
        log_mass, gain, ratio = tilt(m[i], s[i], lower[i], upper[i], c[i], method)
        assert log_mass <= 0
        assert 0 < ratio <= 1
        assert abs(gain) <= 2 * c[i]
        assert gain >= 0 or m[i] > lower[i]
        assert gain <= 0 or m[i] < upper[i]


def test_the_squared_hinge_is_the_rule_of_bayes_where_the_mean_misses():
    """A Gaussian likelihood of precision 4c at the end of the zone that is missed."""
    for m, s, lower, upper, c in random_tilts(3000, seed=5):
        log_mass, gain, ratio = tilt(m, s, lower, upper, c, "squared")
        if lower <= m <= upper:
            assert (log_mass, gain, ratio) == (0, 0, 1)
            continue
        edge = lower if m < lower else upper
        variance = 1 / (1 / s + 4 * c)
        mean = variance * (m / s + 4 * c * edge)
        assert_allclose(
            [m + s * gain, s * ratio], [mean, variance], rtol=1e-9, atol=1e-12 * max(abs(m), 1e-6)
        )
        density = -0.5 * (np.log1p(4 * c * s) + (edge - m) ** 2 / (s + 1 / (4 * c)))
        assert_allclose(log_mass, density, rtol=1e-9, atol=1e-12)


def test_the_mean_field_bound_lies_below_the_evidence():
    cases = random_tilts(3000, seed=2)
    bound = np.array([tilt(*case[:4], cost=case[4], method="augmented")[0] for case in cases])
    exact = np.array([tilt(*case[:4], cost=case[4])[0] for case in cases])
    assert np.all(bound <= exact + 1e-12 * np.maximum(1, np.abs(exact)))


@pytest.mark.parametrize("sides", [1, 2])
def test_the_mean_field_is_a_fixed_point(sides):
    """Given q(w), E[1/λ] = 1/(c √(ζ̄² + s′)) [MED-2]; given that, q(w) is the Gaussian it was."""
    rng = np.random.default_rng(3)
    n = 2000
    m, s, c = 10 * rng.standard_normal(n), 10 ** rng.uniform(-3, 2, n), 10 ** rng.uniform(-2, 2, n)
    lower = rng.standard_normal(n)
    upper = lower + 10 ** rng.uniform(-3, 1, n) if sides == 2 else np.full(n, np.inf)
    fixed = [tilt(*case, method="augmented") for case in zip(m, s, lower, upper, c, strict=True)]
    _, gain, ratio = np.array(fixed).T
    mean, variance = m + s * gain, s * ratio
    below = c / np.sqrt((lower - mean) ** 2 + variance)  # c² E[1/λ]
    above = c / np.sqrt((mean - upper) ** 2 + variance) if sides == 2 else np.zeros(n)
    assert_allclose(1 / variance, 1 / s + below + above, rtol=1e-8)
    pull = m / s + c + below * lower
    if sides == 2:
        pull += above * upper - c
    assert_allclose(mean, variance * pull, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("method", ["moments", "augmented", "squared"])
def test_native_repeats_the_twin_bit_for_bit(isa, method):
    twin = np.empty((1, 3))
    for *case, cost in [*random_tilts(200, seed=4).tolist(), *EXTREMES[::3]]:
        reference.tilt(*(np.array([a]) for a in case), cost, method, twin)
        assert_array_equal(tilt(*case, cost, method), twin[0])
