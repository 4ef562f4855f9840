"""One sandbox for all tests of competitions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studio.competitions.running import Runner
from studio.compute.limits import Limits
from studio.grading.sandbox import available


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    reason = available()
    if reason is not None:
        pytest.skip(reason[0])
    # A torch for GPUs alone maps 900 MB of data.
    made = Runner(Limits(memory=1400 << 20, processes=24, files=256, file_bytes=64 << 20))
    yield made
    made.close()
