"""``bayespa datasets``: known corpora as JSONL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from bayespa.cli.options import JSON

_CORPORA = {  # loader in `bayespa.datasets`, and description
    "arxiv-sample": ("load_arxiv_sample", "5,000 arXiv abstracts, 20 categories; inside the package"),
    "arxiv20": ("fetch_arxiv20", "65,000 arXiv abstracts of 2007-2019 by date, 20 categories"),
    "20newsgroups": ("fetch_20newsgroups", "18,846 messages, 20 groups"),
    "reuters21578": ("fetch_reuters21578", "10,789 newswire stories, 90 topics"),
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
    """List the known corpora, or write one as JSONL.

    \b
    bayespa datasets
    bayespa datasets arxiv-sample --subset train -o train.jsonl
    bayespa train train.jsonl -o model.bayespa

    Each line has the fields id, text and label. arxiv-sample is inside the package; set the environment
    variable BAYESPA_DATA to the folder of the others.
    """
    if name is None:
        if as_json:
            click.echo(json.dumps({name: about for name, (_, about) in _CORPORA.items()}))
        else:
            for name, (_, about) in _CORPORA.items():
                click.echo(f"{name:<14} {about}")
        return
    from bayespa import datasets as loaders

    bunch = getattr(loaders, _CORPORA[name][0])(subset=subset)
    with click.open_file(str(output), "w", encoding="utf-8", atomic=str(output) != "-") as file:
        for line in _lines(bunch):
            file.write(line + "\n")


def _lines(bunch: Any) -> Iterator[str]:
    """Yield a JSON object for each document."""
    names = bunch.target_names
    labels = bunch.labels if "labels" in bunch else [names[code] for code in bunch.target]
    for id_, text, label in zip(bunch.ids, bunch.data, labels, strict=True):
        yield json.dumps({"id": id_, "text": text, "label": label}, ensure_ascii=False)
