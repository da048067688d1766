// What a label does to the topic of a token: the exact target, and the proposal that comes close to it.
#pragma once

#include <type_traits>

#include "elementary.h"
#include "lanes.h"
#include "medlda_step.h"

namespace bayespa {
namespace {

// Factors below 2^-50 of a token's largest are raised to it: no product of them underflows, no total is 0.
constexpr float kFloor = 0x1p-50f, kLogFloor = -34.657359f;
// That of factors which no step makes up for. Beside a word's, which is 2^-50 or more, it is less than a draw can see.
constexpr float kLogExactFloor = -51.986038f;  // 2^-75
constexpr float kLeast = 1e-30f;  // a squared distance is not 0

// Calls visit(k) for every topic with C_k > 0, in ascending order.
template <class Visit>
inline void for_present(const uint64_t* present, int n_topics, Visit&& visit) {
  for (int word = 0; 64 * word < n_topics; ++word)
    for_bits(present[word], [&](int bit) { visit(64 * word + bit); });
}

inline void mark(uint64_t* present, uint32_t k, bool is_present) {
  const uint64_t bit = uint64_t{1} << (k % 64);
  present[k / 64] = is_present ? present[k / 64] | bit : present[k / 64] & ~bit;
}

// 2 (Sigma C)_j and 2 (Sigma C)_k, tasks b to b + 7 in the lanes; for more than kFewTasks.
struct Products {
  Lanes j, k;
};

// The products of tasks b to b + 8 N - 1: one walk over the topics of the document serves N rows of lanes.
template <int N>
BAYESPA_INLINE void times_counts(const MedldaModel& model, const MedldaChain& chain, uint32_t j, uint32_t k, int b,
                                 Products (&p)[N]) {
  const int64_t n_topics = model.n_topics, width = model.task_width;
  const float *row_j = model.sigma2 + j * n_topics * width + b, *row_k = model.sigma2 + k * n_topics * width + b;
  const float* counts = chain.counts;
  Lanes of_j[N] = {}, of_k[N] = {};
  for_present(chain.present, model.n_topics, [&](int64_t l) {
    const float *at_j = row_j + l * width, *at_k = row_k + l * width;
#pragma GCC unroll 4
    for (int r = 0; r < N; ++r) {
      of_j[r] += counts[l] * lanes(at_j + r * kLanes);
      of_k[r] += counts[l] * lanes(at_k + r * kLanes);
    }
  });
#pragma GCC unroll 4
  for (int r = 0; r < N; ++r) p[r] = {of_j[r], of_k[r]};
}

// 2 (Sigma C)_k alone.
template <int N>
BAYESPA_INLINE void times_counts(const MedldaModel& model, const MedldaChain& chain, uint32_t k, int b, Lanes (&p)[N]) {
  const int64_t width = model.task_width;
  const float* row = model.sigma2 + k * model.n_topics * width + b;
#pragma GCC unroll 4
  for (int r = 0; r < N; ++r) p[r] = Lanes{};
  for_present(chain.present, model.n_topics, [&](int64_t l) {
#pragma GCC unroll 4
    for (int r = 0; r < N; ++r) p[r] += chain.counts[l] * lanes(row + l * width + r * kLanes);
  });
}

// Calls visit(b, N) for rows of lanes of tasks b to b + 8 N - 1: three at a time, then one by one.
template <class Visit>
BAYESPA_INLINE void for_tasks(const MedldaModel& model, Visit&& visit) {
  int b = 0;
  for (; b + 3 * kLanes <= model.task_width; b += 3 * kLanes) visit(b, std::integral_constant<int, 3>());
  for (; b < model.task_width; b += kLanes) visit(b, std::integral_constant<int, 1>());
}

// 2 Sigma C of a few tasks is kept for all topics, which are in the lanes.
void refresh_few(const MedldaModel& model, const MedldaChain& chain) {
  const int width = model.topic_width;
  for (int task = 0; task < model.n_tasks; ++task) {
    Lanes mean = {}, square = {};
    for (int at = 0; at < width; at += kLanes) {
      Lanes product = {};
      for_present(chain.present, model.n_topics, [&](int64_t k) {
        product += chain.counts[k] * lanes(model.sigma2 + (k * model.n_tasks + task) * width + at);
      });
      lanes(chain.product + task * width + at) = product;
      mean += lanes(chain.counts + at) * lanes(model.mu + task * width + at);
      square += lanes(chain.counts + at) * product;
    }
    chain.mean[task] = sum(mean);
    chain.square[task] = 0.5f * sum(square);
  }
}

// mu'C and C'Sigma C from the counts: once a sweep, so that rounding errors of the updates do not pile up.
void refresh(const MedldaModel& model, const MedldaChain& chain) {
  const int64_t width = model.task_width;
  for (int k = 0; k < model.topic_width; ++k) mark(chain.present, k, chain.counts[k] > 0.f);
  if (model.n_tasks <= kFewTasks) return refresh_few(model, chain);
  for_tasks(model, [&](int b, auto rows) {
    constexpr int N = decltype(rows)::value;
    Lanes mean[N] = {}, square[N] = {};
    for_present(chain.present, model.n_topics, [&](int64_t k) {
      Lanes product[N];
      times_counts<N>(model, chain, k, b, product);
      for (int r = 0; r < N; ++r) {
        mean[r] += chain.counts[k] * lanes(model.mu_by_topic + k * width + b + r * kLanes);
        square[r] += chain.counts[k] * product[r];
      }
    });
    for (int r = 0; r < N; ++r) {
      lanes(chain.mean + b + r * kLanes) = mean[r];
      lanes(chain.square + b + r * kLanes) = 0.5f * square[r];
    }
  });
}

// The penalty of a hinge at n-fold distance: scale sqrt(x) [MED-3] or, given lambda, scale x [MED-1].
template <bool Augmented>
inline Lanes penalty(const Lanes& scale, const Lanes& gap, const Lanes& square) {
  const Lanes x = larger(gap * gap + square, Lanes{} + kLeast);
  return Augmented ? scale * x : scale * root(x);
}

template <bool Augmented>
inline float penalty(float scale, float gap, float square) {
  const float x = gap * gap + square, distance = x > kLeast ? x : kLeast;
  return Augmented ? scale * distance : scale * __builtin_sqrtf(distance);
}

template <bool Augmented>
void set_penalties(const MedldaModel& model, const MedldaChain& chain) {
  for (int h = 0; h < model.n_hinges; ++h)
    for (int b = 0; b < model.task_width; b += kLanes) {
      const int at = h * model.task_width + b;
      const Lanes gap = lanes(chain.target + at) - lanes(chain.mean + b);
      lanes(chain.penalty + at) = penalty<Augmented>(lanes(chain.scale + at), gap, lanes(chain.square + b));
    }
}

// The variance that the proposals of a whole phase reckon with: that of its start.
void fix_proposal(const MedldaModel& model, const MedldaChain& chain) {
  for (int t = 0; t < model.task_width; ++t) {
    chain.width[t] = 2.f * __builtin_sqrtf(chain.square[t] > kLeast ? chain.square[t] : kLeast);
    chain.curvature[t] = 0.5f / chain.width[t];
  }
}

// Before the first proposal of a sweep no hinge is known to be straight.
void start_proposals(const MedldaModel& model, const MedldaChain& chain) {
  for (int h = 0; h < model.n_hinges; ++h)
    for (int t = 0; t < model.task_width; ++t) {
      const int hinge = h * model.task_width + t;
      const bool has = chain.sign[hinge] != 0.f;  // what is no hinge stays on one side
      chain.side[hinge] = has ? 0.f : 1.f;
      chain.reach[hinge] = has ? model.mu_largest[t] + chain.width[t] : -__builtin_inff();
      if (has && model.sampler == MedldaSampler::augmented) chain.reach[hinge] = __builtin_inff();  // never straight
    }
  for (int k = 0; k < model.topic_width; ++k) chain.straight[k] = chain.linear[k];
}

// exponent - its largest, not below the floor, and exp of that.
inline void to_factor(float* exponent, float* factor, int n_topics, int width, float floor = kLogFloor) {
  for (int k = n_topics; k < width; ++k) exponent[k] = exponent[0];
  Lanes top = lanes(exponent);
  for (int at = kLanes; at < width; at += kLanes) top = larger(top, lanes(exponent + at));
  const float highest = largest(top);
  for (int k = 0; k < width; ++k) {
    const float x = exponent[k] - highest;
    exponent[k] = x > floor ? x : floor;
    factor[k] = exp32_within(exponent[k]);
  }
}

// What a label does to a token's draw. With has_factor, chain.factor multiplies the weights of the candidates; with
// has_target, `before(i)` is told which token comes, and `accepts(i, j, k)` judges its move from topic j to k != j
// while the counts are without it.
struct Unlabelled {
  static constexpr bool has_factor = false, has_target = false;
  Unlabelled(const MedldaModel&, const MedldaChain&) {}
  void before(int) {}
  bool accepts(int, uint32_t, uint32_t) const { return true; }
};

struct FixedTilt {  // [MED-7]: the factor is the target's, whatever the state
  static constexpr bool has_factor = true, has_target = false;
  FixedTilt(const MedldaModel&, const MedldaChain&) {}
  void before(int) {}
  bool accepts(int, uint32_t, uint32_t) const { return true; }
};

// [MED-3] or [MED-1] as a target: the exact factor of a candidate topic needs its variance under every task, so it is
// computed for two candidates only. A topic is proposed with a factor that is the same for a block of tokens: it has
// the variance of the phase's start and the margin of the *other* tokens, scaled up to n - 1. Then the token moves
// with the Metropolis-Hastings probability that makes up for the difference. A proposal that does not depend on what
// is being moved keeps the target exactly.
//
// How long a block may be: an eighth of the document, or less if the label pulls a token hard, because then the margin
// has to be right. The pull is the range of what is linear in the exponents; that of 10 is still gentle.
inline int block_size_of(const MedldaModel& model, const MedldaChain& chain) {
  float low = chain.linear[0], high = chain.linear[0];
  for (int k = 1; k < model.n_topics; ++k) {
    low = chain.linear[k] < low ? chain.linear[k] : low;
    high = chain.linear[k] > high ? chain.linear[k] : high;
  }
  const float pull = (high - low) * 0.1f;
  const float size = static_cast<float>(chain.n) / (8.f * (pull > 1.f ? pull * pull : 1.f));
  return size > 1.f ? static_cast<int>(size) : 1;
}

// [MED-12] Proposals reckon with the variance of a phase's start. What a token's move does to it changes the exponent by
// up to c / n times the distance of two topics under Sigma. Where that can be more than 1, nearly all proposals may be
// refused. There all topics are weighed by the target itself, for O(K T), and what is drawn is accepted.
inline bool weighs_all(const MedldaModel& model, const MedldaChain& chain) {
  if (model.sampler != MedldaSampler::collapsed) return model.sampler == MedldaSampler::exact;
  for (int t = 0; t < model.n_tasks; ++t)
    if (chain.sign[t] != 0.f && model.exact_below[t] > chain.n) return true;
  return false;
}

template <bool Augmented>
struct Labelled {
  static constexpr bool has_factor = true, has_target = true;
  const MedldaModel model;  // copies, not references: a store of floats might change what those refer to
  const MedldaChain chain;
  const bool exact;
  const int block_size;
  const float per_token;
  int next_block = 0;
  bool curved = true;  // the factor is not that of chain.straight alone

