"""How documents are cut into calls changes no bit: not of the model, not of its file, not of its answers."""

from copy import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayespa
from bayespa.datasets import make_topic_corpus
from bayespa.topics.estimator import Learned
from bayespa.topics.waiting import Backlog

FEW = {"first_documents": 40, "first_sweeps": 3, "prediction_sweeps": 2}
N = 110  # documents: 48 begin, or 64 of a text model; then there are mini-batches of 16, and 14 wait
CORPUS = make_topic_corpus(
    130, n_words=40, n_topics=4, n_labels=3, tokens_per_document=12, overlap=0.0, random_state=0
)
SHARE = CORPUS.document_topic[:, 0].astype(float)
UNKNOWN = [None if i % 7 == 3 else y for i, y in enumerate(CORPUS.target.tolist())]
SEVERAL = np.eye(3)[CORPUS.target] + np.eye(3)[(CORPUS.target + np.arange(130) % 2) % 3] > 0

ESTIMATORS = {
    "medlda": (lambda: bayespa.MedLDAClassifier(3, expert=FEW, batch_size=16, random_state=0), UNKNOWN),
    "medhdp": (lambda: bayespa.MedHDPClassifier(expert=FEW, batch_size=16, random_state=0), UNKNOWN),
    "labels": (
        lambda: bayespa.MedLDAClassifier(3, expert=FEW, batch_size=16, random_state=0),
        SEVERAL.astype(int),
    ),
    "forgets": (
        lambda: bayespa.MedLDAClassifier(3, expert=FEW, batch_size=16, discount=0.9, random_state=0),
        UNKNOWN,
    ),
    "numbers": (lambda: bayespa.MedLDARegressor(3, expert=FEW, batch_size=16, random_state=0), SHARE),
    "one-vs-rest": (
        lambda: bayespa.MedLDAClassifier(
            3, decides="topics", multi_class="ovr", expert=FEW, batch_size=16, random_state=0
        ),
        UNKNOWN,
    ),
    "unsupervised": (lambda: bayespa.OnlineLDA(3, batch_size=16, random_state=0), None),
}

