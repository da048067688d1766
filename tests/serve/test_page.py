"""The page in a real browser: Debian's chromium, driven by keys alone."""

import json
import socket
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn

import bayespa
from bayespa.datasets import load_arxiv_sample
from bayespa.serve.app import create_app
from bayespa.serve.security import Tokens, new_token
from bayespa.serve.service import Service
from bayespa.serve.writer import Labelled

from .browser import CHROMIUM, Browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium: sudo apt-get install chromium")
EVIL = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script> proof of groups"
AXE = Path(__file__).parents[2] / "build" / "node_modules" / "axe-core" / "axe.min.js"
CHOSEN = (
    "Array.from(document.querySelectorAll('[aria-pressed=true] > span:first-of-type'), (s) => s.innerText)"
)
SHOWN = "document.querySelector('.document .text')?.innerText"


@pytest.fixture(scope="module")
def model(papers, tmp_path_factory):
    """The file of a model with topics."""
    texts, labels = papers
    path = tmp_path_factory.mktemp("model") / "model.bayespa"
    learned = bayespa.TextModel(n_topics=8, random_state=0, classes=sorted(set(labels)))
    bayespa.save(learned.learn(texts[:256], labels[:256]), path)
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


class Served:
    """A service at a port, which can go away and come back."""

    def __init__(self, path):
        self._path = path
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}/"

    @contextmanager
    def running(self, **options):
        with Service(self._path) as service:
            config = uvicorn.Config(create_app(service, **options), port=self._port, log_level="critical")
            server = uvicorn.Server(config)
            thread = threading.Thread(target=server.run)
            thread.start()
            try:
                while not server.started:
                    time.sleep(0.01)
                yield service
            finally:
                server.should_exit = True
                thread.join()


@pytest.fixture
def served(model, tmp_path):
    path = tmp_path / "model.bayespa"
    path.write_bytes(model.read_bytes())
    return Served(path)


def records(service, n=None):
    """Return what was learned, n texts; the page goes on before a busy service has answered."""
    deadline = time.monotonic() + 20.0
    while True:
        found = [(record.text, record.label) for record in service.records()]
        if n is None or len(found) >= n or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def press_and_wait(page, key):
    """Press a key, and wait for another document."""
    before = page.run(SHOWN)
    page.press(key)
    page.wait(f"{SHOWN} && {SHOWN} !== {json.dumps(before)}")
    return before


def test_fifty_documents_by_keyboard(browser, served, papers):
    """Accept, choose another label, a new one, skip and undo; each label is learned once, as it was given."""
    texts, _ = papers
    with served.running() as service:
        service.predict([EVIL, *texts[300:370]])
        page = browser.page(served.url)
        page.wait(SHOWN)
        given = []
        for n in range(50):
            label = page.text(".said")
            if n % 10 == 3:
                page.press("l")
                page.type("math.G")
                page.press("ArrowDown")
                given.append((press_and_wait(page, "Enter"), "math.GT"))
            elif n % 10 == 6:
                label = page.run(
                    "document.querySelectorAll('.bars button')[1].querySelector('span').innerText"
                )
                given.append((press_and_wait(page, "2"), label))
            else:
                given.append((press_and_wait(page, "a"), label))
            if n == 20:
                press_and_wait(page, "s")
            if n == 30:
                press_and_wait(page, "u")
                assert page.run(SHOWN) == given[-1][0]
                page.press("l")
                page.type("something new")
                given.append((press_and_wait(page, "Enter"), "something new"))
        assert records(service, len(given)) == given
        page.wait("document.querySelector('.foot').innerText.includes('50 reviewed, 1 skipped')")
        assert "Learned" in page.text(".change")
        assert page.run("document.title") == "Review · bayespa"  # no label and no text has run
        assert page.messages() == []


def test_several_labels_by_keyboard(browser, tmp_path):
    """Digits choose and unchoose, L finds more, A takes what is chosen."""
    sample = load_arxiv_sample(subset="train")
    labels = [tuple(names) for names in sample.labels]
    path = tmp_path / "model.bayespa"
    model = bayespa.TextModel("linear", random_state=0).learn(sample.data[:256], labels[:256])
    bayespa.save(model, path)
    served = Served(path)
    with served.running() as service:
        service.predict(sample.data[300:330])
        page = browser.page(served.url)
        page.wait(SHOWN)
        given = []
        for n in range(10):
            chosen = set(page.run(CHOSEN))
            if n % 3 == 1:
                chosen ^= {page.run("document.querySelector('.bars button span').innerText")}
                page.press("1")
            if n % 3 == 2:
                chosen.add(f"new {n}")
                page.press("l")
                page.type(f"new {n}")
                page.press("Enter")
            page.wait(f"{CHOSEN}.length === {len(chosen)}")
            assert set(page.run(CHOSEN)) == chosen
            assert ("Yours" in page.text(".verdict")) == (n % 3 > 0)
            given.append((press_and_wait(page, "a"), tuple(sorted(chosen))))
        assert records(service, len(given)) == given
        press_and_wait(page, "u")
        assert page.run(SHOWN) == given[-1][0]
        assert page.messages() == []


