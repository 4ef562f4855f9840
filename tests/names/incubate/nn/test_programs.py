"""Programs that use fused functions: compiled, recorded for any length, saved, and in half precision."""

import numpy as np
import pytest
from sampan.incubate.nn import FusedTransformerEncoderLayer
from sampan.incubate.nn import functional as F

import sampan as paddle
from sampan import jit, nn
from sampan.jit.spec import InputSpec


class Block(nn.Layer):
    """A block of LLaMA (Touvron et al. 2023): 16 features in 2 heads of queries and 1 of keys."""

    def __init__(self):
        super().__init__()
        self.query, self.keys = nn.Linear(16, 16, bias_attr=False), nn.Linear(16, 16, bias_attr=False)
        self.out, self.down = nn.Linear(16, 16, bias_attr=False), nn.Linear(24, 16, bias_attr=False)
        self.up = nn.Linear(16, 48, bias_attr=False)
        ones = nn.initializer.Constant(1.0)
        self.scales = nn.ParameterList(
            [self.create_parameter([16], default_initializer=ones) for _ in range(2)]
        )

    def forward(self, x, position_ids, sin, cos):
        batch, time, _ = x.shape
        normal = F.fused_rms_norm(x, self.scales[0], None, 1e-6, 2)[0]
        q = self.query(normal).reshape([batch, time, 2, 8])
        k, v = self.keys(normal).reshape([batch, time, 2, 8]).split(2, axis=2)
        q, k, _ = F.fused_rotary_position_embedding(
            q, k, None, sin=sin, cos=cos, position_ids=position_ids, use_neox_rotary_style=False
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        normal, x = F.fused_rms_norm(
            self.out(mixed.reshape([batch, time, 16])), self.scales[1], None, 1e-6, 2, residual=x
        )
        return x + self.down(F.swiglu(self.up(normal)))


def inputs(batch, time, seed=0):
    random = np.random.default_rng(seed)
    x = paddle.to_tensor(random.standard_normal((batch, time, 16)).astype("float32"))
    places = paddle.to_tensor(random.permuted(np.tile(np.arange(time), (batch, 1)), axis=1))
    angles = np.arange(64)[:, None] / 100 ** (np.arange(8) % 4 / 4)
    sin, cos = (paddle.to_tensor(f(angles).astype("float32")) for f in (np.sin, np.cos))
    return x, places, sin, cos


def gradients(block, given, run):
    block.clear_gradients()
    y = run(*given)
    (y * y[:, :1].detach()).sum().backward()
    return [y.numpy(), *(p.grad.numpy() for p in block.parameters())]


def test_a_compiled_block_follows_its_inputs():
    block = Block()
    compiled = jit.to_static(block.forward)
    for batch, time, seed in ((2, 5, 0), (2, 5, 1), (3, 7, 2)):
        given = inputs(batch, time, seed)
        for ours, expected in zip(
            gradients(block, given, compiled), gradients(block, given, block), strict=True
        ):
            np.testing.assert_allclose(ours, expected, atol=1e-5)


def test_a_block_is_saved_for_any_length(tmp_path):
    block = Block()
    block.eval()
    specs = [
        InputSpec([None, None, 16]),
        InputSpec([None, None], "int64"),
        InputSpec([64, 8]),
        InputSpec([64, 8]),
    ]
    jit.save(block, str(tmp_path / "block"), input_spec=specs)
    loaded = jit.load(str(tmp_path / "block"))
    for batch, time in ((1, 3), (2, 9)):
        given = inputs(batch, time)
        np.testing.assert_allclose(loaded(*given).numpy(), block(*given).numpy(), atol=1e-6)


def test_lengths_are_inputs_of_a_compiled_function():
    def attend(q, lengths):
        return F.variable_length_memory_efficient_attention(q, q, q, lengths, lengths)

    compiled, q = jit.to_static(attend), paddle.randn([2, 1, 4, 8])
    for lengths in ([4, 2], [1, 3], [4, 2]):
        given = paddle.to_tensor(lengths, "int32")
        assert np.array_equal(compiled(q, given).numpy(), attend(q, given).numpy())


def test_a_static_program(tmp_path):
    layer = FusedTransformerEncoderLayer(8, 2, 16, 0.0)
    x = np.random.default_rng(0).standard_normal((3, 4, 8)).astype("float32")
    expected = layer(paddle.to_tensor(x)).numpy()
    angles = F.fused_rotary_position_embedding(paddle.to_tensor(x.reshape(3, 4, 2, 4)))[0].numpy()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            data = paddle.static.data("x", [None, 4, 8], "float32")
            turned = F.fused_rotary_position_embedding(data.reshape([-1, 4, 2, 4]))[0]
            fetched = paddle.static.Executor().run(feed={"x": x}, fetch_list=[layer(data), turned])
    finally:
        paddle.disable_static()
    np.testing.assert_allclose(fetched[0], expected, atol=1e-6)
    np.testing.assert_allclose(fetched[1], angles, atol=1e-6)


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_half_precision(level):
    block, encoder = Block(), FusedTransformerEncoderLayer(16, 2, 32, 0.0)
    given = inputs(2, 5)
    expected = encoder(block(*given)).numpy()
    if level == "O2":
        block, encoder = paddle.amp.decorate([block, encoder], level="O2", dtype="bfloat16")
    with paddle.amp.auto_cast(level=level, dtype="bfloat16"):
        found = encoder(block(*given))
    assert np.abs(found.astype("float32").numpy() - expected).max() < 0.1
    found.astype("float32").sum().backward()
    assert all(p.grad is not None for p in block.parameters())
