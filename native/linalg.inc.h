// Each algorithm below is rows from which multiples of earlier rows are subtracted, one after the other. Taking four
// earlier rows at a time and four rows at once saves memory traffic and leaves the order, hence the bits, as they are.
#include "elementary.h"
#include "linalg.h"

namespace bayespa {
namespace {

constexpr int64_t kBlock = 4;

// y -= c x
inline void subtract(double* __restrict y, double c, const double* __restrict x, int64_t n) {
  for (int64_t j = 0; j < n; ++j) y[j] = y[j] - c * x[j];
}

// y -= c0 x[0], then c1 x[step], c2 x[2 step], c3 x[3 step]
inline void subtract4(double* __restrict y, double c0, double c1, double c2, double c3, const double* __restrict x,
                      int64_t step, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    y[j] = (((y[j] - c0 * x[j]) - c1 * x[j + step]) - c2 * x[j + 2 * step]) - c3 * x[j + 3 * step];
  }
}

inline void divide(double* y, double c, int64_t n) {
  for (int64_t j = 0; j < n; ++j) y[j] /= c;
}

inline void copy_upper_to_lower(double* a, int64_t k) {
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < i; ++j) a[i * k + j] = a[j * k + i];
  }
}

inline void copy_lower_to_upper(double* a, int64_t k) {
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < i; ++j) a[j * k + i] = a[i * k + j];
  }
}

int64_t cholesky(const double* a, int64_t k, double* factor) {
  for (int64_t begin = 0; begin < k; begin += kBlock) {
    const int64_t end = begin + kBlock < k ? begin + kBlock : k;
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = i; j < k; ++j) factor[i * k + j] = a[i * k + j];
    }
    for (int64_t p = 0; p < begin; p += kBlock) {
      for (int64_t i = begin; i < end; ++i) {
        const double* r = factor + p * k + i;  // R[p, i]: the multiple of row p
        subtract4(factor + i * k + i, r[0], r[k], r[2 * k], r[3 * k], r, k, k - i);
      }
    }
    for (int64_t i = begin; i < end; ++i) {
      double* row = factor + i * k + i;
      for (int64_t p = begin; p < i; ++p) subtract(row, factor[p * k + i], factor + p * k + i, k - i);
      if (!(*row > 0. && *row < __builtin_inf())) return i;
      const double pivot = __builtin_sqrt(*row);
      *row = pivot;
      divide(row + 1, pivot, k - i - 1);
    }
  }
  copy_upper_to_lower(factor, k);
  return -1;
}

double log_determinant(const double* factor, int64_t k) {
  double sum = 0.;
  for (int64_t i = 0; i < k; ++i) sum += log64(factor[i * k + i]);
  return 2. * sum;
}

// x becomes R'^-1 x.
inline void solve_lower(const double* factor, int64_t k, double* x) {
  for (int64_t i = 0; i < k; ++i) {
    x[i] /= factor[i * k + i];
    subtract(x + i + 1, x[i], factor + i * k + i + 1, k - i - 1);
  }
}

void solve(const double* factor, int64_t k, double* x) {
  solve_lower(factor, k, x);
  for (int64_t i = k - 1; i >= 0; --i) {
    x[i] /= factor[i * k + i];
    subtract(x, x[i], factor + i * k, i);
  }
}

double quadratic(const double* factor, int64_t k, const double* x, double* work) {
  for (int64_t i = 0; i < k; ++i) work[i] = x[i];
  solve_lower(factor, k, work);
  double sum = 0.;
  for (int64_t i = 0; i < k; ++i) sum += work[i] * work[i];
  return sum;
}

