"""What a file is, by its first bytes. The name only must not contradict them."""

from __future__ import annotations

from pathlib import PurePosixPath

from .refusal import Refusal

HEAD = 16  # bytes that are enough
_MAGIC = (
    ("png", b"\x89PNG\r\n\x1a\n"),
    ("jpeg", b"\xff\xd8\xff"),
    ("npy", b"\x93NUMPY"),
    ("parquet", b"PAR1"),
    ("zip", b"PK\x03\x04"),
    ("zip", b"PK\x05\x06"),  # an empty one
    ("archive", b"\x1f\x8b"),
    ("archive", b"BZh"),
    ("archive", b"\xfd7zXZ\x00"),
    ("archive", b"7z\xbc\xaf\x27\x1c"),
    ("archive", b"Rar!"),
    ("archive", b"\x28\xb5\x2f\xfd"),
    ("pickle", b"\x80\x02"),
    ("pickle", b"\x80\x03"),
    ("pickle", b"\x80\x04"),
    ("pickle", b"\x80\x05"),
    ("program", b"\x7fELF"),
    ("program", b"MZ"),
    ("pdf", b"%PDF"),
    ("hdf5", b"\x89HDF\r\n\x1a\n"),
)
_SUFFIXES = {
    **{".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".wav": "wav", ".npy": "npy", ".npz": "zip"},
    **{".zip": "zip", ".csv": "text", ".tsv": "text", ".txt": "text", ".parquet": "parquet"},
}
# The kind of data set that files of a format make.
KINDS = {
    "png": "images",
    "jpeg": "images",
    "wav": "sounds",
    "npy": "arrays",
    "text": "tables",
    "parquet": "tables",
}


def format_of(head: bytes, name: str) -> str:
    """The format of a file that begins with `head`. Refuses one whose name ends as another format's."""
    found = next((form for form, magic in _MAGIC if head.startswith(magic)), "text")
    if head.startswith(b"RIFF") and head[8:12] == b"WAVE":
        found = "wav"
    expected = _SUFFIXES.get(PurePosixPath(name).suffix.lower(), found)
    if expected != found:
        raise Refusal("header", name=name, expected=expected, found=found)
    return found
