// Which runs of words may have a column: a set of bits that says no to most runs, at the price of a few bytes of memory
// near at hand. It is asked by the hashes of the words, so a run need not be put together to be told that it has none.
#pragma once

#include <cstdint>
#include <vector>

namespace bayespa {

class RunFilter {
 public:
  // The hash of the run that begins one word earlier, given that of the run behind it (0: it is the last word).
  static uint64_t joined(uint64_t hash, uint32_t tag) { return (hash ^ tag) * 0x9e3779b97f4a7c15u; }

  // Whether n runs are too many for its size.
  bool is_small(int64_t n) const { return static_cast<uint64_t>(n) * 32 > uint64_t{1} << (64 - shift_); }

  // Starts anew with twice the size.
  void grow() {
    --shift_;
    bits_.assign(size_t{1} << (58 - shift_), 0);
  }

  void add(uint64_t hash) { bits_[hash >> shift_ >> 6] |= uint64_t{1} << (hash >> shift_ & 63); }
  bool may_have(uint64_t hash) const { return bits_[hash >> shift_ >> 6] >> (hash >> shift_ & 63) & 1; }

 private:
  int shift_ = 64 - 15;  // 2^15 bits for up to 1024 runs
  std::vector<uint64_t> bits_ = std::vector<uint64_t>(size_t{1} << 9);
};

}  // namespace bayespa
