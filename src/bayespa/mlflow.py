"""Models of texts in MLflow: saved as model files of their own, without pickle, and served by its ``pyfunc``.

Needs MLflow, or its small edition: ``pip install "bayespa[mlflow]"``.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bayespa
from bayespa.text.model import TextModel


def save_model(model: TextModel, path: str | os.PathLike[str], **options: Any) -> None:
    """Save a model of texts as a folder that ``mlflow.pyfunc.load_model`` and ``mlflow models serve`` read.

    Parameters
    ----------
    model : TextModel
        That has learned.
    path : path
        The folder, which is made.
    **options
        Of ``mlflow.pyfunc.save_model``, such as ``signature`` or ``metadata``.

    Examples
    --------
    >>> import bayespa.mlflow, mlflow  # doctest: +SKIP
    >>> bayespa.mlflow.save_model(model, "reviews")  # doctest: +SKIP
    >>> mlflow.pyfunc.load_model("reviews").predict(["a great film"])  # doctest: +SKIP
          label  probability
    0  positive          0.9
    """
    _write("save_model", model, path=os.fspath(path), **options)


def log_model(model: TextModel, **options: Any) -> Any:
    """Log a model of texts to the active run, with options of ``mlflow.pyfunc.log_model`` such as ``name``.

    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     info = bayespa.mlflow.log_model(model, name="reviews")
    """
    return _write("log_model", model, **options)


def _write(function: str, model: TextModel, **options: Any) -> Any:
    import mlflow.pyfunc

    with TemporaryDirectory() as folder:
        file = Path(folder, "model.bayespa")
        bayespa.save(model, file)
        return getattr(mlflow.pyfunc, function)(
            loader_module=__name__,
            data_path=os.fspath(file),
            **{"pip_requirements": [f"bayespa=={bayespa.__version__}"], **options},
        )


class PyfuncModel:
    """A model of texts as MLflow calls it."""

    def __init__(self, model: TextModel) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return labels of texts, and how probable each is or, of numbers, its standard deviation.

        Parameters
        ----------
        model_input : list or Series of n str, or DataFrame of n rows with a column ``text`` or a single one
        params : dict, optional
            Is not used.

        Returns
        -------
        DataFrame of n rows, with columns ``label`` and ``probability`` or ``std``
        """
        import pandas as pd

        if isinstance(model_input, pd.DataFrame):
            columns = list(model_input.columns)
            if "text" not in columns and len(columns) != 1:
                raise ValueError(
                    f"which of the columns {columns} is the text? Name it 'text', or give one column"
                )
            model_input = model_input["text" if "text" in columns else columns[0]]
        texts = [str(text) for text in model_input]
        answers = self.model.answer_counts(self.model.counts(texts))
        if answers.probabilities is None:
            return pd.DataFrame({"label": answers.labels, "std": answers.deviations})
        return pd.DataFrame({"label": answers.labels, "probability": answers.probabilities.max(axis=1)})


def _load_pyfunc(path: str) -> PyfuncModel:
    """Load what `save_model` has saved; MLflow calls this."""
    model = bayespa.load(path)
    if not isinstance(model, TextModel):
        raise ValueError(f"{path} holds a {type(model).__name__}, not a TextModel")
    return PyfuncModel(model)
