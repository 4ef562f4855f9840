"""Where a NaN or infinity comes from, and in which precision each operator ran."""

import csv
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import torch

from ..engine.apply import describe, observed_by
from ..engine.operator import Operator
from ..engine.tensor import InvalidArgument, Tensor
from ..trace import flat

# fmt: off
__all__ = [
    "DebugMode", "TensorCheckerConfig", "check_layer_numerics", "check_numerics", "collect_operator_stats",
    "compare_accuracy", "disable_operator_stats_collection", "disable_tensor_checker",
    "enable_operator_stats_collection", "enable_tensor_checker",
]
# fmt: on


class DebugMode(Enum):
    """What is done: stop at NaN or infinity, print them, print what float16 cannot hold, print all."""

    CHECK_NAN_INF_AND_ABORT = 0
    CHECK_NAN_INF = 1
    CHECK_ALL_FOR_OVERFLOW = 2
    CHECK_ALL = 3


class NumericsError(FloatingPointError, RuntimeError):
    """A NaN or infinity was found."""


def _facts(data: torch.Tensor) -> tuple[list[int], list[float]]:
    """[number of NaN, infinity, zero], [largest, smallest, mean] of the values."""
    wide = data.detach().float()
    counts = [int(c.sum()) for c in (wide.isnan(), wide.isinf(), wide == 0)]
    values = [float(v) for v in (wide.max(), wide.min(), wide.mean())] if wide.numel() else [0.0] * 3
    return counts, values


def _check(
    data: torch.Tensor, where: str, mode: DebugMode, folder: str | None = None
) -> tuple[list[int], list[float]]:
    counts, values = _facts(data)
    bad = counts[0] + counts[1] > 0
    text = f"num_nan={counts[0]}, num_inf={counts[1]}, num_zero={counts[2]}"
    line = f"{where}, {describe(data)}: {text}, max={values[0]:g}, min={values[1]:g}, mean={values[2]:g}"
    if bad and mode is DebugMode.CHECK_NAN_INF_AND_ABORT:
        raise NumericsError(f"There are NAN or INF ({text}) in {where}, {describe(data)}")
    large = mode is DebugMode.CHECK_ALL_FOR_OVERFLOW and max(abs(values[0]), abs(values[1])) > 65504
    if bad or large or mode is DebugMode.CHECK_ALL:
        if folder is None:
            print(line)
        else:
            Path(folder).mkdir(parents=True, exist_ok=True)
            with open(Path(folder) / "tensors.log", "a") as file:
                file.write(line + "\n")
    return counts, values


def check_numerics(tensor, op_type, var_name, debug_mode=DebugMode.CHECK_NAN_INF_AND_ABORT):
    """(int64 [NaNs, infinities, zeros], float32 [max, min, mean]) of a Tensor. RuntimeError by the mode, for
    NaN or infinity, with op_type and var_name."""
    counts, values = _check(tensor.data, f"op={op_type}, tensor={var_name}", debug_mode)
    return Tensor(torch.tensor(counts)), Tensor(torch.tensor(values))


class TensorCheckerConfig:
    """What `enable_tensor_checker` checks: operators by name (all, or checked_op_list, without
    skipped_op_list), in the steps debug_step = (first, last); each call of enable_tensor_checker is one step.
    output_dir: a folder for what is else printed.
    """

    current_step_id = 0

    def __init__(
        self,
        enable,
        debug_mode=DebugMode.CHECK_NAN_INF_AND_ABORT,
        output_dir=None,
        checked_op_list=None,
        skipped_op_list=None,
        debug_step=None,
        stack_height_limit=1,
    ):
        for name, value in (
            ("checked_op_list", checked_op_list),
            ("skipped_op_list", skipped_op_list),
            ("debug_step", debug_step),
        ):
            if value is not None and not isinstance(value, list | tuple):
                raise InvalidArgument(f"{name}: expected a list or tuple, got {type(value).__name__}")
        if debug_step is not None and not (len(debug_step) == 2 and debug_step[0] < debug_step[1]):
            raise InvalidArgument(f"debug_step: expected (first, last), got {debug_step}")
        self.enable, self.debug_mode, self.output_dir = enable, debug_mode, output_dir
        self.checked_op_list, self.skipped_op_list = checked_op_list, skipped_op_list
        self.debug_step, self.stack_height_limit = debug_step, stack_height_limit

    def update_and_check_step_id(self) -> bool:
        """Whether this step is to be checked."""
        if self.enable and self.debug_step is not None:
            now = TensorCheckerConfig.current_step_id
            if not self.debug_step[0] <= now < self.debug_step[1]:
                return False
            TensorCheckerConfig.current_step_id += 1
        return bool(self.enable)


