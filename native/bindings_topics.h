// What the bindings of the topic models' steps share: the documents, tasks and schedule of bayespa/medlda_step.py.
#pragma once

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>

#include "bindings.h"
#include "medlda_driver.h"

namespace bayespa {

// The attribute `name` of a Python object as an array; the error names it.
template <class Array>
Array array(const nb::handle& object, const char* name) {
  Array out;
  const nb::object value = object.attr(name);
  if (!nb::try_cast(value, out, false))
    throw std::invalid_argument(std::string(name) + " has the wrong type, dimension or memory order");
  return out;
}

template <class T>
T number(const nb::handle& object, const char* name) {
  return nb::cast<T>(object.attr(name));
}

// What the kernels rely on: words in range, and numbers that fit (a count of a topic is a float, a cell an int32).
// Returns the number of tokens.
inline int64_t check_documents(const In<int64_t, 1>& indptr, const In<int32_t, 1>& words, const In<int32_t, 1>& counts,
                               size_t n_words, int sweeps) {
  const int64_t nnz = static_cast<int64_t>(words.shape(0));
  const size_t n_docs = indptr.shape(0) - 1;
  require(indptr(0) == 0 && indptr(n_docs) == nnz, "indptr must go from 0 to the length of words");
  int64_t total = 0;
  for (size_t d = 0; d < n_docs; ++d) {
    require(indptr(d) <= indptr(d + 1), "indptr must not decrease");
    int64_t length = 0;
    for (int64_t i = indptr(d); i < indptr(d + 1); ++i) {
      require(words(i) >= 0 && static_cast<size_t>(words(i)) < n_words, "words must be positions in the vocabulary");
      require(counts(i) >= 0, "counts must not be negative");
      length += counts(i);
    }
    require(length < 1 << 24, "a document must have fewer than 2^24 = 16,777,216 tokens; split it");
    total += length;
  }
  require(total * sweeps < int64_t{1} << 31, "tokens times sweeps must stay below 2^31; use smaller batches");
  return total;
}

// Sweeps of the free phase and of the label phase.
struct Sweeps {
  int all[2], burn_in[2];

  explicit Sweeps(const nb::handle& schedule, bool started = false)
      : all{number<int>(schedule, "free_sweeps"), number<int>(schedule, "sweeps")},
        burn_in{number<int>(schedule, "free_burn_in"), number<int>(schedule, "burn_in")} {
    require(all[0] >= (started ? 0 : 1), "free_sweeps must be at least 1: its first sweep starts the chain");
    for (int p = 0; p < 2; ++p) require(burn_in[p] >= 0 && burn_in[p] <= all[p], "burn_in must be in [0, sweeps]");
  }
};

class StepArrays {
 public:
  StepArrays(const nb::handle& documents, const nb::handle& tasks, size_t n_words, size_t n_topics,
             const Sweeps& sweeps)
      : indptr_(array<In<int64_t, 1>>(documents, "indptr")),
        words_(array<In<int32_t, 1>>(documents, "words")),
        counts_(array<In<int32_t, 1>>(documents, "counts")),
        ids_(array<In<uint32_t, 1>>(documents, "ids")),
        mean_(array<In<double, 2>>(tasks, "mean")),
        covariance_(array<In<double, 3>>(tasks, "covariance")),
        labels_(array<In<float, 2>>(tasks, "labels")),
        cost_(array<In<double, 1>>(tasks, "cost")),
        n_words_(n_words) {
    const size_t K = n_topics, T = n_tasks();
    require(indptr_.shape(0) == n_docs() + 1, "indptr must have one entry more than ids");
    require(words_.shape(0) == counts_.shape(0), "words and counts must be of equal length");
    n_tokens_ = check_documents(indptr_, words_, counts_, n_words, std::max(sweeps.all[0], sweeps.all[1]));
    require(mean_.shape(1) == K && cost_.shape(0) == T, "mean must be (T, K), cost (T)");
    require(covariance_.shape(0) == T && covariance_.shape(1) == K && covariance_.shape(2) == K,
            "covariance must be (T, K, K)");
    require(labels_.shape(0) == n_docs() && labels_.shape(1) == T, "labels must be (n_docs, T)");
  }

  size_t n_docs() const { return ids_.shape(0); }
  size_t n_tasks() const { return mean_.shape(0); }
  int64_t n_tokens() const { return n_tokens_; }

  // All but phi and alpha.
  MedldaInput input(const nb::handle& tasks, const nb::handle& schedule, int n_threads) const {
    const std::string sampler = number<std::string>(schedule, "sampler");
    require(sampler == "collapsed" || sampler == "augmented" || sampler == "averaging",
            "sampler must be 'collapsed', 'augmented' or 'averaging'");
    MedldaInput input = {};
    input.documents = {static_cast<int64_t>(n_docs()), indptr_.data(), words_.data(), counts_.data(), ids_.data(),
                       labels_.data()};
    input.n_words = static_cast<int64_t>(n_words_);
    input.n_topics = static_cast<int>(mean_.shape(1));
    input.n_tasks = static_cast<int>(n_tasks());
    input.mean = mean_.data();
    input.covariance = covariance_.data();
    input.cost = cost_.data();
    input.margin = number<double>(tasks, "margin");
    input.regression = number<bool>(tasks, "regression");
    input.sampler = sampler == "collapsed"   ? MedldaSampler::collapsed
                    : sampler == "augmented" ? MedldaSampler::augmented
                                             : MedldaSampler::averaging;
    input.seed = number<uint64_t>(schedule, "seed");
    input.round = number<uint32_t>(schedule, "round");
    input.n_threads = n_threads;
    return input;
  }

 private:
  In<int64_t, 1> indptr_;
  In<int32_t, 1> words_, counts_;
  In<uint32_t, 1> ids_;
  In<double, 2> mean_;
  In<double, 3> covariance_;
  In<float, 2> labels_;
  In<double, 1> cost_;
  size_t n_words_;
  int64_t n_tokens_;
};

}  // namespace bayespa
