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
  const double square = (near.variance + near.mean * near.mean - beyond * (far.variance + far_mean * far_mean)) / i0;
  return {near.log_mass + log64(i0), mean, square - mean * mean};
}

inline double hinge(double f, double lower, double upper) { return f < lower ? lower - f : f > upper ? f - upper : 0.; }

// The flat part [left, right] of the tilt in standard deviations from the mean, and the same from the origin, which is
// the point of it that is nearest to the mean.
struct Zone {
  double left, right, origin, to_left, to_right;
};

inline Zone zone_of(double m, double root, double lower, double upper) {
  const double left = (lower - m) / root, right = (upper - m) / root, width = (upper - lower) / root;
  if (left > 0) return {left, right, left, 0, width};
  if (right < 0) return {left, right, right, -width, 0};
  return {left, right, 0, left, right};
}

inline Tilt tilted_moments(double m, double s, double lower, double upper, double c) {
  if (s == 0) return {-2 * c * hinge(m, lower, upper), 0, 1};
  const double root = __builtin_sqrt(s);
  const double b = 2 * c * root;
  const Zone zone = zone_of(m, root, lower, upper);
  const double left = zone.left, right = zone.right, origin = zone.origin;
  const double to_left = zone.to_left, to_right = zone.to_right;
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
  // d log Z / d m: each side pulls with 2c, in proportion to the mass that lies there. The tilt is log-concave, so that
  // a variance can grow by rounding only.
  return {top + (largest + log64(total) - kLogSqrt2Pi), 2 * c * (share[0] - share[1]), ratio < 1 ? ratio : 1};
}

// The squared hinge exp(-2c ((L - f)_+ + (f - U)_+)^2), passive where the mean keeps the margin and else Bayes' rule for
// a Gaussian likelihood of precision 4c at the margin [PA-5].
inline Tilt tilted_squared(double m, double s, double lower, double upper, double c) {
  const double miss = m < lower ? lower - m : m > upper ? upper - m : 0.;
  if (miss == 0) return {0, 0, 1};
  const double noise = 0.25 / c, total = s + noise;
  return {-0.5 * (log64(total / noise) + miss * miss / total), miss / total, noise / total};
}

// The bound that the augmented mean field maximises, over u = (m' - m) / sqrt(s) and log r, r = sqrt(s' / s): its
// gradient and minus its Hessian. It is strictly concave in both.
struct Bound {
  double u, r, uu, ur, rr;
};

// n + z for n = sqrt(z^2 + v), without cancellation for z < 0.
inline double reach(double z, double n, double v) { return z > 0 ? n + z : v / (n - z); }

// Adds the hinge 2 (z)_+ whose lambda is integrated out, -k (z + sqrt(z^2 + v)) [MED-3]; z falls (+1) or grows (-1) in
// u.
inline void add_hinge(double z, double falls, double k, double v, Bound& bound) {
  const double n = __builtin_sqrt(z * z + v), share = z / n, precision = k * v / n;
  bound.u += falls * (k * reach(z, n, v) / n);
  bound.r -= precision;
  bound.uu += precision / (n * n);
  bound.ur += falls * (precision * share / n);
  bound.rr += precision * (1 + share * share);
}

// The best N(m', s') of the augmented mean field, where E[1/lambda] = 1 / (c sqrt(E[z]^2 + s')) [MED-2] for each hinge
// (z)_+; `log_mass` is the lower bound of the exact one. Alternating between lambda and the Gaussian converges too
// slowly where the tilt is strong, so this is Newton's method on the bound.
inline Tilt tilted_mean_field(double m, double s, double lower, double upper, double c) {
  if (s == 0) return tilted_moments(m, s, lower, upper, c);
  const double root = __builtin_sqrt(s), k = c * root;
  const Zone zone = zone_of(m, root, lower, upper);
  const bool two_sided = upper < kInfinity;
  const auto bound_at = [&](double u, double x, double r) {
    const double v = r * r;
    Bound bound = {-u, 1 - v, 1, 0, 2 * v};
    add_hinge(zone.to_left - x, 1, k, v, bound);
    if (two_sided) add_hinge(x - zone.to_right, -1, k, v, bound);
    return bound;
  };
  // u, and x = u - origin on its own: each keeps its digits where it is small.
  double u = 0, x = -zone.origin, r = 1;
  Bound bound = bound_at(u, x, r);
  for (int iteration = 0; iteration < 100; ++iteration) {
    const double determinant = bound.uu * bound.rr - bound.ur * bound.ur;
    const double step_u = (bound.rr * bound.u - bound.ur * bound.r) / determinant;
    const double step_r = (bound.uu * bound.r - bound.ur * bound.u) / determinant;
    const double slope = bound.u * step_u + bound.r * step_r;
    double size = absolute(step_r) > 4 ? 4 / absolute(step_r) : 1;
    double next_r = 0;
    for (; size > 1e-18; size *= 0.5) {  // shorter, until the slope along the step has not turned round
      next_r = r * exp64(size * step_r);
      bound = bound_at(u + size * step_u, x + size * step_u, next_r);
      if (bound.u * step_u + bound.r * step_r >= -0.1 * slope) break;
    }
    u += size * step_u, x += size * step_u, r = next_r;
    if (slope < 1e-13) break;  // in units of s', and this step has squared it
  }
  const double v = r * r, below = zone.to_left - x, above = x - zone.to_right;
  double loss = k * reach(below, __builtin_sqrt(below * below + v), v);
  if (two_sided) loss += k * reach(above, __builtin_sqrt(above * above + v), v);
  return {-0.5 * (v - 1 - log64(v) + u * u) - loss, u / root, v};
}

}  // namespace
}  // namespace bayespa
