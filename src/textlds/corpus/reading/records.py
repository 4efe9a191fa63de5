"""Records as sources: JSON lines, Parquet, Python iterables and Hugging Face data sets. Each record is a document."""

from __future__ import annotations

import contextlib
import io
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from textlds.corpus.reading.files import File, TextSource, is_remote
from textlds.corpus.reading.pages import largest_page
from textlds.corpus.reading.sources import CHUNK_BYTES, Chunk, Record, Source, record_chunks
from textlds.corpus.settings import ReadSettings
from textlds.errors import ArgumentError, CorpusError, MissingExtraError

_PAGE_BYTES = 1 << 28  # the largest page of a Parquet file that is unpacked
_BATCH_BYTES, _BATCH_ROWS = 1 << 25, 1024  # of Parquet at a time


def as_record(value: Any, where: str) -> Record:
    """Check that a value is a text or a list of tokens."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(token, str) for token in value):
        return value
    raise ArgumentError(f"{where} is neither a string nor a list of strings: {value!r:.100}")


class _FileRecords(Source):
    """Records in a file."""

    def __init__(self, file: File, options: ReadSettings) -> None:
        self.file, self.options = file, options
        self.name, self.size = file.name, file.size

    def identity(self) -> dict[str, Any] | None:
        """Return path, size and time of a local file; None for anything else."""
        return self.file.identity()

    def chunks(self, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """Read the records and serialise them."""
        errors = self.options.encoding_errors
        return record_chunks(self._records(), chunk_bytes, name=self.name, errors=errors)

    @abstractmethod
    def _records(self) -> Iterator[tuple[Record, int]]:
        """Yield each record with the bytes of the file that were read for it."""


class JsonLinesSource(_FileRecords):
    """One JSON value a line, perhaps compressed: an object with the text column, or the text itself."""

    def _records(self) -> Iterator[tuple[Record, int]]:
        number = amount = 0
        for chunk in TextSource(self.file, self.options).chunks():
            amount += chunk.size  # counted with the first record of each chunk that was read
            for line in io.BytesIO(chunk.data):  # one at a time: a short line is ten times as large as an object
                number += 1
                if line.strip():
                    value = self._text(line, number)
                    if value is not None:
                        yield as_record(value, f"{self.name}, line {number}"), amount
                        amount = 0

    def _text(self, line: bytes, number: int) -> Any:
        where = f"{self.name}, line {number}"
        try:
            value = json.loads(line)
        except ValueError as error:
            raise CorpusError(f"{where} is not JSON: {error}. Each line must be one JSON value.") from error
        except RecursionError as error:
            raise CorpusError(
                f"{where} is nested too deeply. Each line must be a text, or an object with one."
            ) from error
        if not isinstance(value, dict):
            return value
        if self.options.text_column not in value:
            raise missing_column(where, self.options.text_column, list(value))
        return value[self.options.text_column]


class ParquetSource(_FileRecords):
    """A column of a Parquet file: strings, or lists of them."""

    def _records(self) -> Iterator[tuple[Record, int]]:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise MissingExtraError("reading Parquet", "parquet") from error
        column = self.options.text_column
        with self.file.open() as stored, self._faults(pyarrow.ArrowException):
            table = pyarrow.parquet.ParquetFile(stored)
            if column not in table.schema_arrow.names:
                raise missing_column(self.name, column, table.schema_arrow.names)
            left, rows_left = self.size or 0, table.metadata.num_rows
            for group in range(table.metadata.num_row_groups):
                rows = self._rows_at_a_time(table.metadata.row_group(group))
                for batch in table.iter_batches(batch_size=rows, columns=[column], row_groups=[group]):
                    amount = left * batch.num_rows // max(rows_left, 1)
                    left, rows_left = left - amount, rows_left - batch.num_rows
                    for value in batch.column(0):
                        text = value.as_py()
                        if text is not None:
                            yield as_record(text, f"column {column!r} of {self.name}"), amount
                            amount = 0

    def _rows_at_a_time(self, group: Any) -> int:
        """Return how many rows of a group fit into bounded memory, or refuse a group with a page that does not.

        A dictionary repeats a value in every row, but no value is larger than a page.
        """
        column, remote = self.options.text_column, is_remote(self.name)
        every = [group.column(k) for k in range(group.num_columns)]
        chunks = [chunk for chunk in every if f"{chunk.path_in_schema}.".startswith(f"{column}.")]
        sizes = [chunk.total_uncompressed_size for chunk in chunks]
        if not remote or max(sizes, default=0) > _PAGE_BYTES:  # headers far away cost as much as the pages
            with self.file.open() as file:
                try:
                    sizes = [largest_page(file, chunk) for chunk in chunks]
                except ValueError as error:
                    raise self._damaged(error) from error
        largest = max(sizes, default=0)
        if largest > _PAGE_BYTES:
            raise CorpusError(
                f"{self.name} has a page of {largest:,} bytes, and a page is held in memory as a whole, up to "
                f"{_PAGE_BYTES:,}. Write it with smaller pages (write_batch_size, data_page_size) or shorter texts."
            )
        return max(16 if remote else 1, min(_BATCH_BYTES // max(largest, 1), _BATCH_ROWS))

    @contextlib.contextmanager
    def _faults(self, kind: type[Exception]) -> Iterator[None]:
        try:
            yield
        except kind as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> CorpusError:
        return CorpusError(f"{self.name} is not a whole Parquet file: {error}. Fetch or write it again.")


def missing_column(where: str, column: str, found: list[str]) -> CorpusError:
    """Return the error for records without the text column."""
    return CorpusError(
        f"{where} has no {column!r}; it has {', '.join(map(repr, found)) or 'nothing'}. "
        f"Name the one with the text: text_column=... (--text-column)."
    )


_DATASET_ROWS = 1000  # read at a time, all columns but the text left alone


class IterableSource(Source):
    """A Python iterable of texts, token lists, or mappings with the text column; read once if it is an iterator."""

    def __init__(self, items: Iterable[Any], options: ReadSettings, *, name: str = "the iterable") -> None:
        self.items, self.options, self.name, self.size = items, options, name, None

    def chunks(self, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """Take the items and serialise them."""
        records = ((self._record(item, f"item {k} of {self.name}"), 0) for k, item in enumerate(self.items))
        return record_chunks(records, chunk_bytes, name=self.name, errors=self.options.encoding_errors)

    def _record(self, item: Any, where: str) -> Record:
        if isinstance(item, Mapping):
            if self.options.text_column not in item:
                raise missing_column(where, self.options.text_column, [str(name) for name in item])
            item = item[self.options.text_column]
        return as_record(item, where)


def is_of_datasets(value: object) -> bool:
    """Tell whether a value is of the library ``datasets``: a data set, some splits of one, or a column."""
    return type(value).__module__.partition(".")[0] == "datasets"


class DatasetSource(IterableSource):
    """A data set or a column of one, on disk or streamed, read some rows at a time."""

    def __init__(self, dataset: Any, options: ReadSettings) -> None:
        if isinstance(dataset, Mapping):
            raise ArgumentError(f"the data set has the splits {', '.join(map(repr, dataset))}; give one of them.")
        whole = hasattr(dataset, "column_names")  # a column has none
        texts = _texts_of(dataset, options.text_column) if whole else (text for text in dataset if text is not None)
        super().__init__(texts, options, name="the data set")


def _texts_of(dataset: Any, column: str) -> Iterator[Any]:
    """Yield the texts of a column; rows without one are left out."""
    names = dataset.column_names  # None for a stream that has not begun
    if names is not None and column not in names:
        raise missing_column("the data set", column, names)
    plain = dataset.with_format(None)  # whatever else the user made of it, tensors for one
    for batch in (plain if names is None else plain.select_columns([column])).iter(batch_size=_DATASET_ROWS):
        if column not in batch:
            raise missing_column("the data set", column, list(batch))
        yield from (text for text in batch[column] if text is not None)
