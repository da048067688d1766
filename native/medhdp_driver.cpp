#include "medhdp_driver.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "medlda_layout.h"
#include "parallel.h"

namespace bayespa {
namespace {

constexpr uint32_t kNoTopic = 0xFFFFFFFFu;

// The tokens of a mini-batch, in order of documents, and where each word has them.
struct Tokens {
  std::vector<int64_t> starts;   // (n_docs + 1)
  std::vector<int32_t> words;    // (n_tokens + 8), rows of the shard
  std::vector<uint32_t> topics;  // (n_tokens), slots
  std::vector<int64_t> word_starts;
  std::vector<int32_t> by_word;  // tokens of word w: by_word[word_starts[w], word_starts[w + 1])
  std::vector<std::vector<int32_t>> shard_words;  // of each shard, the words of its rows

  Tokens(const MedldaDocuments& documents, int64_t n_words) {
    const int64_t n_docs = documents.n_docs;
    starts.assign(n_docs + 1, 0);
    word_starts.assign(n_words + 1, 0);
    for (int64_t d = 0; d < n_docs; ++d) {
      starts[d + 1] = starts[d];
      for (int64_t i = documents.indptr[d]; i < documents.indptr[d + 1]; ++i) {
        starts[d + 1] += documents.counts[i];
        word_starts[documents.words[i] + 1] += documents.counts[i];
      }
    }
    std::partial_sum(word_starts.begin(), word_starts.end(), word_starts.begin());
    words.assign(starts[n_docs] + 8, 0);
    topics.assign(starts[n_docs], kNoTopic);
    by_word.resize(starts[n_docs]);
    shard_words.resize((n_docs + kShardDocuments - 1) / kShardDocuments);
    std::vector<int64_t> next(word_starts);
    std::vector<int32_t> row_of(n_words), shard_of(n_words, -1);
    int32_t token = 0;
    for (int64_t d = 0; d < n_docs; ++d) {
      const int32_t shard = static_cast<int32_t>(d / kShardDocuments);
      for (int64_t i = documents.indptr[d]; i < documents.indptr[d + 1]; ++i) {
        const int32_t word = documents.words[i];
        if (shard_of[word] != shard) {
          shard_of[word] = shard;
          row_of[word] = static_cast<int32_t>(shard_words[shard].size());
          shard_words[shard].push_back(word);
        }
        for (int32_t c = 0; c < documents.counts[i]; ++c, ++token) {
          words[token] = row_of[word];
          by_word[next[word]++] = token;
        }
      }
    }
  }

  int n_shards() const { return static_cast<int>(shard_words.size()); }
};

// A shard's arrays, made anew for every sweep in the memory of a worker.
class ShardMemory {
 public:
  MedhdpShard shard = {};

  void reserve(int capacity, size_t n_rows) {
    n_rows_ = n_rows;
    shard.capacity = capacity;
    floats_.assign(6 * static_cast<size_t>(capacity), 0.f);
    rows_.resize(n_rows * capacity);
    tokens_.assign(capacity, 0);
    tables_.assign(capacity, 0);
    point();
  }

  static void grow(MedhdpShard& shard) { static_cast<ShardMemory*>(shard.memory)->grow(); }

  void set_prior(float eta, float eta_total) {
    eta_ = eta;
    eta_total_ = eta_total;
    shard.grow = grow;
    shard.memory = this;
  }

 private:
  void point() {
    float* next = floats_.data();
    for (float** p : {&shard.alpha, &shard.total, &shard.inverse, &shard.counts, &shard.cumulative, &shard.factor}) {
      *p = next;
      next += shard.capacity;
    }
    shard.rows = rows_.data();
    shard.tokens = tokens_.data();
    shard.tables = tables_.data();
  }

  void grow() {
    const size_t before = shard.capacity, after = 2 * before;
    Floats floats(6 * after, 0.f), rows(n_rows_ * after, eta_);
    for (size_t array = 0; array < 6; ++array)
      std::copy_n(floats_.begin() + array * before, before, floats.begin() + array * after);
    for (size_t row = 0; row < n_rows_; ++row)
      std::copy_n(rows_.begin() + row * before, before, rows.begin() + row * after);
    floats_.swap(floats);
    rows_.swap(rows);
    tokens_.resize(after, 0);
    tables_.resize(after, 0);
    shard.capacity = static_cast<int>(after);
    point();
    for (size_t k = before; k < after; ++k) shard.total[k] = eta_total_;
    for (size_t k = before; k < after; ++k) shard.inverse[k] = 1.f / eta_total_;
  }

