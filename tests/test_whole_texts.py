"""A model of texts is whole, and so is its file, whatever line or bytecode an exception comes at."""

import itertools
import linecache
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import bayespa
from bayespa.corpus import Document, OnlineVocabulary
from bayespa.text.interrupts import Interrupted, Interrupts
from bayespa.text.stream import learn_stream

HOME = str(Path(bayespa.__file__).parent)
# What holds and publishes the state of a model of texts; what estimators do is tested at their own.
OF_TEXTS = ("text/model.py", "text/stream.py", "text/history.py", "text/saving.py", "corpus/vocabulary.py")
LOCKS = ("with self._lock:", "with self._counting:")
WORDS = ("cat mouse dog", "star moon orbit", "bread butter jam")
TEXTS = [f"{WORDS[i % 3]} {WORDS[i % 3]} rare{i // 4} new{i // 5}" for i in range(24)]
LABELS = [None if i % 7 == 6 else ("animals", "sky", "food")[i % 3 if i > 8 else i % 2] for i in range(24)]
DOCUMENTS = [Document(text, label, f"{i}") for i, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True))]
EXPERT = {"first_documents": 8, "first_sweeps": 2, "prediction_sweeps": 2}


# In `make check-all` this is 50, and hardly a moment is left out.
MORE = int(os.environ.get("BAYESPA_MOMENTS", "1"))


class Cut(BaseException):
    """Nothing catches it."""


