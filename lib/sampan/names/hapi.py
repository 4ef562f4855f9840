"""Helpers of paddle.hapi: lists, the progress bar, and a list of callbacks for custom training loops."""

import inspect
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

from .. import callbacks as _callbacks
from .. import nn
from ..distributed.collective import all_gather
from ..engine.tensor import InvalidType, Tensor, to_tensor
from ..hapi.flops import _COUNTS
from ..ops.joining import concat


def to_list(value: Any) -> Any:
    """The value as a list; None stays None."""
    if value is None:
        return None
    return list(value) if isinstance(value, list | tuple) else [value]


def to_numpy(var: Tensor) -> Any:
    """A Tensor's values."""
    if not isinstance(var, Tensor):
        raise AssertionError(f"to_numpy: expected a Tensor, got {type(var).__name__}")
    return var.numpy()


def flatten_list(l: list[list[Any]]) -> tuple[list[Any], list[int]]:
    """The entries of the lists in one list, and the length of each."""
    if not isinstance(l, list) or not all(isinstance(inner, list) for inner in l):
        raise AssertionError(f"flatten_list: expected a list of lists, got {l!r}")
    return [entry for inner in l for entry in inner], [len(inner) for inner in l]


def restore_flatten_list(l: list[Any], splits: Sequence[int]) -> list[list[Any]]:
    """The inverse of `flatten_list`."""
    if sum(splits) > len(l):
        raise AssertionError(f"restore_flatten_list: {sum(splits)} entries are needed, got {len(l)}")
    entries = iter(l)
    return [[next(entries) for _ in range(n)] for n in splits]


def extract_args(func: Callable[..., Any]) -> list[str]:
    """The names of a function's positional parameters."""
    return inspect.getfullargspec(func).args


def _all_gather(x: Tensor) -> Any:
    """The tensors of all processes, one after the other along the first axis."""
    gathered: list[Tensor] = []
    all_gather(gathered, x)
    return concat(gathered, axis=0)


class ProgressBar:
    """`update(step, [(name, value), ...])` prints the step, a bar (verbose 1), the values and the time of a
    step."""

    def __init__(
        self,
        num: int | None = None,
        width: int = 30,
        verbose: int = 1,
        start: bool = True,
        file: TextIO = sys.stdout,
        name: str = "step",
    ) -> None:
        if isinstance(num, int) and num <= 0:
            raise InvalidType(f"num: expected None or a positive whole number, got {num}")
        self._num, self._width, self._verbose, self.file, self.name = num, width, verbose, file, name
        self._start = time.time()

    def start(self) -> None:
        self.file.flush()
        self._start = time.time()

    def update(self, current_num: int, values: Sequence[tuple[str, Any]] = ()) -> None:
        each = (time.time() - self._start) / current_num if current_num else 0.0
        text = "".join(f" - {k}:{''.join(map(_number, to_list(v)))}" for k, v in values)
        if self._verbose == 1:
            left = self._num is not None and current_num < self._num
            # `left` implies a number.
            rest = int(each * (self._num - current_num)) if left else 0  # type: ignore[operator]
            eta = f" - ETA: {_clock(rest)}" if left else ""
            end = "\n" if self._num is not None and not left else ""
            self.file.write(f"\r{self._place(current_num, True)}{text}{eta} - {_pace(each, self.name)}{end}")
        elif self._verbose in (2, 3):
            self.file.write(f"{self._place(current_num, False)}{text} - {_pace(each, self.name)}\n")
        self.file.flush()

    def _place(self, done: int, bar: bool) -> str:
        if self._num is None:
            return f"{self.name} {done:3}"
        place = f"{self.name} {done:{len(str(self._num))}d}/{self._num}"
        if not bar:
            return place
        filled = int(self._width * done / self._num)
        drawn = "=" * (filled - 1) + (">" if done < self._num else "=") if filled else ""
        return f"{place} [{drawn.ljust(self._width, '.')}]"


def _number(value: Any) -> str:
    if not isinstance(value, float) and not hasattr(value, "dtype"):
        return f" {value}"
    return f" {value:.4f}" if abs(value) > 1e-3 else f" {value:.4e}"


def _clock(seconds: int) -> str:
    minutes, hours = seconds // 60 % 60, seconds // 3600
    if seconds > 3600:
        return f"{hours}:{minutes:02}:{seconds % 60:02}"
    return f"{minutes}:{seconds % 60:02}" if seconds > 60 else f"{seconds}s"


def _pace(seconds: float, name: str) -> str:
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.0f}s/{name}"
    return f"{seconds * 1e3:.0f}ms/{name}" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us/{name}"


