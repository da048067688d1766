"""Hashes of what models learn, say, save and print: their bits, to compare between machines and commits.

    python tests/golden/hashes.py            prints them
    python tests/golden/hashes.py --write    keeps those of models in tests/golden/hashes.json

Write them after a change of bits that is meant. tests/test_same_bits.py compares.
"""

import hashlib
import json
import os
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from sklearn.feature_extraction.text import CountVectorizer

import bayespa
from bayespa.cli import main
from bayespa.datasets import load_arxiv_sample, make_topic_corpus
from bayespa.inspect import c_v, npmi

KEPT = Path(__file__).with_name("hashes.json")
LEARNED = ("topic_word_", "topic_ids_", "coef_", "coef_cov_", "intercept_", "word_coef_", "objective_")
SAYS = ("predict", "decision_function", "decision_std", "predict_proba", "transform")
CATEGORIES = ("cs.CR", "cs.DC", "cs.NI", "math.GR")


class Papers:
    """Abstracts of four categories, their words, and three kinds of targets."""

    def __init__(self):
        sample = load_arxiv_sample()
        rows = [i for i, labels in enumerate(sample.labels) if labels[0] in CATEGORIES][::4]
        self.texts = [sample.data[i] for i in rows]
        self.labels = [sample.labels[i] for i in rows]
        vectorizer = CountVectorizer(min_df=4, stop_words="english")
        self.counts = vectorizer.fit_transform(self.texts)
        self.words = vectorizer.get_feature_names_out()
        self.targets = {
            "class": np.array([labels[0] for labels in self.labels]),
            "labels": np.array([[name in labels for name in CATEGORIES] for labels in self.labels], np.int64),
            "number": np.array([len(text) / 1024.0 - 1.0 for text in self.texts]),
        }


def digest(*values):
    """Return a hash of arrays, numbers and texts, bit by bit."""
    found = hashlib.sha256()
    for value in values:
        array = np.ascontiguousarray(value)
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def estimators(n_jobs):
    """Yield a name, an estimator that has learned nothing, and the kind of its targets."""
    common = {"random_state": 0, "n_jobs": n_jobs}
    topics, growing = {"n_topics": 6, "batch_size": 50, **common}, {"batch_size": 50, **common}
    yield "MedLDA", bayespa.MedLDAClassifier(**topics), "class"
    yield "MedLDA one-vs-rest", bayespa.MedLDAClassifier(multi_class="ovr", **topics), "class"
    yield "MedLDA of labels", bayespa.MedLDAClassifier(**topics), "labels"
    yield "MedLDA of numbers", bayespa.MedLDARegressor(**topics), "number"
    yield "MedHDP", bayespa.MedHDPClassifier(**growing), "class"
    yield "MedHDP one-vs-rest", bayespa.MedHDPClassifier(max_topics=6, multi_class="ovr", **growing), "class"
    yield "MedHDP of numbers", bayespa.MedHDPRegressor(**growing), "number"
    yield "Gibbs MedLDA", bayespa.GibbsMedLDAClassifier(n_topics=4, **common), "class"
    yield "linear", bayespa.BayesPAClassifier(batch_size=50, **common), "class"
    yield "linear of numbers", bayespa.BayesPARegressor(batch_size=50, **common), "number"
    yield "PA", bayespa.PassiveAggressiveClassifier(**common), "class"
    yield "PA of numbers", bayespa.PassiveAggressiveRegressor(**common), "number"
    yield "online LDA", bayespa.OnlineLDA(**topics), None
    yield "online HDP", bayespa.OnlineHDP(**growing), None


def learn(model, papers, target):
    """Learn all papers but the last: a half at first, then the rest."""
    X, y = papers.counts[:-20], None if target is None else papers.targets[target][:-20]
    if not hasattr(model, "partial_fit"):
        return model.fit(X, y)
    half = X.shape[0] // 2
    for rows in (slice(half), slice(half, None)):
        extra = {"classes": np.unique(y)} if target == "class" else {}
        model.partial_fit(X[rows], *([] if y is None else [y[rows]]), **extra)
    return model


