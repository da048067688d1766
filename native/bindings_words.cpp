#include <nanobind/stl/string.h>

#include <vector>

#include "bindings_linear.h"
#include "parallel.h"
#include "words_driver.h"

namespace {

using namespace bayespa;
using namespace nb::literals;

using Runs = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void features(In<int64_t, 1> indptr, In<int32_t, 1> words, In<int32_t, 1> counts, In<double, 1> seen, nb::object runs,
              double run_value, Out<double, 1> values, int n_threads) {
  const int64_t n_docs = static_cast<int64_t>(indptr.shape(0)) - 1, n_words = static_cast<int64_t>(seen.shape(0)) - 1;
  require(n_docs >= 0 && n_words >= 0 && indptr(0) == 0 && counts.shape(0) == words.shape(0) &&
              values.shape(0) == words.shape(0) && indptr(n_docs) == static_cast<int64_t>(words.shape(0)),
          "indptr must start at 0 and end at the number of entries");
  for (int64_t i = 0; i < n_docs; ++i) require(indptr(i) <= indptr(i + 1), "indptr must not decrease");
  for (size_t j = 0; j < words.shape(0); ++j) require(words(j) >= 0 && words(j) < n_words, "a word is out of range");
  Runs which;
  if (!runs.is_none()) {
    which = nb::cast<Runs>(runs, false);
    require(static_cast<int64_t>(which.shape(0)) == n_words, "runs must be (words,)");
  }
  const WordDocuments documents = {indptr.data(), words.data(), counts.data(),
                                   runs.is_none() ? nullptr : which.data(), run_value};
  const WordsKernels& k = kernels().words;
  const nb::gil_scoped_release release;
  std::vector<double> rarity(n_words);
  k.rarity(seen.data(), n_words, rarity.data());
  parallel_blocks(n_docs, n_threads,
                  [&](int64_t first, int64_t last) { k.features(documents, rarity.data(), first, last, values.data()); });
}

WordTables tables_of(const RowsView& x, const In<int64_t, 1>& places, const In<double, 2>& shift,
                     const In<double, 2>& precision) {
  require(shift.shape(0) == precision.shape(0) && shift.shape(1) == precision.shape(1),
          "shift and precision must have one shape");
  require(static_cast<int64_t>(places.shape(0)) == x.rows.n_columns + 1, "places must be (columns + 1,)");
  const int64_t n = static_cast<int64_t>(shift.shape(0));
  for (size_t i = 0; i < places.shape(0); ++i) require(places(i) >= 0 && places(i) < n, "a place is out of range");
  return {places.data(), static_cast<int64_t>(shift.shape(1)), shift.data(), precision.data()};
}

void learn(const nb::object& rows, const nb::object& targets, In<int64_t, 1> places, In<double, 2> shift,
           In<double, 2> precision, nb::object taught, double cost, const std::string& method, double grid,
                 Out<double, 2> guess, Out<double, 2> shift_change, Out<double, 2> precision_change,
                 Out<double, 1> loss, int n_threads) {
  const RowsView x(rows);
  const TargetsView y(targets, x.rows);
  const WordTables tables = tables_of(x, places, shift, precision);
  const size_t n_words = places.shape(0), n_tasks = shift.shape(1);
  const auto fits = [&](const auto& array) { return array.shape(0) == n_words && array.shape(1) == n_tasks; };
  In<double, 2> taught_shift, taught_precision;
  if (!taught.is_none()) {
    taught_shift = nb::cast<In<double, 2>>(taught[0], false);
    taught_precision = nb::cast<In<double, 2>>(taught[1], false);
    require(fits(taught_shift) && fits(taught_precision), "what was taught must be (columns + 1, tasks)");
  }
  require(y.targets.n_tasks == tables.n_tasks && static_cast<int64_t>(guess.shape(0)) == x.rows.n &&
              guess.shape(1) == n_tasks && fits(shift_change) && fits(precision_change) && loss.shape(0) == n_tasks,
          "guess must be (rows, tasks), changes (columns + 1, tasks) and loss (tasks,)");
  require(n_threads >= 1, "n_threads must be at least 1");
  const TiltMethod tilt = method_of(method);
  const WordsLearned learned = {guess.data(), shift_change.data(), precision_change.data(), loss.data()};
  const double* const before[] = {taught.is_none() ? nullptr : taught_shift.data(),
                                  taught.is_none() ? nullptr : taught_precision.data()};
  const Kernels& k = kernels();
  const nb::gil_scoped_release release;
  bayespa::learn_words(k, x.rows, y.targets, tables, before[0], before[1], cost, tilt, grid, learned, n_threads);
}

void decide(const nb::object& rows, In<int64_t, 1> places, In<double, 2> shift, In<double, 2> precision,
                     Out<double, 2> margin, int n_threads) {
  const RowsView x(rows);
  const WordTables tables = tables_of(x, places, shift, precision);
  require(static_cast<int64_t>(margin.shape(0)) == x.rows.n && margin.shape(1) == shift.shape(1),
          "margin must be (rows, tasks)");
  require(n_threads >= 1, "n_threads must be at least 1");
  const Kernels& k = kernels();
  const nb::gil_scoped_release release;
  bayespa::decide_by_words(k, x.rows, tables, margin.data(), n_threads);
}

}  // namespace

void bayespa::bind_words(nb::module_& m) {
  m.def("features", &features, array_arg("indptr"), array_arg("words"), array_arg("counts"), array_arg("seen"),
        "runs"_a.none(), "run_value"_a, array_arg("values"), "n_threads"_a = 1);
  m.def("learn_words", &learn, "rows"_a, "targets"_a, array_arg("places"), array_arg("shift"),
        array_arg("precision"), "taught"_a.none(), "cost"_a, "method"_a, "grid"_a, array_arg("guess"),
        array_arg("shift_change"), array_arg("precision_change"), array_arg("loss"), "n_threads"_a = 1);
  m.def("decide_by_words", &decide, "rows"_a, array_arg("places"), array_arg("shift"),
        array_arg("precision"), array_arg("margin"), "n_threads"_a = 1);
}