class CallbackList:
    """Calls callbacks in order for each event: `on_begin("train")`, `on_batch_end("eval", step, logs)`."""

    def __init__(self, callbacks: Sequence[_callbacks.Callback]) -> None:
        self.callbacks = list(callbacks)
        self.params: dict[str, Any] = {}
        self.model: Any = None

    def append(self, callback: _callbacks.Callback) -> None:
        self.callbacks.append(callback)

    def __iter__(self) -> Iterator[_callbacks.Callback]:
        return iter(self.callbacks)

    def set_params(self, params: dict[str, Any]) -> None:
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model: Any) -> None:
        for callback in self.callbacks:
            callback.set_model(model)

    def _call(self, name: str, *args: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, name)(*args)

    def on_begin(self, mode: str, logs: Any = None) -> None:
        self._call(f"on_{mode}_begin", logs)

    def on_end(self, mode: str, logs: Any = None) -> None:
        self._call(f"on_{mode}_end", logs)

    def on_epoch_begin(self, epoch: int | None = None, logs: Any = None) -> None:
        self._call("on_epoch_begin", epoch, logs)

    def on_epoch_end(self, epoch: int | None = None, logs: Any = None) -> None:
        self._call("on_epoch_end", epoch, logs)

    def on_batch_begin(self, mode: str, step: int | None = None, logs: Any = None) -> None:
        self._call(f"on_{mode}_batch_begin", step, logs)

    def on_batch_end(self, mode: str, step: int | None = None, logs: Any = None) -> None:
        self._call(f"on_{mode}_batch_end", step, logs)


def config_callbacks(
    callbacks=None,
    model=None,
    batch_size=None,
    epochs=None,
    steps=None,
    log_freq=2,
    verbose=2,
    save_freq=1,
    save_dir=None,
    metrics=None,
    mode="train",
):
    """The given callbacks, and by default a logger, a checkpoint and the learning-rate schedule."""
    chosen = to_list(callbacks) or []

    def has(kind: type) -> bool:
        return any(isinstance(callback, kind) for callback in chosen)

    if verbose and not has(_callbacks.ProgBarLogger):
        chosen = [_callbacks.ProgBarLogger(log_freq, verbose=verbose), *chosen]
    if not has(_callbacks.ModelCheckpoint):
        chosen = [*chosen, _callbacks.ModelCheckpoint(save_freq, save_dir)]
    for callback in chosen:
        if isinstance(callback, _callbacks.EarlyStopping):
            callback.save_dir = save_dir
    if not has(_callbacks.LRScheduler):
        chosen = [*chosen, _callbacks.LRScheduler()]
    made = CallbackList(chosen)
    made.set_model(model)
    names = (metrics or []) if mode != "test" else []
    made.set_params(
        dict(
            batch_size=batch_size,
            epochs=epochs,
            steps=steps,
            verbose=verbose,
            metrics=names,
            save_dir=save_dir,
        )
    )
    return made


# --- counts of operations, as functions of (layer, inputs, output) that add to the layer's total_ops ---


def _counter(kind: str) -> Callable[[Any, Any, Any], None]:
    def count(m: Any, x: Any, y: Any) -> None:
        m.total_ops += abs(int(_COUNTS[kind](m, x, y)))

    count.__doc__ = f"Add the operations of a {kind} layer to its total_ops."
    return count


count_convNd, count_leaky_relu, count_bn = _counter("Conv"), _counter("LeakyReLU"), _counter("BatchNorm")
count_linear, count_avgpool, count_adap_avgpool = (
    _counter("Linear"),
    _counter("AvgPool"),
    _counter("AdaptiveAvgPool"),
)
count_zero_ops = _counter("ReLU")


def count_parameters(m: Any, x: Any, y: Any) -> None:
    """Write the number of a layer's parameters into its total_params."""
    m.total_params[0] = sum(p.size for p in m.parameters())


def count_io_info(m: Any, x: Any, y: Any) -> None:
    """Store the shapes of a layer's first input and of its output."""
    m.register_buffer("input_shape", to_tensor(x[0].shape))
    m.register_buffer("output_shape", to_tensor((y[0] if isinstance(y, list | tuple) else y).shape))


register_hooks: dict[type, Callable[..., None]] = {
    **dict.fromkeys(
        (nn.Conv1D, nn.Conv2D, nn.Conv3D, nn.Conv1DTranspose, nn.Conv2DTranspose, nn.Conv3DTranspose),
        count_convNd,
    ),
    **dict.fromkeys((nn.BatchNorm1D, nn.BatchNorm2D, nn.BatchNorm3D, nn.BatchNorm), count_bn),
    **dict.fromkeys((nn.ReLU, nn.ReLU6, nn.Dropout), count_zero_ops),
    nn.LeakyReLU: count_leaky_relu,
    nn.Linear: count_linear,
    **dict.fromkeys((nn.AvgPool1D, nn.AvgPool2D, nn.AvgPool3D), count_avgpool),
    **dict.fromkeys((nn.AdaptiveAvgPool1D, nn.AdaptiveAvgPool2D, nn.AdaptiveAvgPool3D), count_adap_avgpool),
}


def setup_logger(
    output: str | None = None, name: str = "hapi", log_level: int = logging.INFO
) -> logging.Logger:
    """A logger that writes to standard output, and into a file where `output` names one."""
    logger = logging.getLogger(name)
    logger.propagate = False
    logger.setLevel(log_level)
    if not logger.handlers:
        logger.addHandler(logging.StreamHandler(sys.stdout))
        if output is not None:
            logger.addHandler(logging.FileHandler(output))
    return logger
