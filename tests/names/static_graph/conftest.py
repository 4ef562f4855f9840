from collections.abc import Iterator

import pytest

import sampan as paddle


@pytest.fixture(autouse=True)
def static_mode() -> Iterator[None]:
    paddle.enable_static()
    try:
        yield
    finally:
        paddle.disable_static()
