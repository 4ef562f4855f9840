"""The command line that other programs see of a fork (`ps`)."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_START = 47  # the fields of /proc/PID/stat, from 0; the next one is the end


def show(words: list[str]) -> None:
    """Show these words, cut to the length of the command line that this process has; a fork has that of the zygote."""
    # The second field, in parentheses, is a name that may have spaces.
    fields = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()
    start, end = (int(fields[number - 2]) for number in (_START, _START + 1))
    if not 0 < start < end:  # the operating system does not tell
        return
    text = b"\0".join(os.fsencode(word) for word in words)[: end - start - 1]
    ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)
