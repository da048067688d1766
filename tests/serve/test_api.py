"""The routes, as a client sees them."""

import pytest


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
