"""The routes under ``/api/v1``: predict, explain, learn, topics, sessions of the page."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr
from pydantic_core import to_json

from bayespa.corpus import Label
from bayespa.inspect.view import topic_table
from bayespa.serve.context import Context, body_of, context, require, who
from bayespa.serve.guard import COOKIE, session_cookie
from bayespa.serve.service import Busy, Published
from bayespa.serve.writer import Labelled

anyone = APIRouter(prefix="/api/v1")
read = APIRouter(prefix="/api/v1", dependencies=[require("read")])
learning = APIRouter(prefix="/api/v1", dependencies=[require("learn")])
ROUTERS = (anyone, read, learning)

_LARGEST = 2**53
Id = Annotated[str, Field(min_length=1, max_length=200)]
Name = Annotated[StrictStr, Field(min_length=1, max_length=1000)]
LabelIn = (
    Name
    | Annotated[StrictInt, Field(ge=-_LARGEST, le=_LARGEST)]
    | Annotated[StrictFloat, Field(allow_inf_nan=False)]
    | Annotated[list[Name], Field(max_length=1000)]
)


class Body(BaseModel):
    """What a client sends; other fields are refused."""

    model_config = ConfigDict(extra="forbid")


class PredictIn(Body):
    """Texts to predict."""

    texts: list[str] = Field(min_length=1)
    top: int = Field(3, ge=0, le=10_000, description="How many of the most probable classes to return.")


class PredictionOut(BaseModel):
    """What the model says of a text."""

    id: str = Field(description="Names the text when it is labelled later; see learn.")
    label: str | float | list[str]
    uncertainty: float = Field(
        description="For one class: the probability that it is wrong. For several: the probability that the "
        "least certain of them is wrong. For a number: its standard deviation."
    )
    probabilities: dict[str, float] | None = Field(description="The most probable classes, best first.")


class PredictOut(BaseModel):
    """What the model says of texts, in order."""

    version: int = Field(description="Documents of the log that the model had learned.")
    predictions: list[PredictionOut]


class ExplainIn(Body):
    """A text whose decision is to be explained."""

    text: str
    target: str | None = Field(None, description="A class; by default the predicted one.")


class LearnDocument(Body):
    """A text or an earlier prediction, with its label."""

    text: str | None = None
    prediction: Id | None = Field(None, description="The id of an earlier prediction, instead of its text.")
    label: LabelIn
    id: Id | None = Field(None, description="Chosen by the client: the same id is learned once.")


class LearnIn(Body):
    """Documents to learn."""

    documents: list[LearnDocument] = Field(min_length=1)
    wait: bool = Field(False, description="Whether to wait with the answer until the model has learned them.")


class EntryOut(BaseModel):
    """A document in the log."""

    id: str
    seq: int = Field(description="The model has learned it from this version on.")
    new: bool = Field(description="Whether it was not in the log before.")


class LearnOut(BaseModel):
    """Documents that are safe on the disk, and the present version of the model."""

    version: int
    documents: list[EntryOut]


async def answered(shared: Context, body: bytes) -> bytes:
    """Return the answer to a body that `PredictIn` describes."""
    asked = PredictIn.model_validate_json(body)
    shared.require_texts(asked.texts)
    predicted = await shared.batcher.predict(asked.texts)
    return to_json({"version": predicted.version, "predictions": predicted.described(asked.top)})


@read.post("/predict", response_model=PredictOut, openapi_extra=body_of(PredictIn))
async def predict(request: Request) -> Response:
    """Predict the labels of texts."""
    return Response(await answered(context(request), await request.body()), media_type="application/json")


@read.post("/explain")
def explain(body: ExplainIn, request: Request) -> dict[str, Any]:
    """Explain the decision on a text by topics and words."""
    shared = context(request)
    shared.require_texts([body.text])
    published = shared.service.published
    try:
        explanation = published.model.explain(body.text, body.target)
    except ValueError as error:
        raise HTTPException(422, str(error)) from error
    return {"version": published.version, **asdict(explanation)}


@read.get("/topics")
def topics(request: Request, words: Annotated[int, Query(ge=1, le=100)] = 10) -> dict[str, Any]:
    """Show the topics, the largest first; a model without topics has none."""
    published = context(request).service.published
    return {"version": published.version, "topics": _topics(published, words)}


@lru_cache(maxsize=4)
def _topics(published: Published, words: int) -> list[dict[str, Any]]:
    return topic_table(published.model, words) if published.model.has_topics else []


@learning.post("/learn")
async def learn(body: LearnIn, request: Request) -> LearnOut:
    """Learn documents; the answer comes when they are on the disk.

    A document is a text, or the id of an earlier prediction, with its label. All of a request are learned, or
    none.
    """
    shared = context(request)
    service = shared.service
    predictions = [one.prediction for one in body.documents if one.prediction is not None]
    texts = await asyncio.to_thread(service.store.waiting, predictions) if predictions else {}
    documents = _documents(shared, body.documents, texts)
    entries = await asyncio.wrap_future(service.learn(documents, at_once=body.wait))
    numbers = [entry.seq for entry in entries]
    learned = [document.text for document in documents]
    shared.audit(
        who(request), "learn", learned, documents=len(entries), first=min(numbers), last=max(numbers)
    )
    if body.wait:
        await asyncio.to_thread(service.wait_for, max(numbers), shared.limits.seconds)
    return LearnOut(
        version=service.published.version, documents=[EntryOut(**entry._asdict()) for entry in entries]
    )


def _documents(shared: Context, given: list[LearnDocument], texts: Mapping[str, str]) -> list[Labelled]:
    """Return documents with their texts; those of predictions are found by id."""
    documents = []
    for place, one in enumerate(given):
        text = one.text
        if one.prediction is not None:
            if text is not None or one.id is not None:
                raise HTTPException(
                    422, f"documents[{place}] has a prediction, so text and id are not needed"
                )
            text = texts.get(one.prediction)
            if text is None:
                raise HTTPException(
                    404, f"documents[{place}]: prediction {one.prediction!r} is not kept; send its text"
                )
        if text is None:
            raise HTTPException(422, f"documents[{place}] has neither a text nor a prediction")
        label: Label = tuple(one.label) if isinstance(one.label, list) else one.label
        documents.append(Labelled(text, label, one.prediction or one.id or f"s{secrets.token_hex(12)}"))
    shared.require_texts([document.text for document in documents])
    return documents


# Sessions of the page


class SessionIn(Body):
    """A token, which a browser exchanges for a session."""

    token: str = Field(max_length=1000)


class SessionOut(BaseModel):
    """Whose session it is, and the value of X-CSRF-Token that each change needs."""

    name: str
    role: str
    csrf: str


@anyone.get("/session")
async def session(request: Request) -> SessionOut:
    """Say who asks: the owner of a session, or everybody if there are no tokens."""
    principal = who(request)
    if principal is None:
        raise HTTPException(401, "there is no session; begin one with a token")
    cookie = session_cookie(dict(request.scope["headers"]))
    return SessionOut(
        name=principal.name,
        role=principal.role,
        csrf=context(request).sessions.csrf(cookie) if cookie else "",
    )


@anyone.post("/session")
async def begin_session(body: SessionIn, request: Request, response: Response) -> SessionOut:
    """Begin a session of the page with a token."""
    shared = context(request)
    principal = who(request) if shared.tokens is None else shared.tokens.find(body.token)
    if principal is None:
        address = "unknown" if request.client is None else request.client.host
        shared.audit(None, "wrong token", address=address)
        if shared.tokens is not None and (wait := shared.tokens.guessed(address)):
            raise Busy(1 + int(wait), "too many wrong tokens")
        raise HTTPException(401, "the token is wrong")
    shared.audit(principal, "session")
    cookie = shared.sessions.begin(principal)
    response.set_cookie(
        COOKIE, cookie, httponly=True, samesite="strict", secure=request.url.scheme == "https", path="/"
    )
    return SessionOut(name=principal.name, role=principal.role, csrf=shared.sessions.csrf(cookie))


@anyone.delete("/session")
async def end_session(response: Response) -> JSONResponse:
    """End the session of this browser."""
    ended = JSONResponse({})
    ended.delete_cookie(COOKIE, path="/")
    return ended
