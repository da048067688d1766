#include "random_kernels.h"
#include "sampling.h"

namespace bayespa {
namespace {

void philox_many(uint64_t key, const uint32_t* counters, int64_t n, uint32_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t* c = counters + 4 * i;
    const Block block = philox(key, c[0], c[1], c[2], c[3]);
    for (int j = 0; j < 4; ++j) out[4 * i + j] = block.word[j];
  }
}

void uniform32_many(const uint32_t* words, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = uniform32(words[i]);
}

template <auto draw, class... Parameter>
void draw_many(uint64_t key, const uint32_t* addresses, int64_t n, double* out, const Parameter*... parameters) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t* c = addresses + 3 * i;
    Stream stream(key, c[0], c[1], c[2]);
    out[i] = draw(stream, parameters[i]...);
  }
}

constexpr RandomKernels random_kernels = {
    philox_many,
    subkey,
    uniform32_many,
    draw_many<draw_uniform>,
    draw_many<draw_normal>,
    draw_many<draw_gamma>,
    draw_many<draw_log_gamma>,
    draw_many<draw_beta>,
    draw_many<draw_inverse_gaussian>,
};

}  // namespace
}  // namespace bayespa
