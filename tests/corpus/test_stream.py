"""Mini-batches, shuffling, and memory that does not grow with the stream."""

import json
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from bayespa.corpus import Bag, BagVectorizer, Document, OnlineVocabulary, batches, read, shuffle

DOCUMENTS = [Document(f"word{i % 7} common", None if i % 3 else "a", str(i)) for i in range(25)]


def test_sizes_and_fields():
    made = list(batches(DOCUMENTS, OnlineVocabulary(min_count=1), size=10, keep_texts=True))
    assert [len(batch) for batch in made] == [10, 10, 5]
    assert [i for batch in made for i in batch.ids] == [d.id for d in DOCUMENTS]
    assert [y for batch in made for y in batch.labels] == [d.label for d in DOCUMENTS]
    assert [t for batch in made for t in batch.texts] == [d.content for d in DOCUMENTS]
    assert next(batches(DOCUMENTS, OnlineVocabulary())).texts is None


def test_labelled_part():
    (batch,) = batches(DOCUMENTS, OnlineVocabulary(min_count=1), keep_texts=True)
    part = batch.labelled()
    assert (len(part), part.ids, set(part.labels)) == (9, [str(i) for i in range(0, 25, 3)], {"a"})
    assert_array_equal(part.X.toarray(), batch.X.toarray()[::3])
    assert part.texts == batch.texts[::3]
    assert part.labelled() is part


@pytest.mark.parametrize("learn", [True, False])
def test_vectorizers_of_scikit_learn(learn):
    texts = [d.content for d in DOCUMENTS]
    for vectorizer in (CountVectorizer().fit(texts), HashingVectorizer(n_features=50)):
        (batch,) = batches(DOCUMENTS, vectorizer, 100, learn=learn)
        assert_array_equal(batch.X.toarray(), vectorizer.transform(texts).toarray())


def test_without_learning_nothing_grows():
    vocabulary = OnlineVocabulary(min_count=1)
    list(batches(DOCUMENTS[:3], vocabulary))
    (batch,) = batches(DOCUMENTS, vocabulary, 100, learn=False)
    assert batch.X.shape == (25, 4)
    assert vocabulary.words == ["word0", "common", "word1", "word2"]


def test_bags_widen_with_the_stream():
    def bag(*columns):
        return Document(Bag(np.array(columns, np.int64), np.ones(len(columns), np.int32)), "a", "")

    stream = [bag(1), bag(), bag(3, 0), bag(2)]
    vectorizer = BagVectorizer()
    assert [b.X.toarray().tolist() for b in batches(stream, vectorizer, 2)] == [
        [[0, 1], [0, 0]],
        [[1, 0, 0, 1], [0, 0, 1, 0]],
    ]
    (batch,) = batches([bag(9, 1)], vectorizer, learn=False)
    assert (batch.X.toarray().tolist(), batch.X.dtype) == ([[0, 1, 0, 0]], np.int32)
    named = BagVectorizer(["to", "be"])
    (batch,) = batches(stream, named)
    assert batch.X.toarray().tolist() == [[0, 1], [0, 0], [1, 0], [0, 0]]
    assert BagVectorizer().transform([]).shape == (0, 0)


def test_texts_and_bags_are_not_mixed_up():
    bag = Document(Bag(np.zeros(1, np.int64), np.ones(1, np.int32)), None, "")
    with pytest.raises(TypeError, match=r"bags of words, not texts; count them with BagVectorizer"):
        next(batches([bag], OnlineVocabulary()))
    with pytest.raises(TypeError, match=r"texts, not bags of words; count them with OnlineVocabulary"):
        next(batches(DOCUMENTS, BagVectorizer()))
    with pytest.raises(ValueError, match="size=0 must be at least 1"):
        next(batches(DOCUMENTS, BagVectorizer(), 0))


# Shuffling


