"""A write-ahead log of documents to learn: it loses nothing, and says where mini-batches end.

The log is a folder of JSONL files, ``ID-000000000001.jsonl`` and so on, named by their first record. A record
is a line::

    {"seq":1,"batch":1,"id":"a","text":"...","label":"x","origin":"given","crc32":"0a1b2c3d"}

`seq` counts records. `batch` is the number of the first record of their mini-batch: records that share it are
learned together. So the log alone decides what is learned, whenever it is read. A document of a broker's
stream has its `offset`, too. The checksum covers all bytes before ``,"crc32"``. Other programs can read the
lines, such as ``bayespa update --text text --label label``.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from bayespa.corpus import Label

_SEGMENT = re.compile(r"([0-9a-f]{16})-(\d{12})\.jsonl")
_CHECKSUM = re.compile(rb',"crc32":"([0-9a-f]{8})"}\n')
_CHECKSUM_BYTES = len(b',"crc32":"00000000"}\n')
SEGMENT_BYTES = 64 * 2**20


class LogError(ValueError):
    """A log that is damaged, or belongs to another model."""


class Record(NamedTuple):
    """A document of the log."""

    seq: int
    batch: int
    id: str
    text: str
    label: Label
    origin: str  # "given" with a text, or "reviewed" by a person
    offset: tuple[str, Any] | None = None  # of a document of a broker's stream: see `bayespa.corpus.Document`

    def to_line(self) -> bytes:
        """Return the line of the log.

        >>> print(Record(1, 1, "a", "some words", "x", "given").to_line().decode(), end="")
        {"seq":1,"batch":1,"id":"a","text":"some words","label":"x","origin":"given","crc32":"37252494"}
        """
        fields = self._asdict()
        if self.offset is None:
            del fields["offset"]
        body = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()[:-1]
        return b'%s,"crc32":"%08x"}\n' % (body, zlib.crc32(body))

    @classmethod
    def from_line(cls, line: bytes) -> Record | None:
        """Return the record of a line, or None if the line is damaged."""
        body, end = line[:-_CHECKSUM_BYTES], _CHECKSUM.fullmatch(line[-_CHECKSUM_BYTES:])
        if end is None or zlib.crc32(body) != int(end[1], 16):
            return None
        fields = json.loads(body + b"}")
        for name in ("label", "offset"):
            if isinstance(fields.get(name), list):
                fields[name] = tuple(fields[name])
        return cls(**fields)


class Log:
    """Records in a folder; new ones go to the end.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.
    segment_bytes : int
        Size at which a file is full and the next one begins.

    Attributes
    ----------
    id : str
        Identifies this log.
    next_seq : int
        Number of the next record.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     log = Log(pathlib.Path(name))
    ...     log.append([Record(1, 1, "a", "some words", "x", "given")])
    ...     texts = [record.text for record in log.read()]
    ...     log.close()
    >>> texts
    ['some words']
    """

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._folder, self._segment_bytes = folder, segment_bytes
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        segments = self._segments()
        ids = {path.name[:16] for path in segments}
        if len(ids) > 1:
            raise LogError(f"{folder} holds files of {len(ids)} logs, {', '.join(sorted(ids))}; keep one")
        self.id = ids.pop() if ids else secrets.token_hex(8)
        self.next_seq = _first(segments[-1]) if segments else 1
        if segments:
            self._cut_tail(segments[-1])
        else:
            segments = [self._new_segment()]
        self._file = open(segments[-1], "ab", buffering=0)  # noqa: SIM115

    @property
    def first_seq(self) -> int:
        """Number of the first record that was not trimmed."""
        return _first(self._segments()[0])

    def append(self, records: Sequence[Record]) -> None:
        """Write records; when this returns, all of them are on the disk."""
        data = memoryview(b"".join([record.to_line() for record in records]))
        size = os.fstat(self._file.fileno()).st_size
        try:
            while data:
                data = data[self._file.write(data) or 0 :]
            os.fsync(self._file.fileno())
        except OSError:
            os.ftruncate(self._file.fileno(), size)  # a full disk: keep none of them
            raise
        self.next_seq = records[-1].seq + 1
        if os.fstat(self._file.fileno()).st_size >= self._segment_bytes:
            self._file.close()
            self._file = open(self._new_segment(), "ab", buffering=0)  # noqa: SIM115

    def read(self, after: int = 0) -> Iterator[Record]:
        """Yield the records whose number is above `after`, in their order.

        Raises
        ------
        LogError
            If one is damaged or missing.
        """
        segments = self._segments()
        expected = None
        for path, following in zip(segments, [*segments[1:], None], strict=True):
            if following is not None and _first(following) <= after + 1:
                continue
            with open(path, "rb") as file:
                for number, line in enumerate(file, 1):
                    record = Record.from_line(line)
                    if record is None or record.seq != (expected or _first(path)):
                        raise LogError(
                            f"{path}:{number} is damaged: its checksum or its number is wrong; restore it "
                            "from a copy"
                        )
                    expected = record.seq + 1
                    if record.seq > after:
                        yield record
        if (expected or self.next_seq) != self.next_seq or (segments and _first(segments[0]) > after + 1):
            raise LogError(f"records after {after} are missing from {self._folder}; restore them from a copy")

    def trim(self, learned: int) -> None:
        """Remove files whose records the saved model has all learned; the last file stays."""
        segments = self._segments()
        for path, following in pairwise(segments):
            if _first(following) <= learned + 1:
                path.unlink()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _segments(self) -> list[Path]:
        return sorted(path for path in self._folder.iterdir() if _SEGMENT.fullmatch(path.name))

    def _new_segment(self) -> Path:
        path = self._folder / f"{self.id}-{self.next_seq:012}.jsonl"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return path

    def _cut_tail(self, path: Path) -> None:
        """Find the end, and cut off what a killed process left unfinished: it was never acknowledged."""
        end = 0
        with open(path, "r+b") as file:
            for line in file:
                record = Record.from_line(line)
                if record is None:
                    if any(Record.from_line(later) for later in file):
                        raise LogError(f"{path} is damaged at byte {end}; restore it from a copy")
                    file.truncate(end)
                    os.fsync(file.fileno())
                    return
                end += len(line)
                self.next_seq = record.seq + 1


def _first(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])
