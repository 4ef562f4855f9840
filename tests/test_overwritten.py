"""No kernel reads out of bounds when arrays that were passed in, or given out, are overwritten later."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("overwritten_programs.py")


@pytest.mark.timeout(1800)  # about 2,000 forks
def test_what_is_overwritten_crashes_nothing() -> None:
    done = subprocess.run([sys.executable, PROGRAMS], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["runs"] > 500 and found["crashes"] == []
