#include "medhdp_step.h"
#include "medlda_step.inc.h"

namespace bayespa {
namespace {

// Purposes of random numbers beside MedLDA's, see `subkey`.
constexpr uint32_t kBirths = 2, kSticks = 3, kTables = 4;

inline void set_at(float* x, uint32_t k, float value) {
  const uint32_t lane = k % kLanes;
  Lanes& row = lanes(x + (k - lane));
  row = select(at_most(Lanes{} + 1.f, one_hot(lane)), Lanes{} + value, row);
}

inline uint32_t pooled(const MedhdpStep& step, uint32_t k) {
  return k < static_cast<uint32_t>(step.n_old) ? k : step.n_old;  // the label's topic that stands for all new ones
}

// MedLDA's label factor with the new topics pooled.
template <bool Augmented>
struct PooledLabel {
  static constexpr bool has_factor = true, has_target = true;
  const MedhdpStep& step;
  const MedhdpShard& shard;
  Labelled<Augmented> label;

  PooledLabel(const MedhdpStep& step, const MedhdpShard& shard, const MedldaChain& chain)
      : step(step), shard(shard), label(step.labels.model, chain, false) {}

  bool before(int i) {
    const bool changes = i >= label.next_block;
    label.before(i);
    return changes;
  }
  void moved(uint32_t k, float amount) { add_at(label.chain.counts, pooled(step, k), amount); }

  bool accepts(int i, uint32_t j, uint32_t k) const {
    const uint32_t n_old = step.n_old;
    const auto gain = [&](uint32_t l) { return l < n_old ? 0.f : 2.f * shard.counts[l] + 1.f; };  // of C_l^2
    const float more = gain(k) - gain(j);
    const auto own = [&](int b) { return more * lanes(step.own_variance + b); };
    if (!label.accepts(i, pooled(step, j), pooled(step, k), own)) return false;
    label.chain.topic[i] = pooled(step, k);
    return true;
  }
};

// The labels of one document as its tokens find them: `before` says whether the factor has changed.
struct NoLabel : Unlabelled {
  using Unlabelled::Unlabelled;
  bool before(int) { return false; }
  void moved(uint32_t, float) {}
};

struct TiltedLabel : FixedTilt {
  using FixedTilt::FixedTilt;
  bool before(int i) { return i == 0; }
  void moved(uint32_t, float) {}
};

// One document's tokens, one after the other; Rows of lanes, or kAny. Holds copies of the shard's pointers, see Walk.
template <bool First, class Label, int Rows>
class HdpWalk {
 public:
  HdpWalk(const MedhdpStep& step, const MedhdpSweep& sweep, MedhdpShard& shard, const MedldaChain& chain, Label label)
      : step_(step), shard_(shard), chain_(chain), label_(label), n_old_(step.n_old), sweep_(sweep.index),
        word_(step.words + step.starts[chain.document]), topic_(step.topics + step.starts[chain.document]) {
    load();
  }

  void run(int i) {
    for (; i < chain_.n; ++i) put(i, choose(i, weigh(i)));
  }

  int length() const { return chain_.n; }

  // Whether a new topic needs more rows.
  bool has_grown() const { return Rows != kAny && any_width_ != Rows * kLanes; }

  // Takes token i out of its topic and weighs all [HDP-1]; [HDP-2] is the same for the fresh slot: its mass is `rest`,
  // its rows are eta, and so its word has probability 1 / W.
  BAYESPA_INLINE Lanes weigh(int i) {
    const float* soon = rows_ + word_[i + kAhead] * capacity_;
    for (int at = 0; at < width(); at += 16) __builtin_prefetch(soon + at);
    float* row = rows_ + word_[i] * capacity_;
    if (!First) {
      const uint32_t j = topic_[i];
      if (label_.before(i)) spread_factor();
      count(row, j, -1.f);
      if (j >= n_old_ && tokens_[j] == 0) die(j);
    }
    Lanes sums = {};
    for (int at = 0; at < width(); at += kLanes) {
      Lanes weight = (lanes(alpha_ + at) + lanes(counts_ + at)) * (lanes(row + at) * lanes(inverse_ + at));
      if (Label::has_factor) weight *= lanes(factor_ + at);
      sums += weight;
      lanes(cumulative_ + at) = sums;
    }
    return sums;
  }

