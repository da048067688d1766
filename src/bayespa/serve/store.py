"""SQLite: which ids were learned, and predictions that wait for their label."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bayespa.serve.log import Record

_TABLES = """
CREATE TABLE IF NOT EXISTS learned (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, checksum INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS waiting (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS progress (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL);
INSERT OR IGNORE INTO progress VALUES (1, 0);
"""


class Known(NamedTuple):
    """A document of the log: its number there, and a checksum of its text and label."""

    seq: int
    checksum: int


class Database:
    """A database beside the log. What is derived from the log can be made again from it.

    Parameters
    ----------
    path : Path
    most_waiting : int
        Predictions to keep until their label is known; the oldest give way.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     store = Database(pathlib.Path(name, "store.sqlite"), most_waiting=1)
    ...     store.keep_waiting([("a", "some words"), ("b", "others")])
    ...     store.waiting(["a", "b"])
    {'b': 'others'}
    """

    def __init__(self, path: Path, most_waiting: int = 100_000) -> None:
        self._most_waiting = most_waiting
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        path.chmod(0o600)
        # The log is what must not be lost; a transaction of this file may be, if the machine loses power.
        self._connection.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; {_TABLES}")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give the connection to this block alone; all of its changes are made, or none."""
        with self._lock:
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    # Ids of the log

    @property
    def seq(self) -> int:
        """Number of the last record of the log whose id is here."""
        with self._lock:
            (seq,) = self._connection.execute("SELECT seq FROM progress").fetchone()
        return int(seq)

    def add_learned(self, records: Iterable[tuple[Record, int]]) -> None:
        """Keep the ids of records, each with the checksum of its content."""
        rows = [(record.id, record.seq, checksum) for record, checksum in records]
        if rows:
            with self.transaction() as connection:
                connection.executemany("INSERT OR IGNORE INTO learned VALUES (?, ?, ?)", rows)
                connection.execute("UPDATE progress SET seq = ?", (rows[-1][1],))

    def learned(self, ids: Sequence[str]) -> dict[str, Known]:
        """Return what is known of those of the ids that are in the log."""
        found = {}
        with self._lock:
            for id_ in ids:
                row = self._connection.execute("SELECT seq, checksum FROM learned WHERE id = ?", (id_,))
                if (known := row.fetchone()) is not None:
                    found[id_] = Known(*known)
        return found

    # Predictions that wait

    def keep_waiting(self, predictions: Sequence[tuple[str, str]]) -> None:
        """Keep ids and texts of predictions until their label is known."""
        if not self._most_waiting:
            return
        with self.transaction() as connection:
            connection.executemany("INSERT INTO waiting (id, text) VALUES (?, ?)", predictions)
            connection.execute(
                "DELETE FROM waiting WHERE number <= (SELECT max(number) FROM waiting) - ?",
                (self._most_waiting,),
            )

    def waiting(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of those of the predictions that are kept."""
        found = {}
        with self._lock:
            for id_ in ids:
                row = self._connection.execute("SELECT text FROM waiting WHERE id = ?", (id_,)).fetchone()
                if row is not None:
                    found[id_] = row[0]
        return found

    @property
    def arrived(self) -> int:
        """Predictions that were kept so far."""
        with self._lock:
            (number,) = self._connection.execute("SELECT coalesce(max(number), 0) FROM waiting").fetchone()
        return int(number)

    def sync(self) -> None:
        """Make sure that all of it is on the disk."""
        with self._lock:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._connection.close()
