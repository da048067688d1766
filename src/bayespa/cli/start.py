"""How ``train`` starts: the kind of labels, the order of documents, and a new model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from bayespa.cli.options import ELSEWHERE
from bayespa.cli.reading import Reading
from bayespa.corpus import Document, shuffle
from bayespa.corpus.documents import brief
from bayespa.corpus.look import Look
from bayespa.corpus.order import shuffle_all
from bayespa.corpus.sources import expand
from bayespa.text.columns import new_vocabulary
from bayespa.text.model import TextModel
from bayespa.text.predictor import KINDS
from bayespa.topics.waiting import IN_ALL, beginning

_BUFFER = 10_000
MOST_CLASSES = 256  # with more of these, several passes over few documents take too long
_NUMBERED = {"libsvm", "uci", "matlab", "gml"}  # formats with numbers for words and classes


def bags(inputs: tuple[str, ...], format: str | None) -> bool:
    """Return whether the input has numbers for words."""
    return any((format or source.guess_format()) in _NUMBERED for source in expand(inputs))


def new_model(
    kind: str,
    source: Reading,
    classes: str | None,
    parameters: dict[str, Any],
    words: tuple[str, int, int, int] | None,
) -> TextModel:
    """Return a new model; `words` is None if the input has numbers for words."""
    estimator = KINDS[kind].classifier()
    named = set(estimator._get_param_names())
    unknown = set(parameters) - named
    turned = sorted(unknown & set(getattr(estimator, "expert_", ())))
    if expert := {name: parameters.pop(name) for name in turned}:
        parameters["expert"] = expert
        unknown -= set(expert)
    if unknown:
        known = sorted({*named, *getattr(estimator, "expert_", ())} - set(ELSEWHERE))
        raise click.UsageError(
            f"--model {kind} has no parameter {', '.join(sorted(unknown))}; --set knows {', '.join(known)}"
        )
    vocabulary, stop_words = None, "english"
    if words is not None:
        stop_words, min_count, max_words, ngrams = words
        vocabulary = new_vocabulary(parameters, max_words=max_words, min_count=min_count, ngrams=ngrams)
    return TextModel(
        kind,
        vectorizer=vocabulary,
        target=source.fields.get("target"),
        classes=() if classes is None else [name.strip() for name in classes.split(",")],
        reading=source.fields,
        stop_words=None if stop_words == "none" else stop_words,
        **parameters,
    )


def require_topics(kind: str, topics: int | None) -> None:
    """Raise an error if --topics does not fit the kind of model."""
    if topics is not None and kind != "medlda":
        why = "chooses the number itself" if kind == "medhdp" else "has no topics"
        raise click.UsageError(
            f"--topics {topics} does not fit --model {kind}, which {why}; leave it out, or use --model medlda"
        )


def decide(source: Reading, look: Look, inputs: tuple[str, ...], classes: str | None) -> None:
    """Decide what labels are by looking at all of them, and print the decision."""
    if source.fields.get("target") is not None:
        return
    name = source.fields.get("label", "label")
    formats = {source.format or one.guess_format() for one in expand(inputs)}
    if look.numeric or (look.fractions and formats <= {"csv", "tsv"}):
        # Decided one by one, some would be numbers and others classes.
        source.fields["target"] = "number" if look.numeric else "class"
        if look.numeric and look.whole:
            click.echo(
                f"labels (--label {name}) are whole numbers and fractions; learning them as numbers "
                "(--target class learns them as classes)",
                err=True,
            )
        if not look.numeric:
            click.echo(
                f"labels (--label {name}) are fractions and other texts; learning them as classes "
                "(--target number leaves out the other texts)",
                err=True,
            )
        return
    if look.nearly_all_differ:
        click.echo(
            f"labels (--label {name}) hardly repeat: {len(look.labels):,} different ones for "
            f"{look.order.n:,} documents; learning each as a class. Is it the right field?",
            err=True,
        )
    if look.all_whole and len(look.labels) > 2 and not formats & _NUMBERED:
        values = sorted(int(str(label)) for label in look.labels)
        click.echo(
            f"labels (--label {name}) are {len(values)} whole numbers from {values[0]} to {values[-1]}; "
            "learning them as classes (--target number learns them as numbers)",
            err=True,
        )
    if (example := look.decimal_comma()) is not None:
        click.echo(
            f"labels such as {example!r} look like numbers with a decimal comma; learning them as classes "
            "(written with a point, they would be numbers)",
            err=True,
        )
    elif not look.several and (found := look.separator()) is not None:
        mark, example = found
        click.echo(
            f"labels such as {brief(example)} look like several in one; learning each as one label "
            f"(--separator '{mark}' splits them)",
            err=True,
        )
    if len(look.labels) == 1 and classes is None and not look.several:
        (label,) = look.labels
        raise ValueError(
            f"all {look.order.n:,} labels are {brief(label)}, but learning needs two classes; name another "
            f"field by --label (now {name}), or classes that come later by --classes"
        )


def mixing(look: Look | None, inputs: tuple[str, ...], buffer: int | None) -> dict[str, int]:
    """Decide how to shuffle documents (all of them, or in a buffer), and print the decision."""
    if buffer is not None:
        return {"buffer": buffer}
    if look is None:  # the order is unknown
        return {"buffer": 0 if "-" in inputs else _BUFFER}
    if look.time is not None:
        click.echo(
            f"documents are in order of time, by {look.time!r}; keeping it (--shuffle {_BUFFER} shuffles)",
            err=True,
        )
        return {"buffer": 0}
    if look.order.mixed:
        return {"buffer": 0}
    click.echo(
        f"{look.order}; shuffling all {look.documents:,} documents (--shuffle 0 keeps their order)",
        err=True,
    )
    return {"all": look.documents}


def together(look: Look | None) -> int:
    """Return the number of documents if they are few, so that they are learned as a whole; else 0.

    >>> look = Look()
    >>> for i in range(5000):
    ...     look.add(f"class {i % 50}")
    >>> together(look)
    5000
    """
    if look is None:
        return 0
    names = {name for label in look.labels for name in (label if isinstance(label, tuple) else (label,))}
    n_classes = sum(isinstance(name, str) for name in names)
    few = n_classes <= MOST_CLASSES and look.documents < max(IN_ALL, beginning(n_classes))
    return look.documents if few else 0


def mixed(documents: Iterator[Document], started: Mapping[str, Any]) -> Iterator[Document]:
    """Shuffle documents as the run began, so that it can be resumed."""
    how = started.get("mix") or mixing(None, tuple(started["inputs"]), started["shuffle"])  # of an old file
    if "all" in how:
        return shuffle_all(documents, how["all"], random_state=started["seed"])
    buffer = how["buffer"]
    return shuffle(documents, buffer, random_state=started["seed"]) if buffer > 1 else documents
