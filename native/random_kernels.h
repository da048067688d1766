// Kernels that expose the addressed random numbers.
#pragma once

#include <cstdint>

namespace bayespa {

struct RandomKernels {
  // out[i] = the 4 words of philox(key, counters[i]); counters and out are (n, 4).
  void (*philox)(uint64_t key, const uint32_t* counters, int64_t n, uint32_t* out);
};

}  // namespace bayespa
