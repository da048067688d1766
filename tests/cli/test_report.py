import json
import re
import sys

import numpy as np
import pytest

import bayespa as package


def sections(path):
    return re.findall(r'<section id="(\w+)"', path.read_text(encoding="utf-8"))


def test_a_page_on_documents(bayespa, files, model, tmp_path):
    path = tmp_path / "report.html"
    found = bayespa("report", model, "--data", files / "test.jsonl", "-o", path, "--json").json
    measures = bayespa("evaluate", model, files / "test.jsonl", "--json").json
    del measures["by class"]
    assert found == {"report": str(path), **measures}
    assert sections(path) == ["topics", "weights", "predictions", "calibration", "stream", "documents"]
    page = path.read_text(encoding="utf-8")
    assert f"{found['accuracy']:.3f}" in page
    assert "700 documents in one pass" in page
    assert f"300 documents of {files / 'test.jsonl'}" in page
    last = package.load(model).history.points[-1]
    assert f"After {last.seen:,} documents the accuracy was {last.score:.3f}." in page
    again = tmp_path / "again.html"
    bayespa("report", model, files / "test.jsonl", "-o", again)
    assert again.read_text(encoding="utf-8") == page


def test_a_page_without_documents(bayespa, model, tmp_path):
    path = tmp_path / "report.html"
    assert bayespa("report", model, "-o", path).out == f"report  {path}\n"
    assert sections(path) == ["topics", "weights", "stream"]
    assert "Predictions" not in path.read_text(encoding="utf-8")


def test_the_first_documents_are_shown_unless_told_otherwise(bayespa, files, model, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["bayespa.cli.report"], "MOST", 40)  # not the command
    path = tmp_path / "report.html"
    command = ["report", model, "--data", files / "test.jsonl", "-o", path]
    assert bayespa(*command, "--json").json["documents"] == 40
    assert "the first 40 documents of" in path.read_text(encoding="utf-8")
    assert bayespa(*command, "--limit", 50, "--json").json["documents"] == 50
    assert bayespa(*command, "--skip", 260, "--json").json["documents"] == 40
    assert "are for 40 documents of" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["medlda", "medhdp", "linear"])
@pytest.mark.parametrize("target", ["class", "classes", "number"])
def test_kinds_of_models_and_labels(bayespa, papers, tmp_path, kind, target, monkeypatch):
    monkeypatch.setattr("bayespa.cli.start.MOST_CLASSES", -1)  # read once, as many documents are
    if (kind, target) == ("linear", "classes"):
        pytest.skip("a linear model does not learn several classes")
    labels = {
        "class": lambda label: label,
        "classes": lambda label: [label, label.split(".")[0]],
        "number": lambda label: float(label < sorted({label for _, label in papers})[2]),
    }
    lines = [json.dumps({"text": text, "label": labels[target](label)}) for text, label in papers[:400]]
    lines[-1] = json.dumps({"text": "no words that are known", "label": None})
    if target != "number":
        lines[-2] = json.dumps(
            {"text": papers[0][0], "label": ["math", "new"] if target == "classes" else "new"}
        )
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    (tmp_path / "more").mkdir()
    model, path = tmp_path / "m", tmp_path / "more" / "r.html"
    settings = [] if kind == "linear" else ["--set", "multi_class=ovr"] if target == "class" else []
    command = ["train", tmp_path / "d.jsonl", "-o", model, "--model", kind, "--batch-size", 50, *settings]
    if kind != "linear":
        command += ["--set", "first_documents=50"]
    command += {"medlda": ["--topics", 6], "medhdp": ["--set", "max_topics=12"]}.get(kind, [])
    bayespa(*command, "--limit", 300, "--shuffle", 0)
    found = bayespa("report", model, tmp_path / "d.jsonl", "--skip", 300, "-o", path, "--json").json
    measures = bayespa("evaluate", model, tmp_path / "d.jsonl", "--skip", 300, "--json").json
    assert {**measures, "documents": 100, "report": str(path)} == {**measures, **found}
    has = sections(path)
    assert ("topics" in has) == (kind != "linear")
    assert ("growth" in has) == (kind == "medhdp")
    name = {"class": "accuracy", "classes": "micro F1", "number": "R²"}[target]
    page = path.read_text(encoding="utf-8")
    assert f"documents the {name} was" in page
    history = package.load(model).history
    assert [point.seen for point in history.points] == [0, 50, 100, 150, 200, 250]
    assert [bool(point.topics) for point in history.points] == [False] + [kind == "medhdp"] * 5
    if kind == "medhdp":
        estimator = package.load(model).estimator
        assert f"There are {len(estimator.topic_ids_)} topics after 300 documents." in page
        np.testing.assert_allclose(
            estimator.topic_tokens_,
            (estimator.topic_word_ - estimator.eta_).sum(axis=1),
            rtol=1e-3,
            atol=1.0,
        )
    assert [entry.name for entry in path.parent.iterdir()] == ["r.html"]


def test_bags_of_words(bayespa, tmp_path):
    (tmp_path / "d.svm").write_text("1 0:2 3:1\n2 1:2 2:1\n" * 60)
    bayespa("train", tmp_path / "d.svm", "-o", tmp_path / "m", "--topics", 4, "--batch-size", 16)
    bayespa("report", tmp_path / "m", tmp_path / "d.svm", "-o", tmp_path / "r.html")
    assert "documents" in sections(tmp_path / "r.html")


def test_update_goes_on_with_the_history(bayespa, files, model, tmp_path):
    before = package.load(model).history
    bayespa("update", model, files / "test.jsonl", "-o", tmp_path / "m", "--batch-size", 100)
    after = package.load(tmp_path / "m").history
    assert (before.seen, after.seen) == (700, 1000)
    assert after.points[: len(before.points)] == before.points
    assert [point.seen for point in after.points[len(before.points) :]] == [700, 800, 900]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{folder}/empty.jsonl"], "the input has no documents"),
        (["{folder}/none.jsonl"], "there is no file"),
        (["{folder}/number.jsonl"], "does not fit --target class"),
        (["-o", "{folder}/no/r.html"], "there is no folder"),
    ],
)
def test_errors_leave_the_page_as_it_was(bayespa, model, tmp_path, arguments, message):
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "number.jsonl").write_text('{"body": "some words", "topic": 1.5}\n')
    path = tmp_path / "r.html"
    path.write_text("old")
    found = bayespa("report", model, "-o", path, *(a.format(folder=tmp_path) for a in arguments), code=1)
    assert message in found.err
    assert path.read_text() == "old"


def test_without_matplotlib_it_says_what_to_do(bayespa, model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = bayespa("report", model, "-o", tmp_path / "r.html", code=1)
    assert "need matplotlib: pip install 'bayespa[plot]'" in found.err
    assert not (tmp_path / "r.html").exists()
