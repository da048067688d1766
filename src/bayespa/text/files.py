"""Model files: plain data and arrays in one file, written as a whole and read without running code.

A model file is a `safetensors <https://huggingface.co/docs/safetensors>`_ file, which many programs can read:
the length of a header (8 bytes, little-endian), the header in JSON, and the bytes of the arrays one after the
other. The array ``state`` is JSON in UTF-8 with everything but numbers. The header begins with the version of
the format and the SHA-256 of the whole file except its own 64 digits, so that damage is noticed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timezone
from io import FileIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

VERSION = 5  # of the written format; all versions up to it can be read
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
}  # from the widest to the narrowest, so that every array is aligned
_NAMES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}
_BEGINNING = re.compile(
    rb'\{"__metadata__":\{"format":"bayespa","version":"([1-9]\d{0,8})","sha256":"([0-9a-f]{64})"\}'
)
_LONGEST_BEGINNING = 200  # bytes
_LONGEST_HEADER = 100_000_000  # bytes, as in safetensors
_FREE_VALUES = 250_000  # JSON values that any file may have
_MOST_LEVELS = 32  # nesting of JSON values
_NESTED = (dict, list)  # a tuple of types is looked through in half of the time of their union
_LARGEST_EMPTY = 2**21  # product of the non-zero dimensions of an empty array
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # a JSON escape of a surrogate, or something like it
_PART = re.compile(r"[0-9a-f]{32}\.part")

Arrays = Mapping[str, NDArray[Any]]


class ModelFileError(ValueError):
    """The file is not a model, or is damaged, or was written by a later version.

    >>> try:
    ...     decode(b"PK, the beginning of a zip file")
    ... except ModelFileError as error:
    ...     print(type(error).__name__)
    ModelFileError
    """


def write(path: str | os.PathLike[str], state: Any, arrays: Arrays) -> None:
    """Write plain data and arrays to a file, which is replaced only when everything is on the disk.

    Everything is first written to another file in the same folder, which is then renamed. Whatever happens,
    the file `path` is the old one or the new one. The name of the other file, ``.NAME.RANDOM.part``, cannot
    be guessed, and links are not followed. If two processes write the same path, the last one wins. The next
    `write` removes files that killed processes left behind.

    Parameters
    ----------
    path : path
    state : JSON value
    arrays : mapping of arrays of numbers
        Names of the arrays; ``"state"`` is not allowed.
    """
    content = _encode(state, arrays)
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(f"{target} exists and is not a regular file")
    _remove_remains(target)
    try:
        while not _replaced(target, content):
            pass  # another process has removed the new file before it was locked
    except OSError as error:
        raise _named(error, "the model was not saved, and an existing file is unchanged", path) from error
    with suppress(PermissionError):  # a folder that can be written but not read
        _sync_folder(target.parent)


def _replaced(target: Path, content: list[Any]) -> bool:
    """Write a new file and rename it to `target`; return whether it still existed then."""
    part = _beside(target, f"{secrets.token_hex(16)}.part")
    try:
        return _renamed(part, target, content)
    except BaseException as error:
        if not isinstance(error, FileExistsError):  # otherwise it is not ours
            with suppress(OSError):
                os.unlink(part)
        raise


def _renamed(part: Path, target: Path, content: list[Any]) -> bool:
    """Make a file with this content and the permissions of `target`, and rename it to `target`."""
    old = target.stat() if target.exists() else None

    def opener(name: str, flags: int) -> int:
        # Nobody else may read it before it has the permissions of the old file.
        return os.open(name, flags | os.O_NOFOLLOW, 0o666 if old is None else 0o600)

    with open(part, "xb", buffering=0, opener=opener) as file:
        descriptor = file.fileno()
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not part.exists():
            return False
        if old is not None:
            _take_permissions(descriptor, old)
        for piece in content:
            rest = memoryview(piece)
            while len(rest):
                rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
        os.replace(part, target)  # while it is locked
    return True


def _take_permissions(descriptor: int, old: os.stat_result) -> None:
    """Give a file the permissions of another, and its owner and group, if possible."""
    for owner in (old.st_uid, -1):
        with suppress(OSError):
            os.fchown(descriptor, owner, old.st_gid)
    same_group = os.fstat(descriptor).st_gid == old.st_gid
    os.fchmod(descriptor, old.st_mode & (0o777 if same_group else 0o707))


def _beside(target: Path, suffix: str) -> Path:
    """Return the path of a hidden file that belongs to `target`."""
    name = os.fsencode(target.name)  # a name has at most 255 bytes
    own = target.name if len(name) <= 200 else hashlib.sha256(name).hexdigest()
    return target.with_name(f".{own}.{suffix}")


def _remove_remains(target: Path) -> None:
    """Remove files that killed processes left while writing `target`."""
    prefix = _beside(target, "").name
    with suppress(OSError):  # a folder that cannot be read
        for name in os.listdir(target.parent):
            if name.startswith(prefix) and _PART.fullmatch(name, len(prefix)):
                with suppress(OSError):
                    _remove_unlocked(target.with_name(name))


def _remove_unlocked(part: Path) -> None:
    """Remove a file of this user that no process has locked: its writer is dead."""
    descriptor = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(part)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _named(error: OSError, what: str, path: str | os.PathLike[str]) -> OSError:
    """Return an error of the same type that says what failed, and for which file."""
    return OSError(error.errno, f"{error.strerror or error}: {what}", os.fspath(path))


@contextmanager
def locked(path: str | os.PathLike[str], *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a model file while this block reads, changes and writes it.

    The lock is on ``.NAME.lock`` in the same folder, because every `write` makes a new file, and the first
    one does not exist yet. The lock ends with the block, or with the process, even if it is killed. Readers
    need no lock, and always find a complete file. Do not nest blocks for the same file.

    Parameters
    ----------
    path : path
    wait : bool, default=True
        Wait for another process, or raise a BlockingIOError that names it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "numbers.bayespa")
    ...     write(path, 1, {})
    ...     with locked(path):
    ...         write(path, read(path)[0] + 1, {})
    ...     read(path)[0]
    2
    """
    lock = _beside(Path(os.path.realpath(path)), "lock")
    with _locked_file(lock, wait, path):
        try:
            yield
        finally:
            with suppress(OSError):
                os.unlink(lock)  # while it is locked: a waiting process sees it gone, and makes another


