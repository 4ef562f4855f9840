"""A linear layer of a batch of sequences is one call: rows, product, bias and shape."""

from __future__ import annotations

from typing import Any

import torch

from ..program import Call, Ref
from .rewriting import Rewriting


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x @ weight + bias: x [..., in], weight [in, out], bias [out]."""
    rows = torch.addmm(bias, x.reshape(-1, weight.shape[0]), weight)
    return rows.view(*x.shape[:-1], weight.shape[1])


def fuse_linear(rewriting: Rewriting) -> None:
    """reshape(x, [-1, in]), mm, reshape to [..., out], add of a bias [out] become one `linear`."""
    readers, made_by = rewriting.readers(), rewriting.made_by()

    def only(ref: Any, name: str) -> Call | None:
        call = made_by.get(ref) if isinstance(ref, Ref) else None
        return call if call is not None and call.name == name else None

    for add in list(rewriting.calls):
        if add.name != "add" or len(add.args) < 2 or not isinstance(add.args[1], Ref):
            continue
        shaped = only(add.args[0], "reshape")
        product = shaped and only(shaped.args[0], "mm")
        rows = product and only(product.args[0], "reshape")
        bias = rewriting.frozen.get(add.args[1])
        if shaped is None or product is None or rows is None or bias is None:
            continue
        weight = rewriting.frozen.get(product.args[1])
        if weight is None or bias.shape != weight.shape[1:] or bias.dtype is not weight.dtype:
            continue
        if any(readers[call.result] != 1 for call in (shaped, product)) or rows.args[1] != [
            -1,
            weight.shape[0],
        ]:
            continue
        if shaped.args[1][-1:] != [weight.shape[1]]:
            continue
        call = Call(
            linear, "linear", (rows.args[0], product.args[1], add.args[1]), {}, add.result, line=add.line
        )
        rewriting.put(add, call)
        made_by[call.result] = call
