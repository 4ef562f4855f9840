"""The modules from which programs import, and what is refused."""

import importlib

import pytest
from sampan.incubate import nn
from sampan.incubate.nn import functional as F

import sampan as paddle


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("functional.swiglu", "swiglu"),
        ("functional.fused_rms_norm", "fused_rms_norm"),
        ("functional.fused_matmul_bias", "fused_linear fused_linear_activation fused_matmul_bias"),
        ("functional.fused_transformer", "fused_feedforward fused_multi_head_attention"),
        ("functional.fused_rotary_position_embedding", "fused_rotary_position_embedding"),
        ("layer.fused_transformer", "FusedFeedForward FusedMultiHeadAttention FusedTransformerEncoderLayer"),
        ("layer.fused_linear", "FusedLinear"),
        ("layer.fused_dropout_add", "FusedDropoutAdd"),
    ],
)
def test_inner_modules(module, names):
    found = importlib.import_module(f"sampan.incubate.nn.{module}")
    home = nn if module.startswith("layer") else F
    for name in names.split():
        assert getattr(found, name) is getattr(home, name)
    assert callable(F.swiglu)  # the function, not the module of its name


def test_modules_of_masks_losses_and_operators():
    attention = importlib.import_module("sampan.incubate.nn.memory_efficient_attention")
    loss = importlib.import_module("sampan.incubate.nn.loss")
    operators = importlib.import_module("sampan.incubate.operators")
    assert callable(attention.memory_efficient_attention)
    assert loss.identity_loss is paddle.incubate.identity_loss
    for name in ("softmax_mask_fuse", "softmax_mask_fuse_upper_triangle", "graph_send_recv"):
        assert getattr(operators, name) is getattr(paddle.incubate, name)
    assert F.swiglu is paddle.nn.functional.swiglu


def test_what_is_refused():
    with pytest.raises(
        AttributeError, match="FusedMultiTransformer is not in Sampan: it is a kernel of a GPU"
    ):
        _ = nn.FusedMultiTransformer
    with pytest.raises(AttributeError, match=r"paddle\.incubate\.nn\.FusedNothing does not exist"):
        _ = nn.FusedNothing
    with pytest.raises(ModuleNotFoundError, match="moe_combine': kernels of a GPU for mixtures of experts"):
        importlib.import_module("sampan.incubate.nn.functional.moe_combine")
