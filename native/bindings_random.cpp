#include <cmath>
#include <sstream>

#include "bindings.h"
#include "parallel.h"

namespace {

using namespace bayespa;

// A rejection sampler would loop for ever on a NaN, and log(u) / shape would overflow for a shape below 1e-300.
void require_positive(const char* name, const double* values, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    if (!(values[i] >= 1e-300) || std::isinf(values[i])) {
      std::ostringstream message;
      message << name << "[" << i << "] = " << values[i] << " must be finite and at least 1e-300";
      throw std::invalid_argument(message.str());
    }
  }
}

// draw_<name>(key, addresses (n, 3), parameters (n)..., out (n), n_threads)
template <class... Parameter, class... Name>
void bind_draw(nb::module_& m, const char* name, Draw<Parameter...> RandomKernels::*member, Name... parameter_names) {
  m.def(
      name,
      [=](uint64_t key, In<uint32_t, 2> addresses, In<Parameter, 1>... parameters, Out<double, 1> out, int n_threads) {
        const size_t n = out.shape(0);
        require(addresses.shape(0) == n && addresses.shape(1) == 3, "addresses must be (n, 3) where out is (n,)");
        require(((parameters.shape(0) == n) && ...), "parameters must be as long as out");
        require(n_threads >= 1, "n_threads must be at least 1");
        const Draw<Parameter...> draw = kernels().random.*member;
        const nb::gil_scoped_release release;
        parallel_ranges(static_cast<int64_t>(n), n_threads, [&](int64_t begin, int64_t end) {
          (require_positive(parameter_names, parameters.data(), begin, end), ...);
          draw(key, addresses.data() + 3 * begin, end - begin, out.data() + begin, (parameters.data() + begin)...);
        });
      },
      nb::arg("key"), array_arg("addresses"), array_arg(parameter_names)..., array_arg("out"), nb::arg("n_threads") = 1);
}

}  // namespace

void bayespa::bind_random(nb::module_& m) {
  m.def(
      "philox",
      [](uint64_t key, In<uint32_t, 2> counters, Out<uint32_t, 2> out) {
        require(counters.shape(1) == 4 && out.shape(1) == 4 && counters.shape(0) == out.shape(0),
                "counters and out must both be (n, 4)");
        const RandomKernels& k = kernels().random;
        const nb::gil_scoped_release release;
        k.philox(key, counters.data(), static_cast<int64_t>(counters.shape(0)), out.data());
      },
      nb::arg("key"), array_arg("counters"), array_arg("out"));
  m.def(
      "subkey",
      [](uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2) { return kernels().random.subkey(key, c0, c1, c2); },
      nb::arg("key"), nb::arg("c0"), nb::arg("c1"), nb::arg("c2"));
  m.def(
      "uniform32",
      [](In<uint32_t, 1> words, Out<float, 1> out) {
        require(words.shape(0) == out.shape(0), "words and out must have the same length");
        const RandomKernels& k = kernels().random;
        const nb::gil_scoped_release release;
        k.uniform32(words.data(), static_cast<int64_t>(words.shape(0)), out.data());
      },
      array_arg("words"), array_arg("out"));
  bind_draw(m, "draw_uniform", &RandomKernels::uniform);
  bind_draw(m, "draw_normal", &RandomKernels::normal);
  bind_draw(m, "draw_gamma", &RandomKernels::gamma, "shape");
  bind_draw(m, "draw_log_gamma", &RandomKernels::log_gamma, "shape");
  bind_draw(m, "draw_beta", &RandomKernels::beta, "a", "b");
  bind_draw(m, "draw_inverse_gaussian", &RandomKernels::inverse_gaussian, "mean", "shape");
}
