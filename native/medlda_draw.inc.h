// Drawing the topic of a token from the weights of its candidates.
#pragma once

#include "elementary.h"
#include "lanes.h"

namespace bayespa {
namespace {

constexpr float kBelowOne = 0x1.fffffep-1f;  // the largest float below 1

// The topic whose share of the weights holds u of their sum. `cumulative` (width) has the weights added up row by row,
// `sums`, its last row, the sums by lane; `room` is for one row. First the lane is found, then the row. The sums over
// lanes grow from lane to lane, and where the weight of a lane is 0 they do not (their order sees to that), u times the
// last is below it, and so is what is left of it for the lane (the minimum mends the rounding of t - left): no topic of
// weight 0 is ever drawn.
BAYESPA_INLINE uint32_t draw(float u, const Lanes& sums, const float* cumulative, int width, float* room) {
  const Lanes none = {};
  const Lanes two = sums + shuffle<8, 0, 8, 2, 8, 4, 8, 6>(sums, none);
  const Lanes four = two + shuffle<8, 8, 1, 1, 8, 8, 5, 5>(two, none);
  const Lanes eight = four + shuffle<8, 8, 8, 8, 3, 3, 3, 3>(four, none);
  const Lanes t = u * shuffle<7, 7, 7, 7, 7, 7, 7, 7>(eight, eight);
  lanes(room) = smaller(t - shuffle<8, 0, 1, 2, 3, 4, 5, 6>(eight, none), sums * kBelowOne);
  const uint32_t lane = __builtin_ctz(~bits(at_most(eight, t)));  // t < eight[7]
  // No number here is negative, so their bits are in the same order, and counting needs no jump.
  const uint32_t left = to_bits(room[lane]);
  const float* column = cumulative + lane;
  uint32_t row = 0;
  for (int at = 0; at < width - kLanes; at += kLanes) row += to_bits(column[at]) <= left;
  return kLanes * row + lane;
}

}  // namespace
}  // namespace bayespa
