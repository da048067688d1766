// The averaging classifier's update of a mini-batch: one task's box-constrained dual, by coordinate descent. [PA-2]
#pragma once

#include <cstdint>

namespace bayespa {

struct DualProblem {
  int64_t n, k;
  const double* x;           // (n, k), the features
  const double* covariance;  // (k, k), which stays
  const float* labels;       // one a document, `label_stride` apart; NaN: no constraint
  int64_t label_stride;
  double margin, bound;      // epsilon, and the largest dual variable
  bool regression;
};

struct DualKernels {
  // Sweeps until no dual variable changes by more than `tol` * bound. `mean` (k) goes from mu to mu + Sigma sum a x,
  // `dual` (n, `label_stride` apart) is a = tau y, from 0; `work` holds n (k + 1) numbers. Returns the sweeps made.
  int64_t (*solve)(const DualProblem& problem, double tol, int64_t max_sweeps, double* mean, double* dual,
                   double* work);
};

}  // namespace bayespa
