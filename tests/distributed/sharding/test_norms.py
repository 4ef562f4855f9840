"""Clipping in one process is that of nn; over several see test_sharding.py."""

import pytest
import torch

import sampan as paddle
from sampan import nn
from sampan.distributed.sharding.norms import Clipping
from sampan.nn.clip import ClipGrad
from sampan.row_sparse import RowGradient


@pytest.mark.parametrize(
    "clip", [nn.ClipGradByGlobalNorm(0.5), nn.ClipGradByNorm(0.5), nn.ClipGradByValue(0.2)]
)
def test_clipped_as_in_one_process(clip):
    torch.manual_seed(0)
    gradients = [torch.randn(3, 4, dtype=torch.float64), torch.randn(5, dtype=torch.float64) * 0.01]
    parameters = [paddle.zeros(g.shape) for g in gradients]
    found = Clipping()(clip, parameters, gradients, [True, False])
    for ours, theirs in zip(found, clip.clip(gradients), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-14, atol=0)


def test_shared_parameters_count_once():
    first, second = paddle.zeros([1]), paddle.zeros([1])
    first.is_firstly_shared, second.is_firstly_shared = True, False
    gradients = [torch.tensor([3.0]), torch.tensor([3.0])]
    found = Clipping()(nn.ClipGradByGlobalNorm(1.5), [first, second], gradients, [False, False])
    assert [float(gradient) for gradient in found] == [1.5, 1.5]


def test_rows_count_once():
    ids, rows = torch.tensor([1, 4, 1]), torch.arange(9.0, dtype=torch.float64).view(3, 3)
    gradient = RowGradient([(ids, rows, None, None)], torch.Size([6, 3]))
    squares = Clipping().squares([paddle.zeros([6, 3])], [gradient], [False])
    assert float(squares) == pytest.approx(float(gradient.dense().square().sum()), rel=1e-14)


def test_other_clips_are_refused():
    with pytest.raises(
        TypeError, match=r"grad_clip: over several processes expected one of .*, got ClipGrad"
    ):
        Clipping()(ClipGrad(), [], [], [])
