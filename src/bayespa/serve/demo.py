"""``make serve``: the service on arXiv abstracts from inside the package, which arrive as a stream.

    python -m bayespa.serve.demo

A model has learned the first 300 abstracts. The service predicts the others in the order of their dates, some
of them at once, then two per second. For a third of them the label becomes known 30 documents later; the
others wait for a review. The model stays in ``serve-output``; the next start continues with it.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import click
import uvicorn

import bayespa
from bayespa.datasets import load_arxiv_sample
from bayespa.serve.app import create_app
from bayespa.serve.service import Service
from bayespa.serve.writer import Labelled

LABELLED = 300  # at first
AT_ONCE = 120  # so that there is something to review
LATE = 30  # documents until a label is known
GIVEN = 3  # the label of one in so many is


class Abstracts:
    """The abstracts, in the order of their dates."""

    def __init__(self) -> None:
        sample = load_arxiv_sample()
        self.texts: list[str] = sample.data
        self.labels: list[str] = [labels[0] for labels in sample.labels]

    def model(self) -> bayespa.TextModel:
        """Return a model that has learned the first of them."""
        model = bayespa.TextModel(random_state=0, classes=sorted(set(self.labels)))
        return model.learn(self.texts[:LABELLED], self.labels[:LABELLED])


def simulate(service: Service, papers: Abstracts, ended: threading.Event, seconds: float) -> None:
    """Predict one abstract after the other, and give some labels late, until `ended` is set."""
    first = LABELLED + service.store.arrived
    ids: dict[int, str] = {}
    for n in range(first, len(papers.texts)):
        ids[n] = service.predict([papers.texts[n]]).ids[0]
        known = n - LATE
        if known in ids and known % GIVEN == 0:
            service.learn([Labelled(papers.texts[known], papers.labels[known], ids[known])])
        if ended.wait(0.0 if n < LABELLED + AT_ONCE else seconds):
            return


@click.command(help="Serve arXiv abstracts that arrive as a stream, with the page to review them.")
@click.option("--port", default=8000, show_default=True, help="Port to listen on.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default="serve-output",
    show_default=True,
    help="Folder of the model.",
)
@click.option("--seconds", default=0.5, show_default=True, help="Time between two abstracts.")
def main(port: int, output: Path, seconds: float) -> None:
    """Serve, until Ctrl-C."""
    papers, path = Abstracts(), output / "model.bayespa"
    if not path.exists():
        click.echo(f"learning {LABELLED} abstracts …")
        output.mkdir(parents=True, exist_ok=True)
        bayespa.save(papers.model(), path)
    ended = threading.Event()
    with Service(path) as service:
        app = create_app(service)
        thread = threading.Thread(target=simulate, args=(service, papers, ended, seconds), daemon=True)
        thread.start()
        click.echo(f"the page: http://localhost:{port}/ (Ctrl-C ends)")
        try:
            with suppress(KeyboardInterrupt):
                uvicorn.run(app, port=port, log_level="warning", access_log=False)
        finally:
            ended.set()
            thread.join()


if __name__ == "__main__":
    main()
