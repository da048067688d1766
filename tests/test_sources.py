"""Streams of real brokers: nothing is lost or learned twice, whenever a process is killed."""

import json
import os
import signal
import time
from importlib.util import find_spec

import pytest
from click.testing import CliRunner
from tests.brokers import Kafka, Nats, Redis
from tests.children import running

import bayespa
from bayespa.cli import main
from bayespa.corpus import Problems
from bayespa.corpus.documents import Fields
from bayespa.sources import broker, open_sink, open_source, read_stream

WORDS = ("cat mouse dog", "star moon orbit")
RECORDS = [{"text": f"{WORDS[i % 2]} word{i // 3}", "label": ("animals", "sky")[i % 2]} for i in range(60)]
FAST = ["--batch-size", "4", "--jobs", "1", "--drain"]


@pytest.fixture(scope="module", params=[Kafka, Nats, Redis], ids=lambda kind: kind.__name__)
def brokers(request, tmp_path_factory):
    one = request.param(tmp_path_factory.mktemp("broker"))
    yield one
    one.close()


@pytest.fixture
def stream(request):
    """A name that no other test has."""
    return "".join(c for c in request.node.name.split("[")[0] if c.isalnum())


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "begun.bayespa"
    model = bayespa.TextModel("linear", random_state=0, n_jobs=1, n_passes=1, batch_size=4)
    model.learn([r["text"] for r in RECORDS[:8]], [r["label"] for r in RECORDS[:8]])
    bayespa.save(model, path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path, begun):
    (tmp_path / "m").write_bytes(begun)
    return tmp_path / "m"


@pytest.fixture
def impatient(monkeypatch):
    """Do not wait between attempts to reach a broker that is not there."""
    monkeypatch.setattr("bayespa.sources.jetstream.PATIENCE", 0.5)
    retries = {"reconnect_time_wait": 0.01, "max_reconnect_attempts": 10}
    monkeypatch.setattr("bayespa.sources.jetstream.RETRIES", retries)
    if find_spec("redis"):
        monkeypatch.setattr("redis.retry.sleep", lambda seconds: None)


def update(path, url, *options, code=0):
    found = CliRunner().invoke(main, ["update", str(path), url, *FAST, *options])
    assert found.exit_code == code, found.output
    return found


def test_a_model_goes_on_where_it_stopped(brokers, stream, path):
    url = f"{brokers.url}/{stream}"
    brokers.put(stream, RECORDS[:10])
    update(path, url)
    assert bayespa.load(path).estimator.n_documents_seen_ == 18
    before = path.read_bytes()
    update(path, url)
    assert path.read_bytes() == before
    brokers.put(stream, RECORDS[10:21])
    said = json.loads(update(path, url, "--json").stdout)
    model = bayespa.load(path)
    assert model.estimator.n_documents_seen_ == 29
    assert said["documents"] == 21
    assert list(model.offsets) == [url]
    update(path, url, "--from", "last")
    assert bayespa.load(path).estimator.n_documents_seen_ == 29
    update(path, url, "--from", "first")
    assert bayespa.load(path).estimator.n_documents_seen_ == 50


def test_it_learns_what_a_file_would_teach(brokers, stream, path, tmp_path, begun):
    brokers.put(stream, RECORDS)
    update(path, f"{brokers.url}/{stream}")
    (tmp_path / "n").write_bytes(begun)
    lines = "".join(json.dumps(record) + "\n" for record in RECORDS)
    command = ["update", str(tmp_path / "n"), "-", "--batch-size", "4", "--jobs", "1"]
    assert CliRunner().invoke(main, command, input=lines).exit_code == 0
    one, other = (bayespa.load(p).estimator.posterior_.to_arrays() for p in (path, tmp_path / "n"))
    assert {n: a.tobytes() for n, a in one.items()} == {n: a.tobytes() for n, a in other.items()}


