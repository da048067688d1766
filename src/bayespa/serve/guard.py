"""What every request goes through before the application sees it: limits, tokens, headers, logs."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any

from bayespa.serve.metrics import Metrics
from bayespa.serve.security import EVERYBODY, HEADERS, Principal, Rates, Sessions, Tokens

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_LOGGER = logging.getLogger("bayespa.serve")
ACCESS = logging.getLogger("bayespa.serve.access")
AUDIT = logging.getLogger("bayespa.serve.audit")
COOKIE = "bayespa-session"
OPEN = (
    "/health",
    "/v2/health/live",
    "/v2/health/ready",
    "/api/v1/session",
    "/",
)  # paths that need no token
OPEN_FOLDER = "/static/"  # neither do the files of the page
_CHANGES = ("POST", "PUT", "PATCH", "DELETE")
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_PASSED_ON = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


@dataclass(frozen=True)
class Limits:
    """What a client may ask for.

    Attributes
    ----------
    body : int
        Bytes per request.
    bodies : int
        Bytes of all requests in memory.
    texts : int
        Texts per request.
    text : int
        Characters per text.
    rate : float
        Requests per second of a client: a token, or an address if there are no tokens.
    seconds : float
        Time for a request to arrive, and for its answer.
    waiting : int
        Texts that may wait for a prediction.
    """

    body: int = 4 * 2**20
    bodies: int = 256 * 2**20
    texts: int = 1024
    text: int = 200_000
    rate: float = 5000.0
    seconds: float = 30.0
    waiting: int = 20_000


class _Answer(Exception):
    """Ends a request with this status and message."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers or {}


