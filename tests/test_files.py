import json
import os
import resource
import subprocess
import sys
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression

import bayespa
from bayespa import ModelFileError
from bayespa.text import files, saving

GOLDEN = Path(__file__).parent / "golden"
SMALL = GOLDEN / "v1-medlda-class.bayespa"


def classification(kind, **parameters):
    X, y = make_classification(120, 6, n_informative=4, n_classes=3, random_state=0)
    X = np.abs(np.rint(X * 3))
    return kind(random_state=0, **parameters), X, np.array(["x", "yy", "z"])[y]


def regression(kind, **parameters):
    X, y = make_regression(120, 6, random_state=0)
    return kind(random_state=0, **parameters), np.abs(np.rint(X * 3)), y / 100


MODELS = {
    "medlda": classification(bayespa.MedLDAClassifier, n_topics=5),
    "medlda-ovr": classification(bayespa.MedLDAClassifier, n_topics=3, multi_class="ovr"),
    "medlda-averaging": classification(bayespa.MedLDAClassifier, n_topics=3, expert={"rule": "averaging"}),
    "medlda-number": regression(bayespa.MedLDARegressor, n_topics=5),
    "medhdp": classification(bayespa.MedHDPClassifier),
    "medhdp-ovr": classification(bayespa.MedHDPClassifier, multi_class="ovr"),
    "medhdp-number": regression(bayespa.MedHDPRegressor),
    "bayespa": classification(bayespa.BayesPAClassifier),
    "bayespa-full": classification(bayespa.BayesPAClassifier, covariance="full"),
    "bayespa-isotropic": classification(bayespa.BayesPAClassifier, covariance="isotropic"),
    "bayespa-hard": classification(bayespa.BayesPAClassifier, rule="averaging", cost=np.inf, batch_size=1),
    "bayespa-weighted": classification(bayespa.BayesPAClassifier, class_weight={"x": 2.0, "yy": 1, "z": 0.5}),
    "bayespa-number": regression(bayespa.BayesPARegressor),
    "pa": classification(bayespa.PassiveAggressiveClassifier),
    "pa-mean": classification(bayespa.PassiveAggressiveClassifier, average=True),
    "pa-number": regression(bayespa.PassiveAggressiveRegressor),
}


