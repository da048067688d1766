#include "words_driver.h"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "parallel.h"

namespace bayespa {
namespace {

constexpr int64_t kLine = 8;  // tasks in a cache line: no two threads write into the same one

// Moments of the words of a mini-batch: the means of a word, then its variances.
class Moments {
 public:
  const int64_t stride;
  double *const mean, *const variance;

  Moments(int64_t n_words, int64_t n_tasks)
      : stride(2 * (n_tasks <= kLine / 2 ? n_tasks : (n_tasks + kLine - 1) / kLine * kLine)),
        mean(static_cast<double*>(::operator new(n_words * stride * sizeof(double), align))),
        variance(mean + stride / 2), memory_(mean) {}

 private:
  static constexpr std::align_val_t align{64};
  struct Free {
    void operator()(double* memory) const { ::operator delete(memory, align); }
  };
  std::unique_ptr<double, Free> memory_;
};

}  // namespace

void learn_words(const Kernels& kernels, const Rows& rows, const Targets& targets, const WordTables& tables,
                 const double* taught_shift, const double* taught_precision, double cost, TiltMethod method, double grid,
                 const WordsLearned& learned, int n_threads) {
  const int64_t n_tasks = tables.n_tasks, n_words = rows.n_columns + 1;
  const WordRows words = {tables.places, n_tasks, tables.shift, tables.precision, taught_shift, taught_precision};
  const Moments now(n_words, n_tasks);
  parallel_blocks(n_words, n_threads, [&](int64_t first, int64_t last) {
    kernels.words.moments(words, first, last, now.stride, now.mean, now.variance);
  });
  parallel_blocks(rows.n, n_threads, [&](int64_t first, int64_t last) {
    kernels.linear.decide(rows, now.mean, now.stride, n_tasks, first, last, learned.guess);
  });
  parallel_blocks((n_tasks + kLine - 1) / kLine, n_threads, [&](int64_t first, int64_t last) {
    std::vector<double> work(4 * n_tasks);
    const TaskRange own = {kLine * first, std::min(kLine * last, n_tasks)};
    kernels.linear.gibbs_diagonal(rows, targets, cost, method, own, now.stride, now.mean, now.variance, learned.loss,
                                  work.data());
  });
  parallel_blocks(n_words, n_threads, [&](int64_t first, int64_t last) {
    kernels.words.natural(words, first, last, now.stride, now.mean, now.variance, grid, learned.shift,
                          learned.precision);
  });
}

void decide_by_words(const Kernels& kernels, const Rows& rows, const WordTables& tables, double* margin,
                     int n_threads) {
  const int64_t n_tasks = tables.n_tasks, n_words = rows.n_columns + 1;
  const Moments now(n_words, n_tasks);
  parallel_blocks(n_words, n_threads, [&](int64_t first, int64_t last) {
    kernels.words.moments({tables.places, n_tasks, tables.shift, tables.precision, nullptr, nullptr}, first, last,
                          now.stride, now.mean, now.variance);
  });
  parallel_blocks(rows.n, n_threads, [&](int64_t first, int64_t last) {
    kernels.linear.decide(rows, now.mean, now.stride, n_tasks, first, last, margin);
  });
}

}  // namespace bayespa