def test_two_people_at_once(browser, served, papers):
    with served.running() as service:
        service.predict(papers[0][300:340])
        people = [browser.page(served.url) for _ in range(2)]
        for page in people:
            page.wait(SHOWN)
        seen = []
        for _ in range(8):
            seen += [press_and_wait(page, "a") for page in people]
        assert len(set(seen)) == 16
        assert sorted(text for text, _ in records(service, len(seen))) == sorted(seen)


def test_a_key_pressed_twice_answers_once(browser, served, papers):
    """The second comes before another document is shown, and is not meant for one that nobody has seen."""
    with served.running() as service:
        service.predict(papers[0][300:310])
        page = browser.page(served.url)
        page.wait(SHOWN)
        key = "new KeyboardEvent('keydown', { key: 'a', bubbles: true })"
        page.run(f"for (const _ of [1, 2]) document.body.dispatchEvent({key})")
        page.wait("document.querySelector('.foot').innerText.includes('1 reviewed')")
        press_and_wait(page, "a")
        assert len(records(service, 2)) == 2


def test_a_reload_and_a_service_that_comes_back_lose_nothing(browser, served, papers):
    with served.running() as service:
        service.predict(papers[0][300:340])
        page = browser.page(served.url)
        page.wait(SHOWN)
        given = [press_and_wait(page, "a")]
        before = page.run(SHOWN)
        page.run("window.old = true")
        page.call("Page.reload")
        page.wait(f"!window.old && {SHOWN}")
        assert page.run(SHOWN) == before  # it is still theirs
        given.append(press_and_wait(page, "a"))
    given.append(press_and_wait(page, "a"))  # it has gone
    given.append(press_and_wait(page, "a"))
    page.wait("document.getElementById('connection').innerText.includes('2 answers are kept here')")
    page.press("u")  # of what has not left the browser
    page.wait(f"{SHOWN} === {json.dumps(given.pop())}")
    with served.running() as service:
        page.wait("!document.getElementById('connection').innerText")
        given.append(press_and_wait(page, "a"))
        page.wait("JSON.parse(localStorage.getItem('bayespa.outbox')).length === 0")
        assert [text for text, _ in records(service, len(given))] == given


def test_a_token_is_asked_for(browser, served, papers):
    """And a wrong one refused; after a reload nobody is asked again, as there is a session."""
    token, line = new_token("Ann", "learn")
    with served.running(tokens=Tokens([line])) as service:
        service.predict(papers[0][300:310])
        page = browser.page(served.url)
        for given in ("wrong", token):
            page.wait("document.activeElement?.id === 'token' && !document.activeElement.value")
            page.type(given)
            page.press("Enter")
        page.wait(SHOWN)
        press_and_wait(page, "a")
        page.run("window.old = true")
        page.call("Page.reload")
        page.wait(f"!window.old && {SHOWN}")
        press_and_wait(page, "a")
        assert len(records(service, 2)) == 2


@pytest.fixture
def watched(served, papers):
    """A service with a stream behind it."""
    texts, labels = papers
    with served.running() as service:
        for start in range(300, 420, 40):
            event = service.predict(texts[start : start + 40])
            known = map(Labelled, texts[start : start + 20], labels[start : start + 20], event.ids)
            service.learn(list(known), at_once=True).result()
        yield served.url


VIEWS = {"review": ".document", "stream": ".strips", "topics": ".cards .card", "ask": "textarea"}
SIZES = pytest.mark.parametrize(("width", "dark"), [(360, False), (360, True), (1600, False), (1600, True)])


def views(page):
    """Open the views one by one, and yield their names."""
    for view, part in VIEWS.items():
        page.run(f"location.hash = '#{view}'")
        page.wait(f"document.querySelector({json.dumps(part)})")
        if view == "ask":
            page.run("document.querySelector('textarea').focus()")
            page.type("We compute the automorphisms of a free group.")
            page.press("Tab")
            page.press("Enter")
            page.wait("document.querySelector('.verdict')")
        yield view


@SIZES
def test_every_view_fits(browser, watched, width, dark):
    """Nothing sticks out to the right, and nothing is said to the console."""
    page = browser.page(watched, width, 900, dark)
    for view in views(page):
        assert page.run("document.documentElement.scrollWidth") == width, view
    assert page.messages() == []


@pytest.mark.skipif(not AXE.exists(), reason="no axe-core: npm install --prefix build axe-core")
@SIZES
def test_every_view_is_accessible(browser, watched, width, dark):
    """By axe-core: names, roles, order of headings, contrast and more."""
    page = browser.page(watched, width, 900, dark)
    for view in views(page):
        page.run(AXE.read_text(encoding="utf-8") + "; 0")
        found = page.run("axe.run().then((said) => said.violations)")
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == [], view