  Labelled(const MedldaModel& model, const MedldaChain& chain, bool may_weigh_all = true)
      : model(model),
        chain(chain),
        exact(!Augmented && may_weigh_all && chain.n > 0 && weighs_all(model, chain)),
        block_size(exact ? 1 : block_size_of(model, chain)),
        per_token(1.f / static_cast<float>(chain.n)) {
    if (exact && model.n_tasks > kFewTasks) set_products();
  }

  void before(int i) {
    if (i < next_block) return;
    next_block = i + block_size;
    if (exact) return weigh_all(chain.topic[i]);
    propose(i, next_block < chain.n ? next_block : chain.n);
  }

  // Adds scale sqrt((gap - mu)^2 + square) of a hinge for every topic, without the root and but for a constant: a
  // parabola that meets |gap - mu| at 2 sqrt(square). A loop over floats takes the widest vectors that a CPU has.
  BAYESPA_INLINE void add_distances(int hinge, float gap, int task, const float* __restrict mu,
                                    float* __restrict sum) const {
    const float scale = chain.scale[hinge], width = chain.width[task], curvature = chain.curvature[task];
    for (int k = 0; k < model.topic_width; ++k) {
      const float apart = gap - mu[k], far = __builtin_fabsf(apart), near = far < width ? far : width;
      sum[k] += scale * (Augmented ? apart * apart : (far - near) + near * near * curvature);
    }
  }

