"""The fuzzed functions take their seeds, also with a few bytes changed; `make fuzz` goes on from there."""

import numpy as np
import pytest
from fuzz.targets import FUZZED, seeds


@pytest.mark.parametrize("name", FUZZED)
def test_seeds_and_their_neighbours(name):
    rng = np.random.default_rng(0)
    assert seeds(name)
    for path in seeds(name):
        data = path.read_bytes()
        FUZZED[name](data)
        for _ in range(20):
            changed = bytearray(data)
            for place in rng.integers(len(data), size=rng.integers(1, 4)):
                changed[place] = rng.integers(256)
            cut = slice(None) if rng.random() < 0.7 else slice(int(rng.integers(len(data))))
            FUZZED[name](bytes(changed[cut]))
