"""Self-contained HTML pages: one file, without scripts and network.

Every function returns HTML and escapes its texts, except arguments called `html` or `svg`.

Examples
--------
>>> from bayespa.inspect.html import page, section, table
>>> html = page("Fruit", [section("prices", "Prices", table(["fruit", "price"], [["apple", "1 < 2"]]))])
>>> "<td>1 &lt; 2</td>" in html
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

# Figures use these variables for colours, so that they follow the page in dark mode and on paper.
LIGHT = {
    "ink": "#1c2126",
    "muted": "#5d666f",
    "grid": "#dde1e5",
    "paper": "#ffffff",
    "card": "#f6f7f9",
    "accent": "#0072b2",
    "against": "#d55e00",
}
DARK = {
    "ink": "#e8eaed",
    "muted": "#a6aeb7",
    "grid": "#3a4148",
    "paper": "#15181b",
    "card": "#1e2327",
    "accent": "#56b4e9",
    "against": "#e69f00",
}
# After Okabe and Ito, for colour-blind readers; line styles distinguish them without colour.
MARKS = (
    ("#0072b2", "solid"),
    ("#d55e00", "dashed"),
    ("#009e73", "dotted"),
    ("#cc79a7", "double"),
    ("#e69f00", "solid"),
    ("#56b4e9", "dashed"),
)
# Nothing is loaded or run, even if some text were not escaped.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def _variables(colours: Mapping[str, str]) -> str:
    return ":root { " + " ".join(f"--{name}: {value};" for name, value in colours.items()) + " }"


_CSS = "\n".join(
    [
        _variables(LIGHT),
        f"@media screen and (prefers-color-scheme: dark) {{ {_variables(DARK)} }}",
        *(
            f".mark{i} {{ background: {colour}38; border-bottom: 2.5px {line} {colour}; }}"
            for i, (colour, line) in enumerate(MARKS)
        ),
        """
