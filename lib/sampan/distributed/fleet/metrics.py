"""paddle.distributed.fleet.metrics: figures over the data of all workers, from what each has counted.

Each argument is an array, a Tensor, or the name of a variable of `scope`; it is summed over the workers by
`util.all_reduce` (`fleet.util` by default), so all of them must call the function.
"""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any

import numpy as np

from ...engine.error_translation import describe
from ...engine.errors import InvalidArgument, InvalidType

__all__ = ["acc", "auc", "mae", "max", "min", "mse", "rmse", "sum"]

metric = sys.modules[f"{__name__}.metric"] = sys.modules[__name__]
__path__: list[str] = []  # so that `import` looks for Paddle's module inside, which is a name of this one


def _over_workers(
    what: str, argument: str, value: Any, scope: Any, util: Any, how: str = "sum"
) -> np.ndarray[Any, Any]:
    """The sum, "max" or "min" over all workers, of the shape that was given."""
    name = value if isinstance(value, str) else ""
    if name:
        scope = scope or importlib.import_module("sampan.static").global_scope()
        found = scope.find_var(name)
        if found is None:
            raise InvalidArgument(f"fleet.metrics.{what}: {argument}: the scope has no variable {name!r}")
        value = found.get_tensor()
    if not hasattr(value, "__array__"):
        raise InvalidType(
            f"fleet.metrics.{what}: {argument}: expected an array, a Tensor or the name of a variable, got "
            f"{describe(value)}"
        )
    mine = np.asarray(value)
    if util is None:
        from .. import fleet

        util = fleet.util
    return np.asarray(util.all_reduce(mine, how)).reshape(mine.shape)


def _first(what: str, argument: str, value: Any, scope: Any, util: Any) -> float:
    """The first element of what was summed."""
    total = _over_workers(what, argument, value, scope, util).reshape(-1)
    if not len(total):
        raise InvalidArgument(f"fleet.metrics.{what}: {argument}: expected at least one element, got none")
    return float(total[0])


def _mean(what: str, argument: str, value: Any, count: str, counted: Any, scope: Any, util: Any) -> float:
    top = _first(what, argument, value, scope, util)
    below = _first(what, count, counted, scope, util)
    if below == 0:
        raise ZeroDivisionError(f"fleet.metrics.{what}: {count}: the workers have no samples")
    return top / below


def sum(input: Any, scope: Any = None, util: Any = None) -> np.ndarray[Any, Any]:
    """The sum of the workers' arrays, of the shape of `input`."""
    return _over_workers("sum", "input", input, scope, util)


def max(input: Any, scope: Any = None, util: Any = None) -> np.ndarray[Any, Any]:
    """The largest of the workers' values, element by element, of the shape of `input`."""
    return _over_workers("max", "input", input, scope, util, "max")


def min(input: Any, scope: Any = None, util: Any = None) -> np.ndarray[Any, Any]:
    """The least of the workers' values, element by element, of the shape of `input`."""
    return _over_workers("min", "input", input, scope, util, "min")


def auc(stat_pos: Any, stat_neg: Any, scope: Any = None, util: Any = None) -> float:
    """The area under the ROC curve of all workers' samples.

    stat_pos, stat_neg: numbers of positive and of negative samples by score [1, buckets], as
    `paddle.static.auc` gives them. Within a bucket the curve is a straight line. 0.5 where there are no
    samples of one kind.
    """
    given = (("stat_pos", stat_pos), ("stat_neg", stat_neg))
    counts = [_over_workers("auc", argument, value, scope, util) for argument, value in given]
    for (argument, _), count in zip(given, counts, strict=True):
        if count.ndim < 2 or count.shape != counts[0].shape:
            raise InvalidArgument(
                f"fleet.metrics.auc: {argument}: expected counts [1, buckets], as many for both, got shapes "
                f"{counts[0].shape} and {counts[1].shape}"
            )
    # From the highest score to the lowest: the trapezoid that each bucket adds.
    positives, negatives = (count[0][::-1].astype(np.float64) for count in counts)
    upto = np.cumsum(positives)
    both = float(upto[-1] * negatives.sum()) if len(upto) else 0.0
    return float((negatives * (upto - positives / 2)).sum() / both) if both else 0.5


def mae(abserr: Any, total_ins_num: Any, scope: Any = None, util: Any = None) -> float:
    """The mean absolute error: abserr is the sum of a worker's errors, total_ins_num its number of
    samples."""
    return _mean("mae", "abserr", abserr, "total_ins_num", total_ins_num, scope, util)


def mse(sqrerr: Any, total_ins_num: Any, scope: Any = None, util: Any = None) -> float:
    """The mean squared error: sqrerr is the sum of a worker's squared errors, total_ins_num its number of
    samples."""
    return _mean("mse", "sqrerr", sqrerr, "total_ins_num", total_ins_num, scope, util)


def rmse(sqrerr: Any, total_ins_num: Any, scope: Any = None, util: Any = None) -> float:
    """The root of the mean squared error; the arguments are those of `mse`."""
    return math.sqrt(_mean("rmse", "sqrerr", sqrerr, "total_ins_num", total_ins_num, scope, util))


def acc(correct: Any, total: Any, scope: Any = None, util: Any = None) -> float:
    """The share of correct answers: correct and total are a worker's numbers of correct answers and of
    samples."""
    return _mean("acc", "correct", correct, "total", total, scope, util)
