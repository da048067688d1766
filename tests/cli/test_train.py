import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.children import running

import bayespa as package
from bayespa.cli import main, progress
from bayespa.text.files import locked
from bayespa.text.interrupts import Interrupted
from bayespa.text.scores import Scores
from bayespa.text.stream import StreamRun


def test_from_a_file_to_measures_in_two_commands(bayespa, files, tmp_path):
    path = tmp_path / "m.bayespa"
    learned = bayespa(
        "train", files / "train.jsonl", "--text", "body", "--label", "topic", "-o", path, "--json"
    )
    assert learned.json["documents"] == 700
    assert learned.json["classes"] == 4
    assert learned.json["accuracy before learning"] > 0.4
    assert learned.err == ""
    found = bayespa("evaluate", path, files / "test.jsonl", "--json").json
    assert found["documents"] == 300
    assert found["accuracy"] > 0.7
    assert set(found["by class"]) == set(package.load(path).class_names)
    assert os.listdir(tmp_path) == ["m.bayespa"]


def test_a_table_as_spreadsheets_write_it(bayespa, papers, tmp_path):
    """Semicolons, a mark of the byte order, quotes and lines within texts, and labels that are missing."""
    path, texts = tmp_path / "papers.csv", [text.replace(". ", ".\r\n", 1) for text, _ in papers]
    labels = ["" if i % 50 == 7 else label for i, (_, label) in enumerate(papers)]
    with open(path, "w", encoding="utf-8-sig", newline="") as stream:
        rows = zip(texts, labels, strict=True)
        csv.writer(stream, delimiter=";").writerows([["Abstract", "Category"], *rows])
    model = tmp_path / "m"
    options = ["--text", "Abstract", "--label", "Category"]
    learned = bayespa("train", path, *options, "-o", model, "--limit", 700, "--json")
    assert (learned.err, learned.json["documents"], learned.json["without a label"]) == ("", 700, 14)
    assert learned.json["classes"] == 4
    found = bayespa("evaluate", model, path, "--skip", 700, "--json").json
    assert (found["documents"], found["accuracy"] > 0.7) == (len(papers) - 700 - labels[700:].count(""), True)


def test_pairs_of_words_are_an_option(bayespa, files, tmp_path):
    path, runs = tmp_path / "m", []
    train = ["train", files / "train.jsonl", "--text", "body", "--label", "topic", "-o", path, "--limit", 300]
    for options in ([], ["--ngrams", 1], ["--set", "decides=topics"], ["--min-count", 3]):
        bayespa(*train, "--model", "linear" if "--set" not in options else "medlda", *options)
        model = package.load(path)
        runs.append(model.n_runs)
        assert model.n_runs == sum(" " in word for word in model.words())
    assert runs[0] > runs[3] > runs[1] == runs[2] == 0


def test_lines_for_people(bayespa, files, model):
    shown = bayespa("evaluate", model, files / "test.jsonl", "--by-class").out
    assert shown.startswith("documents       300\naccuracy        0.")
    assert "precision  recall     F1  documents" in shown


