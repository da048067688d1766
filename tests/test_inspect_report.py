import re
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from bayespa import (
    BayesPAClassifier,
    BayesPARegressor,
    MedLDAClassifier,
    MedLDARegressor,
    PassiveAggressiveClassifier,
)
from bayespa.datasets import make_topic_corpus
from bayespa.inspect import Progress, html, marking, plots, reliability, write_report
from bayespa.inspect.outcome import Outcome
from bayespa.inspect.view import LinearView, TopicView

HOSTILE = "<script>alert(\"1\" + '&')</script>$x_1$\x07"
LOADED = re.compile(r"<(script|link|img|iframe)\b|@import|(?:src|href)=[\"'](?!#|data:)|url\((?!#)")


class Reader(HTMLParser):
    """The texts and attributes of a page, its sections, and whether its elements end as they begin."""

    EMPTY = ("meta",)

    def __init__(self, text):
        super().__init__()
        self.open, self.sections, self.text, self.titles, self.ids = [], [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert tag != "script"
        attrs = dict(attrs)
        self.open += [] if tag in self.EMPTY else [tag]
        self.sections += [attrs["id"]] if tag == "section" else []
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.titles += [attrs["title"]] if "title" in attrs else []
        assert not any(name.startswith("on") for name in attrs)

    def handle_startendtag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def corpus():
    return make_topic_corpus(260, n_words=60, n_topics=6, n_labels=3, random_state=0)


@pytest.fixture
def written(tmp_path):
    def write(*arguments, **options):
        write_report(tmp_path / "report.html", *arguments, **options)
        assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert not LOADED.search(text)
        reader = Reader(text)
        assert len(set(reader.ids)) == len(reader.ids)
        return text, reader

    return write


def figures(word="star", label="ham"):
    steps = [Progress(10, 0.5, ("0",), (9.0,)), Progress(20, 0.7, ("0", label), (12.0, 4.0))]
    return [
        plots.word_bars([word, "b"], [0.5, 0.25], f"Topic 3: {word}", std=[0.1, 0.1]),
        plots.weight_map(
            [[1.0, -2.0], [0.0, np.nan]], [[0.1, 2.0], [1.0, np.nan]], [label, "spam"], [3, word], "topic"
        ),
        plots.confusion([[3, 1], [0, 0]], [label, "spam"]),
        plots.reliability_diagram(reliability([0, 1], [[0.9, 0.1], [0.6, 0.4]], [0, 1])),
        plots.scatter([0.0, 1.0], [0.1, 0.8], label),
        plots.learning_curve([10, 20], [0.5, 0.75], {label: 0.5}),
        plots.topic_growth(steps),
    ]


def test_figures_are_svg_and_the_same_each_time():
    first = figures()
    assert first == figures()
    for svg in first:
        element = ET.fromstring(svg)
        assert element.tag == "{http://www.w3.org/2000/svg}svg"
        assert element.get("role") == "img"
        assert element.get("aria-label")
        assert "var(--ink)" in svg
        assert not any(colour in svg for colour in html.LIGHT.values())
    assert ">star<" in first[0]
    assert ">ham<" in first[2]


@pytest.mark.parametrize(
    "text", [HOSTILE, "λόγος", "語", "שלום", "a" * 300, "two\nlines", "_x", "$", "\ud83d"]
)
def test_figures_hold_any_word(text):
    for svg in figures(text, text):
        ET.fromstring(svg)
        assert "<script" not in svg


def test_the_hue_depth_and_side_of_a_square():
    svg = plots.weight_map([[1.0, -2.0], [0.0, 4.0]], [[1.0, 0.1], [1.0, 1.0]], "ab", "cd", "topic")
    assert "var(--accent); fill-opacity: 0.25" in svg  # 1 of 4
    assert "var(--against); fill-opacity: 0.5" in svg  # -2 of 4


def test_page_is_well_formed_and_escaped():
    parts = [
        html.paragraph(HOSTILE),
        html.paragraph(HOSTILE, "note"),
        html.facts({HOSTILE: HOSTILE}),
        html.table([HOSTILE], [[HOSTILE]]),
        html.details(HOSTILE, ""),
        html.figure("<svg></svg>", HOSTILE),
    ]
    reader = Reader(html.page(HOSTILE, [html.section("part", HOSTILE, *parts)], head="", foot=""))
    assert "".join(reader.text).count(HOSTILE) == 12  # the title twice, the heading in the contents, too
    assert reader.sections == ["part"]


def test_relative_weights_by_hand():
    """Two topics of sizes 3 and 1: w - πᵀw with π = (3/4, 1/4), and its variance."""
    model = SimpleNamespace(
        coef_=np.array([[1.0, 5.0]]),
        coef_cov_=np.array([[[1.0, 0.5], [0.5, 2.0]]]),
        topic_sizes_=np.array([3.0, 1.0]),
        topic_names_=["0", "1"],
        components_=np.array([[0.9, 0.1], [0.25, 0.75]]),
        multi_class="shared",
        classes_=np.array(["no", "yes"]),
    )
    view = TopicView.of(model)
    np.testing.assert_allclose(view.size, [3.0, 1.0])
    np.testing.assert_allclose(view.weight, [[-1.0, 3.0]])
    # w0 - w1 has variance 1 + 2 - 2 / 2 = 2; the weights are 1/4 and 3/4 of it.
    np.testing.assert_allclose(view.weight_std, [[np.sqrt(2) / 4, np.sqrt(2) * 3 / 4]])
    assert [(v.label, v.weight) for v in view.voices(0)] == [("no", 1.0)]
    assert [(v.label, v.weight) for v in view.voices(1)] == [("yes", 3.0)]
    assert view.voices(1)[0].strength == "+3.00 ± 1"
    assert view.words(1, 1) == [(1, 0.75)]


def test_topics_of_tasks_that_have_different_numbers_of_them():
    covariance = np.zeros((2, 2, 2))
    covariance[0] = np.eye(2)
    covariance[1, 0, 0] = 1.0  # the second task has one topic
    model = SimpleNamespace(
        coef_=np.array([[1.0, 5.0], [2.0, 0.0]]),
        coef_cov_=covariance,
        topic_word_=np.array([[3.0], [1.0], [4.0]]),
        topic_sizes_=np.array([3.0, 1.0, 4.0]),
        topic_names_=["7 of a", "3 of a", "7 of b"],
        components_=np.ones((3, 1)),
        multi_class="ovr",
        classes_=np.array(["a", "b"]),
    )
    view = TopicView.of(model)
    assert view.names == ("7 of a", "3 of a", "7 of b")
    assert not view.shared
    np.testing.assert_allclose(view.weight, [[-1.0, 3.0], [0.0, np.nan]])
    assert [v.label for v in view.voices(1)] == ["a"]
    assert view.voices(2) == []
    assert Progress.of(model, 5).topic_names == view.names
    assert Progress.of(model, 5).topic_sizes == (3.0, 1.0, 4.0)


def test_words_of_a_linear_model():
    model = SimpleNamespace(coef_=np.array([3.0, -2.0, 0.0, 1.0]))
    higher, lower = LinearView.of(model).speakers(3)
    assert higher == ("a higher value", [(0, 3.0), (3, 1.0)], None)
    assert lower == ("a lower value", [(1, 2.0)], None)


def test_marks_by_hand():
    view = TopicView.of(
        SimpleNamespace(
            coef_=np.zeros((1, 2)),
            coef_cov_=np.eye(2)[None],
            topic_sizes_=np.full(2, 3.0),
            topic_names_=["0", "1"],
            components_=np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2]]),
            multi_class="shared",
        )
    )
    document = sparse.csr_matrix([[1.0, 3.0, 0.0]])
    marks = marking.topic_marks(view, 0, np.array([0.5, 0.5]), document, ["first", "second"])
    # p(0 | word 0) = 0.4 / 0.5, p(1 | word 1) = 0.3 / 0.35; topic 1 has three words of four.
    assert marks.of == {
        0: ('class="mark1"', "topic 0 (80%): first"),
        1: ('class="mark0"', "topic 1 (86%): second"),
    }
    assert [name for _, name in marks.legend] == ["topic 1, 75%: second", "topic 0, 25%: first"]
    text = marking.marked_text("Zero & one", {"zero": 0, "one": 1}, marks)
    assert text == (
        '<mark class="mark1" title="topic 0 (80%): first">Zero</mark> &amp; '
        '<mark class="mark0" title="topic 1 (86%): second">one</mark>'
    )
    bag = marking.marked_bag(document, ["zero", "one", "two"], marks)
    assert re.sub("<.*?>", "", bag) == "one ×3 zero"


