// What progressive margins say about their meaning: log likelihoods for all powers, temperatures and noises.
#pragma once

#include <cstdint>

namespace bayespa {

constexpr int kPowers = 3;              // 1, 2 and 4
constexpr int kMostTemperatures = 40;   // whole vectors
constexpr int kMostNoises = 16;

struct Meanings {
  int64_t n_temperatures, n_noises;
  const double* temperatures;
  const double* noises;  // the first is 0
};

struct EvidenceKernels {
  // Margins (n, n_classes) and the right class of each document; adds to found (powers, temperatures, noises).
  void (*classes)(const double* margin, const int64_t* right, int64_t n, int64_t n_classes, const Meanings& meanings,
                  double* found);
  // Margins and answers of +-1 to one question; the same for all powers.
  void (*answers)(const double* margin, const double* sign, int64_t n, const Meanings& meanings, double* found);
  // Each a question of its own; adds to found (powers, temperatures).
  void (*labels)(const double* margin, const double* sign, int64_t n, const Meanings& meanings, double* found);
};

}  // namespace bayespa
