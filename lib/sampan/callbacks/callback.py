"""What a callback is: methods that Model calls during training."""

from collections.abc import Iterable
from typing import Any

from ..engine.tensor import InvalidType

Logs = dict[str, Any]


class Callback:
    """Subclass it and write the methods that are of interest.

    model: the `Model`. params: "epochs", "steps" and "eval_steps" (None for a stream), "batch_size",
    "verbose", "metrics" (the names in logs), "save_dir", "evaluates". Epochs and steps count from 0. In the
    logs of a training batch `loss` is the batch's and metrics run over the epoch; at the epoch's end, and in
    evaluation, `loss` is the mean. As in Paddle the evaluation of an epoch comes after its `on_epoch_end`.

    A callback whose state must survive a restart has `state_dict()` and `set_state_dict(state)`.
    """

    def __init__(self) -> None:
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_params(self, params: dict[str, Any]) -> None:
        """Store the parameters of the run."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Store the Model."""
        self.model = model

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Called at the start of training."""

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Called at the end of training."""

    def on_eval_begin(self, logs: Logs | None = None) -> None:
        """Called at the start of an evaluation."""

    def on_eval_end(self, logs: Logs | None = None) -> None:
        """Called at the end of an evaluation."""

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Called at the start of a prediction."""

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Called at the end of a prediction."""

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Called at the start of each epoch."""

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Called at the end of each epoch, before its evaluation."""

    def on_train_batch_begin(self, step: int, logs: Logs | None = None) -> None:
        """Called before each batch of training."""

    def on_train_batch_end(self, step: int, logs: Logs | None = None) -> None:
        """Called after each batch of training."""

    def on_eval_batch_begin(self, step: int, logs: Logs | None = None) -> None:
        """Called before each batch of an evaluation."""

    def on_eval_batch_end(self, step: int, logs: Logs | None = None) -> None:
        """Called after each batch of an evaluation."""

    def on_predict_batch_begin(self, step: int, logs: Logs | None = None) -> None:
        """Called before each batch of a prediction."""

    def on_predict_batch_end(self, step: int, logs: Logs | None = None) -> None:
        """Called after each batch of a prediction."""


class CallbackList:
    """Callbacks in order; `call("on_epoch_end", epoch, logs)` calls that method of each.

    Only callbacks that define a method are called for it, so that events of each batch cost nothing if no
    callback uses them.
    """

    def __init__(self, callbacks: Iterable[Callback], model: Any, params: dict[str, Any]) -> None:
        self.callbacks = list(callbacks)
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise InvalidType(f"callbacks: expected Callbacks, got {type(callback).__name__}")
            callback.set_model(model)
            callback.set_params(params)
        self._listening: dict[str, list[Any]] = {}

    def call(self, event: str, *args: Any) -> None:
        listening = self._listening.get(event)
        if listening is None:
            usual = getattr(Callback, event)
            heard = [c for c in self.callbacks if getattr(type(c), event) is not usual or event in vars(c)]
            listening = self._listening[event] = [getattr(c, event) for c in heard]
        for method in listening:
            method(*args)

    def state_dict(self) -> dict[str, Any]:
        """The states of those that have one, by place and class."""
        kept = [(i, c) for i, c in enumerate(self.callbacks) if hasattr(c, "state_dict")]
        return {f"{i}.{type(c).__name__}": c.state_dict() for i, c in kept}

    def set_state_dict(self, state: dict[str, Any]) -> None:
        for i, callback in enumerate(self.callbacks):
            key = f"{i}.{type(callback).__name__}"
            if key in state:
                callback.set_state_dict(state[key])  # type: ignore[attr-defined]  # optional in a Callback
