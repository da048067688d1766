"""One million sparse examples through partial_fit: memory and time per example at the start and at the end.

python -m benchmarks.stream_flat [--examples 1000000] [--estimator gibbs|averaging|pa]
"""

import argparse

import numpy as np
from scipy import sparse

from bayespa import BayesPAClassifier, PassiveAggressiveClassifier
from benchmarks.measure import Watch
from benchmarks.memory import resident_megabytes

ESTIMATORS = {
    "gibbs": BayesPAClassifier(),
    "averaging": BayesPAClassifier(rule="averaging"),
    "pa": PassiveAggressiveClassifier(average=True),
}
N_FEATURES, N_CLASSES, N_ENTRIES, BATCH = 50_000, 10, 50, 1000


def batch(rng: np.random.Generator) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Draw examples whose class owns a share of their features, of Zipfian frequencies."""
    y = rng.integers(N_CLASSES, size=BATCH)
    indices = (N_FEATURES * rng.random((BATCH, N_ENTRIES)) ** 3).astype(np.int32)
    own = rng.random((BATCH, N_ENTRIES)) < 0.2
    indices = np.where(own, indices - (indices - y[:, None]) % N_CLASSES, indices).clip(0)
    X = sparse.csr_matrix(
        (np.full(indices.size, N_ENTRIES**-0.5), indices.ravel(), np.arange(BATCH + 1) * N_ENTRIES),
        shape=(BATCH, N_FEATURES),
    )
    X.sum_duplicates()
    return X, y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1_000_000)
    parser.add_argument("--estimator", choices=ESTIMATORS, default="gibbs")
    arguments = parser.parse_args()
    model, rng = ESTIMATORS[arguments.estimator], np.random.default_rng(0)
    n_batches = arguments.examples // BATCH
    microseconds, megabytes, accuracy = [], [], []
    for i in range(n_batches):
        X, y = batch(rng)
        if i > 0 and i % max(1, n_batches // 20) == 0:
            accuracy.append(model.score(X, y))
            print(
                f"{i * BATCH:9d} examples: {megabytes[-1]:7.1f} MB, {microseconds[-1]:6.1f} us an example, "
                f"accuracy before learning {accuracy[-1]:.3f}",
                flush=True,
            )
        with Watch() as watch:
            model.partial_fit(X, y, classes=np.arange(N_CLASSES))
        microseconds.append(watch.cpu / BATCH * 1e6)
        megabytes.append(resident_megabytes())
    tenth = max(1, n_batches // 10)
    early, late = (
        float(np.median(part)) for part in (microseconds[tenth : 2 * tenth], microseconds[-tenth:])
    )
    print(
        f"time an example: {early:.1f} us in the second tenth, {late:.1f} in the last: {late / early:.3f} x"
    )
    before, after = megabytes[tenth], megabytes[-1]
    print(f"resident memory: {before:.1f} MB after a tenth, {after:.1f} at the end: {after / before:.3f} x")


if __name__ == "__main__":
    main()
