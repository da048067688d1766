"""A service that reads the stream of a broker: nothing is lost or learned twice."""

import json
import random
import signal
import time

import pytest
from tests.brokers import Kafka, Nats, Redis
from tests.serve.conftest import Client
from tests.serve.program import Programs

import bayespa
from bayespa.corpus.documents import Fields
from bayespa.serve.app import create_app
from bayespa.serve.feed import BrokerFeed
from bayespa.serve.log import Log
from bayespa.serve.service import Service, Settings

FIELDS = Fields(id="id")
FAST = Settings(delay=0.01, batch_size=16, capacity=20)
KILLS = 5


@pytest.fixture(scope="module", params=[Kafka, Nats, Redis], ids=lambda kind: kind.__name__)
def brokers(request, tmp_path_factory):
    one = request.param(tmp_path_factory.mktemp("broker"))
    yield one
    one.close()


def messages(papers, begin, end):
    """Every third has no label."""
    texts, labels = papers
    return [
        {"id": f"d{n}", "text": texts[n], "label": None if n % 3 == 0 else labels[n]}
        for n in range(begin, end)
    ]


def until(true):
    for _ in range(6000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it does not come about")


def records(path):
    log = Log(path.with_name(f"{path.name}.serve") / "log")
    found = list(log.read())
    log.close()
    return found


def test_documents_are_predicted_and_learned_once(brokers, path, papers):
    url, out = f"{brokers.url}/once", f"{brokers.url}/oncesaid"
    if isinstance(brokers, Nats):
        brokers.stream("oncesaid")

    def serve(learned, last):
        with Service(path, FAST) as service:
            feed = BrokerFeed(service, url, FIELDS, predictions=out)
            client = Client(create_app(service, feed=feed))
            with feed:
                until(lambda: service.published.version == learned and service.store.waiting([last]))
                until(lambda: "bayespa_stream_messages 60.0" in client.get("/metrics").text)
                health = client.get("/health").json()
                assert health == {"learning": True, "reading": True, "version": learned}

    brokers.put("once", messages(papers, 300, 360))
    serve(40, "d357")
    brokers.put("once", messages(papers, 360, 420))
    serve(80, "d417")
    found = records(path)
    assert [record.id for record in found] == [f"d{n}" for n in range(300, 420) if n % 3]
    assert list(bayespa.load(path).offsets) == [url]
    said = [json.loads(line) for line in brokers.sent("oncesaid")]
    assert sorted(one["id"] for one in said) == [f"d{n}" for n in range(300, 420)]
    assert {"version", "label", "uncertainty", "probabilities"} < set(said[0])


def test_a_service_that_is_killed_loses_nothing(brokers, path, papers, tmp_path):
    random.seed(KILLS)
    url, out = f"{brokers.url}/killed", f"{brokers.url}/killedsaid"
    if isinstance(brokers, Nats):
        brokers.stream("killedsaid")
    options = ("--read", url, "--predictions", out, "--checkpoint-every", "40", "--delay", "0.02")
    model = bayespa.load(path)
    model.reading = {"id": "id"}
    bayespa.save(model, path)
    wanted = {f"d{n}" for n in range(300, 300 + 120 * (KILLS + 1)) if n % 3}
    with Programs(tmp_path) as programs:
        for kill in range(KILLS + 1):
            brokers.put("killed", messages(papers, 300 + 120 * kill, 420 + 120 * kill))
            program = programs.start(path, *options)
            if kill < KILLS:
                time.sleep(random.uniform(0.0, 0.6))
                assert program.kill() == -signal.SIGKILL
        until(lambda: program.ask("GET", "/health")[1]["version"] == len(wanted))
        assert program.kill(signal.SIGTERM) == 128 + signal.SIGTERM
    ids = [record.id for record in records(path)]
    assert len(ids) == len(set(ids))
    assert set(ids) == wanted
    assert {json.loads(line)["id"] for line in brokers.sent("killedsaid")} == {
        f"d{n}" for n in range(300, 300 + 120 * (KILLS + 1))
    }


def test_what_cannot_be_learned_is_left_out_and_counted(brokers, path, papers, caplog):
    good = messages(papers, 301, 303)
    brokers.put("leftout", [good[0], "no json", {**good[0], "label": "another"}, good[1]])
    with Service(path, FAST) as service:
        feed = BrokerFeed(service, f"{brokers.url}/leftout", FIELDS)
        client = Client(create_app(service, feed=feed))
        with feed:
            until(lambda: service.published.version == 2)
            until(lambda: "bayespa_stream_left_out 2.0" in client.get("/metrics").text)
    assert "use a new id" in caplog.text
    assert [record.id for record in records(path)] == ["d301", "d302"]


def test_messages_that_are_gone_are_told(path, papers, tmp_path):
    nats = Nats(tmp_path)
    nats.put("papers", messages(papers, 301, 303))
    url = f"{nats.url}/papers"
    with Service(path, FAST) as service:
        with BrokerFeed(service, url, FIELDS):
            until(lambda: service.published.version == 2)
            until(lambda: service.store.offsets)
        nats.put("papers", messages(papers, 303, 310))
        nats.forget("papers", 5)
        with pytest.raises(ValueError, match="documents may be missing; --from first continues"):
            BrokerFeed(service, url, FIELDS).__enter__()
        with BrokerFeed(service, url, FIELDS, "first"):
            until(lambda: service.published.version == 4)  # two of the four that are left have labels
    nats.close()


def test_a_broker_that_goes_away_is_waited_for(path, papers, tmp_path, monkeypatch):
    monkeypatch.setattr("bayespa.sources.jetstream.PATIENCE", 0.5)
    monkeypatch.setattr("bayespa.serve.feed._PAUSE", 0.1)
    nats = Nats(tmp_path)
    nats.put("papers", messages(papers, 301, 303))
    with Service(path, FAST) as service, BrokerFeed(service, f"{nats.url}/papers", FIELDS) as feed:
        until(lambda: service.published.version == 2)
        nats.restart()
        nats.put("papers", messages(papers, 304, 306))
        until(lambda: service.published.version == 4)
        assert feed.failure is None
    nats.close()