  Floats floats_, rows_;
  std::vector<int32_t> tokens_;
  std::vector<int64_t> tables_;
  size_t n_rows_ = 0;
  float eta_ = 0.f, eta_total_ = 0.f;
};

// What a sweep leaves of a shard, by its slots.
struct Outcome {
  std::vector<int32_t> tokens;
  std::vector<int64_t> tables;
};

// A matrix of `rows` rows gets more columns, which are 0.
template <class T>
void widen(std::vector<T>& x, size_t rows, size_t before, size_t after) {
  std::vector<T> wide(rows * after, T(0));
  for (size_t i = 0; i < rows; ++i) std::copy_n(x.begin() + i * before, before, wide.begin() + i * after);
  x.swap(wide);
}

class Round {
 public:
  Round(const MedldaKernels& label_kernels, const MedhdpKernels& kernels, const MedhdpInput& in)
      : label_kernels_(label_kernels), kernels_(kernels), in_(in), layout_(in.labels),
        tokens_(in.labels.documents, in.labels.n_words), n_docs_(in.labels.documents.n_docs),
        n_old_(in.labels.n_topics - 1), n_tasks_(in.labels.n_tasks), n_slots_(n_old_) {
    const size_t task_width = layout_.model.task_width;
    own_variance_.assign(task_width, 0.f);
    std::copy(in.own_variance, in.own_variance + n_tasks_, own_variance_.begin());
    proposal_.assign(2 * n_docs_ * task_width, 0.f);
    scalars_.assign(3 * n_docs_ * n_tasks_, 0.f);
    n_tokens_.assign(n_old_, 0);
    recorded_.assign(n_old_, true);
    if (in.start != nullptr) {
      std::copy_n(in.start, tokens_.topics.size(), tokens_.topics.begin());
      for (const uint32_t k : tokens_.topics) ++n_tokens_[k];
    }
    result_.n_topics = n_slots_;
    result_.tables.assign(n_old_, 0);
    result_.topic_word.assign(in.labels.n_words * n_old_, 0);
    step_.labels = {layout_.model, in.labels.documents, {}, in.labels.seed, in.labels.round};
    for (int p = 0; p < 2; ++p) {
      MedhdpPhase& phase = result_.phases[p];
      phase.n_kept = in.sweeps[p] - in.burn_in[p];
      counted_[p].assign(n_docs_ * n_old_, 0.);
      phase.margin.assign(n_docs_ * n_tasks_, 0.);
      phase.margin_var.assign(n_docs_ * n_tasks_, 0.);
      phase.precision.assign(n_tasks_ * n_old_ * n_old_, 0.);
      phase.shift.assign(n_tasks_ * n_old_, 0.);
      phase.loss.assign(n_tasks_, 0.);
      const size_t n = n_docs_ * n_tasks_;
      float* scalar = scalars_.data();
      step_.labels.phases[p] = {in.sweeps[p], in.burn_in[p], nullptr, phase.margin.data(), phase.margin_var.data(),
                                {nullptr, scalar, scalar + n, scalar + 2 * n}};
    }
    step_.n_old = n_old_;
    step_.own_variance = own_variance_.data();
    step_.stick_concentration = in.stick_concentration;
    step_.start_concentration = in.start_concentration;
    step_.starts = tokens_.starts.data();
    step_.words = tokens_.words.data();
    step_.topics = tokens_.topics.data();
    step_.proposal = proposal_.data();
  }

