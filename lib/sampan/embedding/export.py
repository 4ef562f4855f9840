"""A table in one file that other programs read, written block by block and read as it lies on the disk.

By the ending of the name:

`.npy`: NumPy's array [n, d]; of a table whose ids are not 0 to n - 1, an array [n] of records ("id" int64,
"row" [d]).
`.safetensors`: "rows" [n, d], and "ids" [n] int64 where they are not 0 to n - 1.
`.bin`: word2vec's binary file: "n d" in a line, then each word, a space, and d float32. The words are labels,
or else the ids in decimal. They are filled up with line ends in front, which readers of the format pass over
(word2vec's own distance.c, gensim), so that all records are equally long and the rows can be mapped.

Numbers are little-endian. A file takes its name when it is whole.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from ..serialization import NoSuchFile, replacing
from .reading import ArrayTable, Table, table_of

SUFFIXES = (".npy", ".bin", ".safetensors")
DTYPES = {"float16": "F16", "float32": "F32", "float64": "F64"}  # and their names in safetensors
LONGEST_HEADER = 1 << 20  # bytes of JSON or of a line; ours has some hundred


class TableFile(NamedTuple):
    """rows: [n, d] as they lie in the file; ids: int64 [n], None where they are 0 to n - 1; labels: of a
    `.bin`, else None."""

    rows: np.ndarray
    ids: np.ndarray | None
    labels: list[str] | None


def export_table(
    source: Any, path: str | Path, *, labels: Sequence[str] | None = None, dtype: str | None = None
) -> Path:
    """Write the rows of a table, and the ids where it needs them, to `path`: `.npy`, `.bin` or
    `.safetensors`.

    source: Embedding, EmbeddingBag, EmbeddingTables (all tables in one), DynamicEmbedding (the ids that have
    a row), HybridEmbedding (all rows, wherever they lie), or an array or Tensor [n, d]. A few megabytes are
    in memory at a time.
    labels: the words of a `.bin`, one a row, different ones without white space. dtype: "float16", "float32"
    or "float64"; the table's own unless given (float32 for bfloat16); a `.bin` is float32. Values that are
    too large for float16 become infinite.

    An older file under the name stays until the new one is whole. Raises ValueError and TypeError before
    anything is written, OSError when the disk is full.
    """
    path, table = Path(path), table_of(source)
    _known(path)
    if path.suffix == ".bin":
        if dtype not in (None, "float32"):
            raise ValueError(f"dtype: expected float32, as a .bin has it, got {dtype}")
        kind = np.dtype("<f4")
    else:
        if labels is not None:
            raise ValueError(f"labels: expected None for a {path.suffix}, only a .bin has words")
        if dtype is not None and dtype not in DTYPES:
            raise ValueError(f"dtype: expected one of {', '.join(DTYPES)}, got {dtype!r}")
        kind = np.dtype(dtype or table.dtype).newbyteorder("<")
    width = _word_width(table, labels) if path.suffix == ".bin" else 0
    with replacing(path) as file:
        if path.suffix == ".npy":
            _write_npy(file, table, kind)
        elif path.suffix == ".bin":
            _write_words(file, table, labels, width)
        else:
            _write_safetensors(file, table, kind)
    return path


def open_table(path: str | Path) -> TableFile:
    """A table that `export_table` wrote, memory-mapped: what is not looked at is not read.

    A file of one of these formats from another program is read too, but for a `.bin` whose words differ in
    length; those `text.WordVectors.load_word2vec` reads. Words that are all whole numbers are ids. Raises
    FileNotFoundError, and ValueError for a file that is cut off or not what its name says.
    """
    path = Path(path)
    _known(path)
    if not path.exists():
        raise NoSuchFile(f"{path}: there is no such file")
    return {".npy": _open_npy, ".bin": _open_words, ".safetensors": _open_safetensors}[path.suffix](path)


def import_table(target: Any, path: str | Path) -> int:
    """Set the rows of a layer from a file that `open_table` reads, block by block; returns how many.

    target: an embedding layer. Where the file has ids, those rows are set and others stay; where it has none,
    the file must have as many rows as the layer. A DynamicEmbedding gets the ids that are new to it. Raises
    ValueError before any row is changed, for another width, ids outside, and numbers that are not finite;
    MemoryError where a DynamicEmbedding has no room.
    """
    table, (rows, ids, _) = table_of(target, "target"), open_table(path)
    if isinstance(table, ArrayTable):
        raise TypeError(f"target: expected an embedding layer, got {type(target).__name__}")
    source = ArrayTable(rows, ids)
    if source.dim != table.dim:
        raise ValueError(f"{path}: expected rows of {table.dim}, got {source.dim}")
    if ids is None and table.numbered and source.count != table.count:
        raise ValueError(f"{path}: expected {table.count} rows, got {source.count}")
    below = table.count if table.numbered else getattr(target, "num_embeddings", None)
    _check(path, source, below)
    if not table.numbered:
        new = sum(int((target.rows_of(source.ids(a, b)) < 0).sum()) for a, b in source.blocks())
        if len(target) + new > target.capacity:
            raise MemoryError(
                f"{path}: {new} new ids beside {len(target)}, the capacity is {target.capacity}"
            )
    for start, stop in source.blocks():
        table.put(source.ids(start, stop), source.read(start, stop))
    return source.count


def _check(path: str | Path, source: ArrayTable, below: int | None) -> None:
    for start, stop in source.blocks():
        ids, rows = source.ids(start, stop), source.read(start, stop)
        if below is not None and len(wrong := ids[(ids < 0) | (ids >= below)]):
            raise ValueError(f"{path}: expected ids from 0 to {below - 1}, got {int(wrong[0])}")
        if not np.isfinite(rows).all():
            first = int(ids[~np.isfinite(rows).all(1)][0])
            raise ValueError(f"{path}: expected finite numbers, the row of id {first} has others")
    if source.numbered:
        return
    ordered = np.sort(source.ids(0, source.count))
    if len(again := ordered[1:][ordered[1:] == ordered[:-1]]):
        raise ValueError(f"{path}: expected each id once, got {int(again[0])} again")


def _known(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise ValueError(f"path: expected a name that ends in {', '.join(SUFFIXES)}, got {path.name!r}")


def _bad(path: Path, why: str) -> ValueError:
    return ValueError(f"{path}: expected a whole table, {why}")


# --- NumPy's format -----------------------------------------------------------------------------------------


def _record(dim: int, kind: np.dtype) -> np.dtype:
    return np.dtype([("id", "<i8"), ("row", kind, (dim,))])


def _write_npy(file: IO[bytes], table: Table, kind: np.dtype) -> None:
    record = kind if table.numbered else _record(table.dim, kind)
    shape = (table.count, table.dim) if table.numbered else (table.count,)
    facts = {"descr": np.lib.format.dtype_to_descr(record), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, facts)
    for start, stop in table.blocks():
        rows = table.read(start, stop)
        if table.numbered:
            block = rows.astype(kind, "C")
        else:
            block = np.empty(stop - start, record)
            block["id"], block["row"] = table.ids(start, stop), rows
        file.write(block.tobytes())


def _open_npy(path: Path) -> TableFile:
    try:
        whole = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise _bad(path, f"it is cut off or no .npy: {error}") from None
    if whole.nbytes + whole.offset != path.stat().st_size:
        raise _bad(path, "it is longer than its header says")
    fields = whole.dtype.fields
    if fields is None and whole.ndim == 2 and whole.dtype.kind == "f":
        return TableFile(whole, None, None)
    if fields is None or set(fields) != {"id", "row"} or whole.ndim != 1:
        raise _bad(path, f"it has dtype {whole.dtype} and shape {list(whole.shape)}")
    rows, ids = whole["row"], whole["id"]
    if rows.ndim != 2 or rows.dtype.kind != "f" or ids.dtype != np.int64:
        raise _bad(path, f"its records are {whole.dtype}")
    return TableFile(rows, ids, None)


# --- safetensors --------------------------------------------------------------------------------------------


def _write_safetensors(file: IO[bytes], table: Table, kind: np.dtype) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    position = 0
    if not table.numbered:  # first, so that both begin where their items are aligned
        position = 8 * table.count
        header["ids"] = {"dtype": "I64", "shape": [table.count], "data_offsets": [0, position]}
    end = position + table.count * table.dim * kind.itemsize
    shape = [table.count, table.dim]
    header["rows"] = {"dtype": DTYPES[kind.name], "shape": shape, "data_offsets": [position, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    if not table.numbered:
        for start, stop in table.blocks():
            file.write(table.ids(start, stop).astype("<i8").tobytes())
    for start, stop in table.blocks():
        file.write(table.read(start, stop).astype(kind, "C").tobytes())


def _open_safetensors(path: Path) -> TableFile:
    size = path.stat().st_size
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, LONGEST_HEADER):
            raise _bad(path, "it is cut off or no .safetensors")
        text = file.read(length)
    try:
        header = json.loads(text)
        header.pop("__metadata__", None)
        end = max([0, *(facts["data_offsets"][1] for facts in header.values())])
        if end != size - 8 - length:
            raise _bad(path, f"its header names {end} bytes, there are {size - 8 - length}")
        names = [name for name in header if name != "ids"]
        name = names[0] if len(names) == 1 else "rows"  # another program may have called them otherwise
        rows = _mapped(path, header, name, 8 + length)
        ids = _mapped(path, header, "ids", 8 + length) if "ids" in header else None
    except (
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        UnicodeDecodeError,
        json.JSONDecodeError,
    ) as error:
        raise _bad(path, f"its header has no rows in it: {error!r}") from None
    if rows.ndim != 2 or rows.dtype.kind != "f" or (ids is not None and ids.shape != rows.shape[:1]):
        raise _bad(path, f"its rows have shape {list(rows.shape)} and dtype {rows.dtype}, its ids do not fit")
    return TableFile(rows, ids, None)


def _mapped(path: Path, header: dict[str, Any], name: str, start: int) -> np.ndarray:
    facts = header[name]
    codes = {code: np.dtype(name).newbyteorder("<") for name, code in DTYPES.items()}
    kind = np.dtype("<i8") if name == "ids" else codes.get(facts["dtype"])
    if kind is None or (name == "ids" and facts["dtype"] != "I64"):
        raise _bad(path, f"{name} has dtype {facts['dtype']}")
    shape, (begin, end) = tuple(facts["shape"]), facts["data_offsets"]
    if min(shape, default=0) < 0 or begin < 0 or math.prod(shape) * kind.itemsize != end - begin:
        raise _bad(path, f"{name} does not have the bytes of shape {list(shape)}")
    if begin == end:
        return np.empty(shape, kind)
    return np.memmap(path, kind, "r", offset=start + begin, shape=shape)


# --- word2vec's binary format -------------------------------------------------------------------------------


def _words(table: Table, labels: Sequence[str] | None, start: int, stop: int) -> list[bytes]:
    if labels is None:
        return [b"%d" % number for number in table.ids(start, stop)]
    return [label.encode() for label in labels[start:stop]]


def _word_width(table: Table, labels: Sequence[str] | None) -> int:
    """Bytes of the longest word, filled up so that a record's numbers begin at a multiple of 4."""
    if labels is not None:
        if len(labels) != table.count:
            raise ValueError(f"labels: expected {table.count}, one a row, got {len(labels)}")
        for number, label in enumerate(labels):
            if not isinstance(label, str) or label.split() != [label] or "\0" in label:
                raise ValueError(f"labels[{number}]: expected a word without white space, got {label!r}")
        if len(set(labels)) != len(labels):
            raise ValueError(f"labels: expected different ones, {len(labels) - len(set(labels))} come again")
    longest = max((len(w) for a, b in table.blocks() for w in _words(table, labels, a, b)), default=1)
    return longest + -(longest + 1) % 4


