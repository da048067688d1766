"""Reviews: documents that people are asked about, their answers, and how both are kept.

Predicted documents wait in the service's store. An answer is first kept in a table of the same database, then
learned by the service under an id made of the prediction's. So a repeated call changes nothing, and a service
that was killed between the two learns the label when it is back.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from bayespa.serve.monitor import Classes, Judged, Monitor, chance
from bayespa.serve.queue import ReviewQueue, uncertainty
from bayespa.serve.service import Published, Service
from bayespa.serve.writer import Labelled, Refused
from bayespa.text.targets import names_of

SHOWN_LABELS, SHOWN_TOPICS = 5, 4  # of a document
PATIENCE = 10.0  # seconds to wait until a label is learned

_TABLES = """
CREATE TABLE IF NOT EXISTS reviews (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL, text TEXT NOT NULL, at_random INTEGER NOT NULL,
    person TEXT NOT NULL, turn INTEGER NOT NULL, state TEXT NOT NULL, label TEXT, learned INTEGER NOT NULL,
    seq INTEGER,
    predicted TEXT NOT NULL, probability REAL NOT NULL, version INTEGER NOT NULL, time REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leases (
    id TEXT PRIMARY KEY, person TEXT NOT NULL, until REAL NOT NULL, turn INTEGER NOT NULL
) WITHOUT ROWID;
"""


class NotYours(ValueError):
    """The document does not wait for this person: somebody else has it, or it was answered."""


class Answer(NamedTuple):
    """A person's answer about a document."""

    id: str
    number: int  # of the document's arrival
    text: str
    at_random: bool
    person: str
    turn: int  # counts answers
    state: str  # "reviewed", "skipped" or "undone"
    label: Classes | None  # the last one that was given
    learned: int  # how many different labels of it were learned, each under its own id
    seq: int | None  # place of the last of them in the log; None: it may not be there
    predicted: Classes  # before a label of it was learned
    probability: float  # of the prediction
    version: int  # of the model that predicted
    time: float  # seconds since the epoch

    @property
    def learn_id(self) -> str:
        """The id under which its label is learned."""
        return self.id if self.learned == 1 else f"{self.id}~{self.learned}"


class Reviews:
    """The review queue of a service, and the answers; several threads may call.

    Parameters
    ----------
    service : Service
        One that has started.
    monitor : Monitor
        Judges predictions by the labels that people give.
    share : float, default=0.2
        Share of the documents that are drawn at random.
    clock : callable
        Returns seconds since the epoch.

    Examples
    --------
    >>> import bayespa, pathlib, tempfile
    >>> model = bayespa.TextModel("linear", random_state=0)
    >>> _ = model.learn(["good film", "bad film"], ["positive", "negative"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.bayespa")
    ...     bayespa.save(model, path)
    ...     with Service(path) as service:
    ...         _ = service.predict(["a great film"])
    ...         reviews = Reviews(service, Monitor())
    ...         (waiting,) = reviews.next("Ann", n=1)
    ...         done = reviews.label("Ann", waiting["id"], "positive")
    >>> done["label"], done["after"] > done["before"]
    ('positive', True)
    """

    def __init__(
        self,
        service: Service,
        monitor: Monitor,
        *,
        share: float = 0.2,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.service, self.monitor, self._clock = service, monitor, clock
        self._lock = threading.Lock()
        self._texts: dict[str, str] = {}  # of documents in the queue
        self._fetched = 0  # the number of the last of them
        self._scored = -1  # the version of the model that orders them
        with service.store.transaction() as connection:
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            handed, self._turn = connection.execute(
                "SELECT count(*), coalesce(max(turn), 0) FROM reviews"
            ).fetchone()
            connection.execute("DELETE FROM leases WHERE id NOT IN (SELECT id FROM waiting)")
            leases = connection.execute(
                "SELECT number, waiting.id, text, person, until, turn FROM leases JOIN waiting USING (id)"
            ).fetchall()
        self.queue = ReviewQueue(share, handed=handed)
        for number, id, text, person, until, turn in leases:
            self._texts[id] = text
            self.queue.back(id, number, person, until, turn)
        for answer in self._select("WHERE state = 'reviewed' AND seq IS NULL ORDER BY turn"):
            with suppress(Refused):  # killed before it was learned, and so not acknowledged
                self._learn(answer)

    # What waits

    def next(self, person: str, n: int) -> list[dict[str, Any]]:
        """Lease n documents to a person, each with what the model says of it and why."""
        published = self.service.published
        with self._lock:
            self._refresh(published)
            items = self.queue.next(person, n, self._clock())
            with self.service.store.transaction() as connection:
                leases = [(item.id, item.person, item.until, item.turn) for item in items]
                connection.executemany("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)", leases)
            texts = [self._texts[item.id] for item in items]
        return [
            {
                "id": item.id,
                "drawn": "random" if item.at_random else "uncertain",
                **described(published, text),
            }
            for item, text in zip(items, texts, strict=True)
        ]

    def _refresh(self, published: Published) -> None:
        """Fetch new documents, drop those whose label was given, and let the model order the rest."""
        rows = self._waiting(self._fetched, self.queue.most)
        for number, id, text in rows:
            self._fetched = number
            if id not in self._texts:
                self._texts[id] = text
                self.queue.add(id, number, 0.0)
        if published.version != self._scored:
            for id in self.service.store.learned(list(self.queue.items)):
                if self._answered(id) is None:  # a label was given; what was undone waits
                    self.queue.remove(id)
        self._texts = {id: self._texts[id] for id in self.queue.items}
        if self._texts and (rows or published.version != self._scored):
            probabilities = published.model.predict_proba(list(self._texts.values()))
            unsure = uncertainty(probabilities, published.model.target == "classes")
            self.queue.rescore(dict(zip(self._texts, unsure.tolist(), strict=True)))
        self._scored = published.version

    def _waiting(self, after: int, most: int) -> list[tuple[int, str, str]]:
        """Return number, id and text of the last documents without an answer or a label, in order."""
        with self.service.store.transaction() as connection:
            rows = connection.execute(
                "SELECT number, id, text FROM waiting WHERE number > ? "
                "AND NOT EXISTS (SELECT 1 FROM learned WHERE learned.id = waiting.id) "
                "AND NOT EXISTS (SELECT 1 FROM reviews WHERE reviews.id = waiting.id) "
                "ORDER BY number DESC LIMIT ?",
                (after, most),
            ).fetchall()
        return rows[::-1]

    # Answers

    def label(self, person: str, id: str, label: Classes) -> dict[str, Any]:
        """Learn a person's label; return what the model said of the document before, and says now."""
        published = self.service.published
        if published.model.target == "classes":
            label = _in_order(names_of(label))
        with self._lock:
            answer = earlier = self._answered(id)
            new = answer is None or answer.state != "reviewed" or answer.label != label
            if new:
                answer = self._answer(person, id, "reviewed", label, published)
        assert answer is not None
        before = said(published, answer.text).probabilities
        try:
            version = self._learn(answer)
        except Refused:
            self._take_back(answer, earlier)
            raise
        if new and answer.learned == 1 and answer.at_random:
            self.monitor.judged(before, answer.predicted, label, given=False)
        after = said(self.service.published, answer.text).probabilities
        return {
            "id": id,
            "action": "label",
            "label": label,
            "predicted": answer.predicted,
            "before": chance(before, label),
            "after": chance(after, label),
            "version": version,
        }

    def skip(self, person: str, id: str) -> dict[str, Any]:
        """Skip a document: nobody is asked about it again."""
        published = self.service.published
        with self._lock:
            answer = self._answered(id)
            if answer is None or answer.state != "skipped":
                self._answer(person, id, "skipped", None, published)
        return {"id": id, "action": "skip"}

    def undo(self, person: str, id: str) -> dict[str, Any]:
        """Return a document to the person who answered; what the model learned stays learned."""
        with self._lock:
            answer = self._answered(id)
            if answer is None or answer.person != person:
                raise NotYours(f"there is no answer of yours to document {id!r}")
            if answer.state != "undone":
                self._keep(answer._replace(state="undone"))
                self._texts[id] = answer.text
                self.queue.back(id, answer.number, person, self._clock() + self.queue.lease)
        return {"id": id, "action": "undo"}

    def _answer(
        self, person: str, id: str, state: str, label: Classes | None, published: Published
    ) -> Answer:
        """Keep an answer to a document that waits for this person."""
        item, before = self.queue.items.get(id), self._answered(id)
        if item is None or (item.person != person and item.until > self._clock()):
            raise NotYours(f"document {id!r} does not wait for you: it was answered, or another has it")
        self._turn += 1
        if before is None:
            predicted = said(published, self._texts[id])
            before = Answer(
                id,
                item.number,
                self._texts[id],
                item.at_random,
                person,
                self._turn,
                state,
                None,
                0,
                None,
                predicted.label,
                predicted.probability,
                published.version,
                0.0,
            )
        another = label is not None and label != before.label
        answer = before._replace(
            person=person,
            turn=self._turn,
            state=state,
            label=before.label if label is None else label,
            learned=before.learned + another,
            seq=None if another else before.seq,
            time=self._clock(),
        )
        self._keep(answer)
        self.queue.remove(id)
        return answer

    def _take_back(self, answer: Answer, earlier: Answer | None) -> None:
        """Let a document wait again, because its label cannot be learned."""
        with self._lock:
            if earlier is not None:
                self._keep(earlier)
            else:
                with self.service.store.transaction() as connection:
                    connection.execute("DELETE FROM reviews WHERE id = ?", (answer.id,))
            self._texts[answer.id] = answer.text
            self.queue.back(answer.id, answer.number, answer.person, self._clock() + self.queue.lease)

    def _learn(self, answer: Answer) -> int:
        """Let the service learn an answer, if it has not; return the version of the model that knows it."""
        if answer.seq is not None:
            return answer.seq
        one = Labelled(answer.text, answer.label, answer.learn_id, "reviewed")
        (entry,) = self.service.learn([one], at_once=True).result(PATIENCE)
        with self.service.store.transaction() as connection:
            done = (entry.seq, answer.id, answer.learned)
            connection.execute("UPDATE reviews SET seq = ? WHERE id = ? AND learned = ?", done)
        self.service.wait_for(entry.seq, PATIENCE)
        return entry.seq

    def _keep(self, answer: Answer) -> None:
        with self.service.store.transaction() as connection:
            connection.execute(
                f"INSERT OR REPLACE INTO reviews ({', '.join(Answer._fields)}) "
                f"VALUES ({', '.join('?' * len(Answer._fields))})",
                answer._replace(label=_written(answer.label), predicted=_written(answer.predicted)),
            )
            connection.execute("DELETE FROM leases WHERE id = ?", (answer.id,))

    def _answered(self, id: str) -> Answer | None:
        return next(self._select("WHERE id = ?", id), None)

    def _answers(self, state: str) -> Iterator[Answer]:
        """Yield the answers in a state, in order."""
        return self._select("WHERE state = ? ORDER BY turn", state)

    def _select(self, where: str, *values: str) -> Iterator[Answer]:
        with self.service.store.transaction() as connection:
            rows = connection.execute(f"SELECT {', '.join(Answer._fields)} FROM reviews {where}", values)
            found = rows.fetchall()
        for row in found:
            one = Answer(*row)
            labels = {"label": _read(one.label), "predicted": _read(one.predicted)}
            yield one._replace(at_random=bool(one.at_random), **labels)

    # Results

    def tallies(self) -> dict[str, Judged]:
        """Return how often predictions were right: for documents drawn at random, and for chosen ones."""
        with self.service.store.transaction() as connection:
            rows = connection.execute(
                "SELECT at_random, count(*), sum(predicted = label) FROM reviews WHERE state = 'reviewed' "
                "GROUP BY at_random"
            ).fetchall()
        found = {bool(at_random): Judged(n, right) for at_random, n, right in rows}
        return {"random": found.get(True, Judged()), "chosen": found.get(False, Judged())}

    def export(self) -> Iterator[dict[str, Any]]:
        """Yield all documents with a known or predicted label; `origin` tells them apart."""
        for answer in self._answers("reviewed"):
            yield {
                "id": answer.id,
                "text": answer.text,
                "label": answer.label,
                "origin": "reviewed",
                "drawn": "random" if answer.at_random else "uncertain",
                "predicted": answer.predicted,
                "probability": answer.probability,
                "version": answer.version,
                "time": answer.time,
            }
        for record in self.service.records():
            if record.origin == "given":
                yield {"id": record.id, "text": record.text, "label": record.label, "origin": "given"}
        waiting = self._waiting(0, 100_000)
        for begin in range(0, len(waiting), 256):
            _, ids, texts = zip(*waiting[begin : begin + 256], strict=True)
            predicted = self.service.answer(texts, ids)
            for text, one in zip(texts, predicted.described(0), strict=True):
                found = {"id": one["id"], "text": text, "label": one["label"], "origin": "predicted"}
                yield {**found, "uncertainty": one["uncertainty"], "version": predicted.version}

    def summary(self, person: str) -> dict[str, Any]:
        """Return counts of documents and answers, and the person's last answer, which they may undo."""
        with self.service.store.transaction() as connection:
            states = dict(connection.execute("SELECT state, count(*) FROM reviews GROUP BY state").fetchall())
            last = connection.execute(
                "SELECT id, state, label FROM reviews WHERE person = ? AND state != 'undone' "
                "ORDER BY turn DESC LIMIT 1",
                (person,),
            ).fetchone()
        return {
            "waiting": len(self.queue.items),
            "reviewed": states.get("reviewed", 0),
            "skipped": states.get("skipped", 0),
            "share": self.queue.share,
            "accuracy": self.tallies()["random"].summary(),
            "last": None if last is None else {"id": last[0], "state": last[1], "label": _read(last[2])},
        }


class Said(NamedTuple):
    """What a model says of a text."""

    label: Classes
    probabilities: dict[str, float]  # of each class

    @property
    def probability(self) -> float:
        """The probability of the whole label."""
        return chance(self.probabilities, self.label)


def said(published: Published, text: str) -> Said:
    """Return what a model of classes says of a text."""
    answers = published.model.answer([text])
    assert answers.probabilities is not None
    (label,) = answers.labels
    probabilities = dict(zip(answers.class_names, answers.probabilities[0].tolist(), strict=True))
    return Said(_in_order(label) if isinstance(label, tuple) else str(label), probabilities)


def described(published: Published, text: str) -> dict[str, Any]:
    """Return a text with what a model says of it: the label, probable classes, and reasons for the best."""
    found = said(published, text)
    mine = names_of(found.label)
    order = sorted(found.probabilities, key=lambda name: (name not in mine, -found.probabilities[name]))
    why = published.model.explain(text, order[0])
    return {
        "text": text,
        "version": published.version,
        "label": found.label,
        "probability": found.probability,
        "labels": [
            {"label": name, "probability": found.probabilities[name]}
            for name in order[: max(SHOWN_LABELS, len(mine))]
        ],
        "explained": order[0],
        "words": [[word.word, word.contribution] for word in why.words],
        "topics": [
            {
                "name": topic.name,
                "share": topic.share,
                "contribution": topic.contribution,
                "words": list(topic.words),
            }
            for topic in why.topics[:SHOWN_TOPICS]
        ],
    }


# Labels in SQLite are JSON: equal labels give equal text


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _written(label: Classes | None) -> Any:
    return None if label is None else json.dumps(label)


def _read(text: Any) -> Any:
    label = None if text is None else json.loads(text)
    return tuple(label) if isinstance(label, list) else label