  MedhdpResult run() {
    const int n_shards = tokens_.n_shards();
    tables_.assign(n_slots_, 0);
    draw_sticks();
    MedhdpSweep sweep = {};
    for (int p = 0; p < 2; ++p)
      for (int i = 0; i < in_.sweeps[p]; ++i, ++sweep.index) {
        sweep.phase = p;
        sweep.first = sweep.index == 0 && in_.start == nullptr;
        sweep.labels_come_in = p == 1 && i == 0;
        sweep.keep = i >= in_.burn_in[p];
        tables_.assign(n_slots_, 0);
        // The first sweep goes in waves, each as large as all before it, or every shard would find its own new topics
        // for what they have in common.
        for (int begin = 0, end; begin < n_shards; begin = end) {
          end = sweep.first ? std::min(n_shards, std::max(1, 2 * begin)) : n_shards;
          count_words();
          sample(sweep, begin, end);
          merge(begin, end);
          draw_sticks();
        }
        if (sweep.keep) record(p);
      }
    finish();
    return std::move(result_);
  }

 private:
  // The rows that a sweep begins with: Delta plus the mini-batch's counts C of [HDP-1].
  void count_words() {
    const size_t width = capacity();
    const float eta = static_cast<float>(in_.eta);
    rows_.resize(in_.labels.n_words * width);
    parallel_ranges(in_.labels.n_words, in_.labels.n_threads, [&](int64_t begin, int64_t end) {
      std::vector<int32_t> counts(n_slots_);
      for (int64_t word = begin; word < end; ++word) {
        std::fill(counts.begin(), counts.end(), 0);
        count_tokens(word, counts.data());
        float* row = rows_.data() + word * width;
        const float* prior = in_.dirichlet + word * n_old_;
        for (int k = 0; k < n_old_; ++k) row[k] = prior[k] + static_cast<float>(counts[k]);
        for (int k = n_old_; k < n_slots_; ++k) row[k] = eta + static_cast<float>(counts[k]);
        for (size_t k = n_slots_; k < width; ++k) row[k] = eta;
      }
    });
  }

  // Slots of a shard at the beginning of a sweep.
  size_t capacity() const { return whole_lanes(n_slots_ + 8); }

  void count_tokens(int64_t word, int32_t* counts) const {
    for (int64_t i = tokens_.word_starts[word]; i < tokens_.word_starts[word + 1]; ++i) {
      const uint32_t k = tokens_.topics[tokens_.by_word[i]];
      if (k != kNoTopic) ++counts[k];
    }
  }

  void sample(const MedhdpSweep& sweep, int begin, int end) {
    outcomes_.resize(tokens_.n_shards());
    int64_t longest = 0;
    for (int64_t d = 0; d < n_docs_; ++d) longest = std::max(longest, tokens_.starts[d + 1] - tokens_.starts[d]);
    std::atomic<int> next{begin};
    // Two shards in turns take little more time than one, and four less than two times two.
    const int share = (end - begin) / in_.labels.n_threads, together = share >= kShardsTogether ? kShardsTogether : 2;
    const int n_workers = std::min(in_.labels.n_threads, (end - begin + together - 1) / together);
    parallel_for(n_workers, n_workers, [&](int) {
      std::vector<ChainMemory> chains;
      for (int c = 0; c < together; ++c) chains.emplace_back(layout_.model, longest);
      ShardMemory memories[kShardsTogether];
      for (ShardMemory& one : memories)
        one.set_prior(static_cast<float>(in_.eta), static_cast<float>(in_.eta_total));
      for (int s; (s = next.fetch_add(together)) < end;) {
        const int n = std::min(together, end - s);
        MedhdpShard* shards[kShardsTogether];
        MedldaChain* own[kShardsTogether];
        for (int c = 0; c < n; ++c) {
          prepare(s + c, memories[c]);
          shards[c] = &memories[c].shard;
          own[c] = &chains[c].chain;
        }
        kernels_.sweep(step_, sweep, shards, own, n);
        for (int c = 0; c < n; ++c) {
          outcomes_[s + c].tokens.assign(shards[c]->tokens, shards[c]->tokens + shards[c]->width);
          outcomes_[s + c].tables.assign(shards[c]->tables, shards[c]->tables + shards[c]->width);
        }
      }
    });
  }

