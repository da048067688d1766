"""The stream that ``make serve`` simulates."""

import threading

import bayespa
from bayespa.serve.demo import LABELLED, Abstracts, simulate
from bayespa.serve.service import Service


def test_abstracts_arrive_and_some_labels_come_late(tmp_path):
    papers, path = Abstracts(), tmp_path / "model.bayespa"
    bayespa.save(papers.model(), path)
    texts, truth = papers.texts, dict(zip(papers.texts, papers.labels, strict=True))
    assert len(texts) == 5000
    for arrived, learned in ((60, 10), (100, 14)):  # it goes on; of the first 30 of each run a third is known
        papers.texts = texts[: LABELLED + arrived]
        with Service(path) as service:
            simulate(service, papers, threading.Event(), seconds=60.0)
            assert service.store.arrived == arrived
        with Service(path) as service:
            records = list(service.records())
        assert len(records) == learned
        assert all(truth[record.text] == record.label for record in records)
