"""JupyterHub's proxy, configurable-http-proxy: a program for Node.js, installed by npm at the versions that proxy/ locks.

    python -m studio.hub.proxy      # installs it beside this Python; needs npm

The package of that name on PyPI is another program. Its version 0.4.0 keeps every answer in memory until it is complete, so
the queue's event streams would never arrive; it answers ten requests at a time and knows no TLS.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).parent / "proxy"
PLACE = Path(sys.prefix) / "share" / "sampan-proxy"
PROGRAM = "configurable-http-proxy"
FILES = ("package.json", "package-lock.json")


def find() -> str:
    """The path of the program. Raises `ValueError` with the command that installs it."""
    ours = PLACE / "node_modules" / ".bin" / PROGRAM
    found = str(ours) if ours.exists() else shutil.which(PROGRAM)
    if found is None or shutil.which("node") is None:
        raise ValueError(
            f"JupyterHub needs Node.js 20 or newer, and its proxy: {sys.executable} -m studio.hub.proxy installs it with npm"
        )
    return found


def install() -> None:
    """Installs the locked versions, unless they are there. Raises `ValueError` if that fails."""
    there = [PLACE / name for name in FILES]
    wanted = [LOCK / name for name in FILES]
    done = (PLACE / "node_modules" / ".bin" / PROGRAM).exists()
    if done and all(
        a.is_file() and a.read_bytes() == b.read_bytes() for a, b in zip(there, wanted, strict=True)
    ):
        return
    if shutil.which("npm") is None:
        raise ValueError("npm is missing: install Node.js 20 or newer with npm")
    PLACE.mkdir(parents=True, exist_ok=True)
    for source in wanted:
        shutil.copy(source, PLACE)
    command = ["npm", "ci", "--prefix", str(PLACE), "--ignore-scripts", "--no-audit", "--no-fund"]
    if subprocess.run(command).returncode:
        raise ValueError("npm could not install the proxy")


if __name__ == "__main__":
    try:
        install()
    except ValueError as error:
        raise SystemExit(str(error)) from error
