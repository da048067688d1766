#define BAYESPA_ISA v4
#include "kernels.inc.h"
