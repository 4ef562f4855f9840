"""The uploaded data sets of a workspace: `datasets/<name>/<version>/` with the file, `card.json` and `look.json`.

A version is the first twelve digits of the sha256 of the file. What is not complete is in `datasets/.incoming/`, where each
file has the size that was announced for it: so the sizes of all files are what is used of the quota, also while several
processes receive files. The owner of an incoming file holds a lock on it; one that nobody locks was left by a killed process.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock

from studio.compute.settings import number
from studio.runtime import write_atomically

from .bounds import GiB
from .refusal import Refusal

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
WORDS = {
    "title": 200,
    "source": 500,
    "licence": 200,
    "about": 4000,
}  # what a user may say about a set: most characters
DEFAULT_GIB = 2.0
VERSION_DIGITS = 12
_RESERVED = ("live",)  # an address of the page
_SUFFIX = {"text": ".csv", "wav": ".wav", "npy": ".npy", "parquet": ".parquet", "zip": ".zip"}


def quota() -> int:
    """Bytes that a user may upload in all: SAMPAN_UPLOAD_GIB, else 2 GiB."""
    given = number("SAMPAN_UPLOAD_GIB", least=0)
    return int((DEFAULT_GIB if given is None else given) * GiB)


@dataclass(frozen=True)
class Usage:
    """`used` of `most` bytes."""

    used: int
    most: int

    @property
    def free(self) -> int:
        return max(self.most - self.used, 0)


class Incoming:
    """A file that is being received. Its size is reserved; `discard` gives it back."""

    def __init__(self, path: Path, stream: BinaryIO, size: int) -> None:
        self.path, self.size = path, size
        self._stream, self._hash, self._written = stream, hashlib.sha256(), 0

    def write(self, part: bytes) -> None:
        """Blocks. Refuses more than was announced."""
        if self._written + len(part) > self.size:
            raise Refusal("size", stated=self.size, found=self._written + len(part))
        self._stream.write(part)
        self._hash.update(part)
        self._written += len(part)

    def complete(self) -> str:
        """The sha256 of the whole file, once it is on the disk. Refuses less than was announced."""
        if self._written != self.size:
            raise Refusal("size", stated=self.size, found=self._written)
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return self._hash.hexdigest()

    def discard(self) -> None:
        """Removes it, unless it was kept. Can be called again."""
        self.path.unlink(missing_ok=True)
        self._stream.close()


class Store:
    """`public`: everyone may read the sets, as those that are shared with a class."""

    def __init__(self, folder: Path, most: int | None = None, public: bool = False) -> None:
        self.folder, self._public = folder, public
        self._most = quota() if most is None else most

    # ---- what there is

    def sets(self) -> dict[str, list[dict[str, Any]]]:
        """Cards by name, the version that was added last first."""
        found: dict[str, list[dict[str, Any]]] = {}
        for path in sorted(self.folder.glob("[a-z]*/*/card.json")):
            try:
                card = json.loads(path.read_text("utf-8"))
            except (OSError, ValueError):  # removed a moment ago, or not ours
                continue
            found.setdefault(path.parents[1].name, []).append(card)
        return {name: sorted(cards, key=lambda card: -card["added"]) for name, cards in found.items()}

    def card(self, name: str, version: str | None = None) -> dict[str, Any] | None:
        """The card of a version, else of the one that was added last; None if there is none."""
        cards = self.sets().get(name, [])
        return next((card for card in cards if version in (None, card["version"])), None)

    def look(self, card: dict[str, Any]) -> list[dict[str, Any]]:
        """The blocks that were made when it was examined."""
        found: list[dict[str, Any]] = json.loads((self._place(card) / "look.json").read_text("utf-8"))
        return found

    def content(self, card: dict[str, Any]) -> bytes:
        """The file of a version, as it was uploaded. Blocks."""
        return (self._place(card) / card["file"]).read_bytes()

    def usage(self) -> Usage:
        return Usage(sum(_size(path) for path in self.folder.rglob("*")), self._most)

    def _place(self, card: dict[str, Any]) -> Path:
        return self.folder / card["name"] / card["version"]

    # ---- adding

    def check(self, name: str, size: int, taken: set[str]) -> None:
        """Refuses a name that cannot be used or that is one of `taken`, and a size for which there is no room."""
        if not NAME.fullmatch(name) or name in _RESERVED:
            raise Refusal("set_name", name=name)
        if name in taken:
            raise Refusal("taken", name=name)
        if size <= 0:
            raise Refusal("empty")
        usage = self.usage()
        if size > usage.free:
            raise Refusal("quota", size=size, free=usage.free, most=usage.most)

    def begin(self, name: str, size: int, taken: set[str]) -> Incoming:
        """Reserves room for a file. Refuses as `check`."""
        with self._alone():
            self._sweep()
            self.check(name, size, taken)
            path = self._incoming / uuid.uuid4().hex
            stream = path.open("xb")
            fcntl.flock(stream, fcntl.LOCK_EX)
            stream.truncate(size)
            return Incoming(path, stream, size)

    def keep(
        self, incoming: Incoming, name: str, found: dict[str, Any], words: dict[str, str]
    ) -> dict[str, Any]:
        """Makes a received and examined file the newest version; returns its card. Blocks."""
        digest = incoming.complete()
        form = found["format"]
        npz = form == "zip" and found["kind"] == "arrays"
        look = found.pop("blocks")
        card = {
            "name": name,
            "version": digest[:VERSION_DIGITS],
            "sha256": digest,
            "bytes": incoming.size,
            "file": f"data{'.npz' if npz else _SUFFIX[form]}",
            "added": time.time(),
            **checked(words, name),
            **found,
        }
        with self._alone():
            place = self._place(card)
            if place.is_dir():  # the same content again
                _write(place / "card.json", card)
                return card
            made = self._incoming / f"{uuid.uuid4().hex}.set"
            made.mkdir()
            os.rename(incoming.path, made / card["file"])
            _write(made / "card.json", card)
            _write(made / "look.json", look)
            place.parent.mkdir(exist_ok=True)
            if self._public:
                self._open(made, place.parent)
            os.rename(made, place)
        return card

    def _open(self, made: Path, parent: Path) -> None:
        for path in (self.folder, parent, made):
            path.chmod(0o755)
        for path in made.iterdir():
            path.chmod(0o644)

    # ---- changing

    def edit(self, card: dict[str, Any], words: dict[str, str]) -> None:
        """Other words about a version. Blocks."""
        with self._alone():
            place = self._place(card)
            if place.is_dir():
                _write(place / "card.json", {**card, **checked(words, card["name"])})
                if self._public:
                    (place / "card.json").chmod(0o644)

    def remove(self, card: dict[str, Any]) -> None:
        """Removes a version. Blocks."""
        with self._alone():
            place, aside = self._place(card), self._incoming / f"{uuid.uuid4().hex}.set"
            if place.is_dir():
                os.rename(place, aside)  # at once: no half of it is ever seen
                shutil.rmtree(aside)
            if place.parent.is_dir() and not any(place.parent.iterdir()):
                place.parent.rmdir()

    @property
    def _incoming(self) -> Path:
        return self.folder / ".incoming"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One change at a time, of all threads and processes."""
        self._incoming.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(self.folder / ".lock", thread_local=False):
            yield

    def _sweep(self) -> None:
        """Removes what killed processes have left."""
        for path in self._incoming.iterdir():
            if path.is_dir():  # made and renamed by one that was alone, as we are
                shutil.rmtree(path)
                continue
            with path.open("rb") as stream:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                path.unlink()


def of_class(folder: Path) -> Store:
    """The sets of a class, for the account that may write there. They have no quota together."""
    return Store(folder, most=1 << 62, public=True)


def checked(words: dict[str, str], name: str) -> dict[str, str]:
    """What a user says about a set, with the title `name` if there is none. Refuses a text that is too long."""
    for word, most in WORDS.items():
        if len(words.get(word, "")) > most:
            raise Refusal("long_text", field=word, found=len(words[word]), most=most)
    given = {word: " ".join(words.get(word, "").split()) for word in WORDS}
    return {**given, "title": given["title"] or name}


def _write(path: Path, value: Any) -> None:
    write_atomically(path, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:  # removed meanwhile
        return 0
