"""Max pooling without the indices of the maxima, where no call reads them."""

from __future__ import annotations

from ..loops.pooling import max_pool_values
from ..program import Call, Ref
from .rewriting import Rewriting


def drop_indices(rewriting: Rewriting) -> None:
    """`max_pool` of pictures makes an index of 8 bytes beside each value, for a backward.

    In ResNet-18 that is more than a quarter of the memory that is needed at once.
    """
    readers = rewriting.readers()
    for call in list(rewriting.calls):
        if call.name != "max_pool" or call.saved is None or readers[call.saved] or call.settings:
            continue
        if isinstance(call.result, Ref) and len(call.args) == 5 and _pair(call.args[1]):
            line = call.line
            rewriting.put(call, Call(max_pool_values, "max_pool", call.args, {}, call.result, line=line))


def _pair(kernel: object) -> bool:
    return isinstance(kernel, (list, tuple)) and len(kernel) == 2