def test_both_words_of_a_pair_are_marked_where_it_is_stronger():
    marks = marking.Marks(
        {0: ("a", "+0.1"), 1: ("b", "+0.4"), 2: ("c", "+0.3")}, [], {0: 0.1, 1: 0.4, 2: 0.3, 3: 9.0}
    )
    columns = {"credit": 0, "card": 1, "credit card": 2, "my credit": 3}
    assert marking.marked_text("My Credit card", columns, marks) == (
        'My <mark c title="credit card: +0.3">Credit</mark> <mark b title="+0.4">card</mark>'
    )


def test_outcomes_know_what_is_known():
    class Model:
        classes_ = np.array(["a", "b", "c"])
        _estimator_type = "classifier"

        def __sklearn_tags__(self):
            return SimpleNamespace(estimator_type="classifier")

        def predict(self, X):
            return self.classes_[np.asarray(X).argmax(axis=1)]

        def predict_proba(self, X):
            return np.asarray(X)

    X = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.6, 0.4, 0.0], [0.0, 0.3, 0.7]])
    outcome = Outcome.of(Model(), X, ["a", "new", None, "b"])
    assert outcome.names == ("a", "b", "c", "new")
    assert outcome.scores() == {"accuracy": pytest.approx(1 / 3)}
    assert outcome.confusion().sum() == 3
    assert outcome.confusion()[3, 1] == 1
    assert outcome.examples(3) == {"Surest, and right": [0], "Surest, and wrong": [1], "Least sure": [2]}
    assert outcome.examples(9) == {"Surest, and right": [0], "Surest, and wrong": [1, 3], "Least sure": [2]}
    assert outcome.calibration().count.sum() == 3
    assert Outcome.of(Model(), X).examples(2) == {"Surest": [0], "Least sure": [2]}
    assert Outcome.of(Model(), X).scores() == {}