  // The shard's own copy of the topics.
  void prepare(int s, ShardMemory& memory) const {
    const std::vector<int32_t>& words = tokens_.shard_words[s];
    const int capacity = static_cast<int>(this->capacity());
    memory.reserve(capacity, words.size());
    MedhdpShard& shard = memory.shard;
    shard.begin = s * kShardDocuments;
    shard.end = std::min(n_docs_, shard.begin + kShardDocuments);
    const bool closed = n_slots_ == n_old_ && rest_ == 0.;  // no mass is left for new topics, and none comes back
    shard.width = static_cast<int>(whole_lanes(n_slots_ + !closed));
    shard.fresh = static_cast<uint32_t>(n_slots_);
    shard.rest = in_.concentration * rest_;
    for (int k = 0; k < capacity; ++k) {
      const double prior = k < n_old_ ? in_.totals[k] : in_.eta_total;
      shard.tokens[k] = k < n_slots_ ? n_tokens_[k] : 0;
      shard.alpha[k] = k < n_slots_ ? static_cast<float>(in_.concentration * mass_[k]) : 0.f;
      shard.total[k] = static_cast<float>(prior + shard.tokens[k]);
      shard.inverse[k] = 1.f / shard.total[k];
    }
    shard.alpha[shard.fresh] = static_cast<float>(shard.rest);
    const float* rows = rows_.data();
    for (size_t r = 0; r < words.size(); ++r) {
      if (r + 8 < words.size()) {
        const float* soon = rows + static_cast<int64_t>(words[r + 8]) * capacity;
        for (int k = 0; k < capacity; k += 16) __builtin_prefetch(soon + k);
      }
      std::copy_n(rows + static_cast<int64_t>(words[r]) * capacity, capacity, shard.rows + r * capacity);
    }
  }

  // Gives the new topics of the shards slots of their own, in the order of the shards: the first that are free.
  void merge(int begin, int end) {
    const int n_shared = n_slots_;
    const std::vector<int32_t> before = n_tokens_;
    for (int s = begin; s < end; ++s)
      for (int k = 0; k < n_shared; ++k) {
        n_tokens_[k] += outcomes_[s].tokens[k] - before[k];
        tables_[k] += outcomes_[s].tables[k];
      }
    int free = n_old_;
    std::vector<std::vector<uint32_t>> slot_of(end - begin);
    for (int s = begin; s < end; ++s) {
      const Outcome& outcome = outcomes_[s];
      slot_of[s - begin].assign(outcome.tokens.size() - n_shared, 0);
      for (size_t k = n_shared; k < outcome.tokens.size(); ++k) {
        if (outcome.tokens[k] == 0) continue;
        while (free < n_slots_ && (n_tokens_[free] > 0 || recorded_[free])) ++free;
        if (free == n_slots_) add_slot();
        slot_of[s - begin][k - n_shared] = static_cast<uint32_t>(free);
        n_tokens_[free] = outcome.tokens[k];
        tables_[free] = outcome.tables[k];
      }
    }
    parallel_for(end - begin, in_.labels.n_threads, [&](int i) {
      const int64_t first = (begin + i) * kShardDocuments, last = std::min(n_docs_, first + kShardDocuments);
      for (int64_t t = tokens_.starts[first]; t < tokens_.starts[last]; ++t) {
        uint32_t& topic = tokens_.topics[t];
        if (topic >= static_cast<uint32_t>(n_shared)) topic = slot_of[i][topic - n_shared];
      }
    });
  }

  void add_slot() {
    ++n_slots_;
    n_tokens_.push_back(0);
    tables_.push_back(0);
    recorded_.push_back(false);
  }

  void draw_sticks() {
    mass_.resize(n_slots_);
    MedhdpSticks sticks = {n_old_, n_slots_, in_.u, in_.v, in_.stick_concentration, tables_.data(), in_.labels.seed,
                           in_.labels.round, time_++, mass_.data(), 0.};
    kernels_.sticks(sticks);
    rest_ = sticks.rest;
  }

