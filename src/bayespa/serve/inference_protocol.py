"""The Open Inference Protocol, version 2, with which clients of KServe and Triton work."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

router = APIRouter(prefix="/v2")


@router.get("/health/live")
async def live() -> dict[str, Any]:
    """Say that the service is there."""
    return {"live": True}
