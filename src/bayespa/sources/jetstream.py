"""Streams of NATS JetStream; an offset is the number of a message in its stream."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Literal, TypeVar

import nats
from nats.errors import Error
from nats.js.errors import NotFoundError

from bayespa.sources.broker import PATIENCE, Address, BrokerSink, BrokerSource, Message

T = TypeVar("T")
RETRIES = {"connect_timeout": 5, "reconnect_time_wait": 0.5, "max_reconnect_attempts": 10}
_AT_ONCE = 128  # messages requested together
_PAUSE = 0.05  # seconds between requests for a message that does not exist yet


class JetStreamConnection:
    """A connection whose calls wait for their results."""

    def __init__(self, address: Address) -> None:
        address.require_options("password")
        self._loop = asyncio.new_event_loop()
        servers = [f"nats://{host}" for host in address.hosts.split(",")]
        password = address.options.get("password", address.password)
        login = {} if address.user is None else {"user": address.user, "password": password}

        async def silent(error: Exception) -> None:  # errors are raised by the calls
            return

        self._address = address
        try:
            self._nats = self.wait(nats.connect(servers, error_cb=silent, **RETRIES, **login))
        except BaseException:
            self._loop.close()
            raise
        self.jetstream = self._nats.jetstream(timeout=PATIENCE)

    def wait(self, call: Coroutine[Any, Any, T]) -> T:
        """Return the result of a call."""
        with self._address.asked(Error, OSError):
            return self._loop.run_until_complete(call)

    def close(self) -> None:
        """Close the connection, or what is left of it."""
        with suppress(OSError):
            self.wait(self._nats.close())
        self._loop.run_until_complete(_cancel_all())
        self._loop.close()


async def _cancel_all() -> None:
    """Stop the tasks that a client has left running."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class JetStreamSource(BrokerSource):
    """A stream, whose messages are requested by number: no consumer is left behind."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._connection = JetStreamConnection(address)
        self._last = 0

    def _ends(self) -> tuple[int, int]:
        """Return the numbers of the first and the last message."""
        state = self._connection.wait(self._connection.jetstream.stream_info(self.address.stream)).state
        return state.first_seq, state.last_seq

    def seek(self, offset: Any) -> None:
        """Go to the position after the message with this number."""
        if type(offset) is not int or offset < 0:
            raise ValueError(f"{self.name}: {offset!r} is not the number of a message")
        first, last = self._ends()
        if not first - 1 <= offset <= last:
            raise self.lost(f"it has messages {first} to {last}, but {offset} was learned last")
        self._last = offset

    def seek_end(self, end: Literal["first", "last"]) -> None:
        """Go to the position before the first message, or after the last."""
        first, last = self._ends()
        self._last = last if end == "last" else max(0, first - 1)

    async def _get(self, number: int) -> Any:
        """Return the first message from a number on; None: there is none yet."""
        try:
            return await self._connection.jetstream.get_msg(
                self.address.stream, seq=number, subject=">", next=True
            )
        except NotFoundError:
            return None

    async def _next(self, n: int) -> dict[int, Any]:
        """Return messages by number: those of the next n numbers, and perhaps one after a gap."""
        found = await asyncio.gather(*(self._get(self._last + 1 + i) for i in range(n)))
        return {message.seq: message for message in found if message is not None}

    async def _awaited(self, seconds: float) -> dict[int, Any]:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not await self._next(1):
            if loop.time() >= end:
                return {}
            await asyncio.sleep(_PAUSE)
        return await self._next(_AT_ONCE)

    def read(self, seconds: float) -> list[Message]:
        """Return the next messages."""
        found = self._connection.wait(self._awaited(seconds))
        messages = [
            Message(found[number].data or b"", f"{self.name}:{number}", number) for number in sorted(found)
        ]
        self._last = messages[-1].offset if messages else self._last
        return messages

    def at_end(self) -> bool:
        """Return whether the last message was read."""
        return self._last >= self._ends()[1]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class JetStreamSink(BrokerSink):
    """A subject of a stream; the stream drops a prediction that is sent again."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._connection = JetStreamConnection(address)
        self._waiting: list[tuple[str, str]] = []

    def send(self, id: str, line: str) -> None:
        """Send a prediction."""
        self._waiting.append((id, line))

    def flush(self) -> None:
        """Wait until the broker has everything, in order."""
        for begin in range(0, len(self._waiting), _AT_ONCE):
            self._connection.wait(self._published(self._waiting[begin : begin + _AT_ONCE]))
        self._waiting.clear()

    async def _published(self, some: list[tuple[str, str]]) -> None:
        publish, subject = self._connection.jetstream.publish, self.address.stream
        await asyncio.gather(
            *(publish(subject, line.encode(), headers={"Nats-Msg-Id": id}) for id, line in some)
        )

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


source, sink = JetStreamSource, JetStreamSink
