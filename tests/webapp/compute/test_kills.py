"""Nothing is lent twice and nothing leaks, whoever is killed and when (see kills.py for what happens there)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

ROUNDS = 500
SEED = os.environ.get("SAMPAN_TEST_SEED", "1")


def test_random_kills(url: str, tmp_path: Path) -> None:
    # Files, not pipes: what it left behind, should it have failed, would keep those open.
    with open(tmp_path / "out", "w+") as out, open(tmp_path / "err", "w+") as err:
        program = subprocess.Popen(
            [sys.executable, "-W", "error", Path(__file__).with_name("kills.py"), url, str(ROUNDS), SEED],
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            status = program.wait(timeout=280)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
        assert status == 0, (tmp_path / "err").read_text()
        said = (tmp_path / "out").read_text()
    happened = json.loads(said)
    assert happened.pop("complaints") == ""
    assert sum(happened[name] for name in ("holders killed", "clients killed")) > 0.9 * ROUNDS, happened
    assert happened["clients that ended at a statement"] > 20, happened
    assert happened["leases that were booked"] >= happened["holders killed"], happened