# Ends itself, as if killed, before or after the file is written for the third time.
KILLED = """
from bayespa.text import files
n, write = 0, files.write

def killed(*args):
    global n
    n += 1
    if n == 3 and {when!r} == "before":
        os.kill(os.getpid(), 9)
    write(*args)
    if n == 3:
        os.kill(os.getpid(), 9)

files.write = killed
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_is_killed_loses_nothing_and_learns_nothing_twice(
    brokers, stream, when, path, begun, tmp_path
):
    stream = f"{stream}{when}"
    url, out = f"{brokers.url}/{stream}", f"{brokers.url}/{stream}said"
    if isinstance(brokers, Nats):
        brokers.stream(f"{stream}said")
    brokers.put(stream, RECORDS)
    command = ["update", path, url, *FAST, "--checkpoint-every", "12", "--predictions", out]
    with running(*command, before=KILLED.format(when=when), said=tmp_path / "said") as process:
        process.join()
    assert process.exitcode == -9, (tmp_path / "said").read_text()
    learned = bayespa.load(path).estimator.n_documents_seen_ - 8
    assert learned == (24 if when == "before" else 36)
    update(path, url, "--checkpoint-every", "12", "--predictions", out)
    cut = path.read_bytes()
    path.write_bytes(begun)
    update(path, url)
    assert path.read_bytes() == cut
    said = [json.loads(line) for line in brokers.sent(f"{stream}said")]
    by_id = {}
    for one in said:
        assert by_id.setdefault(one["id"], one) == one  # what was sent twice says the same
    assert len(by_id) == len(RECORDS)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_learns_what_was_read(brokers, stream, number, path, begun, tmp_path):
    """It waits for more messages, for ever."""
    stream = f"{stream}{number.name}"
    url = f"{brokers.url}/{stream}"
    brokers.put(stream, RECORDS[:10])
    command = ["update", path, url, "--batch-size", "4", "--jobs", "1", "--checkpoint-every", "4"]
    with running(*command, said=tmp_path / "said") as process:
        while bayespa.load(path).estimator.n_documents_seen_ < 8 + 8 and process.is_alive():
            time.sleep(0.05)
        os.kill(process.pid, number)
        process.join()
    said = (tmp_path / "said").read_text()
    assert process.exitcode == 128 + number, said
    assert "interrupted; " in said
    update(path, url)
    cut = path.read_bytes()
    path.write_bytes(begun)
    update(path, url)
    assert path.read_bytes() == cut


def test_messages_that_are_none_are_left_out_and_named(brokers, stream, path):
    brokers.put(stream, [*RECORDS[:5], "no json", {"label": "sky"}, *RECORDS[5:9]])
    url = f"{brokers.url}/{stream}"
    found = update(path, url)
    assert found.stderr.count(f"malformed: {url}:") == 2
    assert "no field 'text'" in found.stderr
    assert bayespa.load(path).estimator.n_documents_seen_ == 17
    brokers.put(stream, ["no json"])
    found = update(path, url, "--strict", code=1)
    assert url in found.stderr


def test_messages_that_are_gone_are_missed(brokers, stream, path):
    if isinstance(brokers, Kafka):
        pytest.skip("the broker for tests keeps all messages")
    brokers.put(stream, RECORDS[:6])
    url = f"{brokers.url}/{stream}"
    update(path, url)
    before = path.read_bytes()
    brokers.put(stream, RECORDS[6:20])
    brokers.forget(stream, 9)
    found = update(path, url, code=1)
    assert "documents may be missing; --from first continues" in found.stderr
    assert path.read_bytes() == before
    update(path, url, "--from", "first")
    assert bayespa.load(path).estimator.n_documents_seen_ == 8 + 6 + 11


def test_a_topic_of_another_length_is_refused(path):
    kafka = Kafka(None)
    kafka.put("papers", RECORDS[:4])
    with open_source(f"{kafka.url}/papers") as source:
        with pytest.raises(
            ValueError, match=r"partition 0 has messages 0 to 3, but 7 comes next.*--from first"
        ):
            source.seek({"0": 7})
        with pytest.raises(ValueError, match="is not an offset of a topic"):
            source.seek("7")


def test_partitions_are_read_by_their_own_offsets(path):
    kafka = Kafka(None)
    for i, record in enumerate(RECORDS[:40]):
        kafka.producer.produce("papers", json.dumps(record).encode(), partition=i % 3)
    assert kafka.producer.flush(30) == 0
    url = f"{kafka.url}/papers"
    seen, offset = [], None
    for _ in range(8):  # each time five documents, as if the process had ended then
        with open_source(url) as source:
            if offset is None:
                source.seek_end("first")
            else:
                source.seek(offset)
            documents = read_stream(source, Fields(), drain=True)
            for document, _ in zip(documents, range(5), strict=False):
                seen.append(document.content)
                offset = document.offset[1]
    assert sorted(seen) == sorted(record["text"] for record in RECORDS[:40])


def test_a_document_waits_for_the_next_message(brokers, stream):
    brokers.put(stream, RECORDS[:1])
    with open_source(f"{brokers.url}/{stream}") as source:
        source.seek_end("first")
        documents = read_stream(source, Fields(), Problems())
        first = next(documents)
        brokers.put(stream, RECORDS[1:2])
        second = next(documents)
        assert [first.content, second.content] == [record["text"] for record in RECORDS[:2]]
        source.seek(first.offset[1])
        assert next(read_stream(source, Fields())) == second


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("redis://127.0.0.1:1/papers", "redis://127.0.0.1:1/papers does not answer"),
        ("redis://127.0.0.1:1/papers?colour=red", "has no option colour; there are db, password"),
        ("nats://127.0.0.1:1/papers", "nats://127.0.0.1:1/papers does not answer"),
        ("kafka://127.0.0.1:1", "needs a host and a stream"),
        ("redis://me@127.0.0.1:1/papers?password=@/no/such/file", "/no/such/file"),
    ],
)
@pytest.mark.usefixtures("impatient")
def test_what_cannot_be_opened_is_said(url, message, path):
    pytest.importorskip(broker.BROKERS[url.split(":")[0]].package)
    assert message in update(path, url, code=1).stderr


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", [Nats, Redis])
def test_a_broker_that_goes_away_is_an_error_with_its_name(kind, tmp_path):
    one = kind(tmp_path)
    one.put("papers", RECORDS[:2])
    with open_source(f"{one.url}/papers") as source, open_sink(f"{one.url}/papers") as sink:
        source.seek_end("first")
        assert len(source.read(1.0)) == 2
        one.server.process.kill()
        one.server.process.wait()
        sink.send("a", "{}")
        for call in (sink.flush, source.at_end, lambda: source.read(0.1)):
            with pytest.raises(OSError, match=f"{one.url}/papers does not answer"):
                call()
    one.close()


def test_a_stream_that_there_is_not_is_said(brokers, path):
    if isinstance(brokers, Redis):
        pytest.skip("streams of Redis are there when somebody adds an entry")
    if isinstance(brokers, Kafka):
        pytest.skip("the broker for tests makes every topic that somebody asks for")
    assert "stream not found" in update(path, f"{brokers.url}/nobody", code=1).stderr


def test_what_is_not_installed_is_said(monkeypatch, path):
    monkeypatch.setitem(
        broker.BROKERS, "kafka", broker.Broker("bayespa.sources.kafka", "no_such_package", "kafka")
    )
    said = "kafka:// needs no_such_package: pip install 'bayespa[kafka]'"
    assert said in update(path, "kafka://127.0.0.1:1/papers", code=1).stderr


def test_options_that_do_not_fit_are_refused(path):
    for options, message in (
        (["--shuffle", "5"], "--shuffle"),
        (["--skip", "5"], "--skip"),
        (["more.jsonl"], "a single stream"),
    ):
        assert message in update(path, "redis://127.0.0.1:1/papers", *options, code=2).stderr
    for options in (["--from", "last"], ["--drain"], ["--predictions", "redis://127.0.0.1:1/said"]):
        command = ["update", str(path), "-", *options]
        found = CliRunner().invoke(main, command, input="")
        assert found.exit_code == 2
        assert options[0] in found.stderr
    found = CliRunner().invoke(main, ["train", "kafka://a/b", "-o", str(path)])
    assert "bayespa update" in found.stderr


def test_secrets_stay_out_of_names_and_files(tmp_path):
    (tmp_path / "password").write_text("secret\n")
    address = broker.Address.of(f"kafka://me:x@a:1/papers?sasl.password=@{tmp_path}/password")
    assert address.options == {"sasl.password": "secret"}
    assert address.name == "kafka://a:1/papers"


@pytest.mark.usefixtures("impatient")
def test_a_sink_that_nobody_listens_to_is_an_error():
    pytest.importorskip("redis")
    with pytest.raises(ConnectionError, match="does not answer"):
        open_sink("redis://127.0.0.1:1/said")
