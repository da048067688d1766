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

// Calls use(own, row) for the entries of the rows [first, last), which are all over the memory: those that come soon
// are fetched.
template <class Use>
inline void for_entries(const WordRows& rows, int64_t first, int64_t last, Use&& use) {
  const int64_t n_tasks = rows.n_tasks;
  for (int64_t i = first; i < last; ++i) {
    if (i + 8 < last) {
      for (int64_t t = 0; t < n_tasks; t += 8) __builtin_prefetch(rows.table + rows.places[i + 8] * n_tasks + t);
    }
    const double* row = rows.table + rows.places[i] * n_tasks;
    for (int64_t t = 0; t < n_tasks; ++t) use(i * n_tasks + t, row[t]);
  }
}

void word_take(const WordRows& rows, int64_t first, int64_t last, double* out) {
  const double* taught = rows.taught;
  if (taught == nullptr) for_entries(rows, first, last, [=](int64_t at, double now) { out[at] = now; });
  else for_entries(rows, first, last, [=](int64_t at, double now) { out[at] = now - taught[at]; });
}

void word_take_from(const WordRows& rows, int64_t first, int64_t last, double* out) {
  const double* taught = rows.taught;
  if (taught == nullptr) for_entries(rows, first, last, [=](int64_t at, double now) { out[at] -= now; });
  else for_entries(rows, first, last, [=](int64_t at, double now) { out[at] -= now - taught[at]; });
}

void word_moments(int64_t n, double* shift, double* precision) {
  for (int64_t i = 0; i < n; ++i) {
    shift[i] /= precision[i];
    precision[i] = 1 / precision[i];
  }
}

void word_natural(int64_t n, double grid, double* mean, double* variance) {
  const double whole = 0x1.8p52 * grid;  // (x + whole) - whole is the nearest multiple of the grid
  for (int64_t i = 0; i < n; ++i) {
    const double precision = 1 / variance[i];
    mean[i] = (mean[i] * precision + whole) - whole;
    variance[i] = (precision + whole) - whole;
  }
}

constexpr WordsKernels words_kernels = {word_rarity, word_features, word_take, word_take_from, word_moments,
                                        word_natural};

}  // namespace
}  // namespace bayespa
