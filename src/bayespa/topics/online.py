"""Base class of topic models that learn a stream in mini-batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayespa.estimators import Roles
from bayespa.learning import Flight, State
from bayespa.posteriors import Joint
from bayespa.topics.documents import Corpus
from bayespa.topics.estimator import Learned, TopicEstimator, with_room


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineEstimator(TopicEstimator):
    """A topic model that learns a stream in mini-batches.

    Parameters
    ----------
    batch_size : int or None
        Documents per mini-batch; in `partial_fit`, documents wait until it is whole. None: all of a call,
        which is batch learning and needs several `n_passes`.
    n_passes : int or None
        Passes of `fit` over the corpus. A mini-batch replaces what it taught before, so no document counts
        twice. None: one pass or, if words decide, several over a small corpus: until the model has seen 4096
        documents, or 256 per class; numbers from 768 documents on in one pass. Topics are then learned in the
        first pass only. `partial_fit` makes one pass.
    discount : float or "auto"
        What to forget in a stream that changes. "auto": what was learned of a class, once predictions show
        that the class has changed; nothing in several passes. 1: nothing. Below 1: before each mini-batch the
        posterior moves back towards the prior by this factor.
    lag : int
        Mini-batches that are computed at once; fewer at the beginning. With more than 1, processes or
        machines can share the work, see ``workers`` of `fit`. The result depends on the lag, and in
        `partial_fit` then on how documents are cut into calls, but not on the workers.
    expert : dict or None
        Parameters that are rarely needed, see the notes. `expert_` has all values in use.
    """

    batch_size: int | None = 256
    n_passes: int | None = None
    discount: float | str = "auto"
    lag: int = 1
    expert: Mapping[str, Any] | None = None

    def _schedule(self, values: dict[str, Any]) -> dict[str, Any]:
        schedule = {name: values[name] for name in ("batch_size", "n_passes", "lag")}
        schedule["discount"] = discount = _rate(values)
        if values["n_passes"] is None and (values.get("decides", "topics") == "topics" or discount < 1.0):
            schedule["n_passes"] = 1
        return schedule

    @property
    def expert_(self) -> dict[str, Any]:
        """All parameters of `expert`, with the values in use."""
        values, own = self._values(), set(self._get_param_names())
        return {name: value for name, value in values.items() if name not in own}

    # Learning ahead: several mini-batches of a stream in progress, which may have new words and classes.

    def _launch(
        self, flight: Flight[Joint], last: Learned | None, X: Any, y: Any, classes: Any, roles: Roles
    ) -> Learned:
        """Start learning a mini-batch under the current posterior; return the plan, for `_land`.

        `last` is the plan of the mini-batch before, if that is still in progress.
        """
        now: Learned = self._learned
        before = now if last is None else last
        corpus = Corpus.of(X, name=self._name)
        meaning, targets = self._read(len(corpus), y, classes, before.meaning, fit=False)
        meaning = meaning.begun(targets)
        planned = self._planned(before, X, corpus.counts.shape[1], meaning, roles)
        batch = corpus.with_roles(planned.features).batch(np.arange(len(corpus)), meaning.tasks(targets))
        state, model = self._faded(now), planned.model
        posterior = state.posterior
        if meaning is not now.meaning:
            tasks = meaning.tasks_before(now.meaning)
            posterior = model.topics.grown(posterior, now.features.n, *tasks)
        flight.launch(model, state, batch, needed=model.near(posterior, batch))
        return replace(planned, state=State(Joint()))

    def _land(self, flight: Flight[Joint], planned: Learned) -> None:
        """Add what the oldest mini-batch in progress has taught, and publish it."""
        learned = with_room(self._learned, planned)
        state, step = flight.land(self._faded(learned))
        losses = learned.losses.extended([step.objective / max(1, step.n_examples)])
        margin = step.margin  # type: ignore[attr-defined]  # a TopicStep
        self._learned = replace(planned, state=state, losses=losses, progressive=margin, n_recent=0)

    def _faded(self, learned: Learned) -> State[Joint]:
        """Return the state for the next mini-batch, after forgetting."""
        state, discount = learned.state, _rate(learned.values)
        if discount == 1.0:
            return state
        prior = learned.model.prior(learned.features.n)
        return replace(state, posterior=state.posterior.discounted(discount, prior))


def _rate(values: Mapping[str, Any]) -> float:
    """Return the factor of what is remembered after each mini-batch."""
    discount = values["discount"]
    return 1.0 if discount == "auto" else float(discount)
