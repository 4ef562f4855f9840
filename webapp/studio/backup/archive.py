"""A backup is one file: a tar archive, gzipped, of mode 0600, whose last member `manifest.json` has the checksum of all others.

Databases come first, by SQLite's own backup, which is a snapshot while others write. What they refer to (submissions, for
example) was on the disk before them, so it is in the archive too; what came later is graded again after a restore.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
import time
import uuid
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal

import psutil

from . import states

Kind = Literal["workspace", "class"]
MANIFEST = "manifest.json"
_SQLITE = b"SQLite format 3\0"
_JOURNALS = ("-wal", "-shm", "-journal")  # of a database; its snapshot has what is in them
_PIECE = 1 << 20
_SPOOLED = 16 << 20
TRIES = 5  # to copy a file that is being written
WAIT_S = 30.0  # for another process's transaction


class BackupError(ValueError):
    """A backup that cannot be made, read or restored; the message says why."""


@dataclass(frozen=True)
class Entry:
    bytes: int
    sha256: str
    mode: int
    modified: float  # seconds since 1970


@dataclass
class Manifest:
    """`format` is that of the folders, `left_out` what is no regular file; `keys`: whether the key of receipts is in it."""

    kind: Kind
    made: float
    sampan: str
    format: int = states.FORMAT
    keys: bool = False
    files: dict[str, Entry] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return sum(entry.bytes for entry in self.files.values())


def back_up(folder: Path, out: Path, kind: Kind, with_keys: bool = False) -> Manifest:
    """Writes all state of a workspace or class to the file `out`, which must not exist. Raises BackupError, OSError."""
    if not folder.is_dir():
        raise BackupError(f"there is no folder {folder}")
    if out.exists():
        raise BackupError(f"{out} exists; a backup does not overwrite")
    _sweep(out)
    told = Manifest(kind, time.time(), version("sampan"), keys=with_keys)
    part = _beside(out)
    try:
        with open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as raw:
            with (
                gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=1, filename="") as packed,
                tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
            ):
                _fill(tar, folder, told, part)
                _add(
                    tar,
                    MANIFEST,
                    io.BytesIO(content := json.dumps(asdict(told)).encode()),
                    len(content),
                    0o600,
                    told.made,
                )
            raw.flush()
            os.fsync(raw.fileno())
        os.link(part, out)  # unlike a rename, it fails if somebody made `out` meanwhile
    except FileExistsError as error:
        raise BackupError(f"{out} exists; a backup does not overwrite") from error
    finally:
        part.unlink(missing_ok=True)
    return told


def _beside(out: Path) -> Path:
    """A name for what is not complete, from which a later call sees that its process has ended."""
    return out.with_name(f".{out.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}.part")


def _sweep(out: Path) -> None:
    """Removes what killed processes have left of the same backup or restore."""
    for path in out.parent.glob(f".{out.name}.*-*.part"):
        pid = path.name.removeprefix(f".{out.name}.").partition("-")[0]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _fill(tar: tarfile.TarFile, folder: Path, told: Manifest, part: Path) -> None:
    own = {part.resolve()}
    databases: list[tuple[str, Path]] = []
    others: list[tuple[str, Path]] = []
    for path in _walk(folder):
        name = path.relative_to(folder).as_posix()
        if not states.is_copied(name, told.keys) or path.resolve() in own or _is_journal(path):
            continue
        if path.is_symlink() or not path.is_file():
            told.left_out.append(name)
        else:
            (databases if _is_database(path) else others).append((name, path))
    for name, path in databases:
        _take(tar, name, path, told, _snapshot, part.parent)
    for name, path in others:
        _take(tar, name, path, told, _copy, part.parent)


def _walk(folder: Path) -> Iterator[Path]:
    """Everything below a folder that is no folder; links are not followed."""
    for root, folders, files in os.walk(folder):
        folders.sort()
        links = [name for name in folders if Path(root, name).is_symlink()]
        for name in sorted([*files, *links]):
            yield Path(root, name)


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(len(_SQLITE)) == _SQLITE
    except FileNotFoundError:
        return False


def _is_journal(path: Path) -> bool:
    ending = next((ending for ending in _JOURNALS if path.name.endswith(ending)), "")
    return bool(ending) and _is_database(path.with_name(path.name.removesuffix(ending)))


def _take(tar: tarfile.TarFile, name: str, path: Path, told: Manifest, copy: Any, scratch: Path) -> None:
    """Add one file as it is at one moment; one that was removed meanwhile is not part of it."""
    with tempfile.SpooledTemporaryFile(_SPOOLED, dir=str(scratch)) as copied:
        try:
            state = path.stat()
            copy(path, copied)
        except FileNotFoundError:
            return
        size = copied.tell()
        copied.seek(0)
        digest = hashlib.sha256()
        while piece := copied.read(_PIECE):
            digest.update(piece)
        copied.seek(0)
        mode = state.st_mode & 0o777
        _add(tar, name, copied, size, mode, state.st_mtime)
        told.files[name] = Entry(size, digest.hexdigest(), mode, state.st_mtime)


def _snapshot(path: Path, copied: IO[bytes]) -> None:
    """A database by SQLite's backup, in one step: others wait at most while it is copied."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "copy"
        with (
            closing(
                sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=WAIT_S)
            ) as source,
            closing(sqlite3.connect(target)) as snapshot,
        ):
            source.backup(snapshot)
            snapshot.execute("pragma journal_mode=delete")  # one file, without a log beside it
        with target.open("rb") as stream:
            shutil.copyfileobj(stream, copied, _PIECE)


