"""The studies of experiments/ run, and go on where they were."""

import json
import sys

import experiments.quality.__main__ as quality
import experiments.rare as rare
import experiments.shift as shift
import experiments.suite.__main__ as suite
import experiments.sweeps as sweeps
import experiments.topics_alone as topics_alone
import numpy as np
import pytest
import scipy.sparse as sp
from experiments.forgetting import ordered, weighed
from experiments.mixing import distance, forced, noise, posterior
from experiments.quality.splits import split
from experiments.review import Plan
from experiments.review import run as reviewed
from experiments.review import stream as papers
from experiments.suite import corpora, learners
from experiments.suite.measures import Said, measured
from experiments.who_decides import said_by_topics

from bayespa import MedLDAClassifier
from bayespa.datasets import load_arxiv_sample, make_topic_corpus
from bayespa.topics.words import BIAS


def test_study_of_topics_alone(monkeypatch, capsys):
    sample = split("sample", holdout=True)
    small = sample._replace(X=sample.X[:300], y=sample.y[:300], X_test=sample.X_test[:50])
    small = small._replace(y_test=sample.y_test[:50])
    monkeypatch.setattr(topics_alone, "split", lambda name, holdout: small)
    monkeypatch.setattr(topics_alone, "SEEDS", 2)
    monkeypatch.setattr(sys, "argv", ["topics_alone"])
    topics_alone.main()
    rows = [line.split("|")[1].strip() for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == [*topics_alone.STEPS, "linear SVM, tf-idf"]
    assert topics_alone._capped(sp.csr_matrix([[3, 1]]), 2).toarray().tolist() == [[2, 1]]


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
            why, bias = model.explain(document, target), BIAS * model.posterior_["words"].mean()[task, 0]
            topics = why.base - bias + sum(topic.contribution for topic in why.topics)
            assert row[task] == pytest.approx(topics, abs=1e-5)


def test_calibration_error():
    y = np.array([0, 1, 1, 0])
    probability = np.array([[0.9, 0.1], [0.2, 0.8], [0.9, 0.1], [0.9, 0.1]])
    assert quality.calibration_error(y, probability) == pytest.approx(0.75 * (0.9 - 2 / 3) + 0.25 * 0.2)
    labels = np.array([[1, 0], [1, 1]])
    assert quality.calibration_error(labels, labels.astype(float)) == 0.0


def planted(n, rng, labels):
    """Texts of words that belong to a class, and of words that belong to none."""
    words = [[f"{label}{i}" for i in range(20)] for label in labels]
    chosen = rng.integers(len(labels), size=n)
    return [
        " ".join([*rng.choice(words[c], 4), *(f"common{i}" for i in rng.integers(50, size=4))])
        for c in chosen
    ], [labels[c] for c in chosen]


@pytest.fixture
def tiny(monkeypatch):
    """Corpora of classes, of several labels and of numbers, under names of the suite."""
    rng = np.random.default_rng(0)
    texts, labels = planted(900, rng, ["ant", "bee", "cat"])
    kinds = {
        "trec": labels,
        "huffpost": labels,
        "reuters": [[label, "animal"] for label in labels],
        "druglib": [float(label == "ant") + 2000.0 for label in labels],
    }
    for name, own in kinds.items():
        timed = name in corpora.TIMED
        parts = (
            corpora.Documents(texts[:600], own[:600], timed=timed),
            corpora.Documents(texts[600:], own[600:], timed=timed),
        )
        monkeypatch.setitem(corpora.READERS, name, lambda parts=parts: parts)
    return list(kinds)


def test_suite_runs_every_learner_once(tiny, tmp_path, capsys):
    output = tmp_path / "runs.jsonl"
    options = ["--corpora", *tiny, "--runs", str(output)]
    suite.main(["dev", *options])
    runs = [json.loads(line) for line in output.read_text().splitlines()]
    found = {(run["corpus"], run["learner"]): run.get("found") for run in runs}
    assert {learner for _, learner in found} == {*learners.CALLED, *learners.PEERS}
    without_vw = {cell: own for cell, own in found.items() if cell[1] != "VW" and cell[0] != "druglib"}
    assert all(own["accuracy"] > 0.9 for own in without_vw.values()), without_vw
    assert found["druglib", "ridge"]["accuracy"] > 0.8
    assert all(0.0 <= own["ece"] < 0.5 for own in found.values() if own and "ece" in own)
    suite.main(["dev", *options])  # nothing is run again
    assert len(output.read_text().splitlines()) == len(runs)
    suite.main(["dev", *options, "--learners", "medlda", "--set", "cost=4", "--set", "min_count=1"])
    suite.main(["dev", *options, "--learners", "train linear", "--corpora", "trec", "--order", "sorted"])
    suite.main(["dev", *options, "--stream", "--learners", "medlda", "PA", "AROW"])
    capsys.readouterr()
    suite.main(["page", "--runs", str(output)])
    page = capsys.readouterr().out
    assert "medlda [cost=4, min_count=1]" in page
    assert "| trec | train linear |  | " in page
    (stream,) = [line for line in page.splitlines() if line.startswith("| huffpost | time | AROW |")]
    assert all(float(cell) > 0.9 for cell in stream.split("|")[4:6])
    assert "- yes: accuracy within half a point of the best peer on every corpus" in page


def test_suite_chooses_on_training_documents_only(tiny):
    for name in tiny:
        train, test = corpora.READERS[name]()
        task = corpora.read(name, "dev")
        assert sorted(task.train.texts + task.test.texts) == sorted(train.texts)
        if name not in corpora.TIMED:  # what has the same text is on one side
            assert not set(task.train.texts) & set(task.test.texts)
            assert 60 < len(task.test.texts) < 180
        else:
            assert task.test.texts == train.texts[480:]
        assert corpora.read(name, "test").test.texts == test.texts
    stream = corpora.read_stream("reuters", "dev")
    assert stream.train.texts + stream.test.texts == corpora.READERS["reuters"]()[0].texts[:599]
    assert stream.target == "class"


def test_suite_holds_out_a_group_of_each_class():
    groups = [f"{label}{i // 5}" for label in "ab" for i in range(15)]
    documents = corpora.Documents(groups, [group[0] for group in groups], groups)
    held = corpora.held_out(documents)
    assert {group[0] for group, out in zip(groups, held, strict=True) if out} == {"a", "b"}
    assert held.sum() == 10
    assert not {g for g, out in zip(groups, held, strict=True) if out} & {
        g for g, out in zip(groups, held, strict=True) if not out
    }


def test_arow_is_its_formula():
    rng = np.random.default_rng(0)
    X, Y = sp.random(30, 8, 0.4, format="csr", random_state=0), rng.integers(2, size=(30, 2))
    model = learners.Arow(8, 2)
    model.learn(X, Y)
    dense = np.hstack([X.toarray(), np.ones((30, 1))])
    for task in range(2):
        mean, variance = np.zeros(9), np.ones(9)
        for x, y in zip(dense, 2 * Y[:, task] - 1, strict=True):
            if y * (mean @ x) < 1.0:
                beta = 1.0 / (x @ (variance * x) + 1.0)
                mean = mean + beta * (1.0 - y * (mean @ x)) * y * variance * x
                variance = variance - beta * (variance * x) ** 2
        np.testing.assert_allclose(model.mean[:, task], mean, atol=1e-12)
        np.testing.assert_allclose(model.variance[:, task], variance, atol=1e-12)
    np.testing.assert_allclose(model.decision(X), dense @ model.mean, atol=1e-12)


def test_measures_of_the_suite():
    y, p = np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    found = measured(y, Said(p.argmax(axis=1), p))
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["log loss"] == pytest.approx(-np.log([0.9, 0.8, 0.4]).mean())
    assert found["auroc"] == 1.0  # the wrong one is the least sure
    several = np.array([[1, 0], [1, 1], [0, 0]])
    q = np.array([[0.9, 0.1], [0.9, 0.6], [0.4, 0.6]])
    found = measured(several, Said((q > 0.5).astype(int), q))
    assert found["accuracy"] == pytest.approx(2 * 3 / (3 + 4))
    assert found["log loss"] == pytest.approx(-np.log([0.9, 0.9, 0.9, 0.6, 0.6, 0.4]).mean())
    assert found["auroc"] == 1.0
    assert measured(np.array([1.0, 3.0]), Said(np.array([1.0, 1.0]))) == {"accuracy": -1.0}


@pytest.mark.parametrize("study", [rare, shift])
def test_studies_of_one_class_a_document(study, tiny, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["a study", "--corpora", "trec", "--seeds", "1"])
    study.main()
    heads, _, row = (line.split("|") for line in capsys.readouterr().out.splitlines())
    assert len(heads) == len(row) == 9
    assert row[1].strip() == "trec"
    cells = [float(cell.split("/")[0]) for cell in row[2:-1]]
    assert all(x > 0.9 for x in cells) if study is rare else all(0.0 <= x < 0.2 for x in cells)


def test_a_perfect_model_has_an_error_too_on_few_documents():
    rng = np.random.default_rng(0)
    few, many = (shift.perfect(rng.uniform(0.5, 1.0, n), rng) for n in (50, 5000))
    assert 0.05 < few < 0.15
    assert many < 0.02


def test_short_documents_with_strong_labels_mix():
    case = posterior(seed=1, n_tasks=3, cost=64.0)
    found = {s: distance(*case, 8, s, n_chains=2000) for s in ("metropolis", "exact", "collapsed")}
    assert found["metropolis"] > 0.3
    assert found["exact"] < 0.1
    assert found["collapsed"] == found["exact"]
    assert noise(*case, 8) < 0.02
    unsure = posterior(seed=1, n_tasks=3, cost=64.0, known=1e-6)  # then a proposal is as good
    assert abs(distance(*unsure, 8, "metropolis", 2000) - distance(*unsure, 8, "exact", 2000)) < 0.02


def test_samplers_are_forced():
    corpus = make_topic_corpus(200, n_words=100, n_topics=4, n_labels=3, random_state=0)
    options = {"n_topics": 4, "decides": "topics", "cost": 4000.0, "random_state": 0}
    learned = [
        forced(s)(**options).fit(corpus.data, corpus.target).coef_
        for s in ("metropolis", "exact", "collapsed")
    ]
    assert (learned[0] != learned[1]).any()
    assert (learned[0] != learned[2]).any()


def test_study_of_reviews():
    texts, labels = papers(sample=True)
    found = reviewed(texts[:400], labels[:400], 0, Plan(labelled=100, passing=40, reviewed=4, judged=60))
    assert set(found.after) == {"the queue", "at random"}
    assert all(0.1 < accuracy < 1.0 for accuracy in found.after.values())


def test_streams_that_change_change_half_of_their_labels_only():
    labels = [*"abcabc"] * 10
    stream = corpora.Task(
        "", corpora.Documents([*"xyzxyz"] * 10, labels, timed=True), corpora.Documents([], [])
    )
    shuffled, swapped = (ordered(stream, order, 0).train for order in ("shuffled", "swapped"))
    assert shuffled.texts == swapped.texts
    assert shuffled.labels[:30] == swapped.labels[:30]
    pairs = set(zip(shuffled.labels[30:], swapped.labels[30:], strict=True))
    assert len(pairs) == 3
    assert sum(before == after for before, after in pairs) == 1


def test_models_are_weighed_by_what_they_said_before():
    y = np.zeros(3 * 256, np.int64)
    good, bad = np.tile([0.9, 0.1], (len(y), 1)), np.tile([0.2, 0.8], (len(y), 1))
    together = weighed(np.array([good, bad]), y)
    assert together[0] == pytest.approx([0.55, 0.45])
    assert together[-1] == pytest.approx([0.9, 0.1])


def test_sweeps_of_predictions_are_judged_by_one_model():
    sample = load_arxiv_sample()
    own = [i for i, labels in enumerate(sample.labels) if labels[0] in ("cs.CR", "math.GR")]
    texts, labels = [sample.data[i] for i in own], [sample.labels[i][0] for i in own]
    task = corpora.Task(
        "sample",
        corpora.Documents(texts[:120], labels[:120]),
        corpora.Documents(texts[120:160], labels[120:160]),
    )
    found = sweeps.run(task, "medlda", {}, 0)
    assert [one["sweeps"] for one in found] == list(sweeps.SWEEPS)
    assert min(one["accuracy"] for one in found) > 0.8
    again = sweeps.run(task, "medlda", {}, 0)
    assert again == found
    for one in found:
        one["accuracy"] = 0.9 - 1.0 / one["sweeps"]
    rows = sweeps.table([{"corpus": "sample", "model": "medlda", "seed": 0, "found": found}]).splitlines()
    assert len(rows) == 2 + len(sweeps.SWEEPS) - 1
    assert rows[2].startswith("| medlda | 4 | +0.2300, +0.2300 ± 0.0000 sample |")
