// Chooses the kernels for this CPU, or the ones that the environment variable BAYESPA_ISA names.
#pragma once

#include <string>
#include <vector>

#include "kernels.h"

namespace bayespa {

// The instruction sets that were compiled in and that this CPU can run, best last.
std::vector<std::string> available_isas();

// The best available kernels, or those named by BAYESPA_ISA; throws std::invalid_argument if it names none of them.
const Kernels& kernels();

}  // namespace bayespa