@pytest.mark.parametrize("kind", [bayespa.OnlineHDP, bayespa.OnlineLDA])
def test_topics_without_labels(tmp_path, kind):
    X = MODELS["medlda"][1]
    model = kind(batch_size=32, random_state=0).fit(X[:80])
    bayespa.save(model, tmp_path / "a")
    loaded = bayespa.load(tmp_path / "a")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    np.testing.assert_array_equal(loaded.partial_fit(X).topic_word_, model.partial_fit(X).topic_word_)
    state, arrays = files.read(tmp_path / "a")
    for name, wrong, match in (
        ("n_features_in_", 7, r"topics have shape \(\d+, 6\)"),
        ("n_features_in_", 0, "n_features_in_ is 0"),
    ):
        bad = {**state, "learned": {**state["learned"], name: wrong}}
        with pytest.raises(ModelFileError, match=match):
            bayespa.load(forged(bad, arrays, tmp_path / "b"))
    topics = {name: -a if name.endswith(("concentration", "counts")) else a for name, a in arrays.items()}
    refused = r"of word 0 in topic 0 is -" if kind is bayespa.OnlineLDA else r"tokens\[0\] is .* sums to -"
    with pytest.raises(ModelFileError, match=refused):
        bayespa.load(forged(state, topics, tmp_path / "b"))


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_a_model_of_a_whole_corpus(tmp_path, multi_class):
    _, X, y = MODELS["medlda"]
    model = bayespa.GibbsMedLDAClassifier(
        3, n_sweeps=8, burn_in=4, multi_class=multi_class, random_state=0
    ).fit(X, y)
    bayespa.save(model, tmp_path / "a")
    loaded = bayespa.load(tmp_path / "a")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.coef_cov_, model.coef_cov_)
    bayespa.save(loaded, tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("counts", lambda a: -a, r"tokens\[0\] is \d.* in counts sums to -\d"),
        ("counts", lambda a: np.roll(a, 1, axis=1), r"tokens\[0\] is .* both must be equal and positive"),
        (
            "counts",
            lambda a: a + 1e3 * np.eye(6)[:, :1] - 1e3 * np.eye(6)[:, 1:2],
            "of word 1 in topic 0 is -",
        ),
        (
            "counts",
            lambda a: a[:, 1:],
            r"counts has shape \(6, \d+\) .*; \d+ topics of 6 words in 3 tasks need",
        ),
        ("counts", lambda a: np.full_like(a, np.nan), r"counts\[0, 0\] is nan"),
        ("ids", lambda a: 0 * a, r"ids are \[0, 0.*different numbers from 0 to \d"),
        ("ids", lambda a: a + 0.5, "ids has shape .* and type float64; .* int64"),
        ("next_id", lambda a: 0 * a, "different numbers from 0 to -1"),
        ("tables", lambda a: a - 1e3, r"tables\[0\] is -\d.*; it must not be negative"),
    ],
)
def test_forged_topics_are_refused_by_name_and_place(name, change, message, tmp_path):
    model, X, y = MODELS["medhdp"]
    bayespa.save(model.fit(X, y), tmp_path / "a")
    state, arrays = files.read(tmp_path / "a")
    arrays = {key: change(a) if key.endswith(f".topics.{name}") else a for key, a in arrays.items()}
    with pytest.raises(ModelFileError, match=f"{message}.*another copy"):
        bayespa.load(forged(state, arrays, tmp_path / "b"))


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_predicts_and_goes_on_learning_with_the_same_bits(name, tmp_path):
    model, X, y = MODELS[name]
    model.fit(X[:80], y[:80])
    bayespa.save(model, tmp_path / "a")
    loaded = bayespa.load(tmp_path / "a")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))

    bayespa.save(loaded, tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
    for one, path in (model, "c"), (loaded, "d"):
        bayespa.save(one.partial_fit(X[80:], y[80:]), tmp_path / path)
    assert (tmp_path / "c").read_bytes() == (tmp_path / "d").read_bytes()
    bayespa.save(
        bayespa.load(tmp_path / "a"), tmp_path / "b"
    )  # learning has not written into the mapped file
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()


def test_what_was_loaded_stays_when_the_model_learns():
    model = bayespa.load(SMALL)
    held = model.estimator.posterior_["topics"].concentration
    copied = held.copy()
    assert not held.flags.writeable
    model.learn(["cat and mouse", "stars"], ["animals", "sky"])
    assert model.estimator.posterior_["topics"].concentration.sum() > copied.sum()
    np.testing.assert_array_equal(held, copied)


def test_classes_of_any_plain_type(tmp_path):
    for y in (np.array([2, 5, 7] * 4), np.array(["a", "b", "c"] * 4, object), np.array([True, False] * 6)):
        model = bayespa.BayesPAClassifier().fit(np.eye(12), y)
        bayespa.save(model, tmp_path / "m")
        loaded = bayespa.load(tmp_path / "m")
        assert loaded.classes_.dtype == model.classes_.dtype
        assert loaded.classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("v*-*.bayespa")), ids=lambda path: path.stem)
def test_files_of_every_version_of_the_format_load(path):
    make = {}
    make["__file__"] = ""
    exec((GOLDEN / "make.py").read_text(encoding="utf-8").split("if __name__")[0], make)
    expected = json.loads((GOLDEN / f"{path.stem.split('-')[0]}.json").read_text(encoding="utf-8"))[path.stem]
    model = bayespa.load(path)
    assert json.loads(json.dumps(make["said"](model))) == expected
    if isinstance(model, bayespa.TextModel):
        assert model.history.points == []
        model.learn(make["TEXTS"], make["TARGETS"][model.target])
    elif not isinstance(model, bayespa.GibbsMedLDAClassifier):  # which learns a corpus as a whole
        model.partial_fit(make["COUNTS"])


@pytest.mark.parametrize(
    ("name", "message"),
    [("words", "words were learned by an earlier version"), ("linear", "a BayesPAClassifier is not of kind")],
)
def test_files_of_words_with_other_features_are_refused(name, message):
    with pytest.raises(ModelFileError, match=f"{message}.*train again"):
        bayespa.load(GOLDEN / f"refused-{name}.bayespa")


def test_every_truncation_and_every_flipped_bit_is_refused(tmp_path):
    whole = SMALL.read_bytes()

    def refused(content):
        with pytest.raises(ModelFileError, match=r"^(is|has) "):
            files.decode(memoryview(content))

    for length in range(len(whole)):
        refused(whole[:length])
    refused(whole + b"\0")
    flipped = bytearray(whole)
    for byte in range(len(whole)):
        for bit in range(8):
            flipped[byte] ^= 1 << bit
            refused(flipped)
            flipped[byte] ^= 1 << bit
    assert files.decode(memoryview(flipped))[0]["kind"] == "TextModel"
    for content in (whole[:-1], whole[:100], whole[:7], whole.replace(b"stars", b"stops")):
        (tmp_path / "m").write_bytes(content)
        with pytest.raises(ModelFileError, match=r"/m is (not|damaged)"):
            bayespa.load(tmp_path / "m")