def test_the_program_learns_what_python_does(bayespa, files, papers, tmp_path, monkeypatch):
    """Without shuffling, of a large corpus, `train` is TextModel.learn_counts on mini-batches.

    It keeps a history of them.
    """
    monkeypatch.setattr("bayespa.cli.start.MOST_CLASSES", -1)
    command = ["train", files / "train.jsonl", "--text", "body", "--label", "topic", "--shuffle", "0"]
    bayespa(*command, "-o", tmp_path / "a", "--jobs", 1, "--seed", 3, "--set", "first_documents=256")
    reading = {"label": "topic", "text": ["body"]}
    model = package.TextModel(random_state=3, n_jobs=1, expert={"first_documents": 256}, reading=reading)
    for start in range(0, 700, 256):
        texts, labels = zip(*papers[start : min(start + 256, 700)], strict=True)
        model.learn_counts(model.count(texts), labels)
    of_stream = package.load(tmp_path / "a")._learned
    model._learned = replace(model._learned, history=of_stream.history, run=of_stream.run)
    package.save(model, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("kind", ["medlda", "linear"])
def test_a_small_file_is_learned_in_several_passes(bayespa, files, papers, tmp_path, kind):
    """The model is that of one call, whatever was predicted and learned before for the scores."""
    command = ["train", files / "train.jsonl", "--text", "body", "--label", "topic", "--shuffle", "0"]
    found = bayespa(*command, "-o", tmp_path / "a", "--model", kind, "--jobs", 1, "--json").json
    assert 0.4 < found["accuracy before learning"] < 1.0
    reading = {"label": "topic", "text": ["body"]}
    model = package.TextModel(kind, random_state=0, n_jobs=1, reading=reading)
    model.learn(*zip(*papers[:700], strict=True)).settle()
    of_stream = package.load(tmp_path / "a")._learned
    model._learned = replace(model._learned, history=of_stream.history, run=of_stream.run)
    package.save(model, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_half_of_few_documents_is_predicted_before_it_is_learned(bayespa, files, tmp_path):
    command = ["train", files / "train.jsonl", "--text", "body", "--label", "topic", "--shuffle", "0"]
    found = bayespa(*command, "-o", tmp_path / "m", "--batch-size", 100, "--json").json
    assert found["documents"] == 700
    history = package.load(tmp_path / "m").history
    assert [point.seen for point in history.points] == [0, 350, 450, 550, 650]
    assert found["accuracy before learning"] > 0.5


@pytest.mark.parametrize("kind", ["medlda", "medhdp", "linear"])
@pytest.mark.parametrize("target", ["class", "classes", "number"])
def test_kinds_of_models_and_labels(bayespa, papers, tmp_path, kind, target):
    labels = {
        "class": lambda label: label,
        "classes": lambda label: [label, label.split(".")[0]],
        "number": lambda label: float(label < sorted({label for _, label in papers})[2]),
    }
    lines = [json.dumps({"text": text, "label": labels[target](label)}) for text, label in papers]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    command = ["train", tmp_path / "d.jsonl", "-o", tmp_path / "m", "--model", kind, "--limit", 700]
    bayespa(*command)
    found = bayespa("evaluate", tmp_path / "m", tmp_path / "d.jsonl", "--skip", 700, "--json").json
    measure, least = {"class": ("accuracy", 0.7), "classes": ("micro F1", 0.6), "number": ("R2", 0.3)}[target]
    assert found[measure] > least
    assert found["documents"] == len(papers) - 700


def test_update_goes_on(bayespa, files, model, tmp_path):
    before = model.read_bytes()
    found = bayespa("update", model, files / "test.jsonl", "-o", tmp_path / "new", "--json").json
    assert found["documents"] == 300
    assert found["accuracy before learning"] > 0.6
    assert model.read_bytes() == before
    estimator = package.load(tmp_path / "new").estimator
    assert estimator.n_documents_seen_ == 1000


def test_update_from_standard_input_learns_new_classes(bayespa, files, model, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(model.read_bytes())
    line = json.dumps({"body": "a new kind of text about bread and butter", "topic": "food"})
    learned = bayespa("update", path, "-", input=f"{line}\n" * 5)
    assert "1 class is new to the model: 'food'" in learned.err
    assert "food" in package.load(path).class_names
    assert "new to the model" not in bayespa("update", path, "-", input=f"{line}\n" * 5).err


def test_bags_of_words(bayespa, tmp_path):
    (tmp_path / "d.svm").write_text("1 0:2 3:1\n2 1:2 2:1\n" * 60)
    bayespa("train", tmp_path / "d.svm", "-o", tmp_path / "m", "--topics", 4, "--batch-size", 16)
    assert bayespa("evaluate", tmp_path / "m", tmp_path / "d.svm", "--json").json["accuracy"] > 0.9
    bayespa("topics", tmp_path / "m")


class TestMalformed:
    @pytest.fixture
    def path(self, files, tmp_path):
        lines = (files / "train.jsonl").read_text().splitlines()
        lines[2:2] = ["not JSON", '{"body": 3, "topic": "x"}']
        (tmp_path / "d.jsonl").write_text("\n".join(lines))
        return tmp_path / "d.jsonl"

    def test_is_named_and_counted(self, bayespa, path, tmp_path):
        found = bayespa(
            "train",
            path,
            "--text",
            "body",
            "--label",
            "topic",
            "-o",
            tmp_path / "m",
            "--model",
            "linear",
            "--limit",
            300,
            "--json",
        )
        assert f"malformed: {path}, line 3: not JSON" in found.err
        assert f"malformed: {path}, line 4: field 'body' is 3, not a text" in found.err
        assert "left out 2 malformed records" in found.err
        assert found.json["malformed"] == 2

    def test_strict_stops(self, bayespa, path, tmp_path):
        found = bayespa(
            "train", path, "--text", "body", "--label", "topic", "-o", tmp_path / "m", "--strict", code=1
        )
        assert f"Error: {path}, line 3: not JSON" in found.err
        assert not (tmp_path / "m").exists()

    def test_what_is_not_utf8_is_read_and_told(self, bayespa, files, tmp_path):
        """Without an option; with one that says UTF-8, and where reading is strict, it is malformed."""
        folder = tmp_path / "mails"
        for i, line in enumerate((files / "train.jsonl").read_text(encoding="utf-8").splitlines()[:300]):
            paper = json.loads(line)
            (folder / paper["topic"]).mkdir(parents=True, exist_ok=True)
            (folder / paper["topic"] / f"{i:03}").write_bytes(paper["body"].encode() + b" caf\xe9" * (i < 7))
        command = ["train", folder, "-o", tmp_path / "m", "--model", "linear"]
        first = sorted(path for path in folder.glob("*/*") if int(path.name) < 7)[0]
        found = bayespa(*command, "--shuffle", 1000, "--json")
        assert found.err.count("\n") == 1
        assert found.err.startswith(
            "7 lines or files are not UTF-8 and read as latin-1, each byte a character; "
        )
        assert f"the first: {first}: byte " in found.err
        assert (found.json["documents"], found.json["malformed"], found.json["not UTF-8"]) == (300, 0, 7)
        found = bayespa(*command, "--encoding", "utf-8", "--json")
        assert f"malformed: {first}: byte" in found.err
        assert "is not utf-8; give the right --encoding" in found.err
        assert (found.json["documents"], found.json["malformed"], found.json["not UTF-8"]) == (293, 7, 0)
        found = bayespa(*command, "--strict", code=1)
        assert f"Error: {first}: byte" in found.err

    def test_wrong_fields_stop_soon(self, bayespa, files, tmp_path):
        found = bayespa("train", files / "train.jsonl", "--text", "bdy", "-o", tmp_path / "m", code=1)
        assert found.err.count("malformed: ") == 5
        assert "check the options" in found.err
        assert "no field 'bdy', only 'body', 'topic'" in found.err


class TestStreamsSurvive:
    def lines(self, papers, n=600):
        return [json.dumps({"body": text, "topic": label}) for text, label in papers[:n]]

    @pytest.mark.parametrize("label", [1.5, ["a", "b"]])
    def test_a_bad_label_is_left_out_and_named(self, bayespa, papers, tmp_path, label):
        good = self.lines(papers)
        bad = [*good[:400], json.dumps({"body": "some words", "topic": label}), *good[400:]]
        command = ["--text", "body", "--label", "topic", "--shuffle", "0", "--model", "linear"]
        for name, lines in ("good", good), ("bad", bad):
            (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
            found = bayespa("train", tmp_path / f"{name}.jsonl", *command, "-o", tmp_path / name)
        assert "bad.jsonl:401: its label is" in found.err
        assert "left out 1 malformed record" in found.err
        good, bad = (package.load(tmp_path / name).estimator for name in ("good", "bad"))
        assert bad.posterior_ == good.posterior_
        found = bayespa("train", tmp_path / "bad.jsonl", *command, "-o", tmp_path / "m", "--strict", code=1)
        assert "bad.jsonl:401: its label is" in found.err

    def test_what_was_learned_is_saved_whatever_ends_the_run(self, bayespa, papers, model, tmp_path):
        path = tmp_path / "m"
        path.write_bytes(model.read_bytes())
        lines = "\n".join([*self.lines(papers, 300), '{"body": "some words", "topic": 1.5}'])
        found = bayespa("update", path, "-", "--strict", "--batch-size", "64", input=lines, code=1)
        assert "256 documents learned, saved in" in found.err
        assert package.load(path).estimator.n_documents_seen_ == 700 + 256

    def test_a_negative_value_is_left_out_and_named(self, bayespa, tmp_path):
        """Of libsvm, whose lines are read before anybody knows what a model makes of them."""
        good = [f"{i % 2} {1 + i % 2}:{1 + i % 3} {3 + i % 5}:1" for i in range(40)]
        bad = [*good[:25], "1 2:-3 4:1", *good[25:]]
        path = tmp_path / "m"
        command = ["--model", "linear", "--shuffle", "0"]
        for name, lines in ("good", good), ("bad", bad):
            (tmp_path / f"{name}.svm").write_text("\n".join(lines) + "\n")
            found = bayespa("train", tmp_path / f"{name}.svm", *command, "-o", tmp_path / name)
        assert "bad.svm:26: it has a count that is negative" in found.err
        assert "left out 1 malformed record" in found.err
        good, bad = (package.load(tmp_path / name).estimator for name in ("good", "bad"))
        assert bad.posterior_ == good.posterior_
        found = bayespa("train", tmp_path / "bad.svm", *command, "-o", path, "--strict", code=1)
        assert "bad.svm:26: it has a count that is negative" in found.err
        path.write_bytes((tmp_path / "good").read_bytes())
        stream = ["update", path, "-", "--format", "libsvm", "--batch-size", "8"]
        lines = (tmp_path / "bad.svm").read_text()
        assert "standard input:26: it has a count that is negative" in bayespa(*stream, input=lines).err
        assert package.load(path).estimator.n_documents_seen_ == 40 + 40
        found = bayespa(*stream, "--strict", input=lines, code=1)
        assert "standard input:26: it has a count that is negative" in found.err
        assert package.load(path).estimator.n_documents_seen_ == 40 + 40 + 24  # what came before is kept

    def test_the_data_are_not_replaced_by_the_model(self, bayespa, papers, tmp_path):
        path = tmp_path / "x.jsonl"
        path.write_text("\n".join(self.lines(papers)))
        before = path.read_bytes()
        assert "is an input, and the model would replace it" in bayespa("train", path, "-o", path, code=1).err
        assert path.read_bytes() == before

    def test_an_output_that_may_not_be_written_is_refused_before_anything_is_read(self):
        """The input is a pipe that nobody writes to: who opens it waits for ever."""
        program = """
import os, sys
from click.testing import CliRunner
from bayespa.cli import main
for command in sys.argv[1:3]:  # imports, which others may not be allowed to make
    CliRunner().invoke(main, command.split())
if os.getuid() == 0:  # who may do anything
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for command in sys.argv[3:]:
    found = CliRunner().invoke(main, command.split())
    print(found.exit_code, found.stderr.strip())
"""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for inner in ("closed", "open"):
                (folder / inner).mkdir()
            os.mkfifo(folder / "pipe.jsonl")
            model = package.TextModel("linear", n_passes=1).learn(["cat dog", "star"] * 4, ["a", "b"] * 4)
            for file in ("closed/m", "open/m", "model"):
                package.save(model, folder / file)
            (folder / "open/m").chmod(0o444)
            before = {file: file.read_bytes() for file in folder.glob("*/m")}
            (folder / "closed").chmod(0o555)
            for inner in (folder, folder / "open"):
                inner.chmod(0o777)
            pipe, model = folder / "pipe.jsonl", folder / "model"
            commands = [
                f"train {pipe} -o {folder}/closed/new",
                f"train {pipe} -o {folder}/closed/m",
                f"train {pipe} -o {folder}/open/m",
                f"update {model} {pipe} -o {folder}/closed/new",
                f"update {folder}/closed/m {pipe}",
                f"update {folder}/open/m {pipe}",
                f"update {folder}/open/m -",
            ]
            nowhere = [f"train {folder}/no -o {folder}/new", f"update {model} {folder}/no"]
            run = subprocess.run(
                [sys.executable, "-c", program, *nowhere, *commands], capture_output=True, text=True
            )
            (folder / "closed").chmod(0o755)
            assert {file: file.read_bytes() for file in folder.glob("*/m")} == before
        said = run.stdout.splitlines()
        assert len(said) == len(commands), run.stderr
        for command, line in zip(commands, said, strict=True):
            place = f"{folder}/open/m" if "/open/" in command else f"the folder '{folder}/closed'"
            assert line.startswith(f"1 Error: no permission to write to {place}; use another"), line


def papers_csv(path, papers, label=lambda i, label: label, **columns):
    """Write a table of papers, with other labels perhaps, and other columns."""
    with open(path, "w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["text", "label", *columns])
        for i, (text, name) in enumerate(papers):
            rows.writerow([text, label(i, name), *(column(i) for column in columns.values())])
    return path


class TestOrder:
    def test_a_sorted_file_is_mixed_and_learned_as_well(self, bayespa, papers, files, tmp_path):
        found = {}
        for name, part in ("sorted", sorted(papers[:700], key=lambda p: p[1])), ("mixed", papers[:700]):
            path = papers_csv(tmp_path / f"{name}.csv", part)
            learned = bayespa(
                "train", path, "-o", tmp_path / name, "--batch-size", 32, "--topics", 8, "--json"
            )
            assert "flattered by the order" not in learned.json
            said = "of one label; shuffling all 700 documents (--shuffle 0 keeps their order)"
            assert (said in learned.err) == (name == "sorted")
            options = ["--text", "body", "--label", "topic", "--json"]
            found[name] = bayespa("evaluate", tmp_path / name, files / "test.jsonl", *options).json[
                "accuracy"
            ]
        assert found["sorted"] > found["mixed"] - 0.03

    def test_who_insists_is_told_that_the_measures_flatter(self, bayespa, papers, tmp_path):
        path = papers_csv(tmp_path / "d.csv", sorted(papers[:700], key=lambda p: p[1]))
        options = ["--model", "linear", "--classes", ",".join({label for _, label in papers})]
        command = ["-o", tmp_path / "m", *options, "--batch-size", 32, "--json"]
        kept = bayespa("train", path, *command, "--shuffle", 0)
        piped = bayespa("train", "-", "--format", "csv", *command, input=path.read_bytes())
        for learned in kept, piped:
            assert "in the order learned, 100% of documents are in runs of 64 or more" in learned.err
            assert "scores before learning are too high" in learned.err
            assert learned.json["flattered by the order"] is True

    def test_the_order_of_time_is_kept(self, bayespa, papers, tmp_path):
        """Even where labels come in runs; without the column they are mixed."""
        run = sorted(papers[:400], key=lambda p: p[1])
        dated = papers_csv(tmp_path / "dated.csv", run, created=lambda i: f"2012-{1 + i // 40:02}-01")
        learned = bayespa("train", dated, "-o", tmp_path / "m", "--model", "linear")
        assert "documents are in order of time, by 'created'; keeping it" in learned.err
        assert package.load(tmp_path / "m").run["started"]["mix"] == {"buffer": 0}
        undated = papers_csv(tmp_path / "undated.csv", run)
        bayespa("train", undated, "-o", tmp_path / "m", "--model", "linear")
        assert package.load(tmp_path / "m").run["started"]["mix"] == {"all": 400}

    def test_a_mixed_file_keeps_its_order(self, bayespa, files, tmp_path):
        command = ["train", files / "train.jsonl", "--text", "body", "--label", "topic", "--model", "linear"]
        bayespa(*command, "-o", tmp_path / "a")
        bayespa(*command, "-o", tmp_path / "b", "--shuffle", 0)
        a, b = (package.load(tmp_path / name) for name in "ab")
        assert a.run["checksum"] == b.run["checksum"]

    def test_a_mixed_run_is_resumed_with_the_same_bits(self, bayespa, papers, tmp_path, monkeypatch):
        monkeypatch.setattr("bayespa.cli.start.MOST_CLASSES", -1)
        path = papers_csv(tmp_path / "d.csv", sorted(papers[:700], key=lambda p: p[1]))
        command = ["train", path, "--topics", 4, "--batch-size", 32, "--set", "first_documents=64"]
        bayespa(*command, "-o", tmp_path / "whole")
        save, saved = package.save, []

        def fail(model, target):
            save(model, target)
            saved.append(target)
            if len(saved) == 3:
                raise OSError(28, "No space left on device")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(package, "save", fail)
            bayespa(*command, "-o", tmp_path / "m", "--checkpoint-every", 100, code=1)
        assert 200 < package.load(tmp_path / "m.checkpoint").run["documents"] < 700
        found = bayespa(*command, "-o", tmp_path / "m", "--resume")
        assert "shuffling all" not in found.err  # the first run said it
        assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()

    def test_update_looks_too(self, bayespa, files, model, papers, tmp_path):
        lines = [json.dumps({"body": text, "topic": label}) for text, label in sorted(papers[700:])]
        lines.sort(key=lambda line: json.loads(line)["topic"])
        (tmp_path / "d.jsonl").write_text("\n".join(lines))
        found = bayespa("update", model, tmp_path / "d.jsonl", "-o", tmp_path / "m")
        assert f"shuffling all {len(lines)} documents" in found.err


class TestLabelsOfTables:
    """What labels of a table are is decided for all of them, and said."""

    def test_fractions_are_numbers(self, bayespa, papers, tmp_path):
        names = sorted({label for _, label in papers})
        path = papers_csv(tmp_path / "d.csv", papers, lambda i, label: f"{names.index(label) / 2:g}")
        learned = bayespa("train", path, "-o", tmp_path / "m", "--limit", 700, "--json")
        assert "are whole numbers and fractions; learning them as numbers (--target class" in learned.err
        assert "R2 before learning" in learned.json
        found = bayespa("evaluate", tmp_path / "m", path, "--skip", 700, "--json").json
        assert found["R2"] > 0.3
        assert 0.0 < found["within 2 deviations"] <= 1.0
        assert found["documents"] == len(papers) - 700
        command = ["train", path, "-o", tmp_path / "m", "--limit", 700, "--target", "class"]
        learned = bayespa(*command, "--model", "linear")
        assert learned.err == ""
        assert package.load(tmp_path / "m").class_names == ["0", "0.5", "1", "1.5"]

    def test_numbers_are_printed_in_six_digits_with_their_deviation(self, bayespa, papers, tmp_path):
        names = sorted({label for _, label in papers})
        path = papers_csv(tmp_path / "d.csv", papers, lambda i, label: 1e6 + names.index(label) + 0.5)
        bayespa("train", path, "-o", tmp_path / "m", "--limit", 300)
        line = bayespa("predict", tmp_path / "m", path, "--limit", 1).out.rstrip("\n").split("\t")
        assert (line[0], line[1], len(line)) == (f"{path}:2", "1e+06", 3)
        (row,) = bayespa("predict", tmp_path / "m", path, "--limit", 1, "--json").out.splitlines()
        assert (
            "this model predicts numbers; leave"
            in bayespa("explain", tmp_path / "m", "some text", "--target", "x", code=1).err
        )
        found = json.loads(row)
        assert found["deviation"] == float(line[2]) > 0.0
        assert found["label"] == float(line[1])

    def test_fractions_among_names_are_names(self, bayespa, papers, tmp_path):
        path = papers_csv(tmp_path / "d.csv", papers[:300], lambda i, label: "1.50" if i % 3 == 0 else label)
        learned = bayespa("train", path, "-o", tmp_path / "m", "--model", "linear")
        assert "are fractions and other texts; learning them as classes (--target number" in learned.err
        assert "1.50" in package.load(tmp_path / "m").class_names

    def test_years_are_not_silently_classes(self, bayespa, papers, tmp_path):
        names = sorted({label for _, label in papers})
        path = papers_csv(tmp_path / "d.csv", papers[:300], lambda i, label: 1990 + names.index(label))
        command = ["train", path, "-o", tmp_path / "m", "--model", "linear", "--json"]
        learned = bayespa(*command)
        assert learned.json["classes"] == 4
        assert (
            "(--label label) are 4 whole numbers from 1990 to 1993; learning them as classes" in learned.err
        )
        assert "--target number learns them as numbers" in learned.err
        learned = bayespa(*command, "--target", "number")
        assert (learned.err, "classes" in learned.json) == ("", False)

    def test_several_in_one(self, bayespa, papers, tmp_path):
        path = papers_csv(tmp_path / "d.csv", papers[:300], lambda i, label: f"{label};{'xyz'[i % 3]}")
        command = ["train", path, "-o", tmp_path / "m", "--model", "linear"]
        assert "learning each as one label (--separator ';' splits them)" in bayespa(*command).err
        assert bayespa(*command, "--separator", ";").err == ""

    def test_labels_that_hardly_repeat_are_told(self, bayespa, papers, tmp_path):
        """They may be ids, or texts."""
        path = papers_csv(tmp_path / "d.csv", papers[:60], lambda i, label: f"paper {i}")
        command = ["train", path, "-o", tmp_path / "m", "--model", "linear"]
        learned = bayespa(*command)
        said = "labels (--label label) hardly repeat: 60 different ones for 60 documents; learning each as a"
        assert said in learned.err
        assert bayespa(*command, "--limit", 50).err == ""  # few labels may all differ

    def test_decimal_commas_are_told(self, bayespa, papers, tmp_path):
        path = papers_csv(tmp_path / "d.csv", papers[:60], lambda i, label: "2" if i % 3 else f"0,{i % 4}")
        learned = bayespa("train", path, "-o", tmp_path / "m", "--model", "linear")
        assert "labels such as '0,0' look like numbers with a decimal comma" in learned.err
        assert "--separator" not in learned.err

    def test_empty_texts_are_counted(self, bayespa, papers, tmp_path):
        rows = [("" if i % 10 == 0 else text, label) for i, (text, label) in enumerate(papers[:300])]
        path = papers_csv(tmp_path / "d.csv", rows)
        learned = bayespa("train", path, "-o", tmp_path / "m", "--model", "linear")
        assert "30 documents have an empty text (--text text)" in learned.err


def test_evaluate_measures_probabilities_and_names_unknown_labels(bayespa, files, model, tmp_path):
    found = bayespa("evaluate", model, files / "test.jsonl", "--json").json
    assert found["top 3 accuracy"] > found["accuracy"]
    assert 0.0 < found["log loss"] < 1.4
    assert 0.0 < found["ECE"] < 0.3
    assert "unknown labels" not in found
    labelled = [json.loads(line) for line in (files / "test.jsonl").read_text().splitlines()]
    rows = [row | ({"topic": "new"} if i < 30 else {}) for i, row in enumerate(labelled)]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, rows)))
    other = bayespa("evaluate", model, tmp_path / "d.jsonl", "--json")
    assert (
        "30 of 300 documents have labels that the model does not know: 'new' (30). They count as wrong"
        in (other.err)
    )
    assert (other.json["of unknown labels"], other.json["unknown labels"]) == (30, {"new": 30})
    assert other.json["accuracy"] < found["accuracy"]


def test_class_weights(bayespa, files, model, papers):
    def given(*arguments):
        lines = bayespa("predict", model, files / "test.jsonl", "--limit", 60, *arguments).out.splitlines()
        return [line.split("\t")[1] for line in lines]

    name = papers[0][1]
    plain, weighty = given().count(name), given("--class-weight", f"{name}=1000").count(name)
    assert plain < weighty
    assert bayespa(
        "evaluate", model, files / "test.jsonl", "--limit", 60, "--class-weight", "balanced", "--json"
    )
    for wrong, message in (("x", "CLASS=WEIGHT"), (f"{name}=0", "above 0"), ("nobody=2", "does not know")):
        assert (
            message
            in bayespa(
                "predict",
                model,
                files / "test.jsonl",
                "--class-weight",
                wrong,
                code=2 if "nobody" not in wrong else 1,
            ).err
        )


def test_stop_words_decide_and_make_no_topics(bayespa, files, tmp_path):
    command = ["train", files / "train.jsonl", "--text", "body", "--label", "topic", "--topics", 4]
    command += ["--limit", 300]
    for words in "english", "none":
        bayespa(*command, "-o", tmp_path / words, "--stop-words", words)
    english, none = (package.load(tmp_path / words) for words in ("english", "none"))
    assert (english.stop_words, none.stop_words) == ("english", None)
    assert "the" in english.words()
    assert not any("the" in words for words in english.topics(20))
    assert any("the" in words for words in none.topics(20))
    bayespa("update", tmp_path / "none", files / "test.jsonl")
    assert package.load(tmp_path / "none").stop_words is None


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (["train", "{train}", "-o", "{folder}/no/m"], 1, "no folder"),
            (["train", "{folder}/none.jsonl", "-o", "{folder}/m"], 1, "there is no file"),
            (["train", "{train}"], 2, "Missing option '-o'"),
            (["train", "{train}", "-o", "{folder}/m", "--set", "cost"], 2, "NAME=VALUE"),
            (["train", "{train}", "-o", "{folder}/m", "--set", "cots=1"], 2, "has no parameter cots"),
            (["train", "{train}", "-o", "{folder}/m", "--model", "linear", "--topics", "3"], 2,
             "--topics 3 does not fit --model linear, which has no topics"),
            (["train", "{train}", "-o", "{folder}/m", "--model", "medhdp", "--topics", "3"], 2,
             "--topics 3 does not fit --model medhdp, which chooses the number itself"),
            (["train", "{train}", "-o", "{folder}/m", "--set", "n_passes=5"], 2,
             "'n_passes=5' has no effect here; the program reads documents once"),
            (["train", "{train}", "-o", "{folder}/m", "--set", "random_state=5"], 2, "use --seed"),
            (["train", "{blank}", "-o", "{folder}/m", "--text", "text"], 1,
             "all 9 texts are empty; name another field, now --text text"),
            (["train", "{docs}", "-o", "{folder}/m", "--set", "cost=-1"], 1, "cost is -1"),
            (["train", "{docs}", "-o", "{folder}/m", "--set", "multi_class=x"], 1, "multi_class is 'x'"),
            (["train", "{docs}", "-o", "{folder}/m", "--set", "batch_size=x"], 1, "batch_size is 'x'"),
            (["train", "{docs}", "-o", "{folder}/m", "--set", "first_documents=x"], 1, "documents is 'x'"),
            (["train", "{train}", "-o", "{folder}/m", "--encoding", "foo"], 1, "--encoding foo is unknown"),
            (["train", "{empty}", "-o", "{folder}/m"], 1, "no documents"),
            (["train", "{train}", "-o", "{folder}/m", "--text", "body", "--label", "none"], 1, "has a label"),
            (["train", "{one}", "-o", "{folder}/m"], 1,
             "all 9 labels are 'a', but learning needs two classes; name another field by --label"),
            (["train", "{few}", "-o", "{folder}/m", "--min-count", "3"], 1, "--min-count"),
            (["train", "{model}", "-o", "{folder}/m"], 1, "give --format one of lines, files, jsonl"),
            (["train", "{train}", "-o", "{folder}/m", "--text", "body"], 1, "or --label none for no labels"),
            (["train", "{no_labels}", "-o", "{folder}/m"], 1, "give --target and, for classes, --classes"),
            (["evaluate", "{train}", "{train}"], 1, "not a model file"),
            (["evaluate", "{folder}/none", "{train}"], 2, "does not exist"),
            (["evaluate", "{model}", "{unlabelled}"], 1, "no document of the input has a label"),
            (["evaluate", "{model}", "{other}"], 1, "the model knows none of the labels, 'x' (1)"),
            (["evaluate", "{model}", "{number}"], 1, "number.jsonl:1: its label is 1.5, where labels"),
            (["update", "{model}", "{number}"], 1, "number.jsonl:1: its label is 1.5, where labels"),
            (["update", "{model}", "{number}"], 1, "left out 1 malformed record"),
            (["update", "{model}", "{number}"], 1, "Error: the whole input is malformed: no document could"),
            (["explain", "{model}", "some text", "--target", "x"], 1, "the classes are"),
        ],
    )  # fmt: skip
    def test_say_what_is_wrong(self, bayespa, files, model, tmp_path, arguments, code, message):
        contents = {
            "empty": "",
            "docs": '{"text": "some words", "label": "a"}\n{"text": "some other words", "label": "b"}\n' * 9,
            "one": '{"text": "some words of one class", "label": "a"}\n' * 9,
            "few": '{"text": "one two", "label": "a"}\n{"text": "three four", "label": "b"}\n',
            "several": '{"text": "some words", "label": ["a", "b"]}\n' * 9,
            "no_labels": '{"text": "some words", "label": null}\n' * 9,
            "blank": '{"text": "  ", "label": "a"}\n{"text": "", "label": "b"}\n{"text": "", "label": "a"}\n'
            * 3,
            "other": '{"body": "some words", "topic": "x"}\n',
            "unlabelled": '{"body": "some words", "topic": null}\n',
            "number": '{"body": "some words", "topic": 1.5}\n',
        }
        for name, content in contents.items():
            (tmp_path / f"{name}.jsonl").write_text(content)
        paths = {name: tmp_path / f"{name}.jsonl" for name in contents}
        paths |= {"train": files / "train.jsonl", "model": model, "folder": tmp_path}
        before = model.read_bytes()
        found = bayespa(*(a.format(**paths) for a in arguments), code=code)
        assert message in found.err
        assert "Traceback" not in found.err
        assert model.read_bytes() == before
        assert not (tmp_path / "m").exists()

    def test_a_model_without_words(self, bayespa, files, tmp_path):
        package.save(package.BayesPAClassifier().fit([[0.0], [1.0]], [0, 1]), tmp_path / "m")
        assert "without a vocabulary" in bayespa("evaluate", tmp_path / "m", files / "test.jsonl", code=1).err

    def test_a_full_disk_leaves_the_old_model(self, bayespa, files, model, tmp_path, monkeypatch):
        path = tmp_path / "m"
        path.write_bytes(model.read_bytes())

        def fail(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        assert "No space left" in bayespa("update", path, files / "test.jsonl", code=1).err
        assert path.read_bytes() == model.read_bytes()
        assert os.listdir(tmp_path) == ["m"]

    def test_too_little_memory_leaves_the_old_model(self, files, model, tmp_path):
        path = tmp_path / "m"
        path.write_bytes(model.read_bytes())
        options = ["--text", "body", "--label", "topic", "--topics", "3000", "-o", path]
        program = (
            "import resource, sys\n"
            "from pathlib import Path\n"
            "from bayespa.cli import job, main\n"  # what computes is imported before the limit
            "pages = int(Path('/proc/self/statm').read_text().split()[0])\n"
            "limit = pages * resource.getpagesize() + 100_000_000\n"
            "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
            "main()"
        )
        command = [sys.executable, "-c", program, "train", files / "train.jsonl", *options]
        done = subprocess.run([str(a) for a in command], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "Error: out of memory" in done.stderr
        assert "Traceback" not in done.stderr
        assert path.read_bytes() == model.read_bytes()
        assert os.listdir(tmp_path) == ["m"]


def crash_command(files, path, *more):
    options = ("--text", "body", "--label", "topic", "--topics", "6", "--batch-size", "32", "--jobs", "1")
    options += ("--set", "first_documents=32")
    return ["train", files / "train.jsonl", *options, "--checkpoint-every", 32, "-o", path, *more]


MANY = "from bayespa.cli import start; start.MOST_CLASSES = -1"  # takes the documents for a part of many


@pytest.fixture(scope="module")
def whole(files, tmp_path_factory):
    """Bytes of the model of a run that nothing interrupts."""
    path = tmp_path_factory.mktemp("whole") / "m"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bayespa.cli.start.MOST_CLASSES", -1)
        found = CliRunner().invoke(main, [str(a) for a in crash_command(files, path)])
    assert found.exit_code == 0, found.output
    return path.read_bytes()


class TestCrashes:
    def test_killed_at_random_moments_the_final_model_is_the_same(self, files, whole, tmp_path):
        path, kills = tmp_path / "m", 0
        moments = np.random.default_rng(0)
        while kills < 50:
            with running(*crash_command(files, path, "--resume"), before=MANY) as process:
                process.join(moments.uniform(0.0, 0.5))
                if process.exitcode is None:
                    process.kill()
                    kills += 1
                    continue
            assert process.exitcode == 0
            assert path.read_bytes() == whole
            path.unlink()
        with running(*crash_command(files, path, "--resume"), before=MANY) as process:
            process.join()
        assert path.read_bytes() == whole
        assert os.listdir(tmp_path) == ["m"]

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_interrupted_it_saves_and_resumes(self, bayespa, files, whole, tmp_path, number, monkeypatch):
        monkeypatch.setattr("bayespa.cli.start.MOST_CLASSES", -1)
        path, checkpoint = tmp_path / "m", tmp_path / "m.checkpoint"
        with running(*crash_command(files, path), before=MANY) as process:
            while process.is_alive() and not checkpoint.exists():
                time.sleep(0.002)
            for _ in range(2):  # a second one, from who is impatient, changes nothing
                os.kill(process.pid, number)
                time.sleep(0.002)
            process.join()
            assert process.exitcode == 128 + number
        assert not path.exists()
        assert package.load(checkpoint).run["documents"] > 0
        bayespa(*crash_command(files, path, "--resume"))
        assert path.read_bytes() == whole
        assert os.listdir(tmp_path) == ["m"]

    def test_interrupted_before_anything_is_learned_it_says_so(self, bayespa, files, tmp_path, monkeypatch):
        def interrupted(*arguments, **options):
            raise Interrupted(signal.SIGTERM)
            yield

        monkeypatch.setattr("bayespa.cli.job.learn_stream", interrupted)
        found = bayespa(*crash_command(files, tmp_path / "m"), code=143)
        assert found.err == "interrupted; nothing was learned\n"
        assert os.listdir(tmp_path) == []

    def test_interrupted_where_nothing_is_saved_it_ends_like_any_program(self, bayespa, model, monkeypatch):
        def interrupted(*arguments, **options):
            raise KeyboardInterrupt

        monkeypatch.setattr("bayespa.text.saving.load_text_model", interrupted)
        assert bayespa("evaluate", model, "-", code=130).err == ""

    def test_an_endless_stream_is_learned_and_saved_on_interrupt(self, files, model, tmp_path):
        path, pipe = tmp_path / "m", tmp_path / "pipe"
        path.write_bytes(model.read_bytes())
        os.mkfifo(pipe)
        lines = (files / "test.jsonl").read_bytes().splitlines(keepends=True)
        command = ["update", path, "-", "--batch-size", 64, "--checkpoint-every", 64]
        with running(*command, stdin=pipe) as process, open(pipe, "wb", buffering=0) as stream:
            stream.write(b"".join(lines[:60]))
            time.sleep(0.2)
            stream.write(b"".join(lines[60:100]))
            while process.is_alive() and package.load(path).estimator.n_documents_seen_ < 764:
                time.sleep(0.02)
            time.sleep(0.2)  # it has read the other 36 and waits for more
            os.kill(process.pid, signal.SIGINT)
            process.join()
            assert process.exitcode == 130
        assert package.load(path).estimator.n_documents_seen_ == 800

    def test_a_stream_that_waits_is_saved_by_time(self, files, model, tmp_path):
        path, pipe = tmp_path / "m", tmp_path / "pipe"
        path.write_bytes(model.read_bytes())
        os.mkfifo(pipe)
        lines = (files / "test.jsonl").read_bytes().splitlines(keepends=True)
        command = ["update", path, "-", "--batch-size", 64, "--checkpoint-seconds", 0.3]
        with running(*command, stdin=pipe) as process, open(pipe, "wb", buffering=0) as stream:
            for begin in (0, 100):  # it waits for more in between, and what it has read goes on
                stream.write(b"".join(lines[begin : begin + 100]))
                learned = 700 + (begin + 100) // 64 * 64
                for _ in range(1000):
                    if package.load(path).estimator.n_documents_seen_ == learned:
                        break
                    time.sleep(0.02)
                assert package.load(path).estimator.n_documents_seen_ == learned
            stream.close()
            process.join()
            assert process.exitcode == 0
        assert package.load(path).estimator.n_documents_seen_ == 900

    @pytest.mark.parametrize("command", ["train", "update", "predict"])
    def test_a_billion_blank_lines_are_told_and_interrupted(self, model, tmp_path, command):
        path = tmp_path / "bomb.jsonl.gz"
        path.write_bytes(
            gzip.compress(b"\n" * 2**20) * 1000
        )  # a megabyte of many small files, as gzip allows
        own = tmp_path / "m"
        own.write_bytes(model.read_bytes())
        arguments = {"train": [path, "-o", tmp_path / "new"]}.get(command, [own, path])
        soon = "import bayespa.corpus.texts; bayespa.corpus.texts._SILENT = 20_000"
        os.mkfifo(tmp_path / "said")
        with running(command, *arguments, before=soon, said=tmp_path / "said") as process:
            with open(tmp_path / "said") as said:
                told = said.readline()
                assert f"{path}, line 20000: neither it nor the 19,999 lines before it hold anything" in told
                os.kill(process.pid, signal.SIGINT)
                assert "Traceback" not in said.read()
            process.join(60)  # all lines would take many minutes
            assert process.exitcode == 130
        assert own.read_bytes() == model.read_bytes()
        assert sorted(os.listdir(tmp_path)) == ["bomb.jsonl.gz", "m", "said"]

    def test_two_updates_of_one_model_do_not_run_beside_each_other(self, bayespa, files, model, tmp_path):
        path = tmp_path / "m"
        path.write_bytes(model.read_bytes())
        with locked(path):
            found = bayespa("update", path, files / "test.jsonl", "--no-wait", code=1)
        assert f"process {os.getpid()} on" in found.err
        assert "is updating this model" in found.err
        assert path.read_bytes() == model.read_bytes()
        command = ["update", path, files / "test.jsonl"]
        with running(*command) as one, running(*command) as other:
            one.join()
            other.join()
        assert one.exitcode == other.exitcode == 0
        assert package.load(path).estimator.n_documents_seen_ == 1300  # 700, and 300 twice

    def test_resuming_with_other_documents_is_refused(self, bayespa, files, tmp_path):
        path, data = tmp_path / "m", tmp_path / "data.jsonl"
        data.write_bytes((files / "train.jsonl").read_bytes())
        command = crash_command(files, path)
        command[1] = data
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(package, "save", _fails_at_the_end(package.save, path))
            assert "No space" in bayespa(*command, code=1).err
        data.write_bytes((files / "test.jsonl").read_bytes())
        assert "differ from those of the checkpoint" in bayespa(*command, "--resume", code=1).err

    def test_resuming_with_other_options_names_them(self, bayespa, files, tmp_path):
        path = tmp_path / "m"
        command = crash_command(files, path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(package, "save", _fails_at_the_end(package.save, path))
            bayespa(*command, code=1)
        checkpoint = path.with_name("m.checkpoint").read_bytes()
        found = bayespa(*command, "--resume", "--set", "cost=50", "--model", "linear", code=2).err
        assert "model was 'medlda' and is 'linear'" in found
        assert "and is {'first_documents': 32, 'cost': 50}" in found
        assert path.with_name("m.checkpoint").read_bytes() == checkpoint
        bayespa(*command, "--resume")
        assert not path.with_name("m.checkpoint").exists()

    def test_a_finished_run_is_not_learned_twice(self, bayespa, files, model, tmp_path):
        path = tmp_path / "m"
        path.write_bytes(model.read_bytes())
        command = ["update", path, files / "test.jsonl"]
        bayespa(*command)
        once = path.read_bytes()
        bayespa(*command, "--resume")  # as after a kill between the last rename and the end
        assert path.read_bytes() == once
        bayespa(*command)
        assert package.load(path).estimator.n_documents_seen_ == 1300


def _fails_at_the_end(save, path):
    def fail(model, target):
        if target == path:
            raise OSError(28, "No space left on device")
        save(model, target)

    return fail


class TestProgress:
    def test_line(self):
        scores = Scores("class")
        scores.add(["a", "a"], ["a", "b"])
        line = progress.Line(total=4000)
        assert (
            line.text(StreamRun(1000, 0, scores), 2.0)
            == "1,000 documents · 500/s · 25%, 0:06 left · accuracy 0.500"
        )
        assert progress.Line(None).text(StreamRun(1000, 0, None), 2.0) == "1,000 documents · 500/s"
        assert (
            progress.Line(1000, before=900)
            .text(StreamRun(1000, 0, None), 2.0)
            .endswith("50/s · 100%, 0:00 left")
        )
        assert progress._clock(3700) == "1:01:40"

    def test_is_written_over_on_a_terminal_and_rare_elsewhere(self):
        for terminal, seconds, shown in (True, 1.0, 1), (False, 1.0, 0), (False, 11.0, 1):
            stream = io.StringIO()
            stream.isatty = lambda terminal=terminal: terminal
            line = progress.Line(None, stream=stream)
            line._shown -= seconds
            line.show(StreamRun(1000, 0, None))
            line.show(StreamRun(2000, 0, None))
            line.clear()
            assert stream.getvalue().count("documents") == shown
            assert stream.getvalue().endswith("/s\n") == (shown and not terminal)

    def test_knows_the_limit(self, bayespa, files, tmp_path, monkeypatch):
        totals = []
        monkeypatch.setattr(progress.Line, "show", lambda line, run: totals.append(line._total))
        command = ["train", files / "train.jsonl", "--text", "body", "--label", "topic", "-o", tmp_path / "m"]
        command += ["--model", "linear"]
        bayespa(*command, "--limit", 300)
        bayespa(*command, "--skip", 400, "--limit", 5000)
        assert totals[0] == 300
        assert abs(totals[-1] - 300) < 3

    def test_number_of_documents(self, files, tmp_path):
        assert abs(progress.count_documents((str(files / "train.jsonl"),), None) - 700) < 3
        (tmp_path / "d").mkdir()
        for name in "abc":
            (tmp_path / "d" / name).write_text("text")
        assert progress.count_documents((str(tmp_path / "d"),), None) == 3
        assert progress.count_documents(("-",), None) is None
        (tmp_path / "d.txt.gz").write_bytes(b"")
        assert progress.count_documents((str(tmp_path / "d.txt.gz"),), None) is None

    def test_number_of_documents_in_parquet(self, bayespa, tmp_path, monkeypatch):
        path = tmp_path / "d.parquet"
        pd.DataFrame({"text": ["a b"] * 9, "label": ["x"] * 9}).to_parquet(path)
        assert progress.count_documents((str(path),), None) == 9
        path.write_bytes(path.read_bytes()[:50])
        assert progress.count_documents((str(path),), None) is None
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        monkeypatch.delitem(sys.modules, "pyarrow.parquet")
        assert progress.count_documents((str(path),), None) is None
        found = bayespa("train", path, "-o", tmp_path / "m", code=1)
        assert "needs pyarrow: pip install bayespa[data]" in found.err
