"""Twin of native/medhdp_step.inc.h and medhdp_driver.cpp: the local step of online MedHDP, token by token."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespa.native.medhdp import HdpStepResult, HdpTopics
from bayespa.native.medlda import Documents, Schedule, Statistics, Tasks, Topics
from bayespa.reference.medlda import DocumentChain, Float32, StepModel, draw, f32, padded
from bayespa.reference.random import Stream, draw_beta, subkey

SHARD = 128  # documents
BIRTHS, STICKS, TABLES = 2, 3, 4  # purposes of random numbers, in addition to those of the labels


class PooledChain(DocumentChain):
    """One document's labels; all new topics count as one, but each has a variance of its own."""

    own_variance: Float32  # (T,)

    def pool(self, z: NDArray[np.int64]) -> None:
        """Start from these topics."""
        n_old = len(self.model.mu) - 1
        self.topics = np.minimum(z, n_old)
        self.counts = padded(np.bincount(self.topics, minlength=n_old + 1).astype(np.float64))
        new = np.unique(z[z >= n_old], return_counts=True)[1]
        self.own = f32((new**2).sum())
        self.refresh()

    def refresh(self) -> None:
        """μᵀC and CᵀΣC from the counts."""
        super().refresh()
        self.square = self.square + self.own * self.own_variance

    def weighs_all(self) -> bool:
        """Never: two new topics with different counts would need two factors."""
        return False

    def record(self) -> dict[str, Any]:
        """Return what [MED-4] and prediction need of a kept sweep: (T,) arrays."""
        margin = (self.mean / self.length).astype(np.float64)
        second = margin * margin + self.square / self.length / self.length
        averaging = self.model.schedule.sampler == "averaging"
        weight, shift, loss = np.zeros((3, len(margin)), np.float32) if averaging else self.weights()
        return {"margin": margin, "second": second, "weight": weight, "shift": shift, "loss": loss}


