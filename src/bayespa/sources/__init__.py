"""Streams of brokers: Kafka, NATS JetStream and Redis, with one interface.

To add another broker, write a file with a `BrokerSource` and a `BrokerSink`, and a line in `BROKERS`.
"""

from bayespa.sources.broker import (
    BrokerSink,
    BrokerSource,
    Message,
    documents_of,
    is_url,
    open_sink,
    open_source,
    read_stream,
)

__all__ = [
    "BrokerSink",
    "BrokerSource",
    "Message",
    "documents_of",
    "is_url",
    "open_sink",
    "open_source",
    "read_stream",
]
