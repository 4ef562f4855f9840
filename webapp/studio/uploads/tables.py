"""Tables: CSV in UTF-8 or UTF-16, and Parquet if pyarrow is installed."""

from __future__ import annotations

import csv
import importlib
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

from . import bounds
from .refusal import Refusal

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_DELIMITERS = ",;\t|"
# What a spreadsheet program would run.
_FORMULA = re.compile(r"\s*(=.|[+\-@].*(\(.*\)|\|))")
_INT = re.compile(r"[+-]?(0|[1-9]\d{0,17})")
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?|[+-]?(nan|inf)", re.IGNORECASE)
SHOWN_ROWS, MOST_VALUES = 8, 24


class Column:
    """What was seen of one column so far: its type, its extremes, its empty cells, its values if they are few."""

    def __init__(self, name: str) -> None:
        self.name, self.dtype = name, "int64"
        self.filled = self.empty = 0
        self.least, self.most, self.sum = float("inf"), float("-inf"), 0.0
        self.values: Counter[str] | None = Counter()

    def see(self, cell: str) -> None:
        if self.values is not None:
            self.values[cell[: bounds.LONGEST_NAME]] += 1
            if len(self.values) > MOST_VALUES:
                self.values = None
        if not cell:
            self.empty += 1
            return
        self.filled += 1
        if self.dtype == "object":
            return
        if not _INT.fullmatch(cell):
            # Digits after a zero are a code such as 007; a longer number is exact only as text.
            whole = cell.lstrip("+-").isdecimal()
            self.dtype = "object" if whole or not _FLOAT.fullmatch(cell) else "float64"
        if self.dtype != "object":
            number = float(cell)
            self.least, self.most = min(self.least, number), max(self.most, number)
            self.sum += number

    def settled(self) -> str:
        """Its type: integers with empty cells become floats, a column without values is text."""
        if not self.filled:
            return "object"
        return "float64" if self.dtype == "int64" and self.empty else self.dtype


