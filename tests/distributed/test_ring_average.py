"""Workers in a ring train as one process does on the whole batch; compressed gradients, against NumPy."""

import numpy as np
import pytest

import sampan
from sampan import nn
from sampan.distributed import ring
from sampan.distributed.ring_average import RingAverage
from sampan.engine.errors import InvalidArgument, InvalidType
from sampan.nn import functional as F


def made(seed=1):
    sampan.seed(seed)
    return nn.Sequential(nn.Linear(5, 9), nn.Tanh(), nn.Linear(9, 3))


def trained(model, x, y, steps, average=None):
    rule = sampan.optimizer.Adam(0.01, parameters=model.parameters())
    losses = []
    for _ in range(steps):
        loss = F.cross_entropy(model(sampan.to_tensor(x)), sampan.to_tensor(y))
        loss.backward()
        if average is not None:
            average()
        rule.step()
        rule.clear_grad()
        losses.append(loss.item())
    return np.array(losses)


@pytest.mark.parametrize("world", [1, 2, 4])
def test_workers_train_as_one_process_on_the_whole_batch(world):
    rng = np.random.default_rng(world)
    x, y = rng.normal(size=(24, 5)).astype(np.float32), rng.integers(0, 3, 24)
    models = [made() for _ in range(world)]
    alone = made()
    expected = trained(alone, x, y, 20)

    def work(links):
        model = models[links.rank]
        average = RingAverage(model.parameters(), links)
        return trained(model, x[links.rank :: world], y[links.rank :: world], 20, average)

    np.testing.assert_allclose(np.mean(ring.run(world, work), 0), expected, rtol=2e-6)
    for name, value in alone.state_dict().items():
        for model in models:
            np.testing.assert_allclose(model.state_dict()[name].numpy(), value.numpy(), atol=2e-6)
            assert np.array_equal(model.state_dict()[name].numpy(), models[0].state_dict()[name].numpy())


def averaged(gradients, steps=1, **options):
    """The averages at each worker after each step, and the bytes that each sends in a step."""

    def work(links):
        leaf = sampan.to_tensor(np.zeros(gradients.shape[1:], gradients.dtype), stop_gradient=False)
        average, seen = RingAverage([leaf], links, **options), []
        for _ in range(steps):
            (leaf * sampan.to_tensor(gradients[links.rank])).sum().backward()
            average()
            seen.append(leaf.grad.numpy().copy())
            leaf.clear_grad()
        return seen, sum(links.sent) / steps

    found = ring.run(len(gradients), work)
    for seen, _ in found:
        assert np.array_equal(seen, found[0][0]), "the workers have different means"
    return found[0][0], [sent for _, sent in found]


def test_bytes_are_those_of_the_formula():
    gradients = np.random.default_rng(3).normal(size=(4, 10, 20)).astype(np.float32)
    for options, expected in (
        ({}, 2 * 3 * 200 * 4 / 4),
        ({"wire": "bfloat16"}, 2 * 3 * 200 * 2 / 4),
        ({"share": 0.05}, 3 * 10 * (4 + 4)),
        ({"share": 0.05, "wire": "float16"}, 3 * 10 * (4 + 2)),
    ):
        means, sent = averaged(gradients, **options)
        assert sent == [expected] * 4
        if "share" not in options:
            np.testing.assert_allclose(means[0], gradients.mean(0), atol=0.02 if options else 1e-6)


def test_the_largest_values_are_averaged_and_the_rest_comes_later():
    gradients = np.random.default_rng(4).normal(size=(3, 40)).astype(np.float32)
    wanted = gradients.astype(np.float64)[:, None].repeat(12, 1) / 3
    for fed_back in (False, True):
        left, expected = np.zeros((3, 40)), []
        for step in range(12):
            left = wanted[:, step] + left * fed_back
            kept = np.where(np.abs(left) >= np.sort(np.abs(left), 1)[:, -4:-3], left, 0)
            left = left - kept
            expected.append(kept.sum(0))
        means, _ = averaged(gradients, 12, share=0.1, with_feedback=fed_back)
        np.testing.assert_allclose(means, expected, atol=1e-6)
    assert (np.sum(means, 0) != 0).mean() > 0.8  # with feedback almost every place is sent in 12 steps


def test_numbers_in_float64_stay_so():
    gradients = np.random.default_rng(5).normal(size=(2, 7))
    means, sent = averaged(gradients)
    np.testing.assert_allclose(means[0], gradients.mean(0), rtol=1e-14)
    assert sum(sent) == 2 * 7 * 8


def test_what_cannot_be_averaged():
    model = made()
    links = ring.run(1, lambda links: links)[0]
    with pytest.raises(InvalidArgument, match="wire: expected None, 'float16' or 'bfloat16', got 'int8'"):
        RingAverage(model.parameters(), links, wire="int8")
    with pytest.raises(InvalidArgument, match="share: expected a number above 0 and at most 1, got 0"):
        RingAverage(model.parameters(), links, share=0)
    with pytest.raises(InvalidArgument, match="has no gradient; call backward first"):
        RingAverage(model.parameters(), links)()
    table = nn.Embedding(5, 2, sparse=True)
    table(sampan.to_tensor([1, 2])).sum().backward()
    with pytest.raises(InvalidType, match="expected dense gradients"):
        RingAverage(table.parameters(), links)()
