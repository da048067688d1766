"""Documents to learn, and a program to learn them with."""

import json
import math

import pytest
from click.testing import CliRunner

from bayespa.cli import main, progress
from bayespa.datasets import load_arxiv_sample


@pytest.fixture(scope="session")
def papers():
    """Abstracts of four categories, in order of time: (text, label)."""
    sample = load_arxiv_sample()
    found = [(text, labels[0]) for text, labels in zip(sample.data, sample.labels, strict=True)]
    names = sorted({label for _, label in found})[:4]
    return [(text, label) for text, label in found if label in names]


@pytest.fixture(scope="session")
def files(papers, tmp_path_factory):
    """Folder with train.jsonl (700 papers) and test.jsonl (the later 300)."""
    folder = tmp_path_factory.mktemp("files")
    for name, part in ("train", papers[:700]), ("test", papers[700:]):
        lines = [json.dumps({"body": text, "topic": label}) for text, label in part]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


class Result:
    """What a command printed, and its exit code."""

    def __init__(self, found):
        self.code, self.out, self.err = found.exit_code, found.stdout, found.stderr

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def bayespa(monkeypatch):
    """Run the program, and expect an exit code. No line of progress comes because a machine is slow."""
    monkeypatch.setattr(progress, "_EVERY_LINE", math.inf)

    def run(*arguments, code=0, input=None):
        result = Result(
            CliRunner().invoke(main, [str(a) for a in arguments], input=input, catch_exceptions=False)
        )
        assert result.code == code, result.out + result.err
        return result

    return run


@pytest.fixture(scope="session")
def model(files):
    """Path of a model of train.jsonl."""
    path = files / "model.bayespa"
    arguments = [
        "train",
        files / "train.jsonl",
        "--text",
        "body",
        "--label",
        "topic",
        "-o",
        path,
        "--topics",
        "8",
    ]
    result = CliRunner().invoke(main, [*map(str, arguments), "--batch-size", "64"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return path
