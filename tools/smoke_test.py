"""Use an installed bayespa: import, fit, predict. Run by tools/wheel-test, outside the checkout."""

import sys
from pathlib import Path

import numpy as np

import bayespa

location = Path(bayespa.__file__)
assert Path(sys.prefix) in location.parents, f"tested {location}, which is not the installed wheel"

rng = np.random.default_rng(0)
y = rng.integers(3, size=300)
X = np.eye(3)[y] + 0.1 * rng.standard_normal((300, 3))
model = bayespa.BayesPAClassifier(random_state=0).partial_fit(X[:200], y[:200], classes=[0, 1, 2])
accuracy = np.mean(model.predict(X[200:]) == y[200:])
assert accuracy > 0.95, f"accuracy {accuracy} on three separable classes"
print(f"smoke test: {location.parent}, accuracy {accuracy:.2f} on separable classes")
