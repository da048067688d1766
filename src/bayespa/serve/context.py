"""What routes share: the service, its limits, and who may do what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Depends, HTTPException, Request
from pydantic import BaseModel

from bayespa.serve.batching import Batcher
from bayespa.serve.feed import BrokerFeed
from bayespa.serve.guard import AUDIT, Limits
from bayespa.serve.metrics import Metrics
from bayespa.serve.monitor import StreamWatch
from bayespa.serve.review import Reviews
from bayespa.serve.security import Principal, Role, Sessions, Tokens
from bayespa.serve.service import Service


@dataclass(frozen=True)
class Context:
    """Everything that routes need, as ``request.app.state.context``."""

    service: Service
    batcher: Batcher
    limits: Limits
    metrics: Metrics
    tokens: Tokens | None
    sessions: Sessions
    watch: StreamWatch
    reviews: Reviews
    log_texts: bool  # whether the log of changes contains texts
    feed: BrokerFeed | None

    def require_texts(self, texts: Sequence[str]) -> None:
        """Refuse too many texts, and texts that are too long."""
        if len(texts) > self.limits.texts:
            raise HTTPException(413, f"{len(texts)} texts are too many; {self.limits.texts} is the most")
        for place, text in enumerate(texts):
            if len(text) > self.limits.text:
                what = f"text {place} has {len(text)} characters; {self.limits.text} is the most"
                raise HTTPException(413, what)

    def audit(self, principal: Principal | None, event: str, texts: Sequence[str] = (), **what: Any) -> None:
        """Log a change: who made it and what it is; texts only with `log_texts`."""
        named = {"event": event, "who": None if principal is None else principal.name, **what}
        AUDIT.info(json.dumps({**named, "texts": list(texts)} if self.log_texts else named))


def context(request: Request) -> Context:
    """Return the context of the application."""
    found: Context = request.app.state.context
    return found


def who(request: Request) -> Principal | None:
    """Return who asks, or None for a client without a token where none is needed."""
    principal: Principal | None = request.state.principal
    return principal


def require(role: Role) -> Any:
    """Return the dependency of a route that needs this role, or a higher one."""

    async def check(request: Request) -> None:
        principal = who(request)
        if principal is None or not principal.may(role):
            raise HTTPException(403, f"this needs a token of role {role!r}")

    return Depends(check)


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return how OpenAPI describes a body that the route reads itself."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})

    def whole(value: Any) -> Any:
        """Put each part where it is used: OpenAPI looks up references in the whole description."""
        if isinstance(value, list):
            return [whole(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return whole(parts[value["$ref"].rpartition("/")[2]])
        return {name: whole(item) for name, item in value.items()}

    content = {"application/json": {"schema": whole(schema)}}
    return {"requestBody": {"required": True, "content": content}}
