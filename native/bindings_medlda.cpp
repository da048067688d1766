#include <vector>

#include "bindings_topics.h"
#include "parallel.h"

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
  const StepArrays arrays(documents, tasks, n_words, K, s, kLongest);
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
void phi(In<Real, 2> dirichlet, In<double, 1> totals, In<int64_t, 1> words, bool mean, Out<float, 2> out,
         int n_threads) {
  const size_t K = dirichlet.shape(1);
  require(totals.shape(0) == K, "totals must have one entry a topic");
  require(out.shape(0) == words.shape(0) && out.shape(1) == (K + 7) / 8 * 8,
          "out must be (n_words, K rounded up to a multiple of 8)");
  const int64_t n = static_cast<int64_t>(words.shape(0)), W = static_cast<int64_t>(dirichlet.shape(0));
  for (int64_t i = 0; i < n; ++i) require(words(i) >= 0 && words(i) < W, "words must be rows of dirichlet");
  const MedldaKernels& k = kernels().medlda;
  const nb::gil_scoped_release release;
  parallel_ranges(n, n_threads, [&](int64_t begin, int64_t end) {
    std::vector<float> scale(K);
    const int64_t* own = words.data() + begin;
    float* rows = out.data() + begin * static_cast<int64_t>(out.shape(1));
    if constexpr (sizeof(Real) == sizeof(float))
      k.phi32(dirichlet.data(), totals.data(), own, end - begin, static_cast<int>(K), mean, scale.data(), rows);
    else
      k.phi64(dirichlet.data(), totals.data(), own, end - begin, static_cast<int>(K), mean, scale.data(), rows);
  });
}

// Copies documents out of a corpus, document i from entry begin[i] to entries indptr[i] on, and numbers their words by
// first appearance; returns how many there are.
template <class Index>
int64_t cut_documents(In<Index, 1> columns, In<int32_t, 1> data, int64_t n_columns, In<int64_t, 1> begin,
                      In<int64_t, 1> indptr, Out<int32_t, 1> words, Out<int32_t, 1> counts,
                      Out<int64_t, 1> vocabulary) {
  const size_t n = begin.shape(0), size = words.shape(0);
  require(indptr.shape(0) == n + 1 && indptr(0) == 0 && static_cast<size_t>(indptr(n)) == size &&
              counts.shape(0) == size && vocabulary.shape(0) == size && data.shape(0) == columns.shape(0),
          "indptr must end where words, counts and vocabulary do, and columns and data be of one length");
  const nb::gil_scoped_release release;
  std::vector<int32_t> number_of(static_cast<size_t>(n_columns), -1);
  int64_t n_words = 0;
  for (size_t i = 0; i < n; ++i) {
    const int64_t first = indptr(i), length = indptr(i + 1) - first;
    require(length >= 0 && begin(i) >= 0 && static_cast<size_t>(begin(i) + length) <= columns.shape(0),
            "documents must lie within columns");
    const Index* column = columns.data() + begin(i);
    std::copy_n(data.data() + begin(i), length, counts.data() + first);
    for (int64_t j = 0; j < length; ++j) {
      require(column[j] >= 0 && column[j] < n_columns, "columns must be in [0, n_columns)");
      int32_t& number = number_of[column[j]];
      if (number < 0) {
        vocabulary.data()[n_words] = column[j];
        number = static_cast<int32_t>(n_words++);
      }
      words.data()[first + j] = number;
    }
  }
  return n_words;
}

template <class Index>
void bind_cut_documents(nb::module_& m) {
  m.def("cut_documents", &cut_documents<Index>, array_arg("columns"), array_arg("data"), nb::arg("n_columns"),
        array_arg("begin"), array_arg("indptr"), array_arg("words"), array_arg("counts"), array_arg("vocabulary"));
}

}  // namespace

void bind_medlda(nb::module_& m) {
  m.def("medlda_step", &step, nb::arg("documents"), nb::arg("topics"), nb::arg("tasks"), nb::arg("schedule"),
        nb::arg("free"), nb::arg("labelled"), nb::arg("n_threads"));
  bind_cut_documents<int32_t>(m);
  bind_cut_documents<int64_t>(m);
  m.def("medlda_phi", &phi<float>);
  m.def("medlda_phi", &phi<double>);
}

}  // namespace bayespa
