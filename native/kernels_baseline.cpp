#define BAYESPA_ISA baseline
#include "kernels.inc.h"