class Shard:
    """Consecutive documents and their view of the topics during one sweep."""

    def __init__(self, step: HdpStep, documents: range) -> None:
        topics, n = step.topics, step.n_slots
        self.step, self.documents = step, documents
        self.rest = topics.concentration * step.rest
        self.rows = step.prior_rows + step.word_counts.astype(np.float32)
        self.tokens = step.tokens.tolist()
        self.total = [f32(p + t) for p, t in zip(step.prior_totals, self.tokens, strict=True)]
        self.alpha = [f32(topics.concentration * m) for m in step.mass]
        self.tables = [0] * n
        self._next_fresh()

    def _next_fresh(self) -> None:
        """Add a slot for the next topic that is born."""
        topics = self.step.topics
        self.rows = np.concatenate([self.rows, np.full((len(self.rows), 1), topics.eta, np.float32)], axis=1)
        self.total.append(f32(topics.eta * topics.n_words))
        self.tokens.append(0)
        self.tables.append(0)
        self.alpha.append(f32(self.rest))
        self.fresh = len(self.tokens) - 1

    def sweep(self, index: int, phase: int, keep: bool) -> dict[int, dict[str, Any]]:
        """Sample the topics of the shard's tokens, then their tables; return the records of a kept sweep."""
        records = {}
        for d in self.documents:
            if not len(self.step.words[d]):
                continue
            self._walk(d, index, phase)
            self._seat(d)
            if keep:
                self.step.chains[d].pool(self.step.z[d])
                records[d] = self.step.chains[d].record()
        return records

    def _walk(self, d: int, index: int, phase: int) -> None:
        step, schedule, n_old, z = self.step, self.step.schedule, self.step.n_old, self.step.z[d]
        chain, first = step.chains[d], index == 0 and not step.started
        labelled = phase == 1 and len(chain.labels) > 0
        judged = labelled and schedule.sampler != "averaging"
        chain.sweep = index
        u = chain.uniforms(schedule.seed)
        if labelled:
            chain.pool(z)
            if index == schedule.free_sweeps:
                chain.attach_labels()
        if judged:
            chain.begin_sweep()
        counts = [0] * len(self.tokens) if first else np.bincount(z, minlength=len(self.tokens)).tolist()
        for i, word in enumerate(step.words[d].tolist()):
            j = int(z[i])
            if not first:
                if judged and i % chain.block_size == 0:
                    chain.propose(i, min(i + chain.block_size, chain.n))
                self._count(chain, word, j, -1)
                counts[j] -= 1
                if j >= n_old and self.tokens[j] == 0:
                    self._die(j)
            counts += [0] * (len(self.tokens) - len(counts))
            k = draw(u[i], self._weights(word, counts, chain.factor if labelled else None))
            if judged and k != j:
                own = (2 * counts[k] + 1) * (k >= n_old) - (2 * counts[j] + 1) * (j >= n_old)
                pooled = min(j, n_old), min(k, n_old)
                if not chain.accepts(chain.accept[i], *pooled, f32(own) * step.own_variance):
                    k = j
            if k >= n_old and self.tokens[k] == 0:
                self._be_born(k, i, index, chain.document)
            self._count(chain, word, k, 1)
            counts[k] += 1
            z[i], chain.topics[i] = k, min(k, n_old)

    def _weights(self, word: int, counts: list[int], factor: Float32 | None) -> Float32:
        """[HDP-1] and, at the fresh slot, [HDP-2]."""
        inverse = f32(1) / np.array(self.total, np.float32)
        prior = np.array(self.alpha, np.float32) + np.array(counts, np.float32)
        weights = prior * (self.rows[word] * inverse)
        if factor is not None:
            weights *= factor[np.minimum(np.arange(len(weights)), self.step.n_old)]
        return padded(weights)

    def _count(self, chain: PooledChain, word: int, k: int, amount: int) -> None:
        self.rows[word, k] += f32(amount)
        self.total[k] += f32(amount)
        self.tokens[k] += amount
        chain.counts[min(k, self.step.n_old)] += f32(amount)

    def _die(self, k: int) -> None:
        """Give back the mass of a topic of an earlier sweep; topics of this sweep lose tokens in the next."""
        self.rest += float(self.alpha[k])
        self.alpha[k] = f32(0)
        self.alpha[self.fresh] = f32(self.rest)

    def _be_born(self, k: int, token: int, index: int, identity: int) -> None:
        schedule, topics = self.step.schedule, self.step.topics
        first = index == 0 and not self.step.started
        gamma = topics.start_concentration if first else topics.stick_concentration
        stream = Stream(subkey(schedule.seed, BIRTHS, 0, schedule.round), (token, index, identity))
        mass = self.rest * draw_beta(stream, 1.0, gamma)
        self.rest -= mass
        self.alpha[k] = f32(mass)
        if k == self.fresh:
            self._next_fresh()
        self.alpha[self.fresh] = f32(self.rest)

    def _seat(self, d: int) -> None:
        """Seat the tokens of each topic in a Chinese restaurant [HDP-3]."""
        u = self.step.chains[d].uniforms(subkey(self.step.schedule.seed, TABLES, 0, 0))
        seated: dict[int, np.float32] = {}
        for i, k in enumerate(self.step.z[d].tolist()):
            before, mass = seated.get(k, f32(0)), self.alpha[k]
            seated[k] = before + f32(1)
            self.tables[k] += bool(before == 0 or u[i] * (mass + before) < mass)


