#include "bindings.h"

#include <vector>

#include "parallel.h"

namespace {

using namespace bayespa;

// Each matrix, or each row of x, is a shard: any number of threads computes the same bits.
template <class Work>
void for_each(size_t n, int n_threads, Work&& work) {
  require(n_threads >= 1, "n_threads must be at least 1");
  const nb::gil_scoped_release release;
  parallel_for(static_cast<int>(n), n_threads, work);
}

template <class Array>
bool has_shape(const Array& array, std::initializer_list<size_t> shape) {
  size_t axis = 0;
  for (const size_t n : shape) {
    if (array.shape(axis++) != n) return false;
  }
  return true;
}

void cholesky(In<double, 3> matrices, Out<double, 3> factors, Out<int64_t, 1> failed, int n_threads) {
  const size_t n = matrices.shape(0), k = matrices.shape(1);
  require(has_shape(matrices, {n, k, k}) && has_shape(factors, {n, k, k}) && has_shape(failed, {n}),
          "matrices and factors must be (T, K, K), failed (T,)");
  const LinalgKernels& kernel = kernels().linalg;
  for_each(n, n_threads, [&](int t) {
    failed.data()[t] = kernel.cholesky(matrices.data() + t * k * k, k, factors.data() + t * k * k);
  });
}

void log_determinant(In<double, 3> factors, Out<double, 1> out, int n_threads) {
  const size_t n = factors.shape(0), k = factors.shape(1);
  require(has_shape(factors, {n, k, k}) && has_shape(out, {n}), "factors must be (T, K, K), out (T,)");
  const LinalgKernels& kernel = kernels().linalg;
  for_each(n, n_threads,
           [&](int t) { out.data()[t] = kernel.log_determinant(factors.data() + t * k * k, k); });
}

void solve(In<double, 3> factors, Out<double, 2> x, int n_threads) {
  const size_t n = factors.shape(0), k = factors.shape(1);
  require(has_shape(factors, {n, k, k}) && has_shape(x, {n, k}), "factors must be (T, K, K), x (T, K)");
  const LinalgKernels& kernel = kernels().linalg;
  for_each(n, n_threads, [&](int t) { kernel.solve(factors.data() + t * k * k, k, x.data() + t * k); });
}

void quadratic(In<double, 3> factors, In<double, 2> x, Out<double, 2> out, int n_threads) {
  const size_t n = factors.shape(0), k = factors.shape(1), n_rows = x.shape(0);
  require(has_shape(factors, {n, k, k}) && has_shape(x, {n_rows, k}) && has_shape(out, {n, n_rows}),
          "factors must be (T, K, K), x (N, K), out (T, N)");
  const LinalgKernels& kernel = kernels().linalg;
  for_each(n, n_threads, [&](int t) {
    std::vector<double> work(k);
    for (size_t i = 0; i < n_rows; ++i) {
      out.data()[t * n_rows + i] = kernel.quadratic(factors.data() + t * k * k, k, x.data() + i * k, work.data());
    }
  });
}

void inverse(In<double, 3> factors, Out<double, 3> out, int n_threads) {
  const size_t n = factors.shape(0), k = factors.shape(1);
  require(has_shape(factors, {n, k, k}) && has_shape(out, {n, k, k}), "factors and out must be (T, K, K)");
  const LinalgKernels& kernel = kernels().linalg;
  for_each(n, n_threads,
           [&](int t) { kernel.inverse(factors.data() + t * k * k, k, out.data() + t * k * k); });
}

// The three above in one: mean and covariance of Gaussians from their natural parameters. Where a precision is not
// positive definite, `failed` says which pivot, and the moments are left alone.
void moments(In<double, 2> shift, In<double, 3> precision, Out<double, 2> mean, Out<double, 3> covariance,
             Out<int64_t, 1> failed, int n_threads) {
  const size_t n = shift.shape(0), k = shift.shape(1);
  require(has_shape(precision, {n, k, k}) && has_shape(mean, {n, k}) && has_shape(covariance, {n, k, k}) &&
              has_shape(failed, {n}),
          "shift and mean must be (T, K), precision and covariance (T, K, K), failed (T,)");
  const LinalgKernels& kernel = kernels().linalg;
  for_each(n, n_threads, [&](int t) {
    std::vector<double> factor(k * k);
    failed.data()[t] = kernel.cholesky(precision.data() + t * k * k, k, factor.data());
    if (failed.data()[t] >= 0) return;
    for (size_t i = 0; i < k; ++i) mean.data()[t * k + i] = shift.data()[t * k + i];
    kernel.solve(factor.data(), k, mean.data() + t * k);
    kernel.inverse(factor.data(), k, covariance.data() + t * k * k);
  });
}

void weighted_squares(In<double, 2> x, In<double, 2> weights, Out<double, 2> out, int n_threads) {
  const size_t n = x.shape(0), k = x.shape(1), n_tasks = weights.shape(1);
  require(has_shape(weights, {k, n_tasks}) && has_shape(out, {n, n_tasks}),
          "x must be (N, K), weights (K, T), out (N, T)");
  const LinalgKernels& kernel = kernels().linalg;
  for_each(n, n_threads, [&](int i) {
    kernel.weighted_squares(x.data() + i * k, weights.data(), k, n_tasks, out.data() + i * n_tasks);
  });
}

void regression_sums(In<double, 2> x, In<double, 2> weights, In<double, 2> values, Out<double, 2> shift,
                     Out<double, 3> precision, int n_threads) {
  const size_t n = x.shape(0), k = x.shape(1), n_tasks = weights.shape(1);
  require(has_shape(weights, {n, n_tasks}) && has_shape(values, {n, n_tasks}) && has_shape(shift, {n_tasks, k}) &&
              has_shape(precision, {n_tasks, k, k}),
          "x must be (N, K), weights and values (N, T), shift (T, K), precision (T, K, K)");
  const LinalgKernels& kernel = kernels().linalg;
  for_each(n_tasks, n_threads, [&](int t) {
    kernel.regression_sums(x.data(), weights.data() + t, values.data() + t, n, k, n_tasks, shift.data() + t * k,
                           precision.data() + t * k * k);
  });
}

// What updates of one array have done: how many were made, whether all were exact, and the sums they added. An
// update that was made already does nothing, so that one that an exception cut off from its caller can be repeated.
class Ledger {
 public:
  Ledger(Out<double, 1>& entries, size_t k, int64_t turn) : entries_(entries.data()), k_(k), turn_(turn), sums_(k) {
    require(has_shape(entries, {k + 2}), "ledger must be (2 + K,)");
  }
  bool made() const { return entries_[0] != static_cast<double>(turn_); }
  double* sums() { return sums_.data(); }
  void enter(bool exact, double sign) {
    for (size_t j = 0; j < k_; ++j) entries_[2 + j] += sign * sums_[j];
    if (!exact) entries_[1] = 0.;
    entries_[0] += 1.;
  }

