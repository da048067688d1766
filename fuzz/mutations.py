"""Model files whose checksum is right and whose content is not: what loading them does, and what it takes.

python -m fuzz.mutations [--number 6000] [--first 0]

Each number stands for one mutation of one file. A file must be refused with ModelFileError, or the model must
answer. All this may take ten times the size of the file and 64 MB.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import random
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

import bayespa
from bayespa.corpus import Bag, BagVectorizer, OnlineVocabulary
from bayespa.text import files
from bayespa.text.files import ModelFileError

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
ROOM, TIMES = 64 * 2**20, 10  # what loading and using a file may take: bytes, and times its size
BATCH = 250  # files that one process loads
PATIENCE = 120  # seconds, after which a file has hung the process
TEXTS = ["the cat chases the mouse", "stars and planets orbit in space", "", "nothing known"] * 3
LABELS = ["animals", "sky", "sky", "animals"] * 3


# Files to begin with: those of every version, and some of every kind of model and vocabulary.


def make_files(folder: Path) -> list[Path]:
    """Return files of models, golden ones and others that are written to the folder."""
    counts = OnlineVocabulary(min_count=1).learn(TEXTS)
    made: dict[str, Any] = {}
    for kind in ("medlda", "medhdp", "linear"):
        grows = kind != "linear"
        vocabulary = OnlineVocabulary(30, min_count=2, fixed_width=not grows, stop_words=["in", "the"])
        made[kind] = bayespa.TextModel(kind, vectorizer=vocabulary, random_state=0).learn(TEXTS, LABELS)
    model = made["medlda"]
    model.history.begin({"0": 2.5})
    model.history.add(0.5, 4, 12)
    scores = {"target": "class", "n": 4, "exact": 3, "sums": [0.0] * 4}
    scores |= {name: {"sky": 2, "animals": 1} for name in ("hits", "true", "given")}
    model._learned = replace(model._learned, run={"documents": 12, "checksum": 7, "scores": scores})
    model.reading = {"text": "body", "encoding": "utf-8"}
    several = [("animals",), ("sky", "far"), (), None] * 3
    made["labels"] = bayespa.TextModel(
        "medlda", random_state=0, n_topics=2, vectorizer=CountVectorizer().fit(TEXTS)
    )
    made["labels"].learn(TEXTS, several)
    hashing = HashingVectorizer(n_features=64, norm=None, alternate_sign=False)
    made["hashed"] = bayespa.TextModel(
        "medlda", random_state=0, vectorizer=hashing, n_topics=2, multi_class="ovr"
    )
    made["hashed"].learn(TEXTS, ["a", "b", "c"] * 4)
    bags = [Bag(np.array([i % 3, 3]), np.array([2, 1])) for i in range(12)]
    made["bags"] = bayespa.TextModel("medhdp", random_state=0, vectorizer=BagVectorizer()).learn(bags, LABELS)
    for kind in (bayespa.PassiveAggressiveClassifier, bayespa.PassiveAggressiveRegressor):
        y = LABELS if kind is bayespa.PassiveAggressiveClassifier else np.arange(12.0)
        made[kind.__name__] = kind(average=True, random_state=0).fit(counts, y)
    for covariance in ("full", "isotropic"):
        one = bayespa.BayesPAClassifier(covariance=covariance, class_weight={0: 1.0, 1: 2.5, 2: 1.0})
        made[covariance] = one.fit(counts.toarray(), np.arange(12) % 3)
    for name, one in made.items():
        bayespa.save(one, folder / f"{name}.bayespa")
    return [*sorted(GOLDEN.glob("v1-*.bayespa")), *sorted(folder.glob("*.bayespa"))]


# Mutations


class Draft:
    """A file in parts, to be changed and written."""

    def __init__(self, content: bytes) -> None:
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        self.version = int(header.pop("__metadata__")["version"])
        data = content[8 + length :]
        self.entries: list[tuple[str, dict[str, Any], bytes]] = []
        self.raw: dict[str, str] = {}  # texts to put in place of others that stand for them
        for name, entry in header.items():
            start, end = entry.pop("data_offsets")
            if name == files.STATE:
                self.state = json.loads(data[start:end])
            else:
                self.entries.append((name, entry, data[start:end]))

    def content(self) -> bytes:
        """Return the bytes of the file, with the right checksum."""
        text = json.dumps(self.state)
        for sign, raw in self.raw.items():
            text = text.replace(sign, raw)
        state = text.encode()
        header, data, end = [], [], 0
        entries = [*self.entries, (files.STATE, {"dtype": "U8", "shape": [len(state)]}, state)]
        for name, entry, own in entries:
            described = {**entry, "data_offsets": entry.get("data_offsets", [end, end + len(own)])}
            header.append(f"{json.dumps(name)}:{json.dumps(described)}")
            data.append(own)
            end += len(own)
        zeros = b"0" * 64
        start = b'{"__metadata__":{"format":"bayespa","version":"%d","sha256":"%s"},' % (self.version, zeros)
        head = start + ",".join(header).encode() + b"}"
        head += b" " * (-len(head) % 8)
        head = len(head).to_bytes(8, "little") + head
        digest = files._digest([*head.split(zeros, 1), *data])
        return b"".join([head.replace(zeros, digest, 1), *data])


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield containers and keys of all values within a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in list(items):
        yield value, key
        yield from places(one)


def strange(rng: random.Random, draft: Draft) -> Any:
    """Return a value that is hardly right anywhere."""
    names = [name for name, _, _ in draft.entries] or ["none"]
    numbers = (0, 1, -1, 2, 3, 7, 2**31, 2**32 - 1, 2**53, 2**63, 10**9, 10**30, 10**400, -(10**30), 0.5)
    reals = (-0.0, 1e-320, 1e-30, 1e30, 1e308, -1e308, float("nan"), float("inf"), 30.5)
    kinds: list[Callable[[], Any]] = [
        lambda: rng.choice(numbers),
        lambda: rng.choice(reals),
        lambda: rng.choice(
            (None, True, False, "", "x", "__class__", "\ud800", "\x00", "nan", "gibbs", "topics")
        ),
        lambda: rng.choice(([], {}, [[]], [None], {"": 0}, [1, 2, 3], ["a", "b"], {"a": {}}, [0] * 1000)),
        lambda: {rng.choice(("array", "transposed")): rng.choice(names)},
        lambda: {
            rng.choice(("texts", "objects", "tuple")): rng.choice(([], ["a", "b"], "ab", [1], [[]], None))
        },
        lambda: {"texts": ["", "x" * 10 ** rng.randint(1, 5)] + ["y"] * 10 ** rng.randint(1, 4)},
        lambda: [{"texts": ["", "x" * 20_000] + [""] * 2_000}] * rng.randint(1, 8),
        lambda: {"float": rng.choice(("nan", "inf", "-inf", "1e400", "x", 3, None, "1" * 5000))},
        lambda: {"dict": rng.choice(([], [[1, 2]], [["a", {"array": names[0]}]], [[[], 1]], "ab", [1], {}))},
        lambda: {"joint": rng.choice(({}, {"self": 1}, {"topics": 1}, [], {"0": {"joint": {}}}))},
        lambda: [{"array": rng.choice(names)}] * rng.randint(2, 500),
        lambda: {
            "posterior": rng.choice(("Dirichlet", "Gaussian", "Tally", "Sticks", "TopicSums", "Joint", 3)),
            "arrays": {name: {"array": rng.choice(names)} for name in ("shift", "precision")},
        },
        lambda: {"unknown": rng.choice((1, None, [], "x"))},
        lambda: nested(rng, draft),
        lambda: ["w" + str(i) for i in range(10 ** rng.randint(1, 5))],
        lambda: {"w" + str(i): 1 for i in range(10 ** rng.randint(1, 5))},
        lambda: "(a" * 10 ** rng.randint(1, 5),
    ]
    return rng.choice(kinds)()


def nested(rng: random.Random, draft: Draft) -> str:
    """Return a sign for values within values, or for very many of them."""
    sign = f"@@{len(draft.raw)}@@"
    depth, (left, right) = (
        10 ** rng.randint(1, 6),
        rng.choice((("[", "]"), ('{"a":', "}"), ('{"tuple":[', "]}"))),
    )
    many = rng.choice(("[],", "{},", '{"":0},', "[[]],", '"ab",', "1.5,", '{"texts":[]},'))
    raw = rng.choice(
        (left * depth + "0" + right * depth, "[" + many * (depth // len(many)) + "0]", left * depth)
    )
    draft.raw[f'"{sign}"'] = raw
    return sign


def change_state(rng: random.Random, draft: Draft) -> None:
    """Change one value of the state, or a name, or their order."""
    found = list(places(draft.state))
    if not found or rng.random() < 0.01:
        draft.state = strange(rng, draft)
        return
    inside, key = rng.choice(found)
    value, how = inside[key], rng.randrange(8)
    if how == 0:
        del inside[key]
    elif how == 1 and isinstance(inside, dict):
        inside[rng.choice(("x", "kind", "self", "", "array", "_posterior", "words"))] = inside.pop(key)
    elif how == 2 and isinstance(inside, dict):
        inside[f"{key}2"] = value
    elif how == 3:
        other, other_key = rng.choice(found)
        inside[key], other[other_key] = deepcopy(other[other_key]), deepcopy(value)
    elif how == 4 and isinstance(value, list):
        inside[key] = value * rng.choice((0, 2, 1000)) + value[:1]
    elif how == 5 and isinstance(value, int | float):
        inside[key] = rng.choice(
            (-value, value + 1, value * 1000, value / 3, str(value), [value], value * 1e300)
        )
    else:
        inside[key] = strange(rng, draft)


def change_header(rng: random.Random, draft: Draft) -> None:
    """Change what the header says of an array, in most cases so that it still fits the data."""
    if not draft.entries:
        return
    i = rng.randrange(len(draft.entries))
    name, entry, data = draft.entries[i]
    entry, shape = dict(entry), list(entry["shape"]) if isinstance(entry.get("shape"), list) else []
    how = rng.randrange(10)
    if how == 0:
        entry["shape"] = rng.choice((shape[::-1], [*shape, 1], [1, *shape], [len(data) // 8], [], shape * 2))
    elif how == 1:
        big = rng.choice((3, 10**6, 250_000_000, 2**31, 2**62, 10**30))
        entry["shape"], data = rng.choice(([big, 0], [0, big], [0], [0, big, big], [big, 0, big])), b""
    elif how == 2:
        entry["dtype"] = rng.choice(("I64", "U64", "F64", "F32", "BOOL", "U8", "O", "F16", "", None, 3))
    elif how == 3:  # other numbers of the same shape
        dtype = rng.choice(("F32", "I32", "U8", "I64", "BOOL", "I16"))
        entry["dtype"] = dtype
        n = int(np.prod([n for n in shape if type(n) is int], dtype=object))
        data = bytes(rng.randrange(2) for _ in range(min(n, 10**4) * np.dtype(files._DTYPES[dtype]).itemsize))
    elif how == 4:
        name = rng.choice(("x", "", "state", "_posterior.topics.counts", "\x00", name + "2"))
    elif how == 5:
        del draft.entries[i]
        return
    elif how == 6:
        draft.entries.append((f"{name}2", entry, data))
    elif how == 7:
        j = rng.randrange(len(draft.entries))
        other = draft.entries[j]
        draft.entries[j] = (other[0], entry, data)
        entry, data = other[1:]
    elif how == 8:  # fewer or more rows
        if shape and type(shape[0]) is int and shape[0]:
            rows, kept = shape[0], rng.choice((0, 1, shape[0] - 1, shape[0] + 1, 2 * shape[0]))
            data = (data * 3)[: len(data) // rows * kept]
            entry["shape"] = [kept, *shape[1:]]
    else:
        wrong = rng.choice((None, -1, 10**30, 1.5, "8", [], {}, True))
        field = rng.choice(("shape", "data_offsets", "dtype"))
        entry[field] = rng.choice((wrong, [wrong], [wrong, wrong], [0, len(data)]))
    draft.entries[i] = (name, entry, data)


def change_data(rng: random.Random, draft: Draft) -> None:
    """Change numbers of an array."""
    if not draft.entries:
        return
    i = rng.randrange(len(draft.entries))
    name, entry, data = draft.entries[i]
    dtype = np.dtype(np.int64 if entry.get("dtype") == "I64" else np.float64)
    array = np.frombuffer(data[: len(data) // 8 * 8], dtype).copy()
    if not len(array):
        return
    reals = (0.0, -1.0, 1.0, 1e-320, 1e-30, 1e30, 1e300, -1e300, 2.0**-20, 0.5, np.nan, np.inf, -np.inf)
    wholes = (0, -1, 1, 2, 7, 2**31, 2**62, -(2**63))
    value = rng.choice(wholes if dtype.kind == "i" else reals)
    how = rng.randrange(5)
    with np.errstate(all="ignore"):
        if how == 0:
            array[rng.randrange(len(array))] = value
        elif how == 1:
            array[:] = value
        elif how == 2:
            array *= dtype.type(value)
        elif how == 3:
            array[:] = rng.sample(array.tolist(), len(array))
        else:
            array.view(np.uint8)[:] = list(rng.randbytes(array.nbytes))
    draft.entries[i] = (name, entry, array.tobytes() + data[len(data) // 8 * 8 :])


def mutation(number: int, paths: list[Path]) -> bytes:
    """Return the content of the file that a number stands for."""
    rng = random.Random(number)
    draft = Draft(paths[number % len(paths)].read_bytes())
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice((change_state, change_state, change_state, change_header, change_data))(rng, draft)
    return draft.content()


# What files do


def use(model: Any, folder: Path) -> None:
    """Ask a model all that one can ask it."""
    if isinstance(model, bayespa.TextModel):
        bag = Bag(np.array([0, 2]), np.array([1, 2]))
        texts = [bag, bag] if isinstance(model.vectorizer, BagVectorizer) else TEXTS[:4]
        model.predict(texts)
        if model.target != "number":
            model.predict_proba(texts)
        model.explain(texts[0])
        if model.kind != "linear":
            model.topics(3)
    else:
        counts = np.arange(2.0 * min(model.n_features_in_, 1000)).reshape(2, -1) % 3
        getattr(model, "predict", getattr(model, "transform", None))(counts)
        if hasattr(model, "topics"):
            model.topics(3)
    bayespa.save(model, folder / "again")


def outcome(path: Path) -> str:
    """Return what loading and using a file does."""
    try:
        model = bayespa.load(path)
    except ModelFileError as error:
        cause = error.__cause__.__cause__ or error.__cause__ if error.__cause__ else error
        return f"refused, because of {type(cause).__name__}"
    use(model, path.parent)
    return "loaded and used"


def memory(field: str) -> int:
    """Return bytes of memory that this process has now (VmRSS), or has had at most (VmHWM)."""
    (line,) = [x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(field)]
    return int(line.split()[1]) * 1024


def run(first: int, last: int, given: list[Path]) -> None:
    """Load mutations one after the other; print what each did, and the bytes that it took."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("it hangs"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.bayespa")
        for original in given:  # all that is imported late, and room that is not given back
            path.write_bytes(original.read_bytes())
            assert outcome(path) == "loaded and used", original
        gc.collect()
        gc.freeze()  # so that what is collected for each mutation is its own
        for number in range(first, last):
            print(json.dumps({"number": number}), flush=True)
            path.write_bytes(mutation(number, given))
            size = path.stat().st_size
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)  # what was given back does not hide what is taken
            Path("/proc/self/clear_refs").write_text("5")
            before = memory("VmRSS")
            signal.alarm(PATIENCE)
            try:
                found = outcome(path)
            except BaseException as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                found = f"wrong: {error!r} in {place.filename}:{place.lineno}"[:300]
            signal.alarm(0)
            taken = memory("VmHWM") - before
            print(json.dumps({"outcome": found, "size": size, "taken": taken}), flush=True)


