#include "medlda_driver.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <numeric>
#include <vector>

#include "parallel.h"

namespace bayespa {
namespace {

size_t whole_lanes(size_t n) { return (n + 7) / 8 * 8; }
constexpr int64_t kChunk = 1024;  // documents whose kept sweeps are held before they are added up
constexpr int64_t kGroup = 8;     // documents that a thread takes at a time

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

// The posterior of the weights in the layouts that the kernels read.
struct Layout {
  Floats alpha, mu, mu_by_topic, sigma2, sigma_diag, cost;
  MedldaModel model;

  explicit Layout(const MedldaInput& in) {
    const size_t K = in.n_topics, T = in.n_tasks, Kp = whole_lanes(K), Tp = whole_lanes(T);
    alpha.assign(Kp, 0.f);
    std::copy(in.alpha, in.alpha + K, alpha.begin());
    cost.assign(Tp, 0.f);
    std::copy(in.cost, in.cost + T, cost.begin());
    mu.assign(T * Kp, 0.f);
    mu_by_topic.assign(K * Tp, 0.f);
    sigma_diag.assign(K * Tp, 0.f);
    const bool few = T <= kFewTasks;
    sigma2.assign(few ? K * T * Kp : K * K * Tp, 0.f);
    for (size_t task = 0; task < T; ++task)
      for (size_t j = 0; j < K; ++j) {
        mu[task * Kp + j] = mu_by_topic[j * Tp + task] = static_cast<float>(in.mean[task * K + j]);
        const double* row = in.covariance + (task * K + j) * K;
        sigma_diag[j * Tp + task] = static_cast<float>(row[j]);
        for (size_t k = 0; k < K; ++k)
          sigma2[few ? (j * T + task) * Kp + k : (j * K + k) * Tp + task] = static_cast<float>(2. * row[k]);
      }
    model = {in.n_topics, in.n_tasks, static_cast<int>(Kp), static_cast<int>(Tp), in.phi, alpha.data(), mu.data(),
             mu_by_topic.data(), sigma2.data(), sigma_diag.data(), cost.data(), static_cast<float>(in.margin),
             in.regression ? 2 : 1, in.sampler};
  }
};

// The memory of one chain.
class ChainMemory {
 public:
  ChainMemory(const MedldaModel& model, int64_t longest) {
    const size_t n = longest, Kp = model.topic_width, Tp = model.task_width;
    words_.resize(n + 8);
    topics_.resize(n);
    floats_.resize(2 * whole_lanes(n + 4) + 5 * Kp + 16 * Tp);
    totals_.resize(Kp);
    present_.resize((Kp + 63) / 64);
    float* next = floats_.data();
    const auto take = [&](size_t size) { return (next += size) - size; };
    chain.word = words_.data();
    chain.topic = topics_.data();
    chain.total = totals_.data();
    chain.present = present_.data();
    for (float** p : {&chain.uniform, &chain.accept}) *p = take(whole_lanes(n + 4));
    for (float** p : {&chain.counts, &chain.cumulative, &chain.factor, &chain.residual, &chain.linear}) *p = take(Kp);
    for (float** p :
         {&chain.mean, &chain.square, &chain.width, &chain.curvature, &chain.next_mean, &chain.next_square})
      *p = take(Tp);
    for (float** p : {&chain.sign, &chain.target, &chain.scale, &chain.penalty, &chain.next_penalty}) *p = take(2 * Tp);
  }

  MedldaChain chain = {};

 private:
  std::vector<int32_t> words_;
  std::vector<uint32_t> topics_;
  Floats floats_;
  std::vector<double> totals_;
  std::vector<uint64_t> present_;
};

std::vector<int64_t> document_lengths(const MedldaDocuments& documents) {
  std::vector<int64_t> lengths(documents.n_docs, 0);
  for (int64_t d = 0; d < documents.n_docs; ++d)
    for (int64_t i = documents.indptr[d]; i < documents.indptr[d + 1]; ++i) lengths[d] += documents.counts[i];
  return lengths;
}

// The documents [begin, end), longest first: neighbours, which are sampled together, are of about equal length, and
// the last ones that threads take are the short ones.
std::vector<int64_t> by_length(const std::vector<int64_t>& lengths, int64_t begin, int64_t end) {
  std::vector<int64_t> order(end - begin);
  std::iota(order.begin(), order.end(), begin);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return lengths[a] > lengths[b]; });
  return order;
}

}  // namespace

