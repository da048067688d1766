// exp, log, digamma and log-gamma from + - * / alone: the same bits on every CPU, and plain loops over them vectorise.
//
// The C library picks variants with fused multiply-add where the CPU has it, so its last bits depend on the machine.
// Nothing here branches: a choice is a select. NaN in gives NaN out. Accuracy and limits are stated at each function
// and held by tests/test_elementary.py; reference/elementary.py repeats every operation in NumPy.
#pragma once

#include <cstdint>

namespace bayespa {
namespace {  // internal to each kernel file: an AVX copy must never be linked into baseline code

inline uint64_t to_bits(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline double from_bits(uint64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

inline uint32_t to_bits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline float from_bits(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// coefficient[0] + coefficient[1] x + ...
template <class Real, int Size>
inline Real polynomial(const Real (&coefficient)[Size], Real x) {
  Real sum = coefficient[Size - 1];
  for (int i = Size - 2; i >= 0; --i) sum = sum * x + coefficient[i];
  return sum;
}

// ln 2 = high + low; high has trailing zeros, so high * n is exact for the exponents n of a double.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

// Taylor coefficients of (exp(r) - 1 - r) / r^2; the first one left out adds 2^-58 at |r| = ln(2)/2.
constexpr double kExp64[] = {1. / 2,     1. / 6,      1. / 24,      1. / 120,      1. / 720,       1. / 5040,
                             1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800};

// exp(x) within 1 ulp over the whole range: subnormal below -708.4, 0 below -745.2, infinity above 709.78.
inline double exp64(double x) {
  x = x < -746. ? -746. : x;
  x = x > 710. ? 710. : x;
  constexpr double to_integer = 0x1.8p52;  // adding it leaves x / ln 2, rounded, in the low bits
  const double shifted = x * 0x1.71547652b82fep0 + to_integer;
  const double n = shifted - to_integer;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  const double y = 1. + (r + r * r * polynomial(kExp64, r));
  // 2^n in two factors, each within range, so that a subnormal result is rounded once.
  const uint64_t biased = to_bits(shifted) - to_bits(to_integer) + 2 * 1023;
  const uint64_t half = biased >> 1;
  return y * from_bits(half << 52) * from_bits((biased - half) << 52);
}

// Series of 2 atanh(s) / s - 2 in s^2; the first term left out adds 2^-60 at |s| = 0.172.
constexpr double kLog64[] = {2. / 3, 2. / 5, 2. / 7, 2. / 9, 2. / 11, 2. / 13, 2. / 15, 2. / 17, 2. / 19, 2. / 21};

// log(x) within 1 ulp, subnormal x included; log(0) is -infinity, log(negative) NaN.
inline double log64(double x) {
  const bool subnormal = x < 0x1p-1022;
  const uint64_t bits = to_bits(subnormal ? x * 0x1p54 : x);
  // x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), so that log(x) near x = 1 is that of f alone.
  const uint64_t biased = (bits + (to_bits(1.) - to_bits(0x1.6a09e667f3bcdp-1))) >> 52;
  const double k = from_bits(biased | to_bits(0x1p52)) - (0x1p52 + (subnormal ? 1023. + 54. : 1023.));
  const double f = from_bits(bits - ((biased - 1023) << 52)) - 1.;
  const double s = f / (2. + f);  // log(1 + f) = 2 atanh(s) = f - f^2/2 + s (f^2/2 + rest)
  const double rest = s * s * polynomial(kLog64, s * s);
  const double half_square = 0.5 * f * f;
  const double y = k * kLn2High - ((half_square - (s * (half_square + rest) + k * kLn2Low)) - f);
  const double finite = x > 0. ? y : (x == 0. ? -__builtin_inf() : __builtin_nan(""));
  return x == __builtin_inf() ? x : finite;
}

// Minimax for (exp(r) - 1 - r) / r^2 on |r| <= ln(2)/2: exp(r) within 4e-9, far below the rounding of a float.
constexpr float kExp32[] = {0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558f2p-5f, 0x1.1239e8p-7f, 0x1.6a2446p-10f};

// exp(x) with relative error below 1e-7, for inner loops.
inline float exp32_within(float x) {  // of x in [-87, 88]
  constexpr float to_integer = 0x1.8p23f;
  const float shifted = x * 0x1.715476p0f + to_integer;
  const float n = shifted - to_integer;
  const float r = (x - n * 0x1.63p-1f) - n * -0x1.bd0106p-13f;  // ln 2 = 355/512 - 2.12e-4
  const float y = 1.f + (r + r * r * polynomial(kExp32, r));
  return y * from_bits((to_bits(shifted) << 23) + to_bits(1.f));
}

// x is clamped to [-87, 88]: the result is a normal number in [1.6e-38, 1.7e38], never 0 and never infinite.
inline float exp32(float x) {
  x = x < -87.f ? -87.f : x;
  return exp32_within(x > 88.f ? 88.f : x);
}

// x (x+1) ... (x+Steps-1) and its derivative. Their ratio is the sum of 1/(x+i): one division in place of Steps.
template <class Real>
struct Rising {
  Real product, derivative;
};

template <int Steps, class Real>
inline Rising<Real> rising(Real x) {
  Rising<Real> p = {x, Real(1)};
  for (int i = 1; i < Steps; ++i) {
    p.derivative = p.derivative * (x + Real(i)) + p.product;
    p.product = p.product * (x + Real(i));
  }
  return p;
}

// digamma(x) - log(y) with y = x - 1/2: a series in 1/y^2 with coefficients -B_2n(1/2) / (2n), good to rounding error
// for x >= Steps; below that y = x + Steps - 1/2 and the recurrence digamma(x) = digamma(x+1) - 1/x makes it up.
template <class Real>
struct DigammaParts {
  Real y, rest;
};

template <int Steps, class Real, int Size>
inline DigammaParts<Real> digamma_parts(const Real (&coefficient)[Size], Real x) {
  const bool small = x < Real(Steps);
  const Rising<Real> p = rising<Steps>(x);
  const Real y = (small ? x + Real(Steps) : x) - Real(0.5);
  const Real w = Real(1) / y;
  const Real rest = w * w * polynomial(coefficient, w * w);
  return {x >= Real(0) ? y : Real(__builtin_nan("")), small ? rest - p.derivative / p.product : rest};
}

constexpr double kDigamma64[] = {1. / 24,      -7. / 960,           31. / 8064,   -127. / 30720,
                                 511. / 67584, -1414477. / 67092480, 8191. / 98304, -118518239. / 267386880};
constexpr float kDigamma32[] = {1.f / 24, -7.f / 960, 31.f / 8064, -127.f / 30720};

// The derivative of log-gamma, error below 4e-15 max(1, |digamma|); -infinity at 0, NaN for x < 0.
inline double digamma(double x) {
  const DigammaParts<double> p = digamma_parts<10>(kDigamma64, x);
  return log64(p.y) + p.rest;
}

// exp(digamma(x)) without a logarithm; relative error below 2e-15 (1 + 1/x), where 1/x is what the rounding of x
// itself does to the value. 0 for x < 1/745, where it underflows; NaN for x < 0.
inline double exp_digamma(double x) {
  const DigammaParts<double> p = digamma_parts<10>(kDigamma64, x);
  return p.y * exp64(p.rest);
}

// The same in float; relative error below 5e-7 (1 + 1/x), and never below 5e-38 (x < 1/85) since exp32 is clamped.
inline float exp_digamma32(float x) {
  const DigammaParts<float> p = digamma_parts<4>(kDigamma32, x);
  return p.y * exp32(p.rest);
}

// Coefficients B_2n(1/2) / (2n (2n-1)) of Stirling's series in 1/y, y = x - 1/2.
constexpr double kLogGamma[] = {-1. / 24,        7. / 2880,            -31. / 40320,    127. / 215040,
                                -511. / 608256, 1414477. / 738017280, -8191. / 1277952, 118518239. / 4010803200};

// log(gamma(x)), error below 2e-14 for x < 10, relative error below 5e-16 from there; infinity at 0, NaN for x < 0.
inline double log_gamma(double x) {
  const bool small = x < 10.;
  const double y = x >= 0. ? (small ? x + 10. : x) - 0.5 : __builtin_nan("");
  const double w = 1. / y;
  const double stirling = y * (log64(y) - 1.) + (0x1.d67f1c864beb5p-1 + w * polynomial(kLogGamma, w * w));
  return stirling - log64(small ? rising<10>(x).product : 1.);  // log_gamma(x) = log_gamma(x+10) - log x...(x+9)
}

}  // namespace
}  // namespace bayespa
