"""Who may do what: tokens, sessions of the page, limits, and headers."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Role = Literal["read", "learn", "admin"]  # each may do everything that the roles before it may
ROLES: tuple[Role, ...] = get_args(Role)
_LINE = re.compile(r"(?P<role>read|learn|admin) (?P<name>\S+) sha256:(?P<hash>[0-9a-f]{64})")
_GUESSES = 0.5  # wrong tokens per second that an address may try
HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Principal:
    """Who asks."""

    name: str
    role: Role

    def may(self, role: Role) -> bool:
        """Say whether they may do what this role may."""
        return ROLES.index(self.role) >= ROLES.index(role)


EVERYBODY = Principal("everybody", "admin")  # on this machine, if there are no tokens


class Rates:
    """Allows each of many clients so many requests per second, and one second's worth of them at once.

    >>> rates = Rates(2.0)
    >>> [rates.wait("a", now=0.0) for _ in range(3)], rates.wait("b", now=0.0), rates.wait("a", now=1.0)
    ([0.0, 0.0, 0.5], 0.0, 0.0)
    """

    MOST = 10_000  # clients that are remembered

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._clients: dict[str, tuple[float, float]] = {}  # requests left, and since when

    def wait(self, client: str, now: float) -> float:
        """Count a request; return how many seconds to wait if it is one too many, else 0."""
        most = max(1.0, self._per_second)
        left, since = self._clients.get(client, (most, now))
        left = min(most, left + (now - since) * self._per_second)
        if len(self._clients) >= self.MOST and client not in self._clients:
            self._clients.clear()  # a client with so many addresses could not be slowed down anyway
        self._clients[client] = (left - 1.0, now) if left >= 1.0 else (left, now)
        return 0.0 if left >= 1.0 else (1.0 - left) / self._per_second


class Tokens:
    """Tokens by their hashes.

    A file of tokens has a line for each: a role, a name, and the hash, from which nobody can compute the
    token. Empty lines and lines that begin with # are ignored.

    Examples
    --------
    >>> token, line = new_token("laptop", "learn")
    >>> Tokens([line]).find(token)
    Principal(name='laptop', role='learn')
    >>> Tokens([line]).find("guess") is None
    True
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._known: list[tuple[bytes, Principal]] = []
        self._guesses = Rates(_GUESSES)
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            found = _LINE.fullmatch(line.strip())
            if found is None:
                raise ValueError(
                    f"line {number} of the tokens is not 'ROLE NAME sha256:HASH'; make one by bayespa token"
                )
            role = next(role for role in ROLES if role == found["role"])
            self._known.append((bytes.fromhex(found["hash"]), Principal(found["name"], role)))
        if not self._known:
            raise ValueError("there is no token in the file; make one by bayespa token")

    @classmethod
    def read(cls, path: Path) -> Tokens:
        """Read a file of tokens."""
        return cls(path.read_text(encoding="utf-8").splitlines())

    def knows(self, principal: Principal) -> bool:
        """Say whether there is a token of this name and role."""
        return any(principal == known for _, known in self._known)

    def find(self, token: str) -> Principal | None:
        """Return whose token it is; the time this takes does not depend on the token."""
        own, found = hashlib.sha256(token.encode(errors="replace")).digest(), None
        for known, principal in self._known:
            if hmac.compare_digest(own, known):
                found = principal
        return found

    def guessed(self, address: str) -> float:
        """Count a wrong token; return how many seconds to wait if there were too many, else 0."""
        return self._guesses.wait(address, time.monotonic())


def new_token(name: str, role: Role) -> tuple[str, str]:
    """Return a new token, and its line for the file of tokens, which does not reveal it."""
    if not re.fullmatch(r"\S+", name):
        raise ValueError(f"the name {name!r} of a token must be one word")
    token = secrets.token_urlsafe(32)
    return token, f"{role} {name} sha256:{hashlib.sha256(token.encode()).hexdigest()}"


class Sessions:
    """Sessions of the page: cookies that only this service can make, and that expire.

    Parameters
    ----------
    key : bytes
        A secret: whoever has it can make sessions.
    seconds : float
        How long a session lasts.

    Examples
    --------
    >>> sessions = Sessions(b"secret")
    >>> cookie = sessions.begin(Principal("laptop", "learn"))
    >>> sessions.find(cookie)
    Principal(name='laptop', role='learn')
    >>> sessions.find(cookie.replace("learn", "admin")) is None
    True
    """

    def __init__(self, key: bytes, seconds: float = 8 * 3600.0) -> None:
        self._key, self._seconds = key, seconds

    @classmethod
    def kept(cls, path: Path) -> Sessions:
        """Return sessions with the key of a file, so that they survive a restart."""
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as file:
                file.write(secrets.token_bytes(32))
        return cls(path.read_bytes())

    def begin(self, principal: Principal) -> str:
        """Return the cookie of a new session."""
        until = int(time.time() + self._seconds)
        content = f"{principal.role}.{until}.{secrets.token_hex(8)}.{principal.name.encode().hex()}"
        return f"{content}.{self._signature('session', content)}"

    def find(self, cookie: str) -> Principal | None:
        """Return whose session it is, if it is genuine and has not expired."""
        content, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature("session", content).encode()):
            return None
        role, until, _, name = content.split(".")
        if int(until) < time.time():
            return None
        return Principal(bytes.fromhex(name).decode(), next(known for known in ROLES if known == role))

    def csrf(self, cookie: str) -> str:
        """Return the secret that the page sends with each change; another site cannot know it."""
        return self._signature("csrf", cookie)

    def _signature(self, what: str, content: str) -> str:
        return hmac.new(self._key, f"{what}:{content}".encode(), "sha256").hexdigest()
