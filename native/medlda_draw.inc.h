// Drawing the topic of a token from the weights of its candidates.
#pragma once

#include "lanes.h"

namespace bayespa {
namespace {

constexpr float kBelowOne = 0x1.fffffep-1f;  // the largest float below 1

// The weights of a token's candidate topics, added up row by row: their sums by lane, and the values on the way.
struct Weights {
  Lanes sums;
  const float* cumulative;  // (Kp)
  float u;
};

// For each of two tokens, the topic whose share of the weights holds u of their sum. One token fills the lower half of
// every vector with equal numbers, the other the upper half. First the lane is found, by halves, then the row; t stays
// below the sum of what is left (the minimum mends the rounding of t - left), so no topic of weight 0 is ever drawn.
inline void draw(const Weights& a, const Weights& b, int width, uint32_t (&topics)[2]) {
  const Lanes low = shuffle<0, 1, 2, 3, 8, 9, 10, 11>(a.sums, b.sums);
  const Lanes high = shuffle<4, 5, 6, 7, 12, 13, 14, 15>(a.sums, b.sums);
  const Lanes four = low + high;
  const Lanes two = four + shuffle<2, 3, 0, 1, 6, 7, 4, 5>(four, four);
  const Lanes one = two + shuffle<1, 0, 3, 2, 5, 4, 7, 6>(two, two);
  Lanes t = halves(a.u, b.u) * one;
  const auto descend = [&t](const Lanes& left, const Lanes& right) {
    const LanesInt go_right = at_most(left, t);
    t = select(go_right, smaller(t - left, right * kBelowOne), t);
    return go_right;
  };
  const LanesInt first = descend(spread<0>(two), spread<1>(two));
  const LanesInt second = descend(select(first, spread<1>(four), spread<0>(four)),  //
                                  select(first, spread<3>(four), spread<2>(four)));
  const auto pick = [&](const Lanes& x) {
    return select(second, select(first, spread<3>(x), spread<2>(x)), select(first, spread<1>(x), spread<0>(x)));
  };
  const LanesInt third = descend(pick(low), pick(high));
  const LanesInt lane = (first & 1) + (second & 2) + (third & 4);
  const float *column_a = a.cumulative + lane[0], *column_b = b.cumulative + lane[4];
  LanesInt rows = {};  // masks are 0 or -1; GCC 12 miscompiles `+= mask & kLanes` under its sanitizers
  for (int at = 0; at < width - kLanes; at += kLanes) rows -= at_most(halves(column_a[at], column_b[at]), t);
  topics[0] = lane[0] + kLanes * rows[0];
  topics[1] = lane[4] + kLanes * rows[4];
}

}  // namespace
}  // namespace bayespa
