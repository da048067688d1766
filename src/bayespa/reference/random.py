"""Twin of native/philox.h and native/sampling.h: random numbers as pure functions of an address."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespa.reference.elementary import exp64, log64

MASK = 0xFFFFFFFF


def philox(key: int, counters: ArrayLike) -> NDArray[np.uint32]:
    """Philox4x32-10 (Salmon et al., SC 2011): counters (..., 4) to random words (..., 4)."""
    c0, c1, c2, c3 = np.moveaxis(np.asarray(counters, np.uint32).astype(np.uint64), -1, 0)
    k0, k1 = key & MASK, key >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c2 = (p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0), (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1)
        c1, c3 = p1 & np.uint64(MASK), p0 & np.uint64(MASK)
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return np.stack([c0, c1, c2, c3], axis=-1).astype(np.uint32)


def uniform32(words: ArrayLike) -> NDArray[np.float32]:
    """Uniform in (0, 1): the middle of one of 2^23 cells, from one word each."""
    cell = (np.asarray(words, np.uint32) >> np.uint32(9)).astype(np.float32)
    return (cell + np.float32(0.5)) * np.float32(2**-23)


def uniform64(high: int, low: int) -> float:
    """Uniform in (0, 1): the middle of one of 2^52 cells, from two words."""
    return float(((high << 32 | low) >> 12) + 0.5) * 2.0**-52


def subkey(key: int, c0: int, c1: int, c2: int) -> int:
    """Return the key for one purpose, round, ...: 64 bits of a block that no stream reaches."""
    high, low, _, _ = philox(key, [c0, c1, c2, MASK]).tolist()
    return int(high << 32 | low)


@dataclass
class Stream:
    """The random words of one address: word w is word w mod 4 of philox(key, (c0, c1, c2, w // 4))."""

    key: int
    address: tuple[int, int, int]
    n_words: int = 0

    def word(self) -> int:
        """Return the next word."""
        block, place = divmod(self.n_words, 4)
        self.n_words += 1
        return int(philox(self.key, [*self.address, block])[place])


def draw_uniform(stream: Stream) -> float:
    """Uniform in (0, 1)."""
    high, low = stream.word(), stream.word()
    return uniform64(high, low)


def draw_normal(stream: Stream) -> float:
    """Return a standard normal, by Marsaglia's polar method."""
    while True:
        u = 2.0 * draw_uniform(stream) - 1.0
        v = 2.0 * draw_uniform(stream) - 1.0
        s = u * u + v * v
        if s < 1.0:
            return u * math.sqrt(-2.0 * float(log64(s)) / s)


def draw_gamma_from_one(stream: Stream, shape: float) -> float:
    """Gamma(shape, 1) for shape >= 1 (Marsaglia and Tsang 2000)."""
    d = shape - 1.0 / 3
    c = 1.0 / (3.0 * math.sqrt(d))
    while True:
        x = draw_normal(stream)
        root = 1.0 + c * x
        if root <= 0.0:
            continue
        v = root * root * root
        if d > 2.0**24:
            return d * v
        if log64(draw_uniform(stream)) < 0.5 * x * x + d * (1.0 - v + log64(v)):
            return d * v


def draw_log_gamma(stream: Stream, shape: float) -> float:
    """Logarithm of a Gamma(shape, 1) draw."""
    if shape >= 1.0:
        return float(log64(draw_gamma_from_one(stream, shape)))
    boosted = float(log64(draw_gamma_from_one(stream, shape + 1.0)))
    return boosted + float(log64(draw_uniform(stream))) / shape


def draw_gamma(stream: Stream, shape: float) -> float:
    """Gamma(shape, 1)."""
    return draw_gamma_from_one(stream, shape) if shape >= 1.0 else float(exp64(draw_log_gamma(stream, shape)))


def draw_beta(stream: Stream, a: float, b: float) -> float:
    """Beta(a, b) from the log-odds of two gammas."""
    log_x, log_y = draw_log_gamma(stream, a), draw_log_gamma(stream, b)
    log_odds = log_x - log_y
    t = float(exp64(log_odds if log_odds < 0.0 else -log_odds))
    return (t if log_odds < 0.0 else 1.0) / (1.0 + t)


def draw_inverse_gaussian(stream: Stream, mean: float, shape: float) -> float:
    """Inverse Gaussian (Michael, Schucany and Haas 1976)."""
    z = draw_normal(stream)
    phi = mean / shape * (0.5 * z * z)
    r = 1.0 + phi + math.sqrt(phi) * math.sqrt(2.0 + phi)
    if draw_uniform(stream) * (1.0 + r) < 1.0:
        return mean * r
    return mean / r if phi < 2.0**60 else shape / (z * z)
