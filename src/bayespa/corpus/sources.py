"""Files, folders, globs and standard input, compressed or not, line by line."""

from __future__ import annotations

import glob
import gzip
import io
import lzma
import math
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, BinaryIO

from bayespa.corpus.problems import MalformedInput

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

FORMATS = ("lines", "files", "jsonl", "csv", "tsv", "parquet", "arrow", "libsvm", "uci", "matlab", "gml")
_FORMAT_OF_SUFFIX = {
    ".txt": "lines",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".data": "matlab",
    ".gml": "gml",
}
_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")
_COMPRESSED = (".gz", ".xz", ".zst")
_UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError)  # errors of gzip and pyarrow are OSErrors
_BUFFER = 1 << 18
_CUT = 1 << 14  # bytes of local files that are in memory, and whose lines are cut together
_MARK = b"\xef\xbb\xbf"  # of the order of bytes, at the beginning of some files
_PIECE = 1 << 12  # at most this much before the damage is lost


@dataclass(frozen=True)
class Source:
    """A file, or standard input ("-")."""

    path: str
    in_folder: bool = False  # found in a folder, not named by the user
    groups: tuple[int, int] | None = None  # of Parquet: range of row groups

    @property
    def name(self) -> str:
        """The name for messages and ids."""
        return "standard input" if self.path == "-" else self.path

    @property
    def compressed(self) -> bool:
        """Whether its ending says that it is compressed."""
        return self.path.endswith(_COMPRESSED)

    @property
    def remote(self) -> bool:
        """Whether it is a URL, to be read by pyarrow."""
        return "://" in self.path

    def guess_format(self) -> str:
        """Return the format by the name; standard input is JSONL.

        >>> [Source(path).guess_format() for path in ("a/b.csv.gz", "docword.nips.txt", "-")]
        ['csv', 'uci', 'jsonl']
        """
        if self.path == "-":
            return "jsonl"
        path = os.path.splitext(self.path)[0] if self.compressed else self.path
        suffix = os.path.splitext(path)[1]
        if os.path.basename(path).startswith("docword.") and suffix == ".txt":
            return "uci"
        found = _FORMAT_OF_SUFFIX.get(suffix)
        if self.in_folder and found in (None, "lines"):
            return "files"
        if suffix in _SPREADSHEETS:
            raise ValueError(f"{self.path!r} is a spreadsheet, which is not read; save it as CSV")
        if found is None:
            raise ValueError(
                f"the format of {self.path!r} is unknown from its name; give format= one of "
                f"{', '.join(FORMATS)}"
            )
        return found

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Open the decompressed bytes for reading; standard input stays open afterwards."""
        if self.path == "-":
            return nullcontext(sys.stdin.buffer)
        packed = next((ending for ending in _COMPRESSED if self.path.endswith(ending)), None)
        if packed is None and not self.remote:
            return open(self.path, "rb", buffering=_CUT)
        stream = self.random_access()
        if packed is None:
            return io.BufferedReader(stream, _BUFFER)
        unpack: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".xz": lzma.open, ".zst": _zstandard}
        return io.BufferedReader(_Unpacked(unpack[packed](stream)), _CUT)

    def random_access(self) -> Any:
        """Return what pyarrow reads the bytes of a file from: its path, or an open file of a file system."""
        if not self.remote:
            return self.path
        system, path = file_system(self.path)
        return system.open_input_file(path)

    def size(self) -> int | None:
        """Return the bytes of a file; None: it is none, but a pipe, a folder or nothing at all."""
        if not self.remote:
            return os.path.getsize(self.path) if os.path.isfile(self.path) else None
        system, path = file_system(self.path)
        (info,) = system.get_file_info([path])
        return int(info.size) if info.is_file else None

    def beside(self, name: str) -> Source | None:
        """Return the file `name` of the same folder, perhaps compressed, if it exists."""
        folder = self.path.removesuffix(os.path.basename(self.path))
        files = (Source(folder + name + suffix) for suffix in ("", *_COMPRESSED))
        return next((file for file in files if file.size() is not None), None)


class _Unpacked(io.RawIOBase):
    """A decompressed stream, read in small pieces, because a read that meets damage returns nothing."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read1(min(len(buffer), _PIECE))
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _zstandard(stream: Any) -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError(
            f"decompressing {stream} needs pyarrow: pip install bayespa[data], or run unzstd"
        ) from error
    return pa.CompressedInputStream(stream, "zstd")