def of_models(papers, n_jobs):
    """Yield the names and hashes of what estimators learn and say, and of their files."""
    for name, model, target in estimators(n_jobs):
        learn(model, papers, target)
        new = papers.counts[-20:]
        yield f"{name} learned", digest(*(getattr(model, key) for key in LEARNED if hasattr(model, key)))
        said = [getattr(model, key)(new) for key in SAYS if hasattr(model, key)]
        if hasattr(model, "topics"):
            said += model.topics(12, papers.words)
        if hasattr(model, "explain"):
            explanation = asdict(model.explain(new[0], feature_names=papers.words))
            said.append(json.dumps(explanation, default=str))
        yield f"{name} said", digest(*said)
        yield f"{name} file", of_file(model.set_params(n_jobs=None))
        if hasattr(model, "merge"):
            other = model.__class__(**model.get_params()).set_params(random_state=1)
            yield f"{name} merged", of_file(model.merge(learn(other, papers, target)))


@contextmanager
def empty_folder():
    """Work in an empty folder, so that paths are short and the same everywhere."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def of_file(model):
    """Return the hash of a model's file."""
    with empty_folder():
        bayespa.save(model, "model")
        return hashlib.sha256(Path("model").read_bytes()).hexdigest()


def of_program(papers, n_jobs):
    """Yield the names and hashes of what the program prints and saves."""
    jobs = ["--jobs", str(n_jobs), "--json"]
    labels = {
        "class": [labels[0] for labels in papers.labels],
        "labels": papers.labels,
        "number": papers.targets["number"].tolist(),
    }
    for target, values in labels.items():
        lines = [json.dumps({"text": t, "label": y}) for t, y in zip(papers.texts, values, strict=True)]
        with empty_folder():
            Path("papers.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
            learned = ["--text", "text", "--label", "label", "--topics", "6", "--batch-size", "50"]
            # A file keeps the number of threads, so this is the same everywhere.
            printed("train", "papers.jsonl", *learned, "-o", "model", "--jobs", "1")  # also how long it took
            yield f"bayespa train, {target}", hashlib.sha256(Path("model").read_bytes()).hexdigest()
            yield f"bayespa topics, {target}", printed("topics", "model", "--json")
            yield f"bayespa explain, {target}", printed("explain", "model", papers.texts[0], *jobs)
            yield f"bayespa predict, {target}", printed("predict", "model", "papers.jsonl", *jobs)
            yield f"bayespa evaluate, {target}", printed("evaluate", "model", "papers.jsonl", *jobs)


def printed(*arguments):
    """Return the hash of what a command prints."""
    found = CliRunner().invoke(main, arguments, catch_exceptions=False)
    if found.exit_code:
        raise RuntimeError(found.output)
    return digest(found.stdout)


def of_others(papers):
    """Yield the names and hashes of corpora that are made, and of what judges topics."""
    made = make_topic_corpus(200, n_words=100, n_topics=4, n_labels=2, zipf_exponent=1.2, random_state=0)
    yield "synthetic corpus", digest(made.data.toarray(), made.target, made.topic_word.toarray())
    topics = [papers.words[k::60][:10].tolist() for k in range(4)]
    names = {"feature_names": papers.words, "window": None}
    yield "coherence", digest(npmi(topics, papers.counts, **names), c_v(topics, papers.counts, **names))


def hashes(n_jobs=1):
    """Return all of them, by name."""
    papers = Papers()
    return dict([*of_models(papers, n_jobs), *of_program(papers, n_jobs), *of_others(papers)])


def kept(found):
    """Return those that a file keeps: of models, which depend on no other package and on no format."""
    return {name: value for name, value in found.items() if name.endswith((" learned", " said"))}


if __name__ == "__main__":
    found = hashes(n_jobs=2 if "--two-threads" in sys.argv else 1)
    if "--write" in sys.argv:
        KEPT.write_text(json.dumps(kept(found), indent=1) + "\n", encoding="utf-8")
    else:
        print(json.dumps(found, indent=1))
