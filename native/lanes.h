// Eight floats that move together: one AVX register, half of an AVX-512 one, two of SSE or NEON.
//
// The width is fixed, not the CPU's, because it fixes the order of every sum and so its bits. GCC and Clang lower
// these vector types to whatever the instruction set has.
#pragma once

#include <cstdint>

namespace bayespa {
namespace {  // internal to each kernel file: an AVX copy must never be linked into baseline code

#define BAYESPA_INLINE inline __attribute__((always_inline))  // vectors stay in registers

constexpr int kLanes = 8;
typedef float Lanes __attribute__((vector_size(32), aligned(4), may_alias));  // aligned(4): loads from any float*

inline Lanes& lanes(float* x) { return *reinterpret_cast<Lanes*>(x); }
inline const Lanes& lanes(const float* x) { return *reinterpret_cast<const Lanes*>(x); }

typedef int32_t LanesInt __attribute__((vector_size(32)));

#ifdef __AVX__
inline LanesInt at_most(const Lanes& a, const Lanes& b) { return a <= b; }
inline LanesInt below(const Lanes& a, const Lanes& b) { return a < b; }
inline Lanes select(const LanesInt& mask, const Lanes& yes, const Lanes& no) { return mask ? yes : no; }
#else
// Without 32-byte registers GCC takes comparisons of 32 bytes and conditionals apart into scalars: 16 bytes at a time.
typedef float Quad __attribute__((vector_size(16)));
typedef int32_t QuadInt __attribute__((vector_size(16)));

inline LanesInt at_most(const Lanes& a, const Lanes& b) {
  const QuadInt low = __builtin_shufflevector(a, a, 0, 1, 2, 3) <= __builtin_shufflevector(b, b, 0, 1, 2, 3);
  const QuadInt high = __builtin_shufflevector(a, a, 4, 5, 6, 7) <= __builtin_shufflevector(b, b, 4, 5, 6, 7);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}
inline LanesInt below(const Lanes& a, const Lanes& b) {
  const QuadInt low = __builtin_shufflevector(a, a, 0, 1, 2, 3) < __builtin_shufflevector(b, b, 0, 1, 2, 3);
  const QuadInt high = __builtin_shufflevector(a, a, 4, 5, 6, 7) < __builtin_shufflevector(b, b, 4, 5, 6, 7);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}
inline Lanes select(const LanesInt& mask, const Lanes& yes, const Lanes& no) {
  return reinterpret_cast<Lanes>((mask & reinterpret_cast<LanesInt>(yes)) | (~mask & reinterpret_cast<LanesInt>(no)));
}
#endif

// Bit l: whether lane l of a mask is set.
inline uint32_t bits(const LanesInt& mask) {
#if defined __AVX__
  return static_cast<uint32_t>(__builtin_ia32_movmskps256(reinterpret_cast<Lanes>(mask)));
#elif defined __SSE2__
  const QuadInt low = __builtin_shufflevector(mask, mask, 0, 1, 2, 3);
  const QuadInt high = __builtin_shufflevector(mask, mask, 4, 5, 6, 7);
  return static_cast<uint32_t>(__builtin_ia32_movmskps(reinterpret_cast<Quad>(low)) |
                               __builtin_ia32_movmskps(reinterpret_cast<Quad>(high)) << 4);
#else
  uint32_t found = 0;
  for (int l = 0; l < kLanes; ++l) found |= static_cast<uint32_t>(mask[l] & 1) << l;
  return found;
#endif
}

// Calls visit(l) for every bit l that is set, in ascending order.
template <class Word, class Visit>
inline void for_bits(Word word, Visit&& visit) {
  for (; word != 0; word &= word - 1) visit(__builtin_ctzll(word));
}

// The second of two that are equal, or no numbers: what x86 has an instruction for.
#ifdef __AVX__
inline Lanes larger(const Lanes& a, const Lanes& b) { return __builtin_ia32_maxps256(a, b); }
inline Lanes smaller(const Lanes& a, const Lanes& b) { return __builtin_ia32_minps256(a, b); }
#else
inline Lanes larger(const Lanes& a, const Lanes& b) { return select(below(b, a), a, b); }
inline Lanes smaller(const Lanes& a, const Lanes& b) { return select(below(a, b), a, b); }
#endif

inline Lanes absolute(const Lanes& x) {
  return reinterpret_cast<Lanes>(reinterpret_cast<LanesInt>(x) & 0x7fffffff);
}

inline Lanes root(Lanes x) {
  Lanes y;
  for (int l = 0; l < kLanes; ++l) y[l] = __builtin_sqrtf(x[l]);
  return y;
}

template <int... Index>
inline Lanes shuffle(const Lanes& a, const Lanes& b) {
  return __builtin_shufflevector(a, b, Index...);
}

// The sum of the lanes by halves, 8 -> 4 -> 2 -> 1.
inline float sum(const Lanes& x) {
  const Lanes four = x + shuffle<4, 5, 6, 7, 0, 1, 2, 3>(x, x);
  const Lanes two = four + shuffle<2, 3, 0, 1, 6, 7, 4, 5>(four, four);
  return (two + shuffle<1, 0, 3, 2, 5, 4, 7, 6>(two, two))[0];
}

inline float largest(const Lanes& x) {
  const Lanes four = larger(x, shuffle<4, 5, 6, 7, 0, 1, 2, 3>(x, x));
  const Lanes two = larger(four, shuffle<2, 3, 0, 1, 6, 7, 4, 5>(four, four));
  return larger(two, shuffle<1, 0, 3, 2, 5, 4, 7, 6>(two, two))[0];
}

// 1 in one lane, 0 in the others.
inline Lanes one_hot(uint32_t lane) {
  static constexpr float table[2 * kLanes - 1] = {0, 0, 0, 0, 0, 0, 0, 1};
  Lanes found;
  __builtin_memcpy(&found, table + (kLanes - 1 - lane), sizeof found);
  return found;
}

// x[k] += amount by reading and writing a whole row of lanes: a vector load that follows finds it in the store buffer,
// where a scalar store would stall it.
inline void add_at(float* x, uint32_t k, float amount) {
  lanes(x + k / kLanes * kLanes) += amount * one_hot(k % kLanes);
}

}  // namespace
}  // namespace bayespa