def file_system(url: str) -> tuple[Any, str]:
    """Return pyarrow's file system for a URL, and the path there: s3://, gs://, hdfs://, file://."""
    try:
        import pyarrow.fs as fs
    except ImportError as error:
        raise ImportError(
            f"reading {url} needs pyarrow: pip install bayespa[data]; `bayespa update` reads brokers"
        ) from error
    try:
        found: tuple[Any, str] = fs.FileSystem.from_uri(url)
    except ValueError as error:  # pyarrow's errors are ValueErrors
        raise ValueError(
            f"pyarrow cannot read the URL {url} ({error}); for streams of brokers use `bayespa update`"
        ) from error
    return found


def expand(paths: Paths) -> list[Source]:
    """Return the files of paths, folders and globs.

    A folder gives all files in it and below, except hidden ones. The files of a folder or a glob are sorted
    by name; the paths keep their order.
    """
    sources = [source for path in _listed(paths) for source in _expand_one(path)]
    if not sources:
        raise ValueError("there is no path to read; name files, folders, globs or '-' for standard input")
    if sum(source.path == "-" for source in sources) > 1:
        raise ValueError("'-' (standard input) is given twice; it can be read once")
    return sources


def _listed(paths: Paths) -> list[str]:
    return [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]


def _expand_one(path: str) -> list[Source]:
    if Source(path).remote:
        return _expand_url(path)
    if path == "-" or os.path.isfile(path):
        return [Source(path)]
    if os.path.isdir(path):
        found = [Source(file, in_folder=True) for file in _files_below(path)]
        if not found:
            raise FileNotFoundError(f"the folder {path!r} has no files")
        return found
    if glob.has_magic(path):
        matches = sorted(glob.glob(path, recursive=True))
        if not matches:
            raise FileNotFoundError(f"no file matches {path!r}")
        return [source for match in matches for source in _expand_one(match)]
    if os.path.exists(path):
        return [Source(path)]  # a named pipe
    raise FileNotFoundError(f"there is no file {path!r}")


def _expand_url(url: str) -> list[Source]:
    if Source(url).size() is not None:
        return [Source(url)]
    import pyarrow.fs as fs

    system, path = file_system(url)
    (info,) = system.get_file_info([path])
    if info.type == fs.FileType.NotFound:
        raise FileNotFoundError(f"there is no file {url!r}")
    below = system.get_file_info(fs.FileSelector(path, recursive=True))
    names = sorted(one.path for one in below if one.is_file and not one.base_name.startswith((".", "_")))
    if not names:
        raise FileNotFoundError(f"the folder {url!r} has no files")
    return [Source(url.rstrip("/") + name.removeprefix(path.rstrip("/")), in_folder=True) for name in names]


def _files_below(folder: str) -> Iterator[str]:
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _files_below(entry.path)
        else:
            yield entry.path


def check_encoding(encoding: str) -> str:
    r"""Return the encoding's name; refuse encodings in which a line does not end with the byte ``\n``."""
    if encoding.lower() in ("utf-8-sig", "utf_8_sig"):
        return "utf-8"  # `Lines` drops its byte order mark
    try:
        end = "\n".encode(encoding)
    except LookupError as error:
        raise ValueError(f"encoding={encoding!r} is unknown; use one such as utf-8 or latin-1") from error
    if end != b"\n":
        raise ValueError(
            f"encoding={encoding!r} cannot be split into lines before decoding; convert the file: iconv -f "
            f"{encoding} -t utf-8"
        )
    return encoding


