"""What the benchmarks do with their measurements, on made-up ones; and one small part, without peers."""

import json

import numpy as np
import pytest
from benchmarks import (
    accuracy,
    counting,
    end_to_end,
    growth,
    guard,
    hdp_speed,
    kernel,
    limit,
    measure,
    page,
    prediction,
)
from benchmarks.corpora import Corpus, read, words
from benchmarks.methods import method
from benchmarks.settings import Settings
from scipy.sparse import csr_matrix, random


def test_exponents_and_lines_are_found_again():
    sizes = [10.0, 100.0, 1000.0]
    assert measure.exponent(sizes, [3 * size**1.5 for size in sizes]) == pytest.approx(1.5)
    assert measure.line(sizes, [7 + 0.25 * size for size in sizes]) == pytest.approx((7, 0.25))


def test_programs_take_turns_and_ratios_pair_their_rounds():
    order = []
    values = measure.in_turns({name: lambda n=name: order.append(n) or len(order) for name in "ab"}, 3)
    assert order == list("ababab")
    assert measure.median_ratio(values["b"], values["a"]) == pytest.approx(4 / 3)


def test_a_watch_adds_up():
    watch = measure.Watch()
    with watch:
        sum(range(100_000))
    first = watch.cpu
    with watch:
        sum(range(100_000))
    assert 0 < first < watch.cpu


def test_a_fresh_process_reports_its_own_peak():
    here = np.ones(2**25)
    (small, low), (_, high) = (measure.fresh(eval, f"len(bytearray({n} << 20))") for n in (1, 150))
    assert small == 2**20
    assert high - low == pytest.approx(149, abs=10)
    assert low < here.nbytes / 2**20, "the child inherited its parent's peak"


def test_the_page_has_ratios_first_and_plots_in_files(tmp_path):
    rows = [["MedLDA", "other", 3.14159, None, "One core."], ["MedLDA", "third", 123456.7, 1.0, "Two."]]
    table = page.Table("Speed", ["ours", "theirs", "K = 20", "K = 40", "compared"], rows)
    part = page.Part(
        "Kernel", "About it.", [table], {"A plot": "<svg></svg>"}, [page.Table("Seconds", ["s"], [[2.0]])]
    )
    machine = {"cpu": "Fast", "cores": 2, "memory_gb": 8.0, "system": "Linux"}
    text = page.write(tmp_path, "2030-01-02", [part], machine, {"bayespa": "1.0"}).read_text()
    assert "| MedLDA | other | 3.14 | – | One core. |" in text
    assert "| MedLDA | third | 123,457 | 1 | Two. |" in text
    assert (
        text.index("## Ratios") < text.index("![A plot](2030-01-02-a-plot.svg)") < text.index("#### Seconds")
    )
    assert (tmp_path / "2030-01-02-a-plot.svg").read_text() == "<svg></svg>"
    assert page.parts_of(tmp_path, "2030-01-02") == [part]
    assert page.parts_of(tmp_path, "2030-01-03") == []


def _curve(name, *points):
    return accuracy.Curve(method(name), name, [accuracy.Point(name, cpu, s, s) for cpu, s in points], 100.0)


def test_time_to_accuracy_compares_where_the_peer_is_at_its_best():
    ours = _curve("MedLDA", (1.0, 0.6), (2.0, 0.7))
    close = _curve("scikit-learn LDA", (4.0, 0.497), (40.0, 0.5))  # nearly at its best after 4 s
    better = _curve("gensim LDA", (9.0, 0.8))
    corpus = Corpus("made up", *[csr_matrix((1, 1)), np.zeros(1, np.int64)] * 2)
    first, second = accuracy.ratios(corpus, [ours, close, better])
    assert first[:4] == ["MedLDA", "scikit-learn LDA", 4.0, 1.0]
    assert second[2] is None
    assert "does not get there (MedLDA: 0.700)" in second[-1]


def test_prediction_compares_at_equal_accuracy():
    def measured(name, variant, score, per_second):
        return prediction.Measured(name, variant, score, per_second, 1e3 / per_second, 2e3 / per_second)

    rows = prediction.ratios(
        [
            measured("MedLDA", "5 sweeps", 0.60, 4000.0),
            measured("MedLDA", "50 sweeps", 0.70, 1000.0),
            measured("tomotopy LDA", "5 sweeps", 0.646, 200.0),
            measured("tomotopy LDA", "100 sweeps", 0.65, 10.0),
            measured("tomotopy LDA", "100 sweeps, together", 0.75, 100.0),
        ]
    )
    assert rows[0][:5] == ["MedLDA, 50 sweeps", "tomotopy LDA, 5 sweeps", 5.0, 5.0, 5.0]
    assert rows[1][2] is None


