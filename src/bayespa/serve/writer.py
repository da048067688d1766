"""The thread that writes documents to the log, each once, and decides where mini-batches end."""

from __future__ import annotations

import queue
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from bayespa.corpus import Label
from bayespa.serve.log import Log, Record
from bayespa.serve.store import Database, Known

_MOST_AT_ONCE = 4096  # documents written at once


class Refused(ValueError):
    """A document that the model cannot learn, or whose id belongs to another document."""


class Labelled(NamedTuple):
    """A document to learn."""

    text: str
    label: Label
    id: str
    origin: str = "given"  # or "reviewed"
    offset: tuple[str, Any] | None = None  # position in a broker's stream


class Entry(NamedTuple):
    """A document in the log: its number, and whether this call put it there."""

    id: str
    seq: int
    new: bool


class Submission(NamedTuple):
    """Documents that came together."""

    documents: Sequence[Labelled]
    at_once: bool  # whether their mini-batch ends with them
    logged: Future[list[Entry]]


class Writer:
    """Takes submissions, and hands over mini-batches of records that are on the disk.

    A mini-batch is complete when it is full, or when its first document has waited for `delay` seconds and
    nothing else waits to be learned.

    Parameters
    ----------
    log : Log
    store : Database
        Knows the ids of the log, except those of mini-batches that are not learned yet.
    batch_size : int
    delay : float
    hand_over : callable
        Takes a mini-batch, and None at the end.
    idle : callable
        Returns whether nothing else waits to be learned.
    """

    def __init__(
        self,
        log: Log,
        store: Database,
        batch_size: int,
        delay: float,
        hand_over: Callable[[list[Record] | None], None],
        idle: Callable[[], bool],
    ) -> None:
        self._log, self._store = log, store
        self._batch_size, self._delay = batch_size, delay
        self._hand_over, self._idle = hand_over, idle
        self._submitted: queue.SimpleQueue[Submission | None] = queue.SimpleQueue()
        self._recent: dict[str, Known] = {}  # ids of the log that are not in the store yet
        self._batch: list[Record] = []  # in the log, and not handed over yet
        self._thread = threading.Thread(target=self._work, name="bayespa-log", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def submit(self, submission: Submission) -> None:
        """Accept documents; their future is done when all of them are on the disk."""
        self._submitted.put(submission)

    def end(self) -> None:
        """Write everything that was submitted, hand it over, and end."""
        self._submitted.put(None)
        self._thread.join()

    def keep_ids(self, records: Sequence[Record]) -> None:
        """Store the ids of records that were learned."""
        self._store.add_learned((record, checksum(record.text, record.label)) for record in records)
        for record in records:
            self._recent.pop(record.id, None)

    def _work(self) -> None:
        deadline, ended = 0.0, False
        while not ended:
            submissions, ended = self._gathered(deadline - time.monotonic() if self._batch else None)
            if not self._batch:
                deadline = time.monotonic() + self._delay
            if submissions:
                self._write(submissions)
            at_once = bool(submissions) and submissions[-1].at_once
            if ended or at_once or (time.monotonic() >= deadline and self._idle()):
                self._complete()
        self._hand_over(None)

    def _complete(self) -> None:
        """Hand over the mini-batch: the next record begins another."""
        if self._batch:
            self._hand_over(self._batch)
            self._batch = []

    def _gathered(self, seconds: float | None) -> tuple[list[Submission], bool]:
        """Wait for submissions, at most `seconds`; return all of them, and whether the end has come."""
        found: list[Submission] = []
        n = 0
        try:
            one = self._submitted.get(timeout=None if seconds is None else max(0.001, seconds))
            while one is not None:
                found.append(one)
                n += len(one.documents)
                if one.at_once or n >= _MOST_AT_ONCE:
                    return found, False
                one = self._submitted.get_nowait()
            return found, True
        except queue.Empty:
            return found, False

    def _write(self, submissions: list[Submission]) -> None:
        """Write documents to the log, all at once, and acknowledge them."""
        answers: list[list[Entry] | Refused] = []
        records: list[Record] = []
        new: dict[str, Known] = {}
        begin = self._batch[0].seq if self._batch else self._log.next_seq  # of the mini-batch
        for submission in submissions:
            try:
                known = self._known(submission.documents, new)
            except Refused as refused:
                answers.append(refused)
                continue
            entries = []
            for document in submission.documents:
                if document.id not in known and document.id not in new:
                    seq = self._log.next_seq + len(records)
                    if seq - begin == self._batch_size:
                        begin = seq
                    text, label, id_, origin, offset = document
                    records.append(Record(seq, begin, id_, text, label, origin, offset))
                    new[id_] = Known(seq, checksum(text, label))
                    entries.append(Entry(document.id, seq, True))
                else:
                    entries.append(
                        Entry(document.id, (known.get(document.id) or new[document.id]).seq, False)
                    )
            answers.append(entries)
        try:
            if records:
                self._log.append(records)
        except OSError as error:  # a full disk, perhaps
            for submission in submissions:
                submission.logged.set_exception(error)
            return
        self._recent.update(new)
        for record in records:
            if self._batch and record.batch != self._batch[0].batch:
                self._complete()
            self._batch.append(record)
        for submission, answer in zip(submissions, answers, strict=True):
            if isinstance(answer, Refused):
                submission.logged.set_exception(answer)
            else:
                submission.logged.set_result(answer)

    def _known(self, documents: Sequence[Labelled], new: dict[str, Known]) -> dict[str, Known]:
        """Return documents in the log, by id; `Refused` if an id belongs to another text or label."""
        found = {d.id: self._recent[d.id] for d in documents if d.id in self._recent}
        found.update(self._store.learned([d.id for d in documents if d.id not in found]))
        checksums: dict[str, int] = {}
        for document in documents:
            own = checksum(document.text, document.label)
            before = found.get(document.id) or new.get(document.id)
            if checksums.setdefault(document.id, own if before is None else before.checksum) != own:
                raise Refused(
                    f"id {document.id!r} was given to a document of another text or label; use a new id"
                )
        return found


def checksum(text: str, label: Label) -> int:
    """Return a checksum of a text and its label.

    >>> checksum("some words", "x") == checksum("some words", ("x",))
    False
    """
    return zlib.crc32(repr(label).encode(errors="backslashreplace"), zlib.crc32(text.encode()))
