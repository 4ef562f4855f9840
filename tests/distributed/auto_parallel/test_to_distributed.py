"""`to_distributed`: a program of one process, in several."""

import numpy as np
import pytest
from sampan.distributed.auto_parallel.high_level_api import ToDistributedConfig

import sampan
import sampan.distributed as dist
from sampan import nn

pytestmark = pytest.mark.servers


class Pairs(sampan.io.Dataset):
    def __init__(self):
        numbers = np.random.default_rng(4)
        self.x, self.y = numbers.normal(size=(24, 5)), numbers.normal(size=(24, 2))

    def __getitem__(self, index):
        return self.x[index], self.y[index]

    def __len__(self):
        return len(self.x)


def trained(count):
    """The losses of three epochs, and how the parameters and the batches lie; count 0: without it."""
    sampan.set_default_dtype("float64")
    sampan.seed(2)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2))
    optimizer = sampan.optimizer.AdamW(0.02, parameters=model.parameters())
    loader = sampan.io.DataLoader(Pairs(), batch_size=8, shuffle=False)
    if count:
        model, optimizer, loader = dist.to_distributed(
            model, optimizer, loader, device_num=count, node_num=1, config=ToDistributedConfig()
        )
    losses, lies = [], ""
    for _ in range(3):
        for x, y in loader() if count else loader:
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(float(loss))
            lies = f"{x.placements} {model[0].weight.placements}" if count else ""
    return losses, lies


def test_losses_are_those_of_one_process(workers):
    expected, _ = trained(0)
    sampan.set_default_dtype("float32")
    for losses, lies in workers(2)(trained, 2):
        assert lies == "[Shard(dim=0)] [Replicate()]"
        np.testing.assert_allclose(losses, expected, rtol=1e-12)


def test_errors():
    with pytest.raises(AssertionError, match="node_num: expected 1, got 2"):
        dist.to_distributed(nn.Linear(1, 1), None, None, 2, node_num=2)
    with pytest.raises(ValueError, match="device_num: expected the number of processes, got 0"):
        dist.to_distributed(nn.Linear(1, 1), None, None, 0)
