#include "philox.h"
#include "random_kernels.h"

namespace bayespa {
namespace {

void philox_many(uint64_t key, const uint32_t* counters, int64_t n, uint32_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t* c = counters + 4 * i;
    const Block block = philox(key, c[0], c[1], c[2], c[3]);
    for (int j = 0; j < 4; ++j) out[4 * i + j] = block.word[j];
  }
}

constexpr RandomKernels random_kernels = {philox_many};

}  // namespace
}  // namespace bayespa
