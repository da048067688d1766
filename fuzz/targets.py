"""What is fuzzed: functions of bytes, which they may refuse as documented and nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import bayespa
from bayespa.corpus import BagVectorizer, OnlineVocabulary, Problems, read
from bayespa.native.text import WordRules
from bayespa.text import files
from bayespa.text.files import ModelFileError
from fuzz.texts import assert_twins

SEEDS = Path(__file__).with_name("seeds")
GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
SUFFIXES = {
    "lines": "a.txt",
    "files": "a.text",
    "jsonl": "a.jsonl",
    "csv": "a.csv",
    "tsv": "a.tsv",
    "parquet": "a.parquet",
    "arrow": "a.arrow",
    "libsvm": "a.svm",
    "uci": "docword.a.txt",
    "matlab": "a.data",
    "gml": "a.gml",
    "gzip": "a.jsonl.gz",
    "xz": "a.jsonl.xz",
    "zstandard": "a.jsonl.zst",
}
TARGETS = (None, "class", "classes", "number")
BESIDE = b"\n---\n"  # in a seed of matlab or uci: here another file begins


def read_corpus(kind: str, data: bytes) -> None:
    """Read a file, its first byte saying what labels are, and count its words: nothing may be raised."""
    options, data = (data[0] if data else 0), data[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, SUFFIXES[kind])
        if kind in ("matlab", "uci"):
            data, *beside = data.split(BESIDE)
            for name, content in zip(("a.label", "a.map", "vocab.a.txt"), beside, strict=False):
                path.with_name(name).write_bytes(content)
        path.write_bytes(data)
        documents = list(
            read(
                path,
                format="files" if kind == "files" else None,
                target=TARGETS[options % 4],  # type: ignore[arg-type]
                separator=";" if options & 4 else None,
                max_bytes=1000 if options & 8 else 10_000_000,
                problems=Problems(),
            )
        )
        contents = [document.content for document in documents]
        if contents:
            vocabulary = OnlineVocabulary() if isinstance(contents[0], str) else BagVectorizer()
            vocabulary.learn(contents)


def load_model(data: bytes) -> None:
    """Load a model whose checksum is right, whatever else is wrong, and use it."""
    found = files._BEGINNING.match(data[8:200])
    if found is not None:
        first, last = (8 + place for place in found.span(2))
        data = data[:first] + files._digest([data[:first], data[last:]]) + data[last:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.bayespa")
        path.write_bytes(data)
        try:
            model = bayespa.load(path)
        except ModelFileError:
            return
        if isinstance(model, bayespa.TextModel) and _tokens_that_wait(model) < 10_000:
            model.predict(["one two three", ""])
        bayespa.save(model, path)


def _tokens_that_wait(model: bayespa.TextModel) -> int:
    """Return how many tokens a prediction would learn first; a changed byte can make millions of them."""
    waiting = model.learner._learned.waiting
    pieces = [] if waiting is None else waiting.pieces
    return sum(int(piece.corpus.counts.row_sums().sum()) for piece in pieces)


def count_words(data: bytes) -> None:
    """Count the words of texts, divided by NUL: as the twin in Python does, from text and from bytes."""
    options, data = (data[0] if data else 0), data[1:]
    rules = WordRules(
        max_words=3 if options & 1 else 1000,
        min_count=1 + (options >> 1 & 1),
        max_candidates=2 if options & 4 else 1000,
        lowercase=not options & 8,
        min_length=1 + (options >> 4 & 1),
        n_grams=1 + (options >> 5 & 3),
        min_run_count=2,
        max_runs=5,
        left_out=frozenset(["the", "é"] if options & 128 else []),
    )
    pieces = data.split(b"\0")
    assert_twins([piece.decode("utf-8", "surrogateescape") for piece in pieces], rules)
    try:
        for piece in pieces:
            piece.decode()
    except UnicodeDecodeError:
        return
    assert_twins(pieces, rules)


FUZZED: dict[str, Callable[[bytes], None]] = {
    **{kind: partial(read_corpus, kind) for kind in SUFFIXES},
    "words": count_words,
    "model": load_model,
}


def seeds(name: str) -> list[Path]:
    """Return the files that fuzzing a target begins with."""
    return sorted(GOLDEN.glob("*.bayespa")) if name == "model" else sorted((SEEDS / name).iterdir())
