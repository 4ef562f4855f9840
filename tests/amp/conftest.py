"""Fixtures of the tests of mixed precision."""

import pytest

import sampan as paddle
from sampan import amp
from sampan.amp import debugging


@pytest.fixture(autouse=True)
def nothing_stays_on():
    yield
    debugging.disable_tensor_checker()
    assert not amp.is_autocast_enabled() and not paddle.engine.apply.observers
    amp.casting.last_dtype = "float32"
