"""exp, log, digamma and log-gamma that give the same bits on every CPU.

`np.exp`, `np.log` and `scipy.special` choose their code by the CPU, and their last bits depend on it. Models
and predictions use these functions instead.
"""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa import _native


class _Map(Protocol):
    def __call__(self, x: NDArray[np.float64], out: NDArray[np.float64], n_threads: int = 1) -> None: ...


def _map(native: _Map, x: ArrayLike, n_threads: int) -> NDArray[np.float64]:
    flat = np.ascontiguousarray(x, np.float64).reshape(-1)
    out = np.empty_like(flat)
    native(flat, out, n_threads)
    return out.reshape(np.shape(x))


def exp(x: ArrayLike, n_threads: int = 1) -> NDArray[np.float64]:
    """exp(x) within 1 ulp, from 0 through subnormal numbers to infinity.

    >>> exp([-1000.0, 0.0, 1000.0])
    array([ 0.,  1., inf])
    """
    return _map(_native.exp64, x, n_threads)


def log(x: ArrayLike, n_threads: int = 1) -> NDArray[np.float64]:
    """log(x) within 1 ulp; log(0) is -infinity and log(x < 0) NaN, without a warning.

    >>> log([0.0, 1.0])
    array([-inf,   0.])
    """
    return _map(_native.log64, x, n_threads)


def digamma(x: ArrayLike, n_threads: int = 1) -> NDArray[np.float64]:
    """Digamma(x), the derivative of log-gamma, for x >= 0; absolute error below 4e-15 max(1, abs(digamma)).

    >>> digamma([1.0]).round(4)  # minus Euler's constant
    array([-0.5772])
    """
    return _map(_native.digamma, x, n_threads)


def exp_digamma(x: ArrayLike, n_threads: int = 1) -> NDArray[np.float64]:
    """exp(digamma(x)) for x >= 0: exp(E log) of a gamma variable; relative error below 2e-15 (1 + 1/x).

    >>> exp_digamma([0.0, 100.0]).round(4)
    array([ 0.    , 99.5004])
    """
    return _map(_native.exp_digamma, x, n_threads)


def log_gamma(x: ArrayLike, n_threads: int = 1) -> NDArray[np.float64]:
    """Logarithm of gamma(x) for x >= 0; error below 2e-14 for x < 10, relative error below 5e-16 above.

    >>> exp(log_gamma([5.0])).round(4)  # 4!
    array([24.])
    """
    return _map(_native.log_gamma, x, n_threads)
