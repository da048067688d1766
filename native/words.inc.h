#include "elementary.h"
#include "words.h"

namespace bayespa {
namespace {

void word_rarity(const double* seen, int64_t n, double* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = 1. + log64(seen[n] / seen[i]);
}

void word_features(const WordDocuments& documents, const double* rarity, int64_t first, int64_t last, double* values) {
  const int64_t begin = documents.indptr[first], end = documents.indptr[last];
  for (int64_t j = begin; j < end; ++j) values[j] = 1. + log64(static_cast<double>(documents.counts[j]));
  for (int64_t i = first; i < last; ++i) {
    double squares[2] = {0., 0.};  // of words, and of runs
    for (int64_t j = documents.indptr[i]; j < documents.indptr[i + 1]; ++j) {
      const int32_t word = documents.words[j];
      const bool run = documents.runs != nullptr && documents.runs[word];
      values[j] *= rarity[word];
      if (run) values[j] *= documents.run_value;
      squares[run] += values[j] * values[j];
    }
    const double length = __builtin_sqrt(squares[0] > squares[1] ? squares[0] : squares[1]);
    constexpr double tiny = 0x1p-1022;
    for (int64_t j = documents.indptr[i]; j < documents.indptr[i + 1]; ++j) values[j] /= length > tiny ? length : tiny;
  }
}

// Calls use(i, shift, precision) for the rows [first, last), which are all over the memory: those that come soon are
// fetched.
template <class Use>
inline void for_rows(const WordRows& rows, int64_t first, int64_t last, Use&& use) {
  const int64_t n_tasks = rows.n_tasks;
  for (int64_t i = first; i < last; ++i) {
    if (i + 24 < last) {
      const int64_t soon = rows.places[i + 24] * n_tasks;
      for (int64_t t = 0; t < n_tasks; t += 8) {
        __builtin_prefetch(rows.shift + soon + t);
        __builtin_prefetch(rows.precision + soon + t);
      }
    }
    const int64_t place = rows.places[i] * n_tasks;
    use(i, rows.shift + place, rows.precision + place);
  }
}

void word_moments(const WordRows& rows, int64_t first, int64_t last, int64_t stride, double* mean, double* variance) {
  const int64_t n_tasks = rows.n_tasks;
  for_rows(rows, first, last, [=](int64_t i, const double* shift, const double* precision) {
    double* __restrict m = mean + i * stride;
    double* __restrict v = variance + i * stride;
    if (rows.taught_shift == nullptr) {
      for (int64_t t = 0; t < n_tasks; ++t) {
        m[t] = shift[t] / precision[t];
        v[t] = 1 / precision[t];
      }
    } else {
      const double *less_shift = rows.taught_shift + i * n_tasks, *less_precision = rows.taught_precision + i * n_tasks;
      for (int64_t t = 0; t < n_tasks; ++t) {
        const double p = precision[t] - less_precision[t];
        m[t] = (shift[t] - less_shift[t]) / p;
        v[t] = 1 / p;
      }
    }
  });
}

void word_natural(const WordRows& rows, int64_t first, int64_t last, int64_t stride, const double* mean,
                  const double* variance, double grid, double* more_shift, double* more_precision) {
  const int64_t n_tasks = rows.n_tasks;
  const double whole = 0x1.8p52 * grid;  // (x + whole) - whole is the nearest multiple of the grid
  for_rows(rows, first, last, [=](int64_t i, const double* shift, const double* precision) {
    const double *m = mean + i * stride, *v = variance + i * stride;
    double* __restrict s = more_shift + i * n_tasks;
    double* __restrict p = more_precision + i * n_tasks;
    if (rows.taught_shift == nullptr) {
      for (int64_t t = 0; t < n_tasks; ++t) {
        const double now = 1 / v[t];
        s[t] = ((m[t] * now + whole) - whole) - shift[t];
        p[t] = ((now + whole) - whole) - precision[t];
      }
    } else {
      const double *less_shift = rows.taught_shift + i * n_tasks, *less_precision = rows.taught_precision + i * n_tasks;
      for (int64_t t = 0; t < n_tasks; ++t) {
        const double now = 1 / v[t];
        s[t] = ((m[t] * now + whole) - whole) - (shift[t] - less_shift[t]);
        p[t] = ((now + whole) - whole) - (precision[t] - less_precision[t]);
      }
    }
  });
}

constexpr WordsKernels words_kernels = {word_rarity, word_features, word_moments, word_natural};

}  // namespace
}  // namespace bayespa