@pytest.mark.parametrize(("megabytes", "end"), [([100, 100, 101], "flat"), ([110, 200, 1100], "1e+04")])
def test_growth_says_where_memory_ends(megabytes, end):
    grown = growth.Growth("MedLDA", "words", [10, 100, 1000], [1.0, 10.0, 100.0], megabytes)
    row = grown.row(memory_gb=10_100 / 1024)
    assert row[2:4] == pytest.approx([1.0, 1.0])
    assert end in row[4]


def test_a_token_at_the_limit_uses_all_of_it():
    row = limit.row(36, per_second=1e6, operations=120e6, near=1e12, far=1e12)
    assert row[1:3] == [120, 800]  # K is rounded up to 40
    assert limit.row(200, per_second=1e6, operations=1e9, near=1e12, far=1e12)[1:3] == [600, 2800]
    assert row[4] == pytest.approx(1.0)
    assert row[-1].startswith("100%")


def test_the_guard_names_what_has_grown():
    assert guard.grown({"a": 101.0, "b": 103.0}, {"a": 100.0, "b": 100.0}) == [
        "b: 103.0 instructions a token-sample were 100.0"
    ]


def test_missing_corpora_are_replaced_and_named(tmp_path):
    corpus = read("text", str(tmp_path), quick=True)
    assert corpus.X.shape[0] == 2500
    assert "arXiv sample in place of text" in corpus.describe()
    assert [len(text) for text in words(corpus.X[:3])] == corpus.X[:3].sum(axis=1).ravel().tolist()[0]


@pytest.fixture
def made_up():
    rng = np.random.default_rng(0)
    X = random(200, 300, 0.1, "csr", random_state=rng, data_rvs=lambda size: np.full(size, 2))
    y = rng.integers(20, size=200)
    return Corpus("made up", X.astype(np.int32), y, X[:0], y[:0])


def test_the_kernel_without_peers(monkeypatch, made_up):
    monkeypatch.setattr(kernel, "have", lambda package: False)
    part = kernel.compare(made_up, (8, 12), Settings(quick=True))
    assert [row[:2] for row in part.ratios[0].rows] == [[setup, "itself"] for setup in kernel.SETUPS]
    assert all(value > 0 for row in part.absolute[0].rows for value in row[2:])
    assert f"{made_up.n_tokens:,} tokens" in part.about


def test_the_kernel_that_finds_topics_beside_one_that_has_as_many(monkeypatch, made_up):
    monkeypatch.setattr(hdp_speed, "have", lambda package: True)
    monkeypatch.setattr(hdp_speed, "theirs", lambda texts, n_topics: (1e-9, float(n_topics)))
    part = hdp_speed.compare(made_up, (8,), Settings(quick=True))
    assert [row[0] for row in part.ratios[0].rows] == [f"MedHDP, {setup}" for setup in kernel.SETUPS]
    assert all(row[2] >= row[3] == 8 and row[4] > 1 for row in part.ratios[0].rows)
    assert [row[0] for row in part.absolute[0].rows] == [*kernel.SETUPS, "tomotopy HDP"]


def test_counting_is_measured_beside_count_vectorizer():
    part = counting.run(Settings(quick=True, data_home="nowhere"))
    (table,) = part.ratios
    ratios = {name: ratio for name, _, ratio, _ in table.rows}
    assert ratios["CountVectorizer, learn"] == ratios["CountVectorizer, count"] == 1
    assert ratios["bayespa, learn"] > 2  # of 9, on a machine that does nothing else


def test_programs_learn_and_predict_from_files_in_processes_of_their_own(tmp_path):
    path = tmp_path / "train.jsonl"
    words = {"tea": "green black leaf cup", "sea": "wave salt ship tide"}
    lines = [json.dumps({"text": text, "label": label}) for label, text in words.items()] * 20
    path.write_text("\n".join(lines) + "\n")
    for name in ("bayespa linear", "scikit-learn, tf-idf and LinearSVC"):
        cpu, peak, accuracy = end_to_end.measured(name, path, path, tmp_path / "bytecode")
        assert cpu > 0
        assert peak > 10
        assert accuracy == 1.0
