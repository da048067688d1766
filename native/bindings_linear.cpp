#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "bindings_linear.h"
#include "parallel.h"

namespace {

using namespace bayespa;
using namespace nb::literals;

// Runs work(first, last) over contiguous blocks of [0, n), one for each thread.
template <class Work>
void over_blocks(int64_t n, int n_threads, Work&& work) {
  require(n_threads >= 1, "n_threads must be at least 1");
  const nb::gil_scoped_release release;
  parallel_blocks(n, n_threads, work);
}

// The same over tasks, with a workspace for each block.
template <class Work>
void over_tasks(int64_t n_tasks, int n_threads, size_t workspace, Work&& work) {
  over_blocks(n_tasks, n_threads, [&](int64_t first, int64_t last) {
    std::vector<double> space(workspace);
    work(TaskRange{first, last}, space.data());
  });
}

void require_weights(const Out<double, 2>& weights, const RowsView& x, int64_t n_tasks) {
  require(static_cast<int64_t>(weights.shape(0)) == x.rows.n_columns + 1 &&
              static_cast<int64_t>(weights.shape(1)) == n_tasks,
          "feature-major arrays must be (columns + 1, tasks)");
}

void decide(const nb::object& rows, In<double, 2> weights, Out<double, 2> out, int n_threads) {
  const RowsView x(rows);
  const int64_t n_tasks = static_cast<int64_t>(weights.shape(1));
  require(static_cast<int64_t>(weights.shape(0)) == x.rows.n_columns + 1 &&
              static_cast<int64_t>(out.shape(0)) == x.rows.n && out.shape(1) == weights.shape(1),
          "weights must be (columns + 1, tasks), out (rows, tasks)");
  const LinearKernels& k = kernels().linear;
  over_blocks(x.rows.n, n_threads,
              [&](int64_t first, int64_t last) { k.decide(x.rows, weights.data(), n_tasks, n_tasks, first, last, out.data()); });
}

void aggressive(const nb::object& rows, const nb::object& targets, In<int64_t, 1> order, double aggressiveness,
                bool squared, double variance, Out<double, 2> weights, nb::object dual, nb::object drift, int64_t seen,
                Out<double, 1> loss, Out<double, 1> change, int n_threads, nb::object ledger, int64_t turn) {
  Out<double, 1> entries;  // as of updates of a table: one that was made already does nothing
  if (!ledger.is_none()) {
    entries = nb::cast<Out<double, 1>>(ledger, false);
    require(entries.shape(0) >= 1, "ledger must have an entry for the updates made");
    if (entries.data()[0] != static_cast<double>(turn)) return;
  }
  const RowsView x(rows);
  const TargetsView y(targets, x.rows);
  const int64_t n_tasks = y.targets.n_tasks;
  require_weights(weights, x, n_tasks);
  require(static_cast<int64_t>(order.shape(0)) == x.rows.n, "order must name every row");
  for (int64_t i = 0; i < x.rows.n; ++i) {
    require(order.data()[i] >= 0 && order.data()[i] < x.rows.n, "order must name every row");
  }
  require(static_cast<int64_t>(loss.shape(0)) == n_tasks && static_cast<int64_t>(change.shape(0)) == n_tasks,
          "loss and change must be (tasks,)");
  Out<double, 2> dual_array, drift_array;
  if (!dual.is_none()) {
    dual_array = nb::cast<Out<double, 2>>(dual, false);
    require(
        static_cast<int64_t>(dual_array.shape(0)) == x.rows.n && static_cast<int64_t>(dual_array.shape(1)) == n_tasks,
        "dual must be (rows, tasks)");
  }
  if (!drift.is_none()) {
    drift_array = nb::cast<Out<double, 2>>(drift, false);
    require_weights(drift_array, x, n_tasks);
  }
  double* const dual_data = dual.is_none() ? nullptr : dual_array.data();
  double* const drift_data = drift.is_none() ? nullptr : drift_array.data();
  const LinearKernels& k = kernels().linear;
  over_tasks(n_tasks, n_threads, 2 * static_cast<size_t>(n_tasks), [&](TaskRange range, double* work) {
    k.aggressive(x.rows, y.targets, order.data(), aggressiveness, squared, variance, range, weights.data(), dual_data,
                 drift_data, seen, loss.data(), change.data(), work);
  });
  if (!ledger.is_none()) entries.data()[0] += 1.;
}

void gibbs_diagonal(const nb::object& rows, const nb::object& targets, double cost, const std::string& method,
                    Out<double, 2> mean, Out<double, 2> variance, Out<double, 1> objective, int n_threads) {
  const RowsView x(rows);
  const TargetsView y(targets, x.rows);
  const TiltMethod tilt = method_of(method);
  const int64_t n_tasks = y.targets.n_tasks;
  require_weights(mean, x, n_tasks);
  require_weights(variance, x, n_tasks);
  require(static_cast<int64_t>(objective.shape(0)) == n_tasks, "objective must be (tasks,)");
  const LinearKernels& k = kernels().linear;
  over_tasks(n_tasks, n_threads, 4 * static_cast<size_t>(n_tasks), [&](TaskRange range, double* work) {
    k.gibbs_diagonal(x.rows, y.targets, cost, tilt, range, n_tasks, mean.data(), variance.data(), objective.data(), work);
  });
}

void gibbs_isotropic(const nb::object& rows, const nb::object& targets, double cost, const std::string& method,
                     Out<double, 2> mean, Out<double, 1> variance, Out<double, 1> objective, int n_threads) {
  const RowsView x(rows);
  const TargetsView y(targets, x.rows);
  const TiltMethod tilt = method_of(method);
  const int64_t n_tasks = y.targets.n_tasks;
  require_weights(mean, x, n_tasks);
  require(static_cast<int64_t>(variance.shape(0)) == n_tasks && static_cast<int64_t>(objective.shape(0)) == n_tasks,
          "variance and objective must be (tasks,)");
  const LinearKernels& k = kernels().linear;
  over_tasks(n_tasks, n_threads, 2 * static_cast<size_t>(n_tasks), [&](TaskRange range, double* work) {
    k.gibbs_isotropic(x.rows, y.targets, cost, tilt, range, mean.data(), variance.data(), objective.data(), work);
  });
}

void gibbs_full(const nb::object& rows, const nb::object& targets, double cost, const std::string& method,
                Out<double, 2> mean, Out<double, 3> covariance, Out<double, 2> shift, Out<double, 3> precision,
                Out<double, 1> objective, int n_threads) {
  const RowsView x(rows);
  const TargetsView y(targets, x.rows);
  const TiltMethod tilt = method_of(method);
  const int64_t n_tasks = y.targets.n_tasks;
  const size_t size = static_cast<size_t>(x.rows.n_columns) + 1;
  for (const auto* vector : {&mean, &shift}) {
    require(static_cast<int64_t>(vector->shape(0)) == n_tasks && vector->shape(1) == size,
            "mean and shift must be (tasks, columns + 1)");
  }
  for (const auto* matrix : {&covariance, &precision}) {
    require(static_cast<int64_t>(matrix->shape(0)) == n_tasks && matrix->shape(1) == size && matrix->shape(2) == size,
            "covariance and precision must be (tasks, columns + 1, columns + 1)");
  }
  require(static_cast<int64_t>(objective.shape(0)) == n_tasks, "objective must be (tasks,)");
  const LinearKernels& k = kernels().linear;
  over_tasks(n_tasks, n_threads, size, [&](TaskRange range, double* work) {
    k.gibbs_full(x.rows, y.targets, cost, tilt, range, mean.data(), covariance.data(), shift.data(), precision.data(),
                 objective.data(), work);
  });
}

void tilt(In<double, 1> m, In<double, 1> s, In<double, 1> lower, In<double, 1> upper, double cost,
          const std::string& method, Out<double, 2> out) {
  const size_t n = m.shape(0);
  require(s.shape(0) == n && lower.shape(0) == n && upper.shape(0) == n && out.shape(0) == n && out.shape(1) == 3,
          "m, s, lower and upper must be (n,), out (n, 3)");
  const TiltMethod how = method_of(method);
  const LinearKernels& k = kernels().linear;
  const nb::gil_scoped_release release;
  k.tilt(m.data(), s.data(), lower.data(), upper.data(), static_cast<int64_t>(n), cost, how, out.data());
}

}  // namespace

