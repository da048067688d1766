"""`save` and `load`: models as plain data and arrays, for `bayespa.text.files`."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.corpus import vectorizer_from_state
from bayespa.posteriors import Categorical, Dirichlet, Gaussian, Joint, Sticks, Sums, Tally
from bayespa.text import cells, files
from bayespa.text.files import ModelFileError, short
from bayespa.text.model import TextModel
from bayespa.text.predictor import KINDS
from bayespa.text.stream import StreamRun
from bayespa.topics.topic_sums import TopicSums

__all__ = ["ModelFileError", "load", "save"]

_OF_TEXTS: dict[str, type[Any]] = {  # all that a file of a `TextModel` may name
    made._name: made for kind in KINDS.values() for made in (kind.classifier, kind.regressor)
}
_POSTERIORS: dict[str, type[Sums] | type[TopicSums]] = {
    kind.__name__: kind for kind in (Categorical, Dirichlet, Gaussian, Sticks, Tally, TopicSums)
}
_ROOM = 2**24  # bytes of memory that class names may always take
_FLOAT = np.dtype(np.float64)
_WIDE = 16  # rows and columns of an array that is packed, if that makes it smaller


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, usually called ``*.bayespa``; an old file is replaced as a whole.

    Parameters
    ----------
    model : TextModel or fitted estimator of this package
        A `TextModel` is saved with its vocabulary, so that it can read texts when loaded.
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
        estimator, vectorizer, description = model.to_state()
        state = {
            "kind": "TextModel",
            "estimator": _from_estimator(estimator, arrays),
            "vectorizer": vectorizer,
            "description": description,
        }
    else:
        state = _from_estimator(model, arrays)
    files.write(path, state, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model of a file that `save` wrote, in this version of bayespa or an earlier one.

    Models in which words decide can be read from version 3 of the format on; before, they had other features.

    The whole file is checked and read into memory, so later changes of the file have no effect. This takes
    memory in proportion to the size of the file, at most. Files have no code.

    Parameters
    ----------
    path : path

    Returns
    -------
    TextModel or estimator

    Raises
    ------
    ModelFileError
        If it is not a model file, is damaged, or was written by a later version.

    Examples
    --------
    >>> import pathlib, tempfile, bayespa
    >>> model = bayespa.TextModel("linear", random_state=0)
    >>> _ = model.learn(["good film", "bad film"], ["positive", "negative"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.bayespa")
    ...     bayespa.save(model, path)
    ...     loaded = bayespa.load(path)
    >>> loaded.predict(["a good one"])
    ['positive']
    """
    state, arrays = files.read(path)
    try:
        return _model(state, _Content(arrays))
    except Exception as error:  # whatever a hostile file may cause
        what = f"{error} is missing" if isinstance(error, KeyError) else short(error)
        raise ModelFileError(
            f"{os.fspath(path)} is not a valid model ({what}); use another copy of it, or train again"
        ) from error


def load_text_model(path: str | os.PathLike[str], jobs: int) -> TextModel:
    """Load a model that reads texts, to be used by `jobs` threads."""
    model = load(path)
    if not isinstance(model, TextModel):
        raise ValueError(
            f"{path} has a {type(model).__name__} without a vocabulary, which cannot read texts; save a "
            "TextModel, or train with bayespa train"
        )
    return model.with_jobs(jobs)


def _model(state: Any, content: _Content) -> Any:
    """Return the model from the plain data and the arrays of a file."""
    if not isinstance(state, dict):
        raise ValueError(f"its state is a {type(state).__name__}, not an object")
    if state["kind"] != "TextModel":
        return _to_estimator(state, content, estimators())
    learned, description = state["estimator"], state["description"]
    if learned["kind"] not in _OF_TEXTS and learned["kind"] in estimators():
        raise ValueError(f"a {learned['kind']} is not of kind {description['kind']!r}")
    estimator = _to_estimator(learned, content, _OF_TEXTS)
    if not isinstance(description["reading"], dict):
        raise ValueError(f"reading is a {type(description['reading']).__name__}, not an object")
    if description["run"] is not None:
        StreamRun.from_state(description["run"])
    return TextModel.from_state(estimator, vectorizer_from_state(state["vectorizer"]), description)


# Estimators: their parameters, and what they have learned.