class Injector:
    """Sees all lines of bayespa, or bytecodes of what keeps the state, and raises `Cut` at one of them."""

    def __init__(self, at=None, *, bytecodes=False, only=None):
        self.at, self.bytecodes, self.only, self.places = at, bytecodes, only, []
        self.cut = False

    def __call__(self, frame, event, argument):
        file = frame.f_code.co_filename
        if not file.startswith(HOME) or (self.only and not file.endswith(self.only)):
            return None
        if linecache.getline(file, frame.f_lineno or 0).strip() in LOCKS:
            return self  # Python raises nothing between the end of a block and the release of its lock
        frame.f_trace_opcodes, frame.f_trace_lines = self.bytecodes, not self.bytecodes
        if event == ("opcode" if self.bytecodes else "line"):
            if len(self.places) == self.at:
                self.places.append(None)
                self.cut = True
                raise Cut
            self.places.append(
                (file, frame.f_code.co_name, frame.f_lasti if self.bytecodes else frame.f_lineno)
            )
        return self

    def run(self, call):
        """Return whether the call was cut."""
        before = sys.gettrace()
        threading.settrace(self)
        sys.settrace(self)
        try:
            call()
        except Cut:
            pass
        finally:
            sys.settrace(before)
            threading.settrace(before)
        return self.cut

    def moments(self, most):
        """Return the numbers of the first and the last time at each place, of at most so many places."""
        first = {place: i for i, place in reversed([*enumerate(self.places)])}
        last = {place: i for i, place in enumerate(self.places)}
        found = sorted({*first.values(), *last.values()})
        return found[:: -(-len(found) // (most * MORE))]


@pytest.fixture
def quick(monkeypatch):
    """Files that need not last, and few passes over few documents: two or three."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    monkeypatch.setattr("bayespa.topics.waiting.IN_ALL", 2 * len(TEXTS))
    monkeypatch.setattr("bayespa.topics.waiting.PER_TASK", len(TEXTS))


def new(kind):
    vocabulary = OnlineVocabulary(60, min_count=2, max_candidates=5, fixed_width=kind == "linear")
    parameters = {"linear": {"batch_size": 4}}.get(kind, {"n_topics": 3, "batch_size": 8, "expert": EXPERT})
    if kind == "medhdp":
        parameters = {"batch_size": 8, "expert": {**EXPERT, "n_iterations": 1}}
    return bayespa.TextModel(
        kind, vectorizer=vocabulary, classes=["animals", "sky"], random_state=0, n_jobs=1, **parameters
    )


def content(model, path):
    bayespa.save(model, path)
    return path.read_bytes()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("bytecodes", [False, True])
@pytest.mark.parametrize("kind", ["medlda", "linear"])
def test_learn_is_done_or_not(kind, bytecodes, tmp_path):
    """Words, candidates and classes come with what was learned of them, or not at all."""
    path = tmp_path / "m"
    begun = content(new(kind).learn(TEXTS[:12], LABELS[:12]), path)

    def loaded():
        path.write_bytes(begun)
        return bayespa.load(path)

    def learn(model):
        return lambda: model.learn(TEXTS[12:], LABELS[12:])

    model, watch = loaded(), Injector(bytecodes=bytecodes, only=OF_TEXTS if bytecodes else None)
    assert not watch.run(learn(model))
    done, reached = content(model, path), set()
    assert done != begun
    for file in (begun, done):
        path.write_bytes(file)
        assert content(bayespa.load(path), path) == file
    for at in watch.moments(100):
        model = loaded()
        assert Injector(at, bytecodes=bytecodes, only=watch.only).run(learn(model)), watch.places[at]
        found = content(model, path)
        assert found in (begun, done), watch.places[at]
        reached.add(found)
        assert len(model.predict(TEXTS[:2])) == 2
        if found == begun:
            learn(model)()
        assert content(model, path) == done, watch.places[at]
    assert reached >= {begun}


@pytest.mark.usefixtures("quick")
def test_first_learn_is_done_or_not(tmp_path):
    """A model that has learned nothing yet has no file to compare: it learns as if it were new."""
    path = tmp_path / "m"
    watch = Injector(bytecodes=True, only=OF_TEXTS)
    model = new("linear")
    watch.run(lambda: model.learn(TEXTS, LABELS))
    done = content(model, path)
    for at in watch.moments(100):
        model = new("linear")
        assert Injector(at, bytecodes=True, only=OF_TEXTS).run(lambda: model.learn(TEXTS, LABELS))  # noqa: B023
        if not model.fitted:
            assert model.classes.names == ["animals", "sky"]
            model.learn(TEXTS, LABELS)
        assert content(model, path) == done, watch.places[at]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", ["medlda", "medhdp", "linear"])
@pytest.mark.filterwarnings("ignore")  # of a file that is closed when nobody has it any more
def test_a_save_is_done_or_not(kind, tmp_path):
    """The file is the old or the new one, the model what it was, and nothing else is left in the folder."""
    path = tmp_path / "m"
    model = new(kind).learn(TEXTS[:12], LABELS[:12])
    old = content(model, path)
    model.learn(TEXTS[12:], LABELS[12:])
    content(model, path)
    watch = Injector()
    path.write_bytes(old)
    watch.run(lambda: bayespa.save(model, path))
    done, reached = path.read_bytes(), set()
    for at in watch.moments(200):
        path.write_bytes(old)
        assert Injector(at).run(lambda: bayespa.save(model, path)), watch.places[at]
        found = path.read_bytes()
        reached.add(found)
        assert found in (old, done), watch.places[at]
        assert os.listdir(tmp_path) == ["m"], watch.places[at]
        assert content(model, path) == done, watch.places[at]
    assert reached == {old, done}


class Run:
    """A stream that is learned with checkpoints after every mini-batch."""

    def __init__(self, model, checkpoint, ahead):
        self.model, self.checkpoint, self.ahead = model, checkpoint, ahead

    def __call__(self):
        stream = learn_stream(
            self.model,
            iter(DOCUMENTS),
            batch_size=4,
            ahead=self.ahead,
            checkpoint=lambda run: bayespa.save(self.model, self.checkpoint),
            every=4,
        )
        for _ in stream:
            pass


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("bytecodes", [False, True])
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("kind", ["medlda", "linear"])
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # of generators that are closed
def test_a_stream_goes_on_from_its_checkpoint_and_from_the_model(kind, ahead, bytecodes, tmp_path):
    """Wherever it is cut, both are whole; gone on with, each has the bits of a run that was never cut."""
    path, checkpoint = tmp_path / "m", tmp_path / "checkpoint"
    Run(new(kind), checkpoint, ahead)()  # imports what is imported late
    model, watch = new(kind), Injector(bytecodes=bytecodes, only=OF_TEXTS if bytecodes else None)
    watch.run(Run(model, checkpoint, ahead))
    done = content(model, path)
    assert checkpoint.read_bytes() == done
    reached, gone_on = set(), set()
    for at in watch.moments(25):
        checkpoint.unlink(missing_ok=True)
        model = new(kind)
        if not Injector(at, bytecodes=bytecodes, only=watch.only).run(Run(model, checkpoint, ahead)):
            assert ahead  # two threads: there were fewer moments this time
        reached.add(model.run["documents"] if model.run else 0)
        if checkpoint.exists() and (saved := checkpoint.read_bytes()) not in gone_on:
            gone_on.add(saved)
            other = bayespa.load(checkpoint)
            Run(other, tmp_path / "other", ahead)()
            assert content(other, path) == done, watch.places[at]
        Run(model, checkpoint, ahead)()
        assert content(model, path) == done, watch.places[at]
    assert len(reached) > 2
    assert gone_on


def test_who_counted_ahead_of_what_is_taken_back_counts_no_more():
    """A thread that an exception has left behind, and that reads on, does not mix its words with others'."""
    model = new("linear").learn(TEXTS[:8], LABELS[:8])
    counter = model.take_back()
    model.count(TEXTS[8:12], counter)
    model.take_back()
    before = model.vectorizer.to_state()
    with pytest.raises(RuntimeError, match="taken back already"):
        model.count(TEXTS[12:], counter)
    assert model.vectorizer.to_state() == before


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_reader_that_dies_without_a_word_is_noticed(monkeypatch):
    """As when there is no memory to say that there is none."""

    def fail(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("queue.Queue.put", fail)
    model = new("linear").learn(TEXTS[:8], LABELS[:8])
    with pytest.raises(RuntimeError, match="the reading thread has died"):
        list(learn_stream(model, iter(DOCUMENTS)))
    model.learn(TEXTS[8:], LABELS[8:])


def test_no_signal_leaves_a_lock_held():
    """Python runs handlers where a block still is, or where its lock is released: hit it at many moments."""
    model = bayespa.TextModel("linear", vectorizer=OnlineVocabulary(60, min_count=2, token_pattern="[a-z]+"))
    locks = (model._counting, model.vectorizer._counter._lock)
    hits = 0

    def hit(number, frame):
        raise Cut

    def free():
        with ThreadPoolExecutor(1) as other:
            for lock in locks:
                assert other.submit(lock.acquire, blocking=False).result(), lock
                other.submit(lock.release).result()

    before = signal.signal(signal.SIGALRM, hit)
    try:
        for i in range(400):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 * (1 + i % 40))
                while True:
                    model.take_back()
                    model.count(TEXTS[:2])
            except Cut:
                hits += 1
            if i % 20 == 0:
                free()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    free()
    assert hits == 400


def test_taking_back_may_be_cut_and_repeated():
    """Two exceptions, one while words are counted, one while this is taken back."""

    def begun():
        vocabulary = OnlineVocabulary(60, min_count=2, max_candidates=4)
        vocabulary.learn(TEXTS[:8])
        return vocabulary, vocabulary.mark()

    vocabulary, mark = begun()
    before = vocabulary.to_state()
    watch = Injector(bytecodes=True)
    watch.run(lambda: vocabulary.learn(TEXTS[8:]))
    back = Injector(bytecodes=True)
    back.run(lambda: vocabulary.back_to(mark))
    assert vocabulary.to_state() == before
    moments = watch.moments(4)
    assert len(back.places) > 10
    for at, then in itertools.product([*moments, None], range(len(back.places))):
        vocabulary, mark = begun()
        Injector(at, bytecodes=True).run(lambda: vocabulary.learn(TEXTS[8:]))  # noqa: B023
        Injector(then, bytecodes=True).run(lambda: vocabulary.back_to(mark))  # noqa: B023
        assert vocabulary.to_state(mark) == before
        vocabulary.back_to(mark)
        assert vocabulary.to_state() == vocabulary.to_state(mark) == before, (at, then)
        vocabulary.learn(TEXTS[8:])
        assert vocabulary.to_state(mark) == before, (at, then)
        vocabulary.back_to(mark)
        assert vocabulary.to_state() == before


@pytest.mark.parametrize("number", Interrupts.SIGNALS)
def test_a_signal_that_another_thread_gets_ends_the_waiting(number):
    """The system may give a signal to any thread: then no call of the one that waits for input is cut."""
    interrupts, (reader, writer), handler = Interrupts(), os.pipe(), signal.getsignal(number)
    ended = threading.Event()

    def strike():
        while not interrupts._waiting:
            time.sleep(0.01)
        time.sleep(0.1)
        signal.pthread_kill(threading.get_ident(), number)
        if not ended.wait(20):
            os.write(writer, b"too late")

    thread = threading.Thread(target=strike)
    with interrupts.held():
        thread.start()
        with pytest.raises(Interrupted), interrupts.allowed():
            os.read(reader, 100)
        ended.set()
    thread.join()
    assert signal.getsignal(number) == handler
    assert signal.set_wakeup_fd(-1) == -1
    os.close(reader)
    os.close(writer)
