"""Help, version and completion import nothing that computes; names of the package are imported late.

Models of texts learn and predict without scikit-learn and SciPy, whose import takes longer than a prediction.
"""

import json
import os
import subprocess
import sys

import pytest

import bayespa
from bayespa.cli import options
from bayespa.cli.reproduce import WHAT
from bayespa.corpus.sources import FORMATS
from bayespa.reproduce import EXPERIMENTS
from bayespa.text.predictor import KINDS

HEAVY = {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "bayespa._native"}
# What a program of texts has no use for. Some versions of NumPy import parts of it themselves.
NOT_FOR_TEXTS = {
    "asyncio",
    "bayespa.linear",
    "bayespa.workers",
    "concurrent.futures.process",
    "email",
    "http",
    "importlib.metadata",
    "logging",
    "multiprocessing",
    "numpy.f2py",
    "numpy.fft",
    "numpy.polynomial",
    "numpy.random",
    "numpy.testing",
    "socket",
    "ssl",
    "unittest",
}
PROGRAM = """
import json, sys
from bayespa.cli import main
try:
    for arguments in json.loads(sys.argv[1]):
        main(arguments, prog_name="bayespa", standalone_mode=False)
finally:
    print(json.dumps(sorted(sys.modules)))
"""


def imported(*commands, **environment):
    """Run the program, once for each command; return what it has imported, and what it has printed."""
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    printed, modules = found.stdout.rstrip().rpartition("\n")[::2]
    return set(json.loads(modules)), printed


def complete(*words):
    return {
        "_BAYESPA_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["bayespa", *words]),
        "COMP_CWORD": str(len(words)),
    }


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (["--help"], {}, "Learn a model from documents."),
        (["--version"], {}, bayespa.__version__),
        (["train", "--help"], {}, "[medlda|medhdp|linear]"),
        (["datasets"], {}, "arxiv-sample"),
        ([], complete("pre"), "predict"),
        ([], complete("train", "--ngr"), "--ngrams"),
        ([], complete("reproduce", "table"), "table-1"),
    ],
)
def test_what_computes_nothing_imports_nothing_that_computes(arguments, environment, said):
    modules, printed = imported(arguments, **environment)
    assert said in printed
    assert not modules & HEAVY


def test_a_command_imports_what_it_needs_alone(tmp_path):
    modules, _ = imported(["datasets", "arxiv-sample", "-o", str(tmp_path / "train.jsonl")])
    assert not modules & {
        "matplotlib",
        "bayespa.reproduce",
        "bayespa.inspect",
        "bayespa.topics",
        "bayespa.text.model",
    }


def test_texts_are_learned_and_labelled_without_scikit_learn_and_scipy(tmp_path):
    words = ["the cat sat on the mat", "stocks fell on the market", "a cat and a dog", "the market rose"]
    lines = [json.dumps({"text": text, "label": "ab"[i % 2]}) for i, text in enumerate(words * 10)]
    documents, model = tmp_path / "documents.jsonl", str(tmp_path / "model.bayespa")
    documents.write_text("\n".join(lines))
    modules, printed = imported(
        ["train", str(documents), "-o", model],
        ["update", model, str(documents)],
        ["predict", model, str(documents)],
        ["evaluate", model, str(documents)],
        ["topics", model],
        ["explain", model, "a dog"],
    )
    assert "accuracy" in printed
    assert not modules & (HEAVY - {"numpy", "bayespa._native"})
    by_others = subprocess.run(
        [sys.executable, "-c", "import sys, click, numpy; print(*sys.modules)"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert not modules & NOT_FOR_TEXTS - set(by_others.stdout.split())


def test_choices_of_the_program_are_those_of_the_package():
    assert options.FORMATS == FORMATS
    assert tuple(KINDS) == options.KINDS
    assert tuple(EXPERIMENTS) == WHAT


def test_public_names_are_imported_when_asked_for():
    program = (
        "import bayespa, sys; assert 'numpy' not in sys.modules; bayespa.linear; bayespa.MedLDAClassifier"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert sorted(name for names in bayespa._HOMES.values() for name in names) == bayespa.__all__
    for name in (*bayespa.__all__, *bayespa._ROOMS):
        assert getattr(bayespa, name).__name__.rpartition(".")[2] == name
        assert name in dir(bayespa)
    with pytest.raises(AttributeError, match="module 'bayespa' has no attribute 'MedLDA'"):
        bayespa.MedLDA  # noqa: B018
