"""Readers of Parquet and Arrow files, a record batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bayespa.corpus.documents import Document, Fields
from bayespa.corpus.problems import MalformedInput
from bayespa.corpus.sources import Source
from bayespa.corpus.texts import Reporter, no_such

_ROWS = 512  # of a batch: small beside a model, large beside the cost of a batch
_BUFFER = 1 << 20


def read_parquet(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read the rows of a Parquet file; values are unpacked as they are needed."""
    if source.path == "-":
        raise ValueError(
            "Parquet cannot be read from standard input, for its index is at the end; use format='arrow'"
        )
    pa = _import_pyarrow(source)
    import pyarrow.parquet as pq

    # By default a column of a row group is loaded whole, and a file may be one row group.
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
    """Return how many row groups a Parquet file has; one that is damaged has one, whose reader says so."""
    pa = _import_pyarrow(source)
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(source.random_access()) as file:
            return max(1, int(file.num_row_groups))
    except (pa.ArrowException, OSError):
        return 1


def read_arrow(source: Source, fields: Fields, report: Reporter) -> Iterator[Document]:
    """Read the rows of Arrow record batches, as a file or as a stream."""
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
        raise ImportError(
            f"{source.name} is read by pyarrow, which is not installed: pip install bayespa[data]"
        ) from error
    return pa


@contextmanager
def _reported(pa: Any, report: Reporter) -> Iterator[None]:
    """Report a damaged file, of which nothing more can be read."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        report(None, f"the file is damaged or cut off and cannot be read on ({error})")


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
            records = None  # take the rows one by one to find it
        for i in range(batch.num_rows):
            row += 1
            try:
                values = next(records) if records is not None else _values(columns, i)
                document = fields.document(dict(zip(names, values, strict=True)), f"{called}:{row}")
            except MalformedInput as error:
                report(row, str(error), unit="row")
            else:
                yield document


def _is_utf8(column: Any) -> bool:
    """Return whether all texts are UTF-8, of a column that is else sound: pyarrow trusts what it reads."""
    try:
        column.validate(full=True)
    except ValueError as error:
        if "UTF8" not in str(error) or not _only_texts(column.type):
            raise
        return False
    return True


def _only_texts(kind: Any) -> bool:
    """Return whether a type is text or lists of it, of which the texts are looked at last."""
    import pyarrow.types as types

    if types.is_list(kind) or types.is_large_list(kind):
        return _only_texts(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _values(columns: list[Any], i: int) -> tuple[Any, ...]:
    try:
        return tuple(column[i].as_py() for column in columns)
    except UnicodeDecodeError as error:
        raise MalformedInput(f"byte {error.start + 1} of a text is not utf-8") from error
