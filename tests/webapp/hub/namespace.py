"""Accounts of their own for a test: a mount namespace in which /etc and /home are copies.

Run by root. Accounts that are made there are real for every program inside, and are gone with the last of these programs;
the machine's own files are never written. The course of this checkout is covered, as a class requires it.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from studio import paths

ROOT = Path(__file__).resolve().parents[3]


def command(place: Path, program: list[str]) -> list[str]:
    """`program` inside, with `place` (a folder of the test's own) for the copies."""
    lines = ["set -e", f"mkdir -p {place}/home {place}/open", f"cp -a /etc {place}/etc"]
    lines += [f"mount --bind {place}/etc /etc", f"mount --bind {place}/home /home"]
    # Folders that other accounts may not enter, on the way to the interpreter or to this checkout.
    for number, path in enumerate(_needed()):
        closed = next((one for one in reversed(path.parents) if not one.stat().st_mode & 0o001), None)
        if closed is not None:
            kept = f"{place}/open/{number}"
            lines += [
                f"mkdir {kept}",
                f"mount --bind {path} {kept}",
                f"mount -t tmpfs -o mode=755 none {closed}",
            ]
            lines += [f"mkdir -p {path}", f"mount --bind {kept} {path}"]
    lines += [f"mount -t tmpfs -o mode=700 none {paths.NOTEBOOKS}", f"exec {shlex.join(program)}"]
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(lines)]


def _needed() -> list[Path]:
    found: list[Path] = []
    for path in (Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve(), ROOT):
        if not any(path.is_relative_to(other) for other in found):
            found.append(path)
    return found


def possible() -> bool:
    """Whether this account can make such a namespace."""
    return os.geteuid() == 0 and os.system("unshare --mount --propagation private true 2>/dev/null") == 0
