#include <nanobind/stl/optional.h>

#include <optional>
#include <utility>
#include <vector>

#include "bindings_topics.h"
#include "medhdp_driver.h"

namespace bayespa {
namespace {

// A vector as a NumPy array that owns it.
template <class T>
nb::object own(std::vector<T>&& values, std::initializer_list<size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape, owner));
}

nb::dict phase(MedhdpPhase&& p, size_t n_docs, size_t K, size_t T) {
  nb::dict out;
  out["n_kept"] = p.n_kept;
  out["topic_share"] = own(std::move(p.share), {n_docs, K});
  out["margin"] = own(std::move(p.margin), {n_docs, T});
  out["margin_var"] = own(std::move(p.margin_var), {n_docs, T});
  out["precision"] = own(std::move(p.precision), {T, K, K});
  out["shift"] = own(std::move(p.shift), {T, K});
  out["loss"] = own(std::move(p.loss), {T});
  return out;
}

nb::tuple step(nb::handle documents, nb::handle topics, nb::handle tasks, nb::handle schedule,
               std::optional<In<uint32_t, 1>> start, int n_threads) {
  const auto dirichlet = array<In<float, 2>>(topics, "dirichlet");
  const auto totals = array<In<double, 1>>(topics, "totals");
  const auto u = array<In<double, 1>>(topics, "u"), v = array<In<double, 1>>(topics, "v");
  const auto own_variance = array<In<double, 1>>(topics, "own_variance");
  const size_t n_words = dirichlet.shape(0), n_old = dirichlet.shape(1);
  require(totals.shape(0) == n_old && u.shape(0) == n_old && v.shape(0) == n_old, "totals, u and v must be (K)");
  const Sweeps s(schedule, start.has_value());
  const StepArrays arrays(documents, tasks, n_words, n_old + 1, s, kLongestWithLabels);
  require(own_variance.shape(0) == arrays.n_tasks(), "own_variance must be (T)");
  require(arrays.n_tokens() <= kMostTokens,  // one topic may have them all
          "a mini-batch must have fewer than 2^31 tokens; divide the counts by a constant");
  MedhdpInput input = {};
  input.labels = arrays.input(tasks, schedule, n_threads);
  require(input.labels.sampler != MedldaSampler::exact, "sampler must not be 'exact': MedHDP has none");
  input.dirichlet = dirichlet.data();
  input.totals = totals.data();
  input.u = u.data();
  input.v = v.data();
  input.own_variance = own_variance.data();
  input.concentration = number<double>(topics, "concentration");
  input.stick_concentration = number<double>(topics, "stick_concentration");
  input.start_concentration = number<double>(topics, "start_concentration");
  input.eta = number<double>(topics, "eta");
  input.eta_total = input.eta * number<double>(topics, "n_words");
  for (int p = 0; p < 2; ++p) {
    input.sweeps[p] = s.all[p];
    input.burn_in[p] = s.burn_in[p];
  }
  if (start) {
    require(static_cast<int64_t>(start->shape(0)) == arrays.n_tokens(), "start must be (n_tokens)");
    for (size_t i = 0; i < start->shape(0); ++i) require((*start)(i) < n_old, "start must hold old topics");
    input.start = start->data();
  }
  const Kernels& k = kernels();
  MedhdpResult result;
  {
    const nb::gil_scoped_release release;
    result = medhdp_step(k.medlda, k.medhdp, input);
  }
  const size_t n_docs = arrays.n_docs(), K = result.n_topics, T = arrays.n_tasks(), n_tokens = result.topics.size();
  return nb::make_tuple(own(std::move(result.topic_word), {n_words, K}), own(std::move(result.tables), {K}),
                        own(std::move(result.topics), {n_tokens}),
                        phase(std::move(result.phases[0]), n_docs, K, T),
                        phase(std::move(result.phases[1]), n_docs, K, T));
}

}  // namespace

void bind_medhdp(nb::module_& m) {
  m.def("medhdp_step", &step, nb::arg("documents"), nb::arg("topics"), nb::arg("tasks"), nb::arg("schedule"),
        nb::arg("start").none(), nb::arg("n_threads"));
}

}  // namespace bayespa
