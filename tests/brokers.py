"""Real brokers, for tests: each a process that ends with them, but for Kafka's, which lives in this one."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bayespa.sources import broker, open_source


class Server:
    """A process that ends with the tests."""

    def __init__(self, command, folder):
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def until(self, ready):
        """Wait until it answers."""
        for _ in range(600):
            try:
                return ready()
            except Exception:
                assert self.process.poll() is None, "the broker has died"
                time.sleep(0.05)
        raise AssertionError("the broker does not answer")


def needed(program):
    found = shutil.which(
        program, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    if found is None:
        pytest.skip(f"there is no {program} on this machine")
    return found


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Redis:
    def __init__(self, folder):
        redis = pytest.importorskip("redis")
        port = free_port()
        options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.server = Server([needed("redis-server"), *options], folder)
        self.client = redis.Redis("127.0.0.1", port)
        self.server.until(self.client.ping)
        self.url = f"redis://127.0.0.1:{port}"

    def put(self, stream, records):
        for record in records:
            fields = record if isinstance(record, dict) else {"junk": record}
            self.client.xadd(stream, {k: v for k, v in fields.items() if v is not None})

    def forget(self, stream, n):
        for number, _ in self.client.xrange(stream, count=n):
            self.client.xdel(stream, number)

    def sent(self, stream):
        return [entry[b"json"] for _, entry in self.client.xrange(stream)]

    def close(self):
        self.client.close()
        self.server.process.kill()
        self.server.process.wait()


class JsonBroker:
    """Messages are what they are sent as."""

    def sent(self, stream):
        with open_source(f"{self.url}/{stream}") as source:
            source.seek_end("first")
            found = []
            while not source.at_end():
                found += [message.content for message in source.read(1.0)]
            return found


class Nats(JsonBroker):
    def __init__(self, folder):
        pytest.importorskip("nats")
        port = free_port()
        self.url, self.streams = f"nats://127.0.0.1:{port}", set()
        options = ["-js", "-a", "127.0.0.1", "-p", str(port), "-sd", str(folder)]
        self.command, self.folder = [needed("nats-server"), *options], folder
        self.start()

    def start(self):
        from bayespa.sources.jetstream import JetStreamConnection

        self.server = Server(self.command, self.folder)
        self.connection = self.server.until(lambda: JetStreamConnection(broker.Address.of(f"{self.url}/x")))

    def restart(self):
        """Be away for a moment; what it keeps is on the disk."""
        self.close()
        self.start()

    def stream(self, name):
        if name not in self.streams:
            self.connection.wait(self.connection.jetstream.add_stream(name=name, subjects=[name]))
            self.streams.add(name)

    def put(self, stream, records):
        self.stream(stream)
        for record in records:
            content = record.encode() if isinstance(record, str) else json.dumps(record).encode()
            self.connection.wait(self.connection.jetstream.publish(stream, content))

    def forget(self, stream, n):
        self.connection.wait(self.connection.jetstream.purge_stream(stream, seq=n + 1))

    def close(self):
        self.connection.close()
        self.server.process.kill()
        self.server.process.wait()


class Kafka(JsonBroker):
    """The broker that librdkafka has for tests; it lives in this process."""

    def __init__(self, folder):
        kafka = pytest.importorskip("confluent_kafka")
        self.producer = kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none"})
        found = next(iter(self.producer.list_topics(timeout=30).brokers.values()))
        self.url = f"kafka://{found.host}:{found.port}"

    def put(self, stream, records):
        for record in records:
            content = record.encode() if isinstance(record, str) else json.dumps(record).encode()
            self.producer.produce(stream, content, partition=0)
        assert self.producer.flush(30) == 0

    def close(self):
        pass  # it ends with the producer
