"""Nothing is lent twice and nothing leaks, whichever process is killed and when (see kills.py for what happens there)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.webapp.compute import postgres
from tests.webapp.compute.conftest import new_database

pytestmark = pytest.mark.servers

ROUNDS = 500
SEED = os.environ.get("SAMPAN_TEST_SEED", "1")


KINDS = ("sqlite", "postgresql")
Killing = dict[str, tuple["subprocess.Popen[bytes]", Path]]


@pytest.fixture(scope="module")
def killing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killing]:
    """The program on each kind of database, side by side: most of their time is waiting for what died."""
    started: Killing = {}
    for kind in KINDS if postgres.binaries() else KINDS[:1]:
        folder = tmp_path_factory.mktemp(kind)
        url = f"sqlite:///{folder}/compute.sqlite3"
        if kind == "postgresql":
            url = new_database(request.getfixturevalue("postgres_url"))
        # Files, not pipes: what it left behind, should it have failed, would keep those open.
        with open(folder / "out", "w") as out, open(folder / "err", "w") as err:
            command = [
                sys.executable,
                "-W",
                "error",
                Path(__file__).with_name("kills.py"),
                url,
                str(ROUNDS),
                SEED,
            ]
            started[kind] = subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True), folder
    yield started
    for program, _ in started.values():
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()


@pytest.mark.parametrize("kind", KINDS)
def test_random_kills(kind: str, killing: Killing) -> None:
    if kind not in killing:
        pytest.skip("no PostgreSQL on this machine (apt-get install postgresql)")
    program, folder = killing[kind]
    assert program.wait(timeout=280) == 0, (folder / "err").read_text()
    happened = json.loads((folder / "out").read_text())
    assert happened.pop("complaints") == ""
    # Some clients end by themselves first: about a tenth, more on a busy machine.
    assert sum(happened[name] for name in ("holders killed", "clients killed")) > 0.8 * ROUNDS, happened
    assert happened["clients that ended at a statement"] > 20, happened
    assert happened["leases that were booked"] >= happened["holders killed"], happened
