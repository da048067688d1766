"""Programs that learn from a file and predict another: each runs alone in a process, which this module is.

python -m benchmarks.programs NAME TRAIN TEST

It prints the peak megabytes and the accuracy. A program imports what it needs when it runs, so that none
pays for another.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from benchmarks.memory import peak_megabytes


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


def main() -> None:
    name, train, test = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        accuracy = PROGRAMS[name](train, test, folder)
    print(json.dumps([peak_megabytes(), accuracy]))


if __name__ == "__main__":
    main()
