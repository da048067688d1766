#include "dispatch.h"

#include <cstdlib>
#include <stdexcept>

namespace bayespa {

extern const Kernels kernels_baseline;
#ifdef BAYESPA_X86_64
extern const Kernels kernels_v3, kernels_v4;
#endif

namespace {

std::vector<const Kernels*> available() {
  std::vector<const Kernels*> found{&kernels_baseline};
#ifdef BAYESPA_X86_64
  // x86-64-v3 and -v4 of the psABI; bmi2 and f16c come with avx2 on every CPU that has fma.
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v3) found.push_back(&kernels_v3);
  if (v4) found.push_back(&kernels_v4);
#endif
  return found;
}

}  // namespace

std::vector<std::string> available_isas() {
  std::vector<std::string> names;
  for (const Kernels* k : available()) names.emplace_back(k->isa);
  return names;
}

const Kernels& kernels() {
  const std::vector<const Kernels*> found = available();
  const char* wanted = std::getenv("BAYESPA_ISA");
  if (wanted == nullptr || *wanted == '\0') return *found.back();
  std::string names;
  for (const Kernels* k : found) {
    if (k->isa == std::string(wanted)) return *k;
    names += (names.empty() ? "" : ", ") + std::string(k->isa);
  }
  throw std::invalid_argument("BAYESPA_ISA=" + std::string(wanted) +
                              " is not available on this machine; set it to one of: " + names + ", or unset it");
}

}  // namespace bayespa
