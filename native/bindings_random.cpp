#include "bindings.h"

void bayespa::bind_random(nb::module_& m) {
  m.def("philox", [](uint64_t key, In<uint32_t, 2> counters, Out<uint32_t, 2> out) {
    require(counters.shape(1) == 4 && out.shape(1) == 4 && counters.shape(0) == out.shape(0),
            "counters and out must both be (n, 4)");
    const RandomKernels& k = kernels().random;
    const nb::gil_scoped_release release;
    k.philox(key, counters.data(), static_cast<int64_t>(counters.shape(0)), out.data());
  });
}
