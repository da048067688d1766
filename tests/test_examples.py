"""The scripts and notebooks of examples/ run and say what they promise."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from tools.notebooks import executed

FOLDER = Path(__file__).parents[1] / "examples"


@pytest.fixture
def said(tmp_path, monkeypatch, capsys):
    """Run a script in an empty folder; return what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(name: str) -> str:
        monkeypatch.setattr(sys, "argv", [name])
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
        return capsys.readouterr().out

    return run


def numbers(pattern: str, text: str) -> list[float]:
    return [float(number) for number in re.findall(pattern, text)]


def test_sort_a_csv(said, tmp_path):
    text = said("sort_a_csv")
    assert numbers(r"before learning ([\d.]+)", text)[0] > 0.6
    assert len((tmp_path / "sorted.csv").read_text(encoding="utf-8").splitlines()) >= 1000
    assert "the first, because" in text


def test_review_queue(said):
    text = said("review_queue")
    read = numbers(r"people read +(\d+)%", text)
    assert read[-1] < 0.8 * read[0]
    assert numbers(r"([\d.]+)% of them right", text)[0] > 90


def test_drifting_stream(said):
    accuracy = numbers(r"accuracy ([\d.]+)", said("drifting_stream"))
    *chosen, found_itself = accuracy
    assert chosen == sorted(chosen)
    assert chosen[-1] > chosen[0] + 0.2
    assert found_itself > chosen[-2]


def test_two_machines(tmp_path):  # in a process of its own, whose main module its workers can import
    command = [sys.executable, "-W", "error", FOLDER / "two_machines.py"]
    text = subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.PIPE, text=True).stdout
    ancestor, one, two, merged = numbers(r"accuracy ([\d.]+)", text)
    assert merged > max(one, two) > ancestor
    assert numbers(r": (\d+) documents", text) == [2000, 3000, 3000, 4000]


def test_topics_in_time(said):
    text = said("topics_in_time")
    assert min(numbers(r": (\d+) topics", text)) > 20
    assert numbers(r"(\d+) gone", text)[0] == 0
    assert len(re.findall(r"^  topic \d+, \+\d+ words, \S+: (?:\w+ ?){5}$", text, flags=re.MULTILINE)) == 9


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.name)
def test_notebook_shows_what_it_prints(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert texts(executed(notebook, path.name)) == texts(notebook), "make examples makes the notebook agree"


def texts(notebook: dict) -> list:
    """The outputs of a notebook, but for pixels: they depend on the version of matplotlib."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    return [output.get("text") or sorted({**output["data"], "image/png": ""}.items()) for output in outputs]
