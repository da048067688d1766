#include "words_driver.h"

#include <algorithm>
#include <vector>

#include "parallel.h"

namespace bayespa {

void learn_words(const Kernels& kernels, const Rows& rows, const Targets& targets, const WordTables& tables,
                 const double* taught_shift, const double* taught_precision, double cost, TiltMethod method, double grid,
                 const WordsLearned& learned, int n_threads) {
  const int64_t n_tasks = tables.n_tasks, n_words = rows.n_columns + 1;
  const WordRows shift = {tables.places, n_tasks, tables.shift, taught_shift};
  const WordRows precision = {tables.places, n_tasks, tables.precision, taught_precision};
  parallel_blocks(n_words, n_threads, [&](int64_t first, int64_t last) {
    kernels.words.take(shift, first, last, learned.shift);
    kernels.words.take(precision, first, last, learned.precision);
    const int64_t begin = first * n_tasks, end = last * n_tasks;
    kernels.words.moments(end - begin, learned.shift + begin, learned.precision + begin);
  });
  parallel_blocks(rows.n, n_threads, [&](int64_t first, int64_t last) {
    kernels.linear.decide(rows, learned.shift, n_tasks, first, last, learned.guess);
  });
  parallel_blocks(n_tasks, n_threads, [&](int64_t first, int64_t last) {
    std::vector<double> work(4 * n_tasks);
    kernels.linear.gibbs_diagonal(rows, targets, cost, method, {first, last}, learned.shift, learned.precision,
                                  learned.loss, work.data());
  });
  parallel_blocks(n_words, n_threads, [&](int64_t first, int64_t last) {
    const int64_t begin = first * n_tasks, end = last * n_tasks;
    kernels.words.natural(end - begin, grid, learned.shift + begin, learned.precision + begin);
    kernels.words.take_from(shift, first, last, learned.shift);
    kernels.words.take_from(precision, first, last, learned.precision);
  });
}

void decide_by_words(const Kernels& kernels, const Rows& rows, const WordTables& tables, double* margin,
                     int n_threads) {
  const int64_t n_tasks = tables.n_tasks, n_words = rows.n_columns + 1;
  std::vector<double> mean(n_words * n_tasks), precision(n_words * n_tasks);
  parallel_blocks(n_words, n_threads, [&](int64_t first, int64_t last) {
    kernels.words.take({tables.places, n_tasks, tables.shift, nullptr}, first, last, mean.data());
    kernels.words.take({tables.places, n_tasks, tables.precision, nullptr}, first, last, precision.data());
    const int64_t begin = first * n_tasks, end = last * n_tasks;
    kernels.words.moments(end - begin, mean.data() + begin, precision.data() + begin);
  });
  parallel_blocks(rows.n, n_threads, [&](int64_t first, int64_t last) {
    kernels.linear.decide(rows, mean.data(), n_tasks, first, last, margin);
  });
}

}  // namespace bayespa
