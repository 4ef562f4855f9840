"""Requests on a line: several on their way, large ones both ways, a process that ends and comes back."""

import numpy as np
import pytest

from sampan.transport import ShardError, Workers
from tests.transport.counting import Counting

pytestmark = pytest.mark.servers


def test_answers_come_in_their_order_and_large_messages_do_not_block() -> None:
    home = Workers(Counting, 3, 2, 60.0)
    try:
        large = np.arange(2_000_000)
        asked = [home.ask([(n % 3, "doubled", (large,)), (0, "note", (n,))]) for n in range(4)]
        for number, one in reversed(list(enumerate(asked))):
            doubled, count = one.wait()
            assert count == number + 1 and doubled[-1] == 2 * large[-1]
        assert home.sent > 4 * large.nbytes and home.received > 4 * large.nbytes
    finally:
        home.close()


def test_a_process_that_ends_is_started_again_while_there_is_patience() -> None:
    home = Workers(Counting, 2, 2, 60.0, [(0, "note", ("opened",))], patience=3.0)
    try:
        assert home.request([(0, "note", (1,))]) == [2]
        home.processes[0].kill()
        assert home.request([(0, "all", ())]) == [["opened"]]
        with pytest.raises(ShardError, match=r"shard 0: its worker process .* ended with exit code 3"):
            home.request([(0, "end", ())])  # each time that it is asked
    finally:
        home.close()
