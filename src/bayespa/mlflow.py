"""Text models in MLflow, saved without pickle and served by ``pyfunc``.

Needs MLflow or mlflow-skinny: ``pip install "bayespa[mlflow]"``.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bayespa
from bayespa.text.model import TextModel


def save_model(model: TextModel, path: str | os.PathLike[str], **options: Any) -> None:
    """Save a text model as a folder for ``mlflow.pyfunc.load_model`` and ``mlflow models serve``.

    Parameters
    ----------
    model : TextModel
        A fitted model.
    path : path
        The folder to create.
    **options
        Options of ``mlflow.pyfunc.save_model``, such as ``signature`` or ``metadata``.

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
    """Log a text model to the active run, with options of ``mlflow.pyfunc.log_model`` such as ``name``.

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
    """A text model with the interface of MLflow."""

    def __init__(self, model: TextModel) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return labels of texts, with their probabilities or, for numbers, standard deviations.

        Parameters
        ----------
        model_input : list or Series of n str, or DataFrame of n rows with a column ``text`` or a single one
        params : dict, optional
            Not used.

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
        answers = self.model.answer(texts)
        if answers.probabilities is None:
            return pd.DataFrame({"label": answers.labels, "std": answers.deviations})
        return pd.DataFrame({"label": answers.labels, "probability": answers.probabilities.max(axis=1)})


def _load_pyfunc(path: str) -> PyfuncModel:
    """Load what `save_model` saved; MLflow calls this."""
    model = bayespa.load(path)
    if not isinstance(model, TextModel):
        raise ValueError(f"{path} holds a {type(model).__name__}, not a TextModel")
    return PyfuncModel(model)
