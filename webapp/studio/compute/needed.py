"""How much memory a program takes before its own first line."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

from studio.environment import clean_environment

_SAID = "import sampan; print(next(line for line in open('/proc/self/status') if line.startswith('VmData')))"
_LONGEST_S = 120


@cache
def of_library() -> int | None:
    """Bytes of data, as `Limits.memory` counts them, of a process that has imported the library: about 200 MB with torch for
    the CPU, several times as much with torch for CUDA. None where it cannot be measured."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _SAID],
            env=clean_environment(os.environ),
            capture_output=True,
            text=True,
            timeout=_LONGEST_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):  # no /proc; or this machine has no memory left
        return None
    return 1024 * int(done.stdout.split()[1])
