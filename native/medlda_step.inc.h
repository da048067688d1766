#include "elementary.h"
#include "lanes.h"
#include "medlda_step.h"
#include "sampling.h"

namespace bayespa {
namespace {

// Factors below 2^-50 of a token's largest are raised to it: no product of them underflows, no total is 0.
constexpr float kFloor = 0x1p-50f, kLogFloor = -34.657359f;
constexpr float kPull = 0.2f;
constexpr int kAhead = 6;  // tokens by which a word's factors are fetched before they are needed
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
  LanesInt topic = lane;
  for (int at = 0; at < width - kLanes; at += kLanes) topic += at_most(halves(column_a[at], column_b[at]), t) & kLanes;
  topics[0] = topic[0];
  topics[1] = topic[4];
}

// Calls visit(k) for every topic with C_k > 0, in ascending order.
template <class Visit>
inline void for_present(const uint64_t* present, int n_topics, Visit&& visit) {
  for (int word = 0; 64 * word < n_topics; ++word)
    for (uint64_t bits = present[word]; bits != 0; bits &= bits - 1) visit(64 * word + __builtin_ctzll(bits));
}

inline void mark(uint64_t* present, uint32_t k, bool is_present) {
  const uint64_t bit = uint64_t{1} << (k % 64);
  present[k / 64] = is_present ? present[k / 64] | bit : present[k / 64] & ~bit;
}

// 2 (Sigma C)_j and 2 (Sigma C)_k, tasks in the lanes.
struct Products {
  Lanes j, k;
};

struct Covariance {
  int64_t n_topics, n_tasks, topic_width, task_width;
  const float *sigma2, *counts;
  const uint64_t* present;

  Covariance(const MedldaModel& model, const MedldaChain& chain)
      : n_topics(model.n_topics), n_tasks(model.n_tasks), topic_width(model.topic_width),
        task_width(model.task_width), sigma2(model.sigma2), counts(chain.counts), present(chain.present) {}

