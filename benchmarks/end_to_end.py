"""From a file to a model to predictions: CPU seconds, peak memory and accuracy, beside other programs.

Every program reads the same JSONL files, with one label a document, and does all of its work in a process of
its own with one thread: it starts, reads, counts, learns, and predicts the test file. What a program needs in
another format it writes itself, which is charged to it. Modules are compiled before. Settings are defaults,
except: SGD makes one pass over mini-batches of hashed words, Vowpal Wabbit one pass with hinge loss, fastText
its five passes, and tomotopy has 40 topics, 100 sweeps, and a linear SVM to read them out.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import ONE_THREAD, median_ratio
from benchmarks.page import Part, Table
from benchmarks.programs import PROGRAMS
from benchmarks.settings import Settings

OURS = ("bayespa medlda", "bayespa medhdp", "bayespa linear")
GENERATED = (1_000_000, 2_000)  # documents to learn from and to test on, once
QUICK = (4_000, 1_000)


def _installed(name: str) -> bool:
    first = name.split()[0].strip(",")
    return first in ("bayespa", "scikit-learn") or importlib.util.find_spec(first) is not None


def measured(name: str, train: Path, test: Path, bytecode: Path) -> tuple[float, float, float]:
    """Run a program in a process of its own; return CPU seconds, peak megabytes and accuracy.

    Python keeps compiled modules in the folder `bytecode`, as it does where they are installed.
    """
    environment = {**os.environ, **ONE_THREAD, "PYTHONPYCACHEPREFIX": str(bytecode)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = _cpu_of_children()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.programs", name, str(train), str(test)],
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
    peak, accuracy = json.loads(done.stdout.splitlines()[-1])
    return _cpu_of_children() - before, peak, accuracy


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _write(path: Path, pairs: Sequence[tuple[str, str]]) -> Path:
    lines = (json.dumps({"text": text, "label": label}) for text, label in pairs)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _corpora(settings: Settings) -> Iterator[tuple[str, Any, Any]]:
    """Yield corpora as (name, documents to learn from, documents to test on) of texts and labels."""
    from bayespa.datasets import fetch_20newsgroups, fetch_arxiv20, load_arxiv_sample, make_topic_corpus

    home = {"data_home": settings.data_home}
    try:
        news = [fetch_20newsgroups(part, download_if_missing=False, **home) for part in ("train", "test")]
        papers = [fetch_arxiv20(part, **home) for part in ("train", "test")]
    except FileNotFoundError:
        found = {"arXiv sample": [load_arxiv_sample(subset=part) for part in ("train", "test")]}
    else:
        found = {"20 Newsgroups": news, "arXiv": papers}
    for name, bunches in found.items():
        yield name, *(list(zip(bunch.data, _labels(bunch), strict=True)) for bunch in bunches)
    n, n_test = QUICK if settings.quick else GENERATED
    drawn = make_topic_corpus(n + n_test, n_words=20_000, n_topics=40, n_labels=20, random_state=0)
    spelled = str.maketrans("0123456789", "abcdefghij")  # topics leave out words of digits
    names = [f"zz{word}".translate(spelled) for word in range(drawn.data.shape[1])]
    texts = [" ".join(names[word] for word in row.indices.repeat(row.data)) for row in drawn.data]
    pairs = list(zip(texts, (f"class {y}" for y in drawn.target), strict=True))
    yield "generated", pairs[:n], pairs[n:]


def _labels(bunch: Any) -> list[str]:
    """Return one label a document: the first, if there are several."""
    if "labels" in bunch:
        return [labels[0] for labels in bunch.labels]
    return [bunch.target_names[place] for place in bunch.target]


def run(settings: Settings) -> Part:
    """Measure all."""
    rows: list[list[Any]] = []
    ratios: list[list[Any]] = []
    programs = [name for name in PROGRAMS if _installed(name)]
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        some = _write(folder / "some.jsonl", [("tea in a cup", "tea"), ("ships at sea", "sea")] * 50)
        for name in programs:  # compiles its modules
            measured(name, some, some, folder / "bytecode")
        for corpus, *parts in _corpora(settings):
            limits = QUICK if settings.quick else (None, None)
            train, test = (
                _write(folder / f"{name}.jsonl", pairs[:limit])
                for name, pairs, limit in zip(("train", "test"), parts, limits, strict=True)
            )
            found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in programs}
            for _ in range(1 if settings.quick or corpus == "generated" else 3):
                for name in programs:
                    found[name].append(measured(name, train, test, folder / "bytecode"))
            for name, values in found.items():
                cpu, peak, accuracy = (
                    sorted(column)[len(column) // 2] for column in zip(*values, strict=True)
                )
                rows.append([corpus, name, cpu, peak, accuracy])
                if name not in OURS:
                    faster = [
                        median_ratio((v[0] for v in values), (v[0] for v in found[ours])) for ours in OURS
                    ]
                    ratios.append(
                        [corpus, name, *faster, "CPU seconds from file to predictions, theirs by ours."]
                    )
    return Part(
        "End to end",
        str(__doc__).partition("\n\n")[2].strip(),
        [Table("From a file to predictions", ["corpus", "program", *OURS, "compared"], ratios)],
        absolute=[
            Table("From a file to predictions", ["corpus", "program", "CPU s", "peak MB", "accuracy"], rows)
        ],
    )