def forged(state, arrays, path):
    """Write a file whose checksum is right and whose content is not."""
    files.write(path, state, arrays)
    return path


def leaves(value, path=()):
    """Yield the places of all values within values."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield from leaves(one, (*path, key))


@pytest.mark.parametrize("name", [p.stem for p in sorted(GOLDEN.glob("v*-*.bayespa"))])
def test_forged_states_are_refused_or_harmless(name, tmp_path, monkeypatch):
    """Put every kind of wrong value in every place of the state."""
    # Documents that wait are learned for each answer.
    monkeypatch.setattr("bayespa.topics.waiting.MOST_PASSES", 2)
    original = (GOLDEN / f"{name}.bayespa").resolve()
    if b"_waiting" in original.read_bytes():  # else each prediction would learn the documents that wait
        bayespa.save(bayespa.load(original).settle(), tmp_path / "settled")
        original = tmp_path / "settled"
    state, arrays = files.read(original)
    if state["kind"] == "TextModel":
        points = [[0, 0.0, 0, {}], [4, 0.75, 3, {"7": 2.5}]]
        state["description"]["history"] = {"seen": 8, "stride": 2, "missing": 1, "points": points}
        assert bayespa.load(forged(state, arrays, tmp_path / "m")).history.points[1].topics == {"7": 2.5}
    state = [state]  # so that the whole, too, has a place
    texts = ["cat and mouse", "stars", ""]
    for place in leaves(state):
        if not place:
            continue
        inner = state
        for key in place[:-1]:
            inner = inner[key]
        right = inner[place[-1]]
        for wrong in (
            None,
            -1,
            10**30,
            0.5,
            "__class__",
            [],
            {"array": "_bias"},
            {"float": "nan"},
            {"x": 1},
            True,
        ):
            inner[place[-1]] = wrong
            content = b"".join(files._encode(state[0], arrays))
            monkeypatch.setattr(files, "_content", lambda path, content=content: content)
            try:
                model = bayespa.load("of thousands, none of which need be written")
            except ModelFileError:
                continue
            with suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                # no MemoryError, and no crash
                model.predict(texts) if isinstance(model, bayespa.TextModel) else model.transform(np.eye(20))
        inner[place[-1]] = right


def test_forged_headers_are_refused(tmp_path):
    good = {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}

    def refused(entries, data, match):
        text = json.dumps(entries, separators=(",", ":")).encode()[1:]
        zeros = b"0" * 64
        head = b'{"__metadata__":{"format":"bayespa","version":"1","sha256":"%s"},' % zeros + text
        head = len(head).to_bytes(8, "little") + head
        digest = files._digest([*head.split(zeros, 1), data])
        path = tmp_path / "m"
        path.write_bytes(head.replace(zeros, digest) + data)
        with pytest.raises(ModelFileError, match=match):
            files.read(path)

    refused({"a": good}, bytes(16), "state")
    refused({"a": good | {"shape": [10**18]}}, bytes(16), "size of its shape")
    refused({"a": good | {"shape": [-2]}}, bytes(16), "not a number")
    refused({"a": good | {"shape": [2.0]}}, bytes(16), "not a number")
    refused({"a": good | {"data_offsets": [8, 24]}}, bytes(24), "ends")
    refused({"a": good, "b": good}, bytes(16), "ends")
    refused({"a": good | {"dtype": "O"}}, bytes(16), "KeyError")
    refused({"a": good}, bytes(17), "1 bytes belong")
    refused({"a": 3}, bytes(16), "TypeError")
    refused(
        {"state": {"dtype": "U8", "shape": [100_000], "data_offsets": [0, 100_000]}},
        b"[" * 100_000,
        "Recursion",
    )


def test_memory_is_bounded_by_the_size_of_the_file(tmp_path):
    (tmp_path / "m").write_bytes((2**62).to_bytes(8, "little") + SMALL.read_bytes()[8:])
    tracemalloc.start()
    with pytest.raises(ModelFileError):
        bayespa.load(tmp_path / "m")
    state, arrays = files.read(SMALL)
    state["estimator"]["learned"]["classes_"] = {"texts": ["", "x" * 200_000] + [""] * 2_000}
    forged(state, arrays, tmp_path / "m")
    with pytest.raises(ModelFileError, match="too many"):
        bayespa.load(tmp_path / "m")
    for name in ("n_topics", "n_sweeps"):
        state, arrays = files.read(SMALL)
        state["estimator"]["parameters"][name] = 10**9
        forged(state, arrays, tmp_path / "m")
        with pytest.raises(ModelFileError, match=name):
            bayespa.load(tmp_path / "m")
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_other_files_are_refused(tmp_path):
    for content, match in (
        (b"", "not a model file"),
        (b"PK\3\4" + bytes(100), "not a model file"),
        (SMALL.read_bytes().replace(b'"version":"1"', b'"version":"6"'), "format 6.*reads only up to 5"),
    ):
        (tmp_path / "m").write_bytes(content)
        with pytest.raises(ModelFileError, match=match):
            bayespa.load(tmp_path / "m")
    with pytest.raises(FileNotFoundError):
        bayespa.load(tmp_path / "none")


def test_what_cannot_be_saved_is_named():
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(TypeError, match=r"random_state is RandomState.*integer or None"):
        saving._from_estimator(bayespa.BayesPAClassifier(random_state=np.random.RandomState(0)).fit(X, y), {})
    with pytest.raises(TypeError, match="a dict cannot be saved"):
        bayespa.save({}, "nowhere")
    with pytest.raises(TypeError, match="array 'a' has type complex128"):
        files.write("nowhere", {}, {"a": np.zeros(1, complex)})


class TestWriting:
    @pytest.fixture
    def path(self, tmp_path):
        files.write(tmp_path / "m", "old", {})
        return tmp_path / "m"

    def test_full_disk(self, path):
        """A process that may write 4 kB only: what it cannot finish leaves the old file."""
        program = (
            "import resource, signal, numpy as np; from bayespa.text import files\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
            f"files.write({str(path)!r}, 'new', {{'a': np.zeros(10_000)}})"
        )
        found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert "File too large" in found.stderr
        assert files.read(path)[0] == "old"
        assert os.listdir(path.parent) == ["m"]
        assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY

    def test_failing_disk(self, path, monkeypatch):
        def fail(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="No space left"):
            files.write(path, "new", {})
        assert files.read(path)[0] == "old"
        assert os.listdir(path.parent) == ["m"]

    def test_folder_that_cannot_be_written_to(self, path):
        with pytest.raises(OSError, match="proc"):
            files.write("/proc/m", "new", {})
        with pytest.raises(FileNotFoundError):
            files.write(path.parent / "no" / "m", "new", {})

    def test_only_files_are_replaced(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "folder").mkdir()
        for name in ("pipe", "folder"):
            with pytest.raises(OSError, match=f"{name} exists and is not a regular file"):
                files.write(tmp_path / name, "new", {})
        assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]

    def test_links_and_permissions_stay(self, path):
        path.chmod(0o600)
        link = path.with_name("link")
        link.symlink_to(path)
        files.write(link, "new", {})
        assert link.is_symlink()
        assert files.read(path)[0] == "new"
        assert path.stat().st_mode & 0o777 == 0o600


def test_other_programs_can_read_the_arrays():
    """Read a file by the published description of safetensors."""
    raw = SMALL.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    start, end = header["_posterior.weights.shift"]["data_offsets"]
    assert length % 8 == 0
    assert start % 8 == 0
    shift = np.frombuffer(raw[8 + length + start : 8 + length + end], "<f8")
    np.testing.assert_array_equal(shift, bayespa.load(SMALL).estimator.posterior_["weights"].shift.ravel())


def test_a_vocabulary_smaller_than_the_estimator_is_refused(tmp_path):
    state, arrays = files.read(GOLDEN / "v3-linear-number.bayespa")
    n_words = len(state["vectorizer"]["words"])
    del state["vectorizer"]["words"][-1]
    message = f"its vocabulary has {n_words - 1} words, and its estimator {n_words}"
    with pytest.raises(ModelFileError, match=message):
        bayespa.load(forged(state, arrays, tmp_path / "a"))


@pytest.mark.parametrize("version", range(1, files.VERSION + 1))
@pytest.mark.parametrize("name", ["_flat", "_posterior", "_n_steps", "n_features_in_"])
def test_what_an_estimator_has_learned_is_all_there(version, name, tmp_path):
    state, arrays = files.read(GOLDEN / f"v{version}-medlda-number.bayespa")
    learned = state["estimator"]["learned"]
    learned["_other"] = learned.pop(name)
    with pytest.raises(ModelFileError, match=f"{name!r} is missing"):
        bayespa.load(forged(state, arrays, tmp_path / "a"))