:root { color-scheme: light dark; }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { max-width: 70rem; margin: 0 auto; padding: 2rem 1.25rem 3rem; }
body { overflow-wrap: anywhere; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.35rem; margin: 0 0 .75rem; }
h3 { font-size: 1rem; margin: 0; }
p { max-width: 44rem; margin: .5rem 0; }
a { color: var(--accent); }
nav ul, .legend { display: flex; flex-wrap: wrap; gap: .35rem 1.2rem; }
nav ul, .legend { list-style: none; margin: 0; padding: 0; }
nav { margin-top: 1.5rem; }
section { min-width: 0; margin-top: 3rem; padding-top: 1.5rem; border-top: 1px solid var(--grid); }
.note, .sum, figcaption, footer, dt, .legend { font-size: .875rem; color: var(--muted); }
.note { border-left: 3px solid var(--grid); padding-left: .8rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .75rem; }
.facts { margin: 1.5rem 0; }
.facts div, .card { background: var(--card); border-radius: .5rem; padding: .75rem 1rem; }
.facts dd { font-size: 1.5rem; line-height: 1.3; margin: 0; font-variant-numeric: tabular-nums; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); gap: .9rem; }
.cards .card { break-inside: avoid; }
.card header { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; }
.card header span, .speaks { font-size: .8125rem; color: var(--muted); }
.speaks { list-style: none; margin: .3rem 0 .5rem; padding: 0; min-height: 2.6em; line-height: 1.3; }
.speaks li { display: flex; flex-wrap: wrap; gap: 0 .75rem; }
.speaks b { color: var(--ink); font-weight: 600; }
.speaks span { margin-left: auto; white-space: nowrap; font-variant-numeric: tabular-nums; }
.beside { display: flex; flex-wrap: wrap; gap: 1rem 3rem; align-items: flex-start; }
.beside > * { min-width: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
table { overflow-wrap: normal; }
th, td { text-align: left; vertical-align: top; padding: .3rem 1.2rem .3rem 0; }
th { font-weight: 600; }
tbody tr { border-top: 1px solid var(--grid); }
details { margin-top: .75rem; }
summary { cursor: pointer; color: var(--accent); }
figure { margin: 1rem 0 0; max-width: 100%; }
figure svg, .card svg { display: block; max-width: 100%; height: auto; overflow: visible; }
.card svg { width: 100%; }
.scroll > svg { max-width: none; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
svg text { font-family: system-ui, sans-serif !important; }
figcaption { max-width: 44rem; margin-top: .5rem; }
.documents { display: grid; gap: 1rem; }
h3 + .documents { margin: .6rem 0 1.5rem; }
.text { max-width: 56rem; margin: .5rem 0; line-height: 1.8; }
mark { color: inherit; background: none; border-radius: .15rem; padding: 0 .1rem; }
.for { background: color-mix(in srgb, var(--accent) calc(var(--share) * 45%), transparent); }
.for { border-bottom: 2.5px solid var(--accent); }
.against { background: color-mix(in srgb, var(--against) calc(var(--share) * 45%), transparent); }
.against { border-bottom: 2.5px dashed var(--against); }
.right::before { content: "✓ "; color: #009e73; }
.wrong::before { content: "✗ "; color: var(--against); }
footer { margin-top: 3rem; }
@media screen and (min-width: 64rem) {
  main { display: grid; grid-template-columns: 1fr 1fr; column-gap: 3rem; }
  section { grid-column: 1 / -1; }
  #calibration, #stream, #growth { grid-column: auto; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 11pt; }
  nav { display: none; }
  .scroll > svg { max-width: 100%; }
  .card, mark { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
""",
    ]
)


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading, listed in the page's contents."""

    name: str  # its address in the page
    title: str
    html: str


def page(title: str, sections: Iterable[Section], *, head: str = "", foot: str = "") -> str:
    """Return a whole HTML document: title, `head`, contents, sections, `foot`; the last two are HTML."""
    parts = list(sections)
    contents = "".join(f'<li><a href="#{p.name}">{escape(p.title)}</a></li>' for p in parts)
    body = "".join(
        f'<section id="{p.name}">\n<h2>{escape(p.title)}</h2>\n{p.html}</section>\n' for p in parts
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_CSS}</style>\n</head>\n<body>\n"
        f'<header>\n<h1>{escape(title)}</h1>\n{head}<nav aria-label="Contents"><ul>{contents}</ul></nav>\n'
        f"</header>\n<main>\n{body}</main>\n<footer>{foot}</footer>\n</body>\n</html>\n"
    )


def section(name: str, title: str, *html: str) -> Section:
    """Return a section of a page."""
    return Section(name, title, "".join(html))


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text; `kind` is a class of the style sheet."""
    return f'<p class="{kind}">{escape(text)}</p>\n' if kind else f"<p>{escape(text)}</p>\n"


def facts(values: Mapping[str, str]) -> str:
    """Return a row of large figures, each with its name."""
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in values.items()
    )
    return f'<dl class="facts">{items}</dl>\n'


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
    return (
        '<div class="scroll" tabindex="0"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
    )


def details(summary: str, html: str) -> str:
    """Return HTML that is hidden until the reader opens it."""
    return f"<details>\n<summary>{escape(summary)}</summary>\n{html}</details>\n"


def beside(*html: str) -> str:
    """Return parts side by side, or below each other on a narrow page."""
    return f'<div class="beside">\n{"".join(f"<div>{part}</div>" for part in html if part)}\n</div>\n'


def figure(svg: str, caption: str, *, wide: bool = False) -> str:
    """Return an SVG figure with its caption; a narrow page scrolls a wide figure."""
    drawing = f'<div class="scroll" tabindex="0">\n{svg}\n</div>' if wide else svg
    return f"<figure>\n{drawing}\n<figcaption>{escape(caption)}</figcaption>\n</figure>\n"
