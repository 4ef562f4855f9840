"""What a process waits for."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

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


def test_threads_whose_waits_overlap():
    """One begins before the other and ends before it: neither leaves the other's wait behind."""
    begun, ended = threading.Event(), threading.Event()

    def other():
        with waiting.for_others("gather"):
            begun.set()
            assert ended.wait(10)
            assert waiting.now().collective == "gather"
        assert waiting.now() is None

    with ThreadPoolExecutor(1) as beside:
        with waiting.for_others("all_reduce"):
            done = beside.submit(other)
            assert begun.wait(10)
            assert waiting.now().collective == "all_reduce"
        assert waiting.now() is None
        ended.set()
        done.result()
    assert waiting._now == {}
