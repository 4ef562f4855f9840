"""Paddle's fused functions, composed from the library's operators.

Those that are kernels of a GPU for generation, for numbers of 8 bits or for mixtures of experts are refused
by name.
"""

from typing import Any

from .....amp import casting
from .....engine.spelling import spell
from .....ops.activation import swiglu as swiglu
from .blocks import fused_bias_dropout_residual_layer_norm as fused_bias_dropout_residual_layer_norm
from .blocks import fused_dropout_add as fused_dropout_add
from .blocks import fused_feedforward as fused_feedforward
from .blocks import fused_multi_head_attention as fused_multi_head_attention
from .lengths import variable_length_memory_efficient_attention as variable_length_memory_efficient_attention
from .norms import fused_layer_norm as fused_layer_norm
from .norms import fused_rms_norm as fused_rms_norm
from .norms import fused_rms_norm_ext as fused_rms_norm_ext
from .products import fused_bias_act as fused_bias_act
from .products import fused_linear as fused_linear
from .products import fused_linear_activation as fused_linear_activation
from .products import fused_matmul_bias as fused_matmul_bias
from .rotary import fused_rotary_position_embedding as fused_rotary_position_embedding

# fmt: off
__all__ = [
    "fused_bias_act", "fused_bias_dropout_residual_layer_norm", "fused_dropout_add", "fused_feedforward",
    "fused_layer_norm", "fused_linear", "fused_linear_activation", "fused_matmul_bias",
    "fused_multi_head_attention", "fused_rms_norm", "fused_rms_norm_ext", "fused_rotary_position_embedding",
    "variable_length_memory_efficient_attention",
]
_GENERATION = (
    "batched_gemm blha_get_max_len block_multihead_attention fused_multi_transformer "
    "masked_multihead_attention"
)
_EIGHT_BITS = (
    "fp8_gemm_blockwise fp8_quant_blockwise fused_act_dequant fused_stack_transpose_quant "
    "fused_swiglu_weighted_bwd fused_transpose_split_quant fused_transpose_wlch_split_quant "
    "fused_weighted_swiglu_act_quant"
)
_EXPERTS = (
    "build_src_rank_and_local_expert_id cal_aux_loss expand_modality_expert_id int_bincount moe_combine "
    "moe_combine_no_weight moe_gate_dispatch moe_gate_dispatch_and_quant "
    "moe_gate_dispatch_partial_nosoftmaxtopk moe_gate_dispatch_permute"
)
_ONE_GPU = {
    "cross_entropy_with_softmax_bwd_w_downcast": "nn.functional.cross_entropy",
    "cudnn_flash_attention": "nn.functional.scaled_dot_product_attention",
    "embedding_grad_add_to_": "nn.functional.embedding",
    "fast_ln": "nn.functional.layer_norm",
    "fast_rms_norm": "nn.functional.rms_norm",
    "fused_dot_product_attention": "nn.functional.scaled_dot_product_attention",
    "fused_gate_attention": "nn.functional.scaled_dot_product_attention",
    "fused_partial_rope": "fused_rotary_position_embedding",
}
# fmt: on
REFUSED = {
    **dict.fromkeys(
        _GENERATION.split(), "a kernel of a GPU for generation with caches; use the layers of paddle.nn"
    ),
    **dict.fromkeys(_EIGHT_BITS.split(), "a kernel of a GPU for numbers of 8 bits"),
    **dict.fromkeys(_EXPERTS.split(), "a kernel of a GPU for mixtures of experts"),
    **{name: f"a kernel of a GPU; use paddle.{place}" for name, place in _ONE_GPU.items()},
}


def __getattr__(name: str) -> Any:
    reason = f" is not in Sampan: it is {REFUSED[name]}" if name in REFUSED else " does not exist"
    raise AttributeError(f"paddle.incubate.nn.functional.{name}{reason}")


# Names of PaddlePaddle's operators for the custom lists of `auto_cast`.
casting.PADDLE.update(
    fused_gemm_epilogue=("mm", "affine"),
    fused_rotary_position_embedding=("rotate",),
)
spell(globals(), __name__)
