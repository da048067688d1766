#include "bindings.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "parallel.h"

NB_MODULE(_native, m) {
  using namespace bayespa;
  nb::set_leak_warnings(false);  // what a program holds until its end, such as a cache, is no leak
  m.def("available_isas", &available_isas);
  m.def("isa", [] { return std::string(kernels().isa); });
  m.def("limit_threads", [](int most) { most_threads = std::max(1, most); }, nb::arg("most"));
  bind_dual(m);
  bind_elementary(m);
  bind_evidence(m);
  bind_json(m);
  bind_linalg(m);
  bind_linear(m);
  bind_random(m);
  bind_medhdp(m);
  bind_medlda(m);
  bind_text(m);
  bind_words(m);
}
