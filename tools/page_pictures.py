"""Draw the pictures of docs/guides/serve.md: the page of ``make serve``, after some reviews, in chromium."""

import json
import sys
import tempfile
import threading
import time
from pathlib import Path

import uvicorn

import bayespa

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.serve.browser import Browser  # noqa: E402

from bayespa.serve.app import create_app  # noqa: E402
from bayespa.serve.demo import Abstracts, simulate  # noqa: E402
from bayespa.serve.service import Service  # noqa: E402

PORT, DOCUMENTS, REVIEWS = 8765, 1500, 40
SHOWN = "document.querySelector('.document .text')?.innerText"


def review(page, truth):
    """Give the right label of the document that is shown, by keys."""
    text = page.run(SHOWN)
    if page.text(".said") == truth[text]:
        page.press("a")
    else:
        page.press("l")
        page.type(truth[text])
        page.press("Enter")
    page.wait(f"{SHOWN} && {SHOWN} !== {json.dumps(text)}")


def draw(page, name, width=1200, height=760, dark=False):
    """Keep a picture of the page."""
    page.resize(width, height, dark)
    time.sleep(0.3)
    page.screenshot(ROOT / "docs" / "pictures" / f"serve-{name}.png")


def main():
    """Serve, review, and draw."""
    papers = Abstracts()
    truth = dict(zip(papers.texts, papers.labels, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.bayespa")
        bayespa.save(papers.model(), path)
        papers.texts = papers.texts[:DOCUMENTS]
        with Service(path) as service, Browser(Path(folder, "browser")) as browser:
            server = uvicorn.Server(uvicorn.Config(create_app(service), port=PORT, log_level="warning"))
            thread = threading.Thread(target=server.run)
            thread.start()
            simulate(service, papers, threading.Event(), seconds=0.0)
            page = browser.page(f"http://localhost:{PORT}/")
            page.wait(SHOWN)
            for _ in range(REVIEWS):
                review(page, truth)
            draw(page, "review")
            page.run("location.hash = '#stream'")
            page.wait("document.querySelector('.strips')")
            draw(page, "stream", height=920)
            page.run("location.hash = '#review'")
            page.wait(SHOWN)
            draw(page, "phone", 360, 740, dark=True)
            server.should_exit = True
            thread.join()


if __name__ == "__main__":
    main()