  // [MED-5] A task whose margin no candidate could bring near its hinge pulls linearly (if violated) or not at all (if
  // met): it is part of chain.straight until it changes sides, and costs nothing in between. Where all tasks are like
  // that, the factor stays what it is.
  __attribute__((noinline)) void propose(int begin, int end) {
    const int others = chain.n - (end - begin);
    const float to_others = others > 0 ? static_cast<float>(chain.n - 1) / static_cast<float>(others) : 0.f;
    float *gap = chain.next_penalty, *rest = chain.next_mean;
    for_tasks(model, [&](int b, auto rows) {
      Lanes mean[decltype(rows)::value];
      for (int r = 0; r < rows; ++r) mean[r] = lanes(chain.mean + b + r * kLanes);
      for (int i = begin; i < end; ++i) {
        const float* mu = model.mu_by_topic + chain.topic[i] * model.task_width + b;
        for (int r = 0; r < rows; ++r) mean[r] -= lanes(mu + r * kLanes);
      }
      for (int r = 0; r < rows; ++r) lanes(rest + b + r * kLanes) = mean[r];
    });
    int n_near = 0;
    bool moved = false;
    for (int h = 0; h < model.n_hinges; ++h)
      for (int b = 0; b < model.task_width; b += kLanes) {
        const int at = h * model.task_width + b;
        const Lanes x = lanes(chain.target + at) - to_others * lanes(rest + b), reach = lanes(chain.reach + at);
        const LanesInt not_above = at_most(x, reach), not_below = at_most(-reach, x);
        const Lanes before = lanes(chain.side + at);
        const Lanes side = select(not_above, select(not_below, Lanes{}, Lanes{} - 1.f), Lanes{} + 1.f);
        lanes(gap + at) = x;
        lanes(chain.side + at) = side;
        for_bits(bits(not_above & not_below), [&](int l) { chain.near[n_near++] = at + l; });
        for_bits(bits(side != before), [&](int l) {
          const float change = (chain.side[at + l] - before[l]) * chain.scale[at + l] * per_token;
          const float* mu = model.mu + (b + l) * model.topic_width;
          for (int k = 0; k < model.topic_width; k += kLanes) lanes(chain.straight + k) += change * lanes(mu + k);
          moved = true;
        });
      }
    if (!moved && !curved && n_near == 0) return;
    curved = n_near > 0;
    const int width = model.topic_width;
    for (int k = 0; k < width; ++k) chain.residual[k] = 0.f;
    for (int m = 0; m < n_near; ++m) {
      const int hinge = chain.near[m], task = hinge < model.task_width ? hinge : hinge - model.task_width;
      add_distances(hinge, gap[hinge], task, model.mu + task * width, chain.residual);
    }
    for (int at = 0; at < width; at += kLanes)
      lanes(chain.residual + at) = lanes(chain.straight + at) - per_token * lanes(chain.residual + at);
    to_factor(chain.residual, chain.factor, model.n_topics, model.topic_width);
    for (int at = 0; at < model.topic_width; at += kLanes)
      lanes(chain.residual + at) = lanes(chain.linear + at) - lanes(chain.residual + at);
  }

