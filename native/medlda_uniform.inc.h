// Random numbers for the tokens of a document.
#pragma once

#include "lanes.h"
#include "sampling.h"

namespace bayespa {
namespace {

// Eight blocks of `philox` with counters that differ in their first word: word w of block l is words[8 w + l].
#ifdef __AVX2__
typedef uint64_t Wide __attribute__((vector_size(32)));  // the upper half of an element is arbitrary

inline Wide times(const Wide& x, uint32_t factor) {  // of the lower halves
  typedef int32_t Int __attribute__((vector_size(32)));
  return reinterpret_cast<Wide>(
      __builtin_ia32_pmuludq256(reinterpret_cast<Int>(x), reinterpret_cast<Int>(Wide{} + uint64_t{factor})));
}

inline void philox_lanes(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t* words) {
  typedef uint32_t Words __attribute__((vector_size(32), aligned(4), may_alias));
  const Wide zero = {};
  Wide x[2][4];
  for (int half = 0; half < 2; ++half) {
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    Wide a = Wide{0, 1, 2, 3} + uint64_t{c0 + 4 * half}, b = zero + c1, c = zero + c2, d = zero + c3;
    for (int round = 0; round < 10; ++round) {
      const Wide p0 = times(a, 0xD2511F53u), p1 = times(c, 0xCD9E8D57u);
      a = (p1 >> 32) ^ b ^ uint64_t{k0};
      c = (p0 >> 32) ^ d ^ uint64_t{k1};
      b = p1;
      d = p0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    x[half][0] = a, x[half][1] = b, x[half][2] = c, x[half][3] = d;
  }
  for (int w = 0; w < 4; ++w)
    *reinterpret_cast<Words*>(words + kLanes * w) = __builtin_shufflevector(
        reinterpret_cast<Words>(x[0][w]), reinterpret_cast<Words>(x[1][w]), 0, 2, 4, 6, 8, 10, 12, 14);
}
#else
inline void philox_lanes(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t* words) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    const Block block = philox(key, c0 + l, c1, c2, c3);
    for (int w = 0; w < 4; ++w) words[kLanes * w + l] = block.word[w];
  }
}
#endif

// Numbers for n tokens of a document, addressed by (token, sweep, document, round): eight blocks to 32 tokens.
void fill_uniform(uint64_t key, uint32_t sweep, uint32_t document, uint32_t round, int n, float* out) {
  uint32_t words[4 * kLanes];
  for (int first = 0; first < n; first += 4 * kLanes, out += 4 * kLanes) {
    philox_lanes(key, static_cast<uint32_t>(first / 4), sweep, document, round, words);
    for (int i = 0; i < 4 * kLanes; ++i) out[i] = uniform32(words[i]);
  }
}

}  // namespace
}  // namespace bayespa