def _locked_file(lock: Path, wait: bool, path: str | os.PathLike[str]) -> FileIO:
    """Return a file that nobody else has locked, and that still has its name."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_CREAT | os.O_NOFOLLOW, 0o666)

    try:
        while True:
            with ExitStack() as stack:
                file = stack.enter_context(open(lock, "r+b", buffering=0, opener=opener))
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(file.fileno()), os.lstat(lock)):
                        _sign(file.fileno())
                        stack.pop_all()
                        return file
    except BlockingIOError as error:
        what = f"{_owner(lock)} is updating this model; wait until it is done, then try again"
        raise BlockingIOError(error.errno, what, os.fspath(path)) from None
    except OSError as error:
        what = f"cannot lock the model, for which {lock} is to be made and written to"
        raise _named(error, what, path) from error


def _sign(descriptor: int) -> None:
    """Write the name of the holder into a lock; the lock works without it."""
    since = datetime.now(timezone.utc).isoformat(" ", "seconds")
    command = " ".join(sys.orig_argv)[:500]
    text = f"process {os.getpid()} on {os.uname().nodename} (since {since}: {command})"
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(errors="replace"), 0)


def _owner(lock: Path) -> str:
    """Return the name of the holder of a lock."""
    text = ""
    with suppress(OSError), open(lock, "rb", buffering=0) as file:
        text = file.read(1000).decode(errors="replace")
    return "".join(c if c.isprintable() else "?" for c in text) or "another process"


def _encode(state: Any, arrays: Arrays) -> list[Any]:
    """Return the bytes of a file, in pieces; refuse what `decode` would refuse."""
    plain = json.dumps(state, ensure_ascii=False, allow_nan=False).encode()
    _require_few(plain, len(plain) + sum(a.nbytes for a in arrays.values()))
    _require_flat(state)
    text = np.frombuffer(plain, np.uint8)
    if STATE in arrays:
        raise ValueError(f"an array is called {STATE!r}, which is reserved")
    order = list(_NAMES)
    little = {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}
    for name, a in little.items():
        if a.dtype not in _NAMES:
            raise TypeError(f"array {name!r} has type {a.dtype}; a model file has numbers of at most 64 bits")
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
    """Return the plain data and the read-only arrays of a file.

    The whole file is read into memory, so later changes of the file have no effect. This takes memory in
    proportion to the size of the file, at most. A file that `write` did not write, or that was changed since,
    raises a `ModelFileError`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "numbers.bayespa")
    ...     write(path, {"kind": "numbers"}, {"odd": np.array([1.0, 3.0])})
    ...     read(path)
    ({'kind': 'numbers'}, {'odd': array([1., 3.])})
    """
    try:
        return decode(memoryview(_content(path)))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} {error}") from error


def _content(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file, or only the first if it is not a model."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NONBLOCK)  # do not wait for the writer of a pipe

    with open(path, "rb", buffering=0, opener=opener) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ModelFileError("is not a file but a pipe or a device; copy the model to a file")
        beginning = os.pread(file.fileno(), _LONGEST_BEGINNING, 0)
        if _BEGINNING.match(beginning, 8) is None:
            return beginning
        try:
            return file.readall()
        except MemoryError as error:
            raise ModelFileError("is larger than the memory; use a machine that has more") from error


def decode(buffer: memoryview) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return the plain data and the arrays from the bytes of a file."""
    header, data = _checked(buffer)
    try:
        described = _parsed(header, len(buffer))
        del described["__metadata__"]
        arrays = _arrays(described, data)
        return _parsed(arrays.pop(STATE).data, len(buffer)), arrays
    except Exception as error:  # whatever a hostile file may cause
        raise ModelFileError(f"is not a model file ({short(error)})") from error


