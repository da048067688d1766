#include "medlda_driver.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "medlda_layout.h"
#include "parallel.h"

namespace bayespa {
namespace {

constexpr int64_t kChunk = 1024;  // documents whose kept sweeps are held before they are added up

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

  const int n_workers = static_cast<int>(std::max<int64_t>(1, std::min<int64_t>(in.n_threads, n_docs / kTogether)));
  std::vector<std::vector<int32_t>> counted[2];  // by phase, of each thread but the first
  for (auto& c : counted) c.resize(n_workers);

  for (int64_t chunk = 0; chunk < n_docs; chunk += kChunk) {
    const int64_t end = std::min(chunk + kChunk, n_docs);
    const std::vector<int64_t> order = by_length(lengths, chunk, end);
    for (int p = 0; p < 2; ++p) std::fill(scalars[p].begin(), scalars[p].end(), 0.f);  // empty documents write nothing
    std::atomic<int64_t> next{0};
    parallel_for(n_workers, n_workers, [&](int w) {
      std::vector<ChainMemory> memory;
      MedldaChain chains[kTogether];
      for (size_t c = 0; c < kTogether; ++c)  // the first document that a chain gets is its longest
        chains[c] = memory.emplace_back(model, c < order.size() ? lengths[order[c]] : 0).chain;
      for (int p = 0; p < 2; ++p) {
        if (outputs[p].topic_word == nullptr) continue;
        if (w > 0) counted[p][w].resize(cells);
        for (MedldaChain& chain : chains)
          chain.topic_word[p] = w == 0 ? outputs[p].topic_word : counted[p][w].data();
      }
      for (int64_t begin; (begin = next.fetch_add(kTogether)) < end - chunk;)
        kernels.documents(step, order.data(), begin, std::min(begin + kTogether, end - chunk), chunk, chains);
    });
    for (int p = 0; p < 2; ++p) {
      const MedldaOutput& out = outputs[p];
      accumulate(kernels, step, p, (end - chunk) * (out.sweeps - out.burn_in), n_workers, out.precision, out.shift,
                 out.loss);
    }
  }

  for (int p = 0; p < 2; ++p) {
    const MedldaOutput& out = outputs[p];
    if (out.topic_word != nullptr)
      parallel_ranges(cells, n_workers, [&](int64_t first, int64_t last) {
        for (int w = 1; w < n_workers; ++w) {
          const int32_t* more = counted[p][w].data();
          for (int64_t i = first; i < last; ++i) out.topic_word[i] += more[i];
        }
      });
    const double kept = std::max(1, out.sweeps - out.burn_in);
    for (size_t i = 0; i < T * K * K; ++i) out.precision[i] /= kept;
    for (size_t i = 0; i < T * K; ++i) out.shift[i] /= kept;
    for (size_t i = 0; i < T; ++i) out.loss[i] /= kept;
  }
}

}  // namespace bayespa
