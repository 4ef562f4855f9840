"""The networks over sparse voxels: shapes, gradients, learning, and what a dense network computes with their weights."""

import numpy as np
import pytest
import torch

import sampan as paddle
from benchmarks import point_cloud as benchmark
from sampan import models, sparse
from sampan.datasets.point_clouds import PARTS, Shapes, made_shapes, to_sparse
from sampan.models import point_cloud

pytestmark = pytest.mark.usefixtures("one_thread")

DATA = made_shapes(8, size=16, seed=3)
FEW = DATA.pick(range(4))


def test_shapes_and_numbers_of_parameters():
    paddle.seed(0)
    x = to_sparse(DATA.grids)
    classes = models.PointClassifier(5, width=4, in_channels=4)
    assert classes(x).shape == [8, 5]
    block = lambda a, b, k: k * a * b + 2 * b  # a convolution without bias, batch norm's weight and bias
    downs = sum(block(a, b, 8) + block(b, b, 27) for a, b in ((4, 8), (8, 16), (16, 16)))
    assert _count(classes) == block(4, 4, 27) + downs + 16 * 5 + 5
    parts = models.PointUNet(9, width=4, in_channels=4, depth=2)
    out = parts(x)
    assert isinstance(out, sparse.SparseTensor) and out.shape == [8, 16, 16, 16, 9]
    np.testing.assert_array_equal(out.indices().numpy(), x.indices().numpy())
    both = sum(
        block(a, b, 8) + block(b, b, 27) + block(b, a, 8) + block(2 * a, a, 27) for a, b in ((4, 8), (8, 16))
    )
    assert _count(parts) == block(4, 4, 27) + both + 4 * 9 + 9


def test_what_does_not_fit_is_refused():
    odd = to_sparse(np.ones((1, 12, 16, 16), bool))
    for network in (models.PointClassifier(2, 2), models.PointUNet(2, 2)):
        with pytest.raises(ValueError, match=r"multiples of 8, got shape \[1, 12, 16, 16, 4\]"):
            network(odd)
    assert models.PointUNet(2, 2, depth=2)(odd).shape == [1, 12, 16, 16, 2]
    with pytest.raises(ValueError, match="weight: expected"):
        models.PointClassifier(2, 2, in_channels=1)(to_sparse(FEW.grids))


def _dense(x, weight, mask, stride=1, back=False):
    """A convolution by torch over all voxels, with a sparse layer's weight, of what is 0 outside `mask`."""
    w = weight.permute(3, 4, 0, 1, 2) if back else weight.permute(4, 3, 0, 1, 2)  # to torch's order of axes
    if back:
        out = torch.nn.functional.conv_transpose3d(x, w, stride=2)
    else:
        out = torch.nn.functional.conv3d(x, w, stride=stride, padding=1 if stride == 1 else 0)
    return out * mask


def _layer(x, state, name, mask, stride=1, back=False):
    """Convolution, batch norm over the entries alone, relu."""
    out = _dense(x, state[f"{name}.conv.weight"], mask, stride, back)
    rows = out.movedim(1, -1)[mask[:, 0] > 0]
    rows = torch.nn.functional.batch_norm(
        rows, None, None, state[f"{name}.norm.weight"], state[f"{name}.norm.bias"], True, 0.1, 1e-5
    )
    made = torch.zeros_like(out.movedim(1, -1))
    made[mask[:, 0] > 0] = rows.relu()
    return made.movedim(-1, 1)


