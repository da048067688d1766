"""Draws against their distributions. Seeds are fixed: what passes once passes always."""

import numpy as np
import pytest
from scipy import stats

from bayespa.native import random

N = 20_000
KEY = random.key_from_seed(20_240_501)
ADDRESSES = random.grid(N)


def p_value(draws, distribution):
    return stats.kstest(draws, distribution.cdf).pvalue


def z_score(values, mean):
    return (values.mean() - mean) / (values.std() / np.sqrt(len(values)))


def test_uniform():
    u = random.uniform(KEY, ADDRESSES)
    assert p_value(u, stats.uniform) > 1e-3
    low_bits = (u * 2**52).astype(np.uint64) % 64  # the last bits are as random as the first
    assert stats.chisquare(np.bincount(low_bits.astype(int), minlength=64)).pvalue > 1e-3


def test_normal():
    z = random.normal(KEY, random.grid(10 * N))
    assert p_value(z, stats.norm) > 1e-3
    for power, moment in [(1, 0), (2, 1), (3, 0), (4, 3), (6, 15)]:
        assert abs(z_score(z**power, moment)) < 4
    tail = (np.abs(z) > 4).sum()
    assert stats.binomtest(tail, len(z), 2 * stats.norm.sf(4)).pvalue > 1e-3


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_neighbours_are_independent(axis):
    addresses = np.zeros((N, 3), np.uint32)
    addresses[:, axis] = np.arange(N)
    z = random.normal(KEY, addresses)
    for lag in (1, 2, 4, 256):
        assert abs(z_score(z[lag:] * z[:-lag], 0)) < 4
    other = random.normal(random.subkey(KEY, 1), addresses)
    assert abs(z_score(z * other, 0)) < 4


@pytest.mark.parametrize("shape", [0.05, 0.3, 0.999, 1.0, 1.5, 7.0, 300.0, 1e6, 1.6e7, 1.8e7, 1e10])
def test_gamma(shape):
    g = random.gamma(KEY, ADDRESSES, shape)
    assert p_value(g, stats.gamma(shape)) > 1e-3
    assert abs(z_score(g, shape)) < 4


@pytest.mark.parametrize("shape", [1e-3, 0.01, 0.5, 1.0, 20.0])
def test_log_gamma(shape):
    log_g = random.log_gamma(KEY, ADDRESSES, shape)
    assert p_value(log_g, stats.loggamma(shape)) > 1e-3
    np.testing.assert_allclose(np.exp(log_g), random.gamma(KEY, ADDRESSES, shape), rtol=1e-12, atol=5e-324)


def test_log_gamma_of_tiny_shapes_is_finite_and_exponential():
    # log(u) / shape dominates: -shape log(g) is exponential in the limit.
    log_g = random.log_gamma(KEY, ADDRESSES, 1e-12)
    assert p_value(-1e-12 * log_g, stats.expon) > 1e-3


@pytest.mark.parametrize(
    ("a", "b"), [(0.1, 3.0), (0.5, 0.5), (1.0, 1.0), (1.0, 7.0), (200.0, 3.0), (1e7, 1e5)]
)
def test_beta(a, b):
    x = random.beta(KEY, ADDRESSES, a, b)
    assert p_value(x, stats.beta(a, b)) > 1e-3
    assert abs(z_score(x, a / (a + b))) < 4


@pytest.mark.parametrize(("a", "b"), [(1e-3, 1e-3), (1e-3, 3e-3), (1e-3, 1.0), (0.02, 1e-3)])
def test_beta_with_tiny_parameters(a, b):
    # Nearly all mass rounds to 0 or 1, so compare the masses of intervals that reach down to 1e-300.
    x = random.beta(KEY, ADDRESSES, a, b)
    edges = np.array([1e-300, 1e-100, 1e-10, 0.5, 1 - 1e-10])
    observed = np.bincount(np.searchsorted(edges, x, side="right"), minlength=6)
    cdf = stats.beta(a, b).cdf(edges)
    expected = N * np.diff(np.concatenate([[0], cdf, [1]]))
    kept = expected > 5
    chi_square = np.sum((observed[kept] - expected[kept]) ** 2 / expected[kept])
    assert stats.chi2.sf(chi_square, kept.sum() - 1) > 1e-3
    assert np.all((x >= 0) & (x <= 1))


@pytest.mark.parametrize(
    ("mean", "shape"),
    [(1.0, 1.0), (0.01, 1.0), (1e-6, 1.0), (30.0, 1.0), (1e3, 1.0), (1.0, 1e-2), (2.0, 1e12)],
)
def test_inverse_gaussian(mean, shape):
    x = random.inverse_gaussian(KEY, ADDRESSES, mean, shape)
    assert p_value(x, stats.invgauss(mean / shape, scale=shape)) > 1e-3
    assert abs(z_score(1 / x, 1 / mean + 1 / shape)) < 4
    if mean < 10 * shape:  # beyond that the mean of a sample is that of a few huge draws
        assert abs(z_score(x, mean)) < 4


@pytest.mark.parametrize(("mean", "shape"), [(1e20, 1.0), (1e200, 3.0), (1e308, 1e-10), (1e300, 1e-300)])
def test_inverse_gaussian_of_huge_mean_is_levy(mean, shape):
    x = random.inverse_gaussian(KEY, ADDRESSES, mean, shape)
    assert p_value(x, stats.levy(scale=shape)) > 1e-3


def test_inverse_gaussian_of_huge_shape_is_its_mean():
    x = random.inverse_gaussian(KEY, ADDRESSES, [3.0], 1e300)
    np.testing.assert_allclose(x, 3.0, rtol=1e-15)