def check(number: int, first: int = 0) -> tuple[Counter[str], int, list[str]]:
    """Try mutations; return their outcomes, the most bytes beyond ten times the size, and faults."""
    outcomes: Counter[str] = Counter()
    most, faults = 0, list[str]()
    with tempfile.TemporaryDirectory() as folder:
        given = make_files(Path(folder))
        begin = first
        while begin < first + number:
            end = min(begin + BATCH, first + number)
            command = [
                sys.executable,
                "-m",
                "fuzz.mutations",
                "--run",
                str(begin),
                str(end),
                *map(str, given),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            tried = [line["number"] for line in lines if "number" in line]
            for own, line in zip(tried, (x for x in lines if "outcome" in x), strict=False):
                outcomes[line["outcome"]] += 1
                beyond = line["taken"] - TIMES * line["size"]
                most = max(most, beyond)
                if line["outcome"].startswith("wrong") or beyond > ROOM:
                    faults.append(f"mutation {own}: {line}")
            if done.returncode:
                own = tried[-1] if tried else begin
                faults.append(
                    f"mutation {own}: the process ended with {done.returncode}: {done.stderr[-300:]}"
                )
                end = own + 1
            begin = end
    return outcomes, most, faults


def main() -> None:
    """Try mutations and tell what they did."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--number", type=int, default=6000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        first, last, *given = options.run
        return run(int(first), int(last), list(map(Path, given)))
    outcomes, most, faults = check(options.number, options.first)
    for name, n in outcomes.most_common():
        print(f"{n:6} {name}")
    print(f"memory beyond {TIMES} times the size: at most {most / 2**20:.1f} MB of {ROOM / 2**20:.0f} MB")
    if faults:
        raise SystemExit("\n".join(faults))


if __name__ == "__main__":
    main()
