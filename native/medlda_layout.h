// The memory that the MedLDA and MedHDP kernels work in: the posterior of the weights as they read it, and chains.
#pragma once

#include <algorithm>
#include <cmath>
#include <new>
#include <vector>

#include "medlda_driver.h"
#include "parallel.h"

namespace bayespa {

inline size_t whole_lanes(size_t n) { return (n + 7) / 8 * 8; }

// Eight lanes in one cache line: a vector that straddles two is slow to read back after it was written.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64})); }
  void deallocate(T* p, size_t) { ::operator delete(p, std::align_val_t{64}); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
  friend bool operator!=(const AlignedAllocator&, const AlignedAllocator&) { return false; }
};
using Floats = std::vector<float, AlignedAllocator<float>>;

// Adds n records to the sums of a phase; each entry's terms are added in the order of the records, whatever the threads.
inline void accumulate(const MedldaKernels& kernels, const MedldaStep& step, int phase, int64_t n, int n_threads,
                       double* precision, double* shift, double* loss) {
  constexpr int kTopics = 8;
  const int n_topics = step.model.n_topics;
  if (n == 0 || step.model.n_tasks == 0) return;
  parallel_for((n_topics + kTopics - 1) / kTopics, n_threads, [&](int shard) {
    const int begin = kTopics * shard, end = std::min(begin + kTopics, n_topics);
    std::vector<double, AlignedAllocator<double>> room(static_cast<size_t>(step.model.topic_width + 1) * step.model.task_width);
    kernels.accumulate(step, phase, begin, end, n, {precision, shift, loss, room.data()});
  });
}

// The posterior of the weights in the layouts that the kernels read.
struct Layout {
  Floats alpha, mu, mu_by_topic, sigma2, sigma_diag, sigma_diag_by_task, mu_largest, cost;
  std::vector<double> exact_below;
  MedldaModel model;

  explicit Layout(const MedldaInput& in) {
    const size_t K = in.n_topics, T = in.n_tasks, Kp = whole_lanes(K), Tp = whole_lanes(T);
    alpha.assign(Kp, 0.f);
    if (in.alpha != nullptr) std::copy(in.alpha, in.alpha + K, alpha.begin());
    cost.assign(Tp, 0.f);
    std::copy(in.cost, in.cost + T, cost.begin());
    mu.assign(T * Kp, 0.f);
    mu_by_topic.assign(Kp * Tp, 0.f);
    sigma_diag.assign(Kp * Tp, 0.f);
    mu_largest.assign(Tp, 0.f);
    const bool few = T <= kFewTasks;
    sigma_diag_by_task.assign(few ? T * Kp : 0, 0.f);
    exact_below.assign(Tp, 0.);
    sigma2.assign(few ? Kp * T * Kp : Kp * (K + 1) * Tp, 0.f);  // room for what fills up the last row
    for (size_t task = 0; task < T; ++task) {
      const double* sigma = in.covariance + task * K * K;
      double apart = 0.;
      for (size_t j = 0; j < K; ++j) {
        mu[task * Kp + j] = mu_by_topic[j * Tp + task] = static_cast<float>(in.mean[task * K + j]);
        mu_largest[task] = std::max(mu_largest[task], std::abs(mu[task * Kp + j]));
        const double* row = sigma + j * K;
        sigma_diag[j * Tp + task] = static_cast<float>(row[j]);
        if (few) sigma_diag_by_task[task * Kp + j] = static_cast<float>(row[j]);
        for (size_t k = 0; k < K; ++k) {
          sigma2[few ? (j * T + task) * Kp + k : (j * K + k) * Tp + task] = static_cast<float>(2. * row[k]);
          apart = std::max(apart, (row[j] + sigma[k * K + k]) - 2. * row[k]);
        }
      }
      exact_below[task] = in.cost[task] * std::sqrt(apart);  // [MED-12]
    }
    model = {in.n_topics, in.n_tasks, static_cast<int>(Kp), static_cast<int>(Tp), in.phi, alpha.data(), mu.data(),
             mu_by_topic.data(), sigma2.data(), sigma_diag.data(), sigma_diag_by_task.data(), mu_largest.data(),
             cost.data(), exact_below.data(), static_cast<float>(in.margin), in.regression ? 2 : 1, in.sampler};
  }
};

// The memory of one chain.
class ChainMemory {
 public:
  ChainMemory(const MedldaModel& model, int64_t longest) {
    const size_t n = longest, n_uniform = (n + 31) / 32 * 32, Kp = model.topic_width, Tp = model.task_width;
    const size_t n_product = model.n_tasks <= kFewTasks ? kFewTasks * Kp : Kp * Tp;
    words_.resize(n + 8);
    near_.resize(2 * Tp);
    topics_.resize(n);
    floats_.resize(8 + n_product + 2 * n_uniform + 6 * Kp + 20 * Tp);
    totals_.resize(Kp);
    present_.resize((Kp + 63) / 64);
    float* next = floats_.data();
    const auto take = [&](size_t size) { return (next += size) - size; };
    chain.word = words_.data();
    chain.topic = topics_.data();
    chain.near = near_.data();
    chain.total = totals_.data();
    chain.present = present_.data();
    chain.room = take(8);
    chain.product = take(n_product);
    for (float** p : {&chain.uniform, &chain.accept}) *p = take(n_uniform);
    for (float** p : {&chain.counts, &chain.cumulative, &chain.factor, &chain.residual, &chain.linear,
                      &chain.straight})
      *p = take(Kp);
    for (float** p :
         {&chain.mean, &chain.square, &chain.width, &chain.curvature, &chain.next_mean, &chain.next_square})
      *p = take(Tp);
    for (float** p : {&chain.sign, &chain.target, &chain.scale, &chain.penalty, &chain.next_penalty, &chain.reach,
                      &chain.side})
      *p = take(2 * Tp);
  }

  MedldaChain chain = {};

 private:
  std::vector<int32_t> words_, near_;
  std::vector<uint32_t> topics_;
  Floats floats_;
  std::vector<double> totals_;
  std::vector<uint64_t> present_;
};

}  // namespace bayespa
