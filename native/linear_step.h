// The linear models: examples are sparse rows, weights are feature-major (D + 1, T) so that the T tasks of a feature
// lie side by side. The last row of the weights is the bias, whose feature has the value `bias` in every example.
#pragma once

#include <cstdint>

namespace bayespa {

struct Rows {
  const int64_t* indptr;   // (n + 1,)
  const int32_t* indices;  // column of each entry
  const double* values;
  int64_t n;          // rows
  int64_t n_columns;  // D; the bias is column D
  double bias;
};

// What task t wants of row i: the sign +1 if labels[i] == t, else -1, with a margin; or (labels == nullptr) a number
// in [lower[i, t], upper[i, t]], of which either end may be infinite.
struct Targets {
  const int32_t* labels;  // (n,)
  const double* lower;    // (n, T)
  const double* upper;    // (n, T)
  const double* cost;     // (n,) weight of each example
  int64_t n_tasks;
  double margin;
};

// Tasks [first, last) of all: tasks do not touch each other, so any split gives the same bits.
struct TaskRange {
  int64_t first, last;
};

enum class TiltMethod { moments, mean_field, squared };

struct LinearKernels {
  // out[i, t] = sum_j x_ij weights[j, t] for the rows [first, last); a row of weights begins `stride` after the last.
  void (*decide)(const Rows& rows, const double* weights, int64_t stride, int64_t n_tasks, int64_t first, int64_t last,
                 double* out);

  // [PA-1] [PA-2]: visits the rows in `order`; each takes the dual step that solves its own problem, in a space where
  // every weight has the prior variance `variance`. `dual` (n, T) holds the signed duals and is updated, or is null for
  // the online algorithm, where each visit is a new example. `aggressiveness` is C, infinite for a hard margin;
  // `squared` makes it PA-II. `drift` (D + 1, T), or null, gathers sum_i i * step_i for averaged weights, from example
  // number `seen` on. Adds the losses before each step to loss (T,), and makes change (T,) the largest change of a
  // margin. work: 2 T.
  void (*aggressive)(const Rows& rows, const Targets& targets, const int64_t* order, double aggressiveness,
                     bool squared, double variance, TaskRange tasks, double* weights, double* dual, double* drift,
                     int64_t seen, double* loss, double* change, double* work);

  // [PA-3] [PA-4] with diagonal covariance: updates mean and variance, both (D + 1, T), whose rows begin `stride` after
  // the last, row by row. `cost` is c. Adds the -log normalisers to objective (T,). work: 4 T.
  void (*gibbs_diagonal)(const Rows& rows, const Targets& targets, double cost, TiltMethod method, TaskRange tasks,
                         int64_t stride, double* mean, double* variance, double* objective, double* work);
  // The same with covariance variance[t] I; updates mean (D + 1, T) and variance (T,).
  void (*gibbs_isotropic)(const Rows& rows, const Targets& targets, double cost, TiltMethod method, TaskRange tasks,
                          double* mean, double* variance, double* objective, double* work);
  // The same with full covariance; updates mean (T, D + 1) and covariance (T, D + 1, D + 1), and adds to the natural
  // parameters shift (T, D + 1) and precision (T, D + 1, D + 1) what the rows contribute. work: D + 1.
  void (*gibbs_full)(const Rows& rows, const Targets& targets, double cost, TiltMethod method, TaskRange tasks,
                     double* mean, double* covariance, double* shift, double* precision, double* objective,
                     double* work);

  // Tilts of n independent margins; out is (n, 3): log normaliser, gain, ratio.
  void (*tilt)(const double* m, const double* s, const double* lower, const double* upper, int64_t n, double cost,
               TiltMethod method, double* out);
};

}  // namespace bayespa
