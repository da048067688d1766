// Runs the MedHDP kernels over a mini-batch: shares documents among shards, merges their topics, draws the sticks.
#pragma once

#include <vector>

#include "medlda_driver.h"

namespace bayespa {

// Documents of a shard. A mini-batch of one shard is sampled exactly. Shards of a larger one do not see each other's
// tokens move during a sweep, only where they were before it, and what is a new topic in two of them is two topics.
constexpr int64_t kShardDocuments = 128;

struct MedhdpInput {
  MedldaInput labels;         // its topics are the old ones and one that stands for all new ones; no phi, no alpha
  const float* dirichlet;     // (n_words, K), Delta of the words of the mini-batch
  const double* totals;       // (K), of Delta over all words
  const double *u, *v;        // (K), sticks
  const double* own_variance;  // (T)
  double concentration, stick_concentration;  // alpha, gamma
  double start_concentration;                 // gamma of the first sweep
  double eta, eta_total;                      // prior of a topic's word, and its sum over all words
  int sweeps[2], burn_in[2];                  // of the free phase and the label phase
  const uint32_t* start;                      // (n_tokens): old topics that the chain starts from, or null
};

// Means over kept sweeps; K is the number of slots in the end, old topics first.
struct MedhdpPhase {
  int n_kept;
  std::vector<float> share;                                      // (n_docs, K)
  std::vector<double> margin, margin_var;                        // (n_docs, T)
  std::vector<double> precision, shift, loss;                    // (T, K, K), (T, K), (T)
};

struct MedhdpResult {
  int n_topics;
  std::vector<int32_t> topic_word;  // (n_words, K), summed over kept sweeps of the last phase that has any
  std::vector<int64_t> tables;      // (K), likewise
  std::vector<uint32_t> topics;     // (n_tokens), of the last sweep, in order of documents
  MedhdpPhase phases[2];
};

MedhdpResult medhdp_step(const MedldaKernels& labels, const MedhdpKernels& kernels, const MedhdpInput& input);

}  // namespace bayespa
