"""``bayespa topics`` and ``bayespa explain``: look into a model."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np

from bayespa.cli.options import JOBS, JSON, MODEL, load_text_model
from bayespa.text.model import TextModel


@click.command()
@MODEL
@click.option(
    "--words", "n_words", type=click.IntRange(1), default=10, show_default=True, help="Words a topic."
)
@JSON
def topics(path: Path, n_words: int, as_json: bool) -> None:
    """Show the topics of a model, the largest first.

    Each line has the topic's number, its share of the words learned, the class that it speaks for most (or
    its weight, in a model of numbers), and its most probable words.
    """
    model = load_text_model(path, jobs=1)
    rows = _topics(model, n_words)
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        name = row["class"] if "class" in row else f"{row['weight']:+.2f}"
        click.echo(f"{row['topic']:4d}  {row['share']:6.1%}  {name:<20} {' '.join(row['words'])}")


def _topics(model: TextModel, n_words: int) -> list[dict[str, Any]]:
    estimator, words = model.estimator, model.topics(n_words)
    sizes, weights, names = estimator.topic_sizes_, estimator.coef_, model.class_names
    shares = sizes / sizes.sum()
    rows = []
    for k in np.argsort(-shares, kind="stable").tolist():
        row: dict[str, Any] = {"topic": k, "share": float(shares[k]), "words": words[k]}
        if model.target == "number":
            row["weight"] = float(weights[0, k])
        elif len(weights) == 1:
            row["class"] = names[int(weights[0, k] > 0.0)]
        elif estimator.multi_class == "ovr":  # a topic of one class alone, for it or for the others
            row["class"] = estimator.topic_names_[k].split(" of ", 1)[1]
        else:
            row["class"] = names[int(weights[:, k].argmax())]
        rows.append(row)
    return rows


@click.command()
@MODEL
@click.argument("text")
@click.option("--target", metavar="CLASS", help="Class whose decision to explain.  [default: the best]")
@JOBS
@JSON
def explain(path: Path, text: str, target: str | None, jobs: int, as_json: bool) -> None:
    """Say which topics and words of a TEXT speak for a class, and which against it.

    TEXT is the text itself, or '-' to read it from standard input.
    """
    model = load_text_model(path, jobs)
    if text == "-":
        text = sys.stdin.read()
    explanation = model.explain(text, target)
    click.echo(json.dumps(asdict(explanation), ensure_ascii=False) if as_json else str(explanation))
