"""BuildStrategy and CompiledProgram: settings of Paddle's compiler, which change nothing here."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ...engine.errors import InvalidType
from .building import Program

# The settings that turn an optimization of Paddle's compiler on or off.
_OFF = (
    *("allow_cuda_graph_capture", "async_mode", "build_cinn_pass", "cache_runtime_context", "enable_addto"),
    *("enable_auto_fusion", "fuse_adamw", "fuse_all_optimizer_ops", "fuse_bn_act_ops"),
    *("fuse_dot_product_attention", "fuse_elewise_add_act_ops", "fuse_gemm_epilogue"),
    *("fuse_relu_depthwise_conv", "fuse_resunit", "fused_attention", "fused_feedforward", "sequential_run"),
    *("sync_batch_norm", "use_hierarchical_allreduce"),
)
_ON = (
    *("enable_backward_optimizer_op_deps", "enable_inplace", "fuse_all_reduce_ops", "fuse_bn_add_act_ops"),
    "fuse_broadcast_ops",
)
_NUMBERS = {
    "bkcl_comm_num": 1,
    "hierarchical_allreduce_inter_nranks": 0,
    "nccl_comm_num": 1,
    "num_trainers": 1,
    "trainer_id": 0,
}


class ReduceStrategy(IntEnum):
    """How gradients of several devices are added up in Paddle."""

    AllReduce, Reduce, _NoReduce = range(3)


class BuildStrategy:
    """Settings of Paddle's compiler. They are stored; a Program computes the same whatever they are."""

    ReduceStrategy = ReduceStrategy

    def __init__(self) -> None:
        vars(self).update(
            dict.fromkeys(_OFF, False),
            **dict.fromkeys(_ON, True),
            **_NUMBERS,
            debug_graphviz_path="",
            memory_optimize=None,
            mkldnn_enabled_op_types=set(),
            onednn_enabled_op_types=set(),
            reduce_strategy=ReduceStrategy.AllReduce,
            trainers_endpoints=[],
        )

    def __setattr__(self, name: str, value: Any) -> None:
        """AttributeError for a name that is no setting, InvalidType for a switch that is no bool."""
        if name not in vars(self):
            raise AttributeError(f"'BuildStrategy' object has no attribute {name!r}")
        if name in (*_OFF, *_ON) and not isinstance(value, bool):
            raise InvalidType(f"BuildStrategy.{name}: expected True or False, got {value!r}")
        vars(self)[name] = value


class CompiledProgram:
    """A Program with a BuildStrategy. An Executor runs it as the Program itself.

    InvalidType for anything but a Program, and for a build_strategy of another class.
    """

    def __init__(self, program_or_graph: Program, build_strategy: BuildStrategy | None = None) -> None:
        for value, kind, name in (
            (program_or_graph, Program, "program_or_graph"),
            (build_strategy, BuildStrategy | None, "build_strategy"),
        ):
            if not isinstance(value, kind):
                raise InvalidType(f"CompiledProgram: {name}: got {type(value).__name__}")
        self.program, self.build_strategy = program_or_graph, build_strategy
