"""Reviews over HTTP: learned once, kept before they are learned, told apart."""

import json

import pytest

import bayespa
from bayespa.serve.app import create_app
from bayespa.serve.monitor import StreamWatch
from bayespa.serve.review import Reviews
from bayespa.serve.service import Busy, Service, Settings
from bayespa.serve.writer import Labelled

from .conftest import Client

ANN, BOB = {"X-Reviewer": "Ann"}, {"X-Reviewer": "Bob"}


def predict(client, texts):
    answer = client.post("/api/v1/predict", {"texts": texts})
    return [one["id"] for one in answer.json()["predictions"]]


def waiting(client, person=ANN, n=3):
    return client.get(f"/api/v1/review?n={n}", headers=person).json()


def answer(client, id, person=ANN, **body):
    return client.post(f"/api/v1/review/{id}", body, headers=person)


def records(service):
    return [(record.id, record.label, record.origin) for record in service.records()]


def exported(client):
    return [json.loads(line) for line in client.get("/api/v1/review/export").text.splitlines()]


def test_a_label_is_learned_at_once_and_once(served, papers):
    with served() as (service, client):
        predict(client, papers[0][300:310])
        first = waiting(client)["items"][0]
        done = answer(client, first["id"], action="label", label="math.GR").json()
        assert done["done"]["after"] > done["done"]["before"]
        assert done["done"]["predicted"] == first["label"]
        assert first["id"] not in [item["id"] for item in done["items"]]
        assert done["items"][0]["version"] == service.published.version == 1
        again = answer(client, first["id"], action="label", label="math.GR").json()
        assert again["done"]["label"] == "math.GR"
        assert records(service) == [(first["id"], "math.GR", "reviewed")]
        assert again["summary"]["reviewed"] == 1
        assert again["summary"]["last"] == {"id": first["id"], "state": "reviewed", "label": "math.GR"}


def test_an_answer_that_is_taken_back_can_be_given_anew(served, papers):
    with served() as (service, client):
        predict(client, papers[0][300:310])
        id = waiting(client)["items"][0]["id"]
        answer(client, id, action="label", label="math.GR")
        for _ in range(2):  # sent twice
            back = answer(client, id, action="undo").json()
        assert back["items"][0]["id"] == id
        assert back["summary"]["reviewed"] == 0
        answer(client, id, action="label", label="cs.LO")
        assert records(service) == [(id, "math.GR", "reviewed"), (f"{id}~2", "cs.LO", "reviewed")]
        assert [row["label"] for row in exported(client) if row["origin"] == "reviewed"] == ["cs.LO"]
        answer(client, id, action="undo")
        answer(client, id, action="label", label="cs.LO")  # which it has learned
        assert len(records(service)) == 2


def test_a_document_is_one_persons(served, papers):
    with served() as (_, client):
        predict(client, papers[0][300:304])
        ann, bob = waiting(client, ANN, 2), waiting(client, BOB, 2)
        id = ann["items"][0]["id"]
        assert id not in [item["id"] for item in bob["items"]]
        refused = answer(client, id, BOB, action="label", label="cs.LO")
        assert refused.status_code == 409
        assert "does not wait for you" in refused.json()["detail"]
        assert answer(client, id, BOB, action="undo").status_code == 409
        assert answer(client, id, ANN, action="skip").status_code == 200
        assert answer(client, id, ANN, action="skip").json()["summary"]["skipped"] == 1


def test_labels_that_are_given_need_no_review(served, papers):
    with served() as (_, client):
        ids = predict(client, papers[0][300:303])
        assert waiting(client)["summary"]["waiting"] == 3
        documents = [{"prediction": ids[1], "label": "cs.LO"}]
        client.post("/api/v1/learn", {"documents": documents, "wait": True})
        assert waiting(client)["summary"]["waiting"] == 2
        answer(client, ids[0], action="label", label="math.GR")
        origins = {row["id"]: (row["origin"], row["label"]) for row in exported(client)}
        assert origins[ids[1]] == ("given", "cs.LO")
        assert origins[ids[0]] == ("reviewed", "math.GR")
        assert origins[ids[2]][0] == "predicted"