 private:
  double* entries_;
  size_t k_;
  int64_t turn_;
  std::vector<double> sums_;
};

template <class Part>
void require_rows(const Out<double, 2>& a, const In<int64_t, 1>& rows, const Part& part) {
  require(has_shape(part, {rows.shape(0), a.shape(1)}), "a must be (W, K), rows (N,), what is added (N, K)");
  for (size_t i = 0; i < rows.shape(0); ++i) {
    require(rows(i) >= 0 && static_cast<size_t>(rows(i)) < a.shape(0), "rows must be row numbers of a");
  }
}

void add_rows(Out<double, 2> a, In<int64_t, 1> rows, In<double, 2> part, double sign, double grid,
              Out<double, 1> ledger, int64_t turn) {
  require_rows(a, rows, part);
  Ledger entries(ledger, a.shape(1), turn);
  if (entries.made()) return;
  const LinalgKernels& kernel = kernels().linalg;
  const nb::gil_scoped_release release;
  const bool exact = kernel.add_rows(a.data(), a.shape(1), rows.data(), part.data(), rows.shape(0), sign, grid,
                                     entries.sums());
  entries.enter(exact, sign);
}

void add_counts(Out<double, 2> a, In<int64_t, 1> rows, In<int32_t, 2> counts, double weight, double grid,
                Out<double, 1> ledger, int64_t turn) {
  require_rows(a, rows, counts);
  Ledger entries(ledger, a.shape(1), turn);
  if (entries.made()) return;
  const LinalgKernels& kernel = kernels().linalg;
  const nb::gil_scoped_release release;
  kernel.add_counts(a.data(), a.shape(1), rows.data(), counts.data(), rows.shape(0), weight, grid, entries.sums());
  entries.enter(true, 1.);
}

}  // namespace

void bayespa::bind_linalg(nb::module_& m) {
  const auto n_threads = nb::arg("n_threads") = 1;
  const auto factors = array_arg("factors"), x = array_arg("x"), out = array_arg("out");
  m.def("cholesky", &cholesky, array_arg("matrices"), factors, array_arg("failed"), n_threads);
  m.def("log_determinant", &log_determinant, factors, out, n_threads);
  m.def("solve", &solve, factors, x, n_threads);
  m.def("quadratic", &quadratic, factors, x, out, n_threads);
  m.def("inverse", &inverse, factors, out, n_threads);
  m.def("moments", &moments, array_arg("shift"), array_arg("precision"), array_arg("mean"), array_arg("covariance"),
        array_arg("failed"), n_threads);
  m.def("weighted_squares", &weighted_squares, x, array_arg("weights"), out, n_threads);
  m.def("regression_sums", &regression_sums, x, array_arg("weights"), array_arg("values"), array_arg("shift"),
        array_arg("precision"), n_threads);
  m.def("add_rows", &add_rows, array_arg("a"), array_arg("rows"), array_arg("part"), nb::arg("sign"), nb::arg("grid"),
        array_arg("ledger"), nb::arg("turn"));
  m.def("add_counts", &add_counts, array_arg("a"), array_arg("rows"), array_arg("counts"), nb::arg("weight"),
        nb::arg("grid"), array_arg("ledger"), nb::arg("turn"));
}
