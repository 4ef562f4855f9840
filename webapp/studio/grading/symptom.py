"""The hint for a mistake: what kind of mistake it is decides, and only a wrong number gets the hint of its case.

A case's hint explains what the case is about. For an answer of another shape, for an exception or for an argument that
was not written it would point to the wrong place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sampan.learn.cases import Case, Difference, Text

UNCHANGED: Text = (
    "It is the same as before the call. A function that works in place writes into the array that it got, as in "
    "`x[...] = y` or `x.add_(y)`; `x = y` only gives a name to another array",
    "它与调用之前相同。原地修改的函数要写进收到的数组，如 `x[...] = y` 或 `x.add_(y)`；`x = y` 只是让这个名字指向另一个数组",
)
RETURNED: Text = (
    "It is the input, unchanged: is the result of the computation what the function returns?",
    "它就是输入，没有变化：函数返回的是计算结果吗",
)
NOTHING: Text = (
    "The function returned nothing: does every path through it end with `return`?",
    "函数没有返回值：是否每条路径都以 `return` 结束",
)
DTYPE: Text = (
    "Only the dtype is compared here. A Python number or an integer array in a formula can change it; `.to(x.dtype)` "
    "or `.astype(x.dtype)` gives that of x",
    "这里只比较 dtype。公式中的 Python 数或整数数组会改变它；`.to(x.dtype)` 或 `.astype(x.dtype)` 可得到 x 的 dtype",
)
SHAPE: Text = (
    "Print the shape after each step. A sum over an axis removes it, `keepdim=True` keeps it with length 1, and "
    "broadcasting may add one",
    "逐步打印形状。沿某轴求和会去掉这个轴，`keepdim=True` 以长度 1 保留它，广播则可能多出一个轴",
)
KIND: Text = (
    "Compare what the function returns with its docstring: how many results, in which order, and of which type",
    "对照文档字符串检查返回值：有几个结果、次序如何、各是什么类型",
)
ERROR: Text = (
    "The lines below are those of your function that were running; the last one raised",
    "下面是你的函数中当时正在执行的各行；最后一行抛出了异常",
)
TOO_LONG: Text = (
    "Does every loop end? In a `while` loop something in its condition must change in each pass",
    "每个循环都会结束吗？`while` 循环的条件中必须有每次都会变化的量",
)


def hint(found: Difference, case: Case) -> Text:
    """The hint for an answer that differs from what was expected."""
    if found.came is None and found.expected is not None:
        return NOTHING
    if _is_an_input(found.came, case):
        return UNCHANGED if found.where[0].startswith("`") else RETURNED
    return {"dtype": DTYPE, "shape": SHAPE, "type": KIND, "length": KIND}.get(found.kind, case.hint)


def _is_an_input(came: Any, case: Case) -> bool:
    """Whether a wrong part of the answer is one of the arrays that the function got."""
    return (
        isinstance(came, np.ndarray)
        and came.size > 0
        and any(_same(came, given) for given in arrays(case.args))
    )


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and bool(np.array_equal(one, other))


def arrays(value: Any) -> Iterator[np.ndarray]:
    """The arrays in the arguments of a case; of a view with gaps, its values."""
    value = getattr(value, "array", value)
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from arrays(item)
