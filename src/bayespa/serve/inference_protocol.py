"""The Open Inference Protocol, version 2, with the binary tensors that Triton's clients send.

There is one input, ``text`` (BYTES, any number of texts). The outputs are ``id`` and ``label`` (BYTES) and
``uncertainty`` (FP64), with one value per text. A model of classes also has ``probabilities`` (FP64, texts by
classes) and ``classes`` (BYTES), which names the columns. A label of several classes is a JSON list.
``model_version`` is the version of the model.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import BaseModel, Field
from pydantic_core import to_json

import bayespa
from bayespa.serve.context import Context, body_of, context, require
from bayespa.serve.service import Predicted

plain = APIRouter(prefix="/v2")
router = APIRouter(prefix="/v2", dependencies=[require("read")])
ROUTERS = (plain, router)

_LENGTH = "inference-header-content-length"


class Tensor(BaseModel):
    """A tensor; its data are in `data`, or after the JSON part of the body."""

    name: str = Field(max_length=200)
    shape: list[int] = Field(max_length=8)
    datatype: str = Field(max_length=16)
    data: list[Any] | None = None
    parameters: dict[str, Any] = {}


class RequestedTensor(BaseModel):
    """An output that the client requests."""

    name: str = Field(max_length=200)
    parameters: dict[str, Any] = {}


class InferIn(BaseModel):
    """A request of the protocol."""

    id: str | None = Field(None, max_length=200)
    inputs: list[Tensor] = Field(min_length=1, max_length=1)
    outputs: list[RequestedTensor] | None = Field(None, max_length=16)
    parameters: dict[str, Any] = {}


@plain.get("/health/live")
@plain.get("/health/ready")
async def health() -> dict[str, Any]:
    """Say that the service is running."""
    return {}


@router.get("")
async def server() -> dict[str, Any]:
    """Describe the service."""
    return {"name": "bayespa", "version": bayespa.__version__, "extensions": ["binary_tensor_data"]}


@router.get("/models/{name}")
async def model(name: str, request: Request) -> dict[str, Any]:
    """Describe the model."""
    shared = _of(name, request)
    classes = shared.service.published.model.class_names
    outputs = [("id", "BYTES", [-1]), ("label", "BYTES", [-1]), ("uncertainty", "FP64", [-1])]
    if classes:
        outputs += [("probabilities", "FP64", [-1, -1]), ("classes", "BYTES", [-1])]
    return {
        "name": name,
        "versions": [str(shared.service.published.version)],
        "platform": "bayespa",
        "inputs": [{"name": "text", "datatype": "BYTES", "shape": [-1]}],
        "outputs": [{"name": n, "datatype": kind, "shape": shape} for n, kind, shape in outputs],
    }


@router.get("/models/{name}/ready")
async def ready(name: str, request: Request) -> dict[str, Any]:
    """Say that the model answers."""
    _of(name, request)
    return {}


@router.post("/models/{name}/infer", openapi_extra=body_of(InferIn))
async def infer(name: str, request: Request) -> Response:
    """Predict the labels of texts."""
    shared = _of(name, request)
    body = await request.body()
    length = request.headers.get(_LENGTH, str(len(body)))
    if not length.isdecimal() or int(length) > len(body):
        raise HTTPException(400, f"{_LENGTH} is not the length of the JSON part of the body")
    asked = InferIn.model_validate_json(body[: int(length)])
    texts = _texts(asked.inputs[0], body[int(length) :])
    shared.require_texts(texts)
    predicted = await shared.batcher.predict(texts)
    tensors = _tensors(predicted)
    binary = asked.parameters.get("binary_data_output") is True
    wanted = asked.outputs or [RequestedTensor(name=n) for n in tensors]
    outputs, tail = [], b""
    for one in wanted:
        if one.name not in tensors:
            raise HTTPException(400, f"there is no output {one.name!r}; there are {', '.join(tensors)}")
        kind, values = tensors[one.name]
        described: dict[str, Any] = {"name": one.name, "datatype": kind, "shape": list(values.shape)}
        if one.parameters.get("binary_data", binary) is True:
            data = _packed(kind, values)
            tail += data
            outputs.append({**described, "parameters": {"binary_data_size": len(data)}})
        else:
            outputs.append({**described, "data": values.ravel().tolist()})
    answer = {"model_name": name, "model_version": str(predicted.version), "outputs": outputs}
    head = to_json(answer if asked.id is None else {**answer, "id": asked.id})
    if not tail:
        return Response(head, media_type="application/json")
    return Response(head + tail, media_type="application/octet-stream", headers={_LENGTH: str(len(head))})


def _of(name: str, request: Request) -> Context:
    """Return the context of the application, if this is the model's name."""
    shared = context(request)
    if name != shared.service.path.stem:
        raise HTTPException(404, f"there is no such model; this one is {shared.service.path.stem!r}")
    return shared


def _texts(tensor: Tensor, tail: bytes) -> list[str]:
    """Return the texts of the input."""
    if tensor.name != "text" or tensor.datatype != "BYTES":
        raise HTTPException(400, "the input must be 'text', of datatype BYTES")
    if tensor.data is None:
        size = tensor.parameters.get("binary_data_size")
        if size != len(tail):
            raise HTTPException(400, f"binary_data_size is not {len(tail)}, the bytes behind the JSON part")
        texts = [_decoded(piece) for piece in _unpacked(tail)]
    else:
        data = tensor.data
        while data and isinstance(data[0], list):  # rows of rows
            data = [one for row in data for one in (row if isinstance(row, list) else [row])]
        texts = [one for one in data if isinstance(one, str)]
        if len(texts) != len(data):
            raise HTTPException(400, "the data of 'text' must be texts")
    if not texts or any(n < 0 for n in tensor.shape) or int(np.prod(tensor.shape, dtype=float)) != len(texts):
        raise HTTPException(400, f"the shape of 'text' is {tensor.shape}, and there are {len(texts)} texts")
    return texts


def _decoded(piece: bytes) -> str:
    try:
        return piece.decode()
    except UnicodeDecodeError as error:
        raise HTTPException(400, "a text is not UTF-8") from error


def _unpacked(data: bytes) -> Iterator[bytes]:
    """Yield texts; each follows its length, which takes four bytes."""
    at = 0
    while at < len(data):
        if at + 4 > len(data):
            raise HTTPException(400, "the binary data end within a length")
        (n,) = struct.unpack_from("<I", data, at)
        if at + 4 + n > len(data):
            raise HTTPException(400, "the binary data end within a text")
        yield data[at + 4 : at + 4 + n]
        at += 4 + n


def _packed(kind: str, values: np.ndarray[Any, Any]) -> bytes:
    if kind == "FP64":
        return values.astype("<f8").tobytes()
    pieces = [value.encode() for value in values.ravel().tolist()]
    return b"".join([struct.pack("<I", len(piece)) + piece for piece in pieces])


def _tensors(predicted: Predicted) -> dict[str, tuple[str, np.ndarray[Any, Any]]]:
    """Return the outputs, by name: datatype and values."""
    said = predicted.answers
    labels = [label if isinstance(label, str) else json.dumps(label) for label in said.labels]
    found: dict[str, tuple[str, np.ndarray[Any, Any]]] = {
        "id": ("BYTES", np.array(predicted.ids, object)),
        "label": ("BYTES", np.array(labels, object)),
        "uncertainty": ("FP64", np.array(predicted.uncertainty, np.float64)),
    }
    if said.probabilities is not None:
        found["probabilities"] = ("FP64", said.probabilities)
        found["classes"] = ("BYTES", np.array(said.class_names, object))
    return found
