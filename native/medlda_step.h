// The local step of online MedLDA: sweeps over the topics of a mini-batch's tokens, given the global posterior.
//
// Every document goes through two phases. The *free* phase knows no labels: it starts the chain (each token is drawn
// given the tokens before it), it is the whole of prediction, and its samples are what a test document would show.
// The *label* phase goes on from there under the tilted target [MED-3]. Both report the same statistics.
#pragma once

#include <cstdint>

namespace bayespa {

enum class MedldaSampler : int32_t {
  collapsed,  // [MED-3]: lambda integrated out; a document is sampled by one of the next two [MED-12]
  metropolis,  // a topic is proposed, then judged
  exact,       // all topics are weighed
  augmented,  // [MED-1, MED-2]: lambda drawn once a sweep
  averaging,  // [MED-7]: a fixed linear tilt; `labels` holds the signed dual variables
};

constexpr int kFewTasks = 4;
constexpr int kTogether = 4;  // documents that are sampled in turns

// Topics and tasks are padded to whole lanes: Kp and Tp are K and T rounded up to multiples of 8. What lies beyond is
// 0; a padded topic is never drawn (unless weights are no numbers), a padded task costs nothing.
struct MedldaModel {
  int n_topics, n_tasks, topic_width, task_width;  // K, T, Kp, Tp
  const float* phi;    // (n_words, Kp), factor of a word's topic, 1 at its largest
  const float* alpha;  // (Kp)
  const float* mu;     // (T, Kp)
  const float* mu_by_topic;  // (Kp, Tp)
  const float* sigma2;       // twice the covariance: (Kp, T, Kp) for up to kFewTasks tasks, else (Kp, K, Tp) and a row
  const float* sigma_diag;   // (Kp, Tp)
  const float* sigma_diag_by_task;  // (T, Kp) for up to kFewTasks tasks
  const float* mu_largest;   // (Tp), of |mu| over topics
  const float* cost;         // (Tp)
  const double* exact_below;  // (Tp): tokens of a document below which all topics are weighed [MED-12]
  float margin;
  int n_hinges;  // of a label: 1, or 2 for the epsilon-insensitive loss of regression [MED-8]
  MedldaSampler sampler;
};

struct MedldaDocuments {
  int64_t n_docs;
  const int64_t* indptr;  // (n_docs + 1)
  const int32_t* words;   // rows of phi
  const int32_t* counts;
  const uint32_t* ids;    // (n_docs), the document's part of a random address
  const float* labels;    // (n_docs, T), NaN where missing; +-1, or a target if regression
};

// One kept sweep of one document, as [MED-4] needs it.
struct MedldaRecords {
  float* share;   // (n, Kp), zbar
  float* weight;  // (n, T), c^2 E[1/lambda]
  float* shift;   // (n, T), c y (1 + c epsilon E[1/lambda])
  float* loss;    // (n, T), c (zeta + sqrt(zeta^2 + s))
};

// What the records of a phase add up to, and room to work in.
struct MedldaSums {
  double *precision, *shift, *loss;  // (T, K, K), (T, K), (T)
  double* room;                      // (Kp + 1, Tp)
};

struct MedldaPhase {
  int sweeps, burn_in;
  float* share;           // (n_docs, K), mean zbar of the kept sweeps
  double* margin;         // (n_docs, T), mean of mu'zbar
  double* margin_var;     // (n_docs, T), mean of zbar'Sigma zbar plus variance of mu'zbar
  MedldaRecords records;  // of the current chunk of documents
};

struct MedldaStep {
  MedldaModel model;
  MedldaDocuments documents;
  MedldaPhase phases[2];  // free, label
  uint64_t seed;
  uint32_t round;
};

// The state of one document's chain and room to work in, allocated by the caller; n is the longest document's length.
struct MedldaChain {
  int64_t document;
  int n;                                 // tokens
  int32_t* word;                         // (n + 8)
  uint32_t* topic;                       // (n)
  float *uniform, *accept;               // (n + 31): one number to draw a topic, one to accept it
  float *counts, *cumulative, *factor;   // (Kp): C, running sums of the candidates' weights, label factor
  float* room;                           // (8): for the draw of a topic
  float* residual;                       // (Kp): exponent of the target less that of the factor, where linear
  float* linear;                         // (Kp): c sign mu / n summed over hinges
  double* total;                         // (Kp): C summed over kept sweeps
  uint64_t* present;                     // bit k: C_k > 0
  float *mean, *square;                  // (Tp): mu'C, C'Sigma C
  float* product;                        // 2 Sigma C: (T, Kp) for up to kFewTasks tasks, else (K, Tp) where exact
  float *width, *curvature;              // (Tp): of the proposal's stand-in for a square root
  float *reach, *side;                   // (2, Tp): gap beyond which a hinge is straight, and on which side it is
  float* straight;                       // (Kp): `linear` and the hinges that are straight
  int32_t* near;                         // (2 Tp): the hinges that are not
  float *next_mean, *next_square;        // (Tp): the same after a proposed move
  float *sign, *target, *scale;          // (2, Tp), of a hinge: its sign, target and penalty's scale (0: no hinge)
  float *penalty, *next_penalty;         // (2, Tp)
  int32_t* topic_word[2];                // (n_words, K) of this thread, by phase, or null
};

struct MedldaKernels {
  // Documents order[begin, end), longest first, of a chunk that starts at document `chunk`; kTogether at a time.
  void (*documents)(const MedldaStep& step, const int64_t* order, int64_t begin, int64_t end, int64_t chunk,
                    MedldaChain (&chains)[kTogether]);
  // Adds n records to topics [begin, end) of what [MED-4] adds up, and to the losses if `begin` is 0.
  void (*accumulate)(const MedldaStep& step, int phase, int begin, int end, int64_t n, const MedldaSums& sums);
  // phi (n_words, Kp) from the Dirichlet (W, K) of the words: exp(E log) or, if `mean`, the posterior mean. `scale` is
  // room for K numbers.
  void (*phi32)(const float* dirichlet, const double* totals, const int64_t* words, int64_t n_words, int n_topics,
                bool mean, float* scale, float* phi);
  void (*phi64)(const double* dirichlet, const double* totals, const int64_t* words, int64_t n_words, int n_topics,
                bool mean, float* scale, float* phi);
};

}  // namespace bayespa
