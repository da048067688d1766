import mpmath
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayespa import _native
from bayespa.native import elementary
from bayespa.reference import elementary as reference

DOUBLE = ["exp64", "log64", "digamma", "exp_digamma", "log_gamma"]
SINGLE = ["exp32", "exp_digamma32"]


def native(name, x, n_threads=1):
    out = np.empty_like(x)
    getattr(_native, name)(x, out, n_threads)
    return out


def any_bits(name, n=50_000):
    """Every kind of number: any bit pattern (NaN, infinite, subnormal, negative) and the usual range."""
    rng = np.random.default_rng(0)
    if name in SINGLE:
        anything = rng.integers(2**32, size=n, dtype=np.uint32).view(np.float32)
    else:
        anything = rng.integers(2**64, size=n, dtype=np.uint64).view(np.float64)
    usual = [rng.uniform(-750, 712, n), rng.uniform(0, 30, n), rng.uniform(0.6, 1.5, n), [0, -0.0, 1, 2, 10]]
    return np.concatenate([anything, *usual], dtype=anything.dtype, casting="same_kind")


def errors(name, exact, x):
    """Absolute errors as mpmath numbers, since that of a subnormal is no double, and the size of exact(x)."""
    with mpmath.workdps(40):
        truth = [exact(mpmath.mpf(v)) for v in x.tolist()]
        error = [abs(mpmath.mpf(y) - t) for y, t in zip(native(name, x).tolist(), truth, strict=True)]
        return np.array(error, object), np.array([float(abs(t)) for t in truth])


@pytest.mark.parametrize("name", DOUBLE + SINGLE)
def test_native_repeats_the_twin_bit_for_bit(isa, name):
    x = any_bits(name)
    y, twin = native(name, x), getattr(reference, name)(x)
    assert_array_equal(y, twin)  # equal values and NaN at the same places
    assert_array_equal(np.signbit(y[y == 0]), np.signbit(twin[y == 0]))


@pytest.mark.parametrize("name", DOUBLE + SINGLE)
@pytest.mark.parametrize("n_threads", [2, 3, 7])
def test_threads_do_not_change_the_bits(name, n_threads):
    x = any_bits(name)
    assert_array_equal(native(name, x, n_threads), native(name, x))


@pytest.mark.parametrize("name", DOUBLE + SINGLE)
def test_the_result_may_overwrite_the_argument(isa, name):
    x = any_bits(name)
    y = x.copy()
    getattr(_native, name)(y, y)
    assert_array_equal(y, native(name, x))


def test_exp64_is_within_one_ulp():
    x = np.random.default_rng(1).uniform(-745.2, 709.78, 5000)
    error, exact = errors("exp64", mpmath.exp, np.append(x, x / 1000))
    assert np.max(error / np.spacing(exact)) < 1.0  # subnormal results (x < -708) included


def test_exp64_at_the_ends_of_its_range():
    x = np.array([0.0, -0.0, -745.1, -745.2, -1e308, -np.inf, 709.7827128933841, 1e308, np.inf, np.nan])
    assert_array_equal(native("exp64", x), [1, 1, 5e-324, 0, 0, 0, np.inf, np.inf, np.inf, np.nan])
    assert np.isfinite(native("exp64", np.array([709.782712893384])))


def test_log64_is_within_one_ulp():
    rng = np.random.default_rng(2)
    x = np.concatenate(
        [
            rng.integers(1, 0x7FF << 52, 3000).view(np.float64),  # any positive finite number
            rng.uniform(0.5, 2, 3000),
            1 + rng.uniform(-1, 1, 1000) * 2.0 ** -rng.integers(1, 52, 1000),  # where log(x) is near 0
        ]
    )
    error, exact = errors("log64", mpmath.log, x)
    assert np.max(error / np.spacing(exact)) < 1.0


def test_log64_at_the_ends_of_its_range():
    x = np.array([0.0, -0.0, 1.0, np.inf, -5e-324, -1.0, -np.inf, np.nan])
    assert_array_equal(native("log64", x), [-np.inf, -np.inf, 0, np.inf, *4 * [np.nan]])
    assert native("log64", np.array([5e-324]))[0] == -744.4400719213812


