// Learning and deciding by words beside topics: rows of the tables of all words, worked on by threads.
#pragma once

#include "kernels.h"

namespace bayespa {

// Tables (W, T) of natural parameters, and the rows of them that a mini-batch needs, that of the bias last.
struct WordTables {
  const int64_t* places;  // (n_columns + 1)
  int64_t n_tasks;
  const double *shift, *precision;
};

struct WordsLearned {
  double* guess;               // (n, T): margins before
  double *shift, *precision;   // (n_columns + 1, T): what is added to the tables
  double* loss;                // (T), added to
};

// What rows teach words [PA-5]. What they taught before, (n_columns + 1, T), is taken out of the tables, if not null.
void learn_words(const Kernels& kernels, const Rows& rows, const Targets& targets, const WordTables& tables,
                 const double* taught_shift, const double* taught_precision, double cost, TiltMethod method, double grid,
                 const WordsLearned& learned, int n_threads);

// The mean (n, T) of the margins of rows.
void decide_by_words(const Kernels& kernels, const Rows& rows, const WordTables& tables, double* margin, int n_threads);

}  // namespace bayespa
