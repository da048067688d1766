"""Random numbers that are pure functions of a key and an address, never hidden state.

A *key* is 64 bits: `key_from_seed` makes one from scikit-learn's ``random_state``, and `subkey` makes a new
one for each purpose or round. An *address* is three 32-bit numbers that say what the draw is for (a document,
a sweep, a topic). The same key and address give the same draw on any thread and any CPU, whatever else is
drawn.

Addresses have shape (..., 3) and draws shape (...). Parameters broadcast to that shape; they are finite and
at least 1e-300.
"""

import os
from collections.abc import Callable
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa import _native

RandomState: TypeAlias = "int | np.random.RandomState | np.random.Generator | None"  # imported when needed
Addresses = NDArray[np.uint32]
Draws = NDArray[np.float64]


def key_from_seed(random_state: RandomState) -> int:
    """Turn scikit-learn's ``random_state`` into a key.

    Parameters
    ----------
    random_state : None, int, RandomState or Generator
        None takes fresh entropy from the system. An integer in [0, 2**64) is the key itself. A generator is
        drawn from, so that two calls give two keys.

    Returns
    -------
    int
        In [0, 2**64).

    Examples
    --------
    >>> key_from_seed(7)
    7
    """
    if random_state is None:
        return int.from_bytes(os.urandom(8), "little")
    seed: Any = random_state
    if isinstance(seed, Integral):
        if 0 <= int(seed) < 2**64:
            return int(seed)
    elif isinstance(seed, np.random.RandomState):
        return int(seed.randint(2**64, dtype=np.uint64))
    elif isinstance(seed, np.random.Generator):
        return int(seed.integers(2**64, dtype=np.uint64))
    raise ValueError(
        f"random_state = {random_state!r} cannot seed a model; use None, an integer in [0, 2**64), "
        "a numpy.random.RandomState or a numpy.random.Generator"
    )


def subkey(key: int, c0: int, c1: int = 0, c2: int = 0) -> int:
    """Fold up to three numbers in [0, 2**32) into `key`, to make a key for one purpose.

    >>> subkey(7, 1) == subkey(7, 1), subkey(7, 1) == subkey(7, 2)
    (True, False)
    """
    return _native.subkey(key, c0, c1, c2)


def grid(*shape: int) -> Addresses:
    """Address each element of an array of up to three axes by its index, padded with 0.

    >>> grid(2, 2).tolist()
    [[[0, 0, 0], [0, 1, 0]], [[1, 0, 0], [1, 1, 0]]]
    """
    addresses = np.zeros((*shape, 3), np.uint32)
    addresses[..., : len(shape)] = np.moveaxis(np.indices(shape, np.uint32), 0, -1)
    return addresses


def permutation(key: int, n: int) -> NDArray[np.int64]:
    """Return 0, ..., n - 1 in random order.

    >>> permutation(7, 5).tolist()
    [2, 4, 3, 1, 0]
    """
    return np.argsort(uniform(key, grid(n)), kind="stable")


def uniform(key: int, addresses: Addresses, n_threads: int = 1) -> Draws:
    """Draw uniformly from the open interval (0, 1).

    >>> uniform(7, grid(3)).round(2)
    array([0.95, 0.41, 0.01])
    """
    return _draw(_native.draw_uniform, key, addresses, [], n_threads)


def normal(key: int, addresses: Addresses, n_threads: int = 1) -> Draws:
    """Draw from the standard normal distribution.

    >>> normal(7, grid(3)).round(2)
    array([ 0.59, -0.34,  1.08])
    """
    return _draw(_native.draw_normal, key, addresses, [], n_threads)


def gamma(key: int, addresses: Addresses, shape: ArrayLike, n_threads: int = 1) -> Draws:
    """Draw from the gamma distribution of unit scale; below the smallest double it is 0 (see `log_gamma`).

    >>> gamma(7, grid(3), [0.001, 1.0, 10.0]).round(2)
    array([ 0.  ,  0.43, 13.44])
    """
    return _draw(_native.draw_gamma, key, addresses, [shape], n_threads)


def log_gamma(key: int, addresses: Addresses, shape: ArrayLike, n_threads: int = 1) -> Draws:
    """Draw the logarithm of a gamma variable; it does not underflow for small shapes.

    >>> log_gamma(7, grid(3), [0.001, 1.0, 10.0]).round(2)
    array([-2.5724e+03, -8.5000e-01,  2.6000e+00])
    """
    return _draw(_native.draw_log_gamma, key, addresses, [shape], n_threads)


def beta(key: int, addresses: Addresses, a: ArrayLike, b: ArrayLike, n_threads: int = 1) -> Draws:
    """Draw from the beta distribution; only rounding gives 0 or 1.

    >>> beta(7, grid(3), [0.001, 1.0, 10.0], 1.0).round(2)
    array([0.  , 0.25, 0.93])
    """
    return _draw(_native.draw_beta, key, addresses, [a, b], n_threads)


def inverse_gaussian(
    key: int, addresses: Addresses, mean: ArrayLike, shape: ArrayLike, n_threads: int = 1
) -> Draws:
    """Draw from the inverse Gaussian (Wald) distribution with variance mean**3 / shape.

    >>> inverse_gaussian(7, grid(3), [0.1, 1.0, 1e100], 1.0).round(2)
    array([0.12, 0.71, 0.85])
    """
    return _draw(_native.draw_inverse_gaussian, key, addresses, [mean, shape], n_threads)


def _draw(
    native: Callable[..., None], key: int, addresses: Addresses, parameters: list[ArrayLike], n_threads: int
) -> Draws:
    shape = addresses.shape[:-1]
    flat = [np.array(np.broadcast_to(p, shape), np.float64).reshape(-1) for p in parameters]
    out = np.empty(shape)
    native(key, np.ascontiguousarray(addresses).reshape(-1, 3), *flat, out.reshape(-1), n_threads)
    return out
