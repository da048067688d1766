// What the bindings of the topic models' steps share: the documents, tasks and schedule of bayespa/medlda_step.py.
#pragma once

#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

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

// Tokens of a document: up to here a float counts every one. MedHDP's may have some more, which stand for labels: what
// the count of a topic then lacks is no more than these, beside 2^24 others.
constexpr int64_t kLongest = 1 << 24, kLongestWithLabels = kLongest + (1 << 16);

// What 32 bits count.
constexpr int64_t kMostTokens = std::numeric_limits<int32_t>::max();

// What the kernels rely on: words in range, and documents whose topics a float counts. Returns the number of tokens.
inline int64_t check_documents(const In<int64_t, 1>& indptr, const In<int32_t, 1>& words, const In<int32_t, 1>& counts,
                               size_t n_words, int64_t longest) {
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
    require(length <= longest, "a document must have at most 2^24 = 16,777,216 tokens; divide its counts by a constant");
    total += length;
  }
  return total;
}

// Kept sweeps are summed into cells of 32 bits, one for each word and topic, and all tokens of a word may be in one.
inline void check_cells(const In<int32_t, 1>& words, const In<int32_t, 1>& counts, const In<int64_t, 1>& vocabulary,
                        int64_t n_tokens, int n_kept) {
  const int64_t most = kMostTokens / n_kept;
  if (n_tokens <= most) return;
  std::vector<int64_t> of_word(vocabulary.shape(0), 0);
  for (size_t i = 0; i < words.shape(0); ++i) of_word[words(i)] += counts(i);
  const size_t word = std::max_element(of_word.begin(), of_word.end()) - of_word.begin();
  if (of_word[word] > most)
    throw std::invalid_argument("the word in column " + std::to_string(vocabulary(word)) + " has " +
                                std::to_string(of_word[word]) + " tokens in one mini-batch, and " +
                                std::to_string(most) + " are the most that " + std::to_string(n_kept) +
                                " kept sweeps can count; divide the counts by a constant");
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

  // Of either phase, and at least one: what is sampled is counted.
  int most_kept() const { return std::max({1, all[0] - burn_in[0], all[1] - burn_in[1]}); }
};

class StepArrays {
 public:
  StepArrays(const nb::handle& documents, const nb::handle& tasks, size_t n_words, size_t n_topics,
             const Sweeps& sweeps, int64_t longest)
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
    const auto vocabulary = array<In<int64_t, 1>>(documents, "vocabulary");
    require(vocabulary.shape(0) == n_words, "vocabulary must have one entry a word");
    n_tokens_ = check_documents(indptr_, words_, counts_, n_words, longest);
    check_cells(words_, counts_, vocabulary, n_tokens_, sweeps.most_kept());
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
    const char* names[] = {"collapsed", "metropolis", "exact", "augmented", "averaging"};  // as in MedldaSampler
    const size_t place = std::find(std::begin(names), std::end(names), sampler) - names;
    require(place < std::size(names),
            "sampler must be 'collapsed', 'metropolis', 'exact', 'augmented' or 'averaging'");
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
    input.sampler = static_cast<MedldaSampler>(place);
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