def test_exp32_is_within_1e_minus_7():
    x = np.random.default_rng(3).uniform(-87, 88, 20_000).astype(np.float32)
    x = np.append(x, x / 100)
    exact = np.exp(x.astype(np.float64))
    assert np.max(np.abs(native("exp32", x) - exact) / exact) < 1e-7


def test_exp32_is_clamped_to_normal_numbers():
    x = np.array([-np.inf, -1e30, -87, 0, 88, 1e30, np.inf, np.nan], np.float32)
    y = native("exp32", x)
    assert_array_equal(y[:3], y[2])
    assert_array_equal(y[4:7], y[4])
    assert y[2] >= np.finfo(np.float32).tiny
    assert y[3] == 1
    assert np.isfinite(y[4])
    assert np.isnan(y[7])


POSITIVE = np.concatenate([np.logspace(-3, 1, 1500), np.logspace(1, 15, 500), np.arange(1.0, 30.0)])


def test_digamma_against_mpmath():
    error, exact = errors("digamma", mpmath.digamma, POSITIVE)
    assert np.max(error / np.maximum(1, exact)) < 4e-15


def test_exp_digamma_against_mpmath():
    error, exact = errors("exp_digamma", lambda x: mpmath.exp(mpmath.digamma(x)), POSITIVE[POSITIVE > 0.0015])
    assert np.max(error / exact / (1 + 1 / POSITIVE[POSITIVE > 0.0015])) < 2e-15


def test_exp_digamma32_against_mpmath():
    x = POSITIVE[(POSITIVE > 1 / 80) & (POSITIVE < 1e9)].astype(np.float32)
    error, exact = errors("exp_digamma32", lambda x: mpmath.exp(mpmath.digamma(x)), x)
    assert np.max(error / exact / (1 + 1 / x)) < 5e-7


def test_log_gamma_against_mpmath():
    error, exact = errors("log_gamma", mpmath.loggamma, POSITIVE)
    small = POSITIVE < 10
    assert np.max(error[small]) < 2e-14
    assert np.max(error[~small] / exact[~small]) < 5e-16


def test_gamma_functions_at_the_ends_of_their_range():
    x = np.array([0.0, np.inf, -1e-300, -1.5, -np.inf, np.nan])
    invalid = 4 * [np.nan]
    assert_array_equal(native("digamma", x), [-np.inf, np.inf, *invalid])
    assert_array_equal(native("exp_digamma", x), [0, np.inf, *invalid])
    assert_array_equal(native("log_gamma", x), [np.inf, np.inf, *invalid])
    assert_array_equal(native("exp_digamma", np.array([1e-310, 1e-3])), 0)
    assert np.isfinite(native("log_gamma", np.array([5e-324, 1e305]))).all()
    single = native("exp_digamma32", np.array([0, np.inf, -1e-30, -1.5, -np.inf, np.nan], np.float32))
    assert_array_equal(single[1:], [np.inf, *invalid])
    assert 0 < single[0] < 1e-37  # exp32 is clamped


@pytest.mark.parametrize("name", DOUBLE)
def test_the_public_functions_take_any_shape_and_layout(name):
    function = getattr(elementary, name.removesuffix("64"))
    x = np.arange(1.0, 13.0).reshape(3, 4)
    expected = native(name, x.ravel()).reshape(3, 4)
    assert_array_equal(function(x), expected)
    assert_array_equal(function(x.T), expected.T)
    assert_array_equal(function(x[:, ::2], n_threads=2), expected[:, ::2])
    assert_array_equal(function(3), expected[0, 2])
    assert function(np.empty((0, 5))).shape == (0, 5)


def test_wrong_arrays_are_refused_not_converted():
    x = np.ones(3)
    with pytest.raises(TypeError):
        _native.exp64(x, np.empty(3, np.float32))  # a converted copy would be filled and dropped
    with pytest.raises(TypeError):
        _native.exp64(x, np.empty(6)[::2])
    with pytest.raises(ValueError, match="same length"):
        _native.exp64(x, np.empty(4))
    with pytest.raises(ValueError, match="n_threads must be at least 1"):
        elementary.exp(x, n_threads=0)