  // The factor of every candidate of a token that is in topic j, by the target [MED-3].
  __attribute__((noinline)) void weigh_all(uint32_t j) {
    if (model.n_tasks <= kFewTasks)
      for (int at = 0; at < model.topic_width; at += kLanes)
        lanes(chain.residual + at) = lanes(chain.linear + at) - per_token * more_by_topic(j, at);
    else
      for (int k = 0; k < model.n_topics; ++k)
        chain.residual[k] = chain.linear[k] - per_token * sum(more_by_task(j, k));
    to_factor(chain.residual, chain.factor, model.n_topics, model.topic_width, kLogExactFloor);
  }

  bool accepts(int i, uint32_t j, uint32_t k) const {
    return accepts(i, j, k, [](int) { return Lanes{}; });
  }

  // own(b): what else C'Sigma C gains in tasks b to b + 7, where the model's Sigma is not the whole of it.
  template <class Own>
  bool accepts(int i, uint32_t j, uint32_t k, Own&& own) const {
    if (model.n_tasks > kFewTasks) return accepts_many(i, j, k, own);
    alignas(sizeof(Lanes)) float few[kLanes];  // in a template, Clang takes what lanes() returns for aligned
    lanes(few) = own(0);
    return model.n_tasks * model.n_hinges == 1 ? accepts_few<true>(i, j, k, few) : accepts_few<false>(i, j, k, few);
  }