@pytest.mark.parametrize("kind", ["classes", "parts"])
def test_a_dense_network_with_masks_computes_the_same(kind):
    """torch over all voxels, in float64, with what the pattern leaves out put to 0: logits and every gradient."""
    paddle.seed(5)
    grids = DATA.grids[:3]
    make = models.PointClassifier if kind == "classes" else models.PointUNet
    network = make(4, 3, 4).to(dtype="float64") if kind == "classes" else make(4, 3, 4, 2).to(dtype="float64")
    x = to_sparse(grids).astype("float64")
    state = {k: p.data.clone().requires_grad_() for k, p in network.named_parameters() if not p.stop_gradient}
    h = x.to_dense().data.movedim(-1, 1)
    masks = [torch.from_numpy(grids)[:, None].double()]
    for _ in range(3):
        masks.append(torch.nn.functional.max_pool3d(masks[-1], 2))
    h = _layer(h, state, "stem", masks[0])
    if kind == "classes":
        for i in range(3):
            h = _layer(h, state, f"steps.{i}.0", masks[i + 1], stride=2)
            h = _layer(h, state, f"steps.{i}.1", masks[i + 1])
        expected = h.sum((2, 3, 4)) / masks[3].sum((2, 3, 4)) @ state["head.weight"] + state["head.bias"]
        logits = network(x)
    else:
        skips = []
        for i in range(2):
            skips.append(h)
            h = _layer(h, state, f"down.{i}", masks[i + 1], stride=2)
            h = _layer(h, state, f"encode.{i}", masks[i + 1])
        for i in (1, 0):
            h = _layer(h, state, f"up.{i}", masks[i], back=True)
            h = _layer(torch.cat([skips[i], h], 1), state, f"decode.{i}", masks[i])
        rows = h.movedim(1, -1)[masks[0][:, 0] > 0]
        expected = rows @ state["head.weight"] + state["head.bias"]
        logits = network(x).entries
    np.testing.assert_allclose(logits.numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-9)
    along = torch.from_numpy(np.random.default_rng(0).standard_normal(expected.shape))
    (expected * along).sum().backward()
    (logits * paddle.to_tensor(along)).sum().backward()
    for name, parameter in network.named_parameters():
        if name in state:
            np.testing.assert_allclose(
                parameter.grad.numpy(), state[name].grad.numpy(), rtol=1e-7, atol=1e-9, err_msg=name
            )
            assert np.abs(parameter.grad.numpy()).max() > 0, name


def _count(network):
    return sum(p.size for p in network.parameters() if not p.stop_gradient)


HOW = {"batch_size": 4, "learning_rate": 2e-2, "turn": False}


@pytest.mark.parametrize("kind", ["classes", "parts"])
def test_a_few_steps_learn_a_tiny_batch_by_heart(kind):
    paddle.seed(0)
    if kind == "classes":
        network = models.PointClassifier(4, width=4, in_channels=4)
        losses = point_cloud.train_classes(network, FEW, epochs=40, **HOW)
        assert point_cloud.accuracy(network, FEW) == 1.0
    else:
        network = models.PointUNet(len(PARTS), width=16, in_channels=4, depth=2)
        losses = point_cloud.train_parts(network, FEW, epochs=40, **HOW)
        assert point_cloud.mean_iou(network, FEW) > 0.95
    assert len(losses) == 40 and losses[-1] < 0.2 * losses[0]
    assert not network.training


def trained(seed=0, on_step=None, **how):
    paddle.seed(3)
    network = models.PointUNet(len(PARTS), width=4, in_channels=4, depth=1)
    losses = point_cloud.train_parts(network, DATA, 2, on_step, batch_size=4, seed=seed, **how)
    return network, losses


def test_the_same_seed_trains_the_same_network():
    (one, losses), (other, again), (_, third) = trained(), trained(), trained(seed=1)
    assert losses == again != third
    for (name, a), (_, b) in zip(one.named_parameters(), other.named_parameters(), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=name)


def test_a_training_tells_how_far_it_is_and_ends_when_told():
    told = []
    trained(on_step=told.append)
    assert [(s.step, s.steps, s.epoch) for s in told] == [(1, 4, 0), (2, 4, 0), (3, 4, 1), (4, 4, 1)]
    _, losses = trained(on_step=lambda s: s.step < 2)  # False at the second: cancelled
    assert losses == [s.loss for s in told[:2]]
    network, clock = models.PointUNet(9, 2, 4, 1), iter([0.0, 0.4, 0.9, 1.0])
    run = point_cloud.steps(
        network, DATA, point_cloud.parts_loss, 50, batch_size=4, share=lambda: next(clock)
    )
    assert len(list(run)) == 3  # as long as the share is below 1
    with pytest.raises(ValueError, match=r"^steps: data: expected at least one shape, got none"):
        next(point_cloud.steps(network, DATA.pick([]), point_cloud.parts_loss, 1))
    with pytest.raises(ValueError, match=r"precision: expected .* got 'int8'"):
        next(point_cloud.steps(network, DATA, point_cloud.parts_loss, 1, precision="int8"))


