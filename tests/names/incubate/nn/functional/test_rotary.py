"""Rotary position embedding against loops over the definition: Su et al. 2021, formula 34, and in halves."""

import numpy as np
import pytest
import torch
from sampan.incubate.nn import functional as F

import sampan as paddle
from sampan.names.incubate.nn.functional.rotary import rotate, turned_by_torch
from tests.beside_torch import both, same
from tests.leaves import leaf

RANDOM = np.random.default_rng(0)


def turned(x, cos, sin, neox):
    """x [batch, time, heads, d], cos and sin [batch, time, d], feature by feature."""
    out, half = np.empty_like(x), x.shape[-1] // 2
    for i in range(x.shape[-1]):
        first = i % 2 == 0 if neox else i < half
        step = 1 if neox else half
        partner = -x[..., i + step] if first else x[..., i - step]
        out[..., i] = x[..., i] * cos[:, :, None, i] + partner * sin[:, :, None, i]
    return out


def angles(time, width, base):
    """cos and sin of t / base^(2 i / d), [1, time, d], one after the other."""
    table = np.empty((2, 1, time, width))
    for t in range(time):
        for i in range(width):
            angle = t / base ** (2 * (i // 2) / width)
            table[:, 0, t, i] = np.cos(angle), np.sin(angle)
    return table


def tables(*shape):
    return RANDOM.standard_normal(shape), RANDOM.standard_normal(shape)


@pytest.mark.parametrize("base", [10000.0, 500.0])
@pytest.mark.parametrize("time_major", [False, True])
def test_angles_of_the_positions(time_major, base):
    x = RANDOM.standard_normal((2, 5, 3, 8))
    given = paddle.to_tensor(x.swapaxes(0, 1) if time_major else x)
    found, *others = F.fused_rotary_position_embedding(given, time_major=time_major, rotary_emb_base=base)
    cos, sin = angles(5, 8, base)
    expected = turned(x, np.repeat(cos, 2, 0), np.repeat(sin, 2, 0), True)
    assert others == [None, None]
    assert np.abs(found.numpy() - (expected.swapaxes(0, 1) if time_major else expected)).max() < 2e-6


@pytest.mark.parametrize("neox", [True, False])
@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("places", [False, True])
@pytest.mark.parametrize("axes", [2, 4])
def test_given_tables(neox, time_major, places, axes):
    heads = (4, 2, 1)  # of q, k and v
    arrays = [RANDOM.standard_normal((2, 5, n, 8)) for n in heads]
    length = 9 if places else 5
    cos, sin = tables(length, 8)
    ids = RANDOM.integers(0, length, (2, 5)) if places else np.tile(np.arange(5), (2, 1))
    expected = [turned(x, cos[ids], sin[ids], neox) for x in arrays]
    shape = [length, 8] if axes == 2 else [1, length, 1, 8]
    found = F.fused_rotary_position_embedding(
        *(paddle.to_tensor(x.swapaxes(0, 1) if time_major else x) for x in arrays),
        sin=paddle.to_tensor(sin.reshape(shape)),
        cos=paddle.to_tensor(cos.reshape(shape)),
        position_ids=paddle.to_tensor(ids) if places else None,
        use_neox_rotary_style=neox,
        time_major=time_major,
    )
    for x, y in zip(found, expected, strict=True):
        assert np.abs(x.numpy() - (y.swapaxes(0, 1) if time_major else y)).max() < 1e-12


def test_which_are_given():
    x = paddle.randn([1, 3, 2, 4])
    q, k, v = F.fused_rotary_position_embedding(x, v=x)
    assert k is None and q.tolist() == v.tolist() and q.dtype == paddle.float32


def reference(x, cos, sin, neox):
    half = x.shape[-1] // 2
    a, b = (x[..., ::2], x[..., 1::2]) if neox else (x[..., :half], x[..., half:])
    other = torch.stack([-b, a], -1).flatten(-2) if neox else torch.cat([-b, a], -1)
    return x * cos.unsqueeze(2) + other * sin.unsqueeze(2)


@pytest.mark.parametrize("neox", [True, False])
def test_gradients_of_two_orders_and_views(neox):
    cos, sin = (torch.tensor(v) for v in tables(2, 4, 6))
    ours, theirs = both(2, 3, 4, 6)
    settings = (paddle.to_tensor(cos.numpy()), paddle.to_tensor(sin.numpy()), neox, 1, 1e4, False)
    view, other = ours.transpose([0, 2, 1, 3]), theirs.transpose(1, 2)  # [2, 4, 3, 6]
    same(rotate(view, *settings), reference(other, cos, sin, neox), (ours, theirs))
    x, weights = (
        leaf(RANDOM.standard_normal((2, 4, 3, 6))),
        paddle.to_tensor(RANDOM.standard_normal((2, 4, 3, 6))),
    )
    gradient = paddle.grad((rotate(x, *settings) ** 2 * weights).sum(), x, create_graph=True)[0]
    second = paddle.grad(gradient.sum(), x)[0].numpy()
    plain = torch.tensor(x.numpy(), requires_grad=True)
    total = (reference(plain, cos, sin, neox) ** 2 * torch.tensor(weights.numpy())).sum()
    (first,) = torch.autograd.grad(total, plain, create_graph=True)
    (wanted,) = torch.autograd.grad(first.sum(), plain)
    np.testing.assert_allclose(gradient.numpy(), first.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(second, wanted.numpy(), atol=1e-12)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_float32(kind):
    x = paddle.randn([2, 6, 2, 8]).astype(kind)
    found = F.fused_rotary_position_embedding(x)[0]
    wide = F.fused_rotary_position_embedding(x.astype("float32"))[0]
    assert found.dtype == x.dtype and (found == wide.astype(kind)).all()


def test_auto_cast_takes_it_to_half_precision():
    x = paddle.randn([1, 3, 2, 4])
    with paddle.amp.auto_cast(dtype="bfloat16"):
        assert F.fused_rotary_position_embedding(x)[0].dtype == paddle.bfloat16
    with paddle.amp.auto_cast(dtype="bfloat16", custom_black_list=["fused_rotary_position_embedding"]):
        assert F.fused_rotary_position_embedding(x.astype("bfloat16"))[0].dtype == paddle.float32


def test_many_numbers_in_several_threads():
    x = RANDOM.standard_normal((2, 600, 2, 64))
    cos, sin = tables(600, 64)
    for neox in (True, False):
        given = (paddle.to_tensor(v) for v in (x, sin, cos))
        q, s, c = given
        found = F.fused_rotary_position_embedding(q, sin=s, cos=c, use_neox_rotary_style=neox)[0].numpy()
        assert np.abs(found - turned(x, cos[None], sin[None], neox)).max() < 1e-12


@pytest.mark.parametrize("neox", [True, False])
def test_the_form_for_a_gpu(neox):
    x, (cos, sin) = RANDOM.standard_normal((2, 5, 3, 8)), tables(2, 5, 8)
    found = turned_by_torch(*(torch.tensor(v) for v in (x, cos, sin)), neox)
    assert np.abs(found.numpy() - turned(x, cos, sin, neox)).max() < 1e-12


def test_an_empty_batch():
    assert F.fused_rotary_position_embedding(paddle.zeros([0, 3, 2, 4]))[0].shape == [0, 3, 2, 4]


X, TABLE = paddle.zeros([2, 3, 2, 4]), paddle.zeros([3, 4])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"position_ids": paddle.zeros([2, 3], "int64")}, "position_ids: expected None without sin and cos"),
        ({"use_neox_rotary_style": False}, "use_neox_rotary_style: expected True without sin and cos"),
        ({"k": paddle.zeros([2, 4, 2, 4])}, r"k: expected \[2, 3, 2, 4\], that of q, but for heads"),
        ({"v": paddle.zeros([2, 3, 4])}, r"v: expected \[batch, time, heads, d\]"),
        ({"sin": TABLE, "cos": paddle.zeros([3, 2])}, r"cos: expected the shape of sin, \[3, 4\]"),
        ({"sin": TABLE[:2], "cos": TABLE[:2]}, "cos: expected 3 times and 4 features"),
        ({"sin": TABLE[0], "cos": TABLE[0]}, r"cos: expected \[time, d\] or \[1, time, 1, d\], got \[4\]"),
        (
            {"sin": TABLE, "cos": TABLE, "position_ids": paddle.zeros([3, 2], "int64")},
            r"position_ids: expected shape \[2, 3\], got \[3, 2\]",
        ),
    ],
)
def test_bad_input(given, message):
    with pytest.raises(ValueError, match=f"^fused_rotary_position_embedding: {message}"):
        F.fused_rotary_position_embedding(X, **given)


def test_an_odd_number_of_features():
    with pytest.raises(ValueError, match=r"q: expected .* an even d"):
        F.fused_rotary_position_embedding(paddle.zeros([2, 3, 2, 5]))