 private:
  // 2 Sigma C for all topics, tasks in the lanes.
  void set_products() {
    for (int k = 0; k < model.n_topics; ++k)
      for_tasks(model, [&](int b, auto rows) {
        Lanes product[decltype(rows)::value];
        times_counts(model, chain, k, b, product);
        for (int r = 0; r < rows; ++r) lanes(chain.product + k * model.task_width + b + r * kLanes) = product[r];
      });
  }

  // By how much the penalties grow if a token goes from j to topics at to at + 7; for a few tasks.
  Lanes more_by_topic(uint32_t j, int at) const {
    const int width = model.topic_width;
    Lanes more = {};
    for (int task = 0; task < model.n_tasks; ++task) {
      const int row = task * width;
      const float *sigma_j = model.sigma2 + j * model.n_tasks * width, *diag = model.sigma_diag_by_task + row;
      const Lanes apart = (lanes(diag + at) + diag[j]) - lanes(sigma_j + row + at);
      const Lanes mean = chain.mean[task] + (lanes(model.mu + row + at) - model.mu[row + j]);
      const Lanes square = chain.square[task] + ((lanes(chain.product + row + at) - chain.product[row + j]) + apart);
      for (int h = 0; h < model.n_hinges; ++h) {
        const int hinge = h * model.task_width + task;
        const Lanes gap = chain.target[hinge] - mean;
        more += penalty<false>(Lanes{} + chain.scale[hinge], gap, square) - chain.penalty[hinge];
      }
    }
    return more;
  }

  // The same of topic k, tasks in the lanes; for more than a few.
  Lanes more_by_task(uint32_t j, uint32_t k) const {
    const int64_t width = model.task_width, n_topics = model.n_topics;
    const float *mu_j = model.mu_by_topic + j * width, *mu_k = model.mu_by_topic + k * width;
    const float *diag_j = model.sigma_diag + j * width, *diag_k = model.sigma_diag + k * width;
    const float *product_j = chain.product + j * width, *product_k = chain.product + k * width;
    const float* sigma_jk = model.sigma2 + (j * n_topics + k) * width;
    Lanes more = {};
    for (int b = 0; b < width; b += kLanes) {
      const Lanes apart = (lanes(diag_k + b) + lanes(diag_j + b)) - lanes(sigma_jk + b);
      const Lanes mean = lanes(chain.mean + b) + (lanes(mu_k + b) - lanes(mu_j + b));
      const Lanes square = lanes(chain.square + b) + ((lanes(product_k + b) - lanes(product_j + b)) + apart);
      for (int h = 0; h < model.n_hinges; ++h) {
        const int at = h * model.task_width + b;
        const Lanes gap = lanes(chain.target + at) - mean;
        more += penalty<false>(lanes(chain.scale + at), gap, square) - lanes(chain.penalty + at);
      }
    }
    return more;
  }

  bool agrees(int i, uint32_t j, uint32_t k, float more) const {
    const float log_ratio = (chain.residual[k] - chain.residual[j]) - more * per_token;
    // exp(x) >= 1 + x spares the exponential of nearly every token.
    return chain.accept[i] < 1.f + log_ratio || chain.accept[i] < exp32(log_ratio);
  }

