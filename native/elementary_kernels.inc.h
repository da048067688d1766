#include "elementary.h"
#include "elementary_kernels.h"

namespace bayespa {
namespace {

template <auto f, class Real>
void map(const Real* x, int64_t n, Real* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = f(x[i]);
}

constexpr ElementaryKernels elementary_kernels = {map<exp64>,     map<log64>, map<digamma>,      map<exp_digamma>,
                                                  map<log_gamma>, map<exp32>, map<exp_digamma32>};

}  // namespace
}  // namespace bayespa
