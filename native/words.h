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

// Rows of a table (W, T) of all words: row i is row places[i] of the table, less row i of `taught`, if there is any.
struct WordRows {
  const int64_t* places;
  int64_t n_tasks;
  const double* table;
  const double* taught;
};

struct WordsKernels {
  // out[i] = 1 + log(seen[n] / seen[i]) for n words.
  void (*rarity)(const double* seen, int64_t n, double* out);
  // The values of the entries of documents [first, last): words have length 1 together, runs at most.
  void (*features)(const WordDocuments& documents, const double* rarity, int64_t first, int64_t last, double* values);
  // out becomes the rows [first, last), or what they lack of it.
  void (*take)(const WordRows& rows, int64_t first, int64_t last, double* out);
  void (*take_from)(const WordRows& rows, int64_t first, int64_t last, double* out);
  // Natural parameters become moments: the precision a variance, the shift a mean.
  void (*moments)(int64_t n, double* shift, double* precision);
  // And back, rounded to multiples of `grid`, a power of two.
  void (*natural)(int64_t n, double grid, double* mean, double* variance);
};

}  // namespace bayespa