def test_what_is_kept_is_learned_when_the_service_comes_back(path, papers, monkeypatch):
    """It is killed after an answer was kept, and before it was learned."""
    with Service(path) as service:
        reviews = Reviews(service, StreamWatch(service).monitor)
        service.predict(papers[0][300:303])
        id = reviews.next("Ann", 1)[0]["id"]
        with monkeypatch.context() as patch:
            patch.setattr(service, "learn", lambda *args, **options: (_ for _ in ()).throw(Busy(1)))
            with pytest.raises(Busy):
                reviews.label("Ann", id, "cs.LO")
        assert records(service) == []
    with Service(path) as service:
        reviews = Reviews(service, StreamWatch(service).monitor)
        assert records(service) == [(id, "cs.LO", "reviewed")]
        assert reviews.label("Ann", id, "cs.LO")["label"] == "cs.LO"  # the page sends it again
        assert records(service) == [(id, "cs.LO", "reviewed")]
        assert id not in [item["id"] for item in reviews.next("Bob", 3)]
        assert reviews.summary("Ann")["last"]["id"] == id


def test_what_was_learned_is_not_learned_again_when_its_id_is_forgotten(path, papers):
    with Service(path) as service:
        reviews = Reviews(service, StreamWatch(service).monitor)
        service.predict(papers[0][300:301])
        (item,) = reviews.next("Ann", 1)
        reviews.label("Ann", item["id"], "cs.LO")
    with Service(path) as service:
        with service.store.transaction() as connection:
            connection.execute("DELETE FROM waiting")
        service.store.forget(10)
        assert not service.store.learned([item["id"]])
        reviews = Reviews(service, StreamWatch(service).monitor)
        assert reviews.label("Ann", item["id"], "cs.LO")["version"] == 1
        assert len(records(service)) == 1


def test_accuracy_is_that_of_documents_drawn_at_random(path, papers):
    texts, labels = papers
    with Service(path) as service:
        reviews = Reviews(service, StreamWatch(service).monitor, share=0.5)
        service.predict(texts[300:340])
        truth = dict(zip(texts, labels, strict=True))
        right = {"random": [], "uncertain": []}
        for _ in range(20):
            (item,) = reviews.next("Ann", 1)
            right[item["drawn"]].append(truth[item["text"]] == item["label"])
            reviews.label("Ann", item["id"], truth[item["text"]])
        tallies = reviews.tallies()
        assert (tallies["random"].n, tallies["random"].right) == (len(right["random"]), sum(right["random"]))
        assert (tallies["chosen"].n, tallies["chosen"].right) == (
            len(right["uncertain"]),
            sum(right["uncertain"]),
        )
        assert reviews.monitor.summary()["drift"]["judged"] == len(right["random"])


def test_a_new_label_may_appear(served, papers):
    with served() as (_, client):
        predict(client, papers[0][300:302])
        id = waiting(client)["items"][0]["id"]
        after = answer(client, id, action="label", label="<b>new</b>").json()
        assert after["done"]["before"] == 0.0
        assert "<b>new</b>" in after["classes"]


def test_a_label_that_cannot_be_learned_changes_nothing(served, papers):
    """The model has all the classes that it may have; the document waits as it did."""
    with served(Settings(max_classes=1)) as (service, client):
        predict(client, papers[0][300:302])
        id = waiting(client)["items"][0]["id"]
        refused = answer(client, id, action="label", label="one more")
        assert refused.status_code == 422
        after = waiting(client)
        assert after["items"][0]["id"] == id
        assert after["summary"]["reviewed"] == 0
        assert after["summary"]["last"] is None
        assert answer(client, id, action="label", label="cs.LO").status_code == 200
        assert records(service) == [(id, "cs.LO", "reviewed")]


@pytest.mark.parametrize(
    "body",
    [{"action": "label"}, {"action": "label", "label": ""}, {"action": "forget"}, {"action": "skip", "x": 1}],
)
def test_answers_are_checked(served, papers, body):
    with served() as (_, client):
        predict(client, papers[0][300:302])
        id = waiting(client)["items"][0]["id"]
        assert answer(client, id, **body).status_code == 422
        assert client.get("/api/v1/review").status_code == 422  # who?
        assert waiting(client)["summary"]["reviewed"] == 0