class HdpStep:
    """The whole step; slots are numbered as in the native code."""

    def __init__(
        self,
        documents: Documents,
        topics: HdpTopics,
        tasks: Tasks,
        schedule: Schedule,
        start: NDArray[np.uint32] | None,
    ) -> None:
        self.documents, self.topics, self.schedule = documents, topics, schedule
        self.n_tasks = len(tasks.mean)
        self.n_old = topics.dirichlet.shape[1]
        n_docs = len(documents.ids)
        rows = [slice(*documents.indptr[d : d + 2]) for d in range(n_docs)]
        self.words = [np.repeat(documents.words[r], documents.counts[r]) for r in rows]
        self.started = start is not None
        edges = np.cumsum([len(w) for w in self.words])[:-1]
        none = np.full(sum(len(w) for w in self.words), -1)
        self.z = np.split(none if start is None else start.astype(np.int64), edges) if n_docs else []
        self.own_variance = topics.own_variance.astype(np.float32)
        no_topics = Topics(np.empty((0, 0), np.float32), np.zeros(self.n_old + 1, np.float32))
        model = StepModel.of(no_topics, tasks, schedule)
        self.chains = [
            PooledChain(model, words, int(identity), labels)
            for words, identity, labels in zip(self.words, documents.ids, tasks.labels, strict=True)
        ]
        for chain in self.chains:
            chain.own_variance = self.own_variance
        self.tokens = np.bincount([] if start is None else start, minlength=self.n_old)
        self.recorded = [True] * self.n_old
        self.tables = np.zeros(self.n_old, np.int64)
        self.time = 0

    @property
    def n_slots(self) -> int:
        """Number of slots that hold a topic, or have held one."""
        return len(self.tokens)

    def run(self) -> HdpStepResult:
        """Run both phases."""
        schedule = self.schedule
        self._draw_sticks()
        kept: list[list[dict[str, Any]]] = [[], []]
        index = 0
        for phase, (sweeps, burn_in) in enumerate(
            [(schedule.free_sweeps, schedule.free_burn_in), (schedule.sweeps, schedule.burn_in)]
        ):
            for i in range(sweeps):
                self.tables[:] = 0
                records: dict[int, dict[str, Any]] = {}
                for wave in self._waves(first=index == 0 and not self.started):
                    self._count_words()
                    shards = [Shard(self, documents) for documents in wave]
                    for shard in shards:
                        records |= shard.sweep(index, phase, i >= burn_in)
                    self._merge(shards)
                    self._draw_sticks()
                if i >= burn_in:
                    kept[phase].append(self._record(records))
                index += 1
        return self._result(kept)

    def _waves(self, *, first: bool) -> list[list[range]]:
        """Return waves of shards: in the first sweep each as large as all before it, later a single one."""
        n_docs = len(self.words)
        shards = [range(b, min(b + SHARD, n_docs)) for b in range(0, n_docs, SHARD)]
        if not first:
            return [shards] if shards else []
        waves, begin = [], 0
        while begin < len(shards):
            waves.append(shards[begin : max(1, 2 * begin)])
            begin += len(waves[-1])
        return waves

    def _count_words(self) -> None:
        topics, n_new = self.topics, self.n_slots - self.n_old
        self.word_counts = np.zeros((len(topics.dirichlet), self.n_slots), np.int64)
        for words, z in zip(self.words, self.z, strict=True):
            np.add.at(self.word_counts, (words[z >= 0], z[z >= 0]), 1)
        new = np.full((len(topics.dirichlet), n_new), topics.eta, np.float32)
        self.prior_rows = np.concatenate([topics.dirichlet, new], axis=1)
        self.prior_totals = [*topics.totals, *[topics.eta * topics.n_words] * n_new]

    def _merge(self, shards: list[Shard]) -> None:
        """Give each new topic of the shards the first free slot, in order."""
        n_shared, before = self.n_slots, self.tokens.copy()
        for shard in shards:
            self.tokens += np.array(shard.tokens[:n_shared], np.int64) - before
            self.tables += np.array(shard.tables[:n_shared], np.int64)
        for shard in shards:
            slot_of = np.arange(len(shard.tokens))
            for k in range(n_shared, len(shard.tokens)):
                if shard.tokens[k]:
                    slot_of[k] = self._free_slot()
                    self.tokens[slot_of[k]], self.tables[slot_of[k]] = shard.tokens[k], shard.tables[k]
            for d in shard.documents:
                self.z[d] = slot_of[self.z[d]]

    def _free_slot(self) -> int:
        for k in range(self.n_old, self.n_slots):
            if not self.tokens[k] and not self.recorded[k]:
                return k
        self.tokens, self.tables = np.append(self.tokens, 0), np.append(self.tables, 0)
        self.recorded.append(False)
        return self.n_slots - 1

    def _draw_sticks(self) -> None:
        """[HDP-4]."""
        topics, schedule = self.topics, self.schedule
        key = subkey(schedule.seed, STICKS, 0, schedule.round)
        self.mass, self.rest = np.zeros(self.n_slots), 1.0
        for k, tables in enumerate(self.tables.tolist()):
            old, later = k < self.n_old, int(self.tables[k + 1 :].sum())
            if not old and not tables:
                continue
            u, v = (topics.u[k], topics.v[k]) if old else (0.0, topics.stick_concentration)
            self.mass[k] = self.rest * draw_beta(Stream(key, (k, self.time, 0)), u + tables, v + later)
            self.rest -= self.mass[k]
        self.time += 1

    def _record(self, records: dict[int, dict[str, Any]]) -> dict[str, Any]:
        """Return the statistics of a kept sweep; its topics come first in the result."""
        for k in np.flatnonzero(self.tokens):
            self.recorded[k] = True
        self._count_words()
        counts = np.array([np.bincount(z, minlength=self.n_slots) for z in self.z]).reshape(-1, self.n_slots)
        return {
            "topic_word": self.word_counts,
            "tables": self.tables.copy(),
            "counts": counts,
            "records": records,
        }

    def _result(self, kept: list[list[dict[str, Any]]]) -> HdpStepResult:
        n_topics = max([self.n_old, *(s["counts"].shape[1] for sweeps in kept for s in sweeps)])
        last = kept[1] or kept[0]
        topic_word, tables = (
            np.zeros((len(self.topics.dirichlet), n_topics), np.int32),
            np.zeros(n_topics, np.int64),
        )
        for sweep in last:
            topic_word[:, : sweep["topic_word"].shape[1]] += sweep["topic_word"].astype(np.int32)
            tables[: len(sweep["tables"])] += sweep["tables"]
        free, labelled = (self._statistics(sweeps, n_topics) for sweeps in kept)
        topics = np.concatenate([*self.z, np.empty(0, np.int64)]).astype(np.uint32)
        return HdpStepResult(topic_word, tables, free, labelled, topics)

    def _statistics(self, sweeps: list[dict[str, Any]], n_topics: int) -> Statistics:
        n_tasks, n_docs, n_kept = self.n_tasks, len(self.words), max(1, len(sweeps))
        share = np.zeros((n_docs, n_topics))
        margin, second = np.zeros((n_docs, n_tasks)), np.zeros((n_docs, n_tasks))
        precision, shift, loss = (
            np.zeros((n_tasks, n_topics, n_topics)),
            np.zeros((n_tasks, n_topics)),
            np.zeros(n_tasks),
        )
        for sweep in sweeps:
            counts = np.zeros((n_docs, n_topics))
            counts[:, : sweep["counts"].shape[1]] = sweep["counts"]
            share += counts
            for d, record in sorted(sweep["records"].items()):
                margin[d] += record["margin"]
                second[d] += record["second"]
                zbar = (counts[d].astype(np.float32) / f32(len(self.words[d]))).astype(np.float64)
                weight = record["weight"].astype(np.float64)[:, None]
                loss += record["loss"]
                shift += record["shift"].astype(np.float64)[:, None] * zbar  # [MED-4]
                precision += (weight * zbar)[:, :, None] * zbar  # [MED-4]
        margin /= n_kept
        lengths = np.array([max(1, len(w)) for w in self.words], np.float64)[:, None]
        return Statistics(
            len(sweeps),
            np.empty((0, n_topics), np.int32),
            (share / (n_kept * lengths)).astype(np.float32),
            margin,
            second / n_kept - margin * margin,
            precision / n_kept,
            shift / n_kept,
            loss / n_kept,
        )


@np.errstate(all="ignore")
def step(
    documents: Documents,
    topics: HdpTopics,
    tasks: Tasks,
    schedule: Schedule,
    *,
    start: NDArray[np.uint32] | None = None,
) -> HdpStepResult:
    """Twin of :func:`bayespa.native.medhdp.step`."""
    return HdpStep(documents, topics, tasks, schedule, start).run()
