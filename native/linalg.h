// Dense linear algebra of one small symmetric K x K matrix, row-major float64. LAPACK is fast but its bits depend on
// the CPU; here every element is computed by the same operations in the same order whatever the blocking and the ISA.
#pragma once

#include <cstdint>

namespace bayespa {

struct LinalgKernels {
  // A = R'R with R upper triangular. `factor` receives R on and above the diagonal and R' below it, so that rows of
  // both are contiguous. Reads the upper triangle of `a`. Returns the first pivot that is not positive and finite,
  // or -1 if A is positive definite.
  int64_t (*cholesky)(const double* a, int64_t k, double* factor);
  // log |A|
  double (*log_determinant)(const double* factor, int64_t k);
  // x (k,) becomes A^-1 x.
  void (*solve)(const double* factor, int64_t k, double* x);
  // x' A^-1 x; `work` holds k numbers.
  double (*quadratic)(const double* factor, int64_t k, const double* x, double* work);
  // inverse = A^-1, exactly symmetric.
  void (*inverse)(const double* factor, int64_t k, double* inverse);
  // out[t] = sum_i x[i]^2 weights[i, t], the quadratic form of a diagonal matrix; x (k,), weights (k, n).
  void (*weighted_squares)(const double* x, const double* weights, int64_t k, int64_t n, double* out);
  // What n weighted observations add to the natural parameters of a Gaussian, and 0 in the beginning: precision (k, k) =
  // sum_i weights[i] x_i x_i' and shift (k,) = sum_i values[i] x_i. x is (n, k); weights and values are `stride` apart.
  void (*regression_sums)(const double* x, const double* weights, const double* values, int64_t n, int64_t k,
                          int64_t stride, double* shift, double* precision);
  // sums[j] = sum_i part[i, j], and a[rows[i], j] += sign part[i, j]; a and part have k columns. Returns whether all of
  // part are multiples of `grid`, a power of two, and below 2^51 of it.
  bool (*add_rows)(double* a, int64_t k, const int64_t* rows, const double* part, int64_t n, double sign, double grid,
                   double* sums);
  // a[rows[i], j] += x and sums[j] = sum_i x, where x is weight counts[i, j] rounded to a multiple of `grid`, a power of
  // two; x is below 2^51 of it.
  void (*add_counts)(double* a, int64_t k, const int64_t* rows, const int32_t* counts, int64_t n, double weight,
                     double grid, double* sums);
};

}  // namespace bayespa
