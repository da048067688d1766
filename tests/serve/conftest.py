"""A small model that is served, and clients of it: in this process, without a socket."""

import asyncio
from contextlib import contextmanager

import httpx
import pytest

import bayespa
from bayespa.datasets import load_arxiv_sample
from bayespa.serve.app import create_app
from bayespa.serve.service import Service


@pytest.fixture(scope="session")
def papers():
    """Texts and labels: the first 256 to begin with, others to learn."""
    found = load_arxiv_sample(subset="train")
    return found.data, [labels[0] for labels in found.labels]


@pytest.fixture(scope="session")
def trained(papers, tmp_path_factory):
    """The file of a model of words, which learns in an instant."""
    texts, labels = papers
    path = tmp_path_factory.mktemp("trained") / "model.bayespa"
    bayespa.save(bayespa.TextModel("linear", random_state=0).learn(texts[:256], labels[:256]), path)
    return path


@pytest.fixture
def path(trained, tmp_path):
    """A copy of the model, to be served."""
    copied = tmp_path / "model.bayespa"
    copied.write_bytes(trained.read_bytes())
    return copied


class Client:
    """Asks an ASGI application, and waits for the answer."""

    def __init__(self, app, **options):
        self._transport, self._options = httpx.ASGITransport(app), options

    def session(self):
        """Return a client for those who wait themselves."""
        return httpx.AsyncClient(
            transport=self._transport, **{"base_url": "http://localhost", **self._options}
        )

    def __call__(self, method, path, **arguments):
        async def ask():
            async with self.session() as client:
                return await client.request(method, path, **arguments)

        return asyncio.run(ask())

    def get(self, path, **arguments):
        return self("GET", path, **arguments)

    def post(self, path, json=None, **arguments):
        return self("POST", path, json=json, **arguments)


@pytest.fixture
def served(path):
    """Serve the model: return the service, and a function that makes clients of an application."""

    @contextmanager
    def serve(settings=None, **options):
        with Service(path, settings) as service:
            yield service, Client(create_app(service, **options))

    return serve
