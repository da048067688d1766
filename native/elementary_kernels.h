// The functions of elementary.h over arrays.
#pragma once

#include <cstdint>

namespace bayespa {

// out[i] = f(x[i]) for i < n; out may be x.
template <class Real>
using Map = void (*)(const Real* x, int64_t n, Real* out);

struct ElementaryKernels {
  Map<double> exp64, log64, digamma, exp_digamma, log_gamma;
  Map<float> exp32, exp_digamma32;
};

}  // namespace bayespa
