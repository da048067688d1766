#pragma once

#include "medlda_draw.inc.h"
#include "medlda_label.inc.h"
#include "medlda_step.h"
#include "medlda_uniform.inc.h"
#include "sampling.h"

namespace bayespa {
namespace {

constexpr int kAhead = 6;  // tokens by which a word's factors are fetched before they are needed
// Of eight topics; above it only every kStride-th row of running sums is kept. Each is compiled on its own, which takes
// sanitizers long: they have few, and the same results.
#ifdef BAYESPA_SANITIZED
constexpr int kFewRows = 2;
#else
constexpr int kFewRows = 10;
#endif
constexpr int kStride = 4;
constexpr int kAny = 0, kMany = -1;  // Rows that are known at run time only; kMany: more than kFewRows

// The tokens of one document, one after the other; Rows of candidate topics. Holds copies of the pointers: the compiler
// must assume that a store of floats changes whatever is behind a reference.
template <int Rows, class Label>
struct Walk {
  const int any_width;
  const float taken;  // -1, or 0 in the first sweep: a token has no topic yet
  const float *alpha, *phi, *uniform, *factor;
  const int32_t* word;
  uint32_t* topic;
  float *counts, *cumulative, *room;
  Label label;

  Walk(const MedldaModel& model, const MedldaChain& chain, float taken)
      : any_width(model.topic_width), taken(taken), alpha(model.alpha), phi(model.phi), uniform(chain.uniform),
        factor(chain.factor), word(chain.word), topic(chain.topic), counts(chain.counts),
        cumulative(chain.cumulative), room(chain.room), label(model, chain) {}

  int width() const { return Rows > 0 ? Rows * kLanes : any_width; }

  const float* phi_of(int i) const { return phi + static_cast<int64_t>(word[i]) * width(); }

  BAYESPA_INLINE float weight(const float* phi_word, int k) const {
    const float free = (alpha[k] + counts[k]) * phi_word[k];
    return Label::has_factor ? free * factor[k] : free;
  }

  // Of the topics in the lanes. No template has both: in one, Clang takes Lanes for aligned.
  BAYESPA_INLINE Lanes weights(const float* phi_word, int at) const {
    const Lanes free = (lanes(alpha + at) + lanes(counts + at)) * lanes(phi_word + at);
    return Label::has_factor ? free * lanes(factor + at) : free;
  }

  // Takes token i out of its topic; returns the factors of its word.
  BAYESPA_INLINE const float* take(int i) {
    const float *phi_word = phi_of(i), *phi_soon = phi_of(i + kAhead);
    for (int at = 0; at < width(); at += 16) __builtin_prefetch(phi_soon + at);
    label.before(i);
    add_at(counts, topic[i], taken);
    return phi_word;
  }

  BAYESPA_INLINE Lanes weigh(int i) {
    const float* phi_word = take(i);
    Lanes sums = {};
    for (int at = 0; at < width(); at += kLanes) {
      sums += weights(phi_word, at);
      lanes(cumulative + at) = sums;
    }
    return sums;
  }

  BAYESPA_INLINE uint32_t choose(int i, const Lanes& sums) const {
    return Rows == kMany ? choose_of_many(i, sums) : draw(uniform[i], sums, cumulative, width(), room);
  }

  // Finds the row of running sums that was kept, and adds up those before it once more.
  BAYESPA_INLINE uint32_t choose_of_many(int i, const Lanes& sums) const {
    const Aim found = aim(uniform[i], sums, room);
    const int n_rows = width() / kLanes, n_kept = (n_rows + kStride - 1) / kStride;
    const int kept = static_cast<int>(row_of(found, cumulative, n_kept * kLanes));
    const int first = kept * kStride, end = first + kStride < n_rows ? first + kStride : n_rows;
    const float* phi_word = phi_of(i);
    float sum = kept == 0 ? 0.f : cumulative[(kept - 1) * kLanes + found.lane];
    uint32_t row = first;
    for (int r = first; r < end - 1; ++r) {
      const int k = r * kLanes + found.lane;
      sum += weight(phi_word, k);
      row += passes(sum, found.left);
    }
    return kLanes * row + found.lane;
  }