# A word of its own for every document, and others for every class; two classes come later.
NAMES = [("sky", "sea", "land", "city")[i % 2 if i < 50 else i % 4] for i in range(130)]
TEXTS = [f"{name}s {name}ly {name}ing {NAMES[i // 2]}s word{i}" for i, name in enumerate(NAMES)]
TEXT_LABELS = {
    "medlda": NAMES,
    "medhdp": NAMES,
    "linear": NAMES,
    "several": [(name, NAMES[i // 2]) if i % 5 else None for i, name in enumerate(NAMES)],
    "number": [float(len(name) + i % 3) for i, name in enumerate(NAMES)],
}


def text_model(case):
    kind = case if case in ("medhdp", "linear") else "medlda"
    parameters = {"batch_size": 16, "random_state": 0}
    if kind != "linear":
        parameters["expert"] = FEW
    if kind == "medlda":
        parameters["n_topics"] = 3
    classes = () if case == "number" else ("sky", "sea")
    target = {"several": "classes", "number": "number"}.get(case, "class")
    return bayespa.TextModel(kind, target=target, classes=classes, **parameters)


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Several passes over few documents only, and files that need not last: return what is in one."""
    monkeypatch.setattr("bayespa.topics.waiting.IN_ALL", 120)
    monkeypatch.setattr("bayespa.topics.waiting.PER_TASK", 20)
    monkeypatch.setattr("bayespa.topics.waiting.NUMBERS", 61)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    path = tmp_path / "model"

    def content(model):
        path.unlink(missing_ok=True)
        bayespa.save(model, path)
        return path.read_bytes()

    content.path = path
    return content


def learned(model, calls, learn, look, content):
    """Learn documents in calls, (size, what happens after it); return the file, and answers."""
    begin = 0
    for size, event in [*calls, (N, "nothing")]:
        end = min(N, begin + size)
        if begin < end:
            model = learn(model, slice(begin, end))
        if event == "look":
            look(model)
        if event == "load":
            content(model)
            model = bayespa.load(content.path)
        begin = end
    return content(model), look(model)


CALLS = st.lists(
    st.tuples(st.sampled_from([1, 2, 7, 16, 39, 60]), st.sampled_from(["nothing", "look", "load"])),
    max_size=6,
)
FEW_EXAMPLES = settings(max_examples=4, deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize("case", ESTIMATORS)
def test_calls_of_partial_fit(case, small):
    make, y = ESTIMATORS[case]

    def learn(model, rows):
        if y is None:
            return model.partial_fit(CORPUS.data[rows])
        named = {"classes": [0, 1, 2]} if hasattr(model, "class_weight") else {}
        return model.partial_fit(CORPUS.data[rows], y[rows], **named)

    def look(model):
        answer = model.transform if y is None else model.predict
        return answer(CORPUS.data[N:]).tolist(), model.n_documents_seen_, model.objective_

    whole = learned(make(), [], learn, look, small)
    assert whole[1][1] == N

    @FEW_EXAMPLES
    @given(calls=CALLS)
    def agrees(calls):
        assert learned(make(), calls, learn, look, small) == whole

    agrees()


@pytest.mark.parametrize("case", TEXT_LABELS)
def test_calls_of_learn(case, small):
    """Words and classes that are new in mid-stream come to the same mini-batch."""
    labels = TEXT_LABELS[case]

    def learn(model, rows):
        return model.learn(TEXTS[rows], labels[rows])

    def look(model):
        return model.predict(TEXTS[N:]), model.words(), model.classes.names

    whole = learned(text_model(case), [], learn, look, small)

    @FEW_EXAMPLES
    @given(calls=CALLS)
    def agrees(calls):
        assert learned(text_model(case), calls, learn, look, small) == whole

    agrees()


def test_the_classes_of_later_documents_do_not_begin(small):
    """Where the first mini-batches have one class, learning begins with the next one, not with all."""
    labels = ["sky"] * 70 + ["sea"] * 20 + ["land"] * 20
    models = []
    for cut in (80, 90, 110):
        model = bayespa.TextModel(n_topics=3, expert=FEW, batch_size=16, random_state=0)
        models.append(model.learn(TEXTS[:cut], labels[:cut]))
        if cut < 110:
            model.learn(TEXTS[cut:110], labels[cut:110])
    assert small(models[0]) == small(models[1]) == small(models[2])


def test_calls_without_a_look_cost_what_one_call_costs(small, monkeypatch):
    from bayespa.topics.medlda import MedLDA

    step, steps = MedLDA.step, []
    monkeypatch.setattr(MedLDA, "step", lambda *arguments: steps.append(1) or step(*arguments))
    make, y = ESTIMATORS["medlda"]
    make().partial_fit(CORPUS.data[:N], y[:N], classes=[0, 1, 2])
    once, model = len(steps), make()
    for i in range(N):
        model.partial_fit(CORPUS.data[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
    assert len(steps) == 2 * once
    model.predict(CORPUS.data[N:])
    model.predict(CORPUS.data[N:])
    assert len(steps) == 2 * once + 1  # of the documents that wait


def test_topics_of_small_calls_decide_as_well_as_those_of_one(small):
    """In the beginning, too, where all is learned again and again."""
    held_out = CORPUS.data[N:], CORPUS.target[N:]
    for n in (24, 39, 40, N):
        scores = []
        for size in (n, 5):
            model = bayespa.MedLDAClassifier(
                3, decides="topics", expert={**FEW, "first_sweeps": 20}, batch_size=16, random_state=0
            )
            for i in range(0, n, size):
                rows = slice(i, min(n, i + size))
                model.partial_fit(CORPUS.data[rows], CORPUS.target[rows], classes=[0, 1, 2])
                model.predict(held_out[0])
            scores.append(model.score(*held_out))
        assert scores[0] == scores[1]
    assert scores[0] > 0.9


def test_what_waits_counts_at_once(small):
    make, y = ESTIMATORS["medlda"]
    model = make().partial_fit(CORPUS.data[:40], y[:40], classes=[0, 1, 2])
    before = model.posterior_, model.predict_proba(CORPUS.data[N:])
    model.partial_fit(CORPUS.data[40:50], y[40:50])
    assert model.n_documents_seen_ == 50
    assert model.progressive_.shape == (10, 3)
    assert (model.posterior_["topics"].totals() > before[0]["topics"].totals()).any()
    assert (model.predict_proba(CORPUS.data[N:]) != before[1]).any()
    answers, file = model.predict_proba(CORPUS.data[N:]), small(model)
    settled = model.settle()
    assert settled is model
    assert (model.predict_proba(CORPUS.data[N:]) == answers).all()
    assert small(model) != file
    assert b"_waiting" in file
    assert b"_waiting" not in small(model)
    assert small(model.settle()) == small(model)


def test_a_matrix_that_changes_after_the_call_changes_nothing(small):
    make, y = ESTIMATORS["medlda"]
    X = CORPUS.data[:10].copy()
    model = make().partial_fit(X, y[:10], classes=[0, 1, 2])
    X.indices[:] = 0
    X.data[:] = 1000
    assert small(model) == small(make().partial_fit(CORPUS.data[:10], y[:10], classes=[0, 1, 2]))


def test_an_interrupt_of_the_first_mini_batches_loses_no_document_that_waits(small, monkeypatch):
    from bayespa.topics.medlda import MedLDA

    make, y = ESTIMATORS["medlda"]
    model = make().partial_fit(CORPUS.data[:39], y[:39], classes=[0, 1, 2])
    before, step, steps = small(model), MedLDA.step, []

    def interrupted(*arguments):
        steps.append(1)
        if len(steps) == 3:
            raise KeyboardInterrupt
        return step(*arguments)

    monkeypatch.setattr(MedLDA, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(CORPUS.data[39:60], y[39:60])
    assert small(model) == before


def test_a_copy_of_an_ancestor_whose_documents_wait_does_not_continue_it(small):
    """It learns them anew, with more; a fork has learned them."""
    make, y = ESTIMATORS["medlda"]
    for n in (20, 50):
        ancestor = make().partial_fit(CORPUS.data[:n], y[:n], classes=[0, 1, 2])
        before, rows = small(ancestor), slice(60, 70)
        with pytest.raises(ValueError, match="copy it by fork"):
            copy(ancestor).partial_fit(CORPUS.data[rows], y[rows]).merge(ancestor, ancestor)
        left, right = (ancestor.fork(i).partial_fit(CORPUS.data[rows], y[rows]) for i in range(2))
        assert left.merge(right, ancestor).n_documents_seen_ == n + 20
        assert small(ancestor) == before


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("ends", lambda a: a[::-1].copy(), "shapes that do not fit"),
        ("ends", lambda a: a.astype(np.float64), "ends of documents that wait"),
        ("words", lambda a: a + 40, "words out of order, or unknown"),
        ("words", lambda a: a[::-1].copy(), "words out of order"),
        ("counts", lambda a: -a, "or no counts"),
        ("counts", lambda a: a * 0 + 2**30, "more than 16777216 tokens"),
        ("weights", lambda a: a * 0.3, "powers of two"),
        ("targets", lambda a: a * 2, "neither 1 nor -1"),
        ("targets", lambda a: a[:, :1], "shapes that do not fit"),
        ("n_passes", lambda a: 7, "n_passes of documents that wait is 7"),
    ],
)
def test_a_file_with_other_documents_is_refused(name, change, message, small):
    make, y = ESTIMATORS["medlda"]
    model = make().partial_fit(CORPUS.data[:20], y[:20], classes=[0, 1, 2])
    meaning = model._learned.meaning
    values = model._learned.waiting.to_file(meaning, 40)
    assert len(Backlog.from_file(values, 40, meaning)) == 20
    with pytest.raises(ValueError, match=message):
        Backlog.from_file({**values, name: change(values[name])}, 40, meaning)


def test_the_first_documents_are_learned_again_at_few_sizes(small, monkeypatch):
    sizes, begun = [], Learned.begun
    monkeypatch.setattr(Learned, "begun", lambda self, n, words: sizes.append(n) or begun(self, n, words))
    model = text_model("linear")
    for i in range(50):
        model.learn(TEXTS[i : i + 1], NAMES[i % 2 : i % 2 + 1]).predict(TEXTS[:1])
    assert sizes == [*range(1, 33), *range(34, 51, 2)]
