"""Lets a service predict and learn the documents of a broker's stream as they come.

A document that has a label is learned under its id; the log has its offset. One without a label is predicted,
and waits for its label as every other prediction does. The position in the stream is saved
once every message before it is in the log or was predicted. A service that was killed reads some messages
again, and recognises their ids.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Gauge

from bayespa.corpus import Document, Problem, Problems
from bayespa.corpus.documents import Fields
from bayespa.serve.service import Busy, Predicted, Service
from bayespa.serve.writer import Labelled, Refused
from bayespa.sources import documents_of, open_sink, open_source
from bayespa.sources.broker import POLL, Begin

if TYPE_CHECKING:
    from typing_extensions import Self

_LOGGER = logging.getLogger("bayespa.serve")
_PAUSE = 5.0  # seconds until a broker that does not answer is tried again
_TOP = 3  # the most probable classes are part of a prediction
_NAMED = 20  # messages that cannot be learned are reported, one by one


class BrokerFeed:
    """Reads a stream in a thread of its own, while the block lasts.

    Parameters
    ----------
    service : Service
        One that has started.
    url : str
        URL of the stream, see `bayespa.sources.open_source`.
    fields : Fields
        Which fields of a message mean what.
    begin : {"saved", "first", "last"}
        Where to begin; "saved" continues after the last message that the service has read.
    predictions : str, optional
        URL of a stream that gets a line of JSON for each document: its prediction before it is learned.

    Attributes
    ----------
    failure : BaseException or None
        Why reading has stopped.
    """

    def __init__(
        self,
        service: Service,
        url: str,
        fields: Fields,
        begin: Begin = "saved",
        predictions: str | None = None,
    ) -> None:
        self._service, self._url, self._fields = service, url, fields
        self._begin: Begin = begin
        self._predictions = predictions
        self.failure: BaseException | None = None
        self._messages = 0
        self._problems = Problems(keep=0, on_problem=self._report)
        self._stack, self._ended = ExitStack(), threading.Event()
        self._thread = threading.Thread(target=self._read_all, name="bayespa-feed", daemon=True)

    def __enter__(self) -> Self:
        self._join()  # wrong addresses raise at once
        self._thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._ended.set()
        self._thread.join()

    def report_to(self, registry: CollectorRegistry) -> None:
        """Tell Prometheus how much was read."""
        for name, what, value in (
            ("messages", "Messages read from the broker.", lambda: self._messages),
            ("left_out", "Those of them that could not be learned.", lambda: len(self._problems)),
        ):
            Gauge(f"bayespa_stream_{name}", what, registry=registry).set_function(value)

    def _join(self) -> None:
        """Connect, and move to the position where reading continues."""
        try:
            self._source = self._stack.enter_context(open_source(self._url))
            sink = None if self._predictions is None else open_sink(self._predictions)
            self._sink = None if sink is None else self._stack.enter_context(sink)
            service = self._service
            self._source.begin(self._begin, {**service.published.model.offsets, **service.store.offsets})
        except BaseException:
            self._stack.close()
            raise

    def _read_all(self) -> None:
        try:
            while not self._ended.is_set():
                try:
                    self._read()
                except OSError as error:  # the broker, or a disk that is full
                    _LOGGER.warning("%s; trying again every %g s", error, _PAUSE)
                    self._stack.close()
                    self._join_again()
        except BaseException as error:
            self.failure = error
            _LOGGER.exception("%s is not read any more; start the service again", self._source.name)
        finally:
            self._stack.close()

    def _join_again(self) -> None:
        while not self._ended.wait(_PAUSE):
            try:
                return self._join()
            except OSError:
                pass

    def _read(self) -> None:
        """Read the next messages, if any; predict and learn them, and save the position."""
        messages = self._source.read(POLL)
        if not messages:
            return
        documents = list(documents_of(self._source, messages, self._fields, self._problems))
        labelled = [document for document in documents if document.label is not None]
        unlabelled = [document for document in documents if document.label is None]
        if unlabelled:
            self._send(self._service.predict(*_texts_and_ids(unlabelled)))
        if labelled and self._sink is not None:
            self._send(self._service.answer(*_texts_and_ids(labelled)))
        if self._sink is not None:
            self._sink.flush()
        most = self._service.settings.capacity
        for begin in range(0, len(labelled), most):
            self._learn([_labelled(document) for document in labelled[begin : begin + most]])
        if not self._ended.is_set():
            self._service.store.keep_offset(self._source.name, messages[-1].offset)
            self._begin = "saved"
            self._messages += len(messages)

    def _send(self, predicted: Predicted) -> None:
        if self._sink is not None:
            for one in predicted.described(_TOP):
                line = json.dumps({"version": predicted.version, **one}, ensure_ascii=False)
                self._sink.send(one["id"], line)

    def _learn(self, documents: Sequence[Labelled]) -> None:
        """Let the service learn documents as soon as it has room, except those that it refuses."""
        while not self._ended.is_set():
            try:
                self._service.learn(documents).result()
                return
            except Busy:
                self._ended.wait(POLL)
            except Refused as refused:
                if len(documents) == 1:
                    self._problems.add(Problem(documents[0].id, None, str(refused)))
                    return
                for document in documents:
                    self._learn([document])
                return

    def _report(self, problem: Problem) -> None:
        if len(self._problems) <= _NAMED:
            _LOGGER.warning("left out: %s", problem)


def _texts_and_ids(documents: Sequence[Document]) -> tuple[list[str], list[str]]:
    return [str(document.content) for document in documents], [document.id for document in documents]


def _labelled(document: Document) -> Labelled:
    return Labelled(str(document.content), document.label, document.id, offset=document.offset)
