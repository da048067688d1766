"""The studies of experiments/ run, and go on where they were."""

import json
import sys

import experiments.quality.__main__ as quality
import numpy as np
import pytest
from experiments.quality.splits import split
from experiments.who_decides import said_by_topics

from bayespa import MedLDAClassifier
from bayespa.datasets import make_topic_corpus


def test_study_of_quality(tmp_path, monkeypatch, capsys):
    sample = split("sample", holdout=True)
    small = sample._replace(X=sample.X[:600], y=sample.y[:600], X_test=sample.X_test[:200])
    small = small._replace(y_test=sample.y_test[:200])
    monkeypatch.setattr(quality, "split", lambda name, holdout: small)
    monkeypatch.setattr(quality.importlib.util, "find_spec", lambda name: None)
    output = tmp_path / "runs.jsonl"
    options = ["test", "--corpora", "sample", "--models", "MedLDA", "--seeds", "1", "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["quality", *options])
    quality.main()
    table = capsys.readouterr().out
    assert [line.split("|")[1].strip() for line in table.splitlines()[5:]] == [
        "MedLDA topics alone",
        "MedLDA defaults",
        *quality.CEILINGS,
    ]
    runs = [json.loads(line)["found"] for line in output.read_text().splitlines()]
    assert all(0.3 < run["score"] <= 1.0 for run in runs)
    quality.main()  # nothing is run again
    assert len(output.read_text().splitlines()) == len(runs)
    assert capsys.readouterr().out == table


def test_holdout_is_later_and_reads_no_test_documents(monkeypatch):
    fetched = []
    load = split.__globals__["load_arxiv_sample"]
    monkeypatch.setitem(
        split.__globals__, "load_arxiv_sample", lambda subset: fetched.append(subset) or load(subset=subset)
    )
    sample = split("sample", holdout=True)
    assert fetched == ["train"]
    assert sample.X.shape[0] + sample.X_test.shape[0] == 4000


def test_what_topics_say_is_what_explanations_say():
    corpus = make_topic_corpus(200, n_words=100, n_topics=4, n_labels=3, random_state=0)
    model = MedLDAClassifier(n_topics=4, random_state=0).fit(corpus.data, corpus.target)
    said = said_by_topics(model, corpus.data[:3])
    for row, document in zip(said, corpus.data[:3], strict=True):
        for task, target in enumerate(model.classes_):
            topics = model.explain(document, target).topics
            assert row[task] == pytest.approx(sum(topic.contribution for topic in topics), abs=1e-5)


def test_calibration_error():
    y = np.array([0, 1, 1, 0])
    probability = np.array([[0.9, 0.1], [0.2, 0.8], [0.9, 0.1], [0.9, 0.1]])
    assert quality.calibration_error(y, probability) == pytest.approx(0.75 * (0.9 - 2 / 3) + 0.25 * 0.2)
    labels = np.array([[1, 0], [1, 1]])
    assert quality.calibration_error(labels, labels.astype(float)) == 0.0
