"""Model files that somebody made to do harm: they are refused by name, and take little memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fuzz import mutations

import bayespa
from bayespa import ModelFileError
from bayespa.text import files

GOLDEN = Path(__file__).parent / "golden"
SMALL = GOLDEN / "v1-medlda-class.bayespa"
HDP = GOLDEN / "v1-medhdp-class.bayespa"
N_MUTATIONS = 300  # `make check-all` tries 6000


def test_mutations_are_refused_or_answer_in_bounded_memory():
    outcomes, most, faults = mutations.check(N_MUTATIONS)
    assert not faults
    assert outcomes.total() == N_MUTATIONS
    assert outcomes["loaded and used"] > N_MUTATIONS / 20
    assert most < mutations.ROOM


def raw(path, state, entries=()):
    """Write a file of a JSON text and arrays, (name, dtype, shape, bytes), with the right checksum."""
    draft = mutations.Draft(SMALL.read_bytes())
    draft.state, draft.raw = "@", {'"@"': state}
    draft.entries = [
        (name, {"dtype": kind, "shape": list(shape)}, data) for name, kind, shape, data in entries
    ]
    path.write_bytes(draft.content())


def changed(golden, change):
    """Return the JSON text and the entries of a golden file whose state was changed."""
    draft = mutations.Draft(golden.read_bytes())
    change(draft.state)
    return json.dumps(draft.state), [(n, e["dtype"], e["shape"], data) for n, e, data in draft.entries]


MEASURED = """
import json, os, sys
from pathlib import Path
import bayespa
from fuzz.mutations import memory
*paths, first, second = sys.argv[1:]
for golden in (first, second):
    bayespa.load(golden)
for path in paths:
    if os.fork():  # a process of its own for each, with no memory that another has left
        assert os.wait()[1] == 0
        continue
    Path("/proc/self/clear_refs").write_text("5")
    before, said = memory("VmRSS"), "loaded"
    try:
        model = bayespa.load(path)
    except bayespa.ModelFileError as error:
        said = str(error)
    print(json.dumps([said, memory("VmHWM") - before]), flush=True)
    os._exit(0)
