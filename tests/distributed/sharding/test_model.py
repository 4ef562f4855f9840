"""What each process keeps of a network over two."""

import pytest

from tests.distributed.sharding import programs


@pytest.mark.servers
@pytest.mark.parametrize(
    ("level", "gradients", "parameters"), [("os", 1, 1), ("os_g", 0.55, 1), ("p_g_os", 0.55, 0.55)]
)
def test_memory(workers, level, gradients, parameters):
    for state, found, kept in workers(2)(programs.memory, level):
        assert 0.4 < state <= 0.55
        assert 0.8 * gradients < found <= gradients
        assert 0.8 * parameters < kept <= parameters


@pytest.mark.servers
def test_parameters_that_stay_whole(workers):
    for rank, (kept, excluded, small, total) in enumerate(workers(2)(programs.whole_or_parts)):
        assert kept == ["table.weight [20, 7]", f"inner.weight [{116 - rank}]"]
        assert excluded == kept[1:]
        assert small == []
        assert total < 1e-12
