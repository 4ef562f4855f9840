"""Fetching an official file: progress, resume, checksum. Called only when the user asks for it."""

import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from ..serialization import sha256_of
from .card_file import File

Progress = Callable[[str, int, int], None]
BLOCK = 1 << 16
TIMEOUT = 30  # seconds without a byte


def print_progress(name: str, done: int, total: int) -> None:
    end = "\n" if done == total else ""
    print(f"\r{name}: {done / 1e6:.1f} of {total / 1e6:.1f} MB", end=end, flush=True)


def fetch(file: File, target: Path, progress: Progress = print_progress) -> None:
    """Downloads one file to `target`, which appears only when complete and verified.

    Received bytes stay in `<target>.part`; the next call resumes from there, or starts again if the server
    cannot resume or the user removed the part.
    """
    part = target.with_name(target.name + ".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    done = part.stat().st_size if part.exists() else 0
    if done > file.bytes:
        part.unlink()
        done = 0
    if done < file.bytes:
        _receive(file, part, done, progress)
    found = sha256_of(part)
    if found != file.sha256:
        part.unlink()  # resuming from wrong bytes would fail again
        raise ValueError(f"{file.url} sent another file: sha256 {found}, expected {file.sha256}")
    os.replace(part, target)


def _receive(file: File, part: Path, done: int, progress: Progress) -> None:
    request = urllib.request.Request(file.url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            if response.status != 206:  # 206: the server resumes; otherwise it starts again
                done = 0
            with open(part, "ab" if done else "wb") as stream:
                progress(file.path, done, file.bytes)
                while block := response.read(BLOCK):
                    done += len(block)
                    if done > file.bytes:
                        raise ValueError(f"{file.url} sends more than the {file.bytes} bytes its card states")
                    stream.write(block)
                    progress(file.path, done, file.bytes)
                stream.flush()
                os.fsync(stream.fileno())
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise OSError(
            f"{file.url} cannot be reached ({error}); {done} bytes are kept, call again to resume"
        ) from error
    if done < file.bytes:
        raise OSError(f"{file.url} ended after {done} of {file.bytes} bytes; call again to resume")
