"""A model of texts in MLflow: saved without pickle, loaded by pyfunc, in a process of its own."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

import bayespa
from bayespa.mlflow import PyfuncModel, _load_pyfunc

TEXTS, LABELS = ["good film", "bad film", "good book", "bad book"], ["positive", "negative"] * 2


@pytest.fixture(scope="module")
def model():
    return bayespa.TextModel("linear", random_state=0).learn(TEXTS, LABELS)


@pytest.mark.parametrize(
    "given",
    [TEXTS, pd.Series(TEXTS), pd.DataFrame({"n": range(4), "text": TEXTS}), pd.DataFrame({"any": TEXTS})],
)
def test_texts_come_in_many_shapes(model, given):
    said = PyfuncModel(model).predict(given)
    assert said["label"].tolist() == LABELS
    np.testing.assert_array_equal(said["probability"], model.predict_proba(TEXTS).max(axis=1))


def test_a_number_has_a_deviation():
    model = bayespa.TextModel("linear", random_state=0).learn(TEXTS, [1.0, 2.0, 1.5, 2.5])
    assert list(PyfuncModel(model).predict(TEXTS).columns) == ["label", "std"]


def test_a_table_without_a_text_is_refused(model):
    with pytest.raises(ValueError, match="which of the columns"):
        PyfuncModel(model).predict(pd.DataFrame({"a": TEXTS, "b": TEXTS}))


def test_the_file_is_a_model_file(model, tmp_path):
    path = tmp_path / "model.bayespa"
    bayespa.save(model, path)
    assert _load_pyfunc(str(path)).predict(TEXTS)["label"].tolist() == LABELS


@pytest.mark.skipif(find_spec("mlflow") is None, reason="no MLflow: pip install 'bayespa[mlflow]'")
def test_mlflow_saves_and_loads_it(model, tmp_path):
    bayespa.save(model, tmp_path / "model.bayespa")
    program = (
        "import bayespa, bayespa.mlflow, mlflow.pyfunc\n"
        "model = bayespa.load('model.bayespa')\n"
        "bayespa.mlflow.save_model(model, 'saved')\n"
        "print(*mlflow.pyfunc.load_model('saved').predict(['a good one', 'a bad one'])['label'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == ["positive", "negative"], done.stderr
    assert not [path for path in (tmp_path / "saved").rglob("*") if path.suffix in (".pkl", ".pickle")]
