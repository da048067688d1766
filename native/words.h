// The words beside topics [MED-9]: features of documents, and rows of the tables of all words.
#pragma once

#include <cstdint>

namespace bayespa {

// Documents over the words of a mini-batch.
struct WordDocuments {
  const int64_t* indptr;  // (n_docs + 1)
  const int32_t* words;
  const int32_t* counts;
  const bool* runs;  // which words are runs of several; null: none is
  double run_value;  // of a run, where a word has 1
};

// Rows of the tables (W, T) of natural parameters of all words: row i is row places[i], less row i of what was taught.
struct WordRows {
  const int64_t* places;
  int64_t n_tasks;
  const double *shift, *precision;
  const double *taught_shift, *taught_precision;  // (n, T), or null
};

struct WordsKernels {
  // out[i] = 1 + log(seen[n] / seen[i]) for n words.
  void (*rarity)(const double* seen, int64_t n, double* out);
  // The values of the entries of documents [first, last): words have length 1 together, runs at most.
  void (*features)(const WordDocuments& documents, const double* rarity, int64_t first, int64_t last, double* values);
  // The moments of the rows [first, last); a row of moments begins `stride` after the last.
  void (*moments)(const WordRows& rows, int64_t first, int64_t last, int64_t stride, double* mean, double* variance);
  // And back, rounded to multiples of `grid`, a power of two: what the moments have more than the rows, (n, T).
  void (*natural)(const WordRows& rows, int64_t first, int64_t last, int64_t stride, const double* mean,
                  const double* variance, double grid, double* shift, double* precision);
};

}  // namespace bayespa
