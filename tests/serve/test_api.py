"""The routes, as a client sees them."""

import asyncio
from contextlib import ExitStack

import pytest

from bayespa.serve import monitor


def test_predicts_and_names_the_version(served, papers):
    with served() as (service, client):
        answer = client.post("/api/v1/predict", {"texts": papers[0][:3], "top": 2}).json()
        said = service.published.model.predict(papers[0][:3])
    assert answer["version"] == 0
    assert [one["label"] for one in answer["predictions"]] == said
    for one in answer["predictions"]:
        first, second = one["probabilities"].values()
        assert first >= second
        assert one["uncertainty"] == pytest.approx(1.0 - first, abs=1e-6)


def test_learns_a_text_and_a_prediction_once(served, papers):
    text, label = papers[0][300], papers[1][300]
    with served() as (service, client):
        first = {"documents": [{"text": text, "label": label, "id": "one"}], "wait": True}
        assert client.post("/api/v1/learn", first).json() == {
            "version": 1,
            "documents": [{"id": "one", "seq": 1, "new": True}],
        }
        assert client.post("/api/v1/learn", first).json()["documents"][0]["new"] is False
        said = client.post("/api/v1/predict", {"texts": [text]}).json()["predictions"][0]
        second = {"documents": [{"prediction": said["id"], "label": label}], "wait": True}
        for new in (True, False):
            answer = client.post("/api/v1/learn", second).json()
            assert answer == {"version": 2, "documents": [{"id": said["id"], "seq": 2, "new": new}]}
        assert service.progress.documents == 2


def test_who_asks_does_not_wait_for_the_database(served, papers, monkeypatch):
    """It is busy: predictions are written, or a label of an earlier one is looked up."""
    monkeypatch.setattr(monitor, "_EVERY", 0.0)
    text, label = papers[0][300], papers[1][300]
    with served() as (service, client):
        said = client.post("/api/v1/predict", {"texts": [text]}).json()["predictions"][0]
        with service.store.transaction():
            pass  # it is written
        learn = {"documents": [{"prediction": said["id"], "label": label}]}

        async def ask(busy):
            async with client.session() as session:
                learned = asyncio.create_task(session.post("/api/v1/learn", json=learn))
                await asyncio.sleep(0.1)
                predicted = await session.post("/api/v1/predict", json={"texts": [text]})
                assert predicted.status_code == 200
                assert not learned.done()
                busy.close()
                return (await learned).json()

        with ExitStack() as busy:
            busy.enter_context(service.store.transaction())
            assert asyncio.run(ask(busy))["documents"][0]["new"]
