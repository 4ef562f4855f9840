"""A PostgreSQL server for the tests, from the machine's own package: unix socket only, without root's rights."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# A server that is thrown away need not outlive a power cut.
SETTINGS = ("listen_addresses=", "fsync=off", "synchronous_commit=off", "full_page_writes=off")


def binaries() -> Path | None:
    """The folder of initdb and pg_ctl, the newest one; None when PostgreSQL is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@contextmanager
def running(binaries: Path) -> Iterator[str]:
    """Yields the address of the server's first database."""
    folder = Path(
        tempfile.mkdtemp(prefix="sampan-postgres-", dir="/tmp")
    )  # short: a socket's path has 107 bytes
    account = {} if os.geteuid() else _unprivileged(folder)

    def run(name: str, *arguments: str) -> None:
        with open(folder / f"{name}.out", "ab") as output:  # not a pipe: the server would keep it open
            status = subprocess.run(
                [binaries / name, *arguments], stdout=output, stderr=output, cwd=folder, **account
            ).returncode
        if status:
            said = "".join(path.read_text("utf-8", "replace") for path in folder.glob("*.out"))
            raise RuntimeError(f"{name} of PostgreSQL ended with status {status}:\n{said}")

    data = str(folder / "data")
    try:
        run("initdb", "--no-sync", "--auth=trust", "--username=sampan", "--encoding=UTF8", "--locale=C", data)
        options = " ".join(f"-c {setting}" for setting in (*SETTINGS, f"unix_socket_directories={folder}"))
        run("pg_ctl", "start", "--wait", f"--pgdata={data}", f"--options={options}")
        try:
            yield f"postgresql://sampan@/postgres?host={folder}"
        finally:
            run("pg_ctl", "stop", "--mode=immediate", f"--pgdata={data}")
    finally:
        shutil.rmtree(folder)


def _unprivileged(folder: Path) -> dict[str, object]:
    """The account to run as where we are root, which PostgreSQL refuses; the folder becomes its own."""
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    account = names.get("postgres") or names["nobody"]
    os.chown(folder, account.pw_uid, account.pw_gid)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