def test_shuffle_is_a_permutation_that_the_seed_decides():
    stream = list(range(5000))
    first, again, other = (list(shuffle(stream, 100, seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert sorted(first) == sorted(other) == stream
    assert list(shuffle(stream, 1, 0)) == stream
    assert list(shuffle([], 10, 0)) == []
    with pytest.raises(ValueError, match="buffer_size=0 must be at least 1"):
        next(shuffle(stream, 0))


def test_shuffle_looks_no_further_ahead_than_its_buffer():
    taken = []
    out = shuffle((taken.append(i) or i for i in range(10_000)), 50, 0)
    for position in range(3000):
        assert next(out) <= position + 50
        assert len(taken) == position + 51


def test_shuffle_of_a_small_stream_is_uniform():
    places = np.array([list(shuffle(range(4), 10, seed)) for seed in range(4000)])
    counts = np.array([np.bincount(column, minlength=4) for column in places.T])
    assert (abs(counts - 1000) < 4 * np.sqrt(4000 * 0.25 * 0.75)).all()


def test_shuffle_waits_the_time_of_a_buffer():
    # A document leaves a buffer of b with probability 1/b at each step: it waits b steps on average.
    order = np.array(list(shuffle(range(60_000), 100, 0)))
    waited = np.argsort(order)[1000:50_000] - np.arange(1000, 50_000) + 100
    assert abs(waited.mean() - 100) < 4 * 100 / np.sqrt(len(waited))


# Memory


def peak(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".txt", ".svm"])
def test_memory_does_not_grow_with_the_file(tmp_path, suffix):
    line = {".jsonl": json.dumps({"text": "a few words", "label": "a"}), ".csv": "a few words,a"}
    path = tmp_path / f"docs{suffix}"

    def train():
        vectorizer = BagVectorizer() if suffix == ".svm" else OnlineVocabulary(max_words=100)
        documents = shuffle(read(path, strict=True), 100, 0)
        return sum(len(batch) for batch in batches(documents, vectorizer, 100))

    peaks = []
    for n in (6000, 24_000):  # more than the lines that are cut together
        header = "text,label\n" if suffix == ".csv" else ""
        path.write_text(header + (line.get(suffix, "1 3:1 7:2") + "\n") * n)
        if not peaks:
            train()  # so that what is made once is not counted
        peaks.append(peak(lambda n=n: train() == n or pytest.fail("documents were lost")))
    assert peaks[1] < 1.1 * peaks[0]


def test_memory_of_a_hundred_thousand_lines(tmp_path):
    path = tmp_path / "docs.jsonl"
    peaks = []
    for n in (10_000, 100_000):
        path.write_text('{"text": "a few words", "label": "a"}\n' * n)
        peaks.append(peak(lambda: sum(1 for _ in shuffle(read(path), 1000, 0))))
    assert peaks[1] < 1.1 * peaks[0] < 2_000_000


def test_memory_of_parquet_in_one_row_group(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    most = []
    for n in (20_000, 100_000):
        texts = [rng.bytes(60).hex() for _ in range(n)]
        pq.write_table(
            pa.table({"text": texts}), tmp_path / "docs.parquet", row_group_size=n, use_dictionary=False
        )
        before = pa.total_allocated_bytes()
        documents = read(tmp_path / "docs.parquet", label=None)
        most.append(max(pa.total_allocated_bytes() - before for _ in documents))
    assert most[1] < 1.5 * most[0]
    assert most[1] < 6_000_000  # the file has 12 MB


def test_memory_of_rare_words_is_bounded():
    def learn(n):
        vocabulary = OnlineVocabulary(max_words=100, min_count=2, max_candidates=500)
        for start in range(0, n, 100):
            vocabulary.learn([f"word{i} common {'x' * 200}{i}" for i in range(start, start + 100)])

    learn(1000)
    few, many = peak(lambda: learn(2000)), peak(lambda: learn(20_000))
    assert many < 1.3 * few
