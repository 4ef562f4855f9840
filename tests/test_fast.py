"""The short ways of fast.py change nothing: the tests of the tape pass without them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "tests", ["test_autograd.py", "test_autograd_graphs.py", "test_tape.py", "test_pylayer.py"]
)
def test_the_tape_without_them(tests: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/{tests}"]
    ended = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "SAMPAN_FAST": "0"}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout[-2000:]
