"""From paths to documents, and from documents to mini-batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from bayespa.corpus.bags import read_gml, read_libsvm, read_matlab, read_uci
from bayespa.corpus.documents import Bag, Document, Fields, Label, Target
from bayespa.corpus.problems import CorpusWarning, MalformedInput, Problem, Problems
from bayespa.corpus.sifting import Stored, Teller, Told, counted
from bayespa.corpus.sources import FORMATS, Paths, Source, check_encoding, expand
from bayespa.corpus.tables import n_row_groups, read_arrow, read_parquet
from bayespa.corpus.texts import Reporter, read_csv, read_file, read_jsonl, read_lines, read_tsv
from bayespa.corpus.vocabulary import OnlineVocabulary
from bayespa.native.random import RandomState, grid, key_from_seed, permutation, subkey, uniform

if TYPE_CHECKING:
    import scipy.sparse as sp

T = TypeVar("T")
_LARGE = 1 << 26  # bytes of a file; a larger one is read by a single process, in pieces
_SHARE = 1 << 22  # bytes of files per call of a worker
Reader = Callable[[Source, Fields, Reporter], Iterator[Document]]
_READERS: dict[str, Reader] = {
    "lines": read_lines,
    "files": read_file,
    "jsonl": read_jsonl,
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "libsvm": read_libsvm,
    "uci": read_uci,
    "matlab": read_matlab,
    "gml": read_gml,
}


def read(
    paths: Paths,
    *,
    format: str | None = None,
    text: str | Sequence[str] = "text",
    label: str | None = "label",
    id: str | None = None,
    target: Target | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    max_bytes: int = 10_000_000,
    strict: bool = False,
    problems: Problems | None = None,
    workers: Mapper | None = None,
    vocabulary: OnlineVocabulary | None = None,
) -> Iterator[Document]:
    r"""Read documents one by one, in bounded memory.

    Parameters
    ----------
    paths : path or sequence of paths
        Files, folders (all files below), globs, or "-" for standard input. Files of a folder or a glob are
        read in the order of their names. Files that end with ``.gz``, ``.xz`` or ``.zst`` are decompressed.
    format : str, optional
        By default given by the file ending; standard input is ``"jsonl"``.

        * ``lines`` (``.txt``): a line is a document.
        * ``files`` (in a folder: ``.txt`` and unknown endings): a file is a document, its folder the label.
        * ``jsonl`` (``.jsonl``, ``.ndjson``): a line is a JSON object.
        * ``csv``, ``tsv`` (``.csv``, ``.tsv``): the first line names the columns; in ``csv`` it also shows
          the separator: comma, semicolon, tab or bar.
        * ``parquet``, ``arrow`` (``.parquet``, ``.arrow``, ``.feather``).
        * ``libsvm`` (``.svm``, ``.libsvm``, ``.svmlight``): ``label column:value ...``.
        * ``uci`` (``docword.*.txt``): entries ``document word count``.
        * ``matlab`` (``.data``): the same; line d of ``.label`` is the class of document d.
        * ``gml`` (``.gml``): ``n_tokens label word ...``, or, with ``target="classes"``,
          ``n_tokens n_labels label ... word ...``.
    text : str or sequence of str, default="text"
        Field or column with the text; several are joined.
    label : str, optional, default="label"
        Field or column with the label. None: no labels, in any format.
    id : str, optional
        Field or column with the document's id; by default ``file:line``.
    target : {"class", "classes", "number"}, optional
        What labels are. By default the data decide: a list, or a text if there is a `separator`, is several
        classes; a float is a number; anything else is a class. Null, NaN and empty texts are no label.
    separator : str, optional
        Separator of several labels in a text, such as ";".
    encoding : str, optional
        Encoding of text formats. By default UTF-8, or latin-1 (each byte a character) for lines and files
        that are not UTF-8; these are counted and reported.
    max_bytes : int, default=10_000_000
        Longest line, or file of format ``files``; longer ones are malformed.
    strict : bool, default=False
        Raise `MalformedInput` at the first malformed record, and do not guess encodings.
    problems : Problems, optional
        Collects malformed records and guessed encodings, with file and line; otherwise there is a
        `CorpusWarning`.
    workers : optional
        Reads small files and row groups of Parquet in parallel, such as `bayespa.workers.Workers`. By
        default, and for other input, this thread reads. Documents come in the same order.
    vocabulary : OnlineVocabulary, optional
        What `workers` read they also count. Instead of texts, documents then have what this vocabulary learns
        as it learns the texts, and nothing else can use.

    Returns
    -------
    iterator of Document

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bayespa.corpus import Problems, read
    >>> problems = Problems()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "docs.jsonl")
    ...     _ = path.write_text('{"body": "some words", "topic": "a"}\n{"topic": "b"}\n')
    ...     [(d.content, d.label) for d in read(path, text="body", label="topic", problems=problems)]
    [('some words', 'a')]
    >>> problems.first[0].line, problems.first[0].message
    (2, "no field 'body', only 'topic'; name it with text=")
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format={format!r} is unknown; use one of {', '.join(FORMATS)}")
    if target not in (None, "class", "classes", "number"):
        raise ValueError(f"target={target!r} is unknown; use 'class', 'classes' or 'number'")
    if separator == "" or max_bytes < 1:
        raise ValueError(
            f"separator={separator!r} must not be empty, max_bytes={max_bytes} must be at least 1"
        )
    texts = (text,) if isinstance(text, str) else tuple(text)
    if not texts:
        raise ValueError("text is empty; name the field or fields of the text")
    if encoding is not None or strict:
        encoding = check_encoding(encoding or "utf-8")
    fields = Fields(texts, label, id, target, separator, encoding, max_bytes)
    inputs = _inputs(paths, format)
    shares = None if workers is None else _shares(inputs)
    if workers is None or shares is None:
        return _documents(inputs, fields, strict, problems)
    if vocabulary is None:
        found = workers.map(partial(_read_share, fields), shares)
    else:
        teller = Teller(vocabulary, workers.keep)
        found = workers.map(partial(_count_share, fields), ((share, teller.now()) for share in shares))
    files = chain.from_iterable(found)

    def replay(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
        for one in next(files):
            if isinstance(one, Document):
                yield one
            else:
                report(*one[0], **one[1])

    return _documents([(source, replay) for share in shares for source, _ in share], fields, strict, problems)


class Mapper(Protocol):
    """Applies a pure function to items, perhaps elsewhere."""

    def map(self, function: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
        """Yield the results, in the order of the items."""

    def keep(self, value: Any, /) -> Stored:
        """Make a value available where the function is applied."""


Report = tuple[tuple[Any, ...], dict[str, Any]]  # arguments of a `Reporter`


def _shares(inputs: list[tuple[Source, Reader]]) -> list[list[tuple[Source, Reader]]] | None:
    """Split the input into shares of some megabytes, in order; None: some of it cannot be shared."""
    shares: list[list[tuple[Source, Reader]]] = []
    room = 0
    for source, reader in inputs:
        if reader is read_parquet and source.path != "-":
            groups = [replace(source, groups=(i, i + 1)) for i in range(n_row_groups(source))]
            shares += [[(group, reader)] for group in groups]
            room = 0
            continue
        size = source.size()
        if size is None or size > _LARGE:
            return None
        if size > room:
            shares.append([])
            room = _SHARE
        shares[-1].append((source, reader))
        room -= size
    return shares


def _read_share(fields: Fields, share: list[tuple[Source, Reader]]) -> list[list[Document | Report]]:
    """Return the documents of each file of a share, with problems in their places."""
    found = []
    for source, reader in share:
        told: list[Document | Report] = []

        def report(*arguments: Any, told: list[Document | Report] = told, **options: Any) -> None:
            told.append((arguments, options))

        for document in reader(source, fields, report):
            told.append(document)
        found.append(told)
    return found


def _count_share(
    fields: Fields, share: tuple[list[tuple[Source, Reader]], Told]
) -> list[list[Document | Report]]:
    return counted(_read_share(fields, share[0]), share[1])


def read_labels(
    paths: Paths,
    *,
    format: str | None = None,
    label: str | None = "label",
    id: str | None = None,
    target: Target | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    problems: Problems | None = None,
) -> Iterator[Document]:
    """Read only labels, as documents without a text: columns and files of text are not even loaded.

    Parameters are those of `read`. A missing text is not a problem here.
    """
    encoding = None if encoding is None else check_encoding(encoding)
    fields = Fields((), label, id, target, separator, encoding)
    return _documents(_inputs(paths, format), fields, strict=False, problems=problems)


def _inputs(paths: Paths, format: str | None) -> list[tuple[Source, Reader]]:
    return [(source, _READERS[format or source.guess_format()]) for source in expand(paths)]


def _documents(
    inputs: list[tuple[Source, Reader]], fields: Fields, strict: bool, problems: Problems | None
) -> Iterator[Document]:
    found = Problems(keep=1) if problems is None else problems
    for source, reader in inputs:

        def report(
            line: int | None,
            message: str,
            unit: str = "line",
            name: str = source.name,
            *,
            left_out: bool = True,
        ) -> None:
            problem = Problem(name, line, message, unit, left_out)
            found.add(problem)
            if strict:
                raise MalformedInput(str(problem))
            if problems is None and (len(found) if left_out else found.guessed) == 1:
                # report at once: the input may never end
                what = "left out" if left_out else "and perhaps others"
                _warn(f"{problem} ({what}; problems=Problems() collects these, strict=True stops)")

        yield from reader(source, fields, report)
    if problems is None and max(len(found), found.guessed) > 1:
        _warn(str(found))


def _warn(message: str) -> None:
    warnings.warn(message, CorpusWarning, stacklevel=3)


def shuffle(documents: Iterable[T], buffer_size: int, random_state: RandomState = None) -> Iterator[T]:
    """Shuffle a stream in a buffer: a random document of the buffer leaves when a new one comes.

    A document waits `buffer_size` steps on average. If the buffer holds the whole stream, every order is
    equally likely. The order is a pure function of `random_state` and the documents.

    >>> list(shuffle(range(8), buffer_size=4, random_state=0))
    [1, 0, 2, 3, 6, 4, 5, 7]
    """
    if buffer_size < 1:
        raise ValueError(f"buffer_size={buffer_size} must be at least 1")
    key = key_from_seed(random_state)
    stream = iter(documents)
    buffer = list(islice(stream, buffer_size))
    if len(buffer) == buffer_size:
        for document, place in zip(stream, places(subkey(key, 0), buffer_size), strict=False):
            yield buffer[place]
            buffer[place] = document
    for place in permutation(subkey(key, 1), len(buffer)):
        yield buffer[place]


def places(key: int, n: int) -> Iterator[int]:
    """Draw from 0, ..., n - 1 for ever."""
    for block in count():  # a block of draws costs little more than one
        draws = uniform(subkey(key, block), grid(1024))
        yield from (draws * n).astype(np.int64).tolist()


class Vectorizer(Protocol):
    """Turns texts or bags into a CSR matrix; `OnlineVocabulary` and `BagVectorizer` also have ``learn``."""

    def transform(self, contents: list[str | Bag], /) -> sp.csr_matrix:
        """Return the counts of known words, (n, n_words)."""
        ...


@dataclass(frozen=True)
class CountedBatch:
    """A mini-batch: counts (n, n_words), labels, ids and, if kept, texts."""

    X: sp.csr_matrix
    labels: list[Label]
    ids: list[str]
    texts: list[str] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def labelled(self) -> CountedBatch:
        """Return the documents with a label."""
        rows = [i for i, label in enumerate(self.labels) if label is not None]
        if len(rows) == len(self):
            return self
        texts = self.texts
        return replace(
            self,
            X=self.X[rows],
            labels=[self.labels[i] for i in rows],
            ids=[self.ids[i] for i in rows],
            texts=None if texts is None else [texts[i] for i in rows],
        )


def batches(
    documents: Iterable[Document],
    vectorizer: Vectorizer,
    size: int = 512,
    *,
    learn: bool = True,
    keep_texts: bool = False,
) -> Iterator[CountedBatch]:
    """Count the words of documents, in mini-batches.

    Parameters
    ----------
    documents : iterable of Document
        From `read`, perhaps through `shuffle`.
    vectorizer : OnlineVocabulary, BagVectorizer, HashingVectorizer or a fitted CountVectorizer
        Anything with ``transform``.
    size : int, default=512
        Documents per mini-batch; the last may be smaller.
    learn : bool, default=True
        Whether the vectorizer learns new words, if it can. Later mini-batches then have more columns; columns
        keep their meaning.
    keep_texts : bool, default=False
        Whether mini-batches keep the texts, too.

    Returns
    -------
    iterator of CountedBatch

    Examples
    --------
    >>> from bayespa.corpus import Document, OnlineVocabulary, batches
    >>> texts = ["to be or", "not to be", "be"]
    >>> documents = [Document(text, label, "") for text, label in zip(texts, ["a", "b", None])]
    >>> for batch in batches(documents, OnlineVocabulary(min_count=1), size=2):
    ...     print(batch.X.toarray().tolist(), batch.labels)
    [[1, 1, 1, 0], [1, 1, 0, 1]] ['a', 'b']
    [[0, 1, 0, 0]] [None]
    """
    if size < 1:
        raise ValueError(f"size={size} must be at least 1")
    vectorize = getattr(vectorizer, "learn", vectorizer.transform) if learn else vectorizer.transform
    for chunk in _chunks(documents, size):
        contents, labels, ids, _ = (list(column) for column in zip(*chunk, strict=True))
        yield CountedBatch(vectorize(contents), labels, ids, contents if keep_texts else None)


def _chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk
