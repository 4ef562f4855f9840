"""The members of a zip file, checked by its directory before any of them is unpacked. Nothing is ever unpacked to the disk."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO, BinaryIO

from . import bounds
from .refusal import Refusal

_ENCRYPTED = 0x1 | 0x40 | 0x2000  # bits of the flags: traditional, strong, masked directory
_JUNK = ("__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini")  # what file managers add
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def opened(stream: BinaryIO) -> zipfile.ZipFile:
    """A zip file. Refuses what is not a whole one."""
    try:
        return zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise Refusal("damaged", name="zip", why=error) from error


def members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The files in it, by name, without those that file managers add. Refuses the archive if one of its members could do
    harm where it is unpacked, or all together are too large."""
    infos = archive.infolist()
    if len(infos) > bounds.MOST_MEMBERS:
        raise Refusal("members", count=len(infos), most=bounds.MOST_MEMBERS)
    seen: set[str] = set()
    for info in infos:
        _check(info)
        if info.filename.casefold() in seen:
            raise Refusal("twice", name=info.filename)
        seen.add(info.filename.casefold())
    total = sum(info.file_size for info in infos)
    if total > bounds.MOST_UNPACKED:
        raise Refusal("unpacked", size=total, most=bounds.MOST_UNPACKED)
    found = [info for info in infos if not info.is_dir() and not _is_junk(info.filename)]
    if not found:
        raise Refusal("empty")
    return sorted(found, key=lambda info: info.filename)


def _is_junk(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return parts[0] in _JUNK or parts[-1] in _JUNK


def _check(info: zipfile.ZipInfo) -> None:
    name = info.filename
    if not name or not name.isprintable() or getattr(info, "orig_filename", name) != name:
        raise Refusal("name", name=info.orig_filename)
    if len(name) > bounds.LONGEST_NAME:
        raise Refusal("long_name", name=name, most=bounds.LONGEST_NAME)
    if name.startswith(("/", "\\")) or name[1:2] == ":":
        raise Refusal("absolute", name=name)
    if "\\" in name or any(part in (".", "..", "") for part in name.removesuffix("/").split("/")):
        raise Refusal("traversal", name=name)
    mode = info.external_attr >> 16
    if stat.S_ISLNK(mode):
        raise Refusal("link", name=name)
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Refusal("device", name=name)
    if info.flag_bits & _ENCRYPTED:
        raise Refusal("encrypted", name=name)
    if info.compress_type not in _METHODS:
        raise Refusal("method", name=name, method=info.compress_type)
    ratio = info.file_size // max(info.compress_size, 1)
    if info.file_size > bounds.RATIO_FROM and ratio > bounds.MOST_RATIO:
        raise Refusal("ratio", name=name, ratio=ratio, most=bounds.MOST_RATIO)


@contextmanager
def member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    """The content of a member while it is read; never more than its stated size. Refuses a damaged one, also at its end,
    where the checksum is compared."""
    try:
        with archive.open(info) as stream:
            yield stream
            while stream.read(1 << 20):  # to the checksum
                pass
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise Refusal("damaged", name=info.filename, why=error) from error
