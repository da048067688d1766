"""Whether labels come in runs, and mixing of whole streams."""

import io
import json
import pickle

import numpy as np
import pandas as pd
import pytest

from bayespa.corpus.documents import Bag, Document
from bayespa.corpus.look import look_at
from bayespa.corpus.order import LabelOrder, _mean_deviation, shuffle_all


def ordered(labels):
    order = LabelOrder()
    for label in labels:
        order.add(label)
    return order


def drawn(n, n_classes=20, seed=0):
    """Labels of chance, of classes that are not equally frequent."""
    share = np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    return [f"c{i:03}" for i in np.random.default_rng(seed).choice(n_classes, n, p=share)]


class TestOrder:
    @pytest.mark.parametrize(
        ("n", "n_classes"), [(100, 2), (100, 20), (1000, 2), (1000, 200), (30_000, 2), (30_000, 200)]
    )
    def test_chance_is_even_and_sorted_is_not(self, n, n_classes):
        labels = drawn(n, n_classes)
        order = ordered(labels)
        assert order.mixed
        assert order.in_long_runs == 0.0
        assert order.unevenness < 0.1
        assert not ordered(sorted(labels)).mixed
        assert not ordered(sorted(labels, reverse=True)).mixed

    def test_halves_that_share_no_class_are_noticed(self):
        labels = drawn(20_000)
        first, second = ([c for c in labels if (c > "c009") == half] for half in (False, True))
        order = ordered(first + second)
        assert order.in_long_runs == 0.0
        assert order.unevenness > 0.3
        assert "not spread evenly" in str(order)

    def test_a_long_run_at_the_end_is_noticed(self):
        order = ordered(drawn(8000) + ["c003"] * 2000)
        assert not order.mixed
        assert 0.19 < order.in_long_runs < 0.21
        assert str(order) == "20% of documents are in runs of 64 or more of one label"

    def test_runs_of_a_frequent_class_are_chance(self):
        spam = np.random.default_rng(0).random(50_000) < 0.005
        assert ordered(["spam" if one else "ham" for one in spam]).in_long_runs == 0.0

    def test_one_class_is_no_order(self):
        assert ordered(["a"] * 5000).mixed

    def test_slow_change_is_no_sorting(self):
        # The odds of a class change by a factor of 9 over the stream.
        draws, n = np.random.default_rng(0), 20_000
        late = draws.random(n) < np.linspace(0.25, 0.75, n)
        labels = draws.integers(0, 5, n) + 5 * late
        order = ordered([str(label) for label in labels])
        assert order.mixed
        assert 0.08 < order.unevenness < 0.16

    def test_several_labels_and_none(self):
        draws = np.random.default_rng(0)
        labels = [tuple(sorted({str(i) for i in draws.integers(0, 30, 3)})) for _ in range(5000)]
        assert ordered(labels).mixed
        assert not ordered(sorted(labels)).mixed
        assert ordered([(), None] * 500).n == 500

    def test_numbers(self):
        values = np.random.default_rng(0).normal(2010.0, 5.0, 5000).tolist()
        assert ordered(values).unevenness < 0.05
        assert not ordered(sorted(values)).mixed
        assert ordered([7.0] * 1000).unevenness == 0.0

    def test_memory_does_not_grow(self):
        sizes = [len(pickle.dumps(ordered(f"id{i}" for i in range(n)))) for n in (50_000, 400_000)]
        assert sizes[1] < 1.2 * sizes[0]

    @pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.93])
    def test_mean_deviation_is_that_of_a_binomial(self, p):
        draws = np.random.default_rng(0).binomial(50, p, 400_000) / 50
        assert abs(_mean_deviation(50, p) - np.mean(abs(draws - p))) < 2e-4
        assert _mean_deviation(50, 1.0) == 0.0


def mixed(n, seed):
    """Return the numbers of n documents in the order that a seed decides."""
    documents = (Document("", None, str(i)) for i in range(n))
    return [int(document.id) for document in shuffle_all(documents, n, seed)]