// Forward and backward substitution of the identity, all columns at once and only in the lower triangle: column j of
// R'^-1 begins at row j, and of the symmetric result only rows from j on are needed.
void inverse(const double* factor, int64_t k, double* out) {
  for (int64_t begin = 0; begin < k; begin += kBlock) {
    const int64_t end = begin + kBlock < k ? begin + kBlock : k;
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < end; ++j) out[i * k + j] = j == i ? 1. : 0.;
    }
    for (int64_t p = 0; p < begin; p += kBlock) {
      for (int64_t i = begin; i < end; ++i) {
        const double* r = factor + i * k + p;  // R'[i, p]
        subtract4(out + i * k, r[0], r[1], r[2], r[3], out + p * k, k, p + kBlock);
      }
    }
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t p = begin; p < i; ++p) subtract(out + i * k, factor[i * k + p], out + p * k, p + 1);
      divide(out + i * k, factor[i * k + i], i + 1);
    }
  }
  for (int64_t end = k; end > 0; end -= kBlock) {
    const int64_t begin = end > kBlock ? end - kBlock : 0;
    for (int64_t p = k - 1; p >= end; p -= kBlock) {
      for (int64_t i = begin; i < end; ++i) {
        const double* r = factor + i * k + p;  // R[i, p]
        subtract4(out + i * k, r[0], r[-1], r[-2], r[-3], out + p * k, -k, i + 1);
      }
    }
    for (int64_t i = end - 1; i >= begin; --i) {
      for (int64_t p = end - 1; p > i; --p) subtract(out + i * k, factor[i * k + p], out + p * k, i + 1);
      divide(out + i * k, factor[i * k + i], i + 1);
    }
  }
  copy_lower_to_upper(out, k);
}

void weighted_squares(const double* x, const double* weights, int64_t k, int64_t n, double* out) {
  for (int64_t t = 0; t < n; ++t) out[t] = 0.;
  for (int64_t i = 0; i < k; ++i) {
    const double square = x[i] * x[i];
    for (int64_t t = 0; t < n; ++t) out[t] += square * weights[i * n + t];
  }
}

void regression_sums(const double* x, const double* weights, const double* values, int64_t n, int64_t k, int64_t stride,
                     double* shift, double* precision) {
  for (int64_t j = 0; j < k; ++j) shift[j] = 0.;
  for (int64_t j = 0; j < k * k; ++j) precision[j] = 0.;
  for (int64_t i = 0; i < n; ++i) {
    const double* row = x + i * k;
    const double weight = weights[i * stride], value = values[i * stride];
    for (int64_t j = 0; j < k; ++j) {
      if (row[j] == 0.) continue;  // as most topics are of most documents
      const double scaled = weight * row[j];
      double* out = precision + j * k;
      shift[j] += value * row[j];
      for (int64_t l = 0; l <= j; ++l) out[l] += scaled * row[l];
    }
  }
  copy_lower_to_upper(precision, k);
}

constexpr double kLargest = 2251799813685248.;  // 2^51
constexpr double kWhole = 3. * kLargest;        // adding it rounds a number below 2^51 to a whole one

// Rows are all over the memory: those that come soon are fetched.
inline double* row_of(double* a, int64_t k, const int64_t* rows, int64_t i, int64_t n) {
  if (i + 24 < n) {
    for (int64_t j = 0; j < k; j += 8) __builtin_prefetch(a + rows[i + 24] * k + j, 1);
  }
  return a + rows[i] * k;
}

bool add_rows(double* a, int64_t k, const int64_t* rows, const double* part, int64_t n, double sign, double grid,
              double* sums) {
  const double scale = 1. / grid;
  int64_t off_grid = 0;
  for (int64_t j = 0; j < k; ++j) sums[j] = 0.;
  for (int64_t i = 0; i < n; ++i) {
    double* __restrict row = row_of(a, k, rows, i, n);
    const double* __restrict p = part + i * k;
    for (int64_t j = 0; j < k; ++j) {
      const double cells = p[j] * scale;
      off_grid |= (((cells + kWhole) - kWhole) != cells) | !(__builtin_fabs(cells) < kLargest);
      row[j] += sign * p[j];
      sums[j] += p[j];
    }
  }
  return off_grid == 0;
}

void add_counts(double* a, int64_t k, const int64_t* rows, const int32_t* counts, int64_t n, double weight,
                double grid, double* __restrict sums) {
  const double scale = weight / grid;
  for (int64_t j = 0; j < k; ++j) sums[j] = 0.;
  for (int64_t i = 0; i < n; ++i) {
    double* __restrict row = row_of(a, k, rows, i, n);
    const int32_t* __restrict count = counts + i * k;
    for (int64_t j = 0; j < k; ++j) {
      const double x = ((count[j] * scale + kWhole) - kWhole) * grid;
      row[j] += x;
      sums[j] += x;
    }
  }
}

constexpr LinalgKernels linalg_kernels = {cholesky, log_determinant,  solve,           quadratic,
                                          inverse,  weighted_squares, regression_sums, add_rows, add_counts};

}  // namespace
}  // namespace bayespa
