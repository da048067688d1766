"""A model is a value: whole after any exception, in any thread, and held without copies."""

import copy
import os
import pickle
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bayespa
from bayespa.datasets import make_topic_corpus
from bayespa.topics.documents import Corpus

CORPUS = make_topic_corpus(
    600, n_words=40, n_topics=4, n_labels=3, tokens_per_document=12, overlap=0.0, random_state=0
)
X, Y = CORPUS.data, CORPUS.target
LABELS = np.eye(3, dtype=int)[Y]  # as an indicator matrix
FEW = {"first_documents": 60, "first_sweeps": 3, "prediction_sweeps": 4}
MODELS = {
    "medlda": lambda **p: bayespa.MedLDAClassifier(3, expert=FEW, random_state=0, **p),
    "medhdp": lambda **p: bayespa.MedHDPClassifier(
        expert={**FEW, "min_tokens": 0.0, "n_iterations": 2}, random_state=0, **p
    ),
}
ONE_VS_REST = {
    f"{kind}-ovr": lambda make=make, **p: make(multi_class="ovr", **p) for kind, make in MODELS.items()
}


@pytest.fixture(params=MODELS)
def make(request):
    return MODELS[request.param]


@pytest.fixture(params=MODELS | ONE_VS_REST)
def make_any(request):
    return (MODELS | ONE_VS_REST)[request.param]


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """The bytes of a model's file."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)  # many files that need not last

    def saved(model):
        (tmp_path / "model").unlink(missing_ok=True)  # a file that replaces another is written to the disk
        bayespa.save(model, tmp_path / "model")
        return (tmp_path / "model").read_bytes()

    return saved


# Exceptions


STATES = ("learning.py", "table.py", "posterior.py", "dirichlet.py", "topic_sums.py", "topics/estimator.py")


class Cut(BaseException):
    """Nothing catches it."""


class Tracer:
    """Sees every line of bayespa that a call runs through, and raises `Cut` before one of them."""

    home = str(Path(bayespa.__file__).parent)

    def __init__(self, at=None):
        self.at, self.lines = at, []

    def __call__(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(self.home):
            return None
        if event == "line":
            if len(self.lines) == self.at:
                raise Cut
            self.lines.append((frame.f_code.co_filename, frame.f_lineno))
        return self

    def run(self, call):
        before = sys.gettrace()
        sys.settrace(self)
        try:
            call()
        except Cut:
            return True
        finally:
            sys.settrace(before)
        return False


def test_an_exception_at_any_line_leaves_a_whole_model(make, saved, tmp_path):
    """Two mini-batches bring new words and a new class: the model has learned none, one or both of them.

    Each line is cut where it runs first; where states are made, also where it runs last. The model alone
    holds its arrays, so that they are written in place.
    """
    known = Y[:20] != 1
    first = make(batch_size=6).partial_fit(X[:20][known, :30], Y[:20][known], classes=[0, 2])
    begun = pickle.dumps(first.settle())
    news = X[20:32], Y[20:32]

    def learned(n_documents):
        model = pickle.loads(begun)
        if n_documents:
            model.partial_fit(*(part[:n_documents] for part in news), classes=[0, 1, 2])
        return saved(model)

    stages = {learned(n): n for n in (0, 6, 12)}
    both = [*stages][-1]
    assert len(stages) == 3
    for stage in stages:
        (tmp_path / "model").write_bytes(stage)
        assert saved(bayespa.load(tmp_path / "model")) == stage
    tracer = Tracer()
    model = pickle.loads(begun)
    assert not tracer.run(partial(model.partial_fit, *news, classes=[0, 1, 2]))
    first = {line: i for i, line in reversed([*enumerate(tracer.lines)])}
    last = {line: i for i, line in enumerate(tracer.lines) if line[0].endswith(STATES)}
    reached = set()
    for at in sorted({*first.values(), *last.values()}):
        model = pickle.loads(begun)
        assert Tracer(at).run(partial(model.partial_fit, *news, classes=[0, 1, 2])), tracer.lines[at]
        found = saved(model)
        assert found in stages, f"{tracer.lines[at]} leaves what is neither before nor after"
        done = stages[found]
        reached.add(done)
        assert model.predict(X[:3, : model.n_features_in_]).shape == (3,)
        if done < 12:
            model.partial_fit(*(part[done:] for part in news), classes=[0, 1, 2])
            assert saved(model) == both, tracer.lines[at]
    assert reached >= {0, 6}


def test_a_refit_that_fails_leaves_the_model_as_it_was(make_any, saved, monkeypatch):
    """The second step fails: of the same mini-batch, or of one that initialises the topics with others."""
    monkeypatch.setattr("bayespa.topics.waiting.MOST_PASSES", 2)
    model = make_any(batch_size=30).fit(X[:90], Y[:90])
    before, kind, calls = saved(model), type(model._learned.knowledge.views[0][0]), []
    step = kind.step

    def failing(self, *args):
        calls.append(args)
        if len(calls) == 2:
            raise MemoryError("no room")
        return step(self, *args)

    monkeypatch.setattr(kind, "step", failing)
    with pytest.raises(MemoryError, match="no room"):
        model.fit(X[100:200], 2 - Y[100:200])
    assert saved(model) == before
    monkeypatch.undo()
    assert model.predict(X[:5]).shape == (5,)
    monkeypatch.setattr("bayespa.topics.waiting.MOST_PASSES", 2)
    model.fit(X[100:200], Y[100:200])
    assert saved(model) == saved(make_any(batch_size=30).fit(X[100:200], Y[100:200]))


# Threads


def test_answers_are_those_of_one_version(make_any, monkeypatch):
    """While documents are read for an answer, the model learns more words and a class."""

    def ask(method, columns, *, grows):
        model = make_any(batch_size=30).partial_fit(X[:30, :30], Y[:30] // 2, classes=[0, 1])
        read = Corpus.of

        def meanwhile(*args, **options):
            monkeypatch.setattr(Corpus, "of", read)
            found = read(*args, **options)
            if grows:
                model.partial_fit(X[30:60], Y[30:60], classes=[0, 1, 2])
            return found

        monkeypatch.setattr(Corpus, "of", meanwhile)
        return getattr(model, method)(X[60:61, :columns])

    for method in ("predict", "predict_proba", "decision_function", "transform", "explain", "perplexity"):
        found, expected = (ask(method, 30, grows=grows) for grows in (True, False))
        assert found == expected if method == "explain" else np.array_equal(found, expected)
        with pytest.raises(ValueError, match=r"40 features, but .* is expecting 30"):
            ask(method, 40, grows=True)


SECONDS = float(os.environ.get("BAYESPA_THREADS_SECONDS", "0"))  # `make check-all` says a minute
QUESTIONS = {
    "predict": lambda model, document: model.predict(document).tolist(),
    "predict_proba": lambda model, document: model.predict_proba(document).tolist(),
    "explain": lambda model, document: model.explain(document),
    "transform": lambda model, document: model.transform(document).tolist(),
    "topics": lambda model, document: model.topics(5),
    "names": lambda model, document: model.topic_names_,
    "weights": lambda model, document: model.coef_.tolist(),
}


@pytest.fixture
def busy():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("busy")
def test_four_threads_ask_while_one_learns(make_any, monkeypatch):
    """Every answer is that of some version, to the bit, though words and classes are added meanwhile.

    One life of a model after the other, until `SECONDS` are over; at least one.
    """
    end = time.monotonic() + SECONDS
    ask_while_it_learns(make_any, monkeypatch)
    while time.monotonic() < end:
        ask_while_it_learns(make_any, monkeypatch)


def versions_of(model, monkeypatch):
    """Return a list that gets every version that a model publishes, also those in the middle of a call."""
    versions = [copy.copy(model)]

    def published(self, name, value):
        object.__setattr__(self, name, value)
        if self is model and name == "_learned" and value is not versions[-1]._learned:
            versions.append(copy.copy(model))

    monkeypatch.setattr(type(model), "__setattr__", published, raising=False)
    return versions


def ask_while_it_learns(make_any, monkeypatch):
    """Four threads ask a model while it learns 20 mini-batches; then its versions are asked the same."""
    model = make_any(batch_size=64).partial_fit(X[:20, :20], Y[:20] // 2, classes=[0, 1])
    versions, said, errors, done = versions_of(model, monkeypatch), [], [], threading.Event()

    def ask(which):
        try:
            last = False
            while not last:
                last = done.is_set()  # then nothing grows any more
                n = model.n_features_in_
                for name, question in QUESTIONS.items():
                    try:
                        said.append((which, name, question(model, X[which, :n])))
                    except ValueError as error:
                        if "features, but" not in str(error) or model.n_features_in_ == n:
                            raise  # the model has not grown since it was asked how many words it knows
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=ask, args=[which]) for which in range(4)]
    for thread in threads:
        thread.start()
    try:
        for i in range(20):
            rows, columns = slice(20 + 12 * i, 32 + 12 * i), min(40, 20 + 2 * i)
            labels, classes = (Y[rows] // 2, [0, 1]) if i < 10 else (Y[rows], [0, 1, 2])
            model.partial_fit(X[rows, :columns], labels, classes=classes)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not errors, errors
    known = {}
    for version in versions:
        n = version.n_features_in_
        for which in range(4):
            for name, question in QUESTIONS.items():
                known.setdefault((which, name), []).append(question(version, X[which, :n]))
    for which, name, answer in said:
        assert answer in known[which, name], f"no version answers {name} like this"
    assert {(which, name) for which, name, _ in said} == set(known)


# Memory


def tables(posterior):
    """Return the large tables of a posterior, by name."""
    found = {}
    for name, part in posterior.items():
        if name in ("topics", "words", "documents"):
            own = [part._counts] if hasattr(part, "_counts") else part._tables
            found.update({f"{name}.{i}": table for i, table in enumerate(own)})
    return found


def addresses(model):
    found = tables(model._learned.state.posterior)  # without documents that wait, which are looked at aside
    return {name: table.__array_interface__["data"][0] for name, table in found.items()}


def test_nothing_is_copied_if_nobody_looks(make):
    model = make(batch_size=16).partial_fit(X[:200], Y[:200], classes=[0, 1, 2])
    before = addresses(model)
    assert len(before) == 4
    for start in range(200, 500, 20):
        model.partial_fit(X[start : start + 20], Y[start : start + 20])
        model.predict(X[:3])
        assert addresses(model) == before


@pytest.mark.parametrize("n_passes", [1, 2])
def test_fit_learns_in_one_place(make, n_passes):
    """Only the birth of a topic that finds no room moves what was learned."""
    model, seen = make(batch_size=50, n_passes=n_passes), []

    def look(round):
        rooms = tuple(table.__array_interface__["shape"] for table in tables(model.posterior_).values())
        seen.append((rooms, tuple(addresses(model).items())))

    model.fit(X, Y, callback=look)
    assert len(seen) > 1
    assert len(set(seen[1:])) == len({rooms for rooms, _ in seen[1:]}) <= 2


def test_what_is_held_never_changes(make):
    model = make(batch_size=16).partial_fit(X[:60], Y[:60], classes=[0, 1, 2])
    held = []
    for start in range(60, 200, 20):
        posterior, topics = model.posterior_, model.topic_word_
        arrays = posterior.to_arrays()
        copies = [np.array(array) for array in (topics, *arrays.values())]
        held.append((posterior, topics, arrays, copies))
        model.partial_fit(X[start : start + 20], Y[start : start + 20])
    for posterior, topics, arrays, copies in held:
        for found, expected in zip((topics, *arrays.values()), copies, strict=True):
            assert_array_equal(found, expected)
        for found, expected in zip(posterior.to_arrays().values(), copies[1:], strict=True):
            assert_array_equal(found, expected)


# Joining


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("related", [True, False])
def test_a_merge_with_a_model_that_learns_takes_one_version_of_it(make_any, saved, related, monkeypatch):
    """Words and classes come to the other model in its own thread; what is joined is what it once was."""
    ancestor = make_any(batch_size=64).partial_fit(X[:20, :20], Y[:20] // 2, classes=[0, 1]).settle()
    mine = copy.copy(ancestor).partial_fit(X[20:40, :20], Y[20:40] // 2)
    other = copy.copy(ancestor) if related else make_any(batch_size=64)
    if not related:
        other.partial_fit(X[40:60, :20], Y[40:60] // 2, classes=[0, 1])
    root = ancestor if related else None
    versions, errors, done = versions_of(other, monkeypatch), [], threading.Event()

    def learn():
        try:
            for i in range(12):
                rows, columns = slice(60 + 8 * i, 68 + 8 * i), min(40, 20 + 2 * i)
                labels, classes = (Y[rows] // 2, [0, 1]) if i < 6 else (Y[rows], [0, 1, 2])
                other.partial_fit(X[rows, :columns], labels, classes=classes)
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    def merged(theirs):
        return copy.copy(mine).merge(theirs, root)

    thread, joined, last = threading.Thread(target=learn), [merged(other)], False
    thread.start()
    while not last:
        last = done.is_set()
        joined.append(merged(other))
    thread.join()
    assert not errors, errors
    known = [saved(merged(version)) for version in versions]
    found = [known.index(saved(model)) for model in joined]  # raises if it is none of them
    assert found == sorted(found)
    assert (found[0], found[-1]) == (0, len(versions) - 1)
    assert saved(merged(versions[3])) == known[3]  # nothing of a version has changed


def test_two_hundred_merges_count_everything_once(make, word_counts):
    """Two copies learn apart and are joined, again and again: nothing is lost, and nothing counts twice."""
    model = make(batch_size=64).partial_fit(X[:30], LABELS[:30]).settle()
    n_tasks = LABELS.shape[1]
    per_call, weighed, learned = model._learned.state.n_steps, 0, [slice(0, 30)]
    prior = model._learned.model.prior(X.shape[1])
    for cycle in range(200):
        left, right = copy.copy(model), copy.copy(model)
        for i, one in enumerate((left, right)):
            start = (30 + 2 * (2 * cycle + i)) % 598
            weighed += one._learned.state.n_steps**2 * 2 * n_tasks
            one.partial_fit(X[start : start + 2], LABELS[start : start + 2])
            learned.append(slice(start, start + 2))
        model = left.merge(right, ancestor=model)
    documents = np.concatenate([np.arange(600)[rows] for rows in learned])
    counts = X[documents]
    state = model._learned.state
    assert_array_equal(word_counts(model), np.asarray(counts.sum(axis=0)).ravel())
    seen = model.posterior_["documents"].counts[0] - prior["documents"].counts[0]
    assert_array_equal(seen, [len(documents), *np.asarray((counts > 0).sum(axis=0)).ravel()])
    assert model.n_documents_seen_ == len(documents)
    assert (state.version, state.n_steps) == (401, 401 * per_call)
    assert len(model.objective_) == 401
    given = model.posterior_["labels"].counts[0] - prior["labels"].counts[0]
    assert given.sum() == pytest.approx(weighed, rel=1e-12)
    assert np.isfinite(model.predict_proba(X[:20])).all()
    assert model.predict(X[:20]).shape == (20, n_tasks)
    assert model.partial_fit(X[:10], LABELS[:10]).settle()._learned.state.version == 402