  // One: one task with one hinge, and all of this is in registers.
  template <bool One>
  __attribute__((noinline)) bool accepts_few(int i, uint32_t j, uint32_t k, const float* own) const {
    const int n_tasks = One ? 1 : model.n_tasks, n_hinges = One ? 1 : model.n_hinges;
    const int width = model.topic_width, task_width = model.task_width;
    const float *sigma_j = model.sigma2 + j * n_tasks * width, *sigma_k = model.sigma2 + k * n_tasks * width;
    float mean[kFewTasks], square[kFewTasks], penalties[2][kFewTasks], more = 0.f;
    for (int task = 0; task < n_tasks; ++task) {
      const uint32_t at_j = j * task_width + task, at_k = k * task_width + task;
      const float* product = chain.product + task * width;
      const float apart = (model.sigma_diag[at_k] + model.sigma_diag[at_j]) - sigma_j[task * width + k];
      mean[task] = chain.mean[task] + (model.mu_by_topic[at_k] - model.mu_by_topic[at_j]);
      square[task] = chain.square[task] + (((product[k] - product[j]) + apart) + own[task]);
      for (int h = 0; h < n_hinges; ++h) {
        const int at = h * task_width + task;
        penalties[h][task] = penalty<Augmented>(chain.scale[at], chain.target[at] - mean[task], square[task]);
        more += penalties[h][task] - chain.penalty[at];
      }
    }
    if (!exact && !agrees(i, j, k, more)) return false;
    for (int task = 0; task < n_tasks; ++task) {
      chain.mean[task] = mean[task];
      chain.square[task] = square[task];
      for (int h = 0; h < n_hinges; ++h) chain.penalty[h * task_width + task] = penalties[h][task];
    }
    for (int at = 0; at < n_tasks * width; at += kLanes)
      lanes(chain.product + at) += lanes(sigma_k + at) - lanes(sigma_j + at);
    return true;
  }

  template <class Own>
  __attribute__((noinline)) bool accepts_many(int i, uint32_t j, uint32_t k, Own&& own) const {
    Lanes more = {};
    for_tasks(model, [&](int b, auto rows) { move<decltype(rows)::value>(j, k, b, own, more); });
    if (!exact && !agrees(i, j, k, sum(more))) return false;
    for (int b = 0; b < model.task_width; b += kLanes) {
      lanes(chain.mean + b) = lanes(chain.next_mean + b);
      lanes(chain.square + b) = lanes(chain.next_square + b);
    }
    for (int at = 0; at < model.n_hinges * model.task_width; at += kLanes)
      lanes(chain.penalty + at) = lanes(chain.next_penalty + at);
    mark(chain.present, j, chain.counts[j] > 0.f);
    mark(chain.present, k, true);
    if (!exact) return true;
    const int64_t size = static_cast<int64_t>(model.n_topics) * model.task_width;
    const float *sigma_j = model.sigma2 + j * size, *sigma_k = model.sigma2 + k * size;
    for (int64_t at = 0; at < size; at += kLanes)
      lanes(chain.product + at) += lanes(sigma_k + at) - lanes(sigma_j + at);
    return true;
  }

  // What a move does to tasks b to b + 8 N - 1, and how much it adds to their penalties.
  template <int N, class Own>
  BAYESPA_INLINE void move(uint32_t j, uint32_t k, int first, Own&& own, Lanes& more) const {
    const float *mu_j = model.mu_by_topic + j * model.task_width, *mu_k = model.mu_by_topic + k * model.task_width;
    const float *diag_j = model.sigma_diag + j * model.task_width, *diag_k = model.sigma_diag + k * model.task_width;
    Products without[N];
    times_counts<N>(model, chain, j, k, first, without);
    for (int r = 0; r < N; ++r) {
      const int b = first + r * kLanes;
      const Lanes change = (without[r].k + lanes(diag_k + b)) - (without[r].j + lanes(diag_j + b));
      const Lanes new_mean = lanes(chain.mean + b) + (lanes(mu_k + b) - lanes(mu_j + b));
      const Lanes new_square = lanes(chain.square + b) + (change + own(b));
      lanes(chain.next_mean + b) = new_mean;
      lanes(chain.next_square + b) = new_square;
      for (int h = 0; h < model.n_hinges; ++h) {
        const int at = h * model.task_width + b;
        const Lanes gap = lanes(chain.target + at) - new_mean;
        const Lanes new_pen = penalty<Augmented>(lanes(chain.scale + at), gap, new_square);
        more += new_pen - lanes(chain.penalty + at);
        lanes(chain.next_penalty + at) = new_pen;
      }
    }
  }
};

}  // namespace
}  // namespace bayespa