class Lines:
    """The decoded lines of a stream, with their endings.

    A malformed line raises `MalformedInput`, and the next call continues after it. A truncated compressed
    file raises it once, and then ends.

    Lines of UTF-8 go to `cut`, which decodes them: together those that are whole in the buffer of the stream.
    It returns them, or in place of a line the record that it holds; or None if they have to be decoded alone.
    """

    def __init__(
        self,
        stream: BinaryIO,
        encoding: str | None,
        max_bytes: int,
        on_guess: Callable[[int, str], None] | None = None,
        cut: Callable[[bytes], list[Any] | None] | None = None,
    ) -> None:
        self.number = 0  # of the last line, from 1
        self._stream = stream
        self._encoding = encoding
        self._max_bytes = max_bytes
        self._on_guess = None if on_guess is None else lambda message: on_guess(self.number, message)
        self._broken = self._inside = False  # inside: of a line that is too long and was reported
        self._cut = cut or _decoded
        self._ready: Iterator[Any] = iter(())  # the next lines
        self._utf8 = encoding in (None, "utf-8")
        together = self._utf8 and hasattr(stream, "peek") and max_bytes >= _BUFFER
        self._alone = 0.0 if together else math.inf  # bytes of the next lines that are not cut together

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> Any:
        for line in self._ready:
            self.number += 1
            return line
        if self._alone <= 0 and not self._inside and self._cut_buffer():
            return next(self)
        return self._next_line()

    def _cut_buffer(self) -> bool:
        """Cut the whole lines of the buffer; return whether there are any, all of them UTF-8 without NUL."""
        # Only a stream that has `peek` is cut together; it waits as `readline` would.
        buffered = self._read(self._stream.peek)  # type: ignore[attr-defined]
        n = buffered.rfind(b"\n") + 1
        lines = self._cut(buffered[:n].removeprefix(_MARK if self.number == 0 else b"")) if n else None
        if lines is None:
            self._alone = n
            return False
        self._stream.read(n)
        self._ready = iter(lines)
        return True

    def _next_line(self) -> Any:
        while self._inside:  # may take long
            raw = self._read(self._stream.readline, _BUFFER)
            self._inside = bool(raw) and not raw.endswith(b"\n")
        raw = self._read(self._stream.readline, self._max_bytes + 1)
        if not raw:
            raise StopIteration
        self.number += 1
        self._alone -= len(raw)
        if len(raw) > self._max_bytes:
            self._inside = not raw.endswith(b"\n")
            raise MalformedInput(f"longer than max_bytes={self._max_bytes}")
        raw = raw.removeprefix(_MARK) if self.number == 1 else raw
        lines = self._cut(raw) if self._utf8 and raw.endswith(b"\n") else None
        return decode(raw, self._encoding, self._on_guess) if lines is None else lines[0]

    def _read(self, read: Callable[..., bytes], *size: int) -> bytes:
        if self._broken:
            return b""
        try:
            return read(*size)
        except _UNREADABLE as error:
            self._broken = True
            self.number += 1
            raise MalformedInput(
                f"the file is damaged or truncated here; the rest cannot be read ({error})"
            ) from error


def _decoded(block: bytes) -> list[str] | None:
    r"""Return the lines of a block, with their endings; None if it is not UTF-8 or has NUL.

    >>> _decoded(b"one\r\ntwo\n"), _decoded(b"\xff\n")
    (['one\r\n', 'two\n'], None)
    """
    if b"\0" in block:
        return None
    try:
        lines = block.decode().split("\n")
    except UnicodeDecodeError:
        return None
    return [f"{line}\n" for line in lines[:-1]]


def read_whole(source: Source, encoding: str | None, max_bytes: int, on_guess: Callable[[str], None]) -> str:
    """Return the text of a whole file."""
    with source.open() as stream:
        try:
            raw = stream.read(min(_BUFFER, max_bytes + 1))  # a larger read would allocate max_bytes each time
            if len(raw) == _BUFFER:
                raw += stream.read(max_bytes + 1 - _BUFFER)
        except _UNREADABLE as error:
            raise MalformedInput(f"the file is damaged or truncated ({error})") from error
    if len(raw) > max_bytes:
        raise MalformedInput(f"longer than max_bytes={max_bytes}")
    return decode(raw.removeprefix(_MARK), encoding, on_guess)


def decode(raw: bytes, encoding: str | None, on_guess: Callable[[str], None] | None = None) -> str:
    r"""Decode text without NUL bytes.

    If no encoding is given and the text is not UTF-8, call `on_guess`, and read each byte as a character.

    >>> decode(b"caf\xe9", None, print)
    byte 4 (0xe9) is not utf-8; read as latin-1
    'café'
    """
    if b"\0" in raw:
        raise MalformedInput(
            f"NUL at byte {raw.index(0) + 1}; is it text? If it is UTF-16: iconv -f utf-16 -t utf-8"
        )
    try:
        return raw.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        wrong = f"byte {error.start + 1} (0x{raw[error.start]:02x}) is not {encoding or 'utf-8'}"
        if encoding is not None or on_guess is None:
            raise MalformedInput(f"{wrong}; give the right encoding=") from error
    on_guess(f"{wrong}; read as latin-1")
    return raw.decode("latin-1")
