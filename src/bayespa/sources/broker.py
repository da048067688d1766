"""The interface of brokers: messages with offsets, and a stream for predictions."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from bayespa.corpus import Document, MalformedInput, Problem, Problems
from bayespa.corpus.documents import Fields
from bayespa.corpus.sources import decode
from bayespa.corpus.texts import json_document, record_document

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")
Begin = Literal["saved", "first", "last"]
PATIENCE = 30.0  # seconds until a broker that does not answer is an error
POLL = 0.5  # seconds to wait for messages before checking for interrupts


class Broker(NamedTuple):
    """The module of a broker, the package it imports, and the extra of bayespa that installs it."""

    module: str
    package: str
    extra: str


BROKERS = {
    "kafka": Broker("bayespa.sources.kafka", "confluent_kafka", "kafka"),
    "nats": Broker("bayespa.sources.jetstream", "nats", "nats"),
    "redis": Broker("bayespa.sources.redis_streams", "redis", "redis"),
    "rediss": Broker("bayespa.sources.redis_streams", "redis", "redis"),
}


@dataclass(frozen=True)
class Address:
    """A broker and one of its streams: ``scheme://user:password@host:port/stream?option=value``.

    If the value of an option begins with "@", the rest names a file with the value, for passwords.
    """

    scheme: str
    hosts: str  # host:port, perhaps several with commas between them
    stream: str
    user: str | None
    password: str | None
    options: dict[str, str]

    @property
    def name(self) -> str:
        """The address without secrets, for messages and model files."""
        return f"{self.scheme}://{self.hosts}/{self.stream}"

    @classmethod
    def of(cls, url: str) -> Address:
        """Parse a URL.

        >>> Address.of("kafka://me:secret@a:9092,b:9092/papers?security.protocol=ssl").name
        'kafka://a:9092,b:9092/papers'
        """
        parts = urlsplit(url)
        login, _, hosts = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        stream = unquote(parts.path.strip("/"))
        if not hosts or not stream:
            raise ValueError(
                f"{parts.scheme}:// needs a host and a stream, as in {parts.scheme}://host/papers"
            )
        options = {name: _secret(value) for name, value in parse_qsl(parts.query, keep_blank_values=True)}
        return cls(
            parts.scheme,
            hosts,
            stream,
            unquote(user) or None,
            unquote(password) or None,
            options,
        )

    @contextmanager
    def asked(self, *errors: type[Exception]) -> Iterator[None]:
        """Turn errors of a broker's client into a ConnectionError with the address."""
        try:
            yield
        except errors as error:
            raise ConnectionError(f"{self.name} does not answer: {error or type(error).__name__}") from error

    def require_options(self, *known: str) -> None:
        """Raise a ValueError if there are unknown options."""
        if unknown := sorted(set(self.options) - set(known)):
            raise ValueError(
                f"{self.name} has no option {', '.join(unknown)}; there are {', '.join(known) or 'none'}"
            )


def _secret(value: str) -> str:
    """Return a value, or the content of the file that it names."""
    return Path(value[1:]).read_text(encoding="utf-8").strip() if value.startswith("@") else value


class Message(NamedTuple):
    """One message of a stream."""

    content: bytes | dict[bytes, bytes]  # a JSON object, or fields with their texts
    name: str  # for messages
    offset: Any  # plain data for `BrokerSource.seek`, to continue after this message


