// Philox4x32-10 (Salmon et al., SC 2011): 128 random bits that are a pure function of (key, counter).
// Randomness is addressed, never hidden state: the same address gives the same bits on any thread and any CPU.
#pragma once

#include <cstdint>

namespace bayespa {
namespace {  // internal to each kernel file: an AVX copy must never be linked into baseline code

struct Block {
  uint32_t word[4];
};

inline Block philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;  // golden ratio
    k1 += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace
}  // namespace bayespa
