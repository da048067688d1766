"""Topic models as plain values and arrays, for `bayespa.text.saving`, and back."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayespa.checks import require_number
from bayespa.estimators import Features
from bayespa.learning import State
from bayespa.posteriors import Joint
from bayespa.topics.estimator import Learned, Losses, TopicEstimator
from bayespa.topics.model import Model
from bayespa.topics.waiting import Backlog


@dataclass(eq=False, repr=False, kw_only=True)
class FiledEstimator(TopicEstimator):
    """A topic model that can be saved; subclasses know the meaning of y."""

    def _to_file(self) -> dict[str, Any]:
        """Return what was learned as plain values, for `bayespa.text.saving`."""
        learned: Learned = self._learned
        state, waiting = learned.state, learned.waiting
        return {
            "_posterior": state.posterior,
            "_version": state.version,
            "_n_steps": state.n_steps,
            "n_documents_seen_": state.n_examples,
            "objective_": np.array(learned.losses.tolist(), np.float64),
            "_key": learned.key,
            **learned.features.to_file(),
            **self._meaning_to_file(learned.meaning),
            **({} if waiting is None else {"_waiting": waiting.to_file(learned.meaning, learned.features.n)}),
        }

    @abstractmethod
    def _meaning_to_file(self, meaning: Any) -> dict[str, Any]:
        """Return the meaning of y as values of a file."""

    @abstractmethod
    def _meaning_from_file(self, learned: dict[str, Any]) -> Any:
        """Read the meaning of y from the values of a file."""

    def _from_file(self, learned: dict[str, Any]) -> None:
        """Publish the values of a file, after checking them."""
        try:
            self._learned = self._of_file(dict(learned))
        except KeyError as name:
            raise ValueError(f"{name} is missing") from None

    def _of_file(self, learned: dict[str, Any]) -> Learned:
        n_steps, posterior = learned.pop("_n_steps"), learned.pop("_posterior")
        version, n_documents = learned.pop("_version", n_steps), learned.pop("n_documents_seen_")
        key, losses = learned.pop("_key"), learned.pop("objective_")
        counted = {"_n_steps": n_steps, "_version": version, "n_documents_seen_": n_documents}
        for name, count in counted.items():
            require_number(name, count, 0, 2**53, whole=True)
        require_number("_key", key, 0, 2**64 - 1, whole=True)
        if isinstance(losses, np.ndarray) and losses.dtype == np.float64 and losses.ndim == 1:
            losses = losses.tolist()
        elif not isinstance(losses, list) or not all(isinstance(loss, float | int) for loss in losses):
            raise ValueError("objective_ must be a list of numbers")  # as it is in files of earlier versions
        if not isinstance(posterior, Joint):
            raise ValueError(f"_posterior is a {type(posterior).__name__}, not a Joint")
        features = Features.from_file(learned)
        meaning = self._meaning_from_file(learned)
        for name in ("_n_tasks", "_calibration"):  # redundant, in files of version 1
            learned.pop(name, None)
        waiting = learned.pop("_waiting", None)
        if waiting is not None:
            waiting = Backlog.from_file(waiting, features.n, meaning)
        if learned:
            raise ValueError(f"{next(iter(learned))!r} is not a name of this estimator")
        made = self._made(meaning, key)
        state = State(posterior, version, n_steps, n_documents)
        found = Learned(
            state, features=features, losses=Losses(list(map(float, losses))), waiting=waiting, **made
        )
        if waiting is not None and not posterior:  # all of its documents wait
            if version or n_steps or n_documents or losses:
                raise ValueError("it has learned documents, but has no posterior")
            return found
        model: Model = made["model"]
        posterior = model.converted(posterior)
        model.require_whole(posterior, features.n)
        return replace(found, state=replace(state, posterior=posterior))
