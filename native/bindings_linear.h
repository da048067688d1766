// Rows and targets of linear steps, as Python has them: bayespa.native.linear.
#pragma once

#include <string>

#include "bindings.h"

namespace bayespa {

template <class Array>
inline Array attribute(const nb::object& object, const char* name) {
  return nb::cast<Array>(object.attr(name), /*convert=*/false);
}

// Keeps the arrays of a Python `Rows` alive while a kernel reads them.
struct RowsView {
  In<int64_t, 1> indptr;
  In<int32_t, 1> indices;
  In<double, 1> values;
  Rows rows;

  explicit RowsView(const nb::object& object)
      : indptr(attribute<In<int64_t, 1>>(object, "indptr")),
        indices(attribute<In<int32_t, 1>>(object, "indices")),
        values(attribute<In<double, 1>>(object, "values")),
        rows{indptr.data(),
             indices.data(),
             values.data(),
             static_cast<int64_t>(indptr.shape(0)) - 1,
             nb::cast<int64_t>(object.attr("n_columns")),
             nb::cast<double>(object.attr("bias"))} {
    require(rows.n >= 0 && rows.indptr[0] == 0 && indices.shape(0) == values.shape(0) &&
                rows.indptr[rows.n] == static_cast<int64_t>(values.shape(0)),
            "indptr must start at 0 and end at the number of entries");
    for (int64_t i = 0; i < rows.n; ++i) require(rows.indptr[i] <= rows.indptr[i + 1], "indptr must not decrease");
    for (size_t j = 0; j < indices.shape(0); ++j) {
      require(rows.indices[j] >= 0 && rows.indices[j] < rows.n_columns, "a column index is out of range");
    }
  }
};

struct TargetsView {
  nb::object labels_object;
  In<double, 1> cost;
  In<int32_t, 1> labels;
  In<double, 2> lower, upper;
  Targets targets;

  TargetsView(const nb::object& object, const Rows& rows)
      : labels_object(object.attr("labels")),
        cost(attribute<In<double, 1>>(object, "cost")),
        targets{nullptr, nullptr, nullptr, cost.data(), nb::cast<int64_t>(object.attr("n_tasks")),
                nb::cast<double>(object.attr("margin"))} {
    const size_t n = static_cast<size_t>(rows.n);
    if (labels_object.is_none()) {
      lower = attribute<In<double, 2>>(object, "lower");
      upper = attribute<In<double, 2>>(object, "upper");
      targets.lower = lower.data();
      targets.upper = upper.data();
      for (const In<double, 2>& end : {lower, upper}) {
        require(end.shape(0) == n && static_cast<int64_t>(end.shape(1)) == targets.n_tasks,
                "lower and upper must be (rows, tasks)");
      }
    } else {
      labels = nb::cast<In<int32_t, 1>>(labels_object, false);
      targets.labels = labels.data();
      require(labels.shape(0) == n, "labels must be (rows,)");
    }
    require(cost.shape(0) == n, "cost must be (rows,)");
  }
};

inline TiltMethod method_of(const std::string& name) {
  require(name == "moments" || name == "augmented" || name == "squared",
          "method must be 'moments', 'augmented' or 'squared'");
  return name == "moments" ? TiltMethod::moments : name == "squared" ? TiltMethod::squared : TiltMethod::mean_field;
}

}  // namespace bayespa
