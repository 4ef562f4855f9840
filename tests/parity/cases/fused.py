"""Fused functions and layers of `incubate.nn`. PaddlePaddle's CPU package lacks most of their kernels: of these, arguments that are
refused before a kernel is looked for, and the parameters of layers, are compared."""

import functools
from typing import Any

from tools.parity.spec import Call, array, call, given, program

f = functools.partial(array, low=-1, high=1)
plain = functools.partial(array, low=-1, high=1, grad=False)  # for results without gradient in PaddlePaddle
SUM = {"bias": plain(4), "residual": plain(2, 3, 4)}
QKV, W = f(3, 2, 2, 4), f(4, 4)
TWICE = [
    call(f(2, 8)),
    call(f(2, 3, 4), f(2, 3, 4)),
    call(f(4, dtype="float64")),
    call(f(2, 3)),
    call(f(0, 4)),
]


def made(kind: str, *sizes: Any, **settings: Any) -> Call:
    """The parameters of a layer that is not called: names, dtypes, shapes, and the values of those that are not drawn."""

    def parameters(P: Any) -> list[Any]:
        layer = getattr(P.incubate.nn, kind)(*sizes, **settings)
        drawn = [n for n, p in layer.named_parameters() if float(p.min()) != float(p.max())]
        return [
            [[n, str(p.dtype), *p.shape] for n, p in layer.named_parameters()],
            [p for n, p in layer.named_parameters() if n not in drawn],
            drawn,
            sorted(layer.state_dict()),
        ]

    return program(parameters, text=f"{kind}{sizes} {settings}")


# fmt: off
FUNCTIONS: dict[str, list[Call]] = {
    "swiglu": TWICE,
    "fused_dropout_add": [
        *(call(f(2, 3), f(2, 3), 0.25, training, mode) for training in (False,) for mode in ("upscale_in_train", "downscale_in_infer")),
        call(f(2, 3), f(3), 0), call(f(2, 3), f(2, 3), 1), call(f(2, 3), f(2, 3), 1.5), call(f(2, 3), f(2, 3), 0.5, mode="x"),
    ],
    "fused_layer_norm": [
        call(plain(2, 3, 4), plain(4), plain(4), 1e-5, 0.5, 2, **SUM),
        call(plain(2, 3, 4), plain(4), None, 1e-3, 1.0, 2, residual=plain(2, 3, 4)),
        call(plain(2, 3, 4), plain(12), plain(12), 1e-5, bias=plain(3, 4), residual=plain(2, 3, 4)),
        call(plain(2, 3, 4), plain(12), None, 1e-5, bias=plain(12), residual=plain(2, 3, 4)), call(plain(2, 3, 4), plain(4), None, 1e-5, residual=plain(3, 4)),
        call(plain(2, 3, 4), plain(4), plain(4), 1e-5), call(plain(2, 3, 4), plain(3, 4), None, 1e-5),
    ],
    "fused_rms_norm": [
        call(plain(2, 3, 4), plain(4), plain(4), 1e-5, 2, **SUM), call(plain(2, 3, 4), plain(4), None, 1e-3, -1, residual=plain(2, 3, 4)),
        *(call(plain(2, 3, 4), plain(12), None, 1e-5, bias=b, residual=plain(2, 3, 4)) for b in (None, plain(12), plain(3, 4))),
        call(plain(2, 3, 4), plain(4), None, 1e-5, 2),
        call(plain(2, 3, 4), plain(4), plain(4), 1e-5, 2, bias=plain(4)), call(plain(2, 3, 4), plain(24), None, 1e-5, 0),
        call(plain(2, 3, 4), plain(4), None, 1e-5), call(plain(2, 3, 4), plain(4), None, 1e-5, 3),
        call(plain(2, 3, 4), plain(4), None, 1e-5, -4), call(plain(2, 3, 4), None, None, 1e-5, 2),
    ],
    "fused_matmul_bias": [call(f(2, 3, 4), f(2, 5, 4), None, False, True), call(f(4, 3), f(4, 5), None, True), call(f(3, 4), f(3, 5))],
    "fused_linear": [call(f(2, 3, 4), f(4, 5)), call(f(3, 4), f(5, 4), None, True)],
    "fused_feedforward": [call(f(2, 3, 4), W, W, dropout1_rate=2), call(f(2, 3, 4), W, W, dropout2_rate=-1), call(f(2, 3, 4), W, W, mode="x")],
    "fused_multi_head_attention": [
        call(f(3, 4), QKV, W), call(f(2, 3, 4), QKV, W, mode="x"), call(f(2, 3, 4), f(3, 2, 4), W), call(f(2, 3, 5), QKV, W),
        call(f(2, 3, 4), QKV, W, transpose_qkv_wb=True), call(f(2, 3, 4), f(4, 11), W, num_heads=2, transpose_qkv_wb=True),
    ],
    "fused_bias_dropout_residual_layer_norm": [call(f(2, 4), f(2, 4), mode="x"), call(f(2, 4), f(2, 4), ln_scale=f(3)), call(f(2, 4), f(2, 4), ln_bias=f(1, 4))],
    "fused_rotary_position_embedding": [
        call(f(2, 3, 2, 4), position_ids=given([[0, 1, 2]] * 2, "int64")), call(f(2, 3, 2, 4), use_neox_rotary_style=False),
    ],
}
LAYERS: dict[str, list[Call]] = {
    "FusedDropoutAdd": [call(0.0).on(f(2, 3), f(2, 3)), call(1, "downscale_in_infer").on(f(2, 3), f(2, 3))],
    "FusedLinear": [call(4, 3, bias_attr=False).on(f(2, 4)), call(4, 3, bias_attr=False, transpose_weight=True).on(f(2, 2, 4))],
    "FusedBiasDropoutResidualLayerNorm": [made("FusedBiasDropoutResidualLayerNorm", 4), made("FusedBiasDropoutResidualLayerNorm", 4, 0.1, bias_attr=False), made("FusedBiasDropoutResidualLayerNorm", 0)],
    "FusedMultiHeadAttention": [
        made("FusedMultiHeadAttention", 8, 2), made("FusedMultiHeadAttention", 8, 2, normalize_before=True, transpose_qkv_wb=True), made("FusedMultiHeadAttention", 8, 2, qkv_bias_attr=False, ln_bias_attr=False),
        made("FusedMultiHeadAttention", 8, 3), made("FusedMultiHeadAttention", 0, 2), made("FusedMultiHeadAttention", 8, 2, need_weights=True),
    ],
    "FusedFeedForward": [made("FusedFeedForward", 4, 8), made("FusedFeedForward", 4, 8, normalize_before=True, linear1_bias_attr=False), made("FusedFeedForward", 4, 0)],
    "FusedTransformerEncoderLayer": [made("FusedTransformerEncoderLayer", 8, 2, 16), made("FusedTransformerEncoderLayer", 8, 2, 16, normalize_before=True, bias_attr=False), made("FusedTransformerEncoderLayer", 8, 2, 16, bias_attr=[None])],
}
CASES = {
    **{f"paddle.incubate.nn.functional.{name}": calls for name, calls in FUNCTIONS.items()},
    **{f"paddle.incubate.nn.{name}": calls for name, calls in LAYERS.items()},
    "paddle.incubate.softmax_mask_fuse": [call(f(1, 2, 3, 32), plain(1, 1, 3, 32))],
    "paddle.incubate.identity_loss": [call(f(2, 3)), call(f(2, 3), 0), call(f(2, 3), "mean")],
}
