"""Model files: plain data and arrays in one file, written whole or not at all, and read without running code.

A model file is a `safetensors <https://huggingface.co/docs/safetensors>`_ file, which many programs can look
into: the length of a header (8 bytes, little-endian), the header in JSON, and the bytes of the arrays one
after the other. The array ``state`` is the UTF-8 text of a JSON value: all that is not numbers. The header
begins with the version of the format and the SHA-256 of the whole file but its own 64 digits, so that no
damage goes unnoticed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import mmap
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

VERSION = 1  # of what is written; every version up to it is read
STATE = "state"
_DTYPES = {
    "F64": "<f8",
    "I64": "<i8",
    "U64": "<u8",
    "F32": "<f4",
    "I32": "<i4",
    "U32": "<u4",
    "I16": "<i2",
    "U16": "<u2",
    "I8": "|i1",
    "U8": "|u1",
    "BOOL": "|b1",
}  # from the widest to the narrowest: in this order every array is aligned
_NAMES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}
_BEGINNING = re.compile(
    rb'\{"__metadata__":\{"format":"bayespa","version":"([1-9]\d{0,8})","sha256":"([0-9a-f]{64})"\}'
)
_LONGEST_HEADER = 100_000_000  # bytes, as in safetensors

Arrays = Mapping[str, NDArray[Any]]


class ModelFileError(ValueError):
    """A file that is no model, or is damaged, or was written by a later version."""


def write(path: str | os.PathLike[str], state: Any, arrays: Arrays) -> None:
    """Write plain data and arrays to a file, which is replaced only when all of it is on the disk.

    Parameters
    ----------
    path : path
    state : JSON value
    arrays : mapping of arrays of numbers
        Under any names but ``"state"``.
    """
    content = _encode(state, arrays)
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(f"{target} is not a file that a model could replace")  # a folder, or a device
    part = target.with_name(f".{target.name}.part")
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with open(descriptor, "wb") as file:
        _lock(descriptor, part)
        try:
            if target.exists():
                os.fchmod(descriptor, target.stat().st_mode & 0o777)
            file.truncate(0)  # a killed process may have left something
            for piece in content:
                file.write(piece)
            file.flush()
            os.fsync(descriptor)
            os.replace(part, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(part)
            raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the new name, too
    finally:
        os.close(folder)


def _lock(descriptor: int, part: Path) -> None:
    """Make sure that no other process writes the same model; what a killed one left behind is not locked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        same = os.path.samestat(os.fstat(descriptor), os.stat(part))
    except (BlockingIOError, FileNotFoundError):
        same = False
    if not same:
        raise BlockingIOError(f"another process is writing this model (to {part}); wait until it is done")


def _encode(state: Any, arrays: Arrays) -> list[Any]:
    """Return the bytes of a file, in pieces."""
    text = np.frombuffer(json.dumps(state, ensure_ascii=False, allow_nan=False).encode(), np.uint8)
    if STATE in arrays:
        raise ValueError(f"an array is called {STATE!r}, the name of what is not an array")
    order = list(_NAMES)
    little = {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}
    for name, a in little.items():
        if a.dtype not in _NAMES:
            raise TypeError(f"array {name!r} holds {a.dtype}; a model file holds numbers of at most 64 bits")
    ranked = sorted({**little, STATE: text}.items(), key=lambda item: (order.index(item[1].dtype), item[0]))
    header, end = {}, 0
    for name, a in ranked:
        header[name] = {"dtype": _NAMES[a.dtype], "shape": a.shape, "data_offsets": (end, end + a.nbytes)}
        end += a.nbytes
    described = json.dumps(header, separators=(",", ":")).encode()
    digits = b"0" * 64

    def head(digest: bytes) -> bytes:
        start = b'{"__metadata__":{"format":"bayespa","version":"%d","sha256":"%s"},' % (VERSION, digest)
        body = start + described[1:]
        body += b" " * (-len(body) % 8)
        return len(body).to_bytes(8, "little") + body

    data = [a.reshape(-1).view(np.uint8).data for _, a in ranked]
    digest = _digest([*head(digits).split(digits, 1), *data])
    return [head(digest), *data]


def _digest(pieces: list[Any]) -> bytes:
    sha = hashlib.sha256()
    for piece in pieces:
        sha.update(piece)
    return sha.hexdigest().encode()


def read(path: str | os.PathLike[str]) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return the plain data and the arrays of a file, which are read-only and mapped into memory.

    Whatever the file holds, this takes memory in proportion to its size at most. A file that `write` did not
    write, or that has changed since, is refused with `ModelFileError`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "numbers.bayespa")
    ...     write(path, {"kind": "numbers"}, {"odd": np.array([1.0, 3.0])})
    ...     read(path)
    ({'kind': 'numbers'}, {'odd': array([1., 3.])})
    """
    with open(path, "rb") as file:
        empty = not os.fstat(file.fileno()).st_size
        buffer = memoryview(b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    try:
        return decode(buffer)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} {error}") from error


def decode(buffer: memoryview) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return the plain data and the arrays that the bytes of a file stand for."""
    try:
        header, data = _checked(buffer)
        arrays = _arrays(header, data)
        return json.loads(bytes(arrays.pop(STATE))), arrays
    except ModelFileError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise ModelFileError(f"is not a model file ({error!r})") from error


def _checked(buffer: memoryview) -> tuple[dict[str, Any], memoryview]:
    """Return the header and the bytes behind it, of a file that is as it was written."""
    length = int.from_bytes(buffer[:8], "little")
    found = _BEGINNING.match(bytes(buffer[8:200]))
    if found is None or length > min(_LONGEST_HEADER, len(buffer) - 8):
        raise ModelFileError("is not a model file, or is damaged; models are written by bayespa.save")
    if int(found[1]) > VERSION:
        raise ModelFileError(
            f"has format {int(found[1])}, and this version of bayespa reads up to {VERSION}; install a later "
            "one"
        )
    first, last = (8 + place for place in found.span(2))
    if _digest([buffer[:first], buffer[last:]]) != found[2]:
        raise ModelFileError(
            "is damaged: its SHA-256 is not the one written in it; take a copy that is whole"
        )
    header = json.loads(bytes(buffer[8 : 8 + length]))
    del header["__metadata__"]
    return header, buffer[8 + length :]


def _arrays(header: dict[str, Any], data: memoryview) -> dict[str, NDArray[Any]]:
    """Return the arrays that the header describes, which must fill the data from end to end."""
    arrays = {}
    ends = [0]
    for name, entry in header.items():
        dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
        start, end = entry["data_offsets"]
        if not all(type(n) is int and n >= 0 for n in (start, end, *shape)):
            raise ValueError(f"array {name!r} has a place or shape that is no number")
        if start != ends[-1] or end > len(data) or end - start != prod(shape) * dtype.itemsize:
            raise ValueError(
                f"array {name!r} is not where the one before it ends, or not of its shape's size"
            )
        arrays[name] = np.frombuffer(data[start:end], dtype).reshape(shape)
        ends.append(end)
    if ends[-1] != len(data):
        raise ValueError(f"{len(data) - ends[-1]} bytes belong to no array")
    return arrays