def csv_table(stream: IO[bytes], name: str) -> dict[str, Any]:
    """What `_told` tells of a CSV file, with its `encoding` and `delimiter`. Refuses what does not have the same columns
    in each row."""
    head = stream.read(3)
    encoding = next((encoding for mark, encoding in _MARKS if head.startswith(mark)), "utf-8")
    stream.seek(0)
    text = io.TextIOWrapper(stream, encoding, newline="")
    csv.field_size_limit(bounds.LONGEST_LINE)
    lines = _Lines(text, name)
    first = next(iter(lines), "")
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(itertools.chain([first], lines), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        columns = _header(header, name)
        shown: list[list[str]] = []
        rows = 0
        for row in reader:
            if not row:
                continue
            if len(row) != len(columns):
                raise Refusal(
                    "ragged", name=name, line=reader.line_num, found=len(row), expected=len(columns)
                )
            for column, cell in zip(columns, row, strict=True):
                if cell[:1] in "=+-@\t\r " and cell and _FORMULA.match(cell):
                    raise Refusal("formula", name=name, line=reader.line_num, column=column.name, cell=cell)
                column.see(cell)
            if len(shown) < SHOWN_ROWS:
                shown.append(row)
            rows += 1
    except csv.Error as error:
        raise Refusal("csv", name=name, line=max(reader.line_num, 1), why=error) from error
    text.detach()
    if not rows:
        raise Refusal("no_rows", name=name)
    return {**_told(columns, rows, shown), "encoding": encoding, "delimiter": delimiter}


def _header(header: list[str], name: str) -> list[Column]:
    if len(header) > bounds.MOST_COLUMNS:
        raise Refusal("columns", name=name, count=len(header), most=bounds.MOST_COLUMNS)
    if not header:
        raise Refusal("no_rows", name=name)
    for place, word in enumerate(header, 1):
        if not word.strip() or not word.isprintable() or _FLOAT.fullmatch(word) or _FORMULA.match(word):
            raise Refusal("header_row", name=name, column=place, cell=word)
    twice = next((word for word, count in Counter(header).items() if count > 1), None)
    if twice is not None:
        raise Refusal("column_twice", name=name, cell=twice)
    return [Column(word) for word in header]


def _told(columns: list[Column], rows: int, shown: list[list[str]]) -> dict[str, Any]:
    facts = [
        {
            "name": column.name,
            "dtype": column.settled(),
            "empty": column.empty,
            "values": column.values and dict(column.values.most_common()),
            **({} if column.settled() == "object" else _extremes(column)),
        }
        for column in columns
    ]
    return {"rows": rows, "facts": facts, "shown": shown}


def _extremes(column: Column) -> dict[str, str]:
    found = {"least": column.least, "mean": column.sum / column.filled, "most": column.most}
    return {word: f"{value:g}" for word, value in found.items()}


class _Lines:
    """The lines of a text; refuses one that is too long, a NUL, and bytes that are not of the encoding."""

    def __init__(self, text: io.TextIOWrapper, name: str) -> None:
        self._text, self._name, self._number = text, name, 0

    def __iter__(self) -> Iterator[str]:
        while True:
            self._number += 1
            try:
                line = self._text.readline(bounds.LONGEST_LINE + 1)
            except UnicodeDecodeError as error:  # in a piece that begins in this line
                number = self._number + error.object[: error.start].count(b"\n")
                raise Refusal("encoding", name=self._name, line=number, why=error.reason) from error
            except UnicodeError as error:
                raise Refusal("encoding", name=self._name, line=self._number, why=error) from error
            if not line:
                return
            if len(line) > bounds.LONGEST_LINE:
                raise Refusal("line", name=self._name, line=self._number, most=bounds.LONGEST_LINE)
            if "\0" in line:
                raise Refusal("nul", name=self._name, line=self._number)
            yield line


def parquet_table(stream: IO[bytes], name: str) -> dict[str, Any]:
    """What `_told` tells of a Parquet file. Refuses types that have no column of a Table, and metadata that state another
    number of rows than there are."""
    try:
        pyarrow, parquet = map(importlib.import_module, ("pyarrow", "pyarrow.parquet"))
    except ModuleNotFoundError:
        raise Refusal("parquet", name=name) from None
    pyarrow.set_cpu_count(1)
    try:
        file = parquet.ParquetFile(stream)
        if len(file.schema_arrow) > bounds.MOST_COLUMNS:
            raise Refusal("columns", name=name, count=len(file.schema_arrow), most=bounds.MOST_COLUMNS)
        columns = _header(file.schema_arrow.names, name)
        types = [_parquet_type(pyarrow.types, field, name) for field in file.schema_arrow]
        shown: list[list[str]] = []
        rows = 0
        for batch in file.iter_batches(batch_size=4096, use_threads=False):
            cells = [
                ["" if cell is None else str(cell) for cell in column.to_pylist()] for column in batch.columns
            ]
            for column, seen in zip(columns, cells, strict=True):
                for cell in seen:
                    column.see(cell)
            shown += map(list, zip(*(seen[: SHOWN_ROWS - len(shown)] for seen in cells), strict=True))
            rows += batch.num_rows
        stated = file.metadata.num_rows
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
        if isinstance(error, Refusal):
            raise
        raise Refusal("damaged", name=name, why=error) from error
    if rows != stated:
        raise Refusal("parquet_rows", name=name, stated=stated, found=rows)
    if not rows:
        raise Refusal("no_rows", name=name)
    told = _told(columns, rows, shown)
    for fact, dtype, column in zip(told["facts"], types, columns, strict=True):
        fact["dtype"] = "float64" if dtype in ("int64", "bool") and column.empty else dtype
    return told


def _parquet_type(types: Any, field: Any, name: str) -> str:
    """The dtype of a column; `types` is pyarrow.types."""
    kind = field.type
    if types.is_boolean(kind):
        return "bool"
    if types.is_integer(kind) and kind != "uint64":
        return "int64"
    if types.is_floating(kind):
        return "float64"
    as_text = (types.is_string, types.is_large_string, types.is_temporal, types.is_decimal)
    if any(test(kind) for test in as_text):
        return "object"
    raise Refusal("column_type", name=name, column=field.name, type=str(kind))