  BAYESPA_INLINE void put(int i, uint32_t k) {
    const uint32_t j = topic[i];
    if (Label::has_target && k != j && !label.accepts(i, j, k)) k = j;
    add_at(counts, k, 1.f);
    topic[i] = k;
  }
};

// Weighs token i of N documents with many rows: an addition to the sums of one waits for the last, not for the others'.
template <int N, class AnyWalk>
BAYESPA_INLINE void weigh_side_by_side(AnyWalk* walks, int i, Lanes* sums) {
  const float* phi_word[N];
#pragma GCC unroll 4
  for (int c = 0; c < N; ++c) {
    phi_word[c] = walks[c].take(i);
    sums[c] = Lanes{};
  }
  const int width = walks[0].width();
  int at = 0;
  for (int kept = 0; at + kStride * kLanes <= width; kept += kLanes) {
#pragma GCC unroll 4
    for (int r = 0; r < kStride; ++r, at += kLanes)
#pragma GCC unroll 4
      for (int c = 0; c < N; ++c) sums[c] += walks[c].weights(phi_word[c], at);
#pragma GCC unroll 4
    for (int c = 0; c < N; ++c) lanes(walks[c].cumulative + kept) = sums[c];
  }
  for (; at < width; at += kLanes)
#pragma GCC unroll 4
    for (int c = 0; c < N; ++c) sums[c] += walks[c].weights(phi_word[c], at);
}

// Token i of N documents. Where `put` writes is known late, and no CPU reads the counts of a second document before it
// knows; so all are read first.
template <int N, int Rows, class Label>
BAYESPA_INLINE void take_turns(Walk<Rows, Label>* walks, int i) {
  Lanes sums[N];
  uint32_t topics[N];
  if (Rows == kMany) {
    weigh_side_by_side<N>(walks, i, sums);
  } else {
#pragma GCC unroll 4
    for (int c = 0; c < N; ++c) sums[c] = walks[c].weigh(i);
  }
#pragma GCC unroll 4
  for (int c = 0; c < N; ++c) topics[c] = walks[c].choose(i, sums[c]);
#pragma GCC unroll 4
  for (int c = 0; c < N; ++c) walks[c].put(i, topics[c]);
}

// A token waits for the one before it in its document, so the documents take turns; none is shorter than the next.
template <int Rows, class Label>
__attribute__((noinline)) void sweep(const MedldaModel& model, const MedldaChain (&chains)[kTogether], bool first) {
  static_assert(kTogether == 4, "four walks");
  const float taken = first ? 0.f : -1.f;
  Walk<Rows, Label> walks[] = {
      {model, chains[0], taken}, {model, chains[1], taken}, {model, chains[2], taken}, {model, chains[3], taken}};
  int i = 0;
  for (; i < chains[3].n; ++i) take_turns<4>(walks, i);
  for (; i < chains[1].n; ++i) {
    take_turns<2>(walks, i);
    if (i < chains[2].n) take_turns<1>(walks + 2, i);
  }
  for (; i < chains[0].n; ++i) take_turns<1>(walks, i);
}

template <class Label>
void sweep_any(const MedldaModel& model, const MedldaChain (&chains)[kTogether], bool first) {
  const bool many = model.topic_width > kFewRows * kLanes;
  (many ? sweep<kMany, Label> : sweep<kAny, Label>)(model, chains, first);
}

// Loops over a known number of rows are not loops, which is a third of the time.
template <class Label, int Rows = 1>
void sweep_rows(const MedldaModel& model, const MedldaChain (&chains)[kTogether], bool first) {
  if constexpr (Rows > kFewRows)
    sweep<kMany, Label>(model, chains, first);
  else if (model.topic_width == Rows * kLanes)
    sweep<Rows, Label>(model, chains, first);
  else
    sweep_rows<Label, Rows + 1>(model, chains, first);
}

void fill_uniform(const MedldaStep& step, uint64_t key, uint32_t sweep, const MedldaChain& chain, float* out) {
  fill_uniform(key, sweep, step.documents.ids[chain.document], step.round, chain.n, out);
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

// What the label phase needs beside topics in a sweep, from mu'C and C'Sigma C.
void begin_sweep(const MedldaStep& step, uint32_t sweep, const MedldaChain& chain) {
  fill_uniform(step, subkey(step.seed, 1, 0, 0), sweep, chain, chain.accept);
  start_proposals(step.model, chain);
  if (step.model.sampler == MedldaSampler::augmented) {
    draw_scales(step, sweep, chain);
    set_penalties<true>(step.model, chain);
  } else {
    set_penalties<false>(step.model, chain);
  }
}

// What [MED-4] and prediction need of each task in a kept sweep, from mu'C and C'Sigma C.
void record_tasks(const MedldaStep& step, int p, const MedldaChain& chain, int64_t index) {
  const MedldaModel& model = step.model;
  const MedldaPhase& phase = step.phases[p];
  const float length = static_cast<float>(chain.n);
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
      const float distance = __builtin_sqrtf(x > kLeast ? x : kLeast);
      const float inverse = cost * length / distance;  // c^2 E[1/lambda] [MED-2]
      weight += inverse;
      shift += cost * found.sign + inverse * found.target;      // [MED-4]
      loss += cost * ((found.sign * gap + distance) / length);  // [MED-3]
    }
    phase.records.weight[index * model.n_tasks + task] = weight;
    phase.records.shift[index * model.n_tasks + task] = shift;
    phase.records.loss[index * model.n_tasks + task] = loss;
  }
}

// One kept sweep.
void record(const MedldaStep& step, int p, const MedldaChain& chain, int64_t index) {
  const MedldaModel& model = step.model;
  for (int k = 0; k < model.topic_width; ++k) chain.total[k] += chain.counts[k];
  if (int32_t* topic_word = chain.topic_word[p])
    for (int i = 0; i < chain.n; ++i)
      ++topic_word[static_cast<int64_t>(chain.word[i]) * model.n_topics + chain.topic[i]];
  if (model.n_tasks == 0) return;
  float* share = step.phases[p].records.share + index * model.topic_width;
  for (int k = 0; k < model.topic_width; ++k) share[k] = chain.counts[k] / static_cast<float>(chain.n);
  record_tasks(step, p, chain, index);
}

// From weights that are all 0, or not numbers, `draw` may take a topic that only fills up the lanes. The sweep has room
// for it; what follows has not. Once a sweep and for all tokens together, this costs nothing.
void keep_to_topics(const MedldaModel& model, const MedldaChain& chain) {
  const uint32_t last = model.n_topics - 1;
  uint32_t* topic = chain.topic;
  const int n = chain.n;  // a copy: a store of topics might change the other
  for (int i = 0; i < n; ++i) topic[i] = topic[i] < last ? topic[i] : last;
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

// Both phases of a few documents; the last may be empty.
void run_together(const MedldaStep& step, int64_t chunk, const MedldaChain (&chains)[kTogether], bool labelled) {
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
        fix_proposal(model, chain);
      }
    }
    for (int i = 0; i < phase.sweeps; ++i, ++sweep_index) {
      for (const MedldaChain& chain : chains) {
        fill_uniform(step, step.seed, sweep_index, chain, chain.uniform);
        if (use_labels && sampler != MedldaSampler::averaging && chain.n > 0) begin_sweep(step, sweep_index, chain);
      }
      if (!use_labels)
        sweep_rows<Unlabelled>(model, chains, sweep_index == 0);
      else if (sampler == MedldaSampler::averaging)
        sweep_any<FixedTilt>(model, chains, false);
      else if (sampler == MedldaSampler::augmented)
        sweep_any<Labelled<true>>(model, chains, false);
      else
        sweep_rows<Labelled<false>>(model, chains, false);
      const bool keep = i >= phase.burn_in;
      for (const MedldaChain& chain : chains) {
        if (chain.n == 0) continue;
        keep_to_topics(model, chain);
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
                      MedldaChain (&chains)[kTogether]) {
  const bool tilt = step.model.sampler == MedldaSampler::averaging;
  for (int64_t i = begin; i < end; i += kTogether) {
    bool labelled = tilt;
    for (int c = 0; c < kTogether; ++c) {
      chains[c].n = 0;
      if (i + c < end) start(step, order[i + c], chains[c]);
      if (!tilt && chains[c].n > 0 && attach_labels(step, chains[c])) labelled = true;
    }
    run_together(step, chunk, chains, labelled);
  }
}

// Adds to topics [begin, end) of [MED-4] task by task: an entry's neighbours are added in one vector.
void medlda_add_by_task(const MedldaStep& step, const MedldaRecords& records, int begin, int end, int64_t n,
                        const MedldaSums& sums) {
  const int n_topics = step.model.n_topics, n_tasks = step.model.n_tasks;
  for (int t = 0; t < n_tasks; ++t) {
    double *precision = sums.precision + int64_t{t} * n_topics * n_topics, *shift = sums.shift + t * n_topics;
    for (int64_t i = 0; i < n; ++i) {
      const float* share = records.share + i * step.model.topic_width;
      const double weight = records.weight[i * n_tasks + t], weight_h = records.shift[i * n_tasks + t];
      if (weight == 0.) continue;  // no label
      for (int j = begin; j < end; ++j) {
        if (share[j] == 0.f) continue;
        shift[j] += weight_h * share[j];
        const double scaled = weight * share[j];
        for (int k = j; k < n_topics; ++k) precision[j * n_topics + k] += scaled * share[k];
      }
    }
  }
}

// Adds to topics [begin, end) of [MED-4] entry by entry, of all tasks in one vector: a document has few of all topics.
void medlda_add_by_entry(const MedldaStep& step, const MedldaRecords& records, int begin, int end, int64_t n,
                         const MedldaSums& sums) {
  const int64_t n_topics = step.model.n_topics, n_tasks = step.model.n_tasks, width = step.model.task_width;
  double *scaled = sums.room, *row = scaled + width;  // (Tp), (Kp, Tp)
  for (int64_t t = n_tasks; t < width; ++t) scaled[t] = 0.;
  for (int64_t j = begin; j < end; ++j) {
    for (int64_t t = 0; t < n_tasks; ++t)
      for (int64_t k = j; k < n_topics; ++k) row[k * width + t] = sums.precision[(t * n_topics + j) * n_topics + k];
    for (int64_t i = 0; i < n; ++i) {
      const float *share = records.share + i * step.model.topic_width, *weight = records.weight + i * n_tasks;
      if (share[j] == 0.f) continue;
      const double share_j = share[j];
      for (int64_t t = 0; t < n_tasks; ++t) {
        scaled[t] = weight[t] * share_j;
        sums.shift[t * n_topics + j] += weight[t] == 0.f ? 0. : records.shift[i * n_tasks + t] * share_j;  // 0: no label
      }
      uint32_t later = 0xffu << j % kLanes;
      for (int64_t at = j / kLanes * kLanes; at < n_topics; at += kLanes, later = 0xff)
        for_bits(bits(below(Lanes{}, lanes(share + at))) & later, [&](int l) {
          const double share_k = share[at + l];
          double* __restrict entry = row + (at + l) * width;
          for (int64_t t = 0; t < width; ++t) entry[t] += scaled[t] * share_k;
        });
    }
    for (int64_t t = 0; t < n_tasks; ++t)
      for (int64_t k = j; k < n_topics; ++k) sums.precision[(t * n_topics + j) * n_topics + k] = row[k * width + t];
  }
}

// For every entry the order is that of the records, so both ways give the same bits.
void medlda_accumulate(const MedldaStep& step, int p, int begin, int end, int64_t n, const MedldaSums& sums) {
  const MedldaRecords& records = step.phases[p].records;
  const int64_t n_topics = step.model.n_topics, n_tasks = step.model.n_tasks;
  (n_tasks <= kFewTasks ? medlda_add_by_task : medlda_add_by_entry)(step, records, begin, end, n, sums);
  for (int64_t t = 0; t < n_tasks; ++t) {
    double* precision = sums.precision + t * n_topics * n_topics;
    for (int64_t j = begin; j < end; ++j)
      for (int64_t k = j + 1; k < n_topics; ++k) precision[k * n_topics + j] = precision[j * n_topics + k];
  }
  if (begin > 0) return;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t t = 0; t < n_tasks; ++t) sums.loss[t] += records.loss[i * n_tasks + t];
}

// A row's largest value becomes 1, so that the floor means the same for a rare word as for a common one.
template <bool Mean, class Real>
void phi_rows(const Real* dirichlet, const double* totals, const int64_t* words, int64_t n_words, int n_topics,
              float* scale, float* phi) {
  const int width = (n_topics + kLanes - 1) / kLanes * kLanes;
  for (int k = 0; k < n_topics; ++k) scale[k] = static_cast<float>(1. / (Mean ? totals[k] : exp_digamma(totals[k])));
  for (int64_t w = 0; w < n_words; ++w) {
    const Real* row = dirichlet + words[w] * n_topics;
    const char* soon = reinterpret_cast<const char*>(dirichlet + words[w + 8 < n_words ? w + 8 : w] * n_topics);
    for (int byte = 0; byte < n_topics * static_cast<int>(sizeof(Real)); byte += 64) __builtin_prefetch(soon + byte);
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