def test_a_saved_network_says_the_same(tmp_path):
    network, _ = trained()
    paddle.save(network.state_dict(), str(tmp_path / "parts.pdparams"))
    other = models.PointUNet(len(PARTS), width=4, in_channels=4, depth=1)
    other.set_state_dict(paddle.load(str(tmp_path / "parts.pdparams")))
    x = to_sparse(FEW.grids)
    other.eval()
    np.testing.assert_array_equal(other(x).entries.numpy(), network(x).entries.numpy())
    np.testing.assert_array_equal(
        point_cloud.predict(other, FEW.grids, 3), network(x).entries.numpy().argmax(1)
    )


def test_mixed_precision_learns_as_well():
    _, wide = trained()
    network, half = trained(precision="bfloat16")
    assert half != wide
    np.testing.assert_allclose(half, wide, rtol=0.03)
    assert {str(p.dtype) for p in network.parameters()} == {"paddle.float32"}  # values are stored in full


def test_scores_by_hand():
    found, parts = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 1, 0, -1])
    iou = point_cloud.part_iou(found, parts)
    assert iou == {0: pytest.approx(1 / 3), 1: pytest.approx(2 / 3)}  # the last place does not count

    class Constant(paddle.nn.Layer):
        def forward(self, x):
            return paddle.to_tensor(np.tile([[0.0, 1.0, 0.0, 0.0]], (x.shape[0], 1)))

    assert point_cloud.accuracy(Constant(), DATA) == 0.25  # each kind is a quarter of what is made
    assert point_cloud.predict(Constant(), DATA.grids[:0]).shape == (0,)


def test_unlabelled_entries_teach_nothing():
    paddle.seed(1)
    network = models.PointUNet(9, 4, 4, 1)
    some = [np.where(np.arange(len(p)) < 5, p, -1) for p in FEW.parts]
    loss = point_cloud.parts_loss(network, FEW._replace(parts=some))
    logits = network(to_sparse(FEW.grids)).entries.numpy().astype(float)
    labels = np.concatenate(some)
    logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    expected = -logs[np.arange(len(labels)), labels][labels >= 0].mean()
    assert float(loss) == pytest.approx(expected, rel=1e-4)


def test_the_dense_twin_is_the_same_network_over_all_voxels(monkeypatch, capsys):
    """What benchmarks/point_cloud.py compares: as many parameters, the same loss where every voxel has an entry."""
    whole = Shapes(np.ones((2, 8, 8, 8), bool), np.array([0, 1]), [np.arange(512) % 3] * 2)
    for parts in (False, True):
        task = benchmark.Task("whole", "", DATA, DATA, 3, parts)
        sparse_one, dense_one = (task.network(kind, 4) for kind in ("sparse", "dense"))
        assert _count(sparse_one) == _count(dense_one)
        ours, theirs = ([p for p in n.parameters() if not p.stop_gradient] for n in (sparse_one, dense_one))
        names = [n for n, p in sparse_one.named_parameters() if not p.stop_gradient]
        for name, source, target in zip(names, ours, theirs, strict=True):
            value = source.numpy()
            if (
                value.ndim == 5
            ):  # [kernel, in, out] to [out, in, kernel], of a transposed one to [in, out, kernel]
                value = value.transpose((3, 4, 0, 1, 2) if name.startswith("up.") else (4, 3, 0, 1, 2))
            elif target.ndim == 5:  # the last layer: [in, out] to [out, in, 1, 1, 1]
                value = value.T.reshape(target.shape)
            target.set_value(value)
        losses = [
            float(task.loss(kind)(n, whole)) for kind, n in (("sparse", sparse_one), ("dense", dense_one))
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    small = benchmark.Task("parts", "", DATA, FEW, len(PARTS), True)
    found = benchmark.race(small, ["sparse", "dense"], 2, seconds=1e-9, seed=0)  # one step each
    assert all(0 <= score <= 1 and epochs == 1 and used > 0 for score, epochs, used in found.values())
    monkeypatch.setattr(benchmark, "tasks", lambda quick, made: [])
    monkeypatch.setattr("sys.argv", ["point_cloud", "--quick", "--threads", "1"])
    benchmark.main()
    assert "1 threads" in capsys.readouterr().out


def test_half_precision_halves_what_is_kept():
    network, kept = models.PointUNet(len(PARTS)), {}
    for half in (False, True):
        with paddle.amp.auto_cast(half, dtype="bfloat16"):
            kept[half], copies = benchmark.kept_bytes(point_cloud.parts_loss(network, DATA), network)
        assert (copies > 0) is half
    assert 0.4 < 1 - kept[True] / kept[False] < 0.6
