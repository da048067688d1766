"""Streams of brokers: Kafka, NATS JetStream and Redis, each a small class behind one interface.

A fourth takes a file with a `BrokerSource` and a `BrokerSink`, and a line in `BROKERS`.
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