def test_the_stream_is_watched_and_kept(path, papers):
    texts, labels = papers
    with Service(path) as service:
        watch = StreamWatch(service)
        event = service.predict(texts[300:350])
        given = map(Labelled, texts[300:350], labels[300:350], event.ids)
        service.wait_for(service.learn(list(given), at_once=True).result()[-1].seq)
        watch.keep()
        summary = watch.summary()
        assert summary["documents"] == summary["accuracy"]["given"]["n"] == 50
        assert summary["accuracy"]["given"]["right"] == sum(
            a == b for a, b in zip(event.answers.labels, labels[300:350], strict=True)
        )
    with Service(path) as service:
        assert StreamWatch(service).summary() == summary


@pytest.fixture
def several(tmp_path):
    """A service of a model of several classes a document, and a client of it."""
    path = tmp_path / "several.bayespa"
    labels = [("a",), ("b", "c"), (), ("a", "c")]
    model = bayespa.TextModel("linear", random_state=0).learn(
        ["good film", "bad play", "so", "a film"], labels
    )
    bayespa.save(model, path)
    with Service(path) as service:
        yield service, Client(create_app(service))


def test_several_labels_of_a_document_are_reviewed(several):
    service, client = several
    predict(client, ["good film", "good play", "bad play"])
    first, second, _ = waiting(client)["items"]
    assert first["label"] == sorted(first["label"])
    assert {row["label"] for row in first["labels"]} == {"a", "b", "c"}
    assert first["explained"] == first["labels"][0]["label"]
    done = answer(client, first["id"], action="label", label=["c", "new", "c"]).json()
    assert done["done"]["label"] == ["c", "new"]
    assert (done["done"]["before"], done["done"]["predicted"]) == (0.0, first["label"])
    assert done["done"]["after"] > 0.0
    assert "new" in done["classes"]
    again = answer(client, first["id"], action="label", label=["new", "c"]).json()  # the same, sent again
    assert again["summary"]["last"]["label"] == ["c", "new"]
    answer(client, second["id"], action="label", label=[])
    (third,) = waiting(client)["items"]
    answer(client, third["id"], action="label", label=third["label"])
    given = [(first["id"], ("c", "new")), (second["id"], ()), (third["id"], tuple(third["label"]))]
    assert records(service) == [(id, label, "reviewed") for id, label in given]
    assert {row["id"]: tuple(row["label"]) for row in exported(client)} == dict(given)
    accuracy = client.get("/api/v1/stream").json()["accuracy"]
    assert accuracy["random"]["n"] + accuracy["chosen"]["n"] == 3
    assert accuracy["random"]["right"] + accuracy["chosen"]["right"] == 1


def test_a_label_of_another_kind_is_refused(several, served, papers):
    """One class where there are several is all of them; several where there is one are none."""
    _, client = several
    predict(client, ["good film"])
    id = waiting(client)["items"][0]["id"]
    assert answer(client, id, action="label", label="a").json()["done"]["label"] == ["a"]
    with served() as (_, client):
        predict(client, papers[0][300:301])
        id = waiting(client)["items"][0]["id"]
        refused = answer(client, id, action="label", label=["cs.LO", "math.GR"])
        assert refused.status_code == 422
        assert "the name of one class" in refused.json()["detail"]
        assert waiting(client)["items"][0]["id"] == id


@pytest.mark.parametrize("labels", [[1.0, 2.0], [("a",), ("b", "c")]])
def test_models_of_other_labels_are_watched_and_exported(tmp_path, labels):
    path = tmp_path / "model.bayespa"
    texts = ["good film", "bad film"]
    bayespa.save(bayespa.TextModel("linear", random_state=0).learn(texts, labels), path)
    with Service(path) as service:
        client = Client(create_app(service))
        predict(client, texts)
        numbers = labels[0] == 1.0
        asked = client.get("/api/v1/review", headers=ANN)
        assert asked.status_code == (409 if numbers else 200)
        if numbers:
            assert "labels of this one are numbers" in asked.json()["detail"]
        said = client.post("/api/v1/predict", {"texts": texts}).json()["predictions"]
        rows = {row["id"]: row for row in exported(client)}
        for one in said:
            assert [rows[one["id"]][name] for name in ("label", "uncertainty")] == [
                one["label"],
                one["uncertainty"],
            ]
        documents = [{"text": texts[0], "label": labels[0]}]
        assert client.post("/api/v1/learn", {"documents": documents, "wait": True}).status_code == 200
        assert client.get("/api/v1/stream").json()["accuracy"]["given"]["n"] == (0 if numbers else 1)