@cache
def estimators() -> dict[str, type[Any]]:
    """Return all estimators that a file may name; this imports scikit-learn, which a `TextModel` does not."""
    from bayespa import linear, topics

    return {name: getattr(package, name) for package in (linear, topics) for name in package.__all__}


def _from_estimator(estimator: Any, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    if type(estimator) not in _OF_TEXTS.values() and type(estimator) not in estimators().values():
        kind, known = type(estimator).__name__, ", ".join(estimators())
        raise TypeError(f"a {kind} cannot be saved; use TextModel or one of {known}")
    estimator = copy(estimator)  # one version of the state, even if other threads learn
    estimator._require_fitted()
    kind, parameters = estimator._name, estimator._get_param_names()
    parts = {
        "parameters": {name: getattr(estimator, name) for name in parameters},
        "learned": estimator._to_file(),
    }
    state = {
        part: {name: _encode(value, name, arrays) for name, value in values.items()}
        for part, values in parts.items()
    }
    _Content(arrays).require_room(state["learned"].values())
    return {"kind": kind, **state}


def _to_estimator(state: dict[str, Any], content: _Content, kinds: Mapping[str, type[Any]]) -> Any:
    if state["kind"] not in kinds:
        raise ValueError(f"it is a {state['kind']!r}, which this version of bayespa does not know")
    parameters, learned = (
        {name: content.decoded(value) for name, value in state[part].items()}
        for part in ("parameters", "learned")
    )
    kind = kinds[state["kind"]]
    estimator = kind(**_renamed(kind, parameters, learned))
    estimator._from_file(learned)
    return estimator


_NAMES_OF_VERSION_1 = {
    "classifier": "rule",
    "concentration": "alpha",
    "stick_concentration": "gamma",
    "start_concentration": "start_gamma",
    "first_batch_size": "first_documents",
}


def _renamed(kind: Any, parameters: dict[str, Any], learned: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with their present names.

    Files of version 1 have other names, and no `expert`; regressors had only topics up to version 2.
    """
    known = set(kind._get_param_names())
    if set(parameters) <= known:
        alone = "decides" in known and "decides" not in parameters
        return {**parameters, "decides": "topics"} if alone else parameters
    parameters = {_NAMES_OF_VERSION_1.get(name, name): value for name, value in parameters.items()}
    if "tol" not in known:
        parameters.pop("tol", None)  # BayesPA had it, as a stopping rule
    if "decides" in known:
        with_words = "words" in learned["_posterior"]
        parameters["decides"] = "topics+words" if with_words else "topics"
        if not with_words:
            parameters.pop("word_scale", None)
    if "expert" in known:
        turned = kind()._defaults()
        expert = {name: parameters.pop(name) for name in sorted(set(parameters) - known) if name in turned}
        parameters["expert"] = {name: value for name, value in expert.items() if value is not None}
    return parameters


# Values: JSON has no arrays and fewer types, so all but the simplest are objects with a tag.


def _encode(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return `value` as a JSON value; arrays go to `arrays`, with names that begin with `name`."""
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
    if isinstance(value, Joint):
        return {"joint": {key: _encode(part, f"{name}.{key}", arrays) for key, part in value.items()}}
    if isinstance(value, dict):
        return {
            "dict": [[_encode(k, name, arrays), _encode(v, f"{name}.{k}", arrays)] for k, v in value.items()]
        }
    if isinstance(value, np.ndarray):
        return _encode_array(value, name, arrays)
    if type(value) is _POSTERIORS.get(type(value).__name__):
        parts = {key: _encode(array, f"{name}.{key}", arrays) for key, array in value.to_arrays().items()}
        return {"posterior": type(value).__name__, "arrays": parts}
    raise TypeError(
        f"{name} is {value!r}; a model file has only numbers, texts, lists, dicts and arrays. Set it to "
        "such a value first (random_state: an integer or None)"
    )


def _encode_array(array: NDArray[Any], name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if array.dtype.kind == "U" and array.ndim == 1:
        return {"texts": array.tolist()}
    if array.dtype.kind == "O" and array.ndim == 1:
        return {"objects": _encode(array.tolist(), name, arrays)}
    transposed = array.flags.f_contiguous and not array.flags.c_contiguous
    stored = array.T if transposed else array
    wide = array.dtype == _FLOAT and array.ndim == 2 and min(array.shape) >= _WIDE
    found = cells.packed(stored) if wide else None
    if found is None:
        arrays[name] = stored
        return {"transposed" if transposed else "array": name}
    arrays.update((f"{name}.{piece}", own) for piece, own in found.arrays().items())
    return {"cells": {"of": name, "shape": stored.shape, "fill": found.fill, "transposed": transposed}}


class _Content:
    """The arrays of a file, each used once, and the memory that texts may take."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._arrays = dict(arrays)
        self._room = _ROOM + 2 * sum(array.nbytes for array in arrays.values())

    def decoded(self, value: Any) -> Any:
        """Return the value that `_encode` turned into `value`."""
        if isinstance(value, list):
            return [self.decoded(one) for one in value]
        if not isinstance(value, dict):
            return value
        tag, *others = value
        content = value[tag]
        if tag == "posterior" and others == ["arrays"]:
            # Not copied: a posterior that is not writeable makes a new one when it learns.
            parts = {name: self._array(array) for name, array in value["arrays"].items()}
            return _posterior(content, parts)
        if others:
            raise ValueError(f"an object has {tag!r} and {others[0]!r} instead of a single name")
        if tag == "joint":
            return Joint(**{name: _tallied(name, self.decoded(part)) for name, part in content.items()})
        if tag in ("array", "transposed", "cells"):
            return self._array(value).copy(order="K")
        if tag == "dict":
            return {self.decoded(key): self.decoded(one) for key, one in content}
        if tag == "tuple":
            return tuple(self.decoded(content))
        if tag == "float":
            return float(content)
        if tag == "texts":
            return self._texts(content)
        if tag == "objects":
            return _objects(content)
        raise ValueError(f"{tag!r} is not a kind of value that this version of bayespa knows")

    def _array(self, value: Any) -> NDArray[Any]:
        ((tag, name),) = value.items()
        if tag == "cells":
            return self._unpacked(**name)
        if tag not in ("array", "transposed"):
            raise ValueError(f"{tag!r} is no array")
        array = self._stored(name)
        return array.T if tag == "transposed" else array

    def _stored(self, name: str) -> NDArray[Any]:
        if name not in self._arrays:
            raise ValueError(f"there is no array {name!r}, or it is used twice")
        return self._arrays.pop(name)

    def _unpacked(self, *, of: str, shape: list[int], fill: float, transposed: bool) -> NDArray[Any]:
        if type(fill) is not float or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"cells of {of!r} have shape {shape} and the value {fill!r}")
        pieces = {piece: self._stored(f"{of}.{piece}") for piece in ("differ", "units", "others")}
        array = cells.unpacked(cells.Packed(fill, **pieces), shape)
        array.flags.writeable = False  # as those that are not packed
        return array.T if transposed else array

    def require_room(self, values: Iterable[Any]) -> None:
        """Raise a ValueError if texts would take too much memory."""
        for value in values:
            if isinstance(value, dict) and "texts" in value:
                self._texts(value["texts"])

    def _texts(self, texts: Any) -> NDArray[np.str_]:
        """Return an array of texts, in which each takes the memory of the longest."""
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ValueError("names must be texts")
        longest = max(map(len, texts), default=0)
        self._room -= 4 * len(texts) * longest
        if self._room < 0:
            raise ValueError(
                f"{len(texts)} names of {longest} characters are too many; shorten the names of classes"
            )
        return np.array(texts, np.str_)


def _objects(values: Any) -> NDArray[Any]:
    """Return an array of texts and numbers of any kind."""
    if not isinstance(values, list) or not all(isinstance(one, str | int | float) for one in values):
        raise ValueError("names must be texts or numbers")
    return np.array(values, object)


def _posterior(kind: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if kind != "TopicSums":  # it checks its types itself
        for name, array in arrays.items():
            if array.dtype != _FLOAT:
                raise ValueError(f"{name} of a {kind} holds {array.dtype}, not {_FLOAT}")
    return _POSTERIORS[kind].from_arrays(arrays)


def _tallied(name: str, part: Any) -> Any:
    """Return a part of a posterior; in files of version 1 counts were called Dirichlet."""
    if name in ("documents", "labels") and isinstance(part, Dirichlet):
        return Tally(part.concentration)
    return part
