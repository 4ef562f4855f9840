"""Distillation losses beside torch, and students that learn."""

from typing import Any

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn, slim


def pair() -> tuple[Any, Any]:
    generator = np.random.default_rng(0)
    return tuple(paddle.to_tensor(generator.normal(size=(6, 5)).astype(np.float32)) for _ in range(2))  # type: ignore[return-value]  # two of them


def test_soft_labels_are_the_cross_entropy_of_torch() -> None:
    student, teacher = pair()
    found = float(slim.soft_label(student, teacher, 2.0, 3.0))
    wanted = torch.nn.functional.cross_entropy(student.data / 2, torch.softmax(teacher.data / 3, 1))
    assert found == pytest.approx(float(wanted), rel=1e-5)


def test_a_temperature_leaves_the_size_of_the_gradient() -> None:
    student, teacher = pair()
    student.stop_gradient = False
    loss: Any = slim.distill.tempered(student, teacher, 3.0)
    loss.backward()
    leaf = student.data.detach().clone().requires_grad_()
    wanted = 9 * torch.nn.functional.cross_entropy(leaf / 3, torch.softmax(teacher.data / 3, 1))
    wanted.backward()
    assert float(loss) == pytest.approx(wanted.item(), rel=1e-5)
    np.testing.assert_allclose(student.grad.numpy(), leaf.grad, rtol=1e-4, atol=1e-6)


def test_decoupled_loss_is_the_divergence_where_both_parts_have_their_share() -> None:
    student, teacher = pair()
    label = paddle.to_tensor([0, 1, 2, 3, 4, 0])
    p, q = torch.softmax(teacher.data / 4, 1).double(), torch.softmax(student.data / 4, 1).double()
    rows = torch.arange(6), label.data
    pt, qt = p[rows], q[rows]
    target = (pt * (pt / qt).log() + (1 - pt) * ((1 - pt) / (1 - qt)).log()).mean()
    whole = (p * (p / q).log()).sum(1)  # = target part + (1 - pt) * rest
    rest = ((whole - (pt * (pt / qt).log() + (1 - pt) * ((1 - pt) / (1 - qt)).log())) / (1 - pt)).mean()
    found = float(slim.dkd(student, teacher, label, alpha=2.0, beta=3.0, temperature=4.0))
    assert found == pytest.approx(float((2 * target + 3 * rest) * 16), rel=1e-4)


def test_flow_matrices() -> None:
    maps = [paddle.randn([2, c, 3, 4]) for c in (3, 5, 3, 5)]
    flows = [torch.einsum("bchw,bdhw->bcd", a.data, b.data) / 12 for a, b in (maps[:2], maps[2:])]
    assert float(slim.fsp(*maps)) == pytest.approx(float((flows[0] - flows[1]).square().mean()), rel=1e-5)
    with pytest.raises(ValueError, match="fsp: expected two values of one size"):
        slim.fsp(maps[0], paddle.ones([2, 3, 1, 1]), maps[2], maps[3])


@pytest.mark.parametrize("loss", ["soft_label", "dkd"])
def test_a_student_comes_near_its_teacher(loss: str) -> None:
    paddle.seed(0)
    teacher = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
    student = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    x = paddle.randn([128, 6])
    label = teacher(x).argmax(1)
    learn = slim.distil(student, teacher, T=2, features={"1": "1"}, loss=loss)
    first = float(learn(x, label))
    assert learn.projections[0].weight.shape == [8, 32]
    assert len(learn.parameters()) == len(student.parameters()) + 2
    held = [p.numpy().copy() for p in teacher.parameters()]
    adam = paddle.optimizer.Adam(0.05, parameters=learn.parameters())
    for _ in range(200):
        value = learn(x, label)
        value.backward()
        adam.step()
        adam.clear_grad()
    assert float(learn(x, label)) < first
    assert float((student(x).argmax(1) == label).astype("float32").mean()) > 0.8
    assert all(
        (p.numpy() == h).all() and p.grad is None for p, h in zip(teacher.parameters(), held, strict=True)
    )


def test_networks_teach_one_another() -> None:
    paddle.seed(1)
    both = slim.DML([nn.Linear(3, 2), nn.Linear(3, 2)])
    x, label = paddle.randn([8, 3]), paddle.arange(8) % 2
    losses = both(x, label)
    own, other = (torch.log_softmax(m(x).data, 1) for m in both.models)
    wanted = torch.nn.functional.nll_loss(own, label.data) + (other.exp() * (other - own)).sum(1).mean()
    assert float(losses[0]) == pytest.approx(float(wanted), rel=1e-5)
    losses[0].backward()
    assert both.models[1].weight.grad is None
    with pytest.raises(ValueError, match="two networks or more"):
        slim.DML([nn.Linear(1, 1)])


def test_what_does_not_fit_is_refused() -> None:
    teacher, student = nn.Sequential(nn.Linear(3, 4)), nn.Sequential(nn.Linear(3, 5))
    with pytest.raises(ValueError, match=r"the student's \[2, 5\] and the teacher's \[2, 4\]"):
        slim.distil(student, teacher)(paddle.ones([2, 3]))
    with pytest.raises(ValueError, match="features: the teacher has no layer 'O'; near it: 0"):
        slim.distil(student, teacher, features={"0": "O"})
    with pytest.raises(ValueError, match="T > 0"):
        slim.distil(student, teacher, T=0)
    with pytest.raises(ValueError, match="loss: expected"):
        slim.distil(student, teacher, loss="l3")
    with pytest.raises(ValueError, match="label: expected labels for dkd"):
        slim.distil(teacher, teacher, loss="dkd")(paddle.ones([2, 3]))
