"""SQLite: ids that were learned, predictions that wait for a label, and positions in streams."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from bayespa.serve.log import Record

_LOGGER = logging.getLogger("bayespa.serve")
_TABLES = """
CREATE TABLE IF NOT EXISTS learned (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, checksum INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS waiting (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS progress (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL);
INSERT OR IGNORE INTO progress VALUES (1, 0);
CREATE TABLE IF NOT EXISTS streams (name TEXT PRIMARY KEY, offset TEXT NOT NULL);
"""

_SECONDS = 0.5  # between two times that predictions are written
_ROWS = 256  # per statement: each releases the interpreter's lock, and has to wait for it again


class Known(NamedTuple):
    """A document of the log: its number, and a checksum of its text and label."""

    seq: int
    checksum: int


class Database:
    """A database beside the log. Everything that comes from the log can be restored from it.

    Parameters
    ----------
    path : Path
    most_waiting : int
        How many predictions to keep until their label is known; the oldest are dropped.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     store = Database(pathlib.Path(name, "store.sqlite"), most_waiting=1)
    ...     store.keep_waiting([("a", "some words"), ("b", "others")])
    ...     found = store.waiting(["a", "b"])
    ...     store.close()
    >>> found
    {'b': 'others'}
    """

    def __init__(self, path: Path, most_waiting: int = 100_000) -> None:
        self._most_waiting = most_waiting
        self._lock = threading.Lock()
        self._buffer = threading.Lock()
        self._unwritten: dict[str, str] = {}  # predictions that are not written yet
        self._often: list[Callable[[sqlite3.Connection], None]] = []
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        path.chmod(0o600)
        # The log must not be lost; the last transactions of this file may be, if the machine loses power.
        self._connection.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; {_TABLES}")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write_often, name="bayespa-store", daemon=True)
        self._thread.start()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give this block the connection for itself; all of its changes are made, or none.

        Predictions that are not written yet are written first, so the block finds them all.
        """
        with self._lock:
            with self._buffer:
                arrived = list(self._unwritten.items())
            connection = self._connection
            connection.execute("BEGIN")
            try:
                if arrived:
                    _insert(connection, "waiting (id, text)", arrived)
                    connection.execute(
                        "DELETE FROM waiting WHERE number <= (SELECT max(number) FROM waiting) - ?",
                        (self._most_waiting,),
                    )
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            with self._buffer:
                for id_, _ in arrived:
                    self._unwritten.pop(id_, None)

    # Ids of the log

    @property
    def seq(self) -> int:
        """Number of the last record of the log whose id is in the database."""
        with self._lock:
            (seq,) = self._connection.execute("SELECT seq FROM progress").fetchone()
        return int(seq)

    def add_learned(self, records: Iterable[tuple[Record, int]]) -> None:
        """Keep the ids of records, each with the checksum of its content."""
        found = iter(records)
        while some := list(islice(found, 4096)):
            with self.transaction() as connection:
                rows = [(record.seq, record.id, checksum) for record, checksum in some]
                _insert(connection, "learned (seq, id, checksum)", rows)
                connection.execute("UPDATE progress SET seq = ?", (rows[-1][0],))
                _keep_offsets(connection, dict(r.offset for r, _ in some if r.offset is not None))

    def learned(self, ids: Sequence[str]) -> dict[str, Known]:
        """Return what is known of those ids that are in the log."""
        with self._lock:
            rows = _found(self._connection, "id, seq, checksum FROM learned", ids)
        return {id_: Known(seq, checksum) for id_, seq, checksum in rows}

    def forget(self, seq: int) -> None:
        """Forget ids of records before `seq`, except those of predictions that are kept."""
        with self.transaction() as connection:
            connection.execute(
                "DELETE FROM learned WHERE seq < ? "
                "AND NOT EXISTS (SELECT 1 FROM waiting WHERE waiting.id = learned.id)",
                (seq,),
            )

    # Streams of brokers

    @property
    def offsets(self) -> dict[str, Any]:
        """Positions in streams, by name: everything before is in the log, or was predicted."""
        with self.transaction() as connection:
            return {name: json.loads(offset) for name, offset in connection.execute("SELECT * FROM streams")}

    def keep_offset(self, name: str, offset: Any) -> None:
        """Save the position in a stream."""
        with self.transaction() as connection:
            _keep_offsets(connection, {name: offset})

    # Predictions that wait

    def keep_waiting(self, predictions: Iterable[tuple[str, str]]) -> None:
        """Keep ids and texts of predictions until their labels are known; they are written soon."""
        if self._most_waiting:
            with self._buffer:
                self._unwritten.update(predictions)
                for id_ in list(islice(self._unwritten, max(0, len(self._unwritten) - self._most_waiting))):
                    del self._unwritten[id_]

    def waiting(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of those predictions that are kept, by id."""
        with self._buffer:
            found = {id_: self._unwritten[id_] for id_ in ids if id_ in self._unwritten}
        if missing := [id_ for id_ in ids if id_ not in found]:
            with self._lock:
                found.update(_found(self._connection, "id, text FROM waiting", missing))
        return found

    @property
    def arrived(self) -> int:
        """Number of predictions so far."""
        with self.transaction() as connection:
            (number,) = connection.execute("SELECT coalesce(max(number), 0) FROM waiting").fetchone()
        return int(number)

    def often(self, write: Callable[[sqlite3.Connection], None]) -> None:
        """Call `write` with the connection at regular intervals, in a background thread."""
        self._often.append(write)

    def _write_often(self) -> None:
        while not self._ended.wait(_SECONDS):
            try:
                with self.transaction() as connection:  # this writes predictions, too
                    for write in self._often:
                        write(connection)
            except sqlite3.Error as error:  # a full disk, perhaps
                _LOGGER.warning("predictions are not kept for now: %s", error)

    def sync(self) -> None:
        """Make sure that everything is on the disk."""
        with self._lock:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def close(self) -> None:
        """Close the database."""
        self._ended.set()
        self._thread.join()
        with self.transaction():
            pass
        self._connection.close()


def _keep_offsets(connection: sqlite3.Connection, offsets: dict[str, Any]) -> None:
    rows = [(name, json.dumps(offset)) for name, offset in offsets.items()]
    connection.executemany("INSERT OR REPLACE INTO streams VALUES (?, ?)", rows)


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert the rows that are not there yet."""
    for begin in range(0, len(rows), _ROWS):
        some = rows[begin : begin + _ROWS]
        values = ", ".join([_marks(len(some[0]))] * len(some))
        connection.execute(f"INSERT OR IGNORE INTO {table} VALUES {values}", [v for row in some for v in row])


def _found(connection: sqlite3.Connection, what: str, ids: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the rows of these ids."""
    found: list[tuple[Any, ...]] = []
    for begin in range(0, len(ids), _ROWS):
        some = ids[begin : begin + _ROWS]
        found += connection.execute(f"SELECT {what} WHERE id IN {_marks(len(some))}", some).fetchall()
    return found


def _marks(n: int) -> str:
    return f"({', '.join('?' * n)})"