@pytest.mark.parametrize("multi_class", ["shared", "ovr"])
def test_report_on_classes(corpus, written, multi_class):
    model = MedLDAClassifier(n_topics=4, multi_class=multi_class, random_state=0)
    model.fit(corpus.data[:200], corpus.target[:200])
    texts = [" ".join(f"w{w}" for w in row.indices) for row in corpus.data[200:]]
    words = [f"w{i}" for i in range(60)]
    text, reader = written(
        model,
        corpus.data[200:],
        corpus.target[200:],
        texts=texts,
        feature_names=words,
        progress=[Progress(100, 0.5), Progress(200, 0.75)],
        references={"chance": 0.33},
        title="A title",
        summary="A summary.",
    )
    assert reader.sections == ["topics", "weights", "predictions", "calibration", "stream", "documents"]
    n_topics = 4 if multi_class == "shared" else 12
    assert text.count("<svg") == n_topics + 4
    seen = "".join(reader.text)
    assert f"{model.score(corpus.data[200:], corpus.target[200:]):.3f}" in seen
    for expected in (
        "A title",
        "A summary.",
        "chance",
        "0.330",
        "After 200 documents the accuracy was 0.750",
    ):
        assert expected in seen
    assert any(re.fullmatch(r"topic \d.* \(\d+%\): w\d+(, w\d+){2}", title) for title in reader.titles)
    assert 'class="note"' not in text
    assert re.search(r"predicted <b>\S+</b> \(\d\.\d{3}\), next \S+ \(\d\.\d{3}\)", text)
    assert re.search(
        r"the average document [-+]\d\.\d+, topics [-+]\d\.\d+, words beside topics [-+]\d", text
    )


