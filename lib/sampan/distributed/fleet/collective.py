"""What a DistributedStrategy asks of networks and optimizers where several processes train by collectives."""

from __future__ import annotations

from typing import Any

from ...engine.errors import InvalidArgument
from ...optimizer import SGD, Momentum
from ..compression import HalfPrecision, LocalSGD, TopK
from ..data_parallel import DataParallel
from ..environment import ParallelMode
from ..replicas import broadcast, check
from .topology import HybridCommunicateGroup
from .utils.mix_precision_utils import MixPrecisionOptimizer


class CollectiveTraining:
    """The network and the optimizer of one `fleet.init`.

    strategy: `fp16_allreduce` sends gradients in float16 with error feedback. `dgc` sends the largest
    entries, and takes over the momentum of a Momentum optimizer. `localsgd` and `adaptive_localsgd` exchange
    parameters in place of gradients. They exclude one another.
    """

    def __init__(self, strategy: Any, hcg: HybridCommunicateGroup) -> None:
        self.hcg, self.mode = hcg, hcg.get_parallel_mode()
        names = ("fp16_allreduce", "dgc", "localsgd", "adaptive_localsgd")
        chosen = [name for name in names if getattr(strategy, name)]
        if len(chosen) > 1:
            raise InvalidArgument(f"strategy: expected one of {', '.join(names)}, got {' and '.join(chosen)}")
        if chosen and self.mode != ParallelMode.DATA_PARALLEL:
            raise InvalidArgument(f"strategy: {chosen[0]} is for data parallelism alone")
        self.strategy, self.way = strategy, chosen[0] if chosen else ""
        self.exchange: Any = None
        if self.way == "fp16_allreduce":
            self.exchange = HalfPrecision("float16")
        elif self.way == "dgc":
            given = strategy.dgc_configs
            begin, steps = given["rampup_begin_step"], given["rampup_step"]
            self.exchange = TopK(0.0, given["sparsity"] or [0.999], begin, steps)

    @property
    def local(self) -> bool:
        """Whether parameters are exchanged and not gradients."""
        return self.way in ("localsgd", "adaptive_localsgd")

    def network(self, layer: Any) -> Any:
        """The layer as a DataParallel, TensorParallel, ShardingParallel or PipelineParallel; with LocalSGD
        the layer itself, equal in all processes."""
        if self.mode != ParallelMode.DATA_PARALLEL:
            return self._hybrid(layer)
        if hasattr(layer, "get_num_virtual_stages"):  # a PipelineLayer, with one stage
            from . import meta_parallel

            return meta_parallel.NoPipelineParallel(layer, self.strategy, self.hcg)
        if self.local:
            check(layer, None)
            broadcast(layer, None)
            return layer
        strategy = self.strategy
        sizes = strategy.fuse_grad_size_in_MB, strategy.last_comm_group_size_MB
        parallel = DataParallel(layer, None, *sizes, find_unused_parameters=strategy.find_unused_parameters)
        if self.exchange is not None:
            parallel.compress_with(self.exchange)
        return parallel

    def _hybrid(self, layer: Any) -> Any:
        from . import meta_parallel

        kinds = {
            ParallelMode.TENSOR_PARALLEL: "TensorParallel",
            ParallelMode.SHARDING_PARALLEL: "ShardingParallel",
            ParallelMode.PIPELINE_PARALLEL: "PipelineParallel",
        }
        kind: Any = getattr(meta_parallel, kinds.get(self.mode or 0, ""), None)
        if kind is meta_parallel.PipelineParallel and getattr(layer, "_num_virtual_pipeline_stages", 1) > 1:
            kind = meta_parallel.PipelineParallelWithInterleave
        if kind is None:
            raise NotImplementedError("distributed_model: segment parallelism (sep_degree) is not supported")
        return kind(layer, self.hcg, strategy=self.strategy)

    def optimizer(self, optimizer: Any) -> Any:
        """The optimizer, or the one that takes its place; a MixPrecisionOptimizer stays around it."""
        if isinstance(optimizer, MixPrecisionOptimizer):
            optimizer._inner_opt = self.optimizer(optimizer._inner_opt)
            return optimizer
        if self.mode != ParallelMode.DATA_PARALLEL:
            from .hybrid_optimizer import HybridParallelOptimizer

            return HybridParallelOptimizer(optimizer, self.hcg, self.strategy)
        if self.local:
            given = getattr(self.strategy, f"{self.way}_configs")
            first = given["init_k_steps"] if self.way == "adaptive_localsgd" else given["k_steps"]
            return LocalSGD(optimizer, first, given["begin_step"], self.way == "adaptive_localsgd")
        if self.way != "dgc":
            return optimizer
        if type(optimizer) is not Momentum or optimizer.rule != "momentum":
            raise InvalidArgument(
                "distributed_optimizer: optimizer: with strategy.dgc expected Momentum without Nesterov's "
                f"form, got {type(optimizer).__name__}"
            )
        (group,) = optimizer._groups
        self.exchange.momentum = group.settings["momentum"]
        decay, _ = optimizer._later
        # What is clipped is each process's gradient, before it is compressed.
        self.exchange.clip_norm = getattr(optimizer._grad_clip, "clip_norm", None)
        return SGD(optimizer._learning_rate, optimizer._parameter_list, decay)
