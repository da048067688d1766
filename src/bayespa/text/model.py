"""A model that learns texts: it counts words, reads labels, and calls an estimator."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from bayespa.checks import require_number
from bayespa.corpus import (
    Bag,
    BagVectorizer,
    ClassNames,
    Label,
    OnlineVocabulary,
    Target,
    vectorizer_to_state,
)
from bayespa.corpus.documents import brief
from bayespa.learning import HERE, Executor, Flight
from bayespa.text.columns import new_vocabulary, roles_of
from bayespa.text.history import History
from bayespa.text.predictor import (
    KINDS,
    NO_CLASSES,
    Content,
    CountsOfTexts,
    LearnedTexts,
    Recorder,
    TextPredictor,
    counts_of,
    require_column,
)
from bayespa.text.targets import as_target, encoded, plain_label, target_of

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Counted:
    """Documents with counted words, and the state of the vocabulary at that time."""

    counts: CountsOfTexts  # (n, n_words)
    mark: int | None = None

    def __getitem__(self, rows: slice) -> Counted:
        return Counted(self.counts[rows], self.mark)


@dataclass(frozen=True)
class Launched:
    """Documents that are being learned: see `TextModel.launch`."""

    counted: Counted
    labels: list[Label]
    classes: ClassNames
    planned: Any  # by the estimator


class TextModel(TextPredictor):
    """A classifier or regressor of texts, which learns from a stream.

    The first labels show whether labels are classes or numbers, unless `target` says so. New classes and
    words may appear at any time.

    Parameters
    ----------
    kind : {"medlda", "medhdp", "linear"}, default="medlda"
        "medlda" and "medhdp" decide by topics and words (`MedLDAClassifier`, `MedLDARegressor`,
        `MedHDPClassifier`, `MedHDPRegressor`), "linear" by words only.
    vectorizer : OnlineVocabulary, BagVectorizer, HashingVectorizer or a fitted CountVectorizer, optional
        Counts words. By default a growing vocabulary of all words, and of pairs of adjacent words, by which
        decisions are made, too, but not topics; for bags, a `BagVectorizer`.
    target : {"class", "classes", "number"}, optional
        What labels are; by default the first ones show it.
    classes : iterable of str, optional
        Classes that are known from the start.
    reading : dict, optional
        Options of `bayespa.corpus.read` that the model was trained with; they are saved with it.
    stop_words : "english" or collection of str, optional, default="english"
        Words that topics leave out; decisions still use them. "english" is scikit-learn's list.
    **parameters
        Parameters of the estimator.

    Attributes
    ----------
    estimator : estimator
        The estimator, once something was learned.
    classes : ClassNames
        The classes, in the order of their appearance.
    seen_without_class : bool
        Whether a document had no class (an empty tuple). Until then, `predict` gives each at least one.
    history : History
        How learning went, as recorded by `bayespa.text.stream`.

    Examples
    --------
    >>> from bayespa import TextModel
    >>> from bayespa.datasets import load_arxiv_sample
    >>> papers = load_arxiv_sample(subset="train")
    >>> model = TextModel(random_state=0).learn(papers.data, [labels[0] for labels in papers.labels])
    >>> model
    <TextModel medlda: 24480 words and 20000 pairs, 20 classes>
    >>> model.predict(["Groups of automorphisms of a free group"])
    ['math.GR']
    """

    def __init__(
        self,
        kind: str = "medlda",
        *,
        vectorizer: Any = None,
        target: Target | None = None,
        classes: Iterable[str] = (),
        reading: dict[str, Any] | None = None,
        stop_words: str | Collection[str] | None = "english",
        **parameters: Any,
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"kind={kind!r} is unknown; use one of {', '.join(map(repr, KINDS))}")
        if target not in (None, *get_args(Target)):
            raise ValueError(f"target={target!r} is unknown; use one of {', '.join(get_args(Target))}")
        if isinstance(stop_words, str) and stop_words != "english":
            raise ValueError(f"stop_words={stop_words!r} is unknown; use 'english' or a collection of words")
        self.kind = kind
        self.vectorizer = vectorizer
        self.reading = dict(reading or {})
        self.stop_words = stop_words
        self.parameters = parameters
        self._counting = threading.RLock()
        self._counter = object()  # identifies who may count ahead of learning
        estimator = None if target is None else self._new_estimator(target)
        self._learned = LearnedTexts(estimator, target, tuple(ClassNames(classes).names))

    def with_run(self, run: dict[str, Any] | None) -> Self:
        """Set the progress in another stream; None: no stream is being learned."""
        self._learned = replace(self._learned, run=run)
        return self

    def with_jobs(self, n_jobs: int) -> Self:
        """Set the number of threads, -1 for one per processor; the result is the same."""
        self.learner.n_jobs = n_jobs
        if isinstance(self.vectorizer, OnlineVocabulary):
            self.vectorizer.n_jobs = n_jobs
        return self

    def with_lag(self, lag: int) -> Self:
        """Set the number of mini-batches of a stream that are computed at once."""
        self.learner.lag = lag
        return self

    @property
    def batch_size(self) -> int:
        """The best size of a mini-batch."""
        estimator = self.learner or self._new_estimator("class")
        if estimator.batch_size is None:
            return 256
        require_number("batch_size", estimator.batch_size, 1, whole=True)
        return int(estimator.batch_size)

    @property
    def first_batch_size(self) -> int:
        """The best number of documents in the first call; some models are initialised from them."""
        return max(self.batch_size, (self.learner or self._new_estimator("class"))._first_call() or 0)

    @property
    def lag(self) -> int:
        """Number of mini-batches of a stream that are computed at once."""
        estimator = self.learner or self._new_estimator("class")
        require_number("lag", estimator.lag, 1, 1024, whole=True)
        return int(estimator.lag)

    # Learning

    def learn(self, texts: Sequence[Content], labels: Sequence[Label]) -> Self:
        """Learn documents, in their order: all of them, or none.

        How documents are cut into calls does not change the model. A mini-batch is learned when it is whole.
        The documents after it wait, and count for predictions at once. See `settle`.

        Parameters
        ----------
        texts : sequence of n str (or of n bytes: UTF-8), or of n Bag
        labels : sequence of n labels
            Each is a class (str or int), several classes (tuple, list or set), or a number (float). Unknown
            labels are None, NaN or an empty text.

        Returns
        -------
        self
        """
        require_column(labels, "labels")
        target, checked, classes = self._checked(labels)
        if len(texts) != len(labels):
            raise ValueError(
                f"there are {len(texts)} texts and {len(labels)} labels; give one each, None where unknown"
            )
        self.take_back()
        try:
            self._learn(texts, target, checked, classes)
        except BaseException:
            self.take_back()
            raise
        self.learner._ready()  # now that nobody holds the state before, whose memory it takes
        return self

    def _learn(
        self, texts: Sequence[Content], target: Target, labels: list[Label], classes: ClassNames
    ) -> None:
        """Learn documents; a mini-batch has the words and classes up to its last document, not those after.

        So it does not matter how documents are cut into calls.
        """
        before, known, begin = self._learned, self.classes, 0
        estimator = self._new_estimator(target) if before.estimator is None else copy(before.estimator)
        while True:
            end = min(len(texts), begin + (estimator._n_missing() or len(texts)))
            counted, piece = self.count(texts[begin:end]), labels[begin:end]
            if target != "number":
                known.learn(piece)
                if len(known) < 2:  # learning starts with two
                    known = ClassNames(classes.names[:2])
            self._taught(estimator, target, counted, piece, known)
            begin = end
            if begin == len(texts):
                self._publish(estimator, target, counted, labels, classes)
                return

    def _taught(
        self,
        estimator: Any,
        target: Target,
        counted: Counted,
        labels: list[Label],
        classes: ClassNames,
        **options: Any,
    ) -> None:
        """Let an estimator learn documents."""
        counts = counted.counts
        if not counts.shape[1]:
            raise ValueError(
                f"no word of the first {len(labels)} documents is frequent enough to be learned; lower "
                "min_count of the vocabulary, or give more documents at once"
            )
        known = estimator._learned.features if hasattr(estimator, "_learned") else None
        if labels:
            estimator._partial_fit(
                counts,
                encoded(labels, target, classes),
                None if target == "number" else classes.names,
                roles_of(self.vectorizer, self.stop_words, known, counts.shape[1]),
                several_passes=True,
                **options,
            )

    def settle(self) -> Self:
        """Learn the documents that wait for more, as a mini-batch of their own, and keep none of them.

        `learn` and predictions do not need this: documents that wait count already. But they are a part of
        the model and of its file.

        Returns
        -------
        self
        """
        learned = self._now()
        self._learned = replace(learned, estimator=copy(learned.estimator).settle())
        return self

    def count(self, texts: Sequence[Content], counter: object = None) -> Counted:
        """Count words and learn new ones, for `learn_counts`, in the order of documents.

        Parameters
        ----------
        texts : sequence of n str, or of n Bag
        counter : object, optional
            What `take_back` returned to a thread that counts ahead. After another `take_back` this raises a
            RuntimeError, so that nothing is counted that would not be taken back.
        """
        require_column(texts, "texts")
        with self._counting:
            if counter is not None and counter is not self._counter:
                raise RuntimeError("counting ahead was taken back already; start the stream again")
            if self.vectorizer is None:
                self.vectorizer = self._default_vectorizer(texts)
            vectorizer = self.vectorizer
            if self._learned.mark is None and hasattr(vectorizer, "mark"):
                self._learned = replace(self._learned, mark=vectorizer.mark())
            counts = counts_of(vectorizer, texts, learn=True)
            return Counted(counts, vectorizer.mark() if hasattr(vectorizer, "mark") else None)

    def take_back(self) -> object:
        """Let the vocabulary forget words that were counted but not learned; see `count`."""
        with self._counting:
            self._counter = object()
            if self._learned.mark is not None:
                self.vectorizer.back_to(self._learned.mark)
            return self._counter

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_counting", "_counter")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _counting=threading.RLock(), _counter=object())

    def learn_counts(
        self,
        counted: Counted,
        labels: Sequence[Label],
        record: Recorder = lambda estimator, target: {},
        workers: Executor = HERE,
        anew: bool = False,
    ) -> Self:
        """Learn documents with counted words, as mini-batches of their own: all of them, or none.

        Parameters
        ----------
        counted : Counted
        labels : sequence of n labels
        record : callable
            Called with the estimator that has learned them, and the kind of labels; returns fields of
            `LearnedTexts` to change with it.
        workers : Executor
            Computes steps.
        anew : bool
            Whether these documents are learned in place of all before.
        """
        target, labels, classes = self._checked(labels)
        before = None if anew else self._learned.estimator
        estimator = self._new_estimator(target) if before is None else copy(before)
        self._taught(estimator, target, counted, labels, classes, workers=workers, whole=True)
        return self._publish(estimator, target, counted, labels, classes, record)

    def _publish(
        self,
        estimator: Any,
        target: Target,
        counted: Counted,
        labels: list[Label],
        classes: ClassNames,
        record: Recorder = lambda estimator, target: {},
    ) -> Self:
        """Publish, in one assignment, what an estimator has learned from documents."""
        before = self._learned
        self._learned = replace(
            before,
            estimator=estimator,
            target=target,
            classes=tuple(classes.names),
            seen_without_class=before.seen_without_class or () in labels,
            mark=counted.mark,
            **record(estimator, target),
        )
        if counted.mark is not None:
            self.vectorizer.forget(counted.mark)
        return self

    def launch(
        self, flight: Flight[Any], counted: Counted, labels: Sequence[Label], last: Launched | None = None
    ) -> Launched:
        """Start learning a mini-batch under the current state, for `land`.

        Parameters
        ----------
        flight : Flight
            The mini-batches in progress.
        counted : Counted
        labels : sequence of n labels
        last : Launched, optional
            The last mini-batch that was launched, if it is still in progress.
        """
        target, labels, classes = self._checked(labels, last)
        estimator, n_columns = self.learner, counted.counts.shape[1]
        known = (estimator._learned if last is None else last.planned).features
        planned = estimator._launch(
            flight,
            None if last is None else last.planned,
            counted.counts,
            encoded(labels, target, classes),
            None if target == "number" else classes.names,
            roles_of(self.vectorizer, self.stop_words, known, n_columns),
        )
        return Launched(counted, labels, classes, planned)

    def land(
        self,
        flight: Flight[Any],
        launched: Launched,
        record: Recorder = lambda estimator, target: {},
    ) -> Self:
        """Add what the oldest mini-batch in progress has taught; `record` is as in `learn_counts`."""
        estimator, target = copy(self.learner), self.target
        assert target is not None  # it has learned
        estimator._land(flight, launched.planned)
        return self._publish(estimator, target, launched.counted, launched.labels, launched.classes, record)

    def _checked(
        self, labels: Sequence[Label], last: Launched | None = None
    ) -> tuple[Target, list[Label], ClassNames]:
        """Return the kind of labels, the labels in this form, and all classes; the model does not change."""
        labels = [plain_label(label) for label in labels]
        target = self.target or target_of(labels)
        labels = [as_target(label, target, row) for row, label in enumerate(labels)]
        classes = self.classes if last is None else ClassNames(last.classes.names)
        if target != "number":
            classes.learn(labels)
            if len(classes) < 2:
                found = f"only one class, {classes.names[0]!r}" if len(classes) else "no class at all"
                raise ValueError(
                    f"the first {len(labels)} documents have {found}; learning starts with two: shuffle the "
                    "documents, or name the classes by classes="
                )
        return target, labels, classes

    def _new_estimator(self, target: Target) -> Any:
        kind = KINDS[self.kind]
        made: type[Any] = kind.regressor if target == "number" else kind.classifier
        if target == "number" and "class_weight" in self.parameters:
            raise ValueError(NO_CLASSES)
        return made(**{**self.parameters, **kind.fixed})

    def _default_vectorizer(self, texts: Sequence[Content]) -> OnlineVocabulary | BagVectorizer:
        if any(isinstance(text, Bag) for text in texts):
            return BagVectorizer()
        return new_vocabulary(self.parameters)

    # Files

    def to_state(self) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        """Return the estimator, and plain data of the vectorizer and the rest, for `bayespa.save`."""
        now = self._now()
        description = {
            "kind": self.kind,
            "target": now.target,
            "classes": ClassNames(now.classes).to_state(),
            "seen_without_class": now.seen_without_class,
            "reading": self.reading,
            "stop_words": self.stop_words
            if self.stop_words is None or isinstance(self.stop_words, str)
            else sorted(self.stop_words),
            "run": now.run,
            "history": now.history.to_state(),
            **({"offsets": dict(now.offsets)} if now.offsets else {}),
        }
        return now.estimator, vectorizer_to_state(self.vectorizer, now.mark), description

    @classmethod
    def from_state(cls, estimator: Any, vectorizer: Any, description: dict[str, Any]) -> TextModel:
        """Restore the model from these parts."""
        target = description["target"]
        stop_words = description.get("stop_words", "english")  # not in the first files
        listed = isinstance(stop_words, list) and all(isinstance(word, str) for word in stop_words)
        if not (stop_words is None or isinstance(stop_words, str) or listed):
            raise ValueError(f"stop_words={brief(stop_words)} are not texts")
        model = cls(
            description["kind"],
            vectorizer=vectorizer,
            target=target,
            reading=description["reading"],
            stop_words=stop_words,
        )
        if target is None or type(estimator) is not type(model.learner):
            raise ValueError(f"a {estimator._name} is not of kind {model.kind!r}")
        classes = ClassNames.from_state(description["classes"]).names
        if target != "number" and set(classes) != {str(name) for name in estimator.classes_}:
            raise ValueError("the classes of the model and of its estimator differ")
        if not isinstance(vectorizer, BagVectorizer):
            n_words, n_columns = counts_of(vectorizer, [""], learn=False).shape[1], estimator.n_features_in_
            if n_words < n_columns:
                raise ValueError(f"its vocabulary has {n_words} words, and its estimator {n_columns}")
        history, offsets = description.get("history"), description.get("offsets", {})  # not in all files
        if not isinstance(offsets, dict):
            raise ValueError(f"offsets are a {type(offsets).__name__}, not an object")
        model._learned = LearnedTexts(
            estimator,
            target,
            tuple(classes),
            bool(description["seen_without_class"]),
            vectorizer.mark() if hasattr(vectorizer, "mark") else None,
            History() if history is None else History.from_state(history),
            description["run"],
            offsets,
        )
        return model