class Guard:
    """Wraps an application.

    Parameters
    ----------
    app : ASGI application
        Finds who asks in ``scope["state"]["principal"]``: None for a client without a token on an open path.
    tokens : Tokens, optional
        Without tokens everybody may do everything: for a service that only this machine can reach.
    sessions : Sessions
    limits : Limits
    metrics : Metrics
    quick : mapping of str to callable
        Fast functions for the busiest paths. Each gets the body of a request that has permission to read, and
        returns the body of the answer. If it raises, the application handles the request and reports the
        error.
    """

    def __init__(
        self,
        app: Application,
        tokens: Tokens | None,
        sessions: Sessions,
        limits: Limits,
        metrics: Metrics,
        quick: Mapping[str, Callable[[bytes], Awaitable[bytes]]],
    ) -> None:
        self._app, self._tokens, self._sessions, self._quick = app, tokens, sessions, quick
        self._limits, self._metrics = limits, metrics
        self._rates = Rates(limits.rate)
        self._bodies = 0  # bytes in memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # there are no websockets
        begin, status = time.perf_counter(), 0
        principal: Principal | None = None
        deadline: _Deadline | None = None

        async def respond(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                if deadline is not None:
                    deadline.met()
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_PASSED_ON]
            await send(message)

        headers: dict[bytes, bytes] = dict(scope["headers"])
        held = 0
        try:
            principal = self._admit(scope, headers)
            scope.setdefault("state", {})["principal"] = principal
            with _Deadline(self._limits.seconds):
                body = await self._body(scope["method"], headers, receive)
            held = len(body)
            self._bodies += held
            with _Deadline(self._limits.seconds) as deadline:
                if not await self._answered(scope, body, respond):
                    await self._app(scope, _replay(body, receive), respond)
        except _Answer as answer:
            await _respond(respond, answer.status, str(answer), answer.headers)
        except TimeoutError:
            what = "the answer was not ready in time; try again" if held else "the body has not come in time"
            await _respond(respond, 503 if held else 408, what, {"connection": "close", "retry-after": "1"})
        except Exception:
            _LOGGER.exception("a request has failed")
            if not status:
                await _respond(respond, 500, "the service has failed; its messages say why", {})
        finally:
            self._bodies -= held
            seconds = time.perf_counter() - begin
            path = scope["path"]
            route = path if path in self._quick else getattr(scope.get("route"), "path", "none")
            self._metrics.answered(route, status, seconds)
            if ACCESS.isEnabledFor(logging.INFO):
                self._log(scope, principal, status, seconds)

    async def _answered(self, scope: Scope, body: bytes, respond: Send) -> bool:
        """Answer with the fast function, if the path has one and it succeeds."""
        quick = self._quick.get(scope["path"]) if scope["method"] == "POST" else None
        if quick is None:
            return False
        try:
            answer = await quick(body)
        except Exception:
            return False
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
        await respond({"type": "http.response.start", "status": 200, "headers": headers})
        await respond({"type": "http.response.body", "body": answer})
        return True

    # Who, and how often

    def _admit(self, scope: Scope, headers: dict[bytes, bytes]) -> Principal | None:
        """Return who asks, or None for a client without a token on an open path."""
        path, address = scope["path"], (scope.get("client") or ("unknown", 0))[0]
        if self._tokens is None:
            self._require_local(headers)
        self._require_own_page(scope["method"], headers)
        principal = self._principal(scope["method"], headers, address)
        if principal is None and path not in OPEN and not path.startswith(OPEN_FOLDER):
            raise _Answer(
                401, "a token is needed: Authorization: Bearer TOKEN", {"www-authenticate": "Bearer"}
            )
        client = address if principal in (None, EVERYBODY) else principal.name
        wait = self._rates.wait(client, time.monotonic())
        if wait:
            raise _too_many("too many requests", wait)
        return principal

    def _require_local(self, headers: dict[bytes, bytes]) -> None:
        """Refuse other host names, so that a site cannot reach the service by pointing its name here."""
        host = headers.get(b"host", b"localhost").decode("latin-1")
        if host.rpartition(":")[0] not in _LOCAL and host not in _LOCAL:
            raise _Answer(403, "without tokens the service answers to localhost alone; see --tokens")

    def _require_own_page(self, method: str, headers: dict[bytes, bytes]) -> None:
        """Refuse changes that another site's page requests."""
        if method not in _CHANGES:
            return
        origin, host = headers.get(b"origin"), headers.get(b"host", b"")
        if origin is not None and origin.partition(b"://")[2] != host:
            raise _Answer(403, "the page of another site asks for this")
        if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            raise _Answer(403, "the page of another site asks for this")
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        length = headers.get(b"content-length", b"")
        empty = length in (b"", b"0") and b"transfer-encoding" not in headers
        if not empty and kind not in (b"", b"application/json", b"application/octet-stream"):
            raise _Answer(415, "the body must be JSON: Content-Type: application/json")

    def _principal(self, method: str, headers: dict[bytes, bytes], address: str) -> Principal | None:
        if self._tokens is None:
            return EVERYBODY
        kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if kind.lower() == "bearer":
            principal = self._tokens.find(token.strip())
            if principal is None:
                AUDIT.info(json.dumps({"event": "wrong token", "address": address}))
                if wait := self._tokens.guessed(address):
                    raise _too_many("too many wrong tokens", wait)
                raise _Answer(401, "the token is wrong", {"www-authenticate": "Bearer"})
            return principal
        cookie = session_cookie(headers)
        principal = self._sessions.find(cookie) if cookie else None
        if principal is None or not self._tokens.knows(principal):
            return None
        said = headers.get(b"x-csrf-token", b"")
        if method in _CHANGES and not hmac.compare_digest(said, self._sessions.csrf(cookie).encode()):
            raise _Answer(403, "X-CSRF-Token is missing or wrong; load the page again")
        return principal

    # What is sent

    async def _body(self, method: str, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """Return the body, unless it is too large."""
        if method not in _CHANGES:
            return b""
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._limits.body:
            raise self._too_large()
        if self._bodies + int(length) > self._limits.bodies:
            raise _Answer(503, "too many requests at once; try again", {"retry-after": "1"})
        pieces: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Answer(400, "the body has not arrived")
            pieces.append(message.get("body", b""))
            size, more = size + len(pieces[-1]), message.get("more_body", False)
            if size > self._limits.body:
                raise self._too_large()
        return b"".join(pieces)

    def _too_large(self) -> _Answer:
        return _Answer(413, f"the body has more than {self._limits.body} bytes", {"connection": "close"})

    # What is logged: never texts

    def _log(self, scope: Scope, principal: Principal | None, status: int, seconds: float) -> None:
        ACCESS.info(
            json.dumps(
                {
                    "time": round(time.time(), 3),
                    "client": (scope.get("client") or ("unknown", 0))[0],
                    "who": None if principal is None else principal.name,
                    "method": scope["method"],
                    "path": scope["path"],
                    "status": status,
                    "ms": round(1e3 * seconds, 2),
                }
            )
        )


class _Deadline:
    """Cancels the task of this block after so many seconds, with a TimeoutError."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._expired = seconds, False

    def __enter__(self) -> _Deadline:
        task = asyncio.current_task()
        assert task is not None

        def expire() -> None:
            self._expired = True
            task.cancel()

        self._timer = asyncio.get_running_loop().call_later(self._seconds, expire)
        return self

    def met(self) -> None:
        """Lift the deadline."""
        self._timer.cancel()

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._timer.cancel()
        if self._expired and kind is asyncio.CancelledError:
            raise TimeoutError


def session_cookie(headers: dict[bytes, bytes]) -> str:
    """Return the cookie of a session of the page, or an empty string."""
    try:
        found = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _too_many(what: str, seconds: float) -> _Answer:
    return _Answer(429, f"{what}; try again later", {"retry-after": str(1 + int(seconds))})


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that hands over the body, and then reports when the client has gone."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def problem(detail: str | list[dict[str, str]]) -> dict[str, Any]:
    """Return the body of an error; the Open Inference Protocol prescribes its field ``error``."""
    return {"error": detail if isinstance(detail, str) else json.dumps(detail), "detail": detail}


async def _respond(send: Send, status: int, message: str, headers: dict[str, str]) -> None:
    body = json.dumps(problem(message)).encode()
    named = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    listed = [(name.encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})
