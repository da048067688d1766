#define BAYESPA_ISA v3
#include "kernels.inc.h"
