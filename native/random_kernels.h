// Kernels that expose the addressed random numbers.
#pragma once

#include <cstdint>

namespace bayespa {

// out[i] = a draw from the stream (key, addresses[i]) with parameters[i]...; addresses is (n, 3), the rest (n).
template <class... Parameter>
using Draw = void (*)(uint64_t key, const uint32_t* addresses, int64_t n, double* out, const Parameter*... parameters);

struct RandomKernels {
  // out[i] = the 4 words of philox(key, counters[i]); counters and out are (n, 4).
  void (*philox)(uint64_t key, const uint32_t* counters, int64_t n, uint32_t* out);

  // 64 bits for one purpose, round, ..., folded from three numbers.
  uint64_t (*subkey)(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2);

  // out[i] = the uniform that a kernel makes of words[i].
  void (*uniform32)(const uint32_t* words, int64_t n, float* out);

  Draw<> uniform, normal;
  Draw<double> gamma, log_gamma;               // shape
  Draw<double, double> beta, inverse_gaussian;  // a, b; mean, shape
};

}  // namespace bayespa
