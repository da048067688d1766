"""The application: all routes, behind the guard.

A module with routes has an `APIRouter`, and a place in `ROUTERS`. Its routes get what they need from
`bayespa.serve.context`, and declare with `require` who may call them. ``/`` and paths under ``/static/``
are open.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

import bayespa
from bayespa.serve import api, inference_protocol, page
from bayespa.serve.batching import Batcher
from bayespa.serve.context import Context, context, require
from bayespa.serve.feed import BrokerFeed
from bayespa.serve.guard import Guard, Limits, problem
from bayespa.serve.metrics import Metrics
from bayespa.serve.monitor import StreamWatch
from bayespa.serve.review import Reviews
from bayespa.serve.security import Sessions, Tokens
from bayespa.serve.service import Busy, Service, Stopped
from bayespa.serve.writer import Refused

plain = APIRouter()
ROUTERS = (plain, *api.ROUTERS, *page.ROUTERS, *inference_protocol.ROUTERS)


def create_app(
    service: Service,
    *,
    tokens: Tokens | None = None,
    limits: Limits | None = None,
    threads: int = 2,
    log_texts: bool = False,
    feed: BrokerFeed | None = None,
) -> Guard:
    """Return the ASGI application of a running service.

    Parameters
    ----------
    service : Service
    tokens : Tokens, optional
        Without tokens, everybody who reaches the service may do everything.
    limits : Limits, optional
    threads : int
        Threads that predict.
    log_texts : bool
        Whether the log of changes contains texts.
    feed : BrokerFeed, optional
        Feeds the service from a broker; metrics and health report it.

    Examples
    --------
    ::

        with Service(Path("model.bayespa")) as service:
            uvicorn.run(create_app(service))
    """
    limits = limits or Limits()
    metrics = Metrics(service)
    batcher = Batcher(service.predict, threads, limits.waiting)
    sessions = Sessions.kept(service.folder / "session.key")

    watch = StreamWatch(service)
    watch.report_to(metrics.registry)
    reviews = Reviews(service, watch.monitor)
    if feed is not None:
        feed.report_to(metrics.registry)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        batcher.close()
        watch.keep()

    app = FastAPI(
        title="bayespa",
        version=bayespa.__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
    )
    app.state.context = shared = Context(
        service, batcher, limits, metrics, tokens, sessions, watch, reviews, log_texts, feed
    )
    for router in ROUTERS:
        app.include_router(router)
    for kind, handler in (
        (RequestValidationError, _malformed),
        (ValidationError, _malformed),
        (HTTPException, _told),
        (Refused, _refused),
        (Busy, _busy),
        (Stopped, _stopped),
        (OSError, _stopped),
    ):
        app.add_exception_handler(kind, handler)
    quick = {"/api/v1/predict": partial(api.answered, shared)}
    return Guard(app, tokens, sessions, limits, metrics, quick)


@plain.get("/health")
async def health(request: Request, response: Response) -> dict[str, Any]:
    """Say whether the service answers and learns, and whether it still reads its stream, if it has one."""
    shared = context(request)
    works = {"learning": shared.service.failure is None}
    if shared.feed is not None:
        works["reading"] = shared.feed.failure is None
    if not all(works.values()):
        response.status_code = 503
    return {**works, "version": shared.service.published.version}


@plain.get("/metrics", dependencies=[require("read")])
def metrics(request: Request) -> Response:
    """Return metrics for Prometheus."""
    return Response(context(request).metrics.text(), media_type="text/plain; version=0.0.4")


@plain.get("/openapi.json", dependencies=[require("read")])
def openapi(request: Request) -> JSONResponse:
    """Return the description of the service."""
    return JSONResponse(request.app.openapi())


# Errors say what is wrong and where; they never repeat what was sent


def _problem(status: int, detail: Any, headers: Any = None) -> JSONResponse:
    return JSONResponse(problem(detail), status, headers)


async def _malformed(request: Request, error: Any) -> JSONResponse:
    found = [{"where": ".".join(map(str, one["loc"])), "message": one["msg"]} for one in error.errors()[:20]]
    return _problem(422, found)


async def _told(request: Request, error: Any) -> JSONResponse:
    return _problem(error.status_code, error.detail, error.headers)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    return _problem(422, str(error))


async def _busy(request: Request, error: Any) -> JSONResponse:
    return _problem(429, str(error), {"retry-after": str(error.retry_after)})


async def _stopped(request: Request, error: Exception) -> JSONResponse:
    return _problem(503, f"nothing was learned: {error}", {"retry-after": "10"})