class _Watch:
    """An observer that shows each operator's results, forward and backward, to a function."""

    def __init__(self, see: Callable[[str, list[torch.Tensor]], None]) -> None:
        self.see = see

    def forward(self, operator: Operator, args: Any, buffers: list[Any], settings: dict[str, Any]) -> Any:
        result = operator.body(*buffers, **settings)
        self.see(operator.name, flat(result[0] if operator.saves else result))
        return result

    def backward(self, node: Any, gradient: Any, run: Callable[[], Any]) -> Any:
        result = run()
        self.see(f"{node.operator.name}_grad", flat(result))
        return result


_watching: dict[str, AbstractContextManager[None]] = {}  # what is on: "checker", "stats"


def _stop(kind: str) -> None:
    if kind in _watching:
        _watching.pop(kind).__exit__(None, None, None)


def _start(kind: str, see: Callable[[str, list[torch.Tensor]], None]) -> None:
    _stop(kind)
    _watching[kind] = observed_by(_Watch(see))
    _watching[kind].__enter__()


def _checker(
    mode: DebugMode, folder: str | None, only: Sequence[str] | None, skipped: Sequence[str] | None
) -> Any:
    def see(name: str, made: list[torch.Tensor]) -> None:
        plain = name.removesuffix("_grad")
        if (only is None or plain in only) and plain not in (skipped or ()):
            for data in made:
                if data.is_floating_point():
                    _check(data, f"op={name}", mode, folder)

    return see


def enable_tensor_checker(checker_config: TensorCheckerConfig) -> None:
    """Look at what every operator computes from here on: the first one with a NaN is named."""
    if not checker_config.update_and_check_step_id():
        _stop("checker")
        return
    c = checker_config
    _start("checker", _checker(c.debug_mode, c.output_dir, c.checked_op_list, c.skipped_op_list))


def disable_tensor_checker() -> None:
    """Stop the check that `enable_tensor_checker` started."""
    _stop("checker")


def check_layer_numerics(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a Layer's `forward`: every operator inside is checked. RuntimeError names the first with
    a NaN."""

    @functools.wraps(func)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not args or not isinstance(args[0], Tensor):
            raise RuntimeError(f"{type(self).__name__}.forward: expected a Tensor first, got {args[:1]}")
        watch = _Watch(_checker(DebugMode.CHECK_NAN_INF_AND_ABORT, None, None, None))
        with observed_by(watch):
            return func(self, *args, **kwargs)

    return checked


_counts: dict[str, list[int]] = {}  # operator: calls in float16, bfloat16, float32, others
_COLUMNS = (torch.float16, torch.bfloat16, torch.float32)


def _count(name: str, made: list[torch.Tensor]) -> None:
    if made:
        column = _COLUMNS.index(made[0].dtype) if made[0].dtype in _COLUMNS else 3
        _counts.setdefault(name, [0] * 4)[column] += 1


def enable_operator_stats_collection() -> None:
    """Count the calls of every operator by the precision of its result."""
    _counts.clear()
    _start("stats", _count)


def disable_operator_stats_collection() -> None:
    """Print the counts, and stop counting."""
    if "stats" not in _watching:
        return
    _stop("stats")
    print(f"{'operator':<30}{'FP16':>10}{'BF16':>10}{'FP32':>10}{'other':>10}")
    for name in sorted(_counts):
        print(f"{name:<30}" + "".join(f"{n:>10}" for n in _counts[name]))
    print(f"op count: {len(_counts)}")


@contextmanager
def collect_operator_stats() -> Iterator[None]:
    """Context manager: count operator calls by dtype inside the block and print the table at its end."""
    enable_operator_stats_collection()
    try:
        yield
    finally:
        disable_operator_stats_collection()


def compare_accuracy(dump_path, another_dump_path, output_filename, loss_scale=1, dump_all_tensors=False):
    """Write a CSV table that puts two runs' logs (the output_dir of their TensorCheckerConfig) side by
    side."""
    runs = []
    for folder in (dump_path, another_dump_path):
        lines = (Path(folder) / "tensors.log").read_text().splitlines()
        runs.append([re.split(r": num_", line, maxsplit=1) for line in lines])
    with open(output_filename, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["tensor", "first", "another", "same"])
        for one, other in zip(*runs, strict=False):
            table.writerow([one[0], one[-1], other[-1], one[-1] == other[-1]])