  BAYESPA_INLINE uint32_t choose(int i, const Lanes& sums) const {
    return draw(chain_.uniform[i], sums, cumulative_, width(), chain_.room);
  }

  BAYESPA_INLINE void put(int i, uint32_t k) {
    const uint32_t j = topic_[i];
    if (Label::has_target && k != j && !label_.accepts(i, j, k)) k = j;
    if (k >= n_old_ && tokens_[k] == 0) be_born(k, i);  // its stick is drawn anew if a rejected move has brought it back
    count(rows_ + word_[i] * capacity_, k, 1.f);
    topic_[i] = k;
  }

 private:
  void load() {
    any_width_ = shard_.width;
    capacity_ = shard_.capacity;
    rows_ = shard_.rows;
    alpha_ = shard_.alpha;
    total_ = shard_.total;
    inverse_ = shard_.inverse;
    counts_ = shard_.counts;
    cumulative_ = shard_.cumulative;
    factor_ = shard_.factor;
    tokens_ = shard_.tokens;
  }

  int width() const { return Rows == kAny ? any_width_ : Rows * kLanes; }

  inline void count(float* row, uint32_t k, float amount) {
    add_at(row, k, amount);
    add_at(counts_, k, amount);
    total_[k] += amount;
    set_at(inverse_, k, 1.f / total_[k]);
    tokens_[k] += static_cast<int32_t>(amount);
    label_.moved(k, amount);
  }

  // All new topics have the factor of the one that stands for them.
  void spread_factor() {
    for (uint32_t k = 0; k < n_old_; ++k) factor_[k] = chain_.factor[k];
    for (int k = n_old_; k < width(); ++k) factor_[k] = chain_.factor[n_old_];
  }

  // A new topic without tokens is as if it had never been: its mass goes back to the rest. It was born in an earlier
  // sweep, as tokens leave those of this sweep in the next one, so the slots of the shard's own topics have no gap.
  __attribute__((noinline)) void die(uint32_t k) {
    shard_.rest += alpha_[k];
    alpha_[k] = 0.f;
    alpha_[shard_.fresh] = static_cast<float>(shard_.rest);
  }

  // The new topic breaks Beta(1, gamma) off the rest [HDP-2]. The first sweep is only where the chain starts, and may
  // break smaller pieces: topics that are too many die of themselves, but hardly a token founds one that is missing.
  __attribute__((noinline)) void be_born(uint32_t k, int token) {
    const MedldaStep& labels = step_.labels;
    Stream stream(subkey(labels.seed, kBirths, 0, labels.round), static_cast<uint32_t>(token), sweep_,
                  labels.documents.ids[chain_.document]);
    const double gamma = First ? step_.start_concentration : step_.stick_concentration;
    const double mass = shard_.rest * draw_beta(stream, 1., gamma);
    shard_.rest -= mass;
    alpha_[k] = static_cast<float>(mass);
    if (k == shard_.fresh) next_fresh();
    alpha_[shard_.fresh] = static_cast<float>(shard_.rest);
  }

  void next_fresh() {
    const int k = static_cast<int>(shard_.fresh) + 1;
    if (k == shard_.capacity) shard_.grow(shard_);
    shard_.fresh = static_cast<uint32_t>(k);
    while (shard_.width <= k) shard_.width += kLanes;
    const int width = any_width_;
    load();
    if (Label::has_factor)
      for (int l = width; l < any_width_; ++l) factor_[l] = factor_[n_old_];
  }