def test_report_on_two_classes_and_hostile_words(corpus, written):
    y = np.where(corpus.target == 0, HOSTILE, "it's <b>")
    model = MedLDAClassifier(n_topics=3, random_state=0).fit(corpus.data[:200], y[:200])
    words = [HOSTILE + str(i) for i in range(60)]
    _, reader = written(
        model,
        corpus.data[200:],
        y[200:],
        texts=[HOSTILE] * 60,
        feature_names=words,
        title=HOSTILE,
        summary=HOSTILE,
        references={HOSTILE: 0.5},
    )
    assert "".join(reader.text).count(HOSTILE) > 10


def test_report_on_labels(written):
    corpus = make_topic_corpus(
        150, n_words=60, n_topics=6, n_labels=3, labels_per_document=1.5, random_state=0
    )
    y = corpus.target.astype(float)
    model = MedLDAClassifier(n_topics=6, random_state=0).fit(corpus.data[:100], y[:100])
    y[100, 0] = np.nan
    text, reader = written(model, corpus.data[100:], y[100:])
    assert "micro F1" in text
    assert "precision" in text
    assert reader.sections == ["topics", "weights", "predictions", "calibration", "stream", "documents"]
    with pytest.raises(ValueError, match=re.escape("y has shape (50, 2); the model has 3 labels")):
        written(model, corpus.data[100:], y[100:, :2])


def test_report_on_numbers(corpus, written):
    y = corpus.document_topic[:, 0].copy()
    model = MedLDARegressor(n_topics=4, random_state=0).fit(corpus.data[:200], y[:200])
    y[200] = np.nan
    text, reader = written(model, corpus.data[200:], y[200:], progress=[Progress(200, 0.6)])
    assert "R²" in text
    assert reader.sections == ["topics", "weights", "predictions", "stream", "documents"]
    targets = np.column_stack([y, y])
    two = MedLDARegressor(n_topics=4, random_state=0).fit(corpus.data[:200], targets[:200])
    assert "target 1" in written(two, corpus.data[201:], targets[201:])[0]


@pytest.mark.parametrize(
    ("model", "svgs"), [(BayesPAClassifier(), 5), (PassiveAggressiveClassifier(), 4), (BayesPARegressor(), 3)]
)
def test_report_on_linear_models(corpus, written, model, svgs):
    y = corpus.target if svgs > 3 else corpus.document_topic[:, 0]
    model.set_params(random_state=0).fit(corpus.data[:200], y[:200])
    text, reader = written(model, corpus.data[200:], y[200:])
    assert text.count("<svg") == svgs
    assert reader.sections[0] == "words"
    assert "weights" not in reader.sections
    assert ("gives no probabilities" in text) == (svgs == 4)
    assert 'class="for"' in text
    assert 'class="against"' in text


def test_report_without_labels_and_without_matplotlib_says_so(corpus, written, monkeypatch):
    model = MedLDAClassifier(n_topics=4, random_state=0).fit(corpus.data[:200], corpus.target[:200])
    text, reader = written(model, corpus.data[200:])
    assert "No document is labelled in full." in text
    assert "No label is known." in text
    assert reader.sections == ["topics", "weights", "predictions", "calibration", "stream", "documents"]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text, _ = written(model, corpus.data[200:], corpus.target[200:])
    assert "<svg" not in text
    assert "bayespa[plot]" in text
    assert "The numbers" in text


