"""Streams of Redis; an offset is the identifier of an entry."""

from __future__ import annotations

from typing import Any, Literal

import redis

from bayespa.sources.broker import PATIENCE, Address, BrokerSink, BrokerSource, Message

_AT_ONCE = 256  # messages
_BEFORE_ALL = "0-0"


class RedisSource(BrokerSource):
    """A stream; the fields of its entries are those of documents, in UTF-8.

    ``redis://host/papers?db=1`` is a stream in another database; ``rediss://`` is encrypted.
    """

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._redis = _connected(address)
        self._last = _BEFORE_ALL

    def seek(self, offset: Any) -> None:
        """Go to the position after the entry with this identifier."""
        if not isinstance(offset, str) or _number(offset) is None:
            raise ValueError(f"{self.name}: {offset!r} is not the identifier of an entry")
        end = self._end()
        if (_number(end) or (0, 0)) < (_number(offset) or (0, 0)):
            raise self.lost(f"its last entry is {end}, before {offset}, which was learned")
        if offset not in (_BEFORE_ALL, end) and not self._there(offset):
            raise self.lost(f"{offset}, the last entry that was learned, is gone, perhaps with later ones")
        self._last = offset

    def seek_end(self, end: Literal["first", "last"]) -> None:
        """Go to the position before the first entry, or after the last."""
        self._last = self._end() if end == "last" else _BEFORE_ALL

    def _end(self) -> str:
        """Return the identifier of the last entry that ever existed."""
        key = self.address.stream
        with self.address.asked(redis.RedisError):
            if not self._redis.exists(key):
                return _BEFORE_ALL
            return str(self._redis.xinfo_stream(key)["last-generated-id"].decode())

    def _there(self, identifier: str) -> bool:
        """Return whether there is an entry."""
        with self.address.asked(redis.RedisError):
            return bool(self._redis.xrange(self.address.stream, identifier, identifier))

    def _behind(self, n: int, milliseconds: int | None = None) -> list[Any]:
        """Return up to n entries after the last one that was read."""
        with self.address.asked(redis.RedisError):
            found = self._redis.xread({self.address.stream: self._last}, n, milliseconds)
        return found[0][1] if found else []

    def read(self, seconds: float) -> list[Message]:
        """Return the next entries."""
        messages = []
        for number, entry in self._behind(_AT_ONCE, max(1, round(1000 * seconds))):
            self._last = number.decode()
            messages.append(Message(entry, f"{self.name}:{self._last}", self._last))
        return messages

    def at_end(self) -> bool:
        """Return whether the last entry was read."""
        return not self._behind(1)

    def close(self) -> None:
        """Close the connection."""
        self._redis.close()


class RedisSink(BrokerSink):
    """A stream whose entries have the fields id and json."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._redis = _connected(address)
        self._waiting: list[dict[str, str]] = []

    def send(self, id: str, line: str) -> None:
        """Send a prediction."""
        self._waiting.append({"id": id, "json": line})

    def flush(self) -> None:
        """Wait until the broker has everything: all is added at once."""
        with self.address.asked(redis.RedisError), self._redis.pipeline(transaction=True) as together:
            for entry in self._waiting:
                together.xadd(self.address.stream, entry)
            together.execute()
        self._waiting.clear()

    def close(self) -> None:
        """Close the connection."""
        self._redis.close()


def _connected(address: Address) -> Any:
    address.require_options("db", "password")
    host, _, port = address.hosts.partition(":")
    client = redis.Redis(
        host,
        int(port or 6379),
        int(address.options.get("db", 0)),
        username=address.user,
        password=address.options.get("password", address.password),
        ssl=address.scheme == "rediss",
        socket_timeout=PATIENCE,
    )
    with address.asked(redis.RedisError):
        client.ping()
    return client


def _number(identifier: str) -> tuple[int, int] | None:
    """Return the two numbers of an identifier, which order entries."""
    first, _, second = identifier.partition("-")
    return (int(first), int(second)) if first.isdecimal() and second.isdecimal() else None


source, sink = RedisSource, RedisSink