class TestShuffleAll:
    def test_is_a_permutation_that_the_seed_decides(self):
        first, again, other = (mixed(35_000, seed) for seed in (1, 1, 2))
        assert first == again != other
        assert sorted(first) == list(range(35_000))
        places = np.argsort(first)
        assert abs(np.corrcoef(places, np.arange(35_000))[0, 1]) < 4 / np.sqrt(35_000)
        assert list(shuffle_all([], 0, 0)) == []

    def test_is_uniform(self):
        # Two piles of four: all 24 orders are equally likely.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("bayespa.corpus.order._PILE", 2)
            found = [mixed(4, seed) for seed in range(4800)]
        counts = np.unique(found, axis=0, return_counts=True)[1]
        assert len(counts) == 24
        assert ((counts - 200) ** 2 / 200).sum() < 23 + 4 * np.sqrt(46)

    def test_says_where_there_is_no_room(self, monkeypatch):
        class Full(io.BytesIO):
            def write(self, line):
                raise OSError(28, "No space left on device")

        monkeypatch.setattr("bayespa.corpus.order.TemporaryFile", Full)
        with pytest.raises(OSError, match=r"No space left on device: shuffling writes .* set TMPDIR"):
            mixed(3, 0)

    def test_errors_of_the_documents_are_theirs(self):
        def documents():
            yield Document("", None, "1")
            raise FileNotFoundError(2, "No such file or directory", "x.jsonl")

        with pytest.raises(FileNotFoundError, match=r"x\.jsonl"):
            next(shuffle_all(documents(), 3, 0))

    @pytest.mark.parametrize(
        "document",
        [
            Document("two\nlines\0 \ud83d and \U0001f600", 0.1 + 0.2, "\\u0041"),
            Document("", (), "1", ("kafka://host/topic", {"0": 7})),
            Document("a", ("b", "\u2028"), "1", ("redis", "1-0")),
            Document(Bag(np.array([3, 2**40]), np.array([1, 2**31 - 1], np.int32)), "1.0", "x"),
            Document(Bag(np.array([], np.int64), np.array([], np.float64)), None, ""),
            Document(Bag(np.array([5]), np.array([1 / 3])), -0.0, ""),
        ],
    )
    def test_documents_stay_as_they_are(self, document):
        (found,) = shuffle_all([document], 1, 0)
        assert repr(found) == repr(document)
        if isinstance(document.content, Bag):
            for a, b in zip(found.content, document.content, strict=True):
                assert a.dtype == b.dtype
                assert np.array_equal(a, b)


class TestLook:
    def test_formats_agree(self, tmp_path):
        labels = sorted(drawn(2000))
        frame = pd.DataFrame({"text": ["some words"] * 2000, "label": labels})
        frame.to_parquet(tmp_path / "d.parquet")
        frame.to_csv(tmp_path / "d.csv", index=False)
        frame.to_json(tmp_path / "d.jsonl", orient="records", lines=True)
        for i, label in enumerate(labels):
            (tmp_path / "d" / label).mkdir(parents=True, exist_ok=True)
            (tmp_path / "d" / label / f"{i}.txt").write_text("some words")
        looks = [look_at(tmp_path / name) for name in ("d.parquet", "d.csv", "d.jsonl", "d")]
        assert all(look == looks[0] or vars(look.order) == vars(looks[0].order) for look in looks)
        assert [look.documents for look in looks] == [2000] * 4
        assert look_at(tmp_path / "d.csv", skip=10, limit=50).documents == 50

    def test_time(self, tmp_path):
        path = tmp_path / "d.jsonl"

        def look(times, name="created_at"):
            lines = [json.dumps({"text": "a", "label": "x", name: time}) for time in times]
            path.write_text("\n".join(lines))
            return look_at(path).time

        assert look(["2007-01-01", "2007-01-02", "2007-01-02", "2007-02-01"]) == "created_at"
        assert look([5, 6.5, 7, 7], "time") == "time"
        assert look(["2007-01-01", "2007-01-03", "2007-01-02"]) is None
        assert look(["2007-01-01"] * 5) is None
        assert look(["Mon", "Tue", "Wed"]) is None
        assert look([5, "2007-01-01", "2007-01-02", "2007-01-03"]) is None
        assert look(["2007-01-01", "2007-01-02", "2007-01-03"], "name") is None

    def test_records_without_the_time_count(self, tmp_path):
        record = {"text": "a", "label": "x"}
        lines = [json.dumps(record | ({"date": f"2007-01-{i}"} if i < 15 else {})) for i in range(10, 20)]
        (tmp_path / "d.jsonl").write_text("\n".join(lines))
        look = look_at(tmp_path / "d.jsonl")
        assert (look.documents, look.time) == (10, None)

    def test_kinds_of_labels(self, tmp_path):
        def look(cells):
            (tmp_path / "d.csv").write_text("text,label\n" + "".join(f"a,{cell}\n" for cell in cells))
            return look_at(tmp_path / "d.csv")

        assert look(["1", "2.5", "", "-3"]).numeric
        assert not look(["1", "2.5", "x"]).numeric
        assert look(["1999", "2000", ""]).all_whole
        assert not look(["1999", "x"]).all_whole
        assert look(["red|blue", "blue|green", "red|green", "red"]).separator() == ("|", "red|blue")
        assert look(["red;blue", "blue", "green"]).separator() is None

    def test_ends_where_all_is_malformed(self, tmp_path):
        (tmp_path / "d.jsonl").write_text("no JSON\n" * 1000 + '{"text": "a", "label": "x"}\n')
        assert look_at(tmp_path / "d.jsonl").documents == 0
        good = '{"text": "a", "label": "x"}\n'
        (tmp_path / "d.jsonl").write_text(good + "no JSON\n" * 10 + good)
        assert look_at(tmp_path / "d.jsonl").documents == 2