def _copy(path: Path, copied: IO[bytes]) -> None:
    """A file as it was between two writes; after some tries as it is, for example a log that grows."""
    for _ in range(TRIES):
        copied.seek(0)
        copied.truncate()
        before = path.stat()
        with path.open("rb") as stream:
            shutil.copyfileobj(stream, copied, _PIECE)
        after = path.stat()
        if (before.st_size, before.st_mtime_ns) == (
            after.st_size,
            after.st_mtime_ns,
        ) and copied.tell() == after.st_size:
            return
        time.sleep(0.05)


def _add(tar: tarfile.TarFile, name: str, stream: IO[bytes], size: int, mode: int, modified: float) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, mode, modified
    tar.addfile(info, stream)


# ---- reading


def check(file: Path) -> Manifest:
    """The manifest of a backup in which nothing is missing, changed or unknown. Raises BackupError."""
    return _read(file, None)


def restore(file: Path, folder: Path) -> tuple[Manifest, list[str]]:
    """Puts a backup into a folder that is missing or empty, all of it or nothing, in today's form. Returns its manifest and
    the databases that were brought to today's form. Raises BackupError, OSError."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BackupError(f"{folder} is not empty; a restore does not overwrite")
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder)
    part = _beside(folder)
    part.mkdir(mode=0o700)
    try:
        told = _read(file, part)
        migrated = list(states.migrate(part))
        os.rename(part, folder)  # an empty folder is replaced
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return told, migrated


def _read(file: Path, target: Path | None) -> Manifest:
    """Reads all of a backup, into `target` if there is one, and compares it with its manifest."""
    found: dict[str, tuple[int, str]] = {}
    content = b""
    with _damage(file), gzip.open(file) as packed, tarfile.open(fileobj=packed, mode="r|") as tar:
        for member in tar:
            name = _safe(member)
            if name in found:
                raise BackupError(f"{file}: {name} is in it twice")
            stream = tar.extractfile(member)
            assert stream is not None
            if name == MANIFEST:
                content = stream.read()
                continue
            found[name] = _extract(stream, member, None if target is None else target / name)
        while packed.read(_PIECE):  # to its checksum
            pass
    if not content:
        raise BackupError(f"{file} is not complete: it has no {MANIFEST}")
    told = _manifest(content, file)
    for name in sorted(found.keys() | told.files.keys()):
        entry = told.files.get(name)
        if entry is None or found.get(name) != (entry.bytes, entry.sha256):
            raise BackupError(f"{file} is damaged: {name} is not what the manifest says")
    return told


def _manifest(content: bytes, file: Path) -> Manifest:
    try:
        told = json.loads(content)
        files = {name: Entry(**entry) for name, entry in told.pop("files").items()}
        manifest = Manifest(**told, files=files)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BackupError(f"{file} is damaged: its manifest cannot be read ({error})") from error
    if manifest.format > states.FORMAT:
        raise BackupError(
            f"{file} was made by Sampan {manifest.sampan} and has the format {manifest.format}; this version knows "
            f"{states.FORMAT} at most: update Sampan"
        )
    return manifest


@contextmanager
def _damage(file: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BackupError(f"{file} is no backup, or damaged: {error}") from error


def _safe(member: tarfile.TarInfo) -> str:
    """The name of a member. Refuses what would be written elsewhere, and all but regular files."""
    name, parts = member.name, PurePosixPath(member.name).parts
    if (
        not member.isreg()
        or not name
        or name.startswith("/")
        or "\0" in name
        or ".." in parts
        or "." in name.split("/")
    ):
        raise BackupError(f"{name!r} cannot be restored: it is no file inside the folder")
    return name


def _extract(stream: IO[bytes], member: tarfile.TarInfo, path: Path | None) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    out = None if path is None else path.open("xb")
    try:
        while piece := stream.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            if out is not None:
                out.write(piece)
    finally:
        if out is not None:
            out.close()
    if path is not None:
        path.chmod(member.mode & 0o777)
        os.utime(path, (member.mtime, member.mtime))
    return size, digest.hexdigest()
