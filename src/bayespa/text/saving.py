"""`save` and `load`: models as plain data and arrays, for `bayespa.text.files`."""

from __future__ import annotations

import inspect
import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayespa import linear, topics
from bayespa.corpus import vectorizer_from_state, vectorizer_to_state
from bayespa.posteriors import Categorical, Dirichlet, Gaussian, Joint, Posterior, Sticks
from bayespa.text import files
from bayespa.text.files import ModelFileError
from bayespa.text.model import TextModel
from bayespa.topics.topic_sums import TopicSums

__all__ = ["ModelFileError", "load", "save"]

ESTIMATORS: dict[str, type[Any]] = {  # all that a file may name
    name: getattr(package, name) for package in (linear, topics) for name in package.__all__
}
_POSTERIORS: dict[str, type[Posterior] | type[TopicSums]] = {
    kind.__name__: kind for kind in (Categorical, Dirichlet, Gaussian, Sticks, TopicSums)
}
_MOST_CHARACTERS = 100_000_000
_OPTIONAL = ("feature_names_in_",)  # of what estimators learn


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, by custom ``.bayespa``; an older file is replaced once the new one is whole.

    Parameters
    ----------
    model : TextModel or fitted estimator of this package
        A `TextModel` is saved with its vocabulary, so that once loaded it reads texts.
    path : path

    Examples
    --------
    >>> import pathlib, tempfile, bayespa
    >>> model = bayespa.BayesPAClassifier().fit([[0.0], [1.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.bayespa")
    ...     bayespa.save(model, path)
    ...     loaded = bayespa.load(path)
    >>> loaded.predict([[0.9]])
    array(['b'], dtype='<U1')
    """
    arrays: dict[str, NDArray[Any]] = {}
    if isinstance(model, TextModel):
        state = {
            "kind": "TextModel",
            "estimator": _from_estimator(model.estimator, arrays),
            "vectorizer": vectorizer_to_state(model.vectorizer),
            "description": model.description(),
        }
    else:
        state = _from_estimator(model, arrays)
    files.write(path, state, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model of a file that `save` wrote, in this or any earlier version of bayespa.

    The file is checked as a whole. Large arrays stay in the file, mapped into memory, and are copied when the
    model goes on learning. No code of the file is run: it has none.

    Parameters
    ----------
    path : path

    Returns
    -------
    TextModel or estimator

    Raises
    ------
    ModelFileError
        If it is no model file, is damaged, or was written by a later version.
    """
    state, arrays = files.read(path)
    try:
        if state["kind"] != "TextModel":
            return _to_estimator(state, arrays)
        estimator = _to_estimator(state["estimator"], arrays)
        return TextModel.described(
            estimator, vectorizer_from_state(state["vectorizer"]), state["description"]
        )
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        IndexError,
        RecursionError,
        OverflowError,
    ) as error:
        raise ModelFileError(
            f"{os.fspath(path)} does not describe a model ({error}); use another copy of it, or train anew"
        ) from error


# Estimators: their parameters, and what they have learned.


def _from_estimator(estimator: Any, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    kind = type(estimator).__name__
    if ESTIMATORS.get(kind) is not type(estimator):
        raise TypeError(f"a {kind} cannot be saved; use TextModel or one of {', '.join(ESTIMATORS)}")
    check_is_fitted(estimator)
    parameters = estimator.get_params(deep=False)
    learned = {name: value for name, value in vars(estimator).items() if name not in parameters}
    return {
        "kind": kind,
        "parameters": {name: _encode(value, name, arrays) for name, value in parameters.items()},
        "learned": {name: _encode(value, name, arrays) for name, value in learned.items()},
    }


def _to_estimator(state: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    if state["kind"] not in ESTIMATORS:
        raise ValueError(f"it is a {state['kind']!r}, which this version of bayespa does not know")
    parameters = {name: _decode(value, arrays) for name, value in state["parameters"].items()}
    estimator = ESTIMATORS[state["kind"]](**parameters)
    for name, value in state["learned"].items():
        if not name.isidentifier() or name.startswith("__") or hasattr(type(estimator), name):
            raise ValueError(f"{name!r} is not the name of something learned")
        setattr(estimator, name, _decode(value, arrays))
    for kind in type(estimator).__mro__:  # whose annotations tell what is learned
        for name in inspect.get_annotations(kind) if kind.__module__.startswith("bayespa.") else ():
            if name not in _OPTIONAL and not hasattr(estimator, name):
                raise ValueError(f"{name!r} is missing")
    classes = getattr(estimator, "classes_", np.empty(0))
    if not isinstance(classes, np.ndarray) or classes.ndim != 1:
        raise ValueError(f"classes_ is {type(classes).__name__}, not an array of classes")
    estimator._require_whole()
    return estimator


# Values: JSON has no arrays and tells fewer types apart, so all but the plainest are objects with one tag.


def _encode(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return `value` as a JSON value; arrays go to `arrays`, under names that begin with `name`."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [_encode(one, f"{name}.{i}", arrays) for i, one in enumerate(value)]
    if isinstance(value, tuple):
        return {"tuple": _encode(list(value), name, arrays)}
    if isinstance(value, dict):
        return {
            "dict": [[_encode(k, name, arrays), _encode(v, f"{name}.{k}", arrays)] for k, v in value.items()]
        }
    if isinstance(value, np.ndarray):
        return _encode_array(value, name, arrays)
    if isinstance(value, Joint):
        return {"joint": {key: _encode(part, f"{name}.{key}", arrays) for key, part in value.parts.items()}}
    if type(value) is _POSTERIORS.get(type(value).__name__):
        parts = {key: _encode(array, f"{name}.{key}", arrays) for key, array in value.to_arrays().items()}
        return {"posterior": type(value).__name__, "arrays": parts}
    raise TypeError(
        f"{name} is {value!r}; a model file holds numbers, texts, lists, dicts and arrays of them. "
        "Set it to such a value first (random_state: an integer or None)"
    )


def _encode_array(array: NDArray[Any], name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if array.dtype.kind == "U" and array.ndim == 1:
        return {"texts": _texts(array.tolist()).tolist()}
    if array.dtype.kind == "O" and array.ndim == 1:
        return {"objects": _encode(array.tolist(), name, arrays)}
    transposed = array.flags.f_contiguous and not array.flags.c_contiguous
    arrays[name] = array.T if transposed else array
    return {"transposed" if transposed else "array": name}


def _decode(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return what `_encode` turned into `value`."""
    if isinstance(value, list):
        return [_decode(one, arrays) for one in value]
    if not isinstance(value, dict):
        return value
    tag, content = next(iter(value.items()))
    if tag == "posterior":
        # Mapped, not copied: a posterior that cannot be written to makes a new one when it learns.
        parts = {name: _array(array, arrays) for name, array in value["arrays"].items()}
        return _POSTERIORS[content].from_arrays(parts)
    if tag == "joint":
        return Joint(**{name: _decode(part, arrays) for name, part in content.items()})
    if tag in ("array", "transposed"):
        return _array(value, arrays).copy(order="K")
    if tag == "dict":
        return {_decode(key, arrays): _decode(one, arrays) for key, one in content}
    if tag == "tuple":
        return tuple(_decode(content, arrays))
    if tag == "float":
        return float(content)
    if tag == "texts":
        return _texts(content)
    if tag == "objects":
        return np.array(_decode(content, arrays), object)
    raise ValueError(f"{tag!r} is not a kind of value that this version of bayespa knows")


def _texts(texts: list[str]) -> NDArray[np.str_]:
    """Return an array of texts, in which each takes the room of the longest: a hostile file may want much."""
    longest = max(map(len, texts), default=0)
    if len(texts) * longest > _MOST_CHARACTERS:
        raise ValueError(
            f"{len(texts)} names of {longest} characters are too many; shorten the names of classes"
        )
    return np.array(texts, np.str_)


def _array(value: Any, arrays: dict[str, NDArray[Any]]) -> NDArray[Any]:
    ((tag, name),) = value.items()
    return arrays[name].T if tag == "transposed" else arrays[name]
