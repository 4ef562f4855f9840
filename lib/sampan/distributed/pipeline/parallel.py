"""Training steps of a network that is cut into stages."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import torch

from ...amp import casting
from ...engine.backward import is_grad_enabled, no_grad
from ...engine.errors import InvalidArgument, InvalidType
from ...engine.tensor import Tensor
from ...nn.layer import Layer
from .. import agreement, environment, objects, replicas, wire
from ..group import Group
from .copies import mean_gradients
from .engine import Engine, Work
from .layers import PipelineLayer
from .micro_batches import micro_batches
from .report import Report
from .schedule import Action, forward_only, order

__all__ = [
    "NoPipelineParallel",
    "PipelineParallel",
    "PipelineParallelMicroStepLocations",
    "PipelineParallelWithInterleave",
    "PipelineParallelWithInterleaveFthenB",
    "register_global_pipeline_parallel_hook",
]


class PipelineParallelMicroStepLocations(Enum):
    """Where a hook is called."""

    FORWARD_BEGIN = "forward_begin"
    FORWARD_END = "forward_end"
    BACKWARD_BEGIN = "backward_begin"
    BACKWARD_END = "backward_end"


_hooks: dict[PipelineParallelMicroStepLocations, list[Callable[..., Any]]] = {
    location: [] for location in PipelineParallelMicroStepLocations
}


def register_global_pipeline_parallel_hook(
    location: PipelineParallelMicroStepLocations, hook: Callable[..., Any]
) -> None:
    """Call `hook` in each pass of each stage, with some of the names input_tensor, output_tensor,
    input_tensor_grad, output_tensor_grad, and with step_id, the number of the micro-batch."""
    if location not in _hooks:
        raise InvalidArgument(f"location: expected one of {[*_hooks]}, got {location!r}")
    _hooks[location].append(hook)


def _observe(kind: str, place: str, micro: int, **tensors: Any) -> None:
    for hook in _hooks[PipelineParallelMicroStepLocations(f"{kind}_{place}")]:
        hook(step_id=micro, **tensors)


class PipelineParallel(Layer):
    """A PipelineLayer that is trained by all processes of its pipeline.

    layers: the PipelineLayer. hcg: the groups of this process; None for a pipeline of this process alone.
    strategy: of `pipeline_configs` accumulate_steps, the number of micro-batches m; micro_batch_size, their
    rows; schedule_mode, "1F1B" or "F-then-B". Of `hybrid_configs["pp_configs"]` delay_scale_loss: divide the
    gradients by m at the end of a step, and not each loss.

    Losses and gradients are those of one process that adds up the gradients of m micro-batches. Statistics
    of batch normalisation are those of a micro-batch, as there.
    """

    def __init__(self, layers: PipelineLayer, hcg: Any, strategy: Any) -> None:
        if not isinstance(layers, PipelineLayer):
            raise InvalidType(f"layers: expected a PipelineLayer, got {type(layers).__name__}")
        super().__init__(f"{layers.full_name()}_pipeline_parallel")
        self._layers, self._hcg, self._strategy = layers, hcg, strategy
        configs = strategy.pipeline_configs
        self.micro_batch_size, self.accumulate_steps = (
            configs["micro_batch_size"],
            configs["accumulate_steps"],
        )
        self._delay_scale_loss = strategy.hybrid_configs["pp_configs"].delay_scale_loss
        rank = environment.get_rank()
        self.pp_group: Group = Group(ranks=[rank]) if hcg is None else hcg.get_pipe_parallel_group()
        if self.pp_group.ranks not in layers._pipelines:
            raise InvalidArgument(
                f"layers: expected a PipelineLayer of the processes {self.pp_group.ranks}, got one of "
                f"{layers._pipelines}: give it the number of stages, or the topology, of fleet.init"
            )
        self.num_stages, self.stage_id = self.pp_group.nranks, self.pp_group.rank
        self._chunks = layers.get_num_virtual_stages()
        given = self.num_stages, self.accumulate_steps, self._chunks, configs["schedule_mode"]
        self._orders = [order(each, *given) for each in range(self.num_stages)]
        self._engine = Engine(self.pp_group, self.num_stages * self._chunks)
        self.loss_fn_idx = 0
        self.total_loss: list[Any] = []
        self._connect_copies()

    def _connect_copies(self) -> None:
        """Let the parameters and buffers of all pipelines be those of the first."""
        copies = Group(ranks=[environment.get_rank()]) if self._hcg is None else self._hcg.copies()
        self._copies: Group = copies
        if copies.nranks > 1:
            replicas.check(self._layers, copies.torch_group)
            replicas.broadcast(self._layers, copies.torch_group)

    # --- where this process is ---

    def is_pipeline_first_stage(self, ignore_virtual: bool = False) -> bool:
        """Whether this process has the first stage."""
        return self.stage_id == 0

    def is_pipeline_last_stage(self, ignore_virtual: bool = False) -> bool:
        """Whether this process has the last stage."""
        return self.stage_id == self.num_stages - 1

    def get_static_scheduler(self) -> str:
        """The passes of a training step in this process: `f0;f1;b0;`, forward and backward with the number
        of the micro-batch; `f0_vp1;` also with that of the stage in this process, where it has several."""

        def told(action: Action) -> str:
            of = f"_vp{action.stage // self.num_stages}" if self._chunks > 1 else ""
            return f"{action.kind.lower()}{action.micro}{of};"

        return "".join(map(told, self._orders[self.stage_id]))

    # --- steps ---

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The outputs of this process's stage. Inputs and shapes are those of its first layer."""
        return self._layers(*inputs, **kwargs)

    def train_batch(
        self,
        data: Any,
        optimizer: Any,
        lr_scheduler: Any = None,
        scaler: Any = None,
        loss_fn_idx: int = 0,
        return_micro_batch_loss: bool = False,
    ) -> Any:
        """One step of training; every process of the pipeline calls it.

        data: see `micro_batches`; only the processes with the first and the last stage need it. optimizer: of
        the parameters of this process. lr_scheduler: gets a step. scaler: a GradScaler; where one process
        finds gradients that are not finite, none steps. loss_fn_idx: which of several losses to train.
        Returns, in every process, the mean of the micro-batches' losses, or with return_micro_batch_loss the
        part of each [m]; a list for several losses. Raises the error of this process, or CommunicationError,
        which names the process and its error.
        """
        if not is_grad_enabled():
            raise InvalidArgument("train_batch: expected gradients to be enabled")
        self._check_loss(loss_fn_idx)
        self.optimizer, self.lr_scheduler = optimizer, lr_scheduler
        self._layers.train()
        loss = self.forward_backward_pipeline(data, scaler, return_micro_batch_loss=return_micro_batch_loss)
        with casting.auto_cast(enable=False, dtype=casting.last_dtype):
            self._optimizer_step(scaler)
        return loss

    def forward_backward_pipeline(
        self,
        data: Any,
        scaler: Any = None,
        static_scheduler: bool = False,
        return_micro_batch_loss: bool = False,
    ) -> Any:
        """The loss of `train_batch`, with gradients in the parameters and without a step of the optimizer.
        Gradients are means over all pipelines; the loss is that of this pipeline's part of the batch.

                static_scheduler: return `get_static_scheduler()` and compute nothing."""
        if static_scheduler:
            return self.get_static_scheduler()
        if scaler is not None and not self.is_pipeline_last_stage():
            scaler.scale(
                Tensor(torch.zeros(()))
            )  # so that it turns itself off where that of the last stage does
        try:
            loss = self._run(self._orders[self.stage_id], data, True, scaler, return_micro_batch_loss)
        except Exception:
            agreement.withdraw(self._copies, f"another pipeline failed: {self._engine.failure}")
            raise
        self._layers.allreduce_shared_weight_gradients()
        if self._copies.nranks > 1:
            mean_gradients([p for p in self._layers.parameters() if not p.stop_gradient], self._copies)
        return loss

    def eval_batch(
        self, data: Any, compute_loss: bool = False, loss_fn_idx: int = 0, return_host_tensor: bool = False
    ) -> Any:
        """The network's forward pass in `eval` mode, without gradients; every process calls it.

        Returns the loss of `train_batch`, in every process, with compute_loss; else the outputs of each
        micro-batch in a list, in the process with the last stage, and None in the others.
        """
        self._check_loss(loss_fn_idx)
        self._layers.eval()
        actions = forward_only(self.stage_id, self.num_stages, self.accumulate_steps, self._chunks)
        with no_grad():
            return self._run(actions, data, compute_loss)

    def _check_loss(self, which: int) -> None:
        losses = self._layers._loss_fn
        if which not in range(len(losses)) or losses[which] is None:
            raise InvalidArgument(f"loss function {which} should exist to compute loss: loss_fn is {losses}")
        self.loss_fn_idx = which

    def _run(
        self, actions: list[Action], data: Any, losses: bool, scaler: Any = None, apart: bool = False
    ) -> Any:
        """Run passes; returns the losses, or the outputs of the last stage."""
        self.total_loss = [[] for _ in self._layers._loss_fn]
        outputs: list[Any] = []
        loaded: list[tuple[Any, Any]] = []

        def micro(number: int) -> tuple[Any, Any]:
            if not loaded:  # within the step, so that all processes learn of an error in the data
                if data is None:
                    raise InvalidArgument("data: expected it in the first and in the last stage, got None")
                loaded.extend(micro_batches(data, self.accumulate_steps, self.micro_batch_size))
            return loaded[number]

        def end(output: Any, number: int) -> Tensor | None:
            if losses:
                return self._losses(output, micro(number)[1])
            outputs.append(output)
            return None

        work = Work(
            lambda number: micro(number)[0],
            lambda inputs, stage: self._layers(inputs, chunk_id=stage // self.num_stages),
            end,
            lambda: self._answer(apart) if losses else None,
            (lambda loss: loss) if scaler is None else scaler.scale,
            _observe,
        )
        answer = self._engine.run(actions, work)
        return answer if losses else outputs if self.is_pipeline_last_stage() else None

    def _losses(self, output: Any, labels: Any) -> Tensor:
        """The loss of a micro-batch that is trained; all are noted in `total_loss`."""
        chosen: Any = None
        for place, function in enumerate(self._layers._loss_fn):
            loss = function(output, labels)
            if not isinstance(loss, Tensor):
                raise InvalidType(f"loss_fn: expected it to return a Tensor, got {type(loss).__name__}")
            with casting.auto_cast(enable=False, dtype=casting.last_dtype):
                if self.accumulate_steps > 1 and not self._delay_scale_loss:
                    loss = loss / self.accumulate_steps
            self.total_loss[place].append(loss.detach())
            chosen = loss if place == self.loss_fn_idx else chosen
        result: Tensor = chosen
        return result

    def _answer(self, apart: bool) -> Any:
        """What `train_batch` returns."""
        found = []
        for losses in self.total_loss:
            each = torch.stack([loss.data for loss in losses])
            total = sum(loss.data for loss in losses)
            found.append(
                Tensor(each if apart else total / (self.accumulate_steps if self._delay_scale_loss else 1))
            )
        return found[0] if len(found) == 1 else found

    def _optimizer_step(self, scaler: Any) -> None:
        if self._delay_scale_loss:
            for parameter in self._layers.parameters():
                if parameter.grad is not None:
                    parameter.grad = parameter.grad * (1.0 / self.accumulate_steps)
        if scaler is None:
            self.optimizer.step()
        else:
            self._agree_on_overflow(scaler)
            scaler.step(self.optimizer)
            scaler.update()
        self.optimizer.clear_grad()
        if self.lr_scheduler is not None:
            self.lr_scheduler.step()

    def _agree_on_overflow(self, scaler: Any) -> None:
        """Scale the gradients back; let every stage know where one found values that are not finite."""
        if scaler.is_enable() and self.num_stages > 1:
            inner = getattr(scaler, "_scaler", scaler)
            scaler.unscale_(self.optimizer)
            found = torch.tensor([bool(inner._found_inf)])
            wire.all_reduce(found, wire.ReduceOp.MAX, self.pp_group)
            inner._found_inf = bool(found)

    def report(self) -> Report:
        """When each process computed in the last step, and how long it waited. Every process of the pipeline
        calls it."""
        timed = self._engine.timed
        if not timed:
            raise RuntimeError("report: call train_batch or eval_batch first")
        alone = self.num_stages == 1
        every = [timed] if alone else objects._everyones(timed, self.pp_group)
        return Report(every, self.accumulate_steps, self._chunks)


class PipelineParallelWithInterleave(PipelineParallel):
    """A PipelineParallel whose processes have several stages each."""


class PipelineParallelWithInterleaveFthenB(PipelineParallelWithInterleave):
    """The same by Paddle's name for fewer than two micro-batches for each process."""


class NoPipelineParallel(PipelineParallel):
    """A PipelineLayer with one stage, trained by the same calls."""

    def __init__(self, layers: PipelineLayer, strategy: Any, hcg: Any = None) -> None:
        super().__init__(layers, hcg, strategy)
