"""Results as lines and columns. No label or id can forge a line or a column."""

from __future__ import annotations

import json
import re
from typing import Any

# Control characters, line ends, characters that change the direction of writing (they could show a column in
# another's place), and halves of surrogate pairs, which cannot be encoded.
_NOT_SHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_FORMULA = re.compile("[=+\\-@\uff1d\uff0b\uff0d\uff20]")  # first characters of a formula in a spreadsheet
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?", re.ASCII)


def _escaped(found: re.Match[str]) -> str:
    """Return a character as JSON escapes it."""
    return {"\t": "\\t", "\n": "\\n", "\r": "\\r"}.get(found[0], f"\\u{ord(found[0]):04x}")


def column(text: str, between: str = "") -> str:
    r"""Return a text as one column of a line, escaped as in JSON where needed.

    Backslashes, tabs, line ends and other control characters are escaped. So is the first character of a text
    that a spreadsheet would take for a formula. Numbers stay as they are.

    Parameters
    ----------
    text : str
    between : str
        Separators of several texts in a column; they are escaped within each text.

    Examples
    --------
    >>> for label in ("sports", "two\nlines", "a\tcolumn", "=cmd|'/C calc'!A0", "-1"):
    ...     print(column(label))
    sports
    two\nlines
    a\tcolumn
    \u003dcmd|'/C calc'!A0
    -1
    >>> print(column("tea, coffee", between=","))
    tea\u002c coffee
    """
    text = _NOT_SHOWN.sub(_escaped, text.replace("\\", "\\\\"))
    if between:
        text = re.sub(f"[{re.escape(between)}]", _escaped, text)
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        text = f"\\u{ord(text[0]):04x}{text[1:]}"
    return text


def json_line(value: Any) -> str:
    r"""Return plain data as JSON in one line, for any notion of a line.

    >>> print(json_line({"label": "déjà vu\u2028"}))
    {"label": "déjà vu\u2028"}
    """
    return _NOT_SHOWN.sub(_escaped, json.dumps(value, ensure_ascii=False))