  // Adds a kept sweep to the statistics.
  void record(int p) {
    const size_t K = n_slots_, T = n_tasks_;
    if (result_.n_topics < n_slots_) widen_result();
    for (size_t k = 0; k < K; ++k) recorded_[k] = recorded_[k] || n_tokens_[k] > 0;
    if (p == 1 || result_.phases[1].n_kept == 0) {
      for (size_t k = 0; k < K; ++k) result_.tables[k] += tables_[k];
      parallel_ranges(in_.labels.n_words, in_.labels.n_threads,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t word = begin; word < end; ++word)
                          count_tokens(word, result_.topic_word.data() + word * K);
                      });
    }
    MedhdpPhase& phase = result_.phases[p];
    MedldaStep wide = step_.labels;
    wide.model.n_topics = n_slots_;
    wide.model.topic_width = static_cast<int>(whole_lanes(K));
    shares_.assign(T == 0 ? 0 : n_docs_ * wide.model.topic_width, 0.f);
    wide.phases[p].records.share = shares_.data();
    parallel_for(tokens_.n_shards(), in_.labels.n_threads, [&](int s) {
      const int64_t first = s * kShardDocuments, last = std::min(n_docs_, first + kShardDocuments);
      for (int64_t d = first; d < last; ++d) {
        const float length = static_cast<float>(tokens_.starts[d + 1] - tokens_.starts[d]);
        float* share = shares_.data() + d * wide.model.topic_width;
        for (int64_t t = tokens_.starts[d]; t < tokens_.starts[d + 1]; ++t) {
          counted_[p][d * K + tokens_.topics[t]] += 1.;
          if (T > 0) share[tokens_.topics[t]] += 1.f;
        }
        for (int k = 0; T > 0 && length > 0.f && k < wide.model.topic_width; ++k) share[k] /= length;
      }
    });
    accumulate(label_kernels_, wide, p, n_docs_, in_.labels.n_threads, phase.precision.data(), phase.shift.data(),
               phase.loss.data());
  }

  void widen_result() {
    const size_t before = result_.n_topics, after = n_slots_, T = n_tasks_;
    widen(result_.topic_word, in_.labels.n_words, before, after);
    result_.tables.resize(after, 0);
    for (std::vector<double>& counted : counted_) widen(counted, n_docs_, before, after);
    for (MedhdpPhase& phase : result_.phases) {
      widen(phase.shift, T, before, after);
      widen(phase.precision, T * before, before, after);  // columns, then rows
      widen(phase.precision, T, before * after, after * after);
    }
    result_.n_topics = n_slots_;
  }

  void finish() {
    result_.topics = std::move(tokens_.topics);
    for (int p = 0; p < 2; ++p) {
      MedhdpPhase& phase = result_.phases[p];
      const double kept = std::max(1, phase.n_kept);
      const size_t K = result_.n_topics;
      phase.share.resize(n_docs_ * K);
      for (int64_t d = 0; d < n_docs_; ++d) {
        const double n = static_cast<double>(std::max<int64_t>(1, tokens_.starts[d + 1] - tokens_.starts[d]));
        for (size_t k = d * K; k < (d + 1) * K; ++k) phase.share[k] = static_cast<float>(counted_[p][k] / (kept * n));
      }
      for (size_t i = 0; i < phase.margin.size(); ++i) {
        phase.margin[i] /= kept;
        phase.margin_var[i] = phase.margin_var[i] / kept - phase.margin[i] * phase.margin[i];
      }
      for (std::vector<double>* sums : {&phase.precision, &phase.shift, &phase.loss})
        for (double& x : *sums) x /= kept;
    }
  }

  const MedldaKernels& label_kernels_;
  const MedhdpKernels& kernels_;
  const MedhdpInput& in_;
  const Layout layout_;
  Tokens tokens_;
  const int64_t n_docs_;
  const int n_old_, n_tasks_;
  int n_slots_;  // slots that hold a topic, or have held one
  uint32_t time_ = 0;
  double rest_ = 1.;
  std::vector<double> mass_;       // (n_slots), pi
  std::vector<int32_t> n_tokens_;  // (n_slots)
  std::vector<int64_t> tables_;    // (n_slots)
  std::vector<bool> recorded_;     // (n_slots): has statistics, so that no other topic may take the slot
  Floats rows_;                    // (n_words, capacity), Delta plus the mini-batch's counts
  std::vector<Outcome> outcomes_;  // of the shards
  std::vector<double> counted_[2];  // (n_docs, n_topics), by phase: tokens of a topic, summed over kept sweeps
  Floats own_variance_, proposal_;
  std::vector<float> shares_, scalars_;
  MedhdpStep step_ = {};
  MedhdpResult result_;
};

}  // namespace

MedhdpResult medhdp_step(const MedldaKernels& labels, const MedhdpKernels& kernels, const MedhdpInput& input) {
  return Round(labels, kernels, input).run();
}

}  // namespace bayespa
