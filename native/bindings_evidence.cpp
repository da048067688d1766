#include "bindings.h"

namespace {

using namespace bayespa;
using namespace nb::literals;

Meanings meanings_of(const In<double, 1>& temperatures, const In<double, 1>& noises) {
  require(temperatures.shape(0) <= kMostTemperatures, "there can be 40 temperatures at most");
  require(noises.shape(0) >= 1 && noises.shape(0) <= kMostNoises && noises(0) == 0.,
          "there can be 16 noises at most; the first is 0");
  return {static_cast<int64_t>(temperatures.shape(0)), static_cast<int64_t>(noises.shape(0)), temperatures.data(),
          noises.data()};
}

void require_fits(const Out<double, 3>& found, const Meanings& meanings) {
  require(found.shape(0) == kPowers && static_cast<int64_t>(found.shape(1)) == meanings.n_temperatures &&
              static_cast<int64_t>(found.shape(2)) == meanings.n_noises,
          "found must be (3, temperatures, noises)");
}

void classes(In<double, 2> margin, In<int64_t, 1> right, In<double, 1> temperatures, In<double, 1> noises,
             Out<double, 3> found) {
  const Meanings meanings = meanings_of(temperatures, noises);
  require_fits(found, meanings);
  const int64_t n = static_cast<int64_t>(margin.shape(0)), n_classes = static_cast<int64_t>(margin.shape(1));
  require(right.shape(0) == margin.shape(0), "margin must be (n, T), right (n,)");
  for (size_t i = 0; i < right.shape(0); ++i) require(right(i) >= 0 && right(i) < n_classes, "a class is out of range");
  const EvidenceKernels& kernel = kernels().evidence;
  const nb::gil_scoped_release release;
  kernel.classes(margin.data(), right.data(), n, n_classes, meanings, found.data());
}

void answers(In<double, 1> margin, In<double, 1> sign, In<double, 1> temperatures, In<double, 1> noises,
             Out<double, 3> found) {
  const Meanings meanings = meanings_of(temperatures, noises);
  require_fits(found, meanings);
  require(margin.shape(0) == sign.shape(0), "margin and sign must have the same length");
  const EvidenceKernels& kernel = kernels().evidence;
  const nb::gil_scoped_release release;
  kernel.answers(margin.data(), sign.data(), static_cast<int64_t>(margin.shape(0)), meanings, found.data());
}

void labels(In<double, 1> margin, In<double, 1> sign, In<double, 1> temperatures, Out<double, 2> found) {
  require(temperatures.shape(0) <= kMostTemperatures, "there can be 40 temperatures at most");
  require(found.shape(0) == kPowers && found.shape(1) == temperatures.shape(0), "found must be (3, temperatures)");
  require(margin.shape(0) == sign.shape(0), "margin and sign must have the same length");
  const Meanings meanings = {static_cast<int64_t>(temperatures.shape(0)), 0, temperatures.data(), nullptr};
  const EvidenceKernels& kernel = kernels().evidence;
  const nb::gil_scoped_release release;
  kernel.labels(margin.data(), sign.data(), static_cast<int64_t>(margin.shape(0)), meanings, found.data());
}

}  // namespace

void bayespa::bind_evidence(nb::module_& m) {
  m.def("evidence_of_classes", &classes, array_arg("margin"), array_arg("right"), array_arg("temperatures"),
        array_arg("noises"), array_arg("found"));
  m.def("evidence_of_answers", &answers, array_arg("margin"), array_arg("sign"), array_arg("temperatures"),
        array_arg("noises"), array_arg("found"));
  m.def("evidence_of_labels", &labels, array_arg("margin"), array_arg("sign"), array_arg("temperatures"),
        array_arg("found"));
}
