"""Shards over each transport: the same tests for all."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from sampan.distributed.parameter_server import start_shards
from sampan.transport import Transport

Started = Callable[..., Transport]


@pytest.fixture(
    params=[
        "in process",
        pytest.param("processes", marks=pytest.mark.servers),
        pytest.param(
            "actors",
            marks=[
                pytest.mark.servers,
                pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed (extra cluster)"),
            ],
        ),
    ]
)
def started(request: Any, tmp_path: Path) -> Iterator[Started]:
    """started(shards): shards with a folder, over one of the transports; `started.kind` is its name."""
    homes = []

    def start(shards: int, **settings: Any) -> Transport:
        homes.append(start_shards(shards, request.param, tmp_path / "shards", **settings))
        return homes[-1]

    start.kind = request.param  # type: ignore[attr-defined]  # for tests that kill processes
    yield start
    for home in homes:
        home.close()
