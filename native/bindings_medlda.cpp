#include <vector>

#include "bindings_topics.h"

namespace bayespa {
namespace {

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
  const auto phi = array<In<float, 2>>(topics, "phi");
  const auto alpha = array<In<float, 1>>(topics, "alpha");
  const size_t n_words = phi.shape(0), K = alpha.shape(0);
  require(phi.shape(1) == (K + 7) / 8 * 8, "phi must have K columns rounded up to a multiple of 8");
  const Sweeps s(schedule);
  const StepArrays arrays(documents, tasks, n_words, K, s);
  MedldaInput input = arrays.input(tasks, schedule, n_threads);
  input.phi = phi.data();
  input.alpha = alpha.data();
  const size_t n_docs = arrays.n_docs(), T = arrays.n_tasks();
  const MedldaOutput outputs[2] = {output(free, s.all[0], s.burn_in[0], n_docs, n_words, K, T),
                                   output(labelled, s.all[1], s.burn_in[1], n_docs, n_words, K, T)};
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
