"""From a file to a model to predictions: CPU seconds, peak memory and accuracy, beside other programs.

Every program reads the same JSONL files, with one label a document, and does all of its work in a process of
its own with one thread: it starts, reads, counts, learns, and predicts the test file. What a program needs in
another format it writes itself, which is charged to it. Settings are defaults, except: SGD makes one pass
over mini-batches of hashed words, Vowpal Wabbit one pass with hinge loss, fastText its five passes, and
tomotopy has 40 topics, 100 sweeps, and a linear SVM to read them out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.measure import ONE_THREAD, median_ratio, peak_megabytes
from benchmarks.page import Part, Table
from benchmarks.peers import have
from benchmarks.settings import Settings

OURS = ("bayespa medlda", "bayespa medhdp", "bayespa linear")
GENERATED = (100_000, 2_000)  # documents to learn from and to test on
QUICK = (4_000, 1_000)


def _documents(path: str) -> Iterator[tuple[str, str]]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            yield record["text"], record["label"]


def _all(path: str) -> tuple[list[str], list[str]]:
    texts, labels = zip(*_documents(path), strict=True)
    return list(texts), list(labels)


def _accuracy(predicted: Any, labels: list[str]) -> float:
    return sum(a == b for a, b in zip(predicted, labels, strict=True)) / len(labels)


def bayespa(kind: str, train: str, test: str, folder: str) -> float:
    from click.testing import CliRunner

    from bayespa.cli import main

    model = os.path.join(folder, "model.bayespa")
    for command in (
        ["train", train, "--model", kind, "--jobs", "1", "-o", model],
        ["evaluate", model, test, "--jobs", "1", "--json"],
    ):
        found = CliRunner().invoke(main, command, catch_exceptions=False)
        if found.exit_code:
            raise RuntimeError(found.output)
    return float(json.loads(found.stdout)["accuracy"])


def tfidf_svc(train: str, test: str, folder: str) -> float:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    texts, labels = _all(test)
    return _accuracy(make_pipeline(TfidfVectorizer(), LinearSVC()).fit(*_all(train)).predict(texts), labels)


def hashing_sgd(train: str, test: str, folder: str) -> float:
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    words, model = HashingVectorizer(), SGDClassifier(random_state=0)
    classes = sorted({label for _, label in _documents(train)})
    documents = _documents(train)
    while chunk := list(islice(documents, 1000)):
        texts, labels = zip(*chunk, strict=True)
        model.partial_fit(words.transform(texts), labels, classes=classes)
    texts, labels = _all(test)
    return _accuracy(model.predict(words.transform(texts)), labels)


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def vowpal_wabbit(train: str, test: str, folder: str) -> float:
    from vowpalwabbit import Workspace

    code: dict[str, int] = {}
    for _, label in _documents(train):
        code.setdefault(label, len(code) + 1)
    model = Workspace(f"--oaa {len(code)} --loss_function hinge -b 20 --quiet")
    for text, label in _documents(train):
        model.learn(f"{code[label]} | {_plain(text)}")
    texts, labels = _all(test)
    names = {number: label for label, number in code.items()}
    return _accuracy([names[int(model.predict(f"| {_plain(text)}"))] for text in texts], labels)


def fasttext(train: str, test: str, folder: str) -> float:
    import fasttext

    path = os.path.join(folder, "train.txt")
    with open(path, "w", encoding="utf-8") as file:
        for text, label in _documents(train):
            file.write(f"__label__{label.replace(' ', '_')} {_plain(text)}\n")
    model = fasttext.train_supervised(path, thread=1, verbose=0)
    texts, labels = _all(test)
    predicted = model.f.multilinePredict([_plain(text) + "\n" for text in texts], 1, 0.0, "strict")[0]
    return _accuracy([names[0] for names in predicted], [f"__label__{y.replace(' ', '_')}" for y in labels])


def tomotopy_svc(train: str, test: str, folder: str) -> float:
    import tomotopy
    from sklearn.svm import LinearSVC

    model = tomotopy.LDAModel(k=40, seed=1)
    (texts, labels), (new, wanted) = _all(train), _all(test)
    for text in texts:
        model.add_doc(_plain(text).split() or ["none"])
    model.train(100, workers=1)
    shares = [document.get_topic_dist() for document in model.docs]
    found = model.infer([model.make_doc(_plain(text).split() or ["none"]) for text in new], workers=1)[0]
    return _accuracy(LinearSVC().fit(shares, labels).predict(found), wanted)


PROGRAMS: dict[str, Callable[[str, str, str], float]] = {
    **{
        f"bayespa {kind}": (lambda *a, kind=kind: bayespa(kind, *a))
        for kind in ("medlda", "medhdp", "linear")
    },
    "scikit-learn, tf-idf and LinearSVC": tfidf_svc,
    "scikit-learn, hashing and SGD": hashing_sgd,
    "vowpalwabbit": vowpal_wabbit,
    "fasttext": fasttext,
    "tomotopy LDA and LinearSVC": tomotopy_svc,
}


def _installed(name: str) -> bool:
    first = name.split()[0].strip(",")
    return first in ("bayespa", "scikit-learn") or have(first)


def measured(name: str, train: str, test: str) -> tuple[float, float, float]:
    """Run a program in a process of its own; return CPU seconds, peak megabytes and accuracy."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.end_to_end", name, train, test],
        env={**os.environ, **ONE_THREAD},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
    cpu, peak, accuracy = json.loads(done.stdout.splitlines()[-1])
    return cpu, peak, accuracy


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
        yield (
            name,
            *([(x, b.target_names[y]) for x, y in zip(b.data, b.target, strict=True)] for b in bunches),
        )
    n, n_test = QUICK if settings.quick else GENERATED
    drawn = make_topic_corpus(n + n_test, n_words=20_000, n_topics=40, n_labels=20, random_state=0)
    texts = [" ".join(f"w{word}" for word in row.indices.repeat(row.data)) for row in drawn.data]
    pairs = list(zip(texts, (f"class {y}" for y in drawn.target), strict=True))
    yield "generated", pairs[:n], pairs[n:]


def run(settings: Settings) -> Part:
    """Measure all."""
    rows: list[list[Any]] = []
    ratios: list[list[Any]] = []
    programs = [name for name in PROGRAMS if _installed(name)]
    with tempfile.TemporaryDirectory() as folder:
        for corpus, *parts in _corpora(settings):
            limits = QUICK if settings.quick else (None, None)
            paths = [os.path.join(folder, f"{part}.jsonl") for part in ("train", "test")]
            for path, pairs, limit in zip(paths, parts, limits, strict=True):
                lines = (json.dumps({"text": text, "label": label}) for text, label in pairs[:limit])
                Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
            rounds = range(1 if settings.quick else 3)
            found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in programs}
            for _ in rounds:
                for name in programs:
                    found[name].append(measured(name, *paths))
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


def main() -> None:
    name, train, test = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        accuracy = PROGRAMS[name](train, test, folder)
    print(json.dumps([time.process_time(), peak_megabytes(), accuracy]))


if __name__ == "__main__":
    main()
