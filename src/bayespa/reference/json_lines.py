"""Fields of simple JSON objects, a line each: the twin of native/json_lines.cpp."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

LONGEST_NUMBER = 15  # characters
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def json_lines(block: bytes, names: Sequence[str]) -> list[tuple[Any, ...] | str] | None:
    r"""See `bayespa.native.text.json_lines`.

    >>> json_lines(b'{"a": 1, "b": -2.5e3, "a": null}\n{"a": 1234567890123456, "b": ""}', ["a", "b"])
    [(None, -2500.0), '{"a": 1234567890123456, "b": ""}']
    """
    try:
        lines = re.findall("[^\n]*\n|[^\n]+", block.decode())
    except UnicodeDecodeError:
        return None
    if b"\0" in block:
        return None
    fields = [_fields(line, names) for line in lines]
    return [line if found is None else found for line, found in zip(lines, fields, strict=True)]


def _fields(line: str, names: Sequence[str]) -> tuple[Any, ...] | None:
    """Return the fields of a line; None if it is not simple, or lacks one."""
    if _SURROGATE.search(line.replace("\\\\", "")):
        return None
    try:
        record = json.loads(
            line, object_pairs_hook=_simple, parse_int=_whole, parse_float=_fraction, parse_constant=_refuse
        )
    except (ValueError, RecursionError):
        return None
    has_all = isinstance(record, dict) and set(names) <= set(record)
    return tuple(record[name] for name in names) if has_all else None


def _simple(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for _, value in pairs:
        for one in value if isinstance(value, list) else ():
            if not isinstance(one, str):
                _refuse(one)
        if isinstance(value, dict):
            _refuse(value)
    return dict(pairs)


def _whole(digits: str) -> int:
    return int(digits) if len(digits) <= LONGEST_NUMBER else _refuse(digits)


def _fraction(digits: str) -> float:
    return float(digits) if len(digits) <= LONGEST_NUMBER else _refuse(digits)


def _refuse(value: Any) -> Any:
    raise ValueError(f"{value} is not simple")
