"""``bayespa serve`` and ``bayespa token``: a service that predicts and learns."""

from __future__ import annotations

import ipaddress
import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import click

from bayespa.cli.options import BEGIN, MODEL, PREDICTIONS, F

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_MISSING = "serving needs {}: pip install 'bayespa[serve]'"


def _number(name: str, default: float, help: str) -> Callable[[F], F]:
    """Return an option for a number: a count if the default is whole, else seconds or a rate."""
    whole = isinstance(default, int)
    kind = click.IntRange(0) if whole else click.FloatRange(0.0)
    return click.option(
        name, type=kind, default=default, show_default=True, metavar="N" if whole else "S", help=help
    )


@click.command()
@MODEL
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0: any free one."
)
@click.option("--read", "url", metavar="URL", help="Broker's stream to predict and learn as well.")
@BEGIN
@PREDICTIONS
@click.option(
    "--tokens", type=_FILE, help="File of tokens (see bayespa token), for access from other machines."
)
@click.option("--tls-cert", type=_FILE, help="Certificate for TLS, in PEM.")
@click.option("--tls-key", type=_FILE, help="Its key, in PEM.")
@click.option("--proxies", default="", metavar="A,B,...", help="Proxies whose X-Forwarded-For to trust.")
@click.option("--batch-size", type=click.IntRange(1), metavar="N", help="Largest mini-batch.")
@_number("--delay", 0.1, "Seconds to wait for more documents before learning.")
@_number("--capacity", 10_000, "Documents that may wait for learning; more get status 429.")
@_number("--checkpoint-every", 20_000, "Save the model every N documents.")
@_number("--checkpoint-seconds", 60.0, "Save the model every S seconds, too.")
@click.option("--trim", is_flag=True, help="Remove log files whose documents are all in the saved model.")
@_number("--remember", 1_000_000, "With --trim: documents whose ids are known, to learn none twice.")
@_number("--waiting", 100_000, "Predictions to keep, with their texts, until their labels arrive.")
@_number("--max-classes", 1000, "Limit of the model's classes.")
@_number("--max-body", 4 * 2**20, "Limit of bytes per request.")
@_number("--max-texts", 1024, "Limit of texts per request.")
@_number("--max-text", 200_000, "Limit of characters per text.")
@_number("--max-rate", 5000.0, "Limit of requests per second and client.")
@_number("--max-seconds", 30.0, "Limit of seconds for a request to arrive, and for its answer.")
@click.option("--jobs", default=1, show_default=True, help="Threads per mini-batch and per prediction.")
@click.option("--access-log", is_flag=True, help="Log each request to standard error, without texts.")
@click.option("--log-texts", is_flag=True, help="Also log the texts that are learned.")
def serve(
    path: Path,
    host: str,
    port: int,
    url: str | None,
    begin: Literal["saved", "first", "last"],
    predictions: str | None,
    tokens: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    proxies: str,
    jobs: int,
    access_log: bool,
    log_texts: bool,
    **options: Any,
) -> None:
    """Serve a model over HTTP: it predicts and learns at the same time.

    \b
    bayespa serve model.bayespa
    bayespa serve model.bayespa --read kafka://localhost:9092/papers
    curl -d '{"texts": ["..."]}' -H 'Content-Type: application/json' http://127.0.0.1:8000/api/v1/predict

    The service writes each document to a log, MODEL.serve/log, before it acknowledges it: after a crash no
    document is lost or learned twice. The same holds for the stream of --read, whose fields are those of the
    training. MODEL is saved regularly and at the end. Without --tokens only this machine has access. Ctrl-C
    or SIGTERM learns everything that was acknowledged, saves and stops.
    """
    from bayespa.cli.reading import fields_of_messages

    try:
        from bayespa.serve import server
        from bayespa.serve.app import create_app
        from bayespa.serve.feed import BrokerFeed
        from bayespa.serve.guard import Limits
        from bayespa.serve.security import Tokens
        from bayespa.serve.service import Service, Settings
    except ImportError as error:
        raise ImportError(_MISSING.format(error.name)) from error
    if tokens is None and not _is_loopback(host):
        raise click.UsageError(f"--host {host} gives other machines access; add --tokens")
    if url is None and (predictions is not None or begin != "saved"):
        raise click.UsageError("--from and --predictions need --read")
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key must be given together")
    known = None if tokens is None else Tokens.read(tokens)
    settings = Settings(
        options["batch_size"],
        options["delay"],
        options["capacity"],
        options["checkpoint_every"],
        options["checkpoint_seconds"],
        options["trim"],
        options["remember"],
        options["waiting"],
        options["max_classes"],
    )
    limits = Limits(
        body=options["max_body"],
        texts=options["max_texts"],
        text=options["max_text"],
        rate=options["max_rate"],
        seconds=options["max_seconds"],
    )
    server.log_to_stderr(access_log)
    listening = server.listen(host, port)

    def started() -> None:
        where = f"[{host}]" if ":" in host else host
        scheme = "http" if tls_cert is None else "https"
        click.echo(f"serving {path} at {scheme}://{where}:{listening.getsockname()[1]}", err=True)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)  # uvicorn raises the signal again when it has stopped
    with Service(path, settings, jobs=jobs) as service, ExitStack() as stack:
        feed = None
        if url is not None:
            fields = fields_of_messages(service.published.model.reading or {})
            feed = BrokerFeed(service, url, fields, begin, predictions)
        app = create_app(service, tokens=known, limits=limits, log_texts=log_texts, feed=feed)
        if feed is not None:
            stack.enter_context(feed)
        server.run(app, listening, certificate=tls_cert, key=tls_key, proxies=proxies, started=started)


def _interrupt(number: int, frame: object) -> None:
    from bayespa.text.interrupts import Interrupted

    raise Interrupted(number)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@click.command()
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["read", "learn", "admin"]),
    default="read",
    show_default=True,
    help="What it allows: predicting, learning as well, or everything.",
)
@click.option(
    "--file",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="File of tokens to add its hash to.",
)
def token(name: str, role: Any, path: Path) -> None:
    """Make a token for a service and print it, once: only its hash is kept.

    \b
    bayespa token laptop --role learn --file tokens.txt
    """
    from bayespa.serve.security import new_token

    made, line = new_token(name, role)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with open(descriptor, "a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    click.echo(made)
