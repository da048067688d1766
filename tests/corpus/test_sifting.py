"""Workers that count: the same words, columns and models, whatever they have heard of the vocabulary."""

import json
import pickle
from collections import deque

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bayespa
from bayespa import TextModel
from bayespa.corpus import (
    Bag,
    BagVectorizer,
    Document,
    OnlineVocabulary,
    Problems,
    batches,
    read,
    shuffle,
    sifting,
)
from bayespa.text.stream import learn_stream


class Elsewhere:
    """What a worker does, in this process: arguments and results travel, so many are done ahead."""

    def __init__(self, ahead):
        self.ahead, self.kept = ahead, []

    def keep(self, value):
        self.kept.append(value)
        return Kept(value)

    def map(self, function, items):
        done = deque()
        for item in items:
            call = pickle.loads(pickle.dumps((function, item)))
            done.append(pickle.dumps(call[0](call[1])))
            if len(done) > self.ahead:
                yield pickle.loads(done.popleft())
        while done:
            yield pickle.loads(done.popleft())


class Kept:
    def __init__(self, value):
        self.worth = value

    def value(self):
        return self.worth


@pytest.fixture
def files(tmp_path):
    """Twelve files of lines, of a vocabulary that goes on growing; a line is no JSON, one text is blank."""
    rng = np.random.default_rng(0)
    for part in range(12):
        lines = [
            json.dumps(
                {
                    "text": " ".join(f"w{n}" for n in (rng.pareto(1.0, 20) * 20).astype(int)),
                    "label": "ab"[i % 2],
                }
            )
            for i in range(40)
        ]
        (tmp_path / f"{part:02}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "03.jsonl").write_text('{"text": " ", "label": "a"}\nno JSON\n', encoding="utf-8")
    return str(tmp_path / "*.jsonl")


def pieces(monkeypatch):
    monkeypatch.setattr("bayespa.corpus.reading._SHARE", 1)  # a file each


@pytest.mark.parametrize("ahead", [0, 3, 100])
@pytest.mark.parametrize(
    "options",
    [
        {"min_count": 1, "ngrams": 2, "max_runs": 300, "min_run_count": 2},
        {"min_count": 3, "max_candidates": 30},
        {"min_count": 1, "max_words": 50},
        {"min_count": 2, "token_pattern": r"[0-9]+", "min_length": 1},  # in Python
    ],
)
def test_columns_and_counts_are_those_of_texts(files, monkeypatch, options, ahead):
    pieces(monkeypatch)
    here, there, problems = OnlineVocabulary(**options), OnlineVocabulary(**options), Problems()
    there.learn(["some words before"])
    here.learn(["some words before"])
    texts = list(shuffle(read(files, problems=Problems()), 100, random_state=0))
    workers = Elsewhere(ahead)
    documents = shuffle(
        read(files, workers=workers, vocabulary=there, problems=problems), 100, random_state=0
    )
    for ours, theirs in zip(batches(texts, here, 32), batches(documents, there, 32), strict=True):
        assert_array_equal(ours.X.indptr, theirs.X.indptr)
        assert_array_equal(ours.X.indices, theirs.X.indices)
        assert_array_equal(ours.X.data, theirs.X.data)
        assert ours.X.shape == theirs.X.shape
        assert (ours.labels, ours.ids) == (theirs.labels, theirs.ids)
    assert here.to_state() == there.to_state()
    assert len(problems) == 1
    told = [word for words in workers.kept for word in words]
    assert told == there.words[: len(told)]
    assert len(told) > 3 or ahead == 100


@pytest.mark.parametrize("ahead", [0, 5])
def test_a_model_of_counted_texts_has_the_same_bytes(files, monkeypatch, tmp_path, ahead):
    pieces(monkeypatch)

    def learned(**options):
        vocabulary = OnlineVocabulary(min_count=1, ngrams=2, min_run_count=2)
        if options:
            options["vocabulary"] = vocabulary
        model = TextModel(
            n_topics=3,
            vectorizer=vocabulary,
            batch_size=16,
            random_state=0,
            lag=2,
            expert={"first_documents": 40},
        )
        documents = list(read(files, problems=Problems(), **options))
        # Some texts may come from elsewhere.
        documents[50:50] = [Document("a text that was not counted w7", "a", "own")]
        for _ in learn_stream(model, documents):
            pass
        bayespa.save(model, tmp_path / "model")
        return (tmp_path / "model").read_bytes()

    assert learned() == learned(workers=Elsewhere(ahead))


def test_what_workers_count_is_for_one_vocabulary_in_one_state(files, monkeypatch):
    pieces(monkeypatch)
    vocabulary = OnlineVocabulary(min_count=1)
    first, *_ = contents = [
        one.content for one in read(files, workers=Elsewhere(0), vocabulary=vocabulary, problems=Problems())
    ]
    assert [one.blank for one in contents].count(True) == 1
    with pytest.raises(ValueError, match=r"texts\[0\] was counted for another vocabulary"):
        OnlineVocabulary(min_count=1).learn([first])
    with pytest.raises(TypeError, match=r"texts\[0\] was counted by a worker"):
        vocabulary.transform([first])
    with pytest.raises(TypeError, match="documents are texts"):
        BagVectorizer().learn([first])
    mark = vocabulary.mark()
    assert vocabulary.learn([first]).sum() == 20
    with pytest.raises(TypeError, match="bags of words"):
        vocabulary.learn([first, Bag(np.array([0]), np.array([1]))])
    vocabulary.back_to(mark)
    with pytest.raises(ValueError, match="taken back"):
        vocabulary.learn([first])


def test_a_worker_hears_of_another_state_of_the_vocabulary(files):
    vocabulary = OnlineVocabulary(min_count=1)
    mark, workers = vocabulary.mark(), Elsewhere(0)
    told = sifting.Teller(vocabulary, workers.keep)
    for words in (["one two", "three"], ["four"]):
        vocabulary.learn(words)
        (text,), (said,) = sifting.counted([[Document("one four five", None, "")], ["a report"]], told.now())
        assert said == "a report"
        assert text.content.texts.sifted.n_words == vocabulary.n_words
        assert vocabulary.learn([text.content]).sum() == 3
        vocabulary.back_to(mark)
    assert workers.kept == [["one", "two", "three"], ["four"]]
