"""Readers of the official layouts and of the compact copies: paths in, named arrays out.

Each refuses a truncated or foreign file with a ValueError that says what is wrong, and none executes
anything that a file contains (no pickle).
"""

import gzip
import hashlib
import importlib.util
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

Arrays = dict[str, np.ndarray[Any, Any]]
PARTS = ("train_images", "train_labels", "test_images", "test_labels")

# IDX type codes (http://yann.lecun.com/exdb/mnist/, "the IDX file format"); values are big-endian.
_IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: Path) -> np.ndarray[Any, Any]:
    """One IDX file, plain or gzipped: magic number, one 32-bit size per axis, then the values."""
    with open(path, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw) if packed else raw)
        try:
            zeros, code, axes = struct.unpack(">HBB", _exactly(stream, 4, path))
            if zeros != 0 or code not in _IDX_TYPES or not 1 <= axes <= 4:
                begun = f"{zeros:04x} {code:02x} {axes:02x}"
                raise ValueError(f"{path} is not an IDX file: it begins with {begun}")
            shape = struct.unpack(f">{axes}I", _exactly(stream, 4 * axes, path))
            dtype = np.dtype(_IDX_TYPES[code])
            # Do not trust the stated size before the bytes are read: read in chunks, up to it.
            data = _exactly(stream, math.prod(shape) * dtype.itemsize, path)
            if stream.read(1):
                raise ValueError(f"{path} goes on after the {len(data)} bytes that its header {shape} states")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is a damaged gzip file: {error}") from error
    return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _exactly(stream: BinaryIO, count: int, path: Path) -> bytes:
    pieces, missing = [], count
    while missing > 0 and (piece := stream.read(min(missing, 1 << 20))):
        pieces.append(piece)
        missing -= len(piece)
    if missing:
        raise ValueError(f"{path} is cut short: {missing} of {count} expected bytes are missing")
    return b"".join(pieces)


def idx(files: dict[str, Path]) -> Arrays:
    """The four IDX files of MNIST and its relatives."""
    return {role: read_idx(files[role]) for role in PARTS}


def npz(files: dict[str, Path]) -> Arrays:
    """A compact copy: one .npz file that holds the four arrays under their names."""
    return read_npz(files["arrays"], PARTS)


def read_npz(path: Path, names: Iterable[str]) -> Arrays:
    """The named arrays of an .npz file, without pickle. ValueError for another format, absent names, or
    damage."""
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path}: expected a whole .npz file")
    with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
        absent = [name for name in names if name not in archive.files]
        if absent:
            raise ValueError(f"{path}: expected {', '.join(absent)}; it holds {', '.join(archive.files)}")
        try:
            return {name: archive[name] for name in names}
        except (zipfile.BadZipFile, EOFError, zlib.error, ValueError) as error:
            raise ValueError(f"{path} is damaged or holds more than plain arrays: {error}") from error


def scikit_learn(_: dict[str, Path]) -> Arrays:
    """The 8x8 digits inside scikit-learn, in a fixed shuffle.

    The samples come writer after writer; the shuffle puts every writer's hand into both parts (the card
    says so). RandomState's stream is frozen by NumPy's policy, which keeps the parts the same.
    """
    from sklearn.datasets import load_digits

    whole = load_digits()
    order = np.random.RandomState(1797).permutation(len(whole.target))
    images = whole.images.astype(np.uint8)[order]
    labels = whole.target.astype(np.uint8)[order]
    cut = 1437
    return dict(zip(PARTS, (images[:cut], labels[:cut], images[cut:], labels[cut:]), strict=True))


def text(files: dict[str, Path]) -> Arrays:
    """The bytes of a text in UTF-8."""
    return {"text": np.frombuffer(files["text"].read_bytes(), np.uint8)}


def has_scikit_learn() -> bool:
    """Whether scikit-learn is installed, without the second that an import takes."""
    return importlib.util.find_spec("sklearn") is not None


def array_checksum(arrays: Arrays) -> str:
    """sha256 over the bytes of the arrays in the order of PARTS: for data without a file."""
    digest = hashlib.sha256()
    for part in PARTS:
        digest.update(np.ascontiguousarray(arrays[part]).tobytes())
    return digest.hexdigest()


# By the name a card uses: the files the reader wants, by role, and the reader.
READERS: dict[str, tuple[tuple[str, ...], Callable[[dict[str, Path]], Arrays]]] = {
    "idx": (PARTS, idx),
    "npz": (("arrays",), npz),
    "scikit-learn": (("arrays",), scikit_learn),
    "text": (("text",), text),
}
