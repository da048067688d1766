// The table of kernels of one instruction set, filled by kernels_*.cpp from the same source.
#pragma once

#include "dual.h"
#include "elementary_kernels.h"
#include "evidence.h"
#include "linalg.h"
#include "linear_step.h"
#include "medhdp_step.h"
#include "medlda_step.h"
#include "random_kernels.h"
#include "words.h"

namespace bayespa {

struct Kernels {
  const char* isa;
  DualKernels dual;
  ElementaryKernels elementary;
  EvidenceKernels evidence;
  LinalgKernels linalg;
  LinearKernels linear;
  MedhdpKernels medhdp;
  MedldaKernels medlda;
  RandomKernels random;
  WordsKernels words;
};

}  // namespace bayespa
