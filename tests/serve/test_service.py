"""The service without HTTP: what is in the log is learned once, in the same mini-batches whenever."""

import threading

import pytest

import bayespa
from bayespa.corpus import read
from bayespa.serve.log import Log, LogError, Record
from bayespa.serve.service import LearnedBatch, Service, Settings
from bayespa.serve.writer import Labelled, Refused

FAST = Settings(delay=0.01, batch_size=16)


def labelled(papers, begin, end):
    texts, labels = papers
    return [Labelled(texts[n], labels[n], f"d{n}") for n in range(begin, end)]


def test_a_log_alone_decides_what_is_learned(path, papers, tmp_path):
    base = path.read_bytes()
    with Service(path, FAST) as service:
        for begin in range(300, 400, 7):
            service.learn(labelled(papers, begin, begin + 7)).result()
        folder = service.folder / "log"
    learned = bayespa.load(path)
    (segment,) = folder.iterdir()
    records = [Record.from_line(line) for line in segment.read_bytes().splitlines(keepends=True)]
    again = tmp_path / "again.bayespa"
    again.write_bytes(base)
    model = bayespa.load(again)
    for batch in sorted({record.batch for record in records}):
        some = [record for record in records if record.batch == batch]
        assert len(some) <= 16
        model.learn_counts(model.count([record.text for record in some]), [record.label for record in some])
    texts = papers[0][:50]
    assert (model.predict_proba(texts) == learned.predict_proba(texts)).all()
    assert learned.run["documents"] == len(records) == 105


def test_who_waits_may_go_and_the_document_is_learned_all_the_same(path, papers):
    with Service(path, FAST) as service:
        logged = service.learn(labelled(papers, 300, 301))
        assert not logged.cancel()
        assert logged.result()[0].new
    assert service.progress.documents == 1


def test_the_log_is_read_as_documents(path, papers):
    with Service(path, FAST) as service:
        service.learn(labelled(papers, 300, 320)).result()
        pattern = str(service.folder / "log" / "*.jsonl")
    documents = list(read([pattern], text=["text"], label="label", id="id"))
    assert [document.id for document in documents] == [f"d{n}" for n in range(300, 320)]
    assert [document.content for document in documents] == papers[0][300:320]


def test_threads_that_send_the_same_are_learned_once(path, papers):
    found = []
    with Service(path, FAST) as service:

        def send():
            for begin in range(300, 360, 5):
                found.extend(service.learn(labelled(papers, begin, begin + 5)).result())

        threads = [threading.Thread(target=send) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(entry.new for entry in found) == 60
    assert len({(entry.id, entry.seq) for entry in found}) == 60
    assert service.progress.documents == 60


def test_an_id_belongs_to_one_document_even_after_a_restart_and_without_the_database(path, papers):
    (document,) = labelled(papers, 300, 301)
    with Service(path, FAST) as service:
        service.learn([document]).result()
    for remove in (False, True):
        if remove:
            for file in service.folder.glob("store.sqlite*"):
                file.unlink()
        with Service(path, FAST) as service:
            assert service.learn([document]).result() == [("d300", 1, False)]
            with pytest.raises(Refused, match="another text or label"):
                service.learn([document._replace(text="another")]).result()
    assert service.progress.documents == 1


def test_a_torn_tail_is_cut_and_a_damaged_record_is_refused(path, papers):
    with Service(path, FAST) as service:
        service.learn(labelled(papers, 300, 310)).result()
    (segment,) = (service.folder / "log").iterdir()
    whole = segment.read_bytes()
    segment.write_bytes(whole + Record(11, 11, "x", "torn", "cs.LG", "given").to_line()[:-5])
    with Service(path, FAST):
        assert segment.read_bytes() == whole
    segment.write_bytes(whole.replace(b'"seq":3,', b'"seq":8,'))
    with pytest.raises(LogError, match="damaged"):
        Service(path, FAST).__enter__()


def test_files_of_the_log_that_the_model_holds_are_trimmed(tmp_path, papers):
    log = Log(tmp_path / "log", segment_bytes=1)
    for n in range(1, 11):
        log.append([Record(n, n, f"d{n}", papers[0][n], "a", "given")])
    files = sorted((tmp_path / "log").iterdir())
    log.trim(5)
    left = sorted((tmp_path / "log").iterdir())
    assert left == files[5:]
    assert [record.seq for record in log.read(5)] == [6, 7, 8, 9, 10]
    with pytest.raises(LogError, match="missing"):
        list(log.read(2))
    log.close()


def test_ids_of_trimmed_files_are_forgotten_but_for_some(path, papers, monkeypatch):
    """The last ones are known, and those of predictions that are kept: they do not come back for review."""
    monkeypatch.setattr(Log.__init__, "__defaults__", (1,))
    with Service(path, Settings(delay=0.01, trim=True, remembered=4, save_every=1)) as service:
        (predicted,) = service.predict(papers[0][299:300]).ids
        service.learn([Labelled(papers[0][299], papers[1][299], predicted)], at_once=True).result()
        for n in range(300, 310):
            service.wait_for(service.learn(labelled(papers, n, n + 1), at_once=True).result()[0].seq)
    with Service(path) as service:
        ids = [predicted, *(f"d{n}" for n in range(300, 310))]
        assert set(service.store.learned(ids)) == {predicted, "d306", "d307", "d308", "d309"}
        assert not service.learn(labelled(papers, 306, 310)).result()[0].new


def test_a_full_disk_loses_nothing_that_was_acknowledged(path, papers, monkeypatch):
    with Service(path, FAST) as service:
        service.learn(labelled(papers, 300, 310)).result()

        def full(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("bayespa.serve.log.os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            service.learn(labelled(papers, 310, 320)).result()
        monkeypatch.undo()
        assert [entry.seq for entry in service.learn(labelled(papers, 310, 320)).result()] == list(
            range(11, 21)
        )
    assert service.progress.documents == 20


def test_the_model_of_another_log_is_refused(path, trained, papers):
    with Service(path, FAST) as service:
        service.learn(labelled(papers, 300, 310)).result()
    path.write_bytes(trained.read_bytes())
    with pytest.raises(LogError, match="is not the model"):
        Service(path, FAST).__enter__()


def test_readers_answer_while_a_mini_batch_is_learned(path, papers, monkeypatch):
    began, go_on = threading.Event(), threading.Event()
    learn = bayespa.TextModel.learn_counts

    def slow(*arguments):
        began.set()
        assert go_on.wait(60)
        return learn(*arguments)

    with Service(path, FAST) as service:
        told = []
        service.subscribe(told.append)
        monkeypatch.setattr(bayespa.TextModel, "learn_counts", slow)
        service.learn(labelled(papers, 300, 310), at_once=True).result()
        assert began.wait(60)
        assert service.predict(papers[0][:3]).version == 0
        go_on.set()
        assert service.wait_for(10, 60)
        assert service.predict(papers[0][:3]).version == 10
        (learned,) = [event for event in told if isinstance(event, LearnedBatch)]
        assert len(learned.records) == len(learned.answers.labels) == 10


def test_a_failure_of_learning_is_told_and_mended_by_a_restart(path, papers, monkeypatch):
    with Service(path, FAST) as service:
        monkeypatch.setattr(bayespa.TextModel, "learn_counts", lambda *arguments: 1 / 0)
        service.learn(labelled(papers, 300, 310), at_once=True).result()
        service._learner.join(60)
        assert isinstance(service.failure, ZeroDivisionError)
        assert service.predict(papers[0][:1]).version == 0
        monkeypatch.undo()
    with Service(path, FAST) as service:
        assert service.published.version == 10
