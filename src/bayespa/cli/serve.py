"""``bayespa serve`` and ``bayespa token``: a service that learns while it answers."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import click

from bayespa.cli.options import MODEL

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@MODEL
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0: any free one."
)
@click.option("--tokens", type=_FILE, help="File of tokens; see bayespa token. Needed for other machines.")
@click.option("--tls-cert", type=_FILE, help="Certificate, in PEM; with --tls-key.")
@click.option("--tls-key", type=_FILE, help="Key of the certificate, in PEM.")
def serve(
    path: Path, host: str, port: int, tokens: Path | None, tls_cert: Path | None, tls_key: Path | None
) -> None:
    """Serve a model over HTTP: it answers while it learns."""
    try:
        import uvicorn

        from bayespa.serve.app import create_app
        from bayespa.serve.security import Tokens
        from bayespa.serve.service import Service
    except ImportError as error:
        raise ImportError(f"{error.name} is missing; pip install 'bayespa[serve]'") from error
    if tokens is None and not _is_loopback(host):
        raise click.UsageError(f"--host {host} lets other machines in; give --tokens, too")
    known = None if tokens is None else Tokens.read(tokens)
    with Service(path) as service:
        app = create_app(service, tokens=known)
        uvicorn.run(app, host=host, port=port, ssl_certfile=tls_cert, ssl_keyfile=tls_key, access_log=False)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
