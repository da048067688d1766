import json
import os
import subprocess
import sys

import bayespa as package


def test_predict(bayespa, files, model):
    lines = bayespa("predict", model, files / "test.jsonl", "--limit", 5).out.splitlines()
    labels = [line.split("\t")[1] for line in lines]
    texts = [json.loads(line)["body"] for line in (files / "test.jsonl").read_text().splitlines()[:5]]
    assert labels == package.load(model).predict(texts)
    assert lines[0].startswith(f"{files / 'test.jsonl'}:1\t")
    found = [
        json.loads(line)
        for line in bayespa("predict", model, files / "test.jsonl", "--json").out.splitlines()
    ]
    assert len(found) == 300
    assert len(found[0]["probabilities"]) == 3


def test_predict_needs_no_labels(bayespa, model):
    out = bayespa("predict", model, "-", "--batch-size", 1, input='{"body": "groups of automorphisms"}\n').out
    assert out.startswith("standard input:1\t")


def test_predict_refuses_what_it_cannot_read(bayespa, model, tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("text,label\na b,c\n")
    found = bayespa("predict", model, path, code=1)
    assert f"{path}, line 1: the header has no column 'body', only 'text', 'label'; name it" in found.err
    assert "Error: no document of the input could be read" in found.err
    found = bayespa("predict", model, "-", input="a text\n", code=1)
    assert "line 1: not JSON (Expecting value" in found.err
    assert "; if it is not meant to be, give --format" in found.err
    found = bayespa("predict", model, "-", "--format", "lines", input="a text\n")
    assert found.out.startswith("standard input:1\t")
    assert bayespa("predict", model, "-", input="").out == ""


def test_topics(bayespa, model):
    rows = bayespa("topics", model, "--words", 4, "--json").json
    assert len(rows) == 8
    assert abs(sum(row["share"] for row in rows) - 1.0) < 1e-9
    assert all(len(row["words"]) == 4 for row in rows)
    lines = bayespa("topics", model).out.splitlines()
    assert [int(line.split()[0]) for line in lines] == [row["topic"] for row in rows]


def test_explain(bayespa, model, papers):
    text, label = papers[-1]
    names = package.load(model).class_names
    shown = bayespa("explain", model, text, "--target", label).out
    assert shown.startswith(f"{label}: ")
    found = bayespa("explain", model, "-", "--target", names[0], "--json", input=text).json
    assert found["target"] == names[0]
    assert abs(sum(word["contribution"] for word in found["words"]) - found["decision"]) < 1e-5


def test_linear_models_explain_by_words_and_have_no_topics(bayespa, files, tmp_path, papers):
    command = ["train", files / "train.jsonl", "--text", "body", "--label", "topic", "-o", tmp_path / "m"]
    bayespa(*command, "--model", "linear", "--max-words", 5000)
    found = bayespa("explain", tmp_path / "m", papers[0][0], "--json").json
    assert found["topics"] == []
    assert "no topics" in bayespa("topics", tmp_path / "m", code=1).err


def test_datasets(bayespa, tmp_path):
    assert "arxiv-sample" in bayespa("datasets").out
    assert "arxiv-sample" in bayespa("datasets", "--json").json
    bayespa("datasets", "arxiv-sample", "--subset", "test", "-o", tmp_path / "d.jsonl")
    lines = (tmp_path / "d.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1000
    assert set(json.loads(lines[0])) == {"id", "text", "label"}


def test_help_and_version(bayespa):
    commands = ["datasets", "demo", "evaluate", "explain", "predict", "topics", "train", "update"]
    shown = bayespa("--help").out
    assert all(f"\n  {command} " in shown for command in commands)
    for command in commands:
        assert bayespa(command, "-h").out.startswith("Usage: ")
    assert package.__version__ in bayespa("--version").out
    assert "No such command" in bayespa("nonsense", code=2).err


def test_shell_completion():
    environment = {
        **os.environ,
        "_BAYESPA_COMPLETE": "bash_complete",
        "COMP_WORDS": "bayespa tr",
        "COMP_CWORD": "1",
    }
    program = [sys.executable, "-c", "from bayespa.cli import main; main(prog_name='bayespa')"]
    found = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["plain,train"]
