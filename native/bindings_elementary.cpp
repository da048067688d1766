#include "bindings.h"
#include "parallel.h"

namespace {

using namespace bayespa;

template <class Real>
void bind_map(nb::module_& m, const char* name, Map<Real> ElementaryKernels::*member) {
  m.def(
      name,
      [member](In<Real, 1> x, Out<Real, 1> out, int n_threads) {
        require(x.shape(0) == out.shape(0), "x and out must have the same length");
        require(n_threads >= 1, "n_threads must be at least 1");
        const Map<Real> map = kernels().elementary.*member;
        const nb::gil_scoped_release release;
        parallel_ranges(static_cast<int64_t>(x.shape(0)), n_threads, [&](int64_t begin, int64_t end) {
          map(x.data() + begin, end - begin, out.data() + begin);
        });
      },
      array_arg("x"), array_arg("out"), nb::arg("n_threads") = 1);
}

}  // namespace

void bayespa::bind_elementary(nb::module_& m) {
  bind_map(m, "exp64", &ElementaryKernels::exp64);
  bind_map(m, "log64", &ElementaryKernels::log64);
  bind_map(m, "digamma", &ElementaryKernels::digamma);
  bind_map(m, "exp_digamma", &ElementaryKernels::exp_digamma);
  bind_map(m, "log_gamma", &ElementaryKernels::log_gamma);
  bind_map(m, "exp32", &ElementaryKernels::exp32);
  bind_map(m, "exp_digamma32", &ElementaryKernels::exp_digamma32);
}
