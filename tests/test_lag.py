"""Mini-batches under way at once: the same bits whoever computes them, and what a lag means exactly."""

import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

import bayespa
from bayespa import MedHDPClassifier, MedLDAClassifier, TextModel, learning
from bayespa.corpus import Document
from bayespa.datasets import make_topic_corpus
from bayespa.learning import HERE, Done, State, Step, alike, lag_of, level, rounds
from bayespa.posteriors import Dirichlet, Joint
from bayespa.text.interrupts import Interrupted, Interrupts
from bayespa.text.stream import learn_stream
from bayespa.topics.regressor import Numbers
from bayespa.topics.topic_sums import TopicStatistics

CORPUS = make_topic_corpus(900, n_words=300, n_topics=6, n_labels=3, random_state=0)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Let the lag grow within a few mini-batches."""
    monkeypatch.setattr(learning, "SETTLED", 4)


class Late:
    """Computes nothing before it has to: the oldest last, and each twice."""

    def submit(self, function, /, *arguments):
        return Promise(function, arguments)


@dataclass
class Promise:
    function: object
    arguments: tuple

    def result(self):
        Done(self.function, *self.arguments)
        return Done(self.function, *self.arguments).result()


class Seen:
    """A step adds what the posterior holds when it is proposed: the sum tells which version that was."""

    def __init__(self):
        self.under = []

    def propose(self, posterior, batch, index, before=None):
        self.under.append((index, int(posterior.concentration.sum())))
        return Step(Dirichlet([[1.0]]), 0.0, n_examples=1)


@pytest.mark.parametrize("lag", [1, 2, 5, 64])
def test_a_mini_batch_is_proposed_under_the_version_that_its_lag_says(lag):
    model = Seen()
    *_, last = rounds(model, State(Dirichlet([[0.0]])), range(50), lag=lag)
    rest = [max(p for p in range(b + 1) if level(lag, p)) for b in range(50)]  # since when none was under way
    groups = [alike(lag, b) for b in range(50)]
    assert model.under == [
        (b, max(group.stop - lag_of(lag, group.start), rest[b])) for b, group in enumerate(groups)
    ]
    assert max(b - version for b, version in model.under) == lag_of(lag, 49) - 1
    assert last.state.posterior.concentration == 50.0
    assert (last.state.version, last.state.n_steps, last.n_examples) == (50, 50, 50)


def test_a_pass_ends_before_the_next_begins_and_forgetting_comes_before_a_round():
    model = Seen()
    list(rounds(model, State(Dirichlet([[0.0]]), version=400), range(3), lag=8, n_passes=2))
    assert [version for _, version in model.under] == [0, 0, 0, 3, 3, 3]

    class Counts:
        def propose(self, posterior, batch, index, before=None):
            return Step(Dirichlet([[8.0]]), 0.0, 1)

    for lag in (1, 2, 8):
        state = State(Dirichlet([[16.0]]), version=100)
        states = rounds(Counts(), state, range(3), lag=lag, discount=0.5, prior=Dirichlet([[4.0]]))
        assert [now.state.posterior.concentration.item() for now in states] == [18.0, 19.0, 19.5]


def test_what_was_read_before_an_error_is_learned_before_it_is_raised():
    def batches():
        yield from range(20)
        raise OSError("gone")

    learned = []
    steps = rounds(Seen(), State(Dirichlet([[0.0]])), batches(), lag=4)
    with pytest.raises(OSError, match="gone"):
        learned.extend(now.batch_index for now in steps)
    assert learned == list(range(20))


def models():
    small = {
        "n_topics": 5,
        "batch_size": 20,
        "n_passes": 1,
        "random_state": 0,
        "expert": {"first_documents": 100},
    }
    yield MedLDAClassifier(**small)
    yield MedLDAClassifier(**small, discount=0.9)
    yield MedLDAClassifier(**{**small, "decides": "topics", "multi_class": "ovr", "expert": None})
    yield MedLDAClassifier(**{**small, "n_passes": 2})
    hdp = {name: value for name, value in small.items() if name != "n_topics"}
    hdp["expert"] = {"first_documents": 100, "first_sweeps": 5, "n_iterations": 2}
    yield MedHDPClassifier(**hdp)
    yield MedHDPClassifier(**hdp, max_topics=7)


def facts(model):
    return {name: array.tobytes() for name, array in model.posterior_.to_arrays().items()}


@pytest.mark.parametrize("model", list(models()), ids=str)
def test_whoever_computes_an_estimator_learns_the_same_bits(model):
    X, y = CORPUS.data[:600], [None, *CORPUS.target[1:600]]
    known = facts(model.set_params(lag=6).fit(X, y))
    with ThreadPoolExecutor(3) as pool:
        for workers in (Late(), pool):
            assert facts(model.fit(X, y, workers=workers)) == known
    assert facts(model.set_params(lag=1).fit(X, y)) != known
    if model.get_params().get("max_topics"):
        assert model.n_topics_ <= 7


def test_topics_born_at_once_are_two():
    """Two steps under way bear one topic each, which both call 3; the numbers come when they are added."""

    def step(count):
        none = np.zeros((0, 3)), np.zeros((0, 3, 3))
        counts, tables = np.array([[1.0, count]]), np.array([1.0, 1.0])
        return TopicStatistics(np.array([0, 3]), np.array([0]), counts, tables, *none, provisional=3)

    part = MedHDPClassifier(random_state=0)._made(Numbers(0), 0)["model"].topics
    old = TopicStatistics(
        np.arange(3), np.array([0]), np.ones((1, 3)), np.ones(3), np.zeros((0, 4)), np.zeros((0, 4, 4))
    )
    posterior = part.prior(1) + Joint(topics=[old])
    for count in (5.0, 7.0):
        posterior += part.finish(posterior, Joint(topics=[step(count)]))
    sums = posterior["topics"]
    assert sums.next_id == 5
    assert dict(zip(sums.ids.tolist(), sums.tokens.tolist(), strict=True)) == {0: 3, 1: 1, 2: 1, 3: 5, 4: 7}


def texts(kind):
    """Documents whose words and classes appear one after the other, some without a label."""
    rng = np.random.default_rng(0)
    for i in range(500):
        topic = int(rng.integers(2 + i // 150))
        words = [f"w{topic}x{n}" for n in rng.integers(4 + i // 20, size=12)] + [f"own{i}"]
        label = {
            "class": f"c{topic}",
            "classes": tuple(f"c{k}" for k in range(topic + 1)),
            "number": float(topic),
        }
        yield Document(" ".join(words), None if i % 50 == 9 else label[kind], f"doc {i}")


SMALL = {"batch_size": 20, "n_passes": 1, "lag": 8, "random_state": 0, "expert": {"first_documents": 60}}


def new(kind, **options):
    return TextModel(kind, **SMALL, **({"n_topics": 4} if kind == "medlda" else {}), **options)


def learned(model, target, workers=HERE, **options):
    for _ in learn_stream(model, texts(target), workers=workers, **{"every": 150, **options}):
        pass
    return model


@pytest.mark.parametrize("kind", ["medlda", "medhdp", "linear"])
@pytest.mark.parametrize("target", ["class", "classes", "number"])
def test_a_stream_with_new_words_and_classes_has_the_same_bits(kind, target, tmp_path):
    files = []
    with ThreadPoolExecutor(2) as pool:
        for i, workers in enumerate((HERE, Late(), pool)):
            path = tmp_path / f"{i}.bayespa"
            bayespa.save(learned(new(kind), target, workers), path)
            files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]


def test_a_run_that_broke_off_goes_on_to_the_same_bits(tmp_path):
    """From a checkpoint, at which nothing is under way; what was learned behind it is learned again."""
    whole = learned(new("medlda"), "class", every=10_000)
    path = tmp_path / "model.bayespa"
    model = new("medlda")
    stream = learn_stream(model, texts("class"), every=150, checkpoint=lambda run: bayespa.save(model, path))
    for run in stream:
        if run.documents == 400:
            break
    stream.close()
    resumed = learned(bayespa.load(path), "class")
    assert facts(resumed.estimator) == facts(whole.estimator)
    assert resumed.run == whole.run


def test_a_step_that_fails_names_its_documents_and_all_before_it_is_learned():
    class Failing:
        def __init__(self):
            self.n = 0

        def submit(self, function, /, *arguments):
            self.n += 1
            return Done(lambda: 1 / 0) if self.n == 18 else Done(function, *arguments)

    model, runs = new("medlda"), []
    stream = learn_stream(model, texts("class"), workers=Failing())
    with pytest.raises(RuntimeError, match=r"the 20 documents from doc \d+ to doc \d+ could not be learned"):
        runs.extend(run.documents for run in stream)
    assert model.run["documents"] == runs[-1]
    assert model.estimator.n_documents_seen_ == runs[-1]


def test_neither_checkpoints_nor_a_clock_decide_what_is_learned():
    known = facts(learned(new("medlda"), "class").estimator)
    for options in ({"every": 1}, {"every": 10_000}, {"every": 10_000, "seconds": 1e-6}):
        runs = []
        model = learned(new("medlda"), "class", checkpoint=runs.append, **options)
        assert facts(model.estimator) == known
        assert bool(runs) == (options != {"every": 10_000})


@pytest.mark.parametrize("lag", [0, 2.5, None])
def test_a_lag_is_a_number(lag):
    with pytest.raises(ValueError, match="lag is"):
        MedLDAClassifier(lag=lag).fit(CORPUS.data, CORPUS.target)


def test_an_interrupt_ends_where_the_run_can_go_on_to_the_same_bits(tmp_path):
    """It goes on until nothing is under way; a second signal ends it sooner."""
    whole = learned(new("medlda"), "class")

    def run(model, signals):
        interrupts = Interrupts()
        for now in learn_stream(model, texts("class"), interrupts):
            for _ in range(signals if now.documents == 240 else 0):
                interrupts._handle(signal.SIGINT, None)

    def interrupted(signals):
        model = new("medlda")
        with pytest.raises(Interrupted):
            run(model, signals)
        return model

    model, path = interrupted(1), tmp_path / "model.bayespa"
    assert level(8, model.version)
    assert 10 < model.version == 16
    bayespa.save(model, path)
    resumed = learned(bayespa.load(path), "class")
    assert facts(resumed.estimator) == facts(whole.estimator)
    assert resumed.run == whole.run
    assert 10 < interrupted(2).version < 16
