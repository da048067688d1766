#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "bindings.h"
#include "medlda_driver.h"

namespace bayespa {
namespace {

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
void check_documents(const In<int64_t, 1>& indptr, const In<int32_t, 1>& words, const In<int32_t, 1>& counts,
                     size_t n_words, int sweeps) {
  const int64_t nnz = static_cast<int64_t>(words.shape(0));
  const size_t n_docs = indptr.shape(0) - 1;
  require(indptr(0) == 0 && indptr(n_docs) == nnz, "indptr must go from 0 to the length of words");
  int64_t total = 0;
  for (size_t d = 0; d < n_docs; ++d) {
    require(indptr(d) <= indptr(d + 1), "indptr must not decrease");
    int64_t length = 0;
    for (int64_t i = indptr(d); i < indptr(d + 1); ++i) {
      require(words(i) >= 0 && static_cast<size_t>(words(i)) < n_words, "words must be rows of phi");
      require(counts(i) >= 0, "counts must not be negative");
      length += counts(i);
    }
    require(length < 1 << 24, "a document must have fewer than 2^24 = 16,777,216 tokens; split it");
    total += length;
  }
  require(total * sweeps < int64_t{1} << 31, "tokens times sweeps must stay below 2^31; use smaller batches");
}

MedldaOutput output(const nb::handle& phase, int sweeps, int burn_in, size_t n_docs, size_t n_words, size_t K,
                    size_t T) {
  const auto topic_word = array<Out<int32_t, 2>>(phase, "topic_word");
  const auto share = array<Out<float, 2>>(phase, "topic_share");
  const auto margin = array<Out<double, 2>>(phase, "margin"), margin_var = array<Out<double, 2>>(phase, "margin_var");
  const auto precision = array<Out<double, 3>>(phase, "precision");
  const auto shift = array<Out<double, 2>>(phase, "shift");
  const auto loss = array<Out<double, 1>>(phase, "loss");
  const bool counted = topic_word.shape(0) > 0;
  require(!counted || (topic_word.shape(0) == n_words && topic_word.shape(1) == K), "topic_word must be (n_words, K)");
  require(share.shape(0) == n_docs && share.shape(1) == K, "topic_share must be (n_docs, K)");
  require(margin.shape(0) == n_docs && margin.shape(1) == T, "margin must be (n_docs, T)");
  require(margin_var.shape(0) == n_docs && margin_var.shape(1) == T, "margin_var must be (n_docs, T)");
  require(precision.shape(0) == T && precision.shape(1) == K && precision.shape(2) == K,
          "precision must be (T, K, K)");
  require(shift.shape(0) == T && shift.shape(1) == K && loss.shape(0) == T, "shift must be (T, K), loss (T)");
  return {sweeps, burn_in, counted ? topic_word.data() : nullptr, share.data(), margin.data(), margin_var.data(),
          precision.data(), shift.data(), loss.data()};
}

void step(nb::handle documents, nb::handle topics, nb::handle tasks, nb::handle schedule, nb::handle free,
          nb::handle labelled, int n_threads) {
  const auto indptr = array<In<int64_t, 1>>(documents, "indptr");
  const auto words = array<In<int32_t, 1>>(documents, "words"), counts = array<In<int32_t, 1>>(documents, "counts");
  const auto ids = array<In<uint32_t, 1>>(documents, "ids");
  const auto phi = array<In<float, 2>>(topics, "phi");
  const auto alpha = array<In<float, 1>>(topics, "alpha");
  const auto mean = array<In<double, 2>>(tasks, "mean");
  const auto covariance = array<In<double, 3>>(tasks, "covariance");
  const auto labels = array<In<float, 2>>(tasks, "labels");
  const auto cost = array<In<double, 1>>(tasks, "cost");
  const size_t n_docs = ids.shape(0), n_words = phi.shape(0), K = alpha.shape(0), T = mean.shape(0);
  require(indptr.shape(0) == n_docs + 1, "indptr must have one entry more than ids");
  require(words.shape(0) == counts.shape(0), "words and counts must be of equal length");
  const int sweeps[2] = {number<int>(schedule, "free_sweeps"), number<int>(schedule, "sweeps")};
  check_documents(indptr, words, counts, n_words, sweeps[0] > sweeps[1] ? sweeps[0] : sweeps[1]);
  require(phi.shape(1) == (K + 7) / 8 * 8, "phi must have K columns rounded up to a multiple of 8");
  require(mean.shape(1) == K && cost.shape(0) == T, "mean must be (T, K), cost (T)");
  require(covariance.shape(0) == T && covariance.shape(1) == K && covariance.shape(2) == K,
          "covariance must be (T, K, K)");
  require(labels.shape(0) == n_docs && labels.shape(1) == T, "labels must be (n_docs, T)");
  const std::string sampler = number<std::string>(schedule, "sampler");
  require(sampler == "collapsed" || sampler == "augmented" || sampler == "averaging",
          "sampler must be 'collapsed', 'augmented' or 'averaging'");
  MedldaInput input = {};
  input.documents = {static_cast<int64_t>(n_docs), indptr.data(), words.data(), counts.data(), ids.data(),
                     labels.data()};
  input.n_words = static_cast<int64_t>(n_words);
  input.n_topics = static_cast<int>(K);
  input.n_tasks = static_cast<int>(T);
  input.phi = phi.data();
  input.alpha = alpha.data();
  input.mean = mean.data();
  input.covariance = covariance.data();
  input.cost = cost.data();
  input.margin = number<double>(tasks, "margin");
  input.regression = number<bool>(tasks, "regression");
  input.sampler = sampler == "collapsed"   ? MedldaSampler::collapsed
                  : sampler == "augmented" ? MedldaSampler::augmented
                                           : MedldaSampler::averaging;
  input.seed = number<uint64_t>(schedule, "seed");
  input.round = number<uint32_t>(schedule, "round");
  input.n_threads = n_threads;
  const int burn_in[2] = {number<int>(schedule, "free_burn_in"), number<int>(schedule, "burn_in")};
  require(sweeps[0] >= 1, "free_sweeps must be at least 1: its first sweep starts the chain");
  for (int p = 0; p < 2; ++p) require(burn_in[p] >= 0 && burn_in[p] <= sweeps[p], "burn_in must be in [0, sweeps]");
  const MedldaOutput outputs[2] = {output(free, sweeps[0], burn_in[0], n_docs, n_words, K, T),
                                   output(labelled, sweeps[1], burn_in[1], n_docs, n_words, K, T)};
  const MedldaKernels& k = kernels().medlda;
  const nb::gil_scoped_release release;
  medlda_step(k, input, outputs);
}

template <class Real>
void phi(In<Real, 2> dirichlet, In<double, 1> totals, In<int64_t, 1> words, bool mean, Out<float, 2> out) {
  const size_t K = dirichlet.shape(1);
  require(totals.shape(0) == K, "totals must have one entry a topic");
  require(out.shape(0) == words.shape(0) && out.shape(1) == (K + 7) / 8 * 8,
          "out must be (n_words, K rounded up to a multiple of 8)");
  const int64_t n = static_cast<int64_t>(words.shape(0)), W = static_cast<int64_t>(dirichlet.shape(0));
  for (int64_t i = 0; i < n; ++i) require(words(i) >= 0 && words(i) < W, "words must be rows of dirichlet");
  const MedldaKernels& k = kernels().medlda;
  const nb::gil_scoped_release release;
  std::vector<float> scale(K);
  if constexpr (sizeof(Real) == sizeof(float))
    k.phi32(dirichlet.data(), totals.data(), words.data(), n, static_cast<int>(K), mean, scale.data(), out.data());
  else
    k.phi64(dirichlet.data(), totals.data(), words.data(), n, static_cast<int>(K), mean, scale.data(), out.data());
}

// Numbers the words of a batch by first appearance; returns how many there are.
int64_t local_words(In<int32_t, 1> columns, int64_t n_columns, Out<int32_t, 1> words, Out<int64_t, 1> vocabulary) {
  require(words.shape(0) == columns.shape(0) && vocabulary.shape(0) == columns.shape(0),
          "words and vocabulary must be as long as columns");
  const nb::gil_scoped_release release;
  std::vector<int32_t> number_of(static_cast<size_t>(n_columns), -1);
  int32_t n_words = 0;
  for (size_t i = 0; i < columns.shape(0); ++i) {
    const int32_t column = columns(i);
    require(column >= 0 && column < n_columns, "columns must be in [0, n_columns)");
    if (number_of[column] < 0) {
      vocabulary(n_words) = column;
      number_of[column] = n_words++;
    }
    words(i) = number_of[column];
  }
  return n_words;
}

}  // namespace

void bind_medlda(nb::module_& m) {
  m.def("medlda_step", &step, nb::arg("documents"), nb::arg("topics"), nb::arg("tasks"), nb::arg("schedule"),
        nb::arg("free"), nb::arg("labelled"), nb::arg("n_threads"));
  m.def("local_words", &local_words);
  m.def("medlda_phi", &phi<float>);
  m.def("medlda_phi", &phi<double>);
}

}  // namespace bayespa
