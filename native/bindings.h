// What the binding files share. Bindings check shapes, release the GIL and call a kernel: no mathematics here.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "dispatch.h"

namespace bayespa {

namespace nb = nanobind;

// C-contiguous arrays on the CPU; `In` is read-only.
template <class T, int Dims>
using In = nb::ndarray<const T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>;
template <class T, int Dims>
using Out = nb::ndarray<T, nb::ndim<Dims>, nb::c_contig, nb::device::cpu>;

// Names an array argument and forbids its conversion: nanobind would fill a converted copy of `out` and drop it, and
// wrap negative integers.
inline auto array_arg(const char* name) { return nb::arg(name).noconvert(); }

inline void require(bool ok, const char* what) {
  if (!ok) throw std::invalid_argument(what);
}

void bind_dual(nb::module_& m);
void bind_elementary(nb::module_& m);
void bind_evidence(nb::module_& m);
void bind_json(nb::module_& m);
void bind_linalg(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_random(nb::module_& m);
void bind_medhdp(nb::module_& m);
void bind_medlda(nb::module_& m);
void bind_text(nb::module_& m);
void bind_words(nb::module_& m);

}  // namespace bayespa
