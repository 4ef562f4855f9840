"""`to_static`: a network with its loss and optimizer as one call, DistModel. It runs eagerly."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

from ...amp import auto_cast
from ...engine.backward import no_grad
from ...engine.errors import InvalidArgument, InvalidType
from ...nn import Layer
from ..arguments import check_kind
from .optimizer import STAGES, shard_optimizer


class Strategy:
    """How a DistModel trains.

    config: a dictionary of dictionaries with the same names, such as {"gradient_merge": {"enable": True}}.
    sharding: enable, stage (1 to 3), degree. gradient_merge: enable, k_steps, avg. amp: enable, dtype, level.
    pipeline, fused_passes: settings of static programs; a pipeline is refused.
    """

    def __init__(self, config: dict[str, dict[str, Any]] | None = None) -> None:
        self.sharding = SimpleNamespace(enable=False, stage=1, degree=8)
        self.gradient_merge = SimpleNamespace(enable=False, k_steps=1, avg=True)
        self.amp = SimpleNamespace(enable=False, dtype="float16", level="o1")
        self.pipeline = SimpleNamespace(
            enable=False, schedule_mode="1F1B", micro_batch_size=1, accumulate_steps=1
        )
        self.fused_passes = SimpleNamespace(enable=False, fused_passes_list=[])
        if config is not None and not isinstance(config, dict):
            raise ValueError(f"Expected a dictionary. But received: {config}")
        for name, values in (config or {}).items():
            if name not in vars(self):
                raise InvalidArgument(f"Strategy: config: expected one of {list(vars(self))}, got {name!r}")
            vars(getattr(self, name)).update(values)


def casting(strategy: Any) -> AbstractContextManager[Any]:
    """The mixed precision that the `amp` of a strategy asks for."""
    amp = strategy.amp
    return auto_cast(True, level=amp.level.upper(), dtype=amp.dtype) if amp.enable else nullcontext()


class DistModel:
    """A network that is called with a batch: see `to_static`, which makes it."""

    def __init__(
        self,
        layer: Layer,
        loader: Any,
        loss: Any = None,
        optimizer: Any = None,
        strategy: Strategy | None = None,
        metrics: Any = None,
        input_spec: Any = None,
    ) -> None:
        check_kind(layer, Layer, "layer")
        self._layer, self._loss, self._optimizer = layer, loss, optimizer
        self._strategy, self._steps = strategy or Strategy(), 0
        if self._strategy.pipeline.enable:
            raise InvalidArgument(
                "to_static: strategy: a pipeline is not supported; give pipeline.enable=False"
            )
        if self._strategy.sharding.enable and optimizer is not None:
            self._optimizer = shard_optimizer(optimizer, STAGES[int(self._strategy.sharding.stage) - 1](0))
        self._mode = "predict" if loss is None else "eval" if optimizer is None else "train"
        getattr(self, self._mode)()

    def train(self) -> None:
        """Each call makes a step and returns the loss."""
        if self._loss is None or self._optimizer is None:
            raise InvalidArgument("DistModel.train: expected a loss and an optimizer in to_static")
        self._mode = "train"
        self._layer.train()

    def eval(self) -> None:
        """Each call returns the loss."""
        if self._loss is None:
            raise InvalidArgument("DistModel.eval: expected a loss in to_static")
        self._mode = "eval"
        self._layer.eval()

    def predict(self) -> None:
        """Each call returns the network's results."""
        self._mode = "predict"
        self._layer.eval()

    def __call__(self, *args: Any) -> Any:
        """args: the inputs and, but for prediction, the labels behind them. Lists stand for what is in them,
        so that a batch of a loader can be given as it is; labels in a list of their own are several."""
        if len(args) == 1 and isinstance(args[0], list | tuple):
            args = tuple(args[0])
        cast = casting(self._strategy)
        if self._mode == "predict":
            with no_grad(), cast:
                return self._layer(*_flat(args))
        if len(args) < 2:
            raise InvalidType(f"DistModel: expected inputs and labels, got {len(args)} arguments")
        with nullcontext() if self._mode == "train" else no_grad(), cast:
            loss = self._loss(self._layer(*_flat(args[:-1])), *_flat(args[-1:]))
        if self._mode == "train":
            self._step(loss)
        return loss.detach()

    def _step(self, loss: Any) -> None:
        merge = self._strategy.gradient_merge
        every = merge.k_steps if merge.enable else 1
        (loss / every if merge.avg and every > 1 else loss).backward()
        self._steps += 1
        if self._steps % every == 0:
            self._optimizer.step()
            self._optimizer.clear_grad()

    def state_dict(self, mode: str = "all") -> dict[str, Any]:
        """The state of the network ("param"), of the optimizer ("opt"), or of both ("all")."""
        if mode not in ("all", "param", "opt"):
            raise ValueError(f"mode: expected 'all', 'param' or 'opt', got {mode!r}")
        found: dict[str, Any] = {}
        if mode != "opt":
            found.update(self._layer.state_dict())
        if mode != "param" and self._optimizer is not None:
            found.update(self._optimizer.state_dict())
        return found

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state of `state_dict`."""
        names = self._layer.state_dict()
        self._layer.set_state_dict({key: value for key, value in state_dict.items() if key in names})
        rest = {key: value for key, value in state_dict.items() if key not in names}
        if rest and self._optimizer is not None:
            self._optimizer.set_state_dict(rest)


def _flat(values: Any) -> list[Any]:
    """What is in the lists among some values."""
    return [part for v in values for part in (_flat(v) if isinstance(v, list | tuple) else [v])]


def to_static(
    layer: Layer,
    loader: Any = None,
    loss: Any = None,
    optimizer: Any = None,
    strategy: Strategy | None = None,
    input_spec: Any = None,
) -> DistModel:
    """The network as a DistModel: with loss and optimizer it trains, with a loss it evaluates, else predicts.

    Here it runs eagerly, as the network itself. loader, input_spec: for the compiler of a static program.
    """
    return DistModel(layer, loader, loss, optimizer, strategy, input_spec=input_spec)
