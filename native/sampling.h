// Draws from distributions as pure functions of an address (key, c0, c1, c2).
//
// A draw by rejection needs an unknown number of random words, so an address names a stream: word w of it is word
// w mod 4 of philox(key, c0, c1, c2, w / 4). Streams of different addresses share no block (Philox is a bijection of
// the counter), and whoever needs more than three numbers in an address folds some into the key with `subkey`.
// reference/random.py repeats every operation in Python. Parameters must lie in [1e-300, infinity):
// bindings check them.
#pragma once

#include "elementary.h"
#include "philox.h"

namespace bayespa {
namespace {  // internal to each kernel file: an AVX copy must never be linked into baseline code

// Uniform in the open interval (0, 1): the middle of one of 2^23 or 2^52 equal cells, exact in its type, so neither 0
// nor 1 can come out and u and 1 - u are equally likely.
inline float uniform32(uint32_t word) { return (static_cast<float>(word >> 9) + 0.5f) * 0x1p-23f; }

inline double uniform64(uint32_t high, uint32_t low) {
  const uint64_t bits = uint64_t{high} << 32 | low;
  return (static_cast<double>(static_cast<int64_t>(bits >> 12)) + 0.5) * 0x1p-52;
}

// A key for one purpose, round, ...: 64 bits of the one block that no stream reaches.
inline uint64_t subkey(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2) {
  const Block block = philox(key, c0, c1, c2, 0xFFFFFFFFu);
  return uint64_t{block.word[0]} << 32 | block.word[1];
}

struct Stream {
  uint64_t key;
  uint32_t c0, c1, c2;
  uint32_t n_blocks = 0;
  int n_used = 4;  // words taken of the current block
  Block block = {};

  Stream(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2) : key(key), c0(c0), c1(c1), c2(c2) {}

  uint32_t word() {
    if (n_used == 4) {
      block = philox(key, c0, c1, c2, n_blocks++);
      n_used = 0;
    }
    return block.word[n_used++];
  }
};

inline double draw_uniform(Stream& stream) {
  const uint32_t high = stream.word(), low = stream.word();
  return uniform64(high, low);
}

// Standard normal by Marsaglia's polar method: exact, four lines, and it needs only log and sqrt, where Box-Muller
// needs sin and cos and a ziggurat needs tables. The second normal of the pair is not kept: it would be hidden state.
inline double draw_normal(Stream& stream) {
  for (;;) {
    const double u = 2. * draw_uniform(stream) - 1.;  // never 0: uniforms are odd multiples of 2^-53
    const double v = 2. * draw_uniform(stream) - 1.;
    const double s = u * u + v * v;
    if (s < 1.) return u * __builtin_sqrt(-2. * log64(s) / s);
  }
}

// Gamma(shape, 1) for shape >= 1 (Marsaglia and Tsang 2000).
inline double draw_gamma_from_one(Stream& stream, double shape) {
  const double d = shape - 1. / 3, c = 1. / (3. * __builtin_sqrt(d));
  for (;;) {
    const double x = draw_normal(stream);
    const double root = 1. + c * x;
    if (root <= 0.) continue;
    const double v = root * root * root;
    // log acceptance is -x^4 / (108 d) + ..., its rounding error d 2^-52: above 2^24 the error would be larger.
    if (d > 0x1p24 || log64(draw_uniform(stream)) < 0.5 * x * x + d * (1. - v + log64(v))) return d * v;
  }
}

// Logarithm of a Gamma(shape, 1) draw. For shape < 1 it is Gamma(shape + 1) * u^(1/shape), which underflows for most u
// when the shape is small (0.001 has u^1000); its logarithm does not.
inline double draw_log_gamma(Stream& stream, double shape) {
  if (shape >= 1.) return log64(draw_gamma_from_one(stream, shape));
  const double boosted = log64(draw_gamma_from_one(stream, shape + 1.));
  return boosted + log64(draw_uniform(stream)) / shape;
}

// Gamma(shape, 1); 0 only where the draw is below the least double.
inline double draw_gamma(Stream& stream, double shape) {
  return shape >= 1. ? draw_gamma_from_one(stream, shape) : exp64(draw_log_gamma(stream, shape));
}

// Beta(a, b) from the log-odds of two gammas, so tiny a and b give no 0/0; 0 or 1 only by rounding.
inline double draw_beta(Stream& stream, double a, double b) {
  const double log_x = draw_log_gamma(stream, a), log_y = draw_log_gamma(stream, b);
  const double log_odds = log_x - log_y;
  const double t = exp64(log_odds < 0. ? log_odds : -log_odds);
  return (log_odds < 0. ? t : 1.) / (1. + t);
}

// Inverse Gaussian with mean mu and shape lambda (Michael, Schucany and Haas 1976). The two roots of
// lambda (x - mu)^2 / (mu^2 x) = z^2 are mu / r and mu r with r >= 1 in a form that does not cancel. A huge mu is safe:
// phi and r may overflow, and the small root is then the limit lambda / z^2 (Levy).
inline double draw_inverse_gaussian(Stream& stream, double mu, double lambda) {
  const double z = draw_normal(stream);
  const double phi = mu / lambda * (0.5 * z * z);
  const double r = 1. + phi + __builtin_sqrt(phi) * __builtin_sqrt(2. + phi);
  if (draw_uniform(stream) * (1. + r) < 1.) return mu * r;
  return phi < 0x1p60 ? mu / r : lambda / (z * z);
}

}  // namespace
}  // namespace bayespa
