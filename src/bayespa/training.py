"""Learning a stream of documents: progressive validation, checkpoints, and stopping where nothing is lost."""

from __future__ import annotations

import signal
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Any

from bayespa.corpus import Document
from bayespa.scores import Scores
from bayespa.text_model import TextModel

PREDICTED = 32  # documents of each mini-batch that are predicted before it is learned: enough for a mean


class Interrupted(BaseException):
    """The process was asked to stop; what was learned until then is whole.

    >>> Interrupted(signal.SIGINT).exit_code
    130
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


class Interrupts:
    """Lets SIGINT and SIGTERM stop a program only where it waits for input; a second one acts at once."""

    def __init__(self) -> None:
        self._waiting = False
        self._pending: int | None = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._waiting or self._pending is not None:
            raise Interrupted(number)
        self._pending = number

    @contextmanager
    def held(self) -> Iterator[None]:
        """Take the signals over."""
        before = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Let signals act in this block, and those that came before it."""
        self._waiting = True
        try:
            if self._pending is not None:
                raise Interrupted(self._pending)
            yield
        finally:
            self._waiting = False


@dataclass
class Run:
    """How far learning a stream has come."""

    documents: int  # learned, of this stream
    checksum: int  # of their contents, by which the same stream is known again
    scores: Scores | None  # of predictions made before documents were learned; None: not begun

    def to_state(self) -> dict[str, Any]:
        """Return plain data for `from_state`."""
        scores = None if self.scores is None else self.scores.to_state()
        return {"documents": self.documents, "checksum": self.checksum, "scores": scores}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Run:
        """Make the run that `to_state` described."""
        scores = None if state["scores"] is None else Scores.from_state(state["scores"])
        return cls(int(state["documents"]), int(state["checksum"]), scores)

    def skip(self, stream: Iterator[Document]) -> None:
        """Pass over what was learned already, and make sure that it is."""
        checksum = n = 0
        for document in islice(stream, self.documents):
            checksum, n = _checksum(document, checksum), n + 1
        if (n, checksum) != (self.documents, self.checksum):
            raise ValueError(
                f"the first {self.documents} documents are not those that the checkpoint was made from; "
                "resume with the same input and options, or start anew"
            )


def _checksum(document: Document, checksum: int) -> int:
    content = document.content
    pieces = [content.encode()] if isinstance(content, str) else [part.tobytes() for part in content]
    for piece in [*pieces, repr(document.label).encode()]:
        checksum = zlib.crc32(piece, checksum)
    return checksum


def learn_stream(
    model: TextModel,
    documents: Iterable[Document],
    interrupts: Interrupts,
    *,
    batch_size: int | None = None,
    keep_rest: bool = False,
) -> Iterator[Run]:
    """Learn documents a mini-batch at a time, predicting some of each before it is learned.

    Parameters
    ----------
    model : TextModel
        If it holds a run (``model.run``), the documents of that run are passed over.
    documents : iterable of Document
    interrupts : Interrupts
        Whose signals are obeyed between mini-batches.
    batch_size : int, optional
        Documents of a mini-batch; by default the model's.
    keep_rest : bool
        Whether an interrupt learns an incomplete mini-batch first: for streams that cannot be read again.

    Yields
    ------
    Run
        After each mini-batch, when the model is whole.
    """
    run = Run(0, 0, None) if model.run is None else Run.from_state(model.run)
    size = batch_size or model.batch_size
    stream = iter(documents)
    with interrupts.allowed():
        run.skip(stream)
    interrupted: Interrupted | None = None
    while interrupted is None:
        chunk: list[Document] = []
        try:
            with interrupts.allowed():
                for document in islice(stream, size):
                    chunk.append(document)  # one by one, so that an interrupt leaves them here
        except Interrupted as reason:
            interrupted = reason
            if not keep_rest:
                break
        if not chunk:
            break
        _learn(model, chunk, run)
        yield run
    if interrupted is not None:
        raise interrupted


def _learn(model: TextModel, chunk: list[Document], run: Run) -> None:
    contents, labels = [d.content for d in chunk], [d.label for d in chunk]
    predicted = model.predict(contents[:PREDICTED]) if model.fitted else []
    model.learn(contents, labels)
    if run.scores is None and model.target is not None:
        run.scores = Scores(model.target)
    if run.scores is not None:
        run.scores.add(labels[: len(predicted)], predicted)
    run.documents += len(chunk)
    for document in chunk:
        run.checksum = _checksum(document, run.checksum)
