"""What a process waits for."""

import time

import pytest

from sampan.distributed import waiting


def test_blocks_within_one_another_and_an_error():
    assert waiting.now() is None
    before = time.monotonic()
    with waiting.for_others("all_reduce"):
        outer = waiting.now()
        assert outer.collective == "all_reduce"
        assert before <= outer.since <= time.monotonic()
        with waiting.for_others("barrier"):
            assert waiting.now().collective == "barrier"
        assert waiting.now() == outer
        with pytest.raises(RuntimeError), waiting.for_others("broadcast"):
            raise RuntimeError
        assert waiting.now() == outer
    assert waiting.now() is None