void medlda_step(const MedldaKernels& kernels, const MedldaInput& in, const MedldaOutput (&outputs)[2]) {
  const Layout layout(in);
  const MedldaModel& model = layout.model;
  const int64_t n_docs = in.documents.n_docs, cells = in.n_words * in.n_topics;
  const std::vector<int64_t> lengths = document_lengths(in.documents);
  const int64_t longest = n_docs == 0 ? 0 : *std::max_element(lengths.begin(), lengths.end());
  const size_t T = in.n_tasks, K = in.n_topics;
  MedldaStep step = {model, in.documents, {}, in.seed, in.round};
  std::vector<float> shares[2], scalars[2];
  for (int p = 0; p < 2; ++p) {
    const MedldaOutput& out = outputs[p];
    const size_t n = T == 0 ? 0 : std::min(kChunk, n_docs) * (out.sweeps - out.burn_in);
    shares[p].resize(n * model.topic_width);
    scalars[p].resize(3 * n * T);
    float* scalar = scalars[p].data();
    step.phases[p] = {out.sweeps, out.burn_in, out.share, out.margin, out.margin_var,
                      {shares[p].data(), scalar, scalar + n * T, scalar + 2 * n * T}};
  }

  const int n_workers = static_cast<int>(std::max<int64_t>(1, std::min<int64_t>(in.n_threads, n_docs / kGroup)));
  std::vector<std::vector<int32_t>> counted[2];  // by phase, of each thread but the first
  for (auto& c : counted) c.resize(n_workers);

  for (int64_t chunk = 0; chunk < n_docs; chunk += kChunk) {
    const int64_t end = std::min(chunk + kChunk, n_docs);
    const std::vector<int64_t> order = by_length(lengths, chunk, end);
    for (int p = 0; p < 2; ++p) std::fill(scalars[p].begin(), scalars[p].end(), 0.f);  // empty documents write nothing
    std::atomic<int64_t> next{0};
    parallel_for(n_workers, n_workers, [&](int w) {
      ChainMemory memory[2] = {{model, longest}, {model, longest}};
      MedldaChain chains[2] = {memory[0].chain, memory[1].chain};
      for (int p = 0; p < 2; ++p) {
        if (outputs[p].topic_word == nullptr) continue;
        if (w > 0) counted[p][w].resize(cells);
        for (MedldaChain& chain : chains)
          chain.topic_word[p] = w == 0 ? outputs[p].topic_word : counted[p][w].data();
      }
      for (int64_t begin; (begin = next.fetch_add(kGroup)) < end - chunk;)
        kernels.documents(step, order.data(), begin, std::min(begin + kGroup, end - chunk), chunk, chains);
    });
    parallel_for(in.n_tasks, n_workers, [&](int task) {  // a task's sums are in document order, whatever the threads
      for (int p = 0; p < 2; ++p) {
        const MedldaOutput& out = outputs[p];
        kernels.accumulate(step, p, task, (end - chunk) * (out.sweeps - out.burn_in), out.precision + task * K * K,
                           out.shift + task * K, out.loss + task);
      }
    });
  }

  for (int p = 0; p < 2; ++p) {
    const MedldaOutput& out = outputs[p];
    for (const std::vector<int32_t>& more : counted[p])
      for (size_t i = 0; i < more.size(); ++i) out.topic_word[i] += more[i];
    const double kept = std::max(1, out.sweeps - out.burn_in);
    for (size_t i = 0; i < T * K * K; ++i) out.precision[i] /= kept;
    for (size_t i = 0; i < T * K; ++i) out.shift[i] /= kept;
    for (size_t i = 0; i < T; ++i) out.loss[i] /= kept;
  }
}

}  // namespace bayespa
