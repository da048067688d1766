"""Twin of native/elementary.h: exp, log, digamma and log-gamma from + - * / alone.

The functions take and return arrays of any shape: float64, or float32 if the name ends in 32. The header
states their accuracy and limits.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float64 = NDArray[np.float64]
Float32 = NDArray[np.float32]
Real = NDArray[Any]  # either of them

_from_hex = float.fromhex

LN2_HIGH, LN2_LOW = _from_hex("0x1.62e42feep-1"), _from_hex("0x1.a39ef35793c76p-33")
LN2_HIGH32, LN2_LOW32 = np.float32(355 / 512), np.float32(_from_hex("-0x1.bd0106p-13"))
INVERSE_LN2 = _from_hex("0x1.71547652b82fep0")
SQRT_HALF = _from_hex("0x1.6a09e667f3bcdp-1")
HALF_LOG_2PI = _from_hex("0x1.d67f1c864beb5p-1")

EXP64 = 1 / np.cumprod(np.arange(2.0, 14.0))  # 1/2!, 1/3!, ..., 1/13!
LOG64 = 2 / np.arange(3.0, 22.0, 2.0)  # 2/3, 2/5, ..., 2/21
EXP32 = np.array(
    [*map(_from_hex, ["0x1.fffffcp-2", "0x1.555492p-3", "0x1.5558f2p-5", "0x1.1239e8p-7", "0x1.6a2446p-10"])],
    np.float32,
)
DIGAMMA64 = np.divide(
    [1, -7, 31, -127, 511, -1414477, 8191, -118518239],
    [24, 960, 8064, 30720, 67584, 67092480, 98304, 267386880],
)
DIGAMMA32 = DIGAMMA64[:4].astype(np.float32)
LOG_GAMMA = np.divide(
    [-1, 7, -31, 127, -511, 1414477, -8191, 118518239],
    [24, 2880, 40320, 215040, 608256, 738017280, 1277952, 4010803200],
)


def polynomial(coefficients: Real, x: Real) -> Real:
    """coefficients[0] + coefficients[1] x + ... by Horner's rule."""
    total = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


@np.errstate(all="ignore")
def exp64(x: ArrayLike) -> Float64:
    """Exponential function."""
    x = np.clip(np.asarray(x, np.float64), -746.0, 710.0)
    n = (x * INVERSE_LN2 + 1.5 * 2**52) - 1.5 * 2**52  # rounds to the nearest integer
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    y = 1.0 + (r + r * r * polynomial(EXP64, r))
    return np.ldexp(y, n.astype(np.int32))


@np.errstate(all="ignore")
def log64(x: ArrayLike) -> Float64:
    """Natural logarithm."""
    x = np.asarray(x, np.float64)
    # x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), so that log(x) near x = 1 is that of f alone
    mantissa, k = np.frexp(x)
    low = mantissa < SQRT_HALF
    f = np.where(low, 2.0 * mantissa, mantissa) - 1.0
    k = np.where(low, k - 1, k)
    s = f / (2.0 + f)  # log(1 + f) = 2 atanh(s) = f - f^2/2 + s (f^2/2 + rest)
    rest = s * s * polynomial(LOG64, s * s)
    half_square = 0.5 * f * f
    y = k * LN2_HIGH - ((half_square - (s * (half_square + rest) + k * LN2_LOW)) - f)
    return np.select([x == np.inf, x > 0.0, x == 0.0], [x, y, -np.inf], np.nan)


@np.errstate(all="ignore")
def exp32(x: ArrayLike) -> Float32:
    """Exponential function of float32 with x clamped to [-87, 88]."""
    x = np.clip(np.asarray(x, np.float32), np.float32(-87), np.float32(88))
    to_integer = np.float32(1.5 * 2**23)
    n = (x * np.float32(INVERSE_LN2) + to_integer) - to_integer
    r = (x - n * LN2_HIGH32) - n * LN2_LOW32
    y = np.float32(1) + (r + r * r * polynomial(EXP32, r))
    result: Float32 = np.ldexp(y, n.astype(np.int32))
    return result


def rising(steps: int, x: Real) -> tuple[Real, Real]:
    """Return x (x+1) ... (x+steps-1) and its derivative; their ratio is the sum of 1/(x+i)."""
    product, derivative = x, np.ones_like(x)
    for i in range(1, steps):
        factor = x + x.dtype.type(i)
        derivative = derivative * factor + product
        product = product * factor
    return product, derivative


def digamma_parts(steps: int, coefficients: Real, x: Real) -> tuple[Real, Real]:
    """Return y and digamma(x) - log(y) with y = x - 1/2, or x + steps - 1/2 for x < steps."""
    real = x.dtype.type
    small = x < real(steps)
    product, derivative = rising(steps, x)
    y = np.where(small, x + real(steps), x) - real(0.5)
    w = real(1) / y
    rest = w * w * polynomial(coefficients, w * w)
    return np.where(x >= real(0), y, real(np.nan)), np.where(small, rest - derivative / product, rest)


@np.errstate(all="ignore")
def digamma(x: ArrayLike) -> Float64:
    """Digamma function, the derivative of log-gamma."""
    y, rest = digamma_parts(10, DIGAMMA64, np.asarray(x, np.float64))
    return log64(y) + rest


@np.errstate(all="ignore")
def exp_digamma(x: ArrayLike) -> Float64:
    """exp(digamma(x)), without a logarithm."""
    y, rest = digamma_parts(10, DIGAMMA64, np.asarray(x, np.float64))
    return y * exp64(rest)


@np.errstate(all="ignore")
def exp_digamma32(x: ArrayLike) -> Float32:
    """exp(digamma(x)) in float32."""
    y, rest = digamma_parts(4, DIGAMMA32, np.asarray(x, np.float32))
    return y * exp32(rest)


@np.errstate(all="ignore")
def log_gamma(x: ArrayLike) -> Float64:
    """Logarithm of the gamma function."""
    x = np.asarray(x, np.float64)
    small = x < 10.0
    y = np.where(x >= 0.0, np.where(small, x + 10.0, x) - 0.5, np.nan)
    w = 1.0 / y
    stirling = y * (log64(y) - 1.0) + (HALF_LOG_2PI + w * polynomial(LOG_GAMMA, w * w))
    product, _ = rising(10, x)
    return stirling - log64(np.where(small, product, 1.0))  # log_gamma(x+10) - log(x ... (x+9))
