"""What importing the library takes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from studio.compute import needed


@pytest.mark.servers
def test_with_a_little_more_the_library_is_imported_and_with_half_it_is_not() -> None:
    found = needed.of_library()
    assert found is not None
    for memory, works in ((found + (128 << 20), True), (found // 2, False)):
        code = f"from studio.compute.limits import Limits\nLimits({memory}, 10_000).apply()\nimport sampan\nprint('yes')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert (done.stdout == "yes\n") == works, done.stderr[-500:]


def test_where_it_cannot_be_measured_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    needed.of_library.cache_clear()
    monkeypatch.setattr(needed, "_SAID", "raise SystemExit(1)")
    try:
        assert needed.of_library() is None
    finally:
        needed.of_library.cache_clear()