class Connected(ABC):
    """A stream of a broker, open for reading or writing until the block ends.

    Parameters
    ----------
    address : Address
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.name = address.name

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()


class BrokerSource(Connected):
    """A stream of messages that a broker keeps; any part of it can be read again."""

    @abstractmethod
    def seek(self, offset: Any) -> None:
        """Go to the position after the message with this offset, which comes from a model file.

        Raise a ValueError if the broker no longer has the next message, so that none is missed silently.
        """

    @abstractmethod
    def seek_end(self, end: Literal["first", "last"]) -> None:
        """Go to the position before the first message, or after the last."""

    @abstractmethod
    def read(self, seconds: float) -> list[Message]:
        """Return the next messages; if there are none, wait up to `seconds`, and return nothing.

        If the broker does not answer, this raises an OSError.
        """

    @abstractmethod
    def at_end(self) -> bool:
        """Return whether all present messages were read."""

    def begin(self, begin: Begin, offsets: dict[str, Any]) -> None:
        """Go to the position for a model with these `TextModel.offsets`.

        "saved" is after what it has learned, or at the first message if it has learned nothing.
        """
        if begin == "saved" and self.name in offsets:
            self.seek(offsets[self.name])
        else:
            self.seek_end("last" if begin == "last" else "first")

    def lost(self, what: str) -> ValueError:
        """Return an error that says why reading cannot continue."""
        return ValueError(
            f"{self.name}: {what}, so documents may be missing; --from first continues with the first "
            "message that there is, --from last with the next to come"
        )


class BrokerSink(Connected):
    """A stream of a broker for predictions."""

    @abstractmethod
    def send(self, id: str, line: str) -> None:
        """Send a prediction, a JSON object, for the document `id`; see `flush`."""

    @abstractmethod
    def flush(self) -> None:
        """Wait until the broker has everything that was sent; if it refuses, raise an OSError."""


def is_url(path: str) -> bool:
    """Return whether an input is a stream of a broker.

    >>> is_url("kafka://localhost:9092/papers"), is_url("papers.jsonl"), is_url("-")
    (True, False, False)
    """
    return path.partition("://")[0] in BROKERS


def open_source(url: str) -> BrokerSource:
    """Open a stream for reading.

    Parameters
    ----------
    url : str
        ``kafka://host:port/topic``, ``nats://host:port/stream`` or ``redis://host:port/stream``.

    Examples
    --------
    >>> open_source("kafka://localhost:9092")
    Traceback (most recent call last):
    ...
    ValueError: kafka:// needs a host and a stream, as in kafka://host/papers
    """
    return _open(url, "source", BrokerSource)  # type: ignore[type-abstract]


def open_sink(url: str) -> BrokerSink:
    """Open a stream for predictions; see `open_source`."""
    return _open(url, "sink", BrokerSink)  # type: ignore[type-abstract]


def _open(url: str, what: str, kind: type[T]) -> T:
    """Make the object `source` or `sink` of a broker's module."""
    scheme = url.partition("://")[0]
    if scheme not in BROKERS:
        raise ValueError(
            f"{url!r} is not a stream of a broker; it must begin with one of {'://, '.join(BROKERS)}://"
        )
    address, broker = Address.of(url), BROKERS[scheme]
    try:
        importlib.import_module(broker.package)
    except ImportError as error:
        raise ImportError(
            f"{scheme}:// needs {broker.package}: pip install 'bayespa[{broker.extra}]'"
        ) from error
    made: T = getattr(importlib.import_module(broker.module), what)(address)
    return made


def read_stream(
    source: BrokerSource, fields: Fields, problems: Problems | None = None, *, drain: bool = False
) -> Iterator[Document]:
    """Read documents with their offsets from the present position; wait for more at the end.

    Parameters
    ----------
    source : BrokerSource
    fields : Fields
        The fields of a message.
    problems : Problems, optional
        Collects malformed messages, which are left out. By default the first raises `MalformedInput`.
    drain : bool
        Whether to stop at the present end of the stream.

    Examples
    --------
    ::

        with open_source("kafka://localhost:9092/papers") as source:
            source.begin("first", {})
            for document in read_stream(source, Fields(), drain=True):
                print(document.id, document.label)
    """
    while True:
        messages = source.read(POLL)
        yield from documents_of(source, messages, fields, problems)
        if drain and not messages and source.at_end():
            return


def documents_of(
    source: BrokerSource, messages: Iterable[Message], fields: Fields, problems: Problems | None = None
) -> Iterator[Document]:
    """Yield the documents of messages, each with its offset; see `read_stream`."""
    for message in messages:
        try:
            document = _document(message, fields)
        except MalformedInput as error:
            if problems is None:
                raise MalformedInput(f"{message.name}: {error}") from error
            problems.add(Problem(message.name, None, str(error)))
        else:
            yield document._replace(offset=(source.name, message.offset))


def _document(message: Message, fields: Fields) -> Document:
    """Return the document of a message."""
    if isinstance(message.content, bytes):
        return json_document(decode(message.content, "utf-8"), fields, message.name)
    texts = {decode(name, "utf-8"): decode(text, "utf-8") for name, text in message.content.items()}
    record: dict[str, object] = dict(texts)
    if fields.label is not None:  # there is no null: a message without this field has no label
        record[fields.label] = fields.typed(texts[fields.label]) if fields.label in texts else None
    return record_document(record, fields, message.name)
