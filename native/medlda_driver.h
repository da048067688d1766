// Runs the MedLDA kernels over a mini-batch: lays the posterior out for them, shares documents among threads, merges.
#pragma once

#include "kernels.h"

namespace bayespa {

struct MedldaInput {
  MedldaDocuments documents;
  int64_t n_words;
  int n_topics, n_tasks;
  const float* phi;        // (n_words, K rounded up to a multiple of 8)
  const float* alpha;      // (K), or null
  const double* mean;      // (T, K)
  const double* covariance;  // (T, K, K)
  const double* cost;      // (T)
  double margin;
  bool regression;
  MedldaSampler sampler;
  uint64_t seed;
  uint32_t round;
  int n_threads;
};

// Sums over documents of means over kept sweeps, all zero on entry; topic_word sums over kept sweeps and may be null.
struct MedldaOutput {
  int sweeps, burn_in;
  int32_t* topic_word;  // (n_words, K)
  float* share;         // (n_docs, K)
  double* margin;       // (n_docs, T)
  double* margin_var;   // (n_docs, T)
  double* precision;    // (T, K, K)
  double* shift;        // (T, K)
  double* loss;         // (T)
};

void medlda_step(const MedldaKernels& kernels, const MedldaInput& input, const MedldaOutput (&outputs)[2]);

}  // namespace bayespa
