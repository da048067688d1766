"""``bayespa datasets``: the corpora that the package knows, as JSONL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from bayespa.cli.options import JSON
from bayespa.datasets import fetch_20newsgroups, fetch_arxiv20, fetch_reuters21578, load_arxiv_sample


@dataclass(frozen=True)
class _Corpus:
    """A corpus of texts: what it is, and how to load a subset of it."""

    about: str
    load: Callable[[str], Any]


_CORPORA = {
    "arxiv-sample": _Corpus(
        "5,000 arXiv abstracts, 20 categories; inside the package",
        lambda subset: load_arxiv_sample(subset=subset),
    ),
    "arxiv20": _Corpus(
        "65,000 arXiv abstracts of 2007-2019 in order of time, 20 categories",
        lambda subset: fetch_arxiv20(subset),
    ),
    "20newsgroups": _Corpus("18,846 messages, 20 groups", lambda subset: fetch_20newsgroups(subset)),
    "reuters21578": _Corpus("10,789 newswire stories, 90 topics", lambda subset: fetch_reuters21578(subset)),
}


@click.command()
@click.argument("name", type=click.Choice(list(_CORPORA)), required=False)
@click.option(
    "--subset",
    type=click.Choice(["train", "test", "all"]),
    default="train",
    show_default=True,
    help="Part of the published split.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    default="-",
    help="File to write to.  [default: standard output]",
)
@JSON
def datasets(name: str | None, subset: str, output: Path, as_json: bool) -> None:
    """List the corpora that the package knows, or write one as JSONL.

    \b
    bayespa datasets
    bayespa datasets arxiv-sample --subset train -o train.jsonl
    bayespa train train.jsonl -o model.bayespa

    Each line has the fields id, text and label. All but arxiv-sample are looked for in the folder that the
    environment variable BAYESPA_DATA names.
    """
    if name is None:
        if as_json:
            click.echo(json.dumps({name: corpus.about for name, corpus in _CORPORA.items()}))
        else:
            for name, corpus in _CORPORA.items():
                click.echo(f"{name:<14} {corpus.about}")
        return
    bunch = _CORPORA[name].load(subset)
    with click.open_file(str(output), "w", encoding="utf-8", atomic=str(output) != "-") as file:
        for line in _lines(bunch):
            file.write(line + "\n")


def _lines(bunch: Any) -> Iterator[str]:
    """Yield a JSON object for each document."""
    names = bunch.target_names
    labels = bunch.labels if "labels" in bunch else [names[code] for code in bunch.target]
    for id_, text, label in zip(bunch.ids, bunch.data, labels, strict=True):
        yield json.dumps({"id": id_, "text": text, "label": label}, ensure_ascii=False)
