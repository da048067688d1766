"""What a broker has to offer: messages that say where their stream goes on, and a place for predictions."""

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
PATIENCE = 30.0  # seconds, after which a broker that does not answer is an error
POLL = 0.5  # seconds to wait for messages before somebody may say that it is enough


class Broker(NamedTuple):
    """Where the classes of a broker are, what they import, and the part of bayespa that installs it."""

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
    """A broker and one of its streams, as ``scheme://user:password@host:port/stream?option=value`` says.

    The value of an option that begins with "@" is the name of the file that holds it: for passwords.
    """

    scheme: str
    hosts: str  # host:port, perhaps several with commas between them
    stream: str
    user: str | None
    password: str | None
    options: dict[str, str]

    @property
    def name(self) -> str:
        """The address without what is secret: how to call it in messages, and in model files."""
        return f"{self.scheme}://{self.hosts}/{self.stream}"

    @classmethod
    def of(cls, url: str) -> Address:
        """Take a URL apart.

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
        """Turn errors of a broker's client, which know no address, into a ConnectionError that does."""
        try:
            yield
        except errors as error:
            raise ConnectionError(f"{self.name} does not answer: {error or type(error).__name__}") from error

    def require_options(self, *known: str) -> None:
        """Raise a ValueError if there are options that a broker does not have."""
        if unknown := sorted(set(self.options) - set(known)):
            raise ValueError(
                f"{self.name} has no option {', '.join(unknown)}; there are {', '.join(known) or 'none'}"
            )


def _secret(value: str) -> str:
    """Return a value, or what the file holds that it names."""
    return Path(value[1:]).read_text(encoding="utf-8").strip() if value.startswith("@") else value


class Message(NamedTuple):
    """One message of a stream."""

    content: bytes | dict[bytes, bytes]  # a JSON object, or fields and their texts
    name: str  # what to call it
    offset: Any  # plain data: handed to `BrokerSource.seek`, the stream goes on behind this message


class Connected(ABC):
    """A stream of a broker, which somebody reads or writes until the block ends.

    Parameters
    ----------
    address : Address
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.name = address.name

    @abstractmethod
    def close(self) -> None:
        """Leave the broker."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()


class BrokerSource(Connected):
    """A stream of messages that a broker keeps, from which any part can be read again."""

    @abstractmethod
    def seek(self, offset: Any) -> None:
        """Go to behind the message that has this offset; it comes from a model file, and may be anything.

        A ValueError says that the broker no longer has what comes next: it would be missed in silence.
        """

    @abstractmethod
    def seek_end(self, end: Literal["first", "last"]) -> None:
        """Go to before the first message that the broker has, or to behind the last."""

    @abstractmethod
    def read(self, seconds: float) -> list[Message]:
        """Return the next messages; if there is none yet, wait for one up to so long, and return nothing.

        Here and elsewhere, a broker that does not answer is an OSError.
        """

    @abstractmethod
    def at_end(self) -> bool:
        """Return whether all messages were read that the broker has now."""

    def begin(self, begin: Begin, offsets: dict[str, Any]) -> None:
        """Go to where a model, whose `TextModel.offsets` these are, has to go on reading.

        "saved" is behind what it has learned, or at the first message if that is none.
        """
        if begin == "saved" and self.name in offsets:
            self.seek(offsets[self.name])
        else:
            self.seek_end("last" if begin == "last" else "first")

    def lost(self, what: str) -> ValueError:
        """Return an error that says why reading cannot go on where it should."""
        return ValueError(
            f"{self.name}: {what}, so documents may be missing; --from first goes on with the first message "
            "that there is, --from last with the next to come"
        )


class BrokerSink(Connected):
    """A stream of a broker to which predictions go."""

    @abstractmethod
    def send(self, id: str, line: str) -> None:
        """Send a prediction, a JSON object, of the document that is called `id`; see `flush`."""

    @abstractmethod
    def flush(self) -> None:
        """Wait until the broker has everything that was sent; if it does not take it, raise an OSError."""


def is_url(path: str) -> bool:
    """Return whether an input is a stream of a broker.

    >>> is_url("kafka://localhost:9092/papers"), is_url("papers.jsonl"), is_url("-")
    (True, False, False)
    """
    return path.partition("://")[0] in BROKERS


def open_source(url: str) -> BrokerSource:
    """Connect to a stream that is to be read.

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
    """Connect to a stream that predictions go to; see `open_source`."""
    return _open(url, "sink", BrokerSink)  # type: ignore[type-abstract]


def _open(url: str, what: str, kind: type[T]) -> T:
    """Make what the module of a broker calls `source` or `sink`."""
    scheme = url.partition("://")[0]
    if scheme not in BROKERS:
        raise ValueError(
            f"{url!r} is no stream of a broker; it begins with one of {'://, '.join(BROKERS)}://"
        )
    address, broker = Address.of(url), BROKERS[scheme]
    try:
        importlib.import_module(broker.package)
    except ImportError as error:
        raise ImportError(
            f"{scheme}:// is read by {broker.package}, which is not installed: pip install "
            f"'bayespa[{broker.extra}]'"
        ) from error
    made: T = getattr(importlib.import_module(broker.module), what)(address)
    return made


def read_stream(
    source: BrokerSource, fields: Fields, problems: Problems | None = None, *, drain: bool = False
) -> Iterator[Document]:
    """Read documents, each with its offset, from where the source is; wait for more where it ends.

    Parameters
    ----------
    source : BrokerSource
    fields : Fields
        Which fields of a message mean what.
    problems : Problems, optional
        Takes messages that are malformed, which are left out. By default the first raises `MalformedInput`.
    drain : bool
        Whether to end where the stream ends now.
    """
    while True:
        messages = source.read(POLL)
        yield from documents_of(source, messages, fields, problems)
        if drain and not messages and source.at_end():
            return


def documents_of(
    source: BrokerSource, messages: Iterable[Message], fields: Fields, problems: Problems | None = None
) -> Iterator[Document]:
    """Yield the documents of messages that were read, each with its offset; see `read_stream`."""
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
    if fields.label is not None:  # there is no null: who has no label has no such field
        record[fields.label] = fields.typed(texts[fields.label]) if fields.label in texts else None
    return record_document(record, fields, message.name)
