#include "elementary.h"
#include "evidence.h"

namespace bayespa {
namespace {

constexpr int kEvidence = kMostTemperatures;
constexpr int kInOneLogarithm = 32;  // likelihoods whose product a single logarithm takes

// What margins are multiplied with: 2 / temperature.
struct Factors {
  explicit Factors(const Meanings& meanings) {
    for (int t = 0; t < kEvidence; ++t) value[t] = 2. / (t < meanings.n_temperatures ? meanings.temperatures[t] : 1.);
  }
  double value[kEvidence];
};

inline double log_sigmoid(double x) {
  const double size = x < 0. ? -x : x;
  return (x < 0. ? x : 0.) - log64(1. + exp64(-size));
}

// Sums of the log likelihoods of documents, with each noise.
class Noisy {
 public:
  Noisy(const Meanings& meanings, int64_t n_classes) : n_noises_(static_cast<int>(meanings.n_noises)) {
    for (int e = 0; e < n_noises_; ++e) {
      kept_[e] = 1. - meanings.noises[e];
      shared_[e] = meanings.noises[e] / static_cast<double>(n_classes);
    }
    for (auto& of_power : total_)
      for (auto& of_noise : of_power)
        for (double& total : of_noise) total = 0.;
    begin();
  }

  // A document's log likelihoods, for one power.
  void add(int power, const double* said) {
    double likely[kEvidence];
    for (int t = 0; t < kEvidence; ++t) {
      total_[power][0][t] += said[t];
      likely[t] = exp64(said[t]);
    }
    for (int e = 1; e < n_noises_; ++e) {
      const double kept = kept_[e], shared = shared_[e];
      double* product = product_[power][e];
      for (int t = 0; t < kEvidence; ++t) product[t] *= kept * likely[t] + shared;
    }
  }

  // All powers of a document were added.
  void next() {
    if (++n_ == kInOneLogarithm) end();
  }

  void write(const Meanings& meanings, double* found) {
    if (n_ > 0) end();
    for (int p = 0; p < kPowers; ++p)
      for (int64_t t = 0; t < meanings.n_temperatures; ++t)
        for (int e = 0; e < n_noises_; ++e) *found++ += total_[p][e][t];
  }

 private:
  void begin() {
    n_ = 0;
    for (auto& of_power : product_)
      for (auto& of_noise : of_power)
        for (double& product : of_noise) product = 1.;
  }

  void end() {
    for (int p = 0; p < kPowers; ++p)
      for (int e = 1; e < n_noises_; ++e)
        for (int t = 0; t < kEvidence; ++t) total_[p][e][t] += log64(product_[p][e][t]);
    begin();
  }

  int n_noises_, n_ = 0;
  double kept_[kMostNoises], shared_[kMostNoises];
  double total_[kPowers][kMostNoises][kEvidence], product_[kPowers][kMostNoises][kEvidence];
};

void evidence_of_classes(const double* margin, const int64_t* right, int64_t n, int64_t n_classes,
                         const Meanings& meanings, double* found) {
  const Factors factors(meanings);
  const double* factor = factors.value;
  Noisy noisy(meanings, n_classes);
  for (int64_t i = 0; i < n; ++i, margin += n_classes) {
    double largest = margin[0];
    for (int64_t k = 1; k < n_classes; ++k) largest = margin[k] > largest ? margin[k] : largest;
    double lift[kEvidence], own[kEvidence], above[kEvidence], sum[kPowers][kEvidence];
    for (int t = 0; t < kEvidence; ++t) {
      double top = largest * factor[t];
      const double missing = -30. - top;  // far below 0 a sigmoid is exp: lifting all margins changes no share
      lift[t] = missing > 0. ? missing : 0.;
      top = top < -30. ? -30. : top;
      own[t] = log_sigmoid(margin[right[i]] * factor[t] + lift[t]) - log_sigmoid(top);
      above[t] = 1. + exp64(-top);
      for (auto& of_power : sum) of_power[t] = 0.;
    }
    for (int64_t k = 0; k < n_classes; ++k) {
      const double minus = -margin[k];
      for (int t = 0; t < kEvidence; ++t) {
        double x = minus * factor[t] - lift[t];
        x = x > 700. ? 700. : x;
        double share = above[t] / (1. + exp64(x));
        for (auto& of_power : sum) {  // each power is twice the one before
          of_power[t] += share;
          share *= share;
        }
      }
    }
    for (int p = 0; p < kPowers; ++p) {
      double said[kEvidence];
      for (int t = 0; t < kEvidence; ++t) said[t] = (1 << p) * own[t] - log64(sum[p][t]);
      noisy.add(p, said);
    }
    noisy.next();
  }
  noisy.write(meanings, found);
}

void evidence_of_answers(const double* margin, const double* sign, int64_t n, const Meanings& meanings,
                         double* found) {
  const Factors factors(meanings);
  Noisy noisy(meanings, 2);
  for (int64_t i = 0; i < n; ++i) {
    double said[kEvidence];
    for (int t = 0; t < kEvidence; ++t) said[t] = log_sigmoid(sign[i] * (margin[i] * factors.value[t]));
    for (int p = 0; p < kPowers; ++p) noisy.add(p, said);
    noisy.next();
  }
  noisy.write(meanings, found);
}

void evidence_of_labels(const double* margin, const double* sign, int64_t n, const Meanings& meanings,
                        double* found) {
  const Factors factors(meanings);
  double total[kPowers][kEvidence] = {};
  for (int64_t i = 0; i < n; ++i) {
    double x[kEvidence], less[kEvidence], yes[kEvidence];
    for (int t = 0; t < kEvidence; ++t) {
      x[t] = margin[i] * factors.value[t];
      less[t] = exp64(x[t] < 0. ? x[t] : -x[t]);
      yes[t] = (x[t] < 0. ? x[t] : 0.) - log64(1. + less[t]);
    }
    if (sign[i] > 0.) {
      for (int p = 0; p < kPowers; ++p)
        for (int t = 0; t < kEvidence; ++t) total[p][t] += (1 << p) * yes[t];
      continue;
    }
    for (int t = 0; t < kEvidence; ++t) {
      double no = yes[t] - x[t], sigmoid = (x[t] > 0. ? 1. : less[t]) / (1. + less[t]);
      for (int p = 0; p < kPowers; ++p) {
        if (p > 0) {  // 1 - s^2g = (1 - s^g)(1 + s^g)
          no += log64(1. + sigmoid);
          sigmoid *= sigmoid;
        }
        total[p][t] += no;
      }
    }
  }
  for (int p = 0; p < kPowers; ++p)
    for (int64_t t = 0; t < meanings.n_temperatures; ++t) *found++ += total[p][t];
}

constexpr EvidenceKernels evidence_kernels = {evidence_of_classes, evidence_of_answers, evidence_of_labels};

}  // namespace
}  // namespace bayespa
