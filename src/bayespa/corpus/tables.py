"""Readers of Parquet and Arrow files, one record batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bayespa.corpus.documents import Document, Fields
from bayespa.corpus.problems import MalformedInput
from bayespa.corpus.sources import Source
from bayespa.corpus.texts import Reporter, no_such

_ROWS = 512  # rows per batch: small compared with a model, large compared with the overhead of a batch
_BUFFER = 1 << 20


def read_parquet(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read the rows of a Parquet file; values are converted as they are needed."""
    if source.path == "-":
        raise ValueError(
            "Parquet cannot be read from standard input, because its index is at the end; use format='arrow'"
        )
    pa = _import_pyarrow(source)
    import pyarrow.parquet as pq

    # By default pyarrow loads a column of a whole row group, and a file may be a single row group.
    bounded = {"buffer_size": _BUFFER, "pre_buffer": False}
    with _reported(pa, report), pq.ParquetFile(source.random_access(), **bounded) as file:
        if _check_columns(file.schema_arrow.names, fields, report):
            begin, end = source.groups or (0, file.num_row_groups)
            end = min(end, file.num_row_groups)
            before = sum(file.metadata.row_group(i).num_rows for i in range(begin))
            batches = file.iter_batches(
                batch_size=_ROWS, row_groups=range(begin, end), columns=list(fields.names)
            )
            yield from _documents(batches, source, fields, report, before)


def n_row_groups(source: Source) -> int:
    """Return the number of row groups of a Parquet file; 1 if it is damaged, which the reader reports."""
    pa = _import_pyarrow(source)
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(source.random_access()) as file:
            return max(1, int(file.num_row_groups))
    except (pa.ArrowException, OSError):
        return 1


def read_arrow(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read the rows of Arrow record batches, from a file or a stream."""
    pa = _import_pyarrow(source)
    with _reported(pa, report), source.open() as stream:
        seekable = source.path != "-" and not source.compressed
        if seekable and stream.peek(6).startswith(b"ARROW1"):  # type: ignore[attr-defined]  # it is buffered
            file = pa.ipc.open_file(stream)
            batches = (file.get_batch(i) for i in range(file.num_record_batches))
        else:
            file = pa.ipc.open_stream(stream)
            batches = iter(file)
        if _check_columns(file.schema.names, fields, report):
            yield from _documents(batches, source, fields, report)


def _import_pyarrow(source: Source) -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError(f"reading {source.name} needs pyarrow: pip install bayespa[data]") from error
    return pa


@contextmanager
def _reported(pa: Any, report: Reporter) -> Iterator[None]:
    """Report a damaged file, of which nothing more can be read."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        report(None, f"the file is damaged or truncated; the rest cannot be read ({error})")


def _check_columns(names: list[str], fields: Fields, report: Reporter) -> bool:
    for name in fields.names:
        if name not in names:
            report(None, no_such("column", name, names, fields))
            return False
    return True


def _documents(
    batches: Iterator[Any], source: Source, fields: Fields, report: Reporter, before: int = 0
) -> Iterator[Document]:
    row, names, called = before, fields.names, source.name
    for batch in batches:
        columns = [batch.column(name) for name in names]
        if all([_is_utf8(column) for column in columns]):
            records = zip(*(column.to_pylist() for column in columns), strict=True)
        else:
            records = None  # convert the rows one by one to find the bad one
        for i in range(batch.num_rows):
            row += 1
            try:
                values = next(records) if records is not None else _values(columns, i)
                document = fields.document(values, f"{called}:{row}")
            except MalformedInput as error:
                report(row, str(error), unit="row")
            else:
                yield document


def _is_utf8(column: Any) -> bool:
    """Return whether all texts of a column are UTF-8; pyarrow does not check."""
    try:
        column.validate(full=True)
    except ValueError as error:
        if "UTF8" not in str(error) or not _only_texts(column.type):
            raise
        return False
    return True


def _only_texts(kind: Any) -> bool:
    """Return whether a type is text or a list of texts, after other types were handled."""
    import pyarrow.types as types

    if types.is_list(kind) or types.is_large_list(kind):
        return _only_texts(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _values(columns: list[Any], i: int) -> tuple[Any, ...]:
    try:
        return tuple(column[i].as_py() for column in columns)
    except UnicodeDecodeError as error:
        raise MalformedInput(f"byte {error.start + 1} of a text is not utf-8") from error
