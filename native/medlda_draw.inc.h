// Drawing the topic of a token from the weights of its candidates.
#pragma once

#include "elementary.h"
#include "lanes.h"

namespace bayespa {
namespace {

constexpr float kBelowOne = 0x1.fffffep-1f;  // the largest float below 1

struct Aim {
  uint32_t lane;
  float left;  // of the weights of the lane
};

// The lane whose share of the weights holds u of their sum: `sums` are those by lane, `room` is for one row. The sums
// over lanes grow from lane to lane, and where the weight of a lane is 0 they do not (their order sees to that), u
// times the last is below it, and so is what is left of it for the lane (the minimum mends the rounding of t - left):
// no topic of weight 0 is ever drawn. Of weights that are all 0, or not numbers, some lane is drawn, but never a ninth.
BAYESPA_INLINE Aim aim(float u, const Lanes& sums, float* room) {
  const Lanes none = {};
  const Lanes two = sums + shuffle<8, 0, 8, 2, 8, 4, 8, 6>(sums, none);
  const Lanes four = two + shuffle<8, 8, 1, 1, 8, 8, 5, 5>(two, none);
  const Lanes eight = four + shuffle<8, 8, 8, 8, 3, 3, 3, 3>(four, none);
  const Lanes t = u * shuffle<7, 7, 7, 7, 7, 7, 7, 7>(eight, eight);
  lanes(room) = smaller(t - shuffle<8, 0, 1, 2, 3, 4, 5, 6>(eight, none), sums * kBelowOne);
  const uint32_t lane = __builtin_ctz(bits(below(t, eight)) | 1u << (kLanes - 1));
  return {lane, room[lane]};
}

// No number here is negative, so their bits are in the same order, and counting needs no jump.
BAYESPA_INLINE bool passes(float sum, float left) { return to_bits(sum) <= to_bits(left); }

// The row of a lane that has what is left: `cumulative` (width) has the weights added up row by row.
BAYESPA_INLINE uint32_t row_of(const Aim& aim, const float* cumulative, int width) {
  uint32_t row = 0;
  for (int at = 0; at < width - kLanes; at += kLanes) row += passes(cumulative[at + aim.lane], aim.left);
  return row;
}

// The topic whose share of the weights holds u of their sum; `sums` is the last row of `cumulative`.
BAYESPA_INLINE uint32_t draw(float u, const Lanes& sums, const float* cumulative, int width, float* room) {
  const Aim found = aim(u, sums, room);
  return kLanes * row_of(found, cumulative, width) + found.lane;
}

}  // namespace
}  // namespace bayespa
