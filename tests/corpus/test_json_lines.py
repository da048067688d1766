"""The native reader of simple JSON objects and its twin: the same fields, the same lines left to Python."""

import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayespa.corpus import Problems, read
from bayespa.native.text import json_lines
from bayespa.reference import json_lines as twin

SIMPLE = st.one_of(
    st.text(), st.lists(st.text()), st.integers(), st.floats(), st.booleans(), st.none(), st.just(-0.0)
)
VALUES = st.one_of(SIMPLE, st.dictionaries(st.text(), SIMPLE), st.lists(SIMPLE))
NAMES = ["text", "label", "ü"]
KEYS = st.one_of(st.sampled_from(NAMES), st.text())


def same(block, names):
    """Return what both read, told apart by type: True is no 1, and 1 is no 1.0."""
    found = json_lines(block, names)
    assert repr(found) == repr(twin.json_lines(block, names))
    return found


@given(st.lists(st.dictionaries(KEYS, VALUES)), st.booleans(), st.sampled_from(["\n", " \r\n", "\n \n"]))
def test_objects_are_read_as_by_the_twin(records, escaped, end):
    lines = [json.dumps(record, ensure_ascii=escaped) + end for record in records]
    for names in ([], ["text"], NAMES):
        same("".join(lines).encode("utf-8", "replace"), names)


@given(st.randoms(use_true_random=False))
def test_damaged_objects_are_read_as_by_the_twin(chance):
    line = '{"text": "a\\n\\u00e9 \\"b\\" ü\\/", "label": ["x", "\\\\ud800"], "n": -12.5e+3, "ü": [ ]}\n'
    pieces = re.findall(
        r"\S+", r'" \ \u12 \ud83d\ude00 { } [ ] , : 0 1e5 . - null true NaN -Infinity é 9999999999999999'
    )
    pieces += [" ", "\t", "\n", "\r", "\0", "\1", "\x7f", "\u2028"]
    for _ in range(20):
        damaged = list(line)
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(damaged))
            damaged[place : place + chance.randint(0, 2)] = chance.choice(pieces)
        same("".join(damaged).encode(), NAMES)
    raw = bytearray(line.encode())
    raw[chance.randrange(len(raw))] = chance.randrange(256)
    same(bytes(raw), NAMES)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"text": "a", "label": 1}', ("a", 1)),
        (' {"label": "b" , "text":"\\u00e9\\ud7ff\\uffff"}\r', ("é\ud7ff\uffff", "b")),
        ('{"text": "a", "label": ["b", "c"], "other": null}', ("a", ["b", "c"])),
        ('{"text": "a", "text": "b", "label": false}', ("b", False)),
        ('{"te\\u0078t": "a", "label": -0}', ("a", 0)),
        ('{"text": "a", "label": 1e400}', ("a", float("inf"))),
        ('{"text": "a", "label": 123456789012345}', ("a", 123456789012345)),
        ('{"text": "a"}', None),
        ('{"text": "a", "label": 1234567890123456}', None),
        ('{"text": "a", "label": [1]}', None),
        ('{"text": "a", "label": {"a": 1}}', None),
        ('{"text": "\\ud83d\\ude00", "label": 1}', None),
        ('{"text": "a", "label": 01}', None),
        ('{"text": "a", "label": 1,}', None),
        ('{"text": "a\tb", "label": 1}', None),
        ('{"text": "a", "label": "b"} {}', None),
        ('["text", "label"]', None),
        ("", None),
    ],
)
def test_what_is_simple(line, expected):
    (found,) = same(f"{line}\n".encode(), ["text", "label"])
    assert found == (f"{line}\n" if expected is None else expected)


def test_what_is_not_utf_8_is_not_cut():
    assert same(b'{"text": "\xff"}\n', ["text"]) is None
    assert same(b'{"text": "a"}\n\0\n', ["text"]) is None
    assert same(b"", ["text"]) == []


def test_a_name_that_is_not_utf_8_is_no_field():
    line = '{"text": "a"}\n'
    assert same(line.encode(), ["text", "\udcff"]) == [line]


def test_texts_of_all_lengths_are_found():
    """Whatever stands at the end, and wherever: pieces of 32 bytes are looked at together."""
    for n in range(100):
        for end in ("", "\\n", "\\\\", "é"):
            line = f'{{"text": "{"x" * n}{end}", "label": "{end}{"y" * n}"}}\n'
            assert isinstance(same(line.encode(), ["label", "text"])[0], tuple)


@pytest.mark.parametrize("size", [1, 300_000])
def test_documents_do_not_depend_on_what_is_cut_together(tmp_path, size):
    """Simple lines, others, blank ones and malformed ones, with numbers of their lines."""
    chance = random.Random(size)
    kinds = [
        '{"text": "a \\u00e9", "label": "x"}',
        '{"text": "b", "label": {"n": 1}}',
        '{"text": "c \\ud83d\\ude00", "label": ["y", "z"]}',
        "",
        '{"text": "d"}',
        '{"text": "é", "label": 2, "more": [[1]]}',
    ]
    lines = [chance.choice(kinds) for _ in range(max(30, size // 100))]
    whole, alone, problems = tmp_path / "whole.jsonl", tmp_path / "alone.jsonl", Problems(keep=len(lines))
    whole.write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode())
    found = [(d.content, d.label, d.id.rpartition(":")[2]) for d in read(whole, problems=problems)]
    expected, wrong = [], []
    for number, line in enumerate(lines, 1):
        alone.write_text(line)  # a last line without an end is never cut
        own = Problems()
        expected += [(d.content, d.label, str(number)) for d in read(alone, problems=own)] if line else []
        wrong += [(number, problem.message) for problem in own.first]
    assert found == expected
    assert [(problem.line, problem.message) for problem in problems.first] == wrong