void bayespa::bind_linear(nb::module_& m) {
  m.def("decide", &decide, "rows"_a, array_arg("weights"), array_arg("out"), "n_threads"_a = 1);
  m.def("aggressive", &aggressive, "rows"_a, "targets"_a, array_arg("order"), "aggressiveness"_a, "squared"_a,
        "variance"_a, array_arg("weights"), "dual"_a.none(), "drift"_a.none(), "seen"_a, array_arg("loss"),
        array_arg("change"), "n_threads"_a = 1, "ledger"_a.none() = nb::none(), "turn"_a = 0);
  m.def("gibbs_diagonal", &gibbs_diagonal, "rows"_a, "targets"_a, "cost"_a, "method"_a, array_arg("mean"),
        array_arg("variance"), array_arg("objective"), "n_threads"_a = 1);
  m.def("gibbs_isotropic", &gibbs_isotropic, "rows"_a, "targets"_a, "cost"_a, "method"_a, array_arg("mean"),
        array_arg("variance"), array_arg("objective"), "n_threads"_a = 1);
  m.def("gibbs_full", &gibbs_full, "rows"_a, "targets"_a, "cost"_a, "method"_a, array_arg("mean"),
        array_arg("covariance"), array_arg("shift"), array_arg("precision"), array_arg("objective"), "n_threads"_a = 1);
  m.def("tilt", &tilt, array_arg("m"), array_arg("s"), array_arg("lower"), array_arg("upper"), "cost"_a, "method"_a,
        array_arg("out"));
}
