#include "dispatch.h"

#include <cstdlib>
#include <stdexcept>

#ifdef BAYESPA_X86_64
#include <cpuid.h>
#endif

namespace bayespa {

extern const Kernels kernels_baseline;
#ifdef BAYESPA_X86_64
extern const Kernels kernels_v3, kernels_v4;
#endif

namespace {

#ifdef BAYESPA_X86_64
// Which of x86-64-v3 and -v4 of the psABI this CPU has and the operating system saves the registers of. Asked by hand:
// what the compiler's __builtin_cpu_supports needs is in libgcc, not in every compiler's library.
int level_of_x86_64() {
  unsigned eax, ebx = 0, ecx = 0, edx, none, extended = 0;
  constexpr unsigned v3 = bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C;
  if (!__get_cpuid(1, &eax, &none, &ecx, &edx) || (ecx & v3) != v3) return 2;
  if (!__get_cpuid(0x80000001, &eax, &none, &extended, &edx) || !(extended & bit_LZCNT)) return 2;
  constexpr unsigned more = bit_AVX2 | bit_BMI | bit_BMI2;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &none, &edx) || (ebx & more) != more) return 2;
  unsigned saved, high;
  __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if ((saved & 0x06) != 0x06) return 2;  // of SSE and AVX
  constexpr unsigned v4 = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
  return (ebx & v4) == v4 && (saved & 0xe6) == 0xe6 ? 4 : 3;
}
#endif

std::vector<const Kernels*> available() {
  std::vector<const Kernels*> found{&kernels_baseline};
#ifdef BAYESPA_X86_64
  static const int level = level_of_x86_64();
  if (level >= 3) found.push_back(&kernels_v3);
  if (level >= 4) found.push_back(&kernels_v4);
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
