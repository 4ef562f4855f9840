"""What a network costs."""

import pytest

import sampan as paddle
from sampan import nn, slim


def test_counts_by_hand() -> None:
    net = nn.Sequential(nn.Conv2D(3, 4, 3), nn.Flatten(), nn.Linear(4 * 4, 5, bias_attr=False))
    assert slim.flops(net, [2, 3, 4, 4]) == 2 * (4 * 4 * 27 + 16 * 5)
    assert slim.model_size(net) == 4 * 27 + 4 + 80 and slim.file_bytes(net) == 4 * slim.model_size(net)


@pytest.mark.alone
def test_a_larger_network_takes_longer() -> None:
    small, large = (
        nn.Linear(64, 64),
        nn.Sequential(*[nn.Linear(512, 512) for _ in range(3)], nn.Linear(512, 64)),
    )
    wide = nn.Sequential(nn.Linear(64, 512), *large)
    first, second = slim.latencies([small, wide], paddle.randn([64, 64]), 9)
    assert 0 < first < second