  // For tasks b to b + 7.
  inline Products times_counts(uint32_t j, uint32_t k, int b) const {
    Products p = {};
    if (n_tasks <= kFewTasks) {  // topics in the lanes
      const float *row_j = sigma2 + j * n_tasks * topic_width, *row_k = sigma2 + k * n_tasks * topic_width;
      for (int task = 0; task < n_tasks; ++task, row_j += topic_width, row_k += topic_width) {
        Lanes of_j = {}, of_k = {};
        for (int at = 0; at < topic_width; at += kLanes) {
          of_j += lanes(counts + at) * lanes(row_j + at);
          of_k += lanes(counts + at) * lanes(row_k + at);
        }
        p.j += sum(of_j) * one_hot(task);
        p.k += sum(of_k) * one_hot(task);
      }
      return p;
    }
    const float *row_j = sigma2 + j * n_topics * task_width + b, *row_k = sigma2 + k * n_topics * task_width + b;
    for_present(present, n_topics, [&](int64_t l) {
      p.j += counts[l] * lanes(row_j + l * task_width);
      p.k += counts[l] * lanes(row_k + l * task_width);
    });
    return p;
  }
};

// mu'C and C'Sigma C from the counts: once a sweep, so that rounding errors of the updates do not pile up.
void refresh(const MedldaModel& model, const MedldaChain& chain) {
  const int64_t width = model.task_width;
  const Covariance covariance(model, chain);
  for (int k = 0; k < model.n_topics; ++k) mark(chain.present, k, chain.counts[k] > 0.f);
  for (int b = 0; b < width; b += kLanes) {
    Lanes mean = {}, square = {};
    for_present(chain.present, model.n_topics, [&](int64_t k) {
      mean += chain.counts[k] * lanes(model.mu_by_topic + k * width + b);
      square += chain.counts[k] * covariance.times_counts(k, k, b).k;
    });
    lanes(chain.mean + b) = mean;
    lanes(chain.square + b) = 0.5f * square;
  }
}

// The penalty of a hinge at n-fold distance: scale sqrt(x) [MED-3] or, given lambda, scale x [MED-1].
template <bool Augmented>
inline Lanes penalty(const Lanes& scale, const Lanes& gap, const Lanes& square) {
  const Lanes x = larger(gap * gap + square, Lanes{} + 1e-30f);
  return Augmented ? scale * x : scale * root(x);
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

// exponent - its largest, not below the floor, and exp of that.
inline void to_factor(float* exponent, float* factor, int n_topics, int width) {
  for (int k = n_topics; k < width; ++k) exponent[k] = exponent[0];
  Lanes top = lanes(exponent);
  for (int at = kLanes; at < width; at += kLanes) top = larger(top, lanes(exponent + at));
  const float highest = largest(top);
  for (int k = 0; k < width; ++k) {
    const float x = exponent[k] - highest;
    exponent[k] = x > kLogFloor ? x : kLogFloor;
    factor[k] = exp32(exponent[k]);
  }
}

// What a label does to a token's draw. With has_factor, chain.factor multiplies the weights of the candidates; with
// has_target, `before(i)` is told which token comes, and `accepts(i, j, k)` judges its move from topic j to k != j while
// the counts are without it.
struct Unlabelled {
  static constexpr bool has_factor = false, has_target = false;
  void before(int) {}
  bool accepts(int, uint32_t, uint32_t) const { return true; }
};

struct FixedTilt {  // [MED-7]: the factor is the target's, whatever the state
  static constexpr bool has_factor = true, has_target = false;
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
// has to be right. The pull is the range of what is linear in the exponents.
inline int block_size_of(const MedldaModel& model, const MedldaChain& chain) {
  float low = chain.linear[0], high = chain.linear[0];
  for (int k = 1; k < model.n_topics; ++k) {
    low = chain.linear[k] < low ? chain.linear[k] : low;
    high = chain.linear[k] > high ? chain.linear[k] : high;
  }
  const float pull = (high - low) * kPull;
  const float size = static_cast<float>(chain.n) / (8.f * (pull > 1.f ? pull * pull : 1.f));
  return size > 1.f ? static_cast<int>(size) : 1;
}

template <bool Augmented>
struct Labelled {
  static constexpr bool has_factor = true, has_target = true;
  const MedldaModel& model;
  const MedldaChain& chain;
  const Covariance covariance;
  const int n_topics, n_tasks, topic_width, task_width, n_hinges, block_size;
  const float per_token;
  const float *mu, *mu_by_topic, *sigma_diag;
  float *counts, *mean, *square, *next_mean, *next_square, *pen, *next_pen, *residual;
  const float *target, *scale, *width, *curvature, *accept;
  uint64_t* present;
  int next_block = 0;

  Labelled(const MedldaModel& model, const MedldaChain& chain)
      : model(model), chain(chain), covariance(model, chain), n_topics(model.n_topics), n_tasks(model.n_tasks), topic_width(model.topic_width),
        task_width(model.task_width), n_hinges(model.n_hinges), block_size(block_size_of(model, chain)),
        per_token(1.f / static_cast<float>(chain.n)), mu(model.mu), mu_by_topic(model.mu_by_topic), sigma_diag(model.sigma_diag),
        counts(chain.counts), mean(chain.mean), square(chain.square), next_mean(chain.next_mean),
        next_square(chain.next_square), pen(chain.penalty), next_pen(chain.next_penalty), residual(chain.residual),
        target(chain.target), scale(chain.scale), width(chain.width), curvature(chain.curvature), accept(chain.accept), present(chain.present) {}

  void before(int i) {
    if (i < next_block) return;
    next_block = i + block_size;
    propose(i, next_block < chain.n ? next_block : chain.n);
  }

  // sqrt(gap^2 + square) without a square root, but for a constant: a parabola that meets |gap| at 2 sqrt(square).
  Lanes distance(const Lanes& gap, int task) const {
    if (Augmented) return gap * gap;
    const Lanes far = absolute(gap), near = smaller(far, Lanes{} + width[task]);
    return (far - near) + near * near * curvature[task];
  }

  __attribute__((noinline)) void propose(int begin, int end) const {
    const int others = chain.n - (end - begin);
    const float to_others = others > 0 ? static_cast<float>(chain.n - 1) / static_cast<float>(others) : 0.f;
    float* gap = next_pen;
    for (int b = 0; b < task_width; b += kLanes) {
      Lanes rest = lanes(mean + b);
      for (int i = begin; i < end; ++i) rest -= lanes(mu_by_topic + chain.topic[i] * task_width + b);
      for (int h = 0; h < n_hinges; ++h)
        lanes(gap + h * task_width + b) = lanes(target + h * task_width + b) - to_others * rest;
    }
    for (int at = 0; at < topic_width; at += kLanes) {
      Lanes sum = {};
      for (int h = 0; h < n_hinges; ++h)
        for (int task = 0; task < n_tasks; ++task) {
          const int hinge = h * task_width + task;
          sum += scale[hinge] * distance(gap[hinge] - lanes(mu + task * topic_width + at), task);
        }
      lanes(residual + at) = lanes(chain.linear + at) - per_token * sum;
    }
    to_factor(residual, chain.factor, n_topics, topic_width);
    for (int at = 0; at < topic_width; at += kLanes)
      lanes(residual + at) = lanes(chain.linear + at) - lanes(residual + at);
  }

  bool accepts(int i, uint32_t j, uint32_t k) const {
    const float *mu_j = mu_by_topic + j * task_width, *mu_k = mu_by_topic + k * task_width;
    const float *diag_j = sigma_diag + j * task_width, *diag_k = sigma_diag + k * task_width;
    Lanes more = {};
    for (int b = 0; b < task_width; b += kLanes) {
      const Products without = covariance.times_counts(j, k, b);
      const Lanes change = (without.k + lanes(diag_k + b)) - (without.j + lanes(diag_j + b));
      const Lanes new_mean = lanes(mean + b) + (lanes(mu_k + b) - lanes(mu_j + b));
      const Lanes new_square = lanes(square + b) + change;
      lanes(next_mean + b) = new_mean;
      lanes(next_square + b) = new_square;
      for (int h = 0; h < n_hinges; ++h) {
        const int at = h * task_width + b;
        const Lanes new_pen = penalty<Augmented>(lanes(scale + at), lanes(target + at) - new_mean, new_square);
        more += new_pen - lanes(pen + at);
        lanes(next_pen + at) = new_pen;
      }
    }
    const float log_ratio = (residual[k] - residual[j]) - sum(more) * per_token;
    // exp(x) >= 1 + x spares the exponential of nearly every token.
    if (accept[i] >= 1.f + log_ratio && accept[i] >= exp32(log_ratio)) return false;
    for (int b = 0; b < task_width; b += kLanes) {
      lanes(mean + b) = lanes(next_mean + b);
      lanes(square + b) = lanes(next_square + b);
    }
    for (int at = 0; at < n_hinges * task_width; at += kLanes) lanes(pen + at) = lanes(next_pen + at);
    mark(present, j, counts[j] > 0.f);
    mark(present, k, true);
    return true;
  }
};

// One token after the other of one document. Holds copies of the pointers: the compiler must assume that a store of
// floats changes whatever is behind a reference.
template <bool First, class Label>
struct Walk {
  const int n, width;
  const float *alpha, *phi, *uniform, *factor;
  const int32_t* word;
  uint32_t* topic;
  float *counts, *cumulative;
  Label label;

  Walk(const MedldaModel& model, const MedldaChain& chain, const Label& label)
      : n(chain.n), width(model.topic_width), alpha(model.alpha), phi(model.phi), uniform(chain.uniform),
        factor(chain.factor), word(chain.word), topic(chain.topic), counts(chain.counts),
        cumulative(chain.cumulative), label(label) {}

  // In the first sweep the tokens arrive one by one; later each is taken out and drawn again.
  inline Weights weigh(int i) {
    const float* phi_word = phi + static_cast<int64_t>(word[i]) * width;
    const float* phi_soon = phi + static_cast<int64_t>(word[i + kAhead]) * width;
    for (int at = 0; at < width; at += 16) __builtin_prefetch(phi_soon + at);
    if (!First) {
      label.before(i);
      add_at(counts, topic[i], -1.f);
    }
    Lanes sums = {};
    for (int at = 0; at < width; at += kLanes) {
      Lanes weight = (lanes(alpha + at) + lanes(counts + at)) * lanes(phi_word + at);
      if (Label::has_factor) weight *= lanes(factor + at);
      sums += weight;
      lanes(cumulative + at) = sums;
    }
    return {sums, cumulative, uniform[i]};
  }

  inline void put(int i, uint32_t k) {
    const uint32_t j = topic[i];
    if (Label::has_target && k != j && !label.accepts(i, j, k)) k = j;
    add_at(counts, k, 1.f);
    topic[i] = k;
  }
};

// Two documents at a time share the vectors of a draw, and neither waits for the other; the first is not the shorter.
template <bool First, class Label>
__attribute__((noinline)) void sweep(Walk<First, Label> a, Walk<First, Label> b) {
  uint32_t topics[2];
  for (int i = 0; i < b.n; ++i) {
    const Weights of_a = a.weigh(i), of_b = b.weigh(i);
    draw(of_a, of_b, a.width, topics);
    a.put(i, topics[0]);
    b.put(i, topics[1]);
  }
  for (int i = b.n; i < a.n; ++i) {
    const Weights of_a = a.weigh(i);
    draw(of_a, of_a, a.width, topics);
    a.put(i, topics[0]);
  }
}

template <bool First, class Label, class Make>
void sweep_pair(const MedldaModel& model, const MedldaChain (&chains)[2], Make&& make) {
  sweep(Walk<First, Label>(model, chains[0], make(chains[0])), Walk<First, Label>(model, chains[1], make(chains[1])));
}

// A block of four numbers to four tokens, addressed by (token, sweep, document, round).
void fill_uniform(uint64_t key, uint32_t sweep, uint32_t document, uint32_t round, int n, float* out) {
  const uint32_t n_blocks = (static_cast<uint32_t>(n) + 3) / 4;
  for (uint32_t b = 0; b < n_blocks; ++b) {
    const Block block = philox(key, b, sweep, document, round);
    for (int j = 0; j < 4; ++j) out[4 * b + j] = uniform32(block.word[j]);
  }
}

// One hinge: zeta = sign (target - mu'zbar). A label y with margin epsilon has sign y and target y epsilon; a
// regression target y has two, from below at y - epsilon and from above at y + epsilon [MED-8].
struct Hinge {
  float sign, target;
};

inline Hinge hinge(const MedldaModel& model, float label, int h) {
  if (model.n_hinges == 1) return {label, label * model.margin};
  return h == 0 ? Hinge{1.f, label - model.margin} : Hinge{-1.f, label + model.margin};
}

// Lays out the hinges of a document and what of its exponents is linear in the counts; false if it has no label.
bool attach_labels(const MedldaStep& step, const MedldaChain& chain) {
  const MedldaModel& model = step.model;
  const float length = static_cast<float>(chain.n);
  const float* labels = step.documents.labels + chain.document * model.n_tasks;
  bool any = false;
  for (int k = 0; k < model.topic_width; ++k) chain.linear[k] = 0.f;
  for (int h = 0; h < model.n_hinges; ++h)
    for (int task = 0; task < model.task_width; ++task) {
      const int at = h * model.task_width + task;
      const bool has = task < model.n_tasks && labels[task] == labels[task];  // NaN: no factor [MED-6]
      const Hinge found = has ? hinge(model, labels[task], h) : Hinge{0.f, 0.f};
      any = any || has;
      chain.sign[at] = found.sign;
      chain.target[at] = found.target * length;
      chain.scale[at] = has ? model.cost[task] : 0.f;
      if (!has) continue;
      const float tilt = model.cost[task] * found.sign / length;
      for (int k = 0; k < model.topic_width; k += kLanes)
        lanes(chain.linear + k) += tilt * lanes(model.mu + task * model.topic_width + k);
    }
  return any;
}

// [MED-7]: the labels are signed dual variables.
void attach_tilt(const MedldaStep& step, const MedldaChain& chain) {
  const MedldaModel& model = step.model;
  const float* dual = step.documents.labels + chain.document * model.n_tasks;
  for (int k = 0; k < model.topic_width; ++k) chain.linear[k] = 0.f;
  for (int task = 0; task < model.n_tasks; ++task) {
    const float tilt = dual[task] == dual[task] ? dual[task] / static_cast<float>(chain.n) : 0.f;
    for (int k = 0; k < model.topic_width; k += kLanes)
      lanes(chain.linear + k) += tilt * lanes(model.mu + task * model.topic_width + k);
  }
  to_factor(chain.linear, chain.factor, model.n_topics, model.topic_width);
}

// [MED-2] draws 1/lambda for every hinge; c^2 / (2 n lambda) is the scale of its penalty [MED-1].
void draw_scales(const MedldaStep& step, uint32_t sweep, const MedldaChain& chain) {
  const MedldaModel& model = step.model;
  const uint64_t key = subkey(step.seed, 0, 0, step.round);
  const double length = chain.n;
  for (int h = 0; h < model.n_hinges; ++h)
    for (int task = 0; task < model.n_tasks; ++task) {
      const int at = h * model.task_width + task;
      if (chain.sign[at] == 0.f) continue;
      const double cost = model.cost[task], gap = chain.target[at] - chain.mean[task];
      const double distance = __builtin_sqrt(gap * gap + chain.square[task]) / length;
      Stream stream(key, static_cast<uint32_t>(2 * task + h), sweep, step.documents.ids[chain.document]);
      const double inverse = draw_inverse_gaussian(stream, 1. / (cost * distance), 1.);
      chain.scale[at] = static_cast<float>(cost * cost * inverse / (2. * length));
    }
}

// One kept sweep: what [MED-4] and prediction need of it.
void record(const MedldaStep& step, int p, const MedldaChain& chain, int64_t index) {
  const MedldaModel& model = step.model;
  const MedldaPhase& phase = step.phases[p];
  const float length = static_cast<float>(chain.n);
  for (int k = 0; k < model.topic_width; ++k) chain.total[k] += chain.counts[k];
  if (int32_t* topic_word = chain.topic_word[p])
    for (int i = 0; i < chain.n; ++i) ++topic_word[static_cast<int64_t>(chain.word[i]) * model.n_topics + chain.topic[i]];
  if (model.n_tasks == 0) return;
  for (int k = 0; k < model.topic_width; ++k)
    phase.records.share[index * model.topic_width + k] = chain.counts[k] / length;
  for (int task = 0; task < model.n_tasks; ++task) {
    const int64_t at = chain.document * model.n_tasks + task;
    const double f = chain.mean[task] / length, variance = chain.square[task] / length / length;
    phase.margin[at] += f;
    phase.margin_var[at] += f * f + variance;
    const float label = step.documents.labels[at], cost = model.cost[task];
    float weight = 0.f, shift = 0.f, loss = 0.f;
    const bool has = label == label && model.sampler != MedldaSampler::averaging;
    for (int h = 0; has && h < model.n_hinges; ++h) {
      const Hinge found = hinge(model, label, h);
      const float gap = found.target * length - chain.mean[task];
      const float x = gap * gap + chain.square[task];
      const float distance = __builtin_sqrtf(x > 1e-30f ? x : 1e-30f);
      const float inverse = cost * length / distance;  // c^2 E[1/lambda] [MED-2]
      weight += inverse;
      shift += cost * found.sign + inverse * found.target;           // [MED-4]
      loss += cost * ((found.sign * gap + distance) / length);  // [MED-3]
    }
    phase.records.weight[index * model.n_tasks + task] = weight;
    phase.records.shift[index * model.n_tasks + task] = shift;
    phase.records.loss[index * model.n_tasks + task] = loss;
  }
}

void start(const MedldaStep& step, int64_t document, MedldaChain& chain) {
  const MedldaDocuments& documents = step.documents;
  chain.document = document;
  chain.n = 0;
  for (int64_t i = documents.indptr[document]; i < documents.indptr[document + 1]; ++i)
    for (int32_t c = 0; c < documents.counts[i]; ++c) {
      chain.topic[chain.n] = 0;
      chain.word[chain.n++] = documents.words[i];
    }
  for (int i = 0; i < kAhead; ++i) chain.word[chain.n + i] = 0;
  for (int k = 0; k < step.model.topic_width; ++k) chain.counts[k] = 0.f;
}

void finish(const MedldaStep& step, int p, const MedldaChain& chain) {
  const MedldaModel& model = step.model;
  const MedldaPhase& phase = step.phases[p];
  const double kept = phase.sweeps - phase.burn_in;
  for (int k = 0; k < model.n_topics; ++k)
    phase.share[chain.document * model.n_topics + k] = static_cast<float>(chain.total[k] / (kept * chain.n));
  for (int64_t t = chain.document * model.n_tasks; t < (chain.document + 1) * model.n_tasks; ++t) {
    phase.margin[t] /= kept;
    phase.margin_var[t] = phase.margin_var[t] / kept - phase.margin[t] * phase.margin[t];
  }
}

// Both phases of two documents, in lockstep; the second may be empty.
void run_pair(const MedldaStep& step, int64_t chunk, const MedldaChain (&chains)[2], bool labelled) {
  const MedldaModel& model = step.model;
  const MedldaSampler sampler = model.sampler;
  uint32_t sweep_index = 0;
  for (int p = 0; p < 2; ++p) {
    const MedldaPhase& phase = step.phases[p];
    const bool use_labels = p == 1 && labelled;
    for (const MedldaChain& chain : chains) {
      for (int k = 0; k < model.topic_width; ++k) chain.total[k] = 0.;
      if (!use_labels || chain.n == 0) continue;
      if (sampler == MedldaSampler::averaging) attach_tilt(step, chain);
      if (sampler != MedldaSampler::averaging) {
        refresh(model, chain);
        for (int t = 0; t < model.task_width; ++t) {
          chain.width[t] = 2.f * __builtin_sqrtf(chain.square[t] > 1e-30f ? chain.square[t] : 1e-30f);
          chain.curvature[t] = 0.5f / chain.width[t];
        }
      }
    }
    for (int i = 0; i < phase.sweeps; ++i, ++sweep_index) {
      for (const MedldaChain& chain : chains) {
        const uint32_t id = step.documents.ids[chain.document];
        fill_uniform(step.seed, sweep_index, id, step.round, chain.n, chain.uniform);
        if (use_labels && sampler != MedldaSampler::averaging && chain.n > 0) {
          fill_uniform(subkey(step.seed, 1, 0, 0), sweep_index, id, step.round, chain.n, chain.accept);
          if (sampler == MedldaSampler::augmented) {
            draw_scales(step, sweep_index, chain);
            set_penalties<true>(model, chain);
          } else {
            set_penalties<false>(model, chain);
          }
        }
      }
      if (sweep_index == 0)
        sweep_pair<true, Unlabelled>(model, chains, [](const MedldaChain&) { return Unlabelled{}; });
      else if (!use_labels)
        sweep_pair<false, Unlabelled>(model, chains, [](const MedldaChain&) { return Unlabelled{}; });
      else if (sampler == MedldaSampler::averaging)
        sweep_pair<false, FixedTilt>(model, chains, [](const MedldaChain&) { return FixedTilt{}; });
      else if (sampler == MedldaSampler::augmented)
        sweep_pair<false, Labelled<true>>(model, chains, [&](const MedldaChain& c) { return Labelled<true>(model, c); });
      else
        sweep_pair<false, Labelled<false>>(model, chains, [&](const MedldaChain& c) { return Labelled<false>(model, c); });
      const bool keep = i >= phase.burn_in;
      for (const MedldaChain& chain : chains) {
        if (chain.n == 0) continue;
        if (model.n_tasks > 0 && (keep || use_labels)) refresh(model, chain);
        const int64_t kept = phase.sweeps - phase.burn_in;
        if (keep) record(step, p, chain, (chain.document - chunk) * kept + (i - phase.burn_in));
      }
    }
    for (const MedldaChain& chain : chains)
      if (chain.n > 0 && phase.sweeps > phase.burn_in) finish(step, p, chain);
  }
}

void medlda_documents(const MedldaStep& step, const int64_t* order, int64_t begin, int64_t end, int64_t chunk,
                      MedldaChain (&chains)[2]) {
  const bool tilt = step.model.sampler == MedldaSampler::averaging;
  for (int64_t i = begin; i < end; i += 2) {
    start(step, order[i], chains[0]);
    chains[1].document = order[i];
    chains[1].n = 0;
    if (i + 1 < end) start(step, order[i + 1], chains[1]);
    bool labelled[2] = {tilt, tilt};
    for (int c = 0; c < 2 && !tilt; ++c) labelled[c] = chains[c].n > 0 && attach_labels(step, chains[c]);
    run_pair(step, chunk, chains, labelled[0] || labelled[1]);
  }
}

void medlda_accumulate(const MedldaStep& step, int p, int task, int64_t n, double* precision, double* shift,
                       double* loss) {
  const MedldaModel& model = step.model;
  const MedldaRecords& records = step.phases[p].records;
  const int n_topics = model.n_topics;
  for (int64_t i = 0; i < n; ++i) {
    const float* share = records.share + i * model.topic_width;
    const double weight = records.weight[i * model.n_tasks + task];
    const double weight_h = records.shift[i * model.n_tasks + task];
    *loss += records.loss[i * model.n_tasks + task];
    if (weight == 0.) continue;  // no label
    for (int j = 0; j < n_topics; ++j) {
      if (share[j] == 0.f) continue;
      shift[j] += weight_h * share[j];  // [MED-4]
      const double scaled = weight * share[j];
      for (int k = 0; k < n_topics; ++k) precision[j * n_topics + k] += scaled * share[k];  // [MED-4]
    }
  }
}

// A row's largest value becomes 1, so that the floor means the same for a rare word as for a common one.
template <bool Mean, class Real>
void phi_rows(const Real* dirichlet, const double* totals, const int64_t* words, int64_t n_words, int n_topics,
              float* scale, float* phi) {
  const int width = (n_topics + kLanes - 1) / kLanes * kLanes;
  for (int k = 0; k < n_topics; ++k) scale[k] = static_cast<float>(1. / (Mean ? totals[k] : exp_digamma(totals[k])));
  for (int64_t w = 0; w < n_words; ++w) {
    const Real* row = dirichlet + words[w] * n_topics;
    float* out = phi + w * width;
    for (int k = 0; k < n_topics; ++k) {
      const float x = static_cast<float>(row[k]);
      out[k] = (Mean ? x : exp_digamma32(x)) * scale[k];
    }
    for (int k = n_topics; k < width; ++k) out[k] = 0.f;
    Lanes top = lanes(out);
    for (int at = kLanes; at < width; at += kLanes) top = larger(top, lanes(out + at));
    const float to_one = 1.f / largest(top);
    for (int at = 0; at < width; at += kLanes) lanes(out + at) = larger(lanes(out + at) * to_one, Lanes{} + kFloor);
    for (int k = n_topics; k < width; ++k) out[k] = 0.f;
  }
}

template <class Real>
void medlda_phi(const Real* dirichlet, const double* totals, const int64_t* words, int64_t n_words, int n_topics,
                bool mean, float* scale, float* phi) {
  const auto rows = mean ? phi_rows<true, Real> : phi_rows<false, Real>;
  rows(dirichlet, totals, words, n_words, n_topics, scale, phi);
}

constexpr MedldaKernels medlda_kernels = {medlda_documents, medlda_accumulate, medlda_phi<float>, medlda_phi<double>};

}  // namespace
}  // namespace bayespa
