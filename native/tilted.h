// A Gaussian margin f ~ N(m, s) tilted by exp(-2c (L - f)_+ - 2c (f - U)_+): its exact moments [PA-3] [PA-4], and those
// of the augmented mean field. A classifier folds the sign of the label into f and has L = margin, U = infinity.
//
// The tilted density is a mixture of normals, each cut to an interval. In the coordinate z >= 0 that starts at the
// cut and is scaled by sqrt(s), a piece is exp(-t z - z^2/2), and all moments are sums of positive terms: nothing
// cancels, and a margin of 1e6 standard deviations keeps its digits. reference/tilted.py explains each step.
#pragma once

#include "elementary.h"

namespace bayespa {
namespace {

constexpr double kInfinity = __builtin_inf(), kLogSqrt2Pi = 0.9189385332046728, kSqrtHalfPi = 1.2533141373155003;

// Gauss-Legendre on [0, 1]: exact to rounding for exp(-t z - z^2/2) where its exponent spans at most 1.
constexpr double kNodes[] = {0.013046735741414184, 0.06746831665550773, 0.1602952158504878, 0.2833023029353764,
                             0.4255628305091844,   0.5744371694908156,  0.7166976970646236, 0.8397047841495122,
                             0.9325316833444923,   0.9869532642585859};
constexpr double kWeights[] = {0.03333567215434403, 0.07472567457529029, 0.10954318125799103, 0.13463335965499817,
                               0.14776211235737644, 0.14776211235737644, 0.13463335965499817, 0.10954318125799103,
                               0.07472567457529029, 0.03333567215434403};

// Mass, mean and variance of exp(-t z - z^2/2) on an interval that starts at z = 0.
struct Piece {
  double log_mass, mean, variance;
};

// What a tilt does to N(m, s): its log normaliser, (m' - m) / s and s' / s.
struct Tilt {
  double log_mass, gain, ratio;
};

inline double absolute(double x) { return __builtin_fabs(x); }

// t > 1.5, on [0, infinity): with I_n the n-th moment, r_n = I_n / I_{n-1} = n / (t + r_{n+1}).
inline Piece far_half_line(double t) {
  double r = 0;
  for (int n = t > 6 ? 16 : 80; n > 1; --n) r = n / (t + r);
  const double mean = 1 / (t + r);
  return {-log64(t + mean), mean, mean * (r - mean)};
}

// On [0, infinity). For t < 0 the log mass leaves out its largest part, t^2/2, so that callers can cancel it.
inline Piece half_line(double t) {
  if (t > 1.5) return far_half_line(t);
  const double half_square = 0.5 * t * t;
  double scaled;
  if (t > -1.5) {
    double term = t, sum = t;  // of t^{2k+1} / (2k+1)!!, the series of the normal integral
    for (int k = 3; k < 45; k += 2) {
      term *= t * t / k;
      sum += term;
    }
    scaled = kSqrtHalfPi - sum * exp64(-half_square);
  } else {
    scaled = 2 * kSqrtHalfPi - exp64(far_half_line(-t).log_mass - half_square);
  }
  const double mills = exp64(-half_square) / scaled;
  const double mean = mills - t;
  return {log64(scaled) + (t >= 0 ? half_square : 0.), mean, 1 - mills * mean};
}

// On [0, width], for t >= 0.
inline Piece interval(double t, double width) {
  if (width == kInfinity) return half_line(t);
  const double decay = width * (t + 0.5 * width);
  if (decay < 1) {
    double i0 = 0, i1 = 0, i2 = 0;
    for (int j = 0; j < 10; ++j) {
      const double z = kNodes[j] * width;
      const double mass = kWeights[j] * exp64(-z * (t + 0.5 * z));
      i0 += mass;
      i1 += mass * kNodes[j];
      i2 += mass * kNodes[j] * kNodes[j];
    }
    const double mean = i1 / i0;
    return {log64(i0 * width), width * mean, width * width * (i2 / i0 - mean * mean)};
  }
  const Piece near = half_line(t), far = half_line(t + width);
  const double beyond = exp64(far.log_mass - near.log_mass - decay);  // the share that lies beyond the width
  const double i0 = 1 - beyond, far_mean = far.mean + width;
  const double mean = (near.mean - beyond * far_mean) / i0;
  const double square =
      (near.variance + near.mean * near.mean - beyond * (far.variance + far_mean * far_mean)) / i0;
  return {near.log_mass + log64(i0), mean, square - mean * mean};
}

inline double hinge(double f, double lower, double upper) {
  return f < lower ? lower - f : f > upper ? f - upper : 0.;
}

inline Tilt tilted_moments(double m, double s, double lower, double upper, double c) {
  if (s == 0) return {-2 * c * hinge(m, lower, upper), 0, 1};
  const double root = __builtin_sqrt(s);
  const double b = 2 * c * root, left = (lower - m) / root, right = (upper - m) / root, width = (upper - lower) / root;
  // Everything is measured from the point of the flat part [left, right] that is nearest to the mean.
  double origin = 0, to_left = left, to_right = right;
  if (left > 0) {
    origin = left, to_left = 0, to_right = width;
  } else if (right < 0) {
    origin = right, to_left = -width, to_right = 0;
  }
  // Where the tilt is too weak to pull the mean to the origin, the peak stays out there and the origin lies lower.
  const double missing = b - absolute(origin);
  const double drop = missing < 0 ? 0.5 * missing * missing : 0;
  const double top = missing < 0 ? b * (0.5 * b - absolute(origin)) : -0.5 * origin * origin;

  // Below L; above U; the flat part, on the right and on the left of the origin.
  Piece piece[4];
  double start[4], log_mass[4];
  constexpr double direction[4] = {-1, 1, 1, -1};
  bool present[4] = {true, upper < kInfinity, to_right > 0, to_left < 0};
  piece[0] = half_line(b - left);
  start[0] = to_left;
  log_mass[0] = piece[0].log_mass - (b > left ? drop + 0.5 * to_left * (left + origin) : 0.);
  if (present[1]) {
    piece[1] = half_line(b + right);
    start[1] = to_right;
    log_mass[1] = piece[1].log_mass - (b > -right ? drop + 0.5 * to_right * (right + origin) : 0.);
  }
  if (present[2]) {
    piece[2] = interval(origin > 0 ? origin : 0., to_right);
    start[2] = 0;
    log_mass[2] = piece[2].log_mass - drop;
  }
  if (present[3]) {
    piece[3] = interval(origin < 0 ? -origin : 0., -to_left);
    start[3] = 0;
    log_mass[3] = piece[3].log_mass - drop;
  }

  double largest = log_mass[0];
  for (int i = 1; i < 4; ++i) largest = present[i] && log_mass[i] > largest ? log_mass[i] : largest;
  double share[4], total = 0, mean = 0, ratio = 0;
  for (int i = 0; i < 4; ++i) total += share[i] = present[i] ? exp64(log_mass[i] - largest) : 0.;
  for (int i = 0; i < 4; ++i) {
    share[i] /= total;
    if (present[i]) mean += share[i] * (start[i] + direction[i] * piece[i].mean);
  }
  for (int i = 0; i < 4; ++i) {
    if (!present[i]) continue;
    const double away = (start[i] + direction[i] * piece[i].mean) - mean;
    ratio += share[i] * (piece[i].variance + away * away);
  }
  // d log Z / d m: each side pulls with 2c, in proportion to the mass that lies there.
  return {top + (largest + log64(total) - kLogSqrt2Pi), 2 * c * (share[0] - share[1]), ratio};
}

// The best N(m', s') of the augmented mean field: each hinge (z)_+ has E[1/lambda] = 1 / (c sqrt(E[z]^2 + s')), and
// given that the update is Gaussian. Iterated to the fixed point; `log_mass` is the lower bound of the exact one.
inline Tilt tilted_mean_field(double m, double s, double lower, double upper, double c) {
  if (s == 0) return tilted_moments(m, s, lower, upper, c);
  const bool two_sided = upper < kInfinity;
  double gain = 0, ratio = 1, below = 0, above = 0;
  for (int iteration = 0; iteration < 200; ++iteration) {
    const double mean = m + s * gain, variance = s * ratio;
    below = __builtin_sqrt((lower - mean) * (lower - mean) + variance);
    above = two_sided ? __builtin_sqrt((mean - upper) * (mean - upper) + variance) : 0.;
    const double precision_below = c / below, precision_above = two_sided ? c / above : 0.;  // c^2 E[1/lambda]
    const double precision = precision_below + precision_above;
    double pull = c + precision_below * (lower - m);
    if (two_sided) pull += precision_above * (upper - m) - c;
    const double next_ratio = 1 / (1 + s * precision), next_gain = pull * next_ratio;
    const double change = absolute(next_gain - gain);
    gain = next_gain, ratio = next_ratio;
    if (change <= 1e-14 * absolute(gain)) break;
  }
  const double mean = m + s * gain, variance = s * ratio;
  below = __builtin_sqrt((lower - mean) * (lower - mean) + variance);
  double loss = c * ((lower - mean) + below);  // -log of the hinge with lambda integrated out [MED-3]
  if (two_sided) loss += c * ((mean - upper) + __builtin_sqrt((mean - upper) * (mean - upper) + variance));
  const double divergence = 0.5 * (ratio - 1 - log64(ratio) + s * gain * gain);
  return {-divergence - loss, gain, ratio};
}

}  // namespace
}  // namespace bayespa