def _word_record(width: int, dim: int) -> np.dtype:
    return np.dtype([("word", f"S{width}"), ("space", "S1"), ("row", "<f4", (dim,))])


def _write_words(file: IO[bytes], table: Table, labels: Sequence[str] | None, width: int) -> None:
    line = b"%d %d\n" % (table.count, table.dim)
    file.write(b" " * (-len(line) % 4) + line)
    for start, stop in table.blocks():
        block = np.empty(stop - start, _word_record(width, table.dim))
        block["word"] = [word.rjust(width, b"\n") for word in _words(table, labels, start, stop)]
        block["space"], block["row"] = b" ", table.read(start, stop)
        file.write(block.tobytes())


def _open_words(path: Path) -> TableFile:
    size = path.stat().st_size
    with open(path, "rb") as file:
        line = file.readline(100)
    try:
        count, dim = (int(number) for number in line.split())
    except ValueError:
        raise _bad(path, f"it begins with {line[:40]!r} instead of two numbers") from None
    if not line.endswith(b"\n") or count < 0 or dim < 1:
        raise _bad(path, f"it begins with {line[:40]!r} instead of two numbers")
    content = size - len(line)
    width = content // count - 4 * dim - 1 if count else 1
    if width < 1 or content != count * (width + 1 + 4 * dim):
        raise _bad(
            path,
            f"{count} words and rows of {dim} do not fill its {content} bytes evenly: it is cut off, or its "
            "words differ in length (read such a file with text.WordVectors.load_word2vec)",
        )
    if not count:
        return TableFile(np.empty((0, dim), np.float32), None, [])
    whole = np.memmap(path, _word_record(width, dim), "r", offset=len(line), shape=(count,))
    if (whole["space"] != b" ").any():
        raise _bad(
            path, "a word does not end where the others do: it is cut off, or its words differ in length"
        )
    words = [word.lstrip(b"\n") for word in whole["word"].tolist()]
    ids = _numbers(words)
    try:
        labels = [word.decode() for word in words]
    except UnicodeDecodeError as error:
        raise _bad(path, f"a word is not UTF-8: {error}") from None
    if ids is not None and np.array_equal(ids, np.arange(count)):
        return TableFile(whole["row"], None, labels)
    return TableFile(whole["row"], ids, labels)


def _numbers(words: list[bytes]) -> np.ndarray | None:
    """The words as ids, None unless all of them are whole numbers as ids are written."""
    try:
        numbers = [int(word) for word in words]
        ids = np.array(numbers, np.int64)
    except (ValueError, OverflowError):
        return None
    return ids if all(b"%d" % number == word for number, word in zip(numbers, words, strict=True)) else None
