"""The report in a real browser: Debian's chromium, without a window."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from bayespa import MedLDAClassifier
from bayespa.datasets import make_topic_corpus
from bayespa.inspect import Progress, html, write_report

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium: sudo apt-get install chromium")
SECTIONS = ["topics", "weights", "predictions", "calibration", "stream", "growth", "documents"]
HEIGHT = 3500  # pixels


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    corpus = make_topic_corpus(260, n_words=60, n_topics=4, n_labels=3, random_state=0)
    model = MedLDAClassifier(n_topics=4, random_state=0).fit(corpus.data[:200], corpus.target[:200])
    model.topic_ids_ = np.arange(4)
    path = tmp_path_factory.mktemp("report") / "report.html"
    steps = [Progress(100, 0.5, ("0", "1"), (900.0, 300.0)), Progress.of(model, 200, 0.9)]
    words = ["<script>console.error('run')</script>", *(f"word{i}" for i in range(59))]
    texts = [" ".join(words[w] for w in row.indices) for row in corpus.data[200:]]
    write_report(
        path,
        model,
        corpus.data[200:],
        corpus.target[200:],
        texts=texts,
        feature_names=words,
        progress=steps,
        title="<img src=x onerror=\"console.error('run')\">",
    )
    return path


def browse(page, *options):
    """Return what chromium prints, having checked that the page gave no message to its console."""
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",  # a container has no user namespaces, and the page is our own
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--enable-logging=stderr",
            f"--user-data-dir={page.parent / 'profile'}",
            *options,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    messages = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert messages == []
    return done.stdout


def test_messages_to_the_console_are_noticed(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<script>console.error('here')</script>")
    with pytest.raises(AssertionError, match="here"):
        browse(page, "--dump-dom")


def screenshot(page, width, *options):
    """Return what a window of this width shows, (HEIGHT, width, 3), as numbers from 0 to 1."""
    path = page.with_suffix(".png")
    # The page is in a frame, as chromium makes no window narrower than 500 pixels.
    frame = page.with_name("frame.html")
    frame.write_text(
        f'<body style="margin: 0"><iframe src="{page.name}" '
        f'style="border: 0; width: {width}px; height: {HEIGHT}px"></iframe></body>'
    )
    browse(frame, f"--window-size={max(width, 500)},{HEIGHT}", f"--screenshot={path}", *options)
    return imread(path)[:, :width, :3]


def share(image, colour):
    """Return the share of pixels that have a colour."""
    return np.isclose(image, to_rgb(colour), atol=1.5 / 255).all(axis=2).mean()


def test_the_page_has_all_its_parts_and_runs_nothing(report):
    dom = browse(report, "--dump-dom")
    assert re.findall(r'<section id="(\w+)">', dom) == SECTIONS
    assert dom.count("<svg") == 4 + 5
    assert dom.count("<script") == dom.count("<img") == 0


@pytest.mark.parametrize("width", [400, 1200])
def test_the_page_looks_right(report, width):
    image = screenshot(report, width)
    assert share(image, html.LIGHT["paper"]) > 0.3
    assert share(image, html.LIGHT["card"]) > 0.05
    assert len(np.unique(np.rint(image * 255) @ [65536, 256, 1])) > 200  # colours
    for colour in (html.LIGHT["ink"], html.LIGHT["grid"]):
        assert share(image, colour) > 0.001
    # Nothing sticks out to the right: what is too wide is scrolled, so that the margin is empty.
    assert share(image[:, -15:], html.LIGHT["paper"]) == 1.0


def test_the_page_is_dark_where_the_reader_likes_it_dark(report):
    image = screenshot(report, 1200, "--blink-settings=preferredColorScheme=0")
    assert share(image, html.DARK["paper"]) > 0.3
    assert share(image, html.DARK["ink"]) > 0.001
    assert share(image, html.LIGHT["paper"]) < 0.001
