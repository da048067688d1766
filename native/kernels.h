// The table of kernels of one instruction set, filled by kernels_*.cpp from the same source.
#pragma once

#include "elementary_kernels.h"
#include "linalg.h"
#include "linear_step.h"
#include "medlda_step.h"
#include "random_kernels.h"

namespace bayespa {

struct Kernels {
  const char* isa;
  ElementaryKernels elementary;
  LinalgKernels linalg;
  LinearKernels linear;
  MedldaKernels medlda;
  RandomKernels random;
};

}  // namespace bayespa
