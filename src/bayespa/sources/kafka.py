"""Topics of Kafka; an offset is the position in each partition."""

from __future__ import annotations

from typing import Any, Literal

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)

from bayespa.sources.broker import PATIENCE, Address, BrokerSink, BrokerSource, Message

_AT_ONCE = 256  # messages


class KafkaSource(BrokerSource):
    """A topic, with all partitions that it has when reading begins.

    Options of the URL are librdkafka's, such as ``security.protocol=sasl_ssl``. The model file stores
    offsets, not a consumer group.
    """

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        own = {
            "group.id": "bayespa",  # required, though nothing is committed
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
        }
        self._consumer = Consumer({**own, **_configuration(address)})
        with address.asked(KafkaException):
            found = self._consumer.list_topics(address.stream, PATIENCE).topics[address.stream]
        if found.error is not None:
            raise FileNotFoundError(f"{self.name}: {found.error.str()}")
        self._ended: set[int] = set()  # partitions that were read to their ends
        self._next: dict[int, int] = dict.fromkeys(sorted(found.partitions), 0)

    def seek(self, offset: Any) -> None:
        """Go to the position after a message: `offset` has the next offset of each partition."""
        if not isinstance(offset, dict) or not all(type(n) is int and n >= 0 for n in offset.values()):
            raise ValueError(f"{self.name}: {offset!r} is not an offset of a topic")
        self._next = {partition: offset.get(str(partition), 0) for partition in self._next}
        for partition, wanted in self._next.items():
            first, end = self._ends(partition)
            if str(partition) not in offset:  # new, so read it from its first message
                self._next[partition] = first
            elif not first <= wanted <= end:
                raise self.lost(
                    f"partition {partition} has messages {first} to {end - 1}, but {wanted} comes next"
                )
        self._assign()

    def seek_end(self, end: Literal["first", "last"]) -> None:
        """Go to the position before the first message of every partition, or after the last."""
        self._next = {partition: self._ends(partition)[end == "last"] for partition in self._next}
        self._assign()

    def _assign(self) -> None:
        topic, self._ended = self.address.stream, set()
        self._consumer.assign([TopicPartition(topic, number, next) for number, next in self._next.items()])

    def _ends(self, partition: int) -> tuple[int, int]:
        """Return the offset of the first message of a partition, and of the next one to come."""
        where = TopicPartition(self.address.stream, partition)
        with self.address.asked(KafkaException):
            found: tuple[int, int] = self._consumer.get_watermark_offsets(where, PATIENCE)
        return found

    def read(self, seconds: float) -> list[Message]:
        """Return the next messages, in the order in which partitions deliver them."""
        first = self._consumer.poll(seconds)
        if first is None:
            return []
        messages = []
        for found in [first, *self._consumer.consume(_AT_ONCE, 0.0)]:
            partition, offset = int(found.partition() or 0), int(found.offset() or 0)
            if (error := found.error()) is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    self._ended.add(partition)
                elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                    raise self.lost(error.str())
                elif error.fatal() or not error.retriable():
                    raise OSError(f"{self.name}: {error.str()}")
                continue
            self._ended.discard(partition)
            self._next = {**self._next, partition: offset + 1}
            name = f"{self.name}:{partition}:{offset}"
            messages.append(Message(found.value() or b"", name, {str(k): n for k, n in self._next.items()}))
        return messages

    def at_end(self) -> bool:
        """Return whether every partition was read to its end."""
        return self._ended >= set(self._next)

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()


class KafkaSink(BrokerSink):
    """A topic; the key of a message is the id of its document."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._producer = Producer({"enable.idempotence": True, **_configuration(address)})
        self._failed: list[str] = []

    def send(self, id: str, line: str) -> None:
        """Send a prediction."""
        while True:
            try:
                self._producer.produce(self.address.stream, line, id, on_delivery=self._delivered)
            except BufferError:  # wait until some are delivered
                self._producer.poll(0.1)
            else:
                return

    def _delivered(self, error: KafkaError | None, message: object) -> None:
        if error is not None:
            self._failed.append(error.str())

    def flush(self) -> None:
        """Wait until the broker has everything."""
        left = self._producer.flush(PATIENCE)
        if left or self._failed:
            raise OSError(f"{self.name} refuses predictions: {(self._failed or ['no answer'])[0]}")

    def close(self) -> None:
        """Close the connection."""
        self._producer.flush(0.0)


def _configuration(address: Address) -> dict[str, Any]:
    """Return the settings of librdkafka for an address."""
    login = {} if address.user is None else {"sasl.username": address.user, "sasl.password": address.password}
    return {"bootstrap.servers": address.hosts, **login, **address.options}


source, sink = KafkaSource, KafkaSink
