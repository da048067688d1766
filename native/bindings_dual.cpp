#include <vector>

#include "bindings.h"
#include "parallel.h"

namespace {

using namespace bayespa;
using namespace nb::literals;

// One shard a task.
void solve_dual(In<double, 2> x, In<double, 3> covariance, In<float, 2> labels, double margin, double bound,
                bool regression, double tol, int64_t max_sweeps, Out<double, 2> mean, Out<double, 2> dual,
                int n_threads) {
  const size_t n = x.shape(0), k = x.shape(1), n_tasks = mean.shape(0);
  require(covariance.shape(0) == n_tasks && covariance.shape(1) == k && covariance.shape(2) == k && mean.shape(1) == k,
          "covariance must be (T, K, K), mean (T, K)");
  require(labels.shape(0) == n && labels.shape(1) == n_tasks && dual.shape(0) == n && dual.shape(1) == n_tasks,
          "labels and dual must be (n, T)");
  const DualKernels& kernel = kernels().dual;
  const nb::gil_scoped_release release;
  parallel_for(static_cast<int>(n_tasks), n_threads, [&](int task) {
    std::vector<double> work(n * (k + 1));
    const DualProblem problem = {static_cast<int64_t>(n), static_cast<int64_t>(k), x.data(),
                                 covariance.data() + task * k * k, labels.data() + task,
                                 static_cast<int64_t>(n_tasks), margin, bound, regression};
    kernel.solve(problem, tol, max_sweeps, mean.data() + task * k, dual.data() + task, work.data());
  });
}

}  // namespace

void bayespa::bind_dual(nb::module_& m) {
  m.def("solve_dual", &solve_dual, array_arg("x"), array_arg("covariance"), array_arg("labels"), "margin"_a, "bound"_a,
        "regression"_a, "tol"_a, "max_sweeps"_a, array_arg("mean"), array_arg("dual"), "n_threads"_a = 1);
}
