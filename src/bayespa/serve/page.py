"""The page, and the routes that it calls: reviews and the stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, HTTPException, Path, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from bayespa.serve.api import Body, Name
from bayespa.serve.context import context, require, who
from bayespa.serve.review import NotYours

files = APIRouter(include_in_schema=False)
reading = APIRouter(prefix="/api/v1", dependencies=[require("read")])
reviewing = APIRouter(prefix="/api/v1/review", dependencies=[require("learn")])
ROUTERS = (files, reading, reviewing)

Reviewer = Annotated[
    str,
    Header(alias="X-Reviewer", pattern="^[!-~]{1,64}$", description="Name of the reviewer, freely chosen."),
]
Number = Annotated[int, Query(ge=1, le=20, description="How many documents to lease.")]


class ReviewIn(Body):
    """A person's answer about a document."""

    action: Literal["label", "skip", "undo"]
    label: Name | Annotated[list[Name], Field(max_length=1000)] | None = Field(
        None, description="With the action label: a class, or all classes of the document. They may be new."
    )


@reading.get("/stream")
def stream(request: Request) -> dict[str, Any]:
    """Return accuracy with its interval, calibration, labels and topics over time, and drift."""
    shared = context(request)
    summary = shared.watch.summary()
    for source, tally in shared.reviews.tallies().items():
        summary["accuracy"][source] = tally.summary()
    return summary


@reviewing.get("")
def waiting(request: Request, reviewer: Reviewer, n: Number = 3) -> dict[str, Any]:
    """Lease documents to review: those the person already has, then uncertain ones and a random share."""
    return _state(request, _person(request, reviewer), n)


@reviewing.get("/export")
def export(request: Request) -> StreamingResponse:
    """Return all documents as JSONL; their `origin` is reviewed, given, or predicted if they still wait."""
    rows = context(request).reviews.export()
    return StreamingResponse(
        (json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
        media_type="application/x-ndjson",
        headers={"content-disposition": 'attachment; filename="reviews.jsonl"'},
    )


@reviewing.post("/{id}")
def answer(
    request: Request,
    id: Annotated[str, Path(max_length=200)],
    body: ReviewIn,
    reviewer: Reviewer,
    n: Number = 3,
) -> dict[str, Any]:
    """Label a document, skip it, or undo an answer; a label is learned at once.

    Sending the same again changes nothing. The response has the next documents to review.
    """
    reviews, person = context(request).reviews, _person(request, reviewer)
    try:
        if body.action == "label":
            if body.label is None:
                raise HTTPException(422, "the action label needs a label")
            label = tuple(body.label) if isinstance(body.label, list) else body.label
            done = reviews.label(person, id, label)
        else:
            done = (reviews.skip if body.action == "skip" else reviews.undo)(person, id)
    except NotYours as error:
        raise HTTPException(409, str(error)) from None
    context(request).audit(who(request), "review", reviewer=reviewer, document=id, action=body.action)
    return {"done": done, **_state(request, person, n)}


def _person(request: Request, reviewer: str) -> str:
    principal = who(request)
    return f"{'' if principal is None else principal.name}/{reviewer}"


def _state(request: Request, person: str, n: int) -> dict[str, Any]:
    """Return the next documents of a person, the classes to choose from, and the progress of reviews."""
    reviews = context(request).reviews
    target = reviews.service.published.model.target
    if target == "number":
        raise HTTPException(409, "reviews are for models of classes; labels of this one are numbers")
    items = reviews.next(person, n)
    classes = sorted(reviews.service.published.model.class_names)
    return {"items": items, "classes": classes, "summary": reviews.summary(person)}


# The files of the page are read once: no path from a request is ever opened.

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def _always(content: bytes, media: str) -> Callable[[], Response]:
    return lambda: Response(content, media_type=media)


for _file in resources.files("bayespa.serve").joinpath("static").iterdir():
    _answer = _always(_file.read_bytes(), f"{_TYPES[_file.name.rpartition('.')[2]]}; charset=utf-8")
    _path = "/" if _file.name == "index.html" else f"/static/{_file.name}"
    files.add_api_route(_path, _answer, methods=["GET"])
