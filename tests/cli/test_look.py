import json
import os
import subprocess
import sys

import pytest

import bayespa as package
from bayespa.corpus import OnlineVocabulary
from bayespa.inspect.view import TopicView


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
    assert f"{path}, line 1: the header line has no column 'body', only 'text', 'label'; name it" in found.err
    assert "Error: the whole input is malformed" in found.err
    found = bayespa("predict", model, "-", input="a text\n", code=1)
    assert "line 1: not JSON (Expecting value" in found.err
    assert "; if it is not meant to be, give --format" in found.err
    found = bayespa("predict", model, "-", "--format", "lines", input="a text\n")
    assert found.out.startswith("standard input:1\t")
    assert bayespa("predict", model, "-", input="").out == ""


HOSTILE = [
    "two\nlines",
    "a\tcolumn",
    "=cmd|'/C calc'!A0",
    "@SUM(1)",
    "-1+1",
    "back\\slash \\n",
    'com,mas and "quotes"',
    "x:0.999 y:0.001",
    "\x1b[2Jterminal\r\x85\u2028\u2029\x0b\x1c",
    "\u202eright to left",
    "-1",
    "+2.5e3",
    "日本語 \u200c",
]


def plain(column):
    """Turn back what escapes stand for, as the documentation says."""
    return json.loads('"' + column.replace('"', '\\"') + '"')


@pytest.mark.parametrize("several", [False, True])
def test_labels_forge_no_lines_columns_or_formulas(bayespa, tmp_path, several):
    texts = [f"word{i} word{i} word{i}" for i in range(len(HOSTILE))]
    labels = [(a, b) for a, b in zip(HOSTILE, HOSTILE[1:] + HOSTILE[:1], strict=True)] if several else HOSTILE
    learned = package.TextModel(
        target="classes" if several else "class",
        vectorizer=OnlineVocabulary(min_count=1),
        n_topics=4,
        random_state=0,
    )
    for _ in range(8):
        learned.learn(texts, labels)
    package.save(learned, tmp_path / "m")
    rows = [json.dumps({"text": text, "name": name}) for text, name in zip(texts, HOSTILE, strict=True)]
    command = ["predict", tmp_path / "m", "-", "--id", "name", "--top", len(HOSTILE)]
    out = bayespa(*command, input="\n".join(rows)).out
    shown = [line.split("\t") for line in out.splitlines()]  # at everything that ends a line in Unicode
    assert len(shown) == len(HOSTILE)
    assert {len(columns) for columns in shown} == {3}
    expected = learned.predict(texts)
    assert len(set(expected)) > 5
    probabilities = learned.predict_proba(texts)
    for i, (name, label, classes) in enumerate(shown):
        assert plain(name) == HOSTILE[i]
        found = tuple(map(plain, label.split(",") if label else [])) if several else plain(label)
        assert found == expected[i]
        pairs = {plain(pair.rpartition(":")[0]): pair.rpartition(":")[2] for pair in classes.split(" ")}
        assert pairs == {
            n: f"{round(p, 4):.3f}" for n, p in zip(learned.class_names, probabilities[i], strict=True)
        }
        for column in (name, label, classes):
            assert column[:1] not in "=@"
            assert column[:1] not in "+-" or column in ("-1", "+2.5e3") or column[:3] in ("-1:", "-1,", "+2.")
    objects = [
        json.loads(line) for line in bayespa(*command, "--json", input="\n".join(rows)).out.splitlines()
    ]
    assert [one["id"] for one in objects] == HOSTILE
    assert [one["label"] for one in objects] == [list(e) if several else e for e in expected]


def test_tables_for_people_keep_their_lines(bayespa, tmp_path):
    learned = package.TextModel(vectorizer=OnlineVocabulary(min_count=1), n_topics=2, random_state=0)
    texts, labels = ["cats and mice", "stars and moons"] * 4, ["a\nb", "c"] * 4
    package.save(learned.learn(texts, labels), tmp_path / "m")
    rows = [json.dumps({"text": t, "label": c}) for t, c in zip(texts, labels, strict=True)]
    lines = bayespa("evaluate", tmp_path / "m", "-", "--by-class", input="\n".join(rows)).out.splitlines()
    assert {line.split()[0] for line in lines[-2:]} == {"a\\nb", "c"}
    assert len(bayespa("topics", tmp_path / "m").out.splitlines()) == 2
    assert bayespa("explain", tmp_path / "m", "cats", "--target", "c").out.startswith("c: ")


def test_names_of_files_that_are_not_utf8(bayespa, model, tmp_path):
    path = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    with open(path, "wb") as file:
        file.write(b"groups of automorphisms\n")
    command = ["predict", model, os.fsdecode(path)]
    assert "caf\\udce9.txt:1\t" in bayespa(*command).out
    assert json.loads(bayespa(*command, "--json").out)["id"] == f"{os.fsdecode(path)}:1"


def test_topics(bayespa, model):
    rows = bayespa("topics", model, "--words", 4, "--json").json
    assert len(rows) == 8
    assert abs(sum(row["share"] for row in rows) - 1.0) < 1e-9
    assert all(len(row["words"]) == 4 for row in rows)
    assert all(len(row["label"]) == 3 for row in rows)
    assert any(row["label"] != row["words"][:3] for row in rows)
    lines = bayespa("topics", model).out.splitlines()
    assert [int(line.split()[0]) for line in lines] == [row["topic"] for row in rows]


def test_topics_speak_for_the_same_classes_as_in_reports(bayespa, model):
    view = TopicView.of(package.load(model).estimator)
    rows = bayespa("topics", model, "--json").json
    for row in rows:
        voices = view.voices(row["topic"])
        assert row["class"] == (voices[0].label if voices else None)
    assert any(row["class"] is not None for row in rows)


def test_a_topic_that_speaks_for_no_class_has_a_dash(bayespa, tmp_path):
    texts = ["cat and mouse", "stars and planets", "bread and butter"] * 8
    text_model = package.TextModel(n_topics=30, random_state=0).learn(texts, ["-", "sky", "-"] * 8)
    package.save(text_model, tmp_path / "m")
    rows = bayespa("topics", tmp_path / "m", "--json").json
    shown = [line.split()[2] for line in bayespa("topics", tmp_path / "m").out.splitlines()]
    assert shown == [{None: "-", "-": "\\u002d"}.get(row["class"], row["class"]) for row in rows]
    assert "-" in shown


def test_explain(bayespa, model, papers):
    text, label = papers[-1]
    names = package.load(model).class_names
    shown = bayespa("explain", model, text, "--target", label).out
    assert shown.startswith(f"{label}: ")
    found = bayespa("explain", model, "-", "--target", names[0], "--json", input=text).json
    assert found["target"] == names[0]
    by_words = found["base"] + sum(word["contribution"] for word in found["words"])
    assert abs(by_words - found["decision"]) < 1e-5
    assert found["runner_up"] in names
    assert 0.0 <= found["probability"] <= 1.0
    assert "no known word" in bayespa("explain", model, "qwertyuiop").out


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
