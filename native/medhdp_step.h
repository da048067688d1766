// The local step of online MedHDP: topics that a mini-batch shares, as many as it needs.
//
// A topic sits in a *slot*. The first n_old slots hold the topics of the posterior; the topics that this mini-batch
// brings to life take further slots, and free them when their last token leaves. What the labels say is MedLDA's
// (medlda_step.h), with one topic more than the old ones: it stands for all new topics, of which nothing is known yet.
// The weights of two new topics covary by what that topic has for variance (that of the bias), and each has a variance
// of its own beside it.
#pragma once

#include "medlda_step.h"

namespace bayespa {

constexpr int kShardsTogether = 4;  // that take turns: a token waits for the one before it in its shard

// Consecutive documents and their view of the topics during one sweep.
struct MedhdpShard {
  int64_t begin, end;   // documents
  int width, capacity;  // multiples of 8: the slots to look at, the slots that there is room for
  uint32_t fresh;       // the slot of the next new topic
  double rest;          // concentration times the mass of all topics that have no slot
  float* rows;          // (words of the shard, capacity): Delta plus the counts of the mini-batch
  float* alpha;         // (capacity): concentration times a topic's mass; `rest` at `fresh`, 0 in free slots
  float *total, *inverse;               // (capacity): sum of a topic's rows over all words, and 1 / total
  float *counts, *cumulative, *factor;  // (capacity), of a document: as in MedldaChain
  int32_t* tokens;                      // (capacity): tokens of the mini-batch
  int64_t* tables;                      // (capacity): tables of the shard's documents
  void (*grow)(MedhdpShard& shard);     // doubles the capacity
  void* memory;                         // what `grow` works on
};

struct MedhdpStep {
  MedldaStep labels;
  int n_old;
  const float* own_variance;   // (Tp): variance of a new topic's weight beside the bias
  double stick_concentration, start_concentration;  // gamma, and that of the first sweep
  const int64_t* starts;       // (n_docs + 1): first token of each document
  const int32_t* words;        // (n_tokens + 8): rows of the document's shard
  uint32_t* topics;            // (n_tokens): slots
  float* proposal;             // (n_docs, 2, Tp): width and curvature of MedldaChain
};

struct MedhdpSweep {
  uint32_t index;
  int phase;             // of MedldaStep
  bool first;            // tokens have no topic yet
  bool labels_come_in;   // first sweep of the label phase
  bool keep;
};

// Posterior of the sticks. Old topics have Beta(u, v) before the batch. New ones are atoms of a Dirichlet process that
// shares out what the old ones leave, in whatever order they came: given their tables, Dirichlet(s, ..., s, gamma).
struct MedhdpSticks {
  int n_old, n_slots;
  const double *u, *v;    // (n_old)
  double concentration;   // gamma
  const int64_t* tables;  // (n_slots), of the mini-batch; 0: a free slot, if not old
  uint64_t seed;
  uint32_t round, time;   // time: how often sticks were drawn before in this round
  double* mass;           // (n_slots): out
  double rest;            // out
};

struct MedhdpKernels {
  // Of n shards, up to kShardsTogether, each with a chain to work in; `begin` goes to the end.
  void (*sweep)(const MedhdpStep& step, const MedhdpSweep& sweep, MedhdpShard* const* shards,
                MedldaChain* const* chains, int n);
  void (*sticks)(MedhdpSticks& sticks);
};

}  // namespace bayespa
