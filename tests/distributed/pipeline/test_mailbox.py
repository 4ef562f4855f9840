"""Messages between the processes of a pipeline."""

import pytest

from tests.distributed.pipeline import programs
from tests.distributed.pool import Pool

pytestmark = pytest.mark.servers


def test_values_arrive_by_their_keys(workers):
    told, (received, checks) = workers(2)(programs.exchanged)
    assert told == received
    assert checks == (True,) * 6


def test_a_process_that_ends_is_named():
    pool = Pool(2)
    try:
        (seconds, text), ended = pool.outcomes(programs.stops, programs.Dies)
    finally:
        pool.close()
    assert seconds < 30
    assert "from rank 1" in text
    assert isinstance(ended, EOFError)
