"""Pages of HTML that stand alone: no script, no network, one file to keep or send.

Every function returns HTML; text that comes in is escaped, except the SVG of `figure`.

Examples
--------
>>> from bayespa.inspect.report import page, section, table
>>> html = page("Fruit", section("Prices", table(["fruit", "price"], [["apple", "1 < 2"]])))
>>> "<td>1 &lt; 2</td>" in html
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

_CSS = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; }
h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid #ddd; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem 1.2rem .3rem 0; }
tr { border-bottom: 1px solid #eee; }
dl { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; margin: 1.5rem 0; }
dt { font-size: .85rem; color: #666; }
dd { font-size: 1.5rem; margin: 0; color: #2458a6; }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
figcaption { font-size: .85rem; color: #555; max-width: 40rem; }
"""


def page(title: str, *parts: str) -> str:
    """Return a whole HTML document."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_CSS}</style>\n</head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n{''.join(parts)}</body>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    """Return the parts under a heading."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{''.join(parts)}</section>\n"


def paragraph(text: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{escape(text)}</p>\n"


def facts(values: Mapping[str, str]) -> str:
    """Return a row of large figures, each with its name."""
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in values.items()
    )
    return f"<dl>{items}</dl>\n"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def figure(svg: str, caption: str) -> str:
    """Return an SVG figure, which is trusted, with its caption."""
    return f"<figure>\n{svg}\n<figcaption>{escape(caption)}</figcaption>\n</figure>\n"
