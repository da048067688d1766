"""``bayespa topics`` and ``bayespa explain``: inspect a model."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path

import click

from bayespa.cli.columns import column, json_line
from bayespa.cli.options import JOBS, JSON, MODEL


@click.command()
@MODEL
@click.option(
    "--words", "n_words", type=click.IntRange(1), default=10, show_default=True, help="Words per topic."
)
@JSON
def topics(path: Path, n_words: int, as_json: bool) -> None:
    """Show the topics of a model, the largest first.

    Each line has the topic's name, its share of the words learned, the class that it speaks for, three words
    that distinguish it from other topics, and after the colon its most probable words. If the model predicts
    numbers, the third column is the effect of a document that has only this topic.

    A topic speaks for a class if it raises the score of the class above that of the average document, by more
    than two standard deviations. A '-' means that it speaks for none.
    """
    from bayespa.inspect.view import topic_table
    from bayespa.text.saving import load_text_model

    model = load_text_model(path, jobs=1)
    rows = topic_table(model, n_words)
    if as_json:
        click.echo(json_line(rows))
        return
    for row in rows:
        if "weight" in row:
            speaks = f"{row['weight']:+.3g}"
        else:
            speaks = "-" if row["class"] is None else column(row["class"])
        label, words = " ".join(row["label"]), " ".join(row["words"])
        click.echo(f"{row['name']:>4}  {row['share']:6.1%}  {speaks:<20} {label}: {words}")


@click.command()
@MODEL
@click.argument("text")
@click.option("--target", metavar="CLASS", help="Class to explain.  [default: the predicted one]")
@JOBS
@JSON
def explain(path: Path, text: str, target: str | None, jobs: int, as_json: bool) -> None:
    """Show which topics and words of a TEXT speak for a class, and which against it.

    TEXT is the text itself, or '-' to read it from standard input.
    """
    from bayespa.text.saving import load_text_model

    model = load_text_model(path, jobs)
    if text == "-":
        text = sys.stdin.read()
    explanation = model.explain(text, target)
    if as_json:
        click.echo(json_line(asdict(explanation)))
    else:
        other = explanation.runner_up
        shown = replace(explanation, target=column(explanation.target))
        click.echo(str(shown if other is None else replace(shown, runner_up=column(other))))
