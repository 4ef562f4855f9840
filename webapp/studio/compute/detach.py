"""Starts a job's supervisor as a detached process: python -m studio.compute.detach <job's folder>.

It prints the supervisor's process number and exits, so neither a terminal nor the server owns the supervisor.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    folder = Path(sys.argv[1])
    if pid := os.fork():  # before anything is imported: the caller waits for this line
        print(pid, flush=True)
        os._exit(0)
    os.setsid()
    with open(folder / "supervisor.log", "ab") as log, open(os.devnull, "rb") as nothing:
        for stream, file in enumerate((nothing, log, log)):
            os.dup2(file.fileno(), stream)

    from .supervisor import supervise

    supervise(folder)


if __name__ == "__main__":
    main()
