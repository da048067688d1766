"""Keys, addresses and the exactness of draws; test_distributions.py tests what they are distributed as."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayespa import _native
from bayespa.native import random
from bayespa.reference import random as reference

KEY = 0x0123456789ABCDEF
SMALL_TO_LARGE = np.array([1e-300, 1e-3, 0.3, 0.999, 1.0, 2.5, 40.0, 1e9, 1e300])
A, B = (p.ravel() for p in np.meshgrid(SMALL_TO_LARGE, SMALL_TO_LARGE))
PARAMETERS = {
    "uniform": (),
    "normal": (),
    "gamma": (np.repeat(SMALL_TO_LARGE, 9),),
    "log_gamma": (np.repeat(SMALL_TO_LARGE, 9),),
    "beta": (A, B),
    "inverse_gaussian": (A, B),
}
DRAWS = list(PARAMETERS)

# Philox4x32-10 in the known-answer file of Random123: counter, key, block.
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text):
    return np.array([int(word, 16) for word in text.split()], np.uint32)


def native_philox(key, counters):
    out = np.empty_like(counters)
    _native.philox(key, counters, out)
    return out


def draw(name, addresses, parameters, n_threads=1):
    return getattr(random, name)(KEY, addresses, *parameters, n_threads=n_threads)


@cache
def twin(name):
    """Draw with the twin at the addresses of a grid of 81."""
    function = getattr(reference, f"draw_{name}")
    parameters = np.transpose(PARAMETERS[name]).tolist() if PARAMETERS[name] else 81 * [()]
    return [
        function(reference.Stream(KEY, tuple(address)), *p)
        for address, p in zip(random.grid(81).tolist(), parameters, strict=True)
    ]


@pytest.mark.parametrize(("counter", "key", "block"), KNOWN_ANSWERS)
def test_philox_gives_the_known_answers(isa, counter, key, block):
    low, high = words(key).tolist()
    assert_array_equal(native_philox(high << 32 | low, words(counter)[None])[0], words(block))
    assert_array_equal(reference.philox(high << 32 | low, words(counter)), words(block))


def test_philox_repeats_the_twin(isa):
    counters = np.random.default_rng(0).integers(2**32, size=(1000, 4), dtype=np.uint32)
    assert_array_equal(native_philox(KEY, counters), reference.philox(KEY, counters))


def test_streams_and_subkeys_share_no_block():
    ends = np.array([0, 1, 2, 3, 2**32 - 2, 2**32 - 1], np.uint32)
    counters = np.stack(np.meshgrid(*4 * [ends]), axis=-1).reshape(-1, 4)
    assert len(np.unique(native_philox(KEY, counters), axis=0)) == len(counters)


def test_subkey_repeats_the_twin(isa):
    for numbers in [(0, 0, 0), (1, 2, 3), (2**32 - 1, 0, 7)]:
        assert random.subkey(KEY, *numbers) == reference.subkey(KEY, *numbers)
    keys = {random.subkey(KEY, *numbers) for numbers in random.grid(8, 8, 8).reshape(-1, 3).tolist()}
    assert len(keys) == 8**3


def test_uniforms_lie_inside_the_open_interval(isa):
    ends = np.array([0, 2**32 - 1], np.uint32)
    single = np.empty(2, np.float32)
    _native.uniform32(ends, single)
    assert_array_equal(single, np.array([2.0**-24, 1 - 2.0**-24], np.float32))
    assert reference.uniform64(0, 0) == 2.0**-53
    assert reference.uniform64(2**32 - 1, 2**32 - 1) == 1 - 2.0**-53


def test_uniform32_repeats_the_twin(isa):
    bits = np.random.default_rng(0).integers(2**32, size=1000, dtype=np.uint32)
    out = np.empty(1000, np.float32)
    _native.uniform32(bits, out)
    assert_array_equal(out, reference.uniform32(bits))


@pytest.mark.parametrize("name", DRAWS)
def test_draws_repeat_the_twin_bit_for_bit(isa, name):
    assert_array_equal(draw(name, random.grid(81), PARAMETERS[name]), twin(name))


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("n_threads", [2, 3, 7])
def test_threads_do_not_change_the_draws(isa, name, n_threads):
    parameters = [np.resize(p, 20_000) for p in PARAMETERS[name]]
    one = draw(name, random.grid(20_000), parameters)
    assert_array_equal(draw(name, random.grid(20_000), parameters, n_threads), one)


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_depends_on_its_address_alone(name):
    every = draw(name, random.grid(81), PARAMETERS[name])
    some = np.random.default_rng(0).permutation(81)[:20]
    parameters = [p[some] for p in PARAMETERS[name]]
    assert_array_equal(draw(name, random.grid(81)[some], parameters), every[some])


# Written down once: a change of any of these changes every model that a seed reproduces.
@pytest.mark.parametrize(
    ("name", "parameters", "value"),
    [
        ("uniform", (), "0x1.3d05e4038a546p-2"),
        ("normal", (), "-0x1.9ad1313f05673p-2"),
        ("gamma", (0.3,), "0x1.91328b0b8944cp-7"),
        ("log_gamma", (0.001,), "-0x1.2700fa6d6d01cp+10"),
        ("beta", (0.5, 2.0), "0x1.e4704d40e5c72p-5"),
        ("inverse_gaussian", (3.0, 1.0), "0x1.7b98265b29aa0p+2"),
    ],
)
def test_draws_are_the_same_as_ever(isa, name, parameters, value):
    address = np.array([1, 2, 3], np.uint32)
    assert float(draw(name, address, parameters)).hex() == value


@pytest.mark.parametrize("n_threads", [1, 2, 7])
@pytest.mark.parametrize("value", [0.0, -1.0, 1e-301, np.nan, np.inf])
def test_the_first_bad_parameter_is_named_for_any_number_of_threads(n_threads, value):
    a, b = np.ones(50_000), np.ones(50_000)
    b[[9_000, 20_000, 49_000]] = value
    with pytest.raises(ValueError, match=rf"^b\[9000\] = {value:g} must be finite and at least 1e-300$"):
        random.beta(KEY, random.grid(50_000), a, b, n_threads=n_threads)


def test_parameters_broadcast_to_the_shape_of_the_addresses():
    draws = random.gamma(KEY, random.grid(4, 3), np.array([0.5, 1.0, 2.0]))
    assert draws.shape == (4, 3)
    assert draws[1, 2] == random.gamma(KEY, np.array([1, 2, 0], np.uint32), 2.0)
    assert random.normal(KEY, random.grid(0, 3)).shape == (0, 3)


def test_wrong_arrays_are_refused_not_converted():
    with pytest.raises(TypeError):
        random.normal(KEY, np.array([[0, 0, -1]]))
    with pytest.raises(TypeError):
        _native.draw_normal(KEY, random.grid(5), np.empty(5, np.float32))
    with pytest.raises(ValueError, match=r"addresses must be \(n, 3\)"):
        _native.draw_normal(KEY, random.grid(5), np.empty(4))
    with pytest.raises(ValueError, match="as long as out"):
        _native.draw_gamma(KEY, random.grid(5), np.ones(4), np.empty(5))
    with pytest.raises(ValueError, match="n_threads must be at least 1"):
        random.normal(KEY, random.grid(5), n_threads=0)


def test_an_integer_seed_is_the_key():
    assert [random.key_from_seed(seed) for seed in (0, 7, np.int32(7), 2**64 - 1)] == [0, 7, 7, 2**64 - 1]


def test_generators_are_drawn_from():
    for make in (np.random.RandomState, np.random.default_rng):
        generator = make(3)
        keys = [random.key_from_seed(generator) for _ in range(3)]
        assert len(set(keys)) == 3
        assert random.key_from_seed(make(3)) == keys[0]
        assert max(keys) > 2**32


def test_no_seed_is_fresh_entropy():
    assert random.key_from_seed(None) != random.key_from_seed(None)


@pytest.mark.parametrize("seed", [-1, 2**64, 0.5, "7"])
def test_what_cannot_seed_is_named(seed):
    with pytest.raises(ValueError, match=f"random_state = {seed!r} cannot seed"):
        random.key_from_seed(seed)
