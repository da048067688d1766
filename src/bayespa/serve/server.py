"""Runs the application in uvicorn, and closes connections that stay silent."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bayespa.serve.guard import ACCESS, AUDIT, Guard

_SECONDS = 10  # for the headers of a request, and between two requests of a connection
_HEADERS = 64 * 1024  # bytes
_CONNECTIONS = 1000


class Connection(HttpToolsProtocol):
    """Closes connections whose headers are too slow or too long."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        """Process data that has arrived."""
        if self._in_headers:
            self._received += len(data)
            if self._received > _HEADERS + len(data):  # part of the last piece may be the body
                self.transport.close()
                return
        timer = self.timeout_keep_alive_task
        self.timeout_keep_alive_task = None  # otherwise a single byte would stop it
        super().data_received(data)
        if timer is not None:
            if self._in_headers:
                self.timeout_keep_alive_task = timer
            else:
                timer.cancel()

    def on_headers_complete(self) -> None:
        """Continue with the body; the guard limits its time and size."""
        self._in_headers = False
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._in_headers, self._received = True, 0

    def _expect_headers(self) -> None:
        self._in_headers, self._received = True, 0
        self.timeout_keep_alive_task = self.loop.call_later(_SECONDS, self.timeout_keep_alive_handler)


def log_to_stderr(access: bool) -> None:
    """Log messages and changes to standard error, and each request if `access`."""
    logging.basicConfig(stream=sys.stderr, format="%(message)s", level=logging.WARNING)
    ACCESS.setLevel(logging.INFO if access else logging.WARNING)
    AUDIT.setLevel(logging.INFO)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # anyone could fill the log with nonsense


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise OSError(error.errno, f"{error.strerror}: cannot listen at {host} port {port}") from error
    return listening


def run(
    app: Guard,
    listening: socket.socket,
    *,
    certificate: Path | None = None,
    key: Path | None = None,
    proxies: str = "",
    started: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests until a signal comes.

    Parameters
    ----------
    app : Guard
    listening : socket
    certificate, key : Path, optional
        For TLS.
    proxies : str
        Addresses of trusted proxies, separated by commas: their X-Forwarded-For and -Proto count.
    started : callable
        Called when the server is ready.
    """

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started()

    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=_SECONDS,
        timeout_graceful_shutdown=_SECONDS,
        backlog=2048,
    )
    Server(config).run(sockets=[listening])