"""


def loaded(*paths):
    """Return what loading files says, and the bytes that each takes, in a process of its own."""
    command = [sys.executable, "-c", MEASURED, *map(str, [*paths, SMALL, HDP])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def one_value(text):
    """Return a golden state in which a JSON text stands for an attribute."""

    def change(state):
        state["estimator"]["learned"]["objective_"] = "@@"

    state, entries = changed(SMALL, change)
    return state.replace('"@@"', text), entries


def words(n):
    def change(state):
        state["vectorizer"] = {"kind": "BagVectorizer", "words": [f"a{i}" for i in range(n)], "n_columns": n}

    return changed(SMALL, change)


def candidates(n):
    def change(state):
        state["vectorizer"].update(
            max_candidates=10**9, min_count=3, candidates={f"a{i}": 1 for i in range(n)}
        )

    return changed(SMALL, change)


def other_learned(golden, **values):
    return changed(golden, lambda state: state["estimator"]["learned"].update(values))


def tasks_without_topics(n):
    """An HDP with very many tasks, and no topic."""
    state, _ = other_learned(HDP, classes_={"objects": [f"{i:09}" for i in range(n)]})
    zeros = {
        "ids": ("I64", (0,)),
        "next_id": ("I64", (1,)),
        "tokens": ("F64", (0,)),
        "tables": ("F64", (0,)),
        "counts": ("F64", (20, 0)),
        "shift": ("F64", (n, 1)),
        "precision": ("F64", (n, 1, 1)),
    }
    entries = [
        (f"_posterior.topics.{name}", kind, shape, bytes(8 * int(np.prod(shape))))
        for name, (kind, shape) in zeros.items()
    ]
    log_weights = ("_posterior.temperature.log_weights", "F64", (33,), bytes(8 * 33))
    return state, [*entries, log_weights]


def empty_rows(n):
    state, entries = other_learned(HDP, n_features_in_=n)
    return state, [
        (name, kind, (n, 0) if name.endswith("counts") else shape, b"" if name.endswith("counts") else data)
        for name, kind, shape, data in entries
    ]


def many_times_one_array(n):
    size = 8 * 2**20
    state, entries = other_learned(SMALL, objective_=[{"array": "big"}] * n)
    return state, [*entries, ("big", "U8", (size,), bytes(size))]


def narrow_numbers(n):
    state, entries = changed(SMALL, lambda state: None)
    return state, [
        (name, "U8", (3, n), b"\1" * 3 * n) if name.endswith("concentration") else (name, kind, shape, data)
        for name, kind, shape, data in entries
    ]


ATTACKS = {
    "nested texts": lambda: one_value(json.dumps([{"texts": ["x" * 20_000] + [""] * 2_000}] * 15)),
    "one array 400 times": lambda: many_times_one_array(400),
    "rows of nothing": lambda: empty_rows(250_000_000),
    "some rows of nothing": lambda: empty_rows(2_000_000),
    "lists": lambda: one_value("[" + "[]," * 2_000_000 + "0]"),
    "lists of lists": lambda: one_value("[" + "[[]]," * 1_000_000 + "0]"),
    "objects": lambda: one_value("[" + '{"":0},' * 1_000_000 + "0]"),
    "some objects": lambda: one_value("[" + '{"texts":[]},' * 80_000 + "0]"),
    "depth": lambda: one_value("[" * 100_000 + "]" * 100_000),
    "some depth": lambda: one_value("[" * 100 + "]" * 100),
    "one wide text": lambda: one_value('"' + "x" * 6_000_000 + '\N{GRINNING FACE}"'),
    "a text to be named": lambda: changed(SMALL, lambda s: s["estimator"].update(kind="\0" * 3_000_000)),
    "a pattern": lambda: changed(SMALL, lambda s: s["vectorizer"].update(token_pattern="a|" * 1_000_000)),
    "words": lambda: words(1_000_000),
    "some words": lambda: words(240_000),
    "candidates": lambda: candidates(1_000_000),
    "some candidates": lambda: candidates(240_000),
    "classes": lambda: other_learned(SMALL, classes_={"texts": [f"{i:07}" for i in range(240_000)]}),
    "losses": lambda: other_learned(SMALL, objective_=[0.5] * 240_000),
    "arrays": lambda: (
        json.dumps({"kind": "TextModel"}),
        [(str(i), "F64", (0,), b"") for i in range(100_000)],
    ),
    "some arrays": lambda: (
        json.dumps({"kind": "TextModel"}),
        [(str(i), "F64", (0,), b"") for i in range(30_000)],
    ),
    "tasks without topics": lambda: tasks_without_topics(100_000),
    "narrow numbers": lambda: narrow_numbers(4_000_000),
    "many tasks": lambda: changed(
        GOLDEN / "v1-medlda-number.bayespa",
        lambda s: (
            s["estimator"]["learned"].update(_n_tasks=10**9),
            s["estimator"]["parameters"].update(multi_class="ovr"),
        ),
    ),
}


def test_memory_is_bounded_by_the_size_of_the_file(tmp_path):
    paths = []
    for name, attack in ATTACKS.items():
        paths.append(tmp_path / name)
        raw(paths[-1], *attack())
    found = loaded(*paths)
    assert len(found) == len(paths)
    for path, (said, taken) in zip(paths, found, strict=True):
        print(f"{path.name}: {path.stat().st_size} bytes take {taken}: {said}")
        assert taken < mutations.ROOM + mutations.TIMES * path.stat().st_size, path.name
        assert said == "loaded" or said.startswith(str(path))
        assert len(said) < 1000


def value(state, *place):
    for key in place[:-1]:
        state = state[key]
    return state, place[-1]


@pytest.mark.parametrize(
    ("place", "wrong", "match"),
    [
        (("estimator", "learned", "classes_"), {}, "ValueError|not enough"),
        (("estimator", "learned", "_key"), 2**64, "_key is 18446744073709551616"),
        (("estimator", "learned", "_key"), 10**400, "_key is 1000"),
        (("estimator", "learned", "_n_steps"), 2**63, "_n_steps is"),
        (("estimator", "learned", "objective_"), "12", "objective_ must be a list of numbers"),
        (("estimator", "learned", "feature_names_in_"), {"texts": ["a"]}, "must be 20 names"),
        (("estimator", "learned", "classes_"), {"texts": ["b", "a"]}, "different and sorted"),
        (("estimator", "learned", "classes_"), {"objects": [[1], [2]]}, "names must be texts or numbers"),
        (("estimator", "learned", "classes_"), {"texts": ["a"], "x": 1}, "has 'texts' and 'x'"),
        (("estimator", "learned", "_posterior"), {"joint": {}}, "topics"),
        (("estimator", "parameters", "prediction_sweeps"), 10**9, "prediction_sweeps is 1000000000"),
        (("estimator", "parameters", "n_jobs"), 10**9, "n_jobs is 1000000000"),
        (("estimator", "parameters", "concentration"), 1e299, "alpha is 1e\\+299"),
        (("vectorizer", "max_words"), 30.5, "max_words of OnlineVocabulary is 30.5"),
        (("vectorizer", "stop_words"), False, "stop_words=False are not texts"),
        (("vectorizer", "lowercase"), 1, "lowercase=1"),
        (("vectorizer", "token_pattern"), "(" * 10_001, "token_pattern must be a text of up to 10000"),
        (("vectorizer", "kind"), {}, "TypeError"),
        (("vectorizer",), [], "not an object"),
        (("description", "reading"), [1], "reading is a list"),
        (("description", "run"), {"documents": -1, "checksum": 0, "scores": None}, "documents is -1"),
        (("description", "run"), {}, "'documents' is missing"),
        (("description", "target"), "number", "is not of kind"),
        (("description", "classes"), {"names": ["a", "b"]}, "of its estimator differ"),
    ],
)
def test_wrong_values_are_named(place, wrong, match, tmp_path):
    def change(state):
        inside, key = value(state, *place)
        inside[key] = wrong

    path = tmp_path / "m"
    raw(path, *changed(SMALL, change))
    with pytest.raises(ModelFileError, match=match) as refused:
        bayespa.load(path)
    assert str(refused.value).startswith(str(path))
    assert refused.value.__cause__ is not None


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"input": "filename"}, "reads texts, not names of files"),
        ({"dtype": "(1000000000,)f8"}, "dtype='\\(1000000000,\\)f8' is unknown"),
        ({"dtype": None}, "dtype=None"),
        ({"ngram_range": [1, "x"]}, "TypeError"),
        ({"n_features": 2**40}, "n_features"),
        ({"analyzer": "words"}, "analyzer"),
        ({"token_pattern": None}, "token_pattern must be"),
    ],
)
def test_vectorizers_of_others_are_checked(change, match, tmp_path):
    from sklearn.feature_extraction.text import HashingVectorizer

    model = bayespa.TextModel(vectorizer=HashingVectorizer(n_features=64, norm=None, alternate_sign=False))
    bayespa.save(model.learn(["a cat", "a star"], ["x", "y"]), tmp_path / "m")
    raw(tmp_path / "n", *changed(tmp_path / "m", lambda state: state["vectorizer"].update(change)))
    with pytest.raises(ModelFileError, match=match):
        bayespa.load(tmp_path / "n")


@pytest.mark.parametrize(
    ("state", "entries", "match"),
    [
        ("NaN", (), "NaN is not JSON"),
        ("[" * 33 + "]" * 33, (), "nested more than 32 deep"),
        ("0", [("a", "F64", (2**21 + 1, 0), b"")], "too large for an empty array"),
        ("0", [("a", "F64", (0, 2**11, 2**11), b"")], "too large for an empty array"),
        ("0", [("a", "F64", (1,) * 100, bytes(8))], "dimension"),
        (r'"\ud800"', (), "surrogates not allowed"),
        (r'{"\uDC00": 1}', (), "surrogates not allowed"),
        ("\ud800", (), ""),
    ],
)
def test_headers_and_texts_are_checked(state, entries, match, tmp_path):
    if state == "\ud800":
        content = SMALL.read_bytes().replace(b"garden", b"gard\xff\xff")
        first, last = files._BEGINNING.match(content, 8).span(2)
        content = content[:first] + files._digest([content[:first], content[last:]]) + content[last:]
        (tmp_path / "m").write_bytes(content)
        match = "codec can't decode"
    else:
        raw(tmp_path / "m", state, entries)
    with pytest.raises(ModelFileError, match=match):
        files.read(tmp_path / "m")


def test_what_is_saved_can_be_loaded(tmp_path):
    """Of the longest names and the largest vocabulary by default; what could not be loaded is not saved."""
    state = bayespa.corpus.OnlineVocabulary(min_count=2, fixed_width=True).to_state()
    words, candidates = [f"w{i}" for i in range(100_000)], {f"c{i}": 1 for i in range(200_000)}
    vocabulary = bayespa.corpus.OnlineVocabulary.from_state(
        state | {"words": words, "candidates": candidates}
    )
    model = bayespa.TextModel("linear", vectorizer=vocabulary).learn(["w1 w2", "w3"], ["a", "b"]).settle()
    bayespa.save(model, tmp_path / "m")
    ((said, taken),) = loaded(tmp_path / "m")
    assert said == "loaded"
    assert taken < mutations.ROOM + mutations.TIMES * (tmp_path / "m").stat().st_size
    names = [f"{i:04}" + "x" * 5000 for i in range(1000)]
    wide = bayespa.PassiveAggressiveClassifier().partial_fit([[1.0]], names[:1], classes=names)
    with pytest.raises(ValueError, match="1000 names of 5004 characters are too many"):
        bayespa.save(wide, tmp_path / "wide")
    deep = 0
    for _ in range(33):
        deep = [deep]
    with pytest.raises(ValueError, match="nested more than 32 deep"):
        files.write(tmp_path / "deep", deep, {})
    with pytest.raises(ValueError, match="there are about 300000 values"):
        files.write(tmp_path / "many", [0] * 300_000, {})
    assert os.listdir(tmp_path) == ["m"]
