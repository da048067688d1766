#include "dual.h"

namespace bayespa {
namespace {

inline double inner(const double* a, const double* b, int64_t k) {
  double sum = 0.;
  for (int64_t i = 0; i < k; ++i) sum += a[i] * b[i];
  return sum;
}

int64_t solve_dual(const DualProblem& p, double tol, int64_t max_sweeps, double* mean, double* dual, double* work) {
  double *direction = work, *curvature = work + p.n * p.k;  // Sigma x and x'Sigma x
  for (int64_t d = 0; d < p.n; ++d) {
    const double* x = p.x + d * p.k;
    for (int64_t i = 0; i < p.k; ++i) direction[d * p.k + i] = inner(p.covariance + i * p.k, x, p.k);
    curvature[d] = inner(direction + d * p.k, x, p.k);
  }
  for (int64_t sweep = 1; sweep <= max_sweeps; ++sweep) {
    double largest = 0.;
    for (int64_t d = 0; d < p.n; ++d) {
      const double y = p.labels[d * p.label_stride];
      if (y != y || !(curvature[d] > 0.)) continue;  // no label, or a document without a word
      double& a = dual[d * p.label_stride];
      const double target = p.regression ? y : p.margin * y, tube = p.regression ? p.margin : 0.;
      const double gap = target - inner(mean, p.x + d * p.k, p.k) + a * curvature[d];
      const double outside = gap > tube ? gap - tube : gap < -tube ? gap + tube : 0.;
      const double low = p.regression || y < 0. ? -p.bound : 0., high = p.regression || y > 0. ? p.bound : 0.;
      double wanted = outside / curvature[d];
      wanted = wanted < low ? low : wanted > high ? high : wanted;
      const double change = wanted - a;
      if (change == 0.) continue;
      a += change;
      for (int64_t i = 0; i < p.k; ++i) mean[i] += change * direction[d * p.k + i];
      const double size = change < 0. ? -change : change;
      largest = size > largest ? size : largest;
    }
    if (largest <= tol * p.bound) return sweep;
  }
  return max_sweeps;
}

constexpr DualKernels dual_kernels = {solve_dual};

}  // namespace
}  // namespace bayespa