def test_report_on_many_labels_and_numbers_without_any(corpus, written):
    y = np.column_stack([corpus.target == label for label in range(3)]).astype(int)
    labels = MedLDAClassifier(n_topics=4, random_state=0).fit(corpus.data[:200], y[:200])
    outcome = Outcome.of(labels, corpus.data[200:])
    assert (outcome.kind, outcome.labelled.any(), outcome.scores()) == ("labels", False, {})
    assert outcome.named([1, 0, 1]) == "0, 2"
    assert outcome.named([0, 0, 0]) == "no label"
    numbers = MedLDARegressor(n_topics=4, random_state=0).fit(corpus.data[:200], y[:200])
    outcome = Outcome.of(numbers, corpus.data[200:])
    assert outcome.examples(2) == {"The first": [0, 1]}
    assert outcome.named([0.5, 1.0, 2.0]) == "0.5, 1, 2"
    assert "The first" in written(numbers, corpus.data[200:])[0]


def test_sureness_without_probabilities_is_the_lead_of_the_first_class(corpus):
    """Or, of two classes, the distance from the decision's border."""
    X, y = corpus.data, corpus.target
    three = PassiveAggressiveClassifier(random_state=0).fit(X, y)
    best = np.sort(three.decision_function(X), axis=1)
    assert_array_equal(Outcome.of(three, X).confidence, best[:, -1] - best[:, -2])
    two = PassiveAggressiveClassifier(random_state=0).fit(X, y > 0)
    assert_array_equal(Outcome.of(two, X).confidence, abs(two.decision_function(X)))


def test_words_that_are_in_no_topic_are_not_marked(corpus):
    model = MedLDAClassifier(n_topics=4, random_state=0)
    model.fit(corpus.data[:200], corpus.target[:200], topic_words=np.arange(60) != 3)
    assert_array_equal(model.topic_words_, np.arange(60) != 3)
    view, document = TopicView.of(model), sparse.csr_matrix(np.ones((1, 60)))
    marks = marking.topic_marks(view, 0, model.transform(document)[0], document, ["a"] * 4, {0: "+0.5"})
    assert set(marks.of) == set(range(60)) - {3}
    assert any(re.fullmatch(r"topic 0, \d+%, \+0.5: a", name) for _, name in marks.legend)


def test_report_on_topics_that_come_and_grow(corpus, written):
    class Numbered(MedLDAClassifier):
        topic_ids_ = topic_names_ = ("9", "2", "4", "7")

    model = Numbered(n_topics=4, random_state=0).fit(corpus.data[:200], corpus.target[:200])
    steps = [Progress(100, None, ("9", "2"), (60.0, 40.0)), Progress.of(model, 200, 0.9)]
    text, reader = written(model, corpus.data[200:], corpus.target[200:], progress=steps)
    assert "growth" in reader.sections
    assert "There are 4 topics after 200 documents." in text
    assert "Topic 9: " in text
    text, _ = written(model, corpus.data[200:], corpus.target[200:])
    assert "not recorded which topics" in text


def test_errors_leave_the_file_as_it_was(corpus, tmp_path):
    model = MedLDAClassifier(n_topics=4, random_state=0).fit(corpus.data[:200], corpus.target[:200])
    path = tmp_path / "report.html"
    path.write_text("before")
    for options, message in [
        ({"texts": ["one"]}, "texts has 1 documents, and X 260"),
        ({"feature_names": ["one"]}, "feature_names has 1 names, and the model 60 words"),
        ({"y": [1]}, "y has shape (1,)"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            write_report(path, model, corpus.data, **options)
    with pytest.raises(ValueError, match="X has no documents"):
        write_report(path, model, corpus.data[:0])
    assert path.read_text() == "before"
