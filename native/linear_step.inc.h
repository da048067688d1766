#include "lanes.h"
#include "linear_step.h"
#include "tilted.h"

namespace bayespa {
namespace {

inline double row_norm(const Rows& rows, int64_t i) {
  double norm = rows.bias * rows.bias;
  for (int64_t j = rows.indptr[i]; j < rows.indptr[i + 1]; ++j) norm += rows.values[j] * rows.values[j];
  return norm;
}

// Vectors along the tasks, whose sums over a row's features stay in registers. The order of each sum is the same.
struct Eight {
  static constexpr int64_t size = 8;
  typedef double Values __attribute__((vector_size(64), aligned(8), may_alias));
};
struct Four {
  static constexpr int64_t size = 4;
  typedef double Values __attribute__((vector_size(32), aligned(8), may_alias));
};
struct One {
  static constexpr int64_t size = 1;
  typedef double Values;
};

// Copies, since references of templates lose the alignment.
template <class Width>
BAYESPA_INLINE typename Width::Values load(const double* x) {
  typename Width::Values values;
  __builtin_memcpy(&values, x, sizeof values);
  return values;
}
template <class Values>
BAYESPA_INLINE void store(const Values& values, double* x) {
  __builtin_memcpy(x, &values, sizeof values);
}

// Calls use(width, t) for tasks t, t + 1, ... until every task had its turn.
template <class Use>
BAYESPA_INLINE void for_tasks(TaskRange tasks, Use&& use) {
  int64_t t = tasks.first;
  for (; t + 8 <= tasks.last; t += 8) use(Eight(), t);
  for (; t + 4 <= tasks.last; t += 4) use(Four(), t);
  for (; t < tasks.last; ++t) use(One(), t);
}

// Calls use(x, place) for the features of row i, the bias last, whose tasks lie from `place` on.
template <class Use>
BAYESPA_INLINE void for_features(const Rows& rows, int64_t i, int64_t stride, Use&& use) {
  for (int64_t j = rows.indptr[i]; j < rows.indptr[i + 1]; ++j) use(rows.values[j], rows.indices[j] * stride);
  use(rows.bias, rows.n_columns * stride);
}

// out[t] = sum_j x_ij weights[j, t]
inline void project(const Rows& rows, int64_t i, const double* weights, int64_t stride, TaskRange tasks, double* out) {
  for_tasks(tasks, [&](auto width, int64_t t) {
    using Width = decltype(width);
    typename Width::Values sum = rows.bias * load<Width>(weights + rows.n_columns * stride + t);
    for (int64_t j = rows.indptr[i]; j < rows.indptr[i + 1]; ++j) {
      sum += rows.values[j] * load<Width>(weights + rows.indices[j] * stride + t);
    }
    store(sum, out + t);
  });
}

// weights[j, t] += x_ij step[t]
inline void deposit(const Rows& rows, int64_t i, const double* step, double scale, int64_t n_tasks, TaskRange tasks,
                    double* weights) {
  for_tasks(tasks, [&](auto width, int64_t t) {
    using Width = decltype(width);
    const typename Width::Values own = load<Width>(step + t);
    for_features(rows, i, n_tasks, [&](double x, int64_t place) {
      double* w = weights + place + t;
      store(load<Width>(w) + scale * x * own, w);
    });
  });
}

// The wish of task t on row i: `sign` f should lie in [lower, upper], at this cost.
struct Wish {
  double sign, lower, upper, cost;
};

inline Wish wish(const Targets& targets, int64_t i, int64_t t) {
  if (targets.labels == nullptr) {
    const double lower = targets.lower[i * targets.n_tasks + t], upper = targets.upper[i * targets.n_tasks + t];
    if (lower > -kInfinity) return {1, lower, upper, targets.cost[i]};
    return {-1, -upper, kInfinity, upper < kInfinity ? targets.cost[i] : 0};  // both infinite: nothing is wanted
  }
  return {targets.labels[i] == t ? 1. : -1., targets.margin, kInfinity, targets.cost[i]};
}

void decide(const Rows& rows, const double* weights, int64_t stride, int64_t n_tasks, int64_t first, int64_t last,
            double* out) {
  for (int64_t i = first; i < last; ++i) project(rows, i, weights, stride, {0, n_tasks}, out + i * n_tasks);
}

void aggressive(const Rows& rows, const Targets& targets, const int64_t* order, double aggressiveness, bool squared,
                double variance, TaskRange tasks, double* weights, double* dual, double* drift, int64_t seen,
                double* loss, double* change, double* work) {
  const int64_t n_tasks = targets.n_tasks;
  double *f = work, *step = work + n_tasks;
  for (int64_t t = tasks.first; t < tasks.last; ++t) change[t] = 0;
  for (int64_t visit = 0; visit < rows.n; ++visit) {
    const int64_t i = order[visit];
    const double gram = variance * row_norm(rows, i);  // G_ii
    project(rows, i, weights, n_tasks, tasks, f);
    bool moved = false;
    for (int64_t t = tasks.first; t < tasks.last; ++t) {
      const Wish w = wish(targets, i, t);
      const double before = dual ? dual[i * n_tasks + t] : 0;  // of sign * dual
      const double margin = w.sign * f[t];
      loss[t] += w.cost * hinge(margin, w.lower, w.upper);
      step[t] = 0;
      if (gram == 0 || w.cost == 0) continue;
      const double rest = margin - gram * before;  // the margin without this example's own contribution
      const double limit = aggressiveness * w.cost;
      const double soft = squared ? gram + 0.5 / limit : gram;
      double after = 0;  // [PA-1]: the step that just meets the margin, cut off at C
      if (rest < w.lower) after = (w.lower - rest) / soft;
      if (rest > w.upper) after = (w.upper - rest) / soft;
      if (!squared) after = after > limit ? limit : after < -limit ? -limit : after;
      if (after == before) continue;
      moved = true;
      step[t] = w.sign * (after - before);
      if (dual) dual[i * n_tasks + t] = after;
      const double moved_by = gram * absolute(after - before);
      change[t] = moved_by > change[t] ? moved_by : change[t];
    }
    if (!moved) continue;
    deposit(rows, i, step, variance, n_tasks, tasks, weights);
    if (drift) deposit(rows, i, step, variance * static_cast<double>(seen + visit), n_tasks, tasks, drift);
  }
}

inline Tilt tilt_one(TiltMethod method, double m, double s, double lower, double upper, double cost) {
  return method == TiltMethod::moments   ? tilted_moments(m, s, lower, upper, cost)
         : method == TiltMethod::squared ? tilted_squared(m, s, lower, upper, cost)
                                         : tilted_mean_field(m, s, lower, upper, cost);
}

// The tilt of a wish; beyond 38 standard deviations inside the margin the tilt is 1 in double precision: passive.
inline Tilt tilt_wish(const Wish& w, double f, double s, double cost, TiltMethod method) {
  if (w.cost == 0) return {0, 0, 1};
  const double m = w.sign * f, room = m - w.lower < w.upper - m ? m - w.lower : w.upper - m;
  if (room > 0 && room * room > 38. * 38. * s && method == TiltMethod::moments) return {0, 0, 1};
  Tilt tilt = tilt_one(method, m, s, w.lower, w.upper, cost * w.cost);
  tilt.gain *= w.sign;
  return tilt;
}

void gibbs_diagonal(const Rows& rows, const Targets& targets, double cost, TiltMethod method, TaskRange tasks,
                    int64_t stride, double* mean, double* variance, double* objective, double* work) {
  const int64_t n_tasks = targets.n_tasks;
  double *f = work, *s = work + n_tasks, *gain = work + 2 * n_tasks, *shrink = work + 3 * n_tasks;
  for (int64_t i = 0; i < rows.n; ++i) {
    for_tasks(tasks, [&](auto width, int64_t t) {
      using Width = decltype(width);
      typename Width::Values margin = {}, spread = {};
      for_features(rows, i, stride, [&](double x, int64_t place) {
        margin += x * load<Width>(mean + place + t);
        spread += x * x * load<Width>(variance + place + t);
      });
      store(margin, f + t);
      store(spread, s + t);
    });
    for (int64_t t = tasks.first; t < tasks.last; ++t) {
      const Tilt tilt = tilt_wish(wish(targets, i, t), f[t], s[t], cost, method);
      objective[t] -= tilt.log_mass;
      gain[t] = tilt.gain;
      shrink[t] = s[t] > 0 ? (tilt.ratio - 1) / s[t] : 0;
    }
    for_tasks(tasks, [&](auto width, int64_t t) {
      using Width = decltype(width);
      const typename Width::Values own_gain = load<Width>(gain + t), own_shrink = load<Width>(shrink + t);
      bool moved = false;
      for (int64_t k = t; k < t + Width::size; ++k) moved |= gain[k] != 0 || shrink[k] != 0;
      if (!moved) return;
      for_features(rows, i, stride, [&](double x, int64_t place) {
        double *m = mean + place + t, *v = variance + place + t;
        const typename Width::Values before = load<Width>(v), pull = before * x;
        store(load<Width>(m) + pull * own_gain, m);       // [PA-3] mu'
        store(before + pull * pull * own_shrink, v);  // [PA-3] the diagonal of Sigma'
      });
    });
  }
}

void gibbs_isotropic(const Rows& rows, const Targets& targets, double cost, TiltMethod method, TaskRange tasks,
                     double* mean, double* variance, double* objective, double* work) {
  const int64_t n_tasks = targets.n_tasks;
  double *f = work, *step = work + n_tasks;
  for (int64_t i = 0; i < rows.n; ++i) {
    const double norm = row_norm(rows, i);
    project(rows, i, mean, n_tasks, tasks, f);
    for (int64_t t = tasks.first; t < tasks.last; ++t) {
      const Tilt tilt = tilt_wish(wish(targets, i, t), f[t], variance[t] * norm, cost, method);
      objective[t] -= tilt.log_mass;
      step[t] = variance[t] * tilt.gain;
      // One direction of D + 1 shrinks: the isotropic Gaussian with the same trace.
      variance[t] *= 1 + (tilt.ratio - 1) / static_cast<double>(rows.n_columns + (rows.bias != 0));
    }
    deposit(rows, i, step, 1, n_tasks, tasks, mean);
  }
}

void gibbs_full(const Rows& rows, const Targets& targets, double cost, TiltMethod method, TaskRange tasks, double* mean,
                double* covariance, double* shift, double* precision, double* objective, double* work) {
  const int64_t size = rows.n_columns + 1;
  double* direction = work;  // Sigma x
  for (int64_t t = tasks.first; t < tasks.last; ++t) {
    double *mu = mean + t * size, *sigma = covariance + t * size * size;
    double *h = shift + t * size, *p = precision + t * size * size;
    for (int64_t i = 0; i < rows.n; ++i) {
      const int64_t first = rows.indptr[i], last = rows.indptr[i + 1];
      const auto x = [&](int64_t j) { return j < last ? rows.values[j] : rows.bias; };
      const auto column = [&](int64_t j) { return j < last ? int64_t{rows.indices[j]} : rows.n_columns; };
      double f = 0, s = 0;
      for (int64_t a = 0; a < size; ++a) direction[a] = 0;
      for (int64_t j = first; j <= last; ++j) {
        const double* row = sigma + column(j) * size;
        for (int64_t a = 0; a < size; ++a) direction[a] += x(j) * row[a];
        f += x(j) * mu[column(j)];
      }
      for (int64_t j = first; j <= last; ++j) s += x(j) * direction[column(j)];
      const Tilt tilt = tilt_wish(wish(targets, i, t), f, s, cost, method);
      objective[t] -= tilt.log_mass;
      if (s <= 0 || (tilt.gain == 0 && tilt.ratio == 1)) continue;
      const double shrink = (tilt.ratio - 1) / s;
      const double site = (1 / tilt.ratio - 1) / s;                // Sherman-Morrison: P' = P + site x x'
      const double pull = tilt.gain + site * (f + s * tilt.gain);  // h' = h + pull x
      for (int64_t a = 0; a < size; ++a) {
        mu[a] += direction[a] * tilt.gain;  // [PA-3]
        double* row = sigma + a * size;
        for (int64_t b = 0; b < size; ++b) row[b] += shrink * (direction[a] * direction[b]);  // [PA-3]
      }
      for (int64_t j = first; j <= last; ++j) {
        h[column(j)] += pull * x(j);
        for (int64_t l = first; l <= last; ++l) p[column(j) * size + column(l)] += site * (x(j) * x(l));
      }
    }
  }
}

void tilt(const double* m, const double* s, const double* lower, const double* upper, int64_t n, double cost,
          TiltMethod method, double* out) {
  for (int64_t i = 0; i < n; ++i) {
    const Tilt tilted = tilt_one(method, m[i], s[i], lower[i], upper[i], cost);
    out[3 * i] = tilted.log_mass, out[3 * i + 1] = tilted.gain, out[3 * i + 2] = tilted.ratio;
  }
}

constexpr LinearKernels linear_kernels = {decide, aggressive, gibbs_diagonal, gibbs_isotropic, gibbs_full, tilt};

}  // namespace
}  // namespace bayespa