  const MedhdpStep& step_;
  MedhdpShard& shard_;
  const MedldaChain& chain_;
  Label label_;
  const uint32_t n_old_, sweep_;
  const int32_t* word_;
  uint32_t* topic_;
  int any_width_;
  int64_t capacity_;
  float *rows_, *alpha_, *total_, *inverse_, *counts_, *cumulative_, *factor_;
  int32_t* tokens_;
};

// The document's tokens with the new topics pooled, and its mu'C and C'Sigma C.
void pool(const MedhdpStep& step, const MedhdpShard& shard, const MedldaChain& chain) {
  const MedldaModel& model = step.labels.model;
  const uint32_t* topic = step.topics + step.starts[chain.document];
  for (int k = 0; k < model.topic_width; ++k) chain.counts[k] = 0.f;
  for (int i = 0; i < chain.n; ++i) {
    chain.topic[i] = pooled(step, topic[i]);
    chain.counts[chain.topic[i]] += 1.f;
  }
  refresh(model, chain);
  float own = 0.f;
  for (int k = step.n_old; k < shard.width; ++k) own += shard.counts[k] * shard.counts[k];
  for (int b = 0; b < model.task_width; b += kLanes) lanes(chain.square + b) += own * lanes(step.own_variance + b);
}

// Whether a label, known and not averaged, makes the document's target differ from the free one.
bool attach(const MedhdpStep& step, const MedhdpSweep& sweep, const MedhdpShard& shard, const MedldaChain& chain) {
  const MedldaStep& labels = step.labels;
  if (!attach_labels(labels, chain)) return false;
  pool(step, shard, chain);
  if (sweep.labels_come_in) fix_proposal(labels.model, chain);
  begin_sweep(labels, sweep.index, chain);
  return true;
}

template <bool First, class Label>
void walk_as(const MedhdpStep& step, const MedhdpSweep& sweep, MedhdpShard& shard, const MedldaChain& chain,
             const Label& label, int from = 0) {
  HdpWalk<First, Label, kAny>(step, sweep, shard, chain, label).run(from);
}

// The tokens of a document; those before `from` were walked in turns with another shard, without labels.
void walk(const MedhdpStep& step, const MedhdpSweep& sweep, MedhdpShard& shard, const MedldaChain& chain, int from) {
  const MedldaModel& model = step.labels.model;
  if (sweep.first) {
    walk_as<true, NoLabel>(step, sweep, shard, chain, {model, chain});
  } else if (sweep.phase == 1 && model.sampler == MedldaSampler::averaging && model.n_tasks > 0) {
    attach_tilt(step.labels, chain);
    walk_as<false, TiltedLabel>(step, sweep, shard, chain, {model, chain});
  } else if (sweep.phase == 0 || !attach(step, sweep, shard, chain)) {
    walk_as<false, NoLabel>(step, sweep, shard, chain, {model, chain}, from);
  } else if (model.sampler == MedldaSampler::augmented) {
    walk_as<false, PooledLabel<true>>(step, sweep, shard, chain, {step, shard, chain});
  } else {
    walk_as<false, PooledLabel<false>>(step, sweep, shard, chain, {step, shard, chain});
  }
}

// A shard and the chain it works in, at token `at` of its document.
struct Place {
  MedhdpShard* shard;
  MedldaChain* chain;
  int at;
};

// A token waits for the one before it in its shard, so shards take turns, until a document ends or a new topic needs
// more rows.
template <int Rows, int... C>
void take_turns(const MedhdpStep& step, const MedhdpSweep& sweep, Place* places) {
  using Free = HdpWalk<false, NoLabel, Rows>;
  constexpr int N = sizeof...(C);
  const MedldaModel& model = step.labels.model;
  Free walks[] = {Free(step, sweep, *places[C].shard, *places[C].chain, {model, *places[C].chain})...};
  int at[] = {places[C].at...};
  while (((at[C] < walks[C].length() && !walks[C].has_grown()) && ...)) {
    Lanes sums[N];
    uint32_t topics[N];
#pragma GCC unroll 4
    for (int c = 0; c < N; ++c) sums[c] = walks[c].weigh(at[c]);
#pragma GCC unroll 4
    for (int c = 0; c < N; ++c) topics[c] = walks[c].choose(at[c], sums[c]);
#pragma GCC unroll 4
    for (int c = 0; c < N; ++c) walks[c].put(at[c]++, topics[c]);
  }
  ((places[C].at = at[C]), ...);
}

template <int Rows, int... C>
void take_turns_rows(const MedhdpStep& step, const MedhdpSweep& sweep, Place* places) {
  if constexpr (Rows > kFewRows) {
    take_turns<kAny, C...>(step, sweep, places);
  } else if (((places[C].shard->width == Rows * kLanes) && ...)) {
    take_turns<Rows, C...>(step, sweep, places);
  } else {
    take_turns_rows<Rows + 1, C...>(step, sweep, places);
  }
}

// Seats the tokens of each topic in a Chinese restaurant: token number c + 1 opens a table with probability
// alpha / (alpha + c), which is Antoniak's law without Stirling numbers [HDP-3].
void seat(const MedhdpStep& step, const MedhdpSweep& sweep, MedhdpShard& shard, const MedldaChain& chain) {
  const MedldaStep& labels = step.labels;
  const uint32_t* topic = step.topics + step.starts[chain.document];
  float* seated = shard.cumulative;
  fill_uniform(labels, subkey(labels.seed, kTables, 0, 0), sweep.index, chain, chain.uniform);
  for (int k = 0; k < shard.width; ++k) seated[k] = 0.f;
  for (int i = 0; i < chain.n; ++i) {
    const uint32_t k = topic[i];
    const float before = seated[k], mass = shard.alpha[k];
    seated[k] = before + 1.f;
    shard.tables[k] += (before == 0.f) | (chain.uniform[i] * (mass + before) < mass);  // no jump: nobody can foresee it
  }
}

// Returns whether shard has another document, whose tokens are to be sampled.
bool start(const MedhdpStep& step, const MedhdpSweep& sweep, MedhdpShard& shard, MedldaChain& chain) {
  const MedldaStep& labels = step.labels;
  int64_t d = shard.begin;
  while (d < shard.end && step.starts[d] == step.starts[d + 1]) ++d;
  shard.begin = d + 1;
  if (d >= shard.end) return false;
  const uint32_t* topic = step.topics + step.starts[d];
  chain.document = d;
  chain.width = step.proposal + 2 * d * labels.model.task_width;
  chain.curvature = chain.width + labels.model.task_width;
  chain.n = static_cast<int>(step.starts[d + 1] - step.starts[d]);
  for (int k = 0; k < shard.width; ++k) shard.counts[k] = 0.f;
  for (int i = 0; i < chain.n && !sweep.first; ++i) shard.counts[topic[i]] += 1.f;
  fill_uniform(labels, labels.seed, sweep.index, chain, chain.uniform);
  return true;
}

void end(const MedhdpStep& step, const MedhdpSweep& sweep, MedhdpShard& shard, const MedldaChain& chain) {
  seat(step, sweep, shard, chain);
  if (!sweep.keep || step.labels.model.n_tasks == 0) return;
  pool(step, shard, chain);
  record_tasks(step.labels, sweep.phase, chain, chain.document);
}

void medhdp_sweep(const MedhdpStep& step, const MedhdpSweep& sweep, MedhdpShard* const* shards, MedldaChain* const* chains,
                  int n) {
  Place places[kShardsTogether];
  int left = 0;
  for (int c = 0; c < n; ++c) {
    if (start(step, sweep, *shards[c], *chains[c])) places[left++] = {shards[c], chains[c], 0};
  }
  while (left > 0) {
    const bool in_turns = sweep.phase == 0 && !sweep.first;
    int walked = 1;
    if (in_turns && left == kShardsTogether) {
      take_turns_rows<1, 0, 1, 2, 3>(step, sweep, places);
      walked = kShardsTogether;
    } else if (in_turns && left > 1) {
      take_turns_rows<1, 0, 1>(step, sweep, places);
      walked = 2;
    } else {
      walk(step, sweep, *places[0].shard, *places[0].chain, places[0].at);
      places[0].at = places[0].chain->n;
    }
    for (int c = walked - 1; c >= 0; --c) {
      Place& place = places[c];
      if (place.at < place.chain->n) continue;
      end(step, sweep, *place.shard, *place.chain);
      place.at = 0;
      if (!start(step, sweep, *place.shard, *place.chain)) place = places[--left];
    }
  }
}

// [HDP-4]
void medhdp_sticks(MedhdpSticks& sticks) {
  const uint64_t key = subkey(sticks.seed, kSticks, 0, sticks.round);
  int64_t later = 0;
  for (int k = 0; k < sticks.n_slots; ++k) later += sticks.tables[k];
  sticks.rest = 1.;
  for (int k = 0; k < sticks.n_slots; ++k) {
    const int64_t tables = sticks.tables[k];
    const bool old = k < sticks.n_old;
    later -= tables;
    sticks.mass[k] = 0.;
    if (!old && tables == 0) continue;
    Stream stream(key, static_cast<uint32_t>(k), sticks.time, 0);
    const double a = (old ? sticks.u[k] : 0.) + static_cast<double>(tables);
    const double b = (old ? sticks.v[k] : sticks.concentration) + static_cast<double>(later);
    sticks.mass[k] = sticks.rest * draw_beta(stream, a, b);
    sticks.rest -= sticks.mass[k];
  }
}

constexpr MedhdpKernels medhdp_kernels = {medhdp_sweep, medhdp_sticks};

}  // namespace
}  // namespace bayespa