def short(error: BaseException) -> str:
    """Return the message of an error, in at most about 500 characters: a file may have millions.

    >>> short(KeyError("state"))
    "KeyError: 'state'"
    """
    text = str(error)
    text = text if len(text) <= 500 else f"{text[:400]} ... {text[-90:]}"
    return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"


def _checked(buffer: memoryview) -> tuple[memoryview, memoryview]:
    """Return the header and the bytes after it, of an undamaged file."""
    length = int.from_bytes(buffer[:8], "little")
    found = _BEGINNING.match(bytes(buffer[:_LONGEST_BEGINNING]), 8)
    if found is None or length > min(_LONGEST_HEADER, len(buffer) - 8):
        raise ModelFileError("is not a model file, or is damaged; models are written by bayespa.save")
    if int(found[1]) > VERSION:
        raise ModelFileError(
            f"has format {int(found[1])}, but this version of bayespa reads only up to {VERSION}; install a "
            "later one"
        )
    first, last = found.span(2)
    if _digest([buffer[:first], buffer[last:]]) != found[2]:
        raise ModelFileError("is damaged: its SHA-256 does not match; use an undamaged copy")
    return buffer[8 : 8 + length], buffer[8 + length :]


def _parsed(text: memoryview, size: int) -> Any:
    """Return the JSON value of a text, if it takes memory in proportion to the size of the file."""
    content = bytes(text)
    _require_few(content, size)
    decoded = content.decode()
    del content
    value = json.loads(decoded, parse_constant=_no_constant)
    _require_flat(value)
    if _HALF.search(decoded):  # half of a surrogate pair is not text: it could not be saved again
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _require_few(text: bytes, size: int) -> None:
    """Raise a ValueError if a JSON text has more values than a file of this size may have.

    A value takes up to 200 bytes of memory, for example a word of a vocabulary. A model has at least 24 bytes
    in its file per word; only the first values are free.
    """
    n_values, most = sum(map(text.count, (b"[", b"{", b","))), _FREE_VALUES + size // 24
    if n_values > most:
        raise ValueError(f"there are about {n_values} values; a file of {size} bytes may have up to {most}")


def _require_flat(value: Any) -> None:
    """Raise a ValueError if values are nested too deeply."""
    level = [value]
    for _ in range(_MOST_LEVELS):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
            if isinstance(inner, _NESTED)
        ]
        if not level:
            return
    raise ValueError(f"values are nested more than {_MOST_LEVELS} deep")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _arrays(header: dict[str, Any], data: memoryview) -> dict[str, NDArray[Any]]:
    """Return the arrays of the header; they must fill the data without gaps."""
    arrays = {}
    ends = [0]
    for name, entry in header.items():
        dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
        start, end = entry["data_offsets"]
        if not all(type(n) is int and n >= 0 for n in (start, end, *shape)):
            raise ValueError(f"array {name!r} has a position or shape that is not a number")
        if start != ends[-1] or end > len(data) or end - start != prod(shape) * dtype.itemsize:
            raise ValueError(
                f"array {name!r} does not begin where the one before it ends, or does not have the size of "
                "its shape"
            )
        if prod(n for n in shape if n) > max(_LARGEST_EMPTY, len(data)):
            raise ValueError(f"array {name!r} has shape {shape}, which is too large for an empty array")
        arrays[name] = np.frombuffer(data[start:end], dtype).reshape(shape)
        ends.append(end)
    if ends[-1] != len(data):
        raise ValueError(f"{len(data) - ends[-1]} bytes belong to no array")
    return arrays
