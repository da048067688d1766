"""Twin of native/medlda_step.inc.h: the local step of online MedLDA, one token at a time.

Every sum is taken in the order of the native code: over rows of eight lanes, then over the lanes by halves.
Where the native code has two layouts for speed, there are two orders of summation here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayespa.native.medlda import LANES, Documents, Schedule, Statistics, StepResult, Tasks, Topics
from bayespa.reference.elementary import exp32, exp_digamma, exp_digamma32
from bayespa.reference.random import Stream, draw_inverse_gaussian, philox, subkey, uniform32

Float32 = NDArray[np.float32]
f32 = np.float32

FLOOR, LOG_FLOOR = f32(2.0**-50), f32(-34.657359)
LOG_EXACT_FLOOR = f32(-51.986038)  # 2^-75
BELOW_ONE = np.nextafter(f32(1), f32(0))
LEAST = f32(1e-30)
PULL = f32(0.1)
FEW_TASKS = 4


def padded(x: NDArray[np.floating], axis: int = -1) -> Float32:
    """Return float32, with the axis padded with zeros to a multiple of the lanes."""
    width = [(0, 0)] * x.ndim
    width[axis] = (0, -x.shape[axis] % LANES)
    return np.pad(x.astype(np.float32), width)


def rows_sum(x: Float32) -> np.float32:
    """Sum over rows of lanes, then over the lanes by halving."""
    lanes = np.cumsum(x.reshape(-1, LANES), axis=0, dtype=np.float32)[-1]
    four = lanes[:4] + lanes[4:]
    return f32((four[0] + four[2]) + (four[1] + four[3]))


def draw(u: np.float32, weights: Float32) -> int:
    """Draw a topic in proportion to the weights, by a uniform number u: its lane, then its row."""
    cumulative = np.cumsum(weights.reshape(-1, LANES), axis=0, dtype=np.float32)
    lanes = cumulative[-1]
    sums = lanes.copy()  # cumulated: over pairs, fours, all lanes
    sums[1::2] += sums[0::2]
    sums[[2, 3, 6, 7]] += sums[[1, 1, 5, 5]]
    sums[4:] += sums[3]
    t = u * sums[-1]
    lane = int(np.count_nonzero(sums <= t))
    left = min(t - sums[lane - 1] if lane else t, lanes[lane] * BELOW_ONE)
    return int(np.count_nonzero(cumulative[:-1, lane] <= left)) * LANES + lane


def to_factor(exponent: Float32, floor: np.float32 = LOG_FLOOR) -> tuple[Float32, Float32]:
    """Subtract the largest exponent, clip at the floor, and take exp."""
    exponent = np.maximum(exponent - exponent.max(), floor)
    return exponent, exp32(exponent)


def topic_factors(
    dirichlet: NDArray[np.floating], totals: NDArray[np.float64], vocabulary: NDArray[np.int64], *, mean: bool
) -> Float32:
    """Twin of `bayespa.native.medlda.topic_factors`."""
    scale = (1.0 / (totals if mean else exp_digamma(totals))).astype(np.float32)
    x = dirichlet[vocabulary].astype(np.float32)
    phi = (x if mean else exp_digamma32(x)) * scale
    return padded(np.maximum(phi * (f32(1) / phi.max(axis=1, keepdims=True)), FLOOR))


def exact_below(tasks: Tasks) -> NDArray[np.float64]:
    """Return c max √(Σⱼⱼ + Σₖₖ − 2Σⱼₖ) (T,): shorter documents weigh all topics. [MED-12]."""
    diagonal = np.diagonal(tasks.covariance, axis1=1, axis2=2)
    apart = (diagonal[:, :, None] + diagonal[:, None, :]) - 2.0 * tasks.covariance
    tokens: NDArray[np.float64] = tasks.cost * np.sqrt(apart.max(axis=(1, 2), initial=0.0))
    return tokens


@dataclass
class StepModel:
    """What all documents of a step share, rounded to float32."""

    phi: Float32  # (n_words, Kp)
    alpha: Float32  # (Kp,)
    mu: Float32  # (K, T)
    sigma: Float32  # (K, K, T)
    cost: Float32  # (T,)
    exact_below: NDArray[np.float64]  # (T,)
    margin: np.float32
    regression: bool
    schedule: Schedule

    @classmethod
    def of(cls, topics: Topics, tasks: Tasks, schedule: Schedule) -> StepModel:
        """Round the posterior."""
        sigma = (2 * tasks.covariance).astype(np.float32).transpose(1, 2, 0) * f32(0.5)
        mu = tasks.mean.T.astype(np.float32)
        cost = tasks.cost.astype(np.float32)
        return cls(
            topics.phi,
            padded(topics.alpha),
            mu,
            sigma,
            cost,
            exact_below(tasks),
            f32(tasks.margin),
            tasks.regression,
            schedule,
        )

    def hinges(self, label: np.float32) -> list[tuple[np.float32, np.float32]]:
        """Sign and target of each hinge ζ = sign (target − μᵀz̄) of a label."""
        if np.isnan(label):  # [MED-6]
            return []
        if self.regression:  # [MED-8]
            return [(f32(1), label - self.margin), (f32(-1), label + self.margin)]
        return [(label, label * self.margin)]


class DocumentChain:
    """The chain of one document; quantities are multiplied by its length n, so that nothing is rescaled."""

    def __init__(self, model: StepModel, words: NDArray[np.int32], document: int, labels: Float32) -> None:
        self.model, self.words, self.document, self.labels = model, words, document, labels
        self.n, self.length = len(words), f32(len(words))
        self.topics = np.zeros(self.n, np.int64)
        self.counts = np.zeros_like(model.alpha)
        self.sweep = 0
        self.penalty = np.empty(0, np.float32)

    # labels

    def attach_labels(self) -> None:
        """Arrange the hinges (task, sign, target, scale) and the linear part of the exponents."""
        model = self.model
        self.linear = np.zeros(len(model.mu), np.float32)
        if model.schedule.sampler == "averaging":  # [MED-7]: labels are signed dual variables
            for task, dual in enumerate(self.labels):
                if not np.isnan(dual):
                    self.linear += dual / self.length * model.mu[:, task]
            self.factor = to_factor(self.linear)[1]
            return
        by_task = [model.hinges(label) for label in self.labels]
        hinges = [(h, task, *hinge) for task, found in enumerate(by_task) for h, hinge in enumerate(found)]
        hinges.sort(key=lambda hinge: hinge[:2])  # first hinges of all tasks, then the second ones
        self.number = np.array([h for h, _, _, _ in hinges], np.int64)
        self.task = np.array([task for _, task, _, _ in hinges], np.int64)
        self.sign = np.array([sign for _, _, sign, _ in hinges], np.float32)
        self.target = np.array([target for _, _, _, target in hinges], np.float32) * self.length
        self.scale = model.cost[self.task]
        for task, sign in zip(self.task, self.sign, strict=True):
            self.linear += model.cost[task] * sign / self.length * model.mu[:, task]
        self.refresh()
        self.width = f32(2) * np.sqrt(np.maximum(self.square, LEAST))
        self.curvature = f32(0.5) / self.width
        self.reach = (np.abs(model.mu).max(axis=0) + self.width)[self.task]
        if self.augmented:
            self.reach[:] = np.inf  # a parabola is never straight
        pull = (self.linear.max() - self.linear.min()) * PULL
        size = self.length / (f32(8) * max(pull * pull, f32(1)))
        self.exact = self.weighs_all()
        self.block_size = 1 if self.exact else max(1, int(size))

    def weighs_all(self) -> bool:
        """Whether all topics of a token are weighed, by the rule of [MED-12] or on request."""
        sampler = self.model.schedule.sampler
        if sampler != "collapsed":
            return sampler == "exact"
        return bool((self.model.exact_below[self.task] > self.n).any())

    @property
    def few(self) -> bool:
        """Whether 2ΣC is always kept, not only where all topics are weighed."""
        return len(self.model.cost) <= FEW_TASKS

    def sigma_counts(self, k: int) -> Float32:
        """2 (ΣC)_k for every task."""
        total = np.zeros(len(self.model.cost), np.float32)
        for count, row in zip(self.counts, f32(2) * self.model.sigma[k], strict=False):
            total += count * row
        return total

    def refresh(self) -> None:
        """μᵀC and CᵀΣC from the counts."""
        mu = self.model.mu
        if self.few:
            self.product = np.zeros_like(mu)  # (K, T): 2ΣC
            for count, rows in zip(self.counts, f32(2) * self.model.sigma, strict=False):
                self.product += count * rows
            self.mean = self.dot_counts(mu)
            self.square = f32(0.5) * self.dot_counts(self.product)
            return
        self.mean = np.zeros(mu.shape[1], np.float32)
        square = np.zeros_like(self.mean)
        for k in np.flatnonzero(self.counts):
            self.mean += self.counts[k] * mu[k]
            square += self.counts[k] * self.sigma_counts(int(k))
        self.square = f32(0.5) * square

    def dot_counts(self, x: Float32) -> Float32:
        """Cᵀx of every column."""
        return np.array([rows_sum(self.counts * padded(column)) for column in x.T], np.float32)

    def penalties(self, mean: Float32, square: Float32) -> Float32:
        """Return the penalty of every hinge: scale √x [MED-3] or, given λ, scale x [MED-1]."""
        gap = self.target - mean[self.task]
        x = np.maximum(gap * gap + square[self.task], LEAST)
        return self.scale * (x if self.augmented else np.sqrt(x))

    @property
    def augmented(self) -> bool:
        """Whether λ is drawn."""
        return self.model.schedule.sampler == "augmented"

    def draw_scales(self) -> None:
        """[MED-2] draws λ⁻¹; c²/(2nλ) is the scale of the penalty [MED-1]."""
        schedule = self.model.schedule
        key = subkey(schedule.seed, 0, 0, schedule.round)
        for i, (task, number) in enumerate(zip(self.task, self.number, strict=True)):
            cost, gap = float(self.model.cost[task]), float(self.target[i] - self.mean[task])
            distance = np.sqrt(gap * gap + float(self.square[task])) / self.n
            stream = Stream(key, (int(2 * task + number), self.sweep, self.document))
            inverse = draw_inverse_gaussian(stream, 1.0 / (cost * distance), 1.0)
            self.scale[i] = cost * cost * inverse / (2.0 * self.n)

    def propose(self, begin: int, end: int) -> None:
        """Set the factors of a block, at the margin of the other tokens; a parabola replaces √ near 0."""
        others = self.n - (end - begin)
        rest = self.mean
        for k in self.topics[begin:end]:
            rest = rest - self.model.mu[k]
        gap = self.target - (f32(self.n - 1) / f32(others) if others else f32(0)) * rest[self.task]
        per_token = f32(1) / self.length
        total = np.zeros_like(self.linear)
        for h, task in enumerate(self.task):
            side = f32(gap[h] > self.reach[h]) - f32(gap[h] < -self.reach[h])
            if side != self.side[h]:  # a hinge out of reach is straight [MED-5]
                change = (side - self.side[h]) * self.scale[h] * per_token
                self.straight += change * self.model.mu[:, task]
                self.side[h] = side
            if side == 0:
                apart = gap[h] - self.model.mu[:, task]
                near = np.minimum(np.abs(apart), self.width[task])
                distance = (np.abs(apart) - near) + near * near * self.curvature[task]
                total += self.scale[h] * (apart * apart if self.augmented else distance)
        exponent, self.factor = to_factor(self.straight - per_token * total)
        self.residual = self.linear - exponent

    def weigh_all(self, j: int) -> None:
        """Weigh all candidates of a token in topic j by the target, in O(K T). [MED-12]."""
        mu, sigma = self.model.mu, self.model.sigma
        diagonal = np.diagonal(sigma).T  # (K, T)
        mean = self.mean + (mu - mu[j])
        apart = (diagonal + diagonal[j]) - f32(2) * sigma[j]
        square = self.square + ((self.product - self.product[j]) + apart)
        more = [
            self.sum_over_hinges(self.penalties(m, s) - self.penalty)
            for m, s in zip(mean, square, strict=True)
        ]
        exponent = self.linear - f32(1) / self.length * np.array(more)
        self.factor = to_factor(exponent, LOG_EXACT_FLOOR)[1]

    def accepts(self, u: np.float32, j: int, k: int, own: Float32 | None = None) -> bool:
        """Metropolis-Hastings for the move of a token from j to k; the counts are without it.

        `own` (T,) is what CᵀΣC gains in addition, if the model's covariance is not all of Σ.
        """
        mu, sigma = self.model.mu, self.model.sigma
        mean = self.mean + (mu[k] - mu[j])
        if self.few:
            apart = (sigma[k, k] + sigma[j, j]) - f32(2) * sigma[j, k]
            change = (self.product[k] - self.product[j]) + apart
        else:
            change = (self.sigma_counts(k) + sigma[k, k]) - (self.sigma_counts(j) + sigma[j, j])
        square = self.square + (change if own is None else change + own)
        penalty = self.penalties(mean, square)
        more = self.sum_over_hinges(penalty - self.penalty)
        if not self.exact:  # otherwise it was weighed with the rest
            log_ratio = (self.residual[k] - self.residual[j]) - more * (f32(1) / self.length)
            if u >= f32(1) + log_ratio and u >= exp32(log_ratio):
                return False
        self.mean, self.square, self.penalty = mean, square, penalty
        if self.few or self.exact:
            self.product += f32(2) * sigma[k] - f32(2) * sigma[j]
        return True

    def sum_over_hinges(self, x: Float32) -> np.float32:
        """Sum task by task if they are few, else eight tasks at a time."""
        by_task = np.zeros((2, *padded(self.mean).shape), np.float32)
        by_task[self.number, self.task] = x
        if self.few:
            return f32(np.cumsum(by_task.T, dtype=np.float32)[-1])
        return rows_sum(by_task.reshape(2, -1, LANES).transpose(1, 0, 2))

    # sweeps

    def uniforms(self, key: int) -> Float32:
        """One number for each token, addressed by (token, sweep, document, round)."""
        blocks = np.zeros((LANES * -(-self.n // (4 * LANES)), 4), np.uint32)  # eight to 32 tokens
        blocks[:, 0] = np.arange(len(blocks))
        blocks[:, 1:] = self.sweep, self.document, self.model.schedule.round
        words = philox(key, blocks).reshape(-1, LANES, 4).transpose(0, 2, 1)
        return uniform32(words).ravel()[: self.n]

    def begin_sweep(self) -> None:
        """Draw what a sweep with labels needs in addition to topics."""
        self.accept = self.uniforms(subkey(self.model.schedule.seed, 1, 0, 0))
        if self.augmented:
            self.draw_scales()
        self.side, self.straight = np.zeros_like(self.reach), self.linear.copy()
        self.penalty = self.penalties(self.mean, self.square)
        if self.exact and not self.few:
            self.product = np.array([self.sigma_counts(k) for k in range(len(self.model.mu))])

    def run_sweep(self, *, labelled: bool) -> None:
        """Draw every token once; in the first sweep the tokens arrive one by one."""
        schedule = self.model.schedule
        uniform = self.uniforms(schedule.seed)
        judged = labelled and schedule.sampler != "averaging"
        if judged:
            self.begin_sweep()
        for i in range(self.n):
            j = int(self.topics[i])
            if judged and self.exact:
                self.weigh_all(j)
            elif judged and i % self.block_size == 0:
                self.propose(i, min(i + self.block_size, self.n))
            if self.sweep > 0:
                self.counts[j] -= 1
            weights = (self.model.alpha + self.counts) * self.model.phi[self.words[i]]
            if labelled:
                weights = weights * padded(self.factor)
            k = draw(uniform[i], weights)
            if judged and k != j and not self.accepts(self.accept[i], j, k):
                k = j
            self.counts[k] += 1
            self.topics[i] = k
        self.sweep += 1
        self.refresh()

    def weights(self) -> tuple[Float32, Float32, Float32]:
        """Return what the state adds to precision, shift and loss of each task [MED-2, MED-3, MED-4]."""
        weight, shift, loss = np.zeros((3, len(self.labels)), np.float32)
        for task, label in enumerate(self.labels):
            cost = self.model.cost[task]
            for sign, target in self.model.hinges(label):
                gap = target * self.length - self.mean[task]
                distance = np.sqrt(max(gap * gap + self.square[task], LEAST))
                inverse = cost * self.length / distance
                weight[task] += inverse
                shift[task] += cost * sign + inverse * target
                loss[task] += cost * ((sign * gap + distance) / self.length)
        return weight, shift, loss


@np.errstate(all="ignore")
def step(documents: Documents, topics: Topics, tasks: Tasks, schedule: Schedule) -> StepResult:
    """Twin of `bayespa.native.medlda.step`."""
    result = StepResult.zeros(documents, topics, tasks, schedule)
    model = StepModel.of(topics, tasks, schedule)
    for d, document in enumerate(documents.ids):
        span = slice(documents.indptr[d], documents.indptr[d + 1])
        words = np.repeat(documents.words[span], documents.counts[span])
        if len(words):
            chain = DocumentChain(model, words, int(document), tasks.labels[d])
            run_phase(chain, d, schedule.free_sweeps, schedule.free_burn_in, result.free, labelled=False)
            chain.attach_labels()
            run_phase(chain, d, schedule.sweeps, schedule.burn_in, result.labelled, labelled=True)
    for statistics in (result.free, result.labelled):
        for total in (statistics.precision, statistics.shift, statistics.loss):
            total /= max(1, statistics.n_kept)
    return result


def run_phase(
    chain: DocumentChain, d: int, sweeps: int, burn_in: int, out: Statistics, *, labelled: bool
) -> None:
    """Run the sweeps of one phase and add what its kept ones say about document d."""
    total = np.zeros(len(chain.model.mu))
    for sweep in range(sweeps):
        chain.run_sweep(labelled=labelled)
        if sweep < burn_in:
            continue
        counts = chain.counts[: len(total)]
        total += counts
        if len(out.topic_word):
            np.add.at(out.topic_word, (chain.words, chain.topics), 1)
        margin = (chain.mean / chain.length).astype(np.float64)
        out.margin[d] += margin
        out.margin_var[d] += margin * margin + chain.square / chain.length / chain.length
        if chain.model.schedule.sampler == "averaging":
            continue
        weight, shift, loss = chain.weights()
        share = (counts / chain.length).astype(np.float64)
        out.loss[:] += loss
        out.shift[:] += shift[:, None] * share
        out.precision[:] += (weight[:, None] * share)[:, :, None] * share  # [MED-4]
    if sweeps > burn_in:
        kept = sweeps - burn_in
        out.topic_share[d] = total / (kept * chain.n)
        out.margin[d] /= kept
        out.margin_var[d] = out.margin_var[d] / kept - out.margin[d] * out.margin[d]
