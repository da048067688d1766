"""Reuters-21578: newswire stories of 1987 with economic topics, in the ModApte split."""

import html
import os
import re
from typing import NamedTuple

from sklearn.utils import Bunch

from bayespa.datasets._common import Archive, indicator, locate, subset_parts

_DESCR = """\
Reuters-21578, ModApte split

Newswire stories of 1987, in order of time, with one or more of the 90 topics that occur both in the 7,770
stories to train and in the 3,019 later ones to test; 1.24 topics a story. The text is title and body.

Source: Reuters-21578, Distribution 1.0 (David D. Lewis), for research purposes only.
"""
_STORY = re.compile(
    r'<REUTERS TOPICS="YES" LEWISSPLIT="(TRAIN|TEST)"[^>]* NEWID="(\d+)"[^>]*>(.*?)</REUTERS>', re.DOTALL
)
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>")
_TOPIC = re.compile(r"<D>(.*?)</D>")
_TEXT = re.compile(r"<TEXT.*?>(.*)</TEXT>", re.DOTALL)
_TITLE_OR_BODY = re.compile(r"<(TITLE|BODY)>(.*?)</\1>", re.DOTALL)


class _Story(NamedTuple):
    part: str
    number: str
    topics: list[str]
    text: str


def fetch_reuters21578(subset: str = "train", *, data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load the ModApte split of Reuters-21578 from ``reuters21578.tar.xz``.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        Earlier stories, later ones, or both.
    data_home : path, optional
        Folder of the archive; by default the environment variable ``BAYESPA_DATA``.

    Returns
    -------
    Bunch with
        data : list of str, title and body, in order of time;
        target : (n_stories, 90) 0/1 int array;
        target_names : list of the 90 topics, sorted;
        labels : list of lists of str, the topics of each story;
        ids : list of str, the story's NEWID;
        DESCR : str.

    Examples
    --------
    >>> from bayespa.datasets import fetch_reuters21578
    >>> fetch_reuters21578("test", data_home="data").target.shape  # doctest: +SKIP
    (3019, 90)
    """
    parts = subset_parts(subset)
    archive = Archive(locate("reuters21578.tar.xz", data_home))
    files = sorted(name for name in archive if name.endswith(".sgm"))
    stories = [story for name in files for story in _stories(archive[name].decode("latin-1"))]
    by_part = {part: {t for s in stories if s.part == part for t in s.topics} for part in ("train", "test")}
    topics = by_part["train"] & by_part["test"]
    if not topics:
        raise ValueError(f"{archive.path} has no topic with stories to train and to test; copy it again")
    chosen = [story for story in stories if story.part in parts and topics.intersection(story.topics)]
    labels = [[topic for topic in story.topics if topic in topics] for story in chosen]
    names = sorted(topics)
    return Bunch(
        data=[story.text for story in chosen],
        target=indicator(labels, names),
        target_names=names,
        labels=labels,
        ids=[story.number for story in chosen],
        DESCR=_DESCR,
    )


def _stories(sgml: str) -> list[_Story]:
    """Return the stories of one file that the ModApte split uses."""
    return [
        _Story(part.lower(), number, _TOPIC.findall(_only(_TOPICS, content)), _plain(_only(_TEXT, content)))
        for part, number, content in _STORY.findall(sgml)
    ]


def _only(pattern: re.Pattern[str], content: str) -> str:
    match = pattern.search(content)
    return match[1] if match else ""


def _plain(text: str) -> str:
    """Return title and body; unformatted stories have no such tags and are taken as a whole."""
    pieces = [piece for _, piece in _TITLE_OR_BODY.findall(text)] or [text]
    # unescape also drops control characters such as &#3; at the end.
    return "\n\n".join(html.unescape(piece).strip() for piece in pieces)
