"""Engine: a network with its loss and optimizer, which trains, evaluates and predicts over data sets.

It runs eagerly. Every process reads the same batches; `shard_tensor` says how they lie in the processes.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ... import hapi
from ...callbacks import Callback, CallbackList
from ...engine.backward import no_grad
from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ...hapi import feed
from ...io import DataLoader
from ...ops.joining import chunk
from ...serialization import save
from ..arguments import check_kind
from ..collective import barrier
from ..shared_model import first_here, several
from .api import unshard_dtensor
from .engine_strategy import Strategy
from .model import casting
from .optimizer import STAGES, shard_optimizer

_MODES = ("train", "eval", "predict")


class History(Callback):
    """What each epoch came to: `epoch` and, by name, `history`."""

    def on_train_begin(self, logs: Any = None) -> None:
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = {}

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class _Model(hapi.Model):
    """A Model whose batches and metrics are not divided among the processes."""

    alone = True


class Engine:
    """`fit`, `evaluate` and `predict` over data sets; `dataloader`, `prepare` and `run` for steps one by one.

    model: a Layer. loss: a Layer or function of (outputs, labels). metrics: a Metric or a list.
    cluster: ignored.
    Raises TypeError for other kinds, InvalidArgument for a strategy with a pipeline or with quantization.
    """

    def __init__(
        self,
        model: Any = None,
        loss: Any = None,
        optimizer: Any = None,
        metrics: Any = None,
        cluster: Any = None,
        strategy: Strategy | None = None,
    ) -> None:
        if strategy is not None:
            check_kind(strategy, Strategy, "strategy")
        self._strategy = strategy or Strategy()
        for name in ("pipeline", "qat"):
            if self._strategy.get(name).enable:
                raise InvalidArgument(f"Engine: strategy: {name} is not supported; give {name}.enable=False")
        self._model = _Model(model)
        self._model.prepare(optimizer, loss, metrics)
        if self._strategy.sharding.enable and optimizer is not None:
            stage = STAGES[int(self._strategy.sharding.stage) - 1]
            optimizer = self._model._optimizer = shard_optimizer(optimizer, stage(0))
        self._loss, self.optimizer = loss, optimizer
        merge = self._strategy.gradient_merge
        self._parts = int(merge.k_steps) if merge.enable else 1
        self._split: int | None = None  # how many fields of a batch are inputs
        self._mode = "train"
        self.history: History | None = None

    def fit(
        self,
        train_data: Any,
        train_sample_split: int | None = None,
        batch_size: int | None = 1,
        epochs: int = 1,
        steps_per_epoch: int | None = None,
        log_freq: int = 10,
        save_dir: str | None = None,
        save_freq: int = 1,
        valid_data: Any = None,
        valid_sample_split: int | None = None,
        valid_freq: int = 1,
        valid_steps: int | None = None,
        collate_fn: Any = None,
        callbacks: Any = None,
        verbose: int = 2,
        nvprof_range: Any = (-1, -1),
    ) -> History:
        """Train; what each epoch came to is returned, and is `history`.

        train_data, valid_data: a Dataset. The samples come in their order, without a last batch that is not
        full. train_sample_split: how many fields of a sample are inputs; by default all but the last.
        batch_size: that of all processes together; None where the data set gives batches.
        """
        loader = self.dataloader(
            train_data, batch_size, collate_fn=collate_fn, sample_split=train_sample_split, mode="train"
        )
        steps = len(loader) if steps_per_epoch is None else min(steps_per_epoch, len(loader))
        self.history, model = History(), self._model
        heard = model._callbacks(callbacks, log_freq, verbose, save_dir, save_freq)
        facts = {"epochs": epochs, "steps": steps, "verbose": verbose, "save_dir": save_dir}
        chain = CallbackList([*heard, self.history], model, model._params(None, loader, **facts))
        chain.call("on_train_begin", {})
        for epoch in range(epochs):
            self._reset()
            chain.call("on_epoch_begin", epoch, {})
            logs: dict[str, Any] = {}
            for step, batch in enumerate(itertools.islice(loader, steps)):
                chain.call("on_train_batch_begin", step, {})
                logs = self.run(batch, mode="train")
                chain.call("on_train_batch_end", step, logs)
            if valid_data is not None and (epoch + 1) % valid_freq == 0:
                found = self.evaluate(
                    valid_data,
                    valid_sample_split,
                    batch_size,
                    valid_steps,
                    log_freq,
                    collate_fn,
                    None,
                    verbose,
                )
                logs |= {f"val_{name}": value for name, value in found.items()}
            chain.call("on_epoch_end", epoch, logs)
        chain.call("on_train_end", {})
        return self.history

    def evaluate(
        self,
        valid_data: Any,
        valid_sample_split: int | None = None,
        batch_size: int | None = 1,
        steps: int | None = None,
        log_freq: int = 10,
        collate_fn: Any = None,
        callbacks: Any = None,
        verbose: int = 2,
    ) -> dict[str, Any]:
        """The loss of the last batch, and each metric over all batches."""
        loader = self.dataloader(
            valid_data, batch_size, collate_fn=collate_fn, sample_split=valid_sample_split, mode="eval"
        )
        chain = self._model._watched(callbacks, loader, log_freq, verbose)
        chain.call("on_eval_begin", {})
        self._reset()
        logs: dict[str, Any] = {}
        for step, batch in enumerate(itertools.islice(loader, steps)):
            chain.call("on_eval_batch_begin", step, {})
            logs = self.run(batch, mode="eval")
            chain.call("on_eval_batch_end", step, logs)
        chain.call("on_eval_end", logs)
        self._reset()
        return logs

    def predict(
        self,
        test_data: Any,
        test_sample_split: int | None = None,
        batch_size: int | None = 1,
        steps: int | None = None,
        collate_fn: Any = None,
        callbacks: Any = None,
        verbose: int = 2,
    ) -> list[list[np.ndarray]]:
        """For each batch the outputs of the network, as arrays."""
        loader = self.dataloader(
            test_data, batch_size, collate_fn=collate_fn, sample_split=test_sample_split, mode="predict"
        )
        chain = self._model._watched(callbacks, loader, 1, verbose)
        chain.call("on_predict_begin", {})
        found: list[list[np.ndarray]] = []
        for step, batch in enumerate(itertools.islice(loader, steps)):
            chain.call("on_predict_batch_begin", step, {})
            found.append(list(self.run(batch, mode="predict")["outputs"]))
            chain.call("on_predict_batch_end", step, {"batch_size": batch_size})
        chain.call("on_predict_end", {})
        return found

    def dataloader(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = True,
        collate_fn: Any = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        use_shared_memory: bool = True,
        timeout: int = 0,
        worker_init_fn: Any = None,
        epochs: int = 1,
        steps_per_epoch: int | None = None,
        sample_split: int | None = 1,
        mode: str | None = None,
        places: Any = None,
    ) -> DataLoader:
        """A DataLoader whose batches `run` takes. sample_split: how many fields of a sample are inputs."""
        if mode is not None:
            self.to_mode(mode)
        if batch_size is not None and batch_size % self._parts:
            raise InvalidArgument(
                f"Engine: batch_size: expected a multiple of gradient_merge.k_steps, which is {self._parts}, "
                f"got {batch_size}"
            )
        self._split = sample_split
        order: dict[str, Any] = {"shuffle": shuffle, "drop_last": drop_last} if batch_size is not None else {}
        return DataLoader(
            dataset,
            batch_size=batch_size,
            collate_fn=collate_fn,
            num_workers=num_workers,
            use_buffer_reader=use_buffer_reader,
            use_shared_memory=use_shared_memory,
            timeout=timeout,
            worker_init_fn=worker_init_fn,
            **order,
        )

    def prepare(
        self, inputs_spec: Any = None, labels_spec: Any = None, mode: str | None = None, **programs: Any
    ) -> None:
        """Say how many inputs a batch has. programs: of static programs; ignored."""
        if inputs_spec is not None:
            self._split = len(feed.as_list(inputs_spec))
        if mode is not None:
            self.to_mode(mode)

    def to_mode(self, mode: str) -> None:
        """What `run` does: "train", "eval" or "predict". AssertionError for another mode."""
        assert mode in _MODES, f"mode {mode} should be one of {[*_MODES]}"
        self._mode = mode

    def run(
        self,
        data: Any = None,
        feed: dict[str, Any] | None = None,
        fetch_list: Any = None,
        mode: str | None = None,
    ) -> dict[str, Any]:
        """One step on a batch: a dictionary of the loss and the metrics, or of the outputs where it predicts.

        data: inputs and, but for prediction, the labels behind them; a dictionary of them in this order; or
        `feed`, such a dictionary.
        """
        if mode is not None:
            self.to_mode(mode)
        fields = list((data if feed is None else feed).values()) if isinstance(feed or data, dict) else data
        return {"train": self._train, "eval": self._eval, "predict": self._predict}[self._mode](fields)

    def save(self, path: str, training: bool = True) -> None:
        """Write `path`.pdparams and, with training=True, `path`.pdopt: whole tensors, by the first process of
        each machine. All processes must call it."""
        states = {"pdparams": _whole(self._model.network.state_dict())}
        if training and self.optimizer is not None:
            states["pdopt"] = _whole(self.optimizer.state_dict())
        for kind, state in states.items() if first_here() else ():
            save(state, f"{path}.{kind}")
        if several():
            barrier()  # the files are there when it returns

    def load(self, path: str, strict: bool = True, load_optimizer: bool = True) -> None:
        """Take over what `save` wrote. strict: False leaves out what does not fit."""
        self._model.load(path, skip_mismatch=not strict, reset_optimizer=not load_optimizer)

    def _reset(self) -> None:
        for metric in self._model._metrics:
            metric.reset()

    def _fields(self, batch: Any) -> tuple[list[Any], list[Any]]:
        listed = feed.tensors(batch)
        return feed.split(listed, max(len(listed) - 1, 1) if self._split is None else self._split)

    def _step(self, inputs: list[Any], labels: list[Any]) -> tuple[Any, dict[str, Any]]:
        """The loss, and what is logged."""
        if self._loss is None:
            raise InvalidArgument(f"Engine.run: mode {self._mode!r}: expected a loss, got None")
        with casting(self._strategy):
            outputs = self._model.network(*inputs)
            loss = self._loss(*feed.as_list(outputs), *labels)
        with no_grad():  # metrics count on whole tensors
            self._model._measure(
                [_whole(o) for o in feed.as_list(outputs)], [_whole(label) for label in labels]
            )
        return loss, {"loss": float(loss.item()), **self._model._measured()}

    def _train(self, batch: Any) -> dict[str, Any]:
        if self.optimizer is None:
            raise InvalidArgument("Engine.run: mode 'train': expected an optimizer, got None")
        self._model.network.train()
        parts = [batch]
        if self._parts > 1:
            parts = list(zip(*(chunk(field, self._parts) for field in feed.tensors(batch)), strict=True))
        share = self._parts if self._strategy.gradient_merge.avg else 1
        logs: dict[str, Any] = {}
        for part in parts:
            loss, logs = self._step(*self._fields(part))
            (loss / share if share > 1 else loss).backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        return logs

    def _eval(self, batch: Any) -> dict[str, Any]:
        self._model.network.eval()
        with no_grad():
            return self._step(*self._fields(batch))[1]

    def _predict(self, batch: Any) -> dict[str, Any]:
        with casting(self._strategy):
            return {"outputs": self._model.predict_batch(self._fields(batch)[0])}


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole(part) for name, part in value.items()}
    return unshard_dtensor(value) if isinstance(value, Tensor) and value.is_dist() else value
