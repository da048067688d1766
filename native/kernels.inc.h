// Included once by each kernels_*.cpp with BAYESPA_ISA set to that file's name; makes `kernels_<isa>`.
//
// The rules of a *.inc.h: everything sits in an anonymous namespace, and nothing instantiates inline functions of the
// C++ library, or the linker could keep an AVX-512 copy for everyone. Plain loops; the compiler vectorises them.
#include "dual.inc.h"
#include "elementary_kernels.inc.h"
#include "evidence.inc.h"
#include "kernels.h"
#include "linalg.inc.h"
#include "linear_step.inc.h"
#include "medhdp_step.inc.h"
#include "medlda_step.inc.h"
#include "random_kernels.inc.h"
#include "words.inc.h"

#define BAYESPA_JOIN_(a, b) a##b
#define BAYESPA_JOIN(a, b) BAYESPA_JOIN_(a, b)
#define BAYESPA_STRING_(a) #a
#define BAYESPA_STRING(a) BAYESPA_STRING_(a)

namespace bayespa {

extern const Kernels BAYESPA_JOIN(kernels_, BAYESPA_ISA);
const Kernels BAYESPA_JOIN(kernels_, BAYESPA_ISA) = {
    BAYESPA_STRING(BAYESPA_ISA),
    dual_kernels,
    elementary_kernels,
    evidence_kernels,
    linalg_kernels,
    linear_kernels,
    medhdp_kernels,
    medlda_kernels,
    random_kernels,
    words_kernels,
};

}  // namespace bayespa
